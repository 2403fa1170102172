"""Objects whose values are still JSON text: the type of a field, and its text or value, decoded only when needed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.strict import scrub
from callmark.errors import BadInput

Fields = Mapping[str, Raw]

_KIND_NAMES = {"{": "an object", "[": "a list", '"': "a string", "n": "null", "t": "a boolean", "f": "a boolean"}
_MAX_KEYS, _MAX_KEY = 8, 40  # keys shown in an error message, and characters of each

decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
_decode = msgspec.json.Decoder().decode


def json_kind(raw: Raw | bytes) -> str:
    """Return the first character of a JSON value, which determines its type."""
    return chr(memoryview(raw)[0])


def read_text(raw: Raw | bytes) -> str:
    """Return the content of a JSON string."""
    return _decode_text(raw)


def read_value(raw: Raw | bytes) -> Any:
    """Decode a JSON value; numbers outside the range of a double are accepted."""
    try:
        return _decode(raw)
    except msgspec.MsgspecError:
        return json.loads(bytes(raw))


def text_field(fields: Fields, key: str) -> str:
    """Return the string under a key; empty if it is missing or not a string."""
    return read_text(fields[key]) if key in fields and json_kind(fields[key]) == '"' else ""


def first_text(fields: Fields, keys: Sequence[str]) -> str:
    """Return the first non-empty string under these keys; other values are skipped."""
    for key in keys:
        if key in fields and (text := text_field(fields, key)):
            return text
    return ""


def wrong_type(raw: Raw | bytes, field: str, expected: str) -> BadInput:
    """Return the error for a field whose value has the wrong type."""
    return BadInput(f"{field}: expected {expected}, got {_KIND_NAMES.get(json_kind(raw), 'a number')}")


def describe_keys(fields: Fields) -> str:
    """Return the first keys of an object, for an error message: `the keys id, foo`, or `the key foo`."""
    keys = ", ".join(scrub(key[:_MAX_KEY]) for key in list(fields)[:_MAX_KEYS])
    return f"the key{'s' if len(fields) > 1 else ''} {keys}" if keys else "no keys"
