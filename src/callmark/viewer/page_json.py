"""Encode any value of a run as JSON that a browser can read.

JavaScript has exact integers only up to 2 ** 53, so larger ones become text. Text that is too long is cut, with the number of characters
left out. Lone surrogates are escaped; NaN and infinity become null. Bidirectional controls and escape sequences are unchanged: the page
shows them safely.
"""

import re
from hashlib import sha256
from typing import Any

import msgspec

from callmark.calls.strict import DEEPEST, scrub

MAX_TEXT = 200_000  # characters of a text in a case
MAX_ID = 500
_MAX_SAFE_INTEGER = 1 << 53
_MAX_DEPTH = DEEPEST + 20  # the containers around a value count too
_LARGE_NUMBER = re.compile(rb"[0-9]{16}")
_SCRIPT_ESCAPES = ((b"<", b"\\u003c"), ("\u2028".encode(), b"\\u2028"), ("\u2029".encode(), b"\\u2029"))
_encode = msgspec.json.Encoder().encode


def page_json(value: Any) -> bytes:
    """Return the JSON of a value; values nested too deeply are replaced by a text that says so."""
    try:
        text = _encode(value)
        if len(text) <= MAX_TEXT and not _LARGE_NUMBER.search(text):
            return text
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    return _encode(_readable(value))


def escape_for_script(text: bytes) -> bytes:
    """Return JSON that is safe inside a `<script>`: nothing in it ends the element or starts a comment."""
    for found, escaped in _SCRIPT_ESCAPES:
        text = text.replace(found, escaped)
    return text


def truncate(text: str, length: int) -> str:
    """Return the text cut to at most `length` characters, ending in `…` if it was cut."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def safe_integer(number: int) -> int | str:
    """Return the number, or its digits as text if JavaScript would round it."""
    if -_MAX_SAFE_INTEGER <= number <= _MAX_SAFE_INTEGER:
        return number
    try:
        return str(number)
    except ValueError:  # more digits than Python writes
        return hex(number)


def page_id(case: str) -> str:
    """Return the id of a case on the page: a very long one is shortened so that different ids stay different."""
    return case if len(case) <= MAX_ID else f"{case[: MAX_ID - 20]}…{sha256(scrub(case).encode()).hexdigest()[:16]}"


def _readable(value: Any, depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        return f"(nested deeper than {DEEPEST})"
    match value:
        case bool() | None | float() | msgspec.Raw():
            return value
        case int():
            return safe_integer(value)
        case str():
            return _text(value)
        case dict():
            return {_text(str(key)): _readable(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_readable(item, depth + 1) for item in value]
        case msgspec.Struct():
            return {name: _readable(getattr(value, name), depth + 1) for name in value.__struct_fields__}
    return _text(repr(value))


def _text(text: str) -> str:
    text = text if text.isascii() else scrub(text)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… (+{len(text) - MAX_TEXT:,} characters left out)"
