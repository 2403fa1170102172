"""ToolACE conversations: `{"system", "conversations": [{"from", "value"}]}`, with calls as code and the tools in the system prompt.

    system     text that contains the tools as a JSON list; types are Python's
    assistant  `[Tool Name(a=1, b="x"), other()]`, or text. Names may contain spaces
    tool       a JSON list with a result for each call: [{"name", "results"}]; anything else is one result

A turn that is a list of calls, or begins like one with the name of a listed tool, is read as calls; what cannot be read is malformed. An
unknown speaker raises `BadInput`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.calls.strict import NotStrict, dump, parse
from callmark.calls.text.python_code import STRING_PATTERN, read_code_call
from callmark.calls.text.scan import find_closing_bracket
from callmark.errors import BadInput
from callmark.formats.embedded_json import embedded_values
from callmark.formats.exchanges import build_conversation, call_message, text_message
from callmark.formats.format import Format, ReadContext, ToolList, check_utf8, leftover_keys, row_id
from callmark.formats.python_schemas import json_schema_tools
from callmark.types import Call, Conversation, Place

_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant", "system": "system", "tool": "tool"}
_NAME = re.compile(r"""[\s,]*+([^\s()\[\]{},"'=][^()\[\]{},"'=]*+)\(""")
_BRACKETS = re.compile(rf"(?!)(.)|{STRING_PATTERN}|([({{\[])|([)}}\]])", re.DOTALL)
_ROW_KEYS = frozenset({"id", "system", "conversations"})


class _Turn(Struct):
    speaker: str = msgspec.field(name="from")
    value: str


class _Row(Struct):
    system: str
    conversations: list[_Turn]
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows whose system prompt has tools as JSON and asks for calls as code."""
    if "conversations" not in fields or "tools" in fields:
        return 0.0
    system = bytes(fields.get("system", b""))
    return 0.8 if system.startswith(b'"') and b'\\"parameters\\"' in system and b"(params" in system else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its calls and tools."""
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    tools = _read_tools(wire.system, context)
    names = {tool.name for tool in tools[1]}
    texts = [text_message("system", wire.system)] if wire.system else []
    called: Sequence[Call] = ()
    for index, turn in enumerate(wire.conversations):
        role = _ROLES.get(turn.speaker.lower())
        if role is None:
            known = ", ".join(_ROLES)
            raise BadInput(f"conversations[{index}].from: unknown speaker {turn.speaker[:40]!r}, expected {known}")
        if role == "tool":
            texts += _results(turn.value, called)
            continue
        called = (read_code_calls(turn.value, names) or ()) if role == "assistant" else ()
        texts.append(call_message(called) if called else text_message(role, turn.value))
    return build_conversation(row_id(wire.id, place), texts, tools, place, row)


def read_code_calls(text: str, names: Collection[str]) -> list[Call] | None:
    """Return the calls of a turn that is a list of calls as code; None for text.

    A list that cannot be read to its end is text, unless it begins with the name of a listed tool.
    """
    body = text.strip()
    if not body.startswith("["):
        return None
    calls: list[Call] = []
    at = 1
    while named := _NAME.match(body, at):
        name = named[1].strip()
        stop, _ = find_closing_bracket(_BRACKETS, body, named.end() - 1)
        calls.append(read_code_call(name, name + body[named.end() - 1 : stop]))
        at = stop
    is_list = body[at:].strip(" \n\t,") == "]"
    return calls if calls and (is_list or calls[0].name in names) else None


def _results(text: str, called: Sequence[Call]) -> list[bytes]:
    """Return a message for each result if there is one for every call, otherwise one message."""
    try:
        value = parse(text)
    except NotStrict:
        value = None
    if isinstance(value, list) and len(value) == len(called) and all(isinstance(item, dict) and "name" in item for item in value):
        return [_result(item) for item in value]
    return [text_message("tool", text)]


def _result(item: Mapping[str, Any]) -> bytes:
    found = item.get("results", item.get("result", item.get("content", dict(item))))
    fields: dict[str, Any] = {"role": "tool", "content": found if isinstance(found, str) else dump(found)}
    return msgspec.json.encode(fields | ({"name": item["name"]} if isinstance(item["name"], str) else {}))


def _read_tools(system: str, context: ReadContext) -> ToolList:
    """Return the tools in the first JSON list of the system prompt that has any; those of the context if there is none."""
    for value in embedded_values(system, "["):
        if isinstance(value, list) and value and all(isinstance(tool, dict) and "name" in tool for tool in value):
            return context.read_tools(json_schema_tools(value, where="system"))
    return context.default_tools


FORMAT = Format("toolace", "ToolACE", detect, read, leftover_keys=leftover_keys(_ROW_KEYS))
