"""Check that a scenario can be played: the tools accept its expected calls, and the user can play it."""

from collections.abc import Sequence

from callmark.calls.schema import properties, variants
from callmark.errors import BadInput
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS, is_ignored
from callmark.simulation.session import User
from callmark.types import Call, Case, Tool
from callmark.wording import did_you_mean


def refuse_unplayable(case: Case, user: User, tools: Sequence[Tool], *, ignore: tuple[str, ...]) -> None:
    """Raise `BadInput` for a scenario that expects a call which no tool accepts, or that the user cannot play."""
    refuse_unknown_functions(case, tools, ignore=ignore)
    user.start_session(case, 0)


def refuse_unknown_functions(case: Case, tools: Sequence[Tool], *, ignore: tuple[str, ...] = IGNORED_FUNCTIONS) -> None:
    """Raise `BadInput` for a scenario that expects a call which no tool accepts.

    That is a malformed call, one of an unknown function (names are compared without case; functions on the `ignore` list are skipped), and
    one with an unknown argument. A scenario that expects nothing passes, and without tools every scenario does.
    """
    if not tools:
        return
    by_name = {tool.name.casefold(): tool for tool in tools}
    for call in [*case.expected, *(call for calls in case.alternatives for call in calls)]:
        if is_ignored(call.name, ignore):
            continue
        if call.malformed:
            raise BadInput(f"{_where(case)} expects a call that is malformed ({call.malformed}): {call.text[:80]}")
        tool = by_name.get(call.name.casefold())
        if tool is None:
            known = [tool.name for tool in tools]
            raise BadInput(
                f"{_where(case)} expects {call.name}, which is no tool that there is{did_you_mean(call.name, known)}",
                f"The tools are {', '.join(known)}.",
            )
        _refuse_unknown_arguments(case, call, tool)


def _refuse_unknown_arguments(case: Case, call: Call, tool: Tool) -> None:
    parts = list(variants(tool.parameters, tool.parameters))
    known = [name for part in parts for name in properties(part)]
    if any(part.get("additionalProperties") or part.get("patternProperties") for part in parts):
        return
    if not known and "properties" not in tool.parameters:
        return
    for name in call.arguments:
        if name not in known:
            raise BadInput(
                f"{_where(case)} expects {tool.name} with {name!r}, an argument that it does not have{did_you_mean(name, known)}",
                f"Its arguments are {', '.join(known)}." if known else "It takes no arguments.",
            )


def _where(case: Case) -> str:
    return f"{case.place}: the scenario {case.id[:80]!r}" if case.place else f"the scenario {case.id[:80]!r}"
