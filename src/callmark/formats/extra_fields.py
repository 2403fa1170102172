"""The extra fields of a message, other than role, text, calls, id and name, for formats that store them elsewhere.

In the OpenAI format these are unknown keys (`is_error` of a result, `thinking_blocks`, `weight`) and content that is not plain text.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import message_texts
from callmark.types import Conversation

ExtraFields = dict[str, Raw]

_KNOWN = frozenset({"role", "tool_calls", "function_call", "tool_call_id", "name"})


class _Part(Struct, forbid_unknown_fields=True):
    text: str
    type: str = "text"


class _PlainMessage(Struct, forbid_unknown_fields=True):
    """A message without extra fields, the common case."""

    role: str
    content: str | list[_Part] | None = None
    tool_calls: Any = Raw(b"")
    function_call: Raw = Raw(b"")
    tool_call_id: Any = None
    name: str | None = None
    refusal: None = None


class _PlainBody(Struct):
    messages: list[_PlainMessage]


_decode_plain_body = msgspec.json.Decoder(_PlainBody).decode
_decode_plain = msgspec.json.Decoder(_PlainMessage).decode
_decode_parts = msgspec.json.Decoder(list[_Part]).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def extra_fields(conversation: Conversation) -> Sequence[ExtraFields]:
    """Return the extra fields of each message as JSON: unknown keys that are not null, and `content` if it is more than text.

    Messages built in Python have none.
    """
    original = conversation.original
    if original.messages is not conversation.messages:
        return [{}] * len(conversation.messages)
    if not original.texts and original.body:
        try:
            _decode_plain_body(original.body)
        except msgspec.ValidationError:
            pass
        else:
            return [{}] * len(conversation.messages)
    return [_extra_fields(bytes(text)) for text in message_texts(conversation)]


def _extra_fields(text: bytes) -> ExtraFields:
    try:
        _decode_plain(text)
    except msgspec.ValidationError:
        pass
    else:
        return {}
    fields = _decode_fields(text)
    return {key: value for key, value in fields.items() if key not in _KNOWN and bytes(value) != b"null" and not _is_text(key, value)}


def _is_text(key: str, value: Raw) -> bool:
    if key != "content":
        return False
    text = bytes(value)
    if text.startswith(b'"'):
        return True
    try:
        _decode_parts(text)
    except msgspec.ValidationError:
        return False
    return True
