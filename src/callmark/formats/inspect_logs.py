"""Samples of inspect-ai logs: a .eval or .json log, or one sample per line. Every sample is a conversation.

    {"id", "epoch", "input", "target", "messages": [{"role", "content", "tool_calls": [{"id", "function": "NAME", "arguments"}]}],
     "output", "scores", "events": [{"event": "model", "tools": […]}], "attachments": {…}}

The tools are those of the last model event that has any. A call with `parse_error` is malformed. What a provider ran itself (`tool_use` in
the content) is shown as `[tool_use]`. Target, scores and output are not read; `convert` reports them.
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
    find_role,
    known_part,
    malformed_call,
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
from callmark.types import Call, Conversation, Place

_ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_ROW_KEYS = frozenset({"id", "messages", "epoch"})
_MESSAGE_KEYS = frozenset({"tool_calls", "tool_call_id", "function", "tool_error"})
_ATTACHMENT = "attachment://"


class _Event(Struct):
    event: Any = None
    tools: Raw = Raw(b"")


_decode_events = msgspec.json.Decoder(list[_Event]).decode


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a sample. Its id is the sample's, with the epoch if that is not the first: `task-7@2`."""
    fields = read_row(row)
    if "messages" not in fields:
        raise BadInput("missing key 'messages'")
    attachments = read_value(fields["attachments"]) if "attachments" in fields else {}
    messages: list[Fields] = []
    for index, message in enumerate(read_objects(fields["messages"], "messages")):
        messages += _read_message(message, f"messages[{index}]")
    tools = _tools(fields, attachments if isinstance(attachments, dict) else {})
    return build_conversation(messages, tools, given_id=_sample_id(fields), row=row, place=place, context=context)


def split(row: bytes) -> list[Raw] | None:
    """Return the samples of a whole log; None for a row that is a sample itself."""
    if b'"samples"' not in row:
        return None
    fields = read_row(row)
    if "samples" not in fields or "eval" not in fields or "messages" in fields:
        return None
    return read_list(fields["samples"], "samples")


def _sample_id(fields: Members) -> Raw | None:
    given, epoch = fields.get("id"), read_value(fields["epoch"]) if "epoch" in fields else 1
    if given is None or not isinstance(epoch, int) or epoch <= 1:
        return given
    return Raw(msgspec.json.encode(f"{any_text(given)}@{epoch}"))


def _read_message(message: Members, where: str) -> list[Fields]:
    role = find_role(optional_text(message, "role", where), _ROLES, f"{where}.role")
    refuse_calls(message.keys() - _MESSAGE_KEYS, where)
    turn = Turn(role)
    parts, thinking = _read_content(message, where)
    if role == "tool":
        error = read_object(message["error"], f"{where}.error") if "error" in message else {}
        text = content_of(parts) or optional_text(error, "message", f"{where}.error")
        return [
            result_message(
                text, optional_text(message, "tool_call_id", where), optional_text(message, "function", where), is_error=bool(error)
            )
        ]
    turn.parts, turn.thinking = parts, thinking
    if "tool_calls" in message:
        for index, call in enumerate(read_objects(message["tool_calls"], f"{where}.tool_calls")):
            turn.calls.append(_read_call(call, f"{where}.tool_calls[{index}]"))
    return turn.messages()


def _read_call(call: Members, where: str) -> Call:
    if "parse_error" in call:
        name = optional_text(call, "function", where)
        return malformed_call(name, any_text(call["parse_error"]), "parse error", optional_text(call, "id", where))
    return read_part_call(call)


def _read_content(message: Members, where: str) -> tuple[list[Fields], list[str]]:
    raw = message.get("content", Raw(b'""'))
    if json_kind(raw) == '"':
        text = read_text(raw)
        return [text_part(text)] if text else [], []
    parts: list[Fields] = []
    thinking: list[str] = []
    for index, part in enumerate(read_objects(raw, f"{where}.content")):
        at = f"{where}.content[{index}]"
        match optional_text(part, "type", at):
            case "text":
                parts.append(text_part(optional_text(part, "text", at)))
            case "reasoning":
                thinking.append(optional_text(part, "reasoning", at))
            case "tool_use" | "data" as kind:
                parts.append(known_part(kind))
            case kind:
                parts.append(other_part(kind or "part", {key: value for key, value in part.items() if key != "internal"}, at))
    return parts, thinking


def _tools(fields: Members, attachments: Mapping[str, Any]) -> bytes:
    """Return the tools of the last model event that has any; long texts are attachments of the sample."""
    try:
        events = _decode_events(fields["events"]) if "events" in fields else []
    except msgspec.ValidationError:
        raise BadInput("events: expected a list of objects") from None
    lists = [bytes(event.tools) for event in events if event.event == "model"]
    tools = next((text for text in reversed(lists) if text not in (b"", b"null", b"[]")), b"")
    return dump(_resolve(read_value(tools), attachments)).encode() if _ATTACHMENT.encode() in tools else tools


def _resolve(value: Any, attachments: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolve(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: _resolve(item, attachments) for key, item in value.items()}
    return value


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for samples (messages with an epoch and a target), and for whole logs (samples with `eval`)."""
    if "eval" in fields and ("samples" in fields or "plan" in fields):
        return 0.95
    return 0.95 if {"messages", "epoch", "input"} <= fields.keys() else 0.0


def _leftover_keys(row: bytes) -> Iterable[str]:
    return (key for key in read_row(row) if key not in _ROW_KEYS)


FORMAT = Format("inspect-ai", "inspect-ai logs", detect, read, leftover_keys=_leftover_keys, extensions=(".eval",), split=split)
