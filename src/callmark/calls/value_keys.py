"""Keys of values, to find equal values by hashing instead of comparing every pair."""

from collections.abc import Hashable
from typing import Any

from callmark.calls.strict import NotStrict, parse
from callmark.calls.words import normalize

MAX_WITHOUT_KEY = 100  # values without a key that a value is compared with, where nothing else bounds their number

_NULL = ("null",)
_JSON_STARTS = frozenset("{[-0123456789tfn")
_NESTED_STARTS = frozenset("{[")


def value_key(value: Any) -> Hashable:
    """Return a key that is the same for values that are equal by `exact`, and may be the same for others.

    None means that the value has no key and must be compared: it contains an object of another type, or a JSON text whose escapes may
    combine with the characters after them when it is normalized.
    """
    if isinstance(value, str):
        return _text_key(value)
    if isinstance(value, dict):
        pairs = [(key, value_key(item)) for key, item in value.items()]
        return None if any(key is None for _, key in pairs) else frozenset(pairs)
    if isinstance(value, list | tuple):
        keys = tuple(map(value_key, value))
        return None if None in keys else keys
    if value is None:
        return _NULL
    return value if isinstance(value, int | float) else None


def all_keys(value: Any) -> set[Hashable]:
    """Return every key that a value equal to this one may have. None is one of them if it may have any."""
    if not isinstance(value, str):
        return {value_key(value)}
    text = normalize(value, "NFC").strip()
    return {text, *(value_key(read) for read in (*_read(value), *_read(text)))}


def _text_key(text: str) -> Hashable:
    has_escapes = "\\" in text and not text.isascii()
    text = normalize(text, "NFC").strip()
    if has_escapes and text[:1] in _NESTED_STARTS:
        return None
    return next((value_key(read) for read in _read(text)), text)


def _read(text: str) -> list[Any]:
    """Return the value of a JSON text that is not a string, in a list; an empty list for any other text."""
    if text.strip()[:1] not in _JSON_STARTS:
        return []
    try:
        return [parse(text)]
    except NotStrict:
        return []
