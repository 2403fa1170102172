"""Tasks of tau2-bench: scenarios for a simulated user, with the actions that the agent should take.

    {"id", "description": {"purpose"}, "user_scenario": {"persona", "instructions"}, "initial_state", "ticket",
     "evaluation_criteria": {"actions": [{"action_id", "requestor", "name", "arguments", "info", "compare_args"}], …}}

    instructions   a string, or an object: domain, reason_for_call, known_info, unknown_info, task_instructions
    actions        the expected calls; none where the task lists none. `requestor: "user"` is a call of the user's own tools, not of the
                   agent's: it is left out and counted
    initial_state  data and messages before the conversation: left out and counted
    compare_args   the arguments that count: null all, [] none. Any other argument may have any value, or be left out

A task without instructions raises `BadInput`, and so does an unknown requestor or a field of the wrong type.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.matchers import wrap_literal
from callmark.calls.messages import explain_validation_error
from callmark.calls.schema import properties
from callmark.calls.shapes import read_call_text
from callmark.errors import BadInput
from callmark.formats.format import Format, ReadContext, check_utf8, row_id
from callmark.types import Call, Case, Place, SourceRow

_ANY_OR_ABSENT = {"$optional": {"$any": True}}
_INITIAL_STATES = "initial states (data and messages before the conversation)"
_USER_CALLS = "calls to the simulated user's own tools"


class _Instructions(Struct):
    domain: str | None = None
    reason_for_call: str | None = None
    known_info: str | None = None
    unknown_info: str | None = None
    task_instructions: str | None = None


class _UserScenario(Struct):
    instructions: str | _Instructions
    persona: Any = None


class _Description(Struct):
    purpose: str | None = None


class _Action(Struct):
    requestor: str | None = None
    compare_args: list[str] | None = None


class _Criteria(Struct):
    actions: list[Raw] | None = None


class _Task(Struct):
    user_scenario: _UserScenario
    evaluation_criteria: _Criteria | None = None
    description: _Description | str | None = None
    initial_state: Any = None
    id: str | int | None = None


_decode = msgspec.json.Decoder(_Task).decode
_decode_action = msgspec.json.Decoder(_Action).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `user_scenario` and `evaluation_criteria`."""
    return 0.8 if "user_scenario" in fields and "evaluation_criteria" in fields else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the scenario of a task."""
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    instructions = _instructions(wire.user_scenario.instructions)
    if not instructions.strip():
        raise BadInput("user_scenario.instructions: expected text that says what the user wants, got none")
    if wire.initial_state:
        context.left_out[_INITIAL_STATES] += 1
    raw_tools, tools = context.default_tools
    actions = wire.evaluation_criteria.actions if wire.evaluation_criteria is not None else None
    expected = _read_actions(actions or (), context)
    description = wire.description
    given = wire.user_scenario.instructions
    return Case(
        row_id(wire.id, place),
        (),
        tools,
        place,
        SourceRow((), tools, row, b"", (), raw_tools, False, expected, ()),
        expected=expected,
        instructions=instructions,
        description=(description if isinstance(description, str) else description.purpose if description is not None else None) or "",
        states_expectation=actions is not None,
        scenario_type=(given.domain or "") if isinstance(given, _Instructions) else "",
    )


def _instructions(given: str | _Instructions) -> str:
    """Return the instructions as one text; the domain is the type of the scenario."""
    if isinstance(given, str):
        return given
    parts = (
        given.reason_for_call,
        given.known_info,
        f"You do not know: {given.unknown_info}" if given.unknown_info else None,
        given.task_instructions,
    )
    return "\n\n".join(part.strip() for part in parts if part and part.strip())


def _read_actions(actions: Sequence[Raw], context: ReadContext) -> tuple[Call, ...]:
    """Return the agent's actions as expected calls. Where arguments do not count, neither do the other parameters of a known tool."""
    parameters = {tool.name: properties(tool.parameters) for tool in context.default_tools[1]}
    calls: list[Call] = []
    for index, text in enumerate(actions):
        where = f"evaluation_criteria.actions[{index}]"
        try:
            action = _decode_action(text)
        except msgspec.ValidationError as error:
            raise BadInput(explain_validation_error(str(error), where)) from None
        if action.requestor not in (None, "assistant", "user"):
            raise BadInput(f"{where}.requestor: expected assistant or user, got {action.requestor[:40]!r}")
        if action.requestor == "user":
            context.left_out[_USER_CALLS] += 1
            continue
        call = read_call_text(bytes(text))
        arguments = {key: wrap_literal(value) for key, value in call.arguments.items()}
        if action.compare_args is not None and not call.malformed:
            listed = parameters.get(call.name, {})
            others = {key: _ANY_OR_ABSENT for key in (*arguments, *listed) if key not in action.compare_args}
            arguments |= others
        calls.append(structs.replace(call, arguments=arguments))
    return tuple(calls)


FORMAT = Format("tau2-tasks", "tau2-bench tasks", detect, read)
