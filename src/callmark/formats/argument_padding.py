"""Remove the nulls with which tables pad the arguments of calls: in a column of messages, every call has the arguments of all calls.

A table cannot tell a null from a missing key. So where a row comes from a table, which shows in `"tool_calls": null` of a message that is
not the assistant's, a null in arguments that are objects means a missing key, at any depth: except for a parameter that the tool requires.
Arguments that are JSON text are never padded.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.strict import dump
from callmark.formats.json_fields import read_value
from callmark.types import Tool

_decode_messages = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode

Fields = dict[str, Raw]


def unpad_messages(text: bytes, tools: Iterable[Tool]) -> list[bytes] | None:
    """Return the JSON of each message of a list, with unpadded arguments; None if the list does not come from a table."""
    messages = _decode_messages(text)
    if not any(_is_padded(message) for message in messages):
        return None
    required = {tool.name: tool.parameters.get("required") for tool in tools}
    return [_encode(_unpad_message(message, required)) for message in messages]


def unpad_calls(message: Mapping[str, Any], tools: Iterable[Tool]) -> dict[str, Any]:
    """Return a message from a table without the padding of its calls, and without its own keys that are null."""
    required = {tool.name: tool.parameters.get("required") for tool in tools}
    unpadded = _unpad_message({key: Raw(dump(value).encode()) for key, value in message.items() if value is not None}, required)
    return {key: read_value(value) for key, value in unpadded.items()}


def _is_padded(message: Fields) -> bool:
    return bytes(message.get("tool_calls", b"")) == b"null" and bytes(message.get("role", b"")) != b'"assistant"'


def _unpad_message(message: Fields, required: Mapping[str, Any]) -> Fields:
    if not bytes(message.get("tool_calls", b"")).startswith(b"["):
        return message
    calls = [_unpad_call(call, required) for call in _decode_list(message["tool_calls"])]
    return message | {"tool_calls": Raw(b"[" + b",".join(calls) + b"]")}


def _unpad_call(call: Raw, required: Mapping[str, Any]) -> bytes:
    """Return the JSON of a call without padding; anything else unchanged."""
    if not bytes(call).startswith(b"{"):
        return bytes(call)
    fields = _decode_fields(call)
    function = fields.get("function")
    if function is not None and bytes(function).startswith(b"{"):
        return _encode(fields | {"function": Raw(_unpad_call(function, required))})
    arguments = bytes(fields.get("arguments", b""))
    if not arguments.startswith(b"{") or b"null" not in arguments:
        return bytes(call)
    needed = required.get(read_value(fields["name"]) if bytes(fields.get("name", b"")).startswith(b'"') else "")
    kept = _unpad_value(read_value(arguments), needed if isinstance(needed, list) else ())
    return _encode(fields | {"arguments": Raw(dump(kept).encode())})


def _unpad_value(value: Any, needed: Sequence[str] = ()) -> Any:
    if isinstance(value, list):
        return [_unpad_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _unpad_value(item) for key, item in value.items() if item is not None or key in needed}
    return value
