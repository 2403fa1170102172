"""Values as JSON for the page: whatever is in a run, a browser can read it.

JavaScript keeps whole numbers up to 2 ** 53 only, so larger ones become text; a text that is too long is cut and says so; lone surrogates
are written out, and what is no number is null. Bidirectional controls and escape sequences stay: the page shows them safely.
"""

import re
from hashlib import sha256
from typing import Any

import msgspec

from callmark.calls.strict import DEEPEST, scrub

LONGEST = 200_000  # characters of a text in a case
LONGEST_ID = 500
_EXACT = 1 << 53
_DEEPEST = DEEPEST + 20  # what is around a value counts too
_LARGE = re.compile(rb"[0-9]{16}")
_SEPARATORS = ((b"<", b"\\u003c"), ("\u2028".encode(), b"\\u2028"), ("\u2029".encode(), b"\\u2029"))
_encode = msgspec.json.Encoder().encode


def page_json(value: Any) -> bytes:
    """The JSON of a value; what is nested deeper than JSON may be is a text that says so."""
    try:
        text = _encode(value)
        if len(text) <= LONGEST and not _LARGE.search(text):
            return text
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    return _encode(_readable(value))


def inside_script(text: bytes) -> bytes:
    """JSON that can stand in a `<script>`: nothing in it ends the element, or begins a comment."""
    for found, written in _SEPARATORS:
        text = text.replace(found, written)
    return text


def short(text: str, longest: int) -> str:
    """The text, cut after so many characters with `…`."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def exact(number: int) -> int | str:
    """The number, or, where JavaScript would round it, its digits as text."""
    if -_EXACT <= number <= _EXACT:
        return number
    try:
        return str(number)
    except ValueError:  # more digits than Python writes
        return hex(number)


def shown_id(name: str) -> str:
    """The id of a case as the page has it: a very long one is shortened, so that two that differ still do."""
    return name if len(name) <= LONGEST_ID else f"{name[: LONGEST_ID - 20]}…{sha256(scrub(name).encode()).hexdigest()[:16]}"


def _readable(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return f"(nested deeper than {DEEPEST})"
    match value:
        case bool() | None | float() | msgspec.Raw():
            return value
        case int():
            return exact(value)
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
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… (+{len(text) - LONGEST:,} characters left out)"
