"""Scenarios: ground truth for whole conversations (`id, description, scenarioType, instructions, task_completion_condition,
expected_function_calls`). Each is a case without messages; a scenario without instructions or expected calls raises `BadInput`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.expected import read_expected_text, without_globs
from callmark.calls.messages import expected_texts
from callmark.calls.strict import dump
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.dialect import Dialect, Reading, check_text, row_id
from callmark.types import Call, Case, Conversation, Original, Place


class _Row(Struct):
    id: str | int | None = None
    description: str | None = None
    scenarioType: str | None = None  # noqa: N815 - the file's own name
    task_completion_condition: str | None = None
    instructions: str | None = None
    expected_function_calls: list[Raw] | None = None
    tools: Raw = Raw(b"")
    group: str | None = None


_decode = msgspec.json.Decoder(_Row).decode


def read(row: bytes, place: Place, reading: Reading) -> Conversation:
    """The case that a scenario stands for."""
    check_text(row)
    wire = _decode(row)
    if not wire.instructions:
        raise BadInput("the scenario has no instructions")
    if wire.expected_function_calls is None:
        raise BadInput("the scenario has no expected_function_calls")
    raw_tools, tools = reading.tools(bytes(wire.tools))
    expected = tuple([read_expected_text(bytes(call)) for call in wire.expected_function_calls])
    return Case(
        row_id(wire.id, place),
        (),
        tools,
        place,
        Original((), tools, row, b"", (), raw_tools, False, expected, wire.expected_function_calls),
        expected=expected,
        instructions=wire.instructions,
        completion=wire.task_completion_condition or "",
        description=wire.description or "",
        scenario_type=wire.scenarioType or "",
        group=wire.group,
    )


def write(conversation: Conversation) -> bytes:
    """One line in the same shape. A conversation that is no scenario raises `BadInput`."""
    if not isinstance(conversation, Case) or not conversation.is_scenario:
        raise BadInput(f"{conversation.id} is not a scenario: it has no instructions for a user")
    calls = [Raw(bytes(text)) for text in expected_texts(conversation, _call)]
    fields: dict[str, Any] = {
        "id": conversation.id,
        "description": conversation.description,
        "scenarioType": conversation.scenario_type,
        "task_completion_condition": conversation.completion,
        "instructions": conversation.instructions,
        "expected_function_calls": calls,
    }
    if conversation.group is not None:
        fields["group"] = conversation.group
    if conversation.tools:
        fields["tools"] = Raw(tools_text(conversation))
    return msgspec.json.encode(fields)


def _call(call: Call) -> bytes:
    arguments = {key: without_globs(value) for key, value in call.arguments.items()}
    return msgspec.json.encode({"functionName": call.name, "arguments": call.text if call.malformed else Raw(dump(arguments).encode())})


def _recognises(fields: Mapping[str, Raw]) -> bool:
    return "expected_function_calls" in fields


DIALECT = Dialect("scenarios", "scenarios", _recognises, read, write)
