"""Preference pairs of When2Call: `{"messages", "tools", "chosen_response": {"role", "content"}, "rejected_response": {"role", "content"}}`.

Tools and calls are written as in `when2call`. The chosen response is expected; the rejected one is a prediction.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.errors import BadInput
from callmark.formats.exchanges import Exchange, given_id, output_prediction
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.formats.python_schemas import json_schema_tools
from callmark.formats.when2call import ChatMessage, message_list, read_response
from callmark.types import Case, Conversation, Place, Prediction

_ROW_KEYS = frozenset({"id", "messages", "tools", "chosen_response", "rejected_response"})


class _Row(Struct):
    messages: list[ChatMessage]
    chosen_response: ChatMessage
    rejected_response: ChatMessage
    tools: Any = None
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with both responses."""
    return 0.9 if fields.keys() >= {"messages", "chosen_response", "rejected_response"} else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the messages and the chosen response as a conversation."""
    return _read(row, place, context).conversation()


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the case that expects the chosen response."""
    return _read(row, place, context).case()


def read_prediction(row: bytes) -> Prediction:
    """Return the rejected response as a prediction."""
    wire = _decode_row(row)
    return output_prediction(given_id(wire.id), [read_response(wire.rejected_response, "rejected_response")], (), "rejected_response")


def _read(row: bytes, place: Place, context: ReadContext) -> Exchange:
    wire = _decode_row(row)
    output = [read_response(wire.chosen_response, "chosen_response")]
    tools = context.read_tools(json_schema_tools(wire.tools))
    return Exchange(row_id(wire.id, place), message_list(wire.messages), output, tools, place, row, "chosen_response")


def _decode_row(row: bytes) -> _Row:
    check_utf8(row)
    try:
        return _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None


FORMAT = Format(
    "when2call-preference",
    "When2Call preference pairs",
    detect,
    read,
    read_case=read_case,
    read_prediction=read_prediction,
    leftover_keys=leftover_keys(_ROW_KEYS),
)
