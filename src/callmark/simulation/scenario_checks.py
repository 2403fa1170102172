"""Check that a scenario can be simulated: the tools accept its expected calls, and the user supports it."""

from collections.abc import Sequence

from callmark.calls.schema import properties, variants
from callmark.errors import BadInput
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS, is_ignored
from callmark.simulation.session import User
from callmark.types import Call, Case, Tool
from callmark.wording import did_you_mean


def check_scenario(case: Case, user: User, tools: Sequence[Tool], *, ignore: tuple[str, ...]) -> None:
    """Raise `BadInput` for a scenario that expects a call which no tool accepts, or that the user cannot simulate."""
    check_expected_calls(case, tools, ignore=ignore)
    user.start_session(case, 0)


def check_expected_calls(case: Case, tools: Sequence[Tool], *, ignore: tuple[str, ...] = IGNORED_FUNCTIONS) -> None:
    """Raise `BadInput` for a scenario that expects a malformed call, an unknown function or an unknown argument.

    Function names are compared case-insensitively, and functions on the `ignore` list are skipped. A scenario without expected calls
    passes. Without tools, every scenario passes.
    """
    if not tools:
        return
    by_name = {tool.name.casefold(): tool for tool in tools}
    for call in [*case.expected, *(call for calls in case.alternatives for call in calls)]:
        if is_ignored(call.name, ignore):
            continue
        if call.malformed:
            raise _cannot_simulate(case, f"an expected call is malformed ({call.malformed}): {call.text[:80]}")
        tool = by_name.get(call.name.casefold())
        if tool is None:
            known = [tool.name for tool in tools]
            raise _cannot_simulate(
                case,
                f"it expects {call.name}, which is not one of the available tools{did_you_mean(call.name, known)}",
                f"Tools: {', '.join(known)}.",
            )
        _check_argument_names(case, call, tool)


def scenario_name(case: Case) -> str:
    """Return the scenario's name in messages, after its file and line if known: `s.jsonl, line 3: scenario 's1'`."""
    return f"{case.place}: scenario {case.id[:80]!r}" if case.place else f"scenario {case.id[:80]!r}"


def _check_argument_names(case: Case, call: Call, tool: Tool) -> None:
    parts = list(variants(tool.parameters, tool.parameters))
    known = [name for part in parts for name in properties(part)]
    if any(part.get("additionalProperties") or part.get("patternProperties") for part in parts):
        return
    if not known and "properties" not in tool.parameters:
        return
    for name in call.arguments:
        if name not in known:
            raise _cannot_simulate(
                case,
                f"it expects {tool.name} with {name!r}, which is not one of its parameters{did_you_mean(name, known)}",
                f"Parameters: {', '.join(known)}." if known else f"{tool.name} takes no arguments.",
            )


def _cannot_simulate(case: Case, reason: str, hint: str = "") -> BadInput:
    return BadInput(f"{scenario_name(case)} cannot be simulated because {reason}", hint)
