"""Messages of pydantic-ai, as `ModelMessagesTypeAdapter` dumps them: a list, alone or under `messages`.

    {"kind": "request", "parts": [{"part_kind": "system-prompt" | "user-prompt" | "tool-return" | "retry-prompt"}], "instructions"}
    {"kind": "response", "parts": [{"part_kind": "text" | "thinking" | "tool-call"}]}

`args` of a tool call is an object or JSON text. A retry prompt that names a tool is its result, marked as an error. Instructions that
change become system messages. What a provider ran itself (`builtin-tool-call`) is shown as `[builtin-tool-call]`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.formats.chat_rows import (
    Fields,
    Members,
    Turn,
    any_text,
    build_conversation,
    content_of,
    known_part,
    optional_text,
    other_part,
    read_list,
    read_object,
    read_objects,
    read_part_call,
    read_row,
    refuse_calls,
    result_message,
    text_part,
)
from callmark.formats.format import Format, ReadContext
from callmark.formats.json_fields import json_kind, read_text, read_value
from callmark.types import Conversation, Place

_KINDS = frozenset({"request", "response"})
_ROW_KEYS = frozenset({"id", "messages", "tools"})
_CALL_METADATA = frozenset({"part_kind", "provider_name", "provider_details", "tool_kind", "id", "otel_metadata"})
_SERVER_PARTS = frozenset({"builtin-tool-call", "builtin-tool-return", "native-tool-call", "native-tool-return"})


class _Signature(Struct):
    kind: Any = None
    parts: Raw = Raw(b"")


_decode_signatures = msgspec.json.Decoder(list[_Signature]).decode


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its messages converted to the OpenAI form."""
    fields = read_row(row)
    if "messages" not in fields:
        raise BadInput("missing key 'messages'")
    messages: list[Fields] = []
    instructions = ""
    for index, message in enumerate(read_objects(fields["messages"], "messages")):
        where = f"messages[{index}]"
        kind = optional_text(message, "kind", where)
        if kind not in _KINDS:
            raise BadInput(f"{where}.kind: expected request or response, got {kind[:40]!r}" if kind else f"{where}: kind is missing")
        refuse_calls(message, where)
        parts = read_objects(message["parts"], f"{where}.parts") if "parts" in message else []
        given = optional_text(message, "instructions", where)
        if given and given != instructions:
            messages.append({"role": "system", "content": given})
            instructions = given
        messages += _read_request(parts, where) if kind == "request" else _read_response(parts, where)
    tools = bytes(fields.get("tools", b""))
    return build_conversation(messages, tools, given_id=fields.get("id"), row=row, place=place, context=context)


def _read_request(parts: list[Members], where: str) -> list[Fields]:
    found: list[Fields] = []
    for number, part in enumerate(parts):
        at = f"{where}.parts[{number}]"
        kind = optional_text(part, "part_kind", at)
        name, call_id = optional_text(part, "tool_name", at), optional_text(part, "tool_call_id", at)
        if kind in ("system-prompt", "instruction"):
            found.append({"role": "system", "content": optional_text(part, "content", at)})
        elif kind == "user-prompt":
            found.append({"role": "user", "content": _user_content(part, at)})
        elif kind == "tool-return":
            found.append(result_message(any_text(part.get("content", Raw(b"null"))), call_id, name))
        elif kind == "retry-prompt":
            text = _retry_text(part)
            found.append(result_message(text, call_id, name, is_error=True) if name else {"role": "user", "content": text})
        elif kind in _SERVER_PARTS:
            found.append({"role": "user", "content": f"[{kind}]"})
        else:
            found.append({"role": "user", "content": [other_part(kind or "part", part, at)]})
    return found


def _user_content(part: Members, where: str) -> Any:
    raw = part.get("content", Raw(b'""'))
    if json_kind(raw) == '"':
        return read_text(raw)
    parts: list[Fields] = []
    for index, item in enumerate(read_list(raw, f"{where}.content")):
        if json_kind(item) == '"':
            parts.append(text_part(read_text(item)))
            continue
        at = f"{where}.content[{index}]"
        members = read_object(item, at)
        kind = optional_text(members, "kind", at) or "part"
        is_text = kind == "text-content" and "content" in members
        parts.append(text_part(optional_text(members, "content", at)) if is_text else other_part(kind, members, at))
    return content_of(parts) or ""


def _retry_text(part: Members) -> str:
    value = read_value(part["content"]) if "content" in part else ""
    return value if isinstance(value, str) else dump(value)


def _read_response(parts: list[Members], where: str) -> list[Fields]:
    turn = Turn("assistant")
    for number, part in enumerate(parts):
        at = f"{where}.parts[{number}]"
        match optional_text(part, "part_kind", at):
            case "text":
                turn.parts.append(text_part(optional_text(part, "content", at)))
            case "thinking":
                turn.thinking.append(optional_text(part, "content", at))
            case "tool-call":
                turn.calls.append(read_part_call(part, call_id=optional_text(part, "tool_call_id", at), ignore=_CALL_METADATA))
            case kind if kind in _SERVER_PARTS:
                turn.parts.append(known_part(kind))
            case kind:
                turn.parts.append(other_part(kind or "part", part, at))
    return turn.messages()


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for messages with `kind` (request or response) and `parts`."""
    if not bytes(fields.get("messages", b"")).startswith(b"["):
        return 0.0
    try:
        messages = _decode_signatures(fields["messages"])
    except msgspec.MsgspecError:
        return 0.0
    return 0.9 if messages and all(message.kind is not None and bytes(message.parts).startswith(b"[") for message in messages) else 0.0


def _leftover_keys(row: bytes) -> Iterable[str]:
    return (key for key in read_row(row) if key not in _ROW_KEYS)


FORMAT = Format("pydantic-ai", "pydantic-ai messages", detect, read, leftover_keys=_leftover_keys)
