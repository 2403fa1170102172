"""Keys of values, to find equal values by hashing instead of comparing every pair."""

from collections.abc import Hashable
from typing import Any

from callmark.calls.strict import NotStrict, parse
from callmark.calls.words import normalize

_NULL = ("null",)
_JSON_STARTS = frozenset("{[-0123456789tfn")


def value_key(value: Any) -> Hashable:
    """Return a key that is the same for values that are equal by `exact`, and may be the same for others.

    None means that the value has no key and must be compared: it contains an object of another type, or a text with escapes next to
    characters that normalization may combine with them.
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


def _text_key(text: str) -> Hashable:
    if "\\" in text and not text.isascii():
        return None
    text = normalize(text, "NFC").strip()
    if text[:1] in _JSON_STARTS:
        try:
            value = parse(text)
        except NotStrict:
            return text
        return value_key(value)
    return text
