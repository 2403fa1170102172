"""HammerBench: a conversation up to a function call, `{"id", "messages", "multiple_tools", "single_tool"}`.

    messages        `user`, `assistant`, and `function call` with the content {"name", "arguments"}; the last one is the expected call
    multiple_tools  the tools to choose from; `single_tool` is the right one alone, used where the others are missing

Function calls before the last one are snapshots of what was known then. As a conversation, all of them are calls; as a case, the input has
only what was said, as in HammerBench's own evaluation. A row without a function call at its end, and an unknown role, raise `BadInput`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.calls.shapes import CALL_LEVELS, read_call
from callmark.calls.strict import DEEPEST, NotStrict, parse
from callmark.errors import BadInput
from callmark.formats.exchanges import Exchange, call_message, text_message
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.formats.python_schemas import json_schema_tools
from callmark.types import Call, Case, Conversation, Place

_CALL_ROLE = "function call"
_ROLES = ("user", "assistant", "system")
_ROW_KEYS = frozenset({"id", "messages", "multiple_tools", "single_tool"})


class _Message(Struct):
    role: str
    content: Raw


class _Row(Struct):
    messages: list[_Message]
    multiple_tools: Any = None
    single_tool: Any = None
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode
_decode_text = msgspec.json.Decoder(str).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `messages` and HammerBench's tools."""
    return 0.9 if "messages" in fields and ("multiple_tools" in fields or "single_tool" in fields) else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with every function call."""
    return _read(row, place, context, snapshots=True).conversation()


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the case: what was said, and the last function call as the expected call."""
    return _read(row, place, context, snapshots=False).case()


def _read(row: bytes, place: Place, context: ReadContext, *, snapshots: bool) -> Exchange:
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    if not wire.messages or wire.messages[-1].role != _CALL_ROLE:
        found = f"a message with the role {wire.messages[-1].role[:40]!r}" if wire.messages else "no messages"
        raise BadInput(f"messages: expected a 'function call' at the end, got {found}")
    texts: list[bytes] = []
    for index, message in enumerate(wire.messages[:-1]):
        where = f"messages[{index}]"
        if message.role == _CALL_ROLE:
            texts += [call_message([_read_call(message.content)])] if snapshots else []
        elif message.role in _ROLES:
            texts.append(text_message(message.role, _text(message.content, f"{where}.content")))
        else:
            raise BadInput(f"{where}.role: unknown role {message.role[:40]!r}, expected {', '.join((*_ROLES, _CALL_ROLE))}")
    tools = context.read_tools(json_schema_tools(wire.multiple_tools if wire.multiple_tools is not None else wire.single_tool))
    output = call_message([_read_call(wire.messages[-1].content)])
    return Exchange(row_id(wire.id, place), texts, [output], tools, place, row, f"messages[{len(wire.messages) - 1}]")


def _text(content: Raw, field: str) -> str:
    try:
        return _decode_text(content)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), field)) from None


def _read_call(content: Raw) -> Call:
    """Return the call in a message: an object, or its JSON in a string."""
    text = bytes(content)
    try:
        value = parse(text, deepest=DEEPEST + CALL_LEVELS)
        return read_call(parse(value, deepest=DEEPEST + CALL_LEVELS) if isinstance(value, str) else value)
    except NotStrict:
        return read_call({"name": "", "arguments": text.decode()})


FORMAT = Format("hammerbench", "HammerBench", detect, read, read_case=read_case, leftover_keys=leftover_keys(_ROW_KEYS))
