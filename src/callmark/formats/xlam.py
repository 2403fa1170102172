"""xLAM and APIGen function-calling data: `{"id", "query", "tools", "answers"}`; `tools` and `answers` are lists, or JSON strings of lists.

    tools    [{"name", "description", "parameters": {"city": {"type": "str, optional", "description", "default"}}}]
    answers  [{"name", "arguments"}]: the calls that answer the query; an empty list if no call does

As a conversation, the row is the query and a message with the calls; as a case, the query expects them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.calls.shapes import read_call, type_name
from callmark.calls.strict import NotStrict, parse
from callmark.errors import BadInput
from callmark.formats.exchanges import Exchange, call_message, text_message
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.formats.python_schemas import json_schema_tools
from callmark.types import Case, Conversation, Place

_ROW_KEYS = frozenset({"id", "query", "tools", "answers"})


class _Row(Struct):
    query: str
    answers: Any
    tools: Any = None
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `query`, `answers` and `tools`, and no messages."""
    return 0.8 if fields.keys() >= {"query", "answers", "tools"} and "messages" not in fields else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the query and its answer as a conversation."""
    return _read(row, place, context).conversation()


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the query as a case that expects the calls of the answer."""
    return _read(row, place, context).case()


def _read(row: bytes, place: Place, context: ReadContext) -> Exchange:
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    answers = wire.answers
    if isinstance(answers, str):
        try:
            answers = parse(answers)
        except NotStrict as problem:
            raise BadInput(f"answers: expected a list of calls, got a string that is not JSON ({problem})") from None
    if not isinstance(answers, list):
        raise BadInput(f"answers: expected a list of calls, got {type_name(answers)}")
    output = call_message([read_call(answer) for answer in answers]) if answers else text_message("assistant", "")
    tools = context.read_tools(json_schema_tools(wire.tools))
    return Exchange(row_id(wire.id, place), [text_message("user", wire.query)], [output], tools, place, row, "answers")


FORMAT = Format("xlam", "xLAM function calling", detect, read, read_case=read_case, leftover_keys=leftover_keys(_ROW_KEYS))
