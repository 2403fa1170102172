"""Glaive function calling v2: `{"system", "chat"}`, both plain text.

    system  "SYSTEM: …", followed by the tools as JSON objects, one after the other
    chat    turns that begin with `USER:`, `ASSISTANT:` or `FUNCTION RESPONSE:`; the assistant's end with `<|endoftext|>`
    a call  `<functioncall> {"name": "f", "arguments": '{"a": 1}'}`: the arguments are JSON in single quotes, or a JSON object

A call that cannot be read is malformed. A chat that does not begin with a turn, and an unknown kind of turn after a blank line, raise
`BadInput`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.calls.shapes import CALL_LEVELS, read_call
from callmark.calls.strict import DEEPEST, NotStrict, parse
from callmark.errors import BadInput
from callmark.formats.embedded_json import embedded_values
from callmark.formats.exchanges import build_conversation, call_message, text_message
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.formats.python_schemas import json_schema_tools
from callmark.types import Call, Conversation, Place

_ROLES = {"USER": "user", "ASSISTANT": "assistant", "FUNCTION RESPONSE": "tool", "SYSTEM": "system"}
_TURN = re.compile(r"(?:\A|(?<=\n)|(?<=\s\s)|(?<=\|>)|(?<=\|> ))(USER|ASSISTANT|FUNCTION RESPONSE|SYSTEM):")
_UNKNOWN_TURN = re.compile(r"(?:\A|(?<=\n\n\n))([A-Z][A-Z ]{0,40}):")
_CALL_TAG = re.compile(r"<functioncall>")
_END_TAGS = ("<|endoftext|>", "</functioncall>")
_QUOTED = re.compile(r"""\{\s*+"name"\s*+:\s*+"([^"\\]++)"\s*+,\s*+"arguments"\s*+:\s*+'(.*)'\s*+\}""", re.DOTALL)
_NAME = re.compile(r"""["']name["']\s*+:\s*+["']([^"'\\]++)["']""")
_ROW_KEYS = frozenset({"id", "system", "chat"})


class _Row(Struct):
    chat: str
    system: str | None = None
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with a text `chat` that has turns, and `system`."""
    chat = bytes(fields.get("chat", b""))
    return 0.8 if "system" in fields and chat.startswith(b'"') and b"USER:" in chat else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its calls and tools."""
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    system = (wire.system or "").strip().removeprefix("SYSTEM:").strip()
    texts = [text_message("system", system)] if system else []
    for kind, said in _turns(wire.chat):
        if kind == "ASSISTANT" and "<functioncall>" in said:
            before, *inside = _CALL_TAG.split(said)
            texts.append(call_message([_read_call(text) for text in inside], before.strip()))
        else:
            texts.append(text_message(_ROLES[kind], said))
    listed = [value for value in embedded_values(system, "{") if isinstance(value, dict) and "name" in value]
    tools = context.read_tools(json_schema_tools(listed, where="system")) if listed else context.default_tools
    return build_conversation(row_id(wire.id, place), texts, tools, place, row)


def _turns(chat: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each turn."""
    if not chat.strip():
        return
    unknown = next((found[1] for found in _UNKNOWN_TURN.finditer(chat.lstrip()) if found[1] not in _ROLES), None)
    if unknown is not None:
        raise BadInput(f"chat: unknown turn {unknown!r}, expected USER, ASSISTANT or FUNCTION RESPONSE")
    marks = list(_TURN.finditer(chat))
    if not marks or chat[: marks[0].start()].strip():
        raise BadInput("chat: expected text that begins with USER:, ASSISTANT: or FUNCTION RESPONSE:")
    ends = [mark.start() for mark in marks[1:]] + [len(chat)]
    for mark, end in zip(marks, ends, strict=True):
        said = chat[mark.end() : end]
        for tag in _END_TAGS:
            said = said.replace(tag, "")
        yield mark[1], said.strip()


def _read_call(text: str) -> Call:
    """Return the call after a tag. Arguments in single quotes are JSON, in which an apostrophe may be escaped."""
    text = text.strip()
    try:
        return read_call(parse(text, deepest=DEEPEST + CALL_LEVELS))
    except NotStrict:
        pass
    if quoted := _QUOTED.fullmatch(text):
        call = read_call({"name": quoted[1], "arguments": quoted[2]})
        return read_call({"name": quoted[1], "arguments": quoted[2].replace("\\'", "'")}) if call.malformed else call
    name = _NAME.search(text)
    return read_call({"name": name[1] if name else "", "arguments": text})


FORMAT = Format("glaive", "Glaive function calling v2", detect, read, leftover_keys=leftover_keys(_ROW_KEYS))
