"""Objects whose values are still JSON text: what kind of value a field has, and its text or value, decoded only when needed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.strict import scrub
from callmark.errors import BadInput

Fields = Mapping[str, Raw]

_KIND_NAMES = {"{": "an object", "[": "a list", '"': "text", "n": "null", "t": "true or false", "f": "true or false"}
_MAX_KEYS, _MAX_KEY = 8, 40  # keys in a message, and characters of each

decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
_decode = msgspec.json.Decoder().decode


def json_kind(raw: Raw | bytes) -> str:
    """Return the first character of a JSON value, which tells its type."""
    return chr(memoryview(raw)[0])


def read_text(raw: Raw | bytes) -> str:
    """Return the text of a JSON string."""
    return _decode_text(raw)


def read_value(raw: Raw | bytes) -> Any:
    """Return a JSON value, also one with numbers outside double range."""
    try:
        return _decode(raw)
    except msgspec.MsgspecError:
        return json.loads(bytes(raw))


def text_field(fields: Fields, key: str) -> str:
    """Return the text under a key; empty where there is none, or something else."""
    return read_text(fields[key]) if key in fields and json_kind(fields[key]) == '"' else ""


def first_text(fields: Fields, keys: Sequence[str]) -> str:
    """Return the first text under these keys that is not empty; values that are not text are skipped."""
    for key in keys:
        if key in fields and (text := text_field(fields, key)):
            return text
    return ""


def wrong_type(raw: Raw | bytes, field: str, expected: str) -> BadInput:
    """Return the error for a field that has a value of another type than expected."""
    return BadInput(f"{field} is {_KIND_NAMES.get(json_kind(raw), 'a number')}, {expected} was expected")


def describe_keys(fields: Fields) -> str:
    """Return the first keys of an object, for a message."""
    return ", ".join(scrub(key[:_MAX_KEY]) for key in list(fields)[:_MAX_KEYS]) or "none"
