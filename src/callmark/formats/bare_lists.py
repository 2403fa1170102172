"""Conversations that are bare lists of messages: a row that is a list, and a file that is one list of messages instead of rows."""

import msgspec
from msgspec import Raw

from callmark.formats.json_fields import Fields

_OTHER_ROWS = frozenset({"messages", "conversations", "contents", "input", "inputs", "traj", "prompt", "chosen", "expected_function_calls"})


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def wrap_list(row: bytes) -> bytes:
    """Return a row that is a list of messages as a row with `messages`; any other row unchanged."""
    return b'{"messages":' + row.strip() + b"}" if row.startswith(b"[") else row


def is_message(text: bytes) -> bool:
    """Return whether a JSON value is a message or an item of a conversation, in any of the chat formats, and not a row of its own."""
    try:
        fields = _decode_fields(text)
    except (ValueError, RecursionError):
        return False
    return _OTHER_ROWS.isdisjoint(fields) and (_has_speaker(fields) or "lc" in fields or {"kind", "parts"} <= fields.keys())


def _has_speaker(fields: Fields) -> bool:
    said = {"content", "parts", "tool_calls", "data"} & fields.keys()
    return bool(said) and ("role" in fields or "type" in fields)
