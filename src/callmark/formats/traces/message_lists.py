"""Read a list of messages inside a span, in whatever shape the program has recorded it, as JSON texts in the OpenAI form.

    {"role", "parts": [{"type": "text" | "tool_call" | "tool_call_response" | "reasoning" | …}]}     OpenTelemetry
    {"message": {"role", "content", "contents", "tool_calls": [{"tool_call": {"id", "function"}}]}}  OpenInference

Any other list is read like a row with these `messages`, by the format that recognizes it: OpenAI, Anthropic, Responses items, LangChain, ….
A list that no format recognizes, and anything that may hold a call but is not known, raise `BadInput`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.messages import message_texts
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats.chat_rows import (
    Fields,
    Members,
    Turn,
    any_text,
    find_role,
    known_part,
    optional_text,
    other_part,
    read_list,
    read_object,
    read_objects,
    read_part_call,
    refuse_calls,
    result_message,
    text_part,
)
from callmark.formats.detect import detect_format
from callmark.formats.format import ReadContext
from callmark.formats.json_fields import json_kind, read_text
from callmark.formats.traces.steps import Texts
from callmark.types import Place

_ROLES = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_MESSAGE_KEYS = frozenset({"role", "parts", "name", "finish_reason"})
_SERVER_PARTS = frozenset({"server_tool_call", "server_tool_call_response", "compaction"})
_MEDIA_PARTS = frozenset({"blob", "file", "uri"})
_CALL_METADATA = frozenset({"result", "response", "is_error"})
_PLACE = Place("", 1)
_encode = msgspec.json.Encoder().encode


def read_message_list(raw: bytes | Raw, where: str) -> Texts:
    """Return the messages of a list, or of one message; a string is a message of the user."""
    match json_kind(raw):
        case '"':
            return (_encode({"role": "user", "content": read_text(raw)}),)
        case "{":
            items = [Raw(bytes(raw))]
        case _:
            items = read_list(raw, where)
    if not items:
        return ()
    if any(json_kind(item) == '"' for item in items):
        raise BadInput(f"{where}: expected messages, got strings")
    messages = [read_object(item, f"{where}[{index}]") for index, item in enumerate(items)]
    if is_typed(messages):
        return _texts([fields for index, message in enumerate(messages) for fields in _read_parts(message, f"{where}[{index}]")])
    if all(message.keys() == {"message"} for message in messages):
        return _texts([_read_openinference(message["message"], f"{where}[{index}].message") for index, message in enumerate(messages)])
    return _read_by_format(items, where)


def json_text(value: Any, where: str) -> bytes:
    """Return the JSON in an attribute: a text that is JSON, or a value. A text that is not JSON raises `BadInput`: it was cut off."""
    if not isinstance(value, str):
        return dump(value).encode()
    try:
        parse(value)
    except NotStrict as problem:
        raise BadInput(
            f"{where}: expected JSON, got text that is not JSON ({problem}): it may have been cut off",
            "Raise the length limit of attributes where the trace is recorded.",
        ) from None
    return value.encode()


def _texts(messages: Sequence[Fields]) -> Texts:
    return tuple(map(_encode, messages))


def is_typed(messages: Sequence[Members]) -> bool:
    """Return whether these are messages with typed parts, as OpenTelemetry defines them."""
    return all("role" in message and "parts" in message and _are_typed(message["parts"]) for message in messages)


def _are_typed(raw: Raw) -> bool:
    return json_kind(raw) == "[" and all(json_kind(part) == "{" and "type" in read_object(part, "") for part in read_list(raw, ""))


def _read_parts(message: Members, where: str) -> list[Fields]:
    refuse_calls(message.keys() - _MESSAGE_KEYS, where)
    turn = Turn(find_role(optional_text(message, "role", where), _ROLES, f"{where}.role"))
    for index, part in enumerate(read_objects(message["parts"], f"{where}.parts")):
        at = f"{where}.parts[{index}]"
        match optional_text(part, "type", at):
            case "text":
                turn.parts.append(text_part(optional_text(part, "content", at)))
            case "reasoning":
                turn.thinking.append(optional_text(part, "content", at))
            case "tool_call":
                turn.calls.append(read_part_call(part, call_id=optional_text(part, "id", at), ignore=_CALL_METADATA))
            case "tool_call_response":
                turn.add_result(_read_part_result(part, at))
            case kind if kind in _SERVER_PARTS or kind in _MEDIA_PARTS:
                turn.parts.append(known_part(kind))
            case kind:
                turn.parts.append(other_part(kind or "part", part, at))
    if turn.role == "tool" and not turn.has_results:
        return [result_message(_joined_text(turn), optional_text(message, "id", where), optional_text(message, "name", where))]
    return turn.messages()


def _read_part_result(part: Members, where: str) -> Fields:
    for key in ("response", "result"):
        if key in part:
            return result_message(any_text(part[key]), optional_text(part, "id", where))
    refuse_calls(part.keys() - {"type", "id", "name"}, where)
    return result_message("", optional_text(part, "id", where))


def _joined_text(turn: Turn) -> str:
    return "\n".join(part["text"] for part in turn.parts if part.get("type") == "text")


def _read_openinference(raw: Raw, where: str) -> Fields:
    """Return a message of OpenInference, whose flattened attributes are nested again."""
    message = read_object(raw, where)
    role = find_role(optional_text(message, "role", where), _ROLES, f"{where}.role")
    parts: list[Fields] = []
    thinking: list[str] = []
    if "content" in message:
        parts.append(text_part(any_text(message["content"])))
    elif "contents" in message:
        for index, item in enumerate(read_objects(message["contents"], f"{where}.contents")):
            content = read_object(item.get("message_content", Raw(b"{}")), f"{where}.contents[{index}]")
            kind = optional_text(content, "type", where) or "text"
            text = optional_text(content, "text", where)
            if kind == "reasoning":
                thinking.append(text)
            elif kind != "tool_use":  # those are among the calls
                parts.append(text_part(text) if kind == "text" else known_part(kind))
    if role == "tool":
        return result_message(
            "\n".join(part["text"] for part in parts), optional_text(message, "tool_call_id", where), optional_text(message, "name", where)
        )
    turn = Turn(role)
    turn.parts, turn.thinking = [part for part in parts if part["text"]], thinking
    if "tool_calls" in message:
        for index, item in enumerate(read_objects(message["tool_calls"], f"{where}.tool_calls")):
            call = read_object(item.get("tool_call", Raw(b"{}")), f"{where}.tool_calls[{index}]")
            turn.calls.append(read_part_call(call, ignore=("reasoning_signature",)))
    elif "function_call_name" in message:
        fields = {"name": message["function_call_name"], "arguments": message.get("function_call_arguments_json", Raw(b"null"))}
        turn.calls.append(read_part_call(fields))
    [fields] = turn.messages()
    return fields


def _read_by_format(items: Sequence[Raw], where: str) -> Texts:
    row = b'{"messages":[' + b",".join(bytes(item) for item in items) + b"]}"
    try:
        found = detect_format(row)
        return tuple(message_texts(found.read(row, _PLACE, ReadContext())))
    except BadInput as error:
        raise BadInput(f"{where}: {error}", error.hint) from None
