"""Preference pairs of OpenAI's fine-tuning: `{"input": {"messages", "tools"}, "preferred_output": […], "non_preferred_output": […]}`.

Both outputs are lists of messages. The preferred one is expected; the other one is a prediction. `input` may be the list of messages.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.errors import BadInput
from callmark.formats.exchanges import Exchange, given_id, message_texts_of, output_prediction, read_output
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.types import Case, Conversation, Place, Prediction

_ROW_KEYS = frozenset({"id", "input", "preferred_output", "non_preferred_output"})


class _Input(Struct):
    messages: Raw
    tools: Raw = Raw(b"")


class _Row(Struct):
    input: Raw
    preferred_output: Raw
    non_preferred_output: Raw
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode
_decode_input = msgspec.json.Decoder(_Input).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with both outputs."""
    return 0.9 if "preferred_output" in fields and "non_preferred_output" in fields else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the input and the preferred output as a conversation."""
    return _read(row, place, context).conversation()


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the case that expects the preferred output."""
    return _read(row, place, context).case()


def read_prediction(row: bytes) -> Prediction:
    """Return the output that was not preferred as a prediction."""
    wire, given = _decode_row(row)
    _, tools = ReadContext().read_tools(bytes(given.tools))
    field = "non_preferred_output"
    return output_prediction(given_id(wire.id), message_texts_of(wire.non_preferred_output, field, "assistant"), tools, field)


def _read(row: bytes, place: Place, context: ReadContext) -> Exchange:
    wire, given = _decode_row(row)
    tools = context.read_tools(bytes(given.tools))
    field = "preferred_output"
    output = read_output(message_texts_of(wire.preferred_output, field, "assistant"), tools[1], field)
    prompt = message_texts_of(given.messages, "input.messages", "user")
    return Exchange(row_id(wire.id, place), prompt, output, tools, place, row, field)


def _decode_row(row: bytes) -> tuple[_Row, _Input]:
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    if bytes(wire.input).startswith(b"["):
        return wire, _Input(wire.input)
    try:
        return wire, _decode_input(wire.input)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), "input")) from None


FORMAT = Format(
    "openai-preference",
    "OpenAI preference pairs",
    detect,
    read,
    read_case=read_case,
    read_prediction=read_prediction,
    leftover_keys=leftover_keys(_ROW_KEYS),
)
