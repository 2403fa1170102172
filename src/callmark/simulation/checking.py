"""Whether a scenario can be played at all: what it expects must be something that the tools can do."""

from collections.abc import Sequence

from callmark.calls.schema import properties, variants
from callmark.errors import BadInput
from callmark.grading.evaluators.process import IGNORED, ProcessEvaluator
from callmark.types import Call, Case, Tool
from callmark.wording import nearest


def refuse_unknown_functions(case: Case, tools: Sequence[Tool], *, ignore: tuple[str, ...] = IGNORED) -> None:
    """Refuse a scenario that expects a call which no tool can take: malformed, of a function that no tool has (in any case of its letters;
    the ignore list aside), or with an argument that its tool does not have. `BadInput` says where the scenario stands.

    Nothing expected is fine. Without any tools nothing is known of what can be called, and nothing is refused.
    """
    if not tools:
        return
    by_name = {tool.name.casefold(): tool for tool in tools}
    counted = ProcessEvaluator(ignore).counted
    for call in counted([*case.expected, *(call for calls in case.alternatives for call in calls)]):
        if call.malformed:
            raise BadInput(f"{_where(case)} expects a call that is malformed ({call.malformed}): {call.text[:80]}")
        tool = by_name.get(call.name.casefold())
        if tool is None:
            known = [tool.name for tool in tools]
            raise BadInput(
                f"{_where(case)} expects {call.name}, which is no tool that there is{nearest(call.name, known)}",
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
                f"{_where(case)} expects {tool.name} with {name!r}, an argument that it does not have{nearest(name, known)}",
                f"Its arguments are {', '.join(known)}." if known else "It takes no arguments.",
            )


def _where(case: Case) -> str:
    return f"{case.place}: the scenario {case.id[:80]!r}" if case.place else f"the scenario {case.id[:80]!r}"
