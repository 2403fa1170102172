"""Strict JSON: the one place that decides whether a text is JSON (docs/reference/metrics.md, section 1).

Rejected: NaN and Infinity, trailing text, numbers outside the double range, lone surrogates, nesting deeper than 200.
For a duplicate key, the last value wins, as in every JSON parser; `repeated_key` finds one.
"""

import json
import re
import sys
from typing import Any

import msgspec

DEEPEST = 200

decode = msgspec.json.Decoder().decode
_LONG_NUMBER = re.compile(r"[0-9]{309}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class NotStrict(ValueError):  # noqa: N818 - describes the text
    """The text is not strict JSON; `str()` is the reason, in a few words."""


def parse(text: str | bytes, *, deepest: int = DEEPEST) -> Any:
    """Return the value of a strict JSON text. Any other text raises `NotStrict`, never another error."""
    try:
        value = decode(text)
    except RecursionError:
        raise NotStrict(f"nesting deeper than {DEEPEST}") from None
    except UnicodeEncodeError:
        raise NotStrict("lone surrogate") from None
    except ValueError as error:  # msgspec's errors, invalid UTF-8, integers with more digits than Python converts
        raise NotStrict(_reason(text, error)) from None
    if len(text) > DEEPEST:
        if _count_brackets(text) > deepest and is_deeper_than(value, deepest):
            raise NotStrict(f"nesting deeper than {DEEPEST}")
        if len(text) >= 309 and _out_of_range(text, value):
            raise NotStrict("number outside the double range")
    return value


def is_deeper_than(value: Any, limit: int) -> bool:
    """Return whether objects and arrays are nested more than `limit` levels deep, without recursion."""
    level = [value]
    depth = 0
    while level := [item for item in level if isinstance(item, dict | list | tuple)]:
        depth += 1
        if depth > limit:
            return True
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return False


def strings_and_numbers(value: Any) -> list[str | int | float]:
    """Return every string (including keys) and every number in a value, at any depth."""
    found: list[str | int | float] = []
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, dict):
            rest.extend(item.values())
            rest.extend(item)
        elif isinstance(item, list | tuple):
            rest.extend(item)
        elif isinstance(item, str | int | float) and not isinstance(item, bool):
            found.append(item)
    return found


def is_strict(value: Any) -> bool:
    """Return whether a value that was not parsed is strict: finite numbers in range, no lone surrogate."""
    for item in strings_and_numbers(value):
        if isinstance(item, str):
            if not item.isascii() and _LONE_SURROGATE.search(item):
                return False
        elif not -sys.float_info.max <= item <= sys.float_info.max:
            return False
    return True


def scrub(text: str) -> str:
    """Return the text with lone surrogates escaped (`\\ud800`), so that it can be encoded."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def dump(value: Any) -> str:
    """Return JSON text for any value. Values that JSON cannot represent are written as their `repr`."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        pass
    if is_deeper_than(value, DEEPEST):
        return f"({type(value).__name__} nested deeper than {DEEPEST})"
    for write in (_dump_plain, repr):
        try:
            return scrub(write(value))
        except (TypeError, ValueError, RecursionError):  # an integer with more digits than Python writes, a key that is not a string
            continue
    return f"({type(value).__name__} that cannot be displayed)"


def _dump_plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def repeated_key(text: str | bytes) -> str | None:
    """Return the first duplicate key in an object of a JSON text; None if there is none, or if the text is not JSON."""
    repeated: list[str] = []

    def find(pairs: list[tuple[str, Any]]) -> None:
        if not repeated and len(pairs) > 1 and len(dict(pairs)) < len(pairs):
            seen: set[str] = set()
            repeated.append(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]

    try:
        json.loads(text, object_pairs_hook=find)
    except (ValueError, RecursionError):
        return None
    return scrub(repeated[0]) if repeated else None


def _count_brackets(text: str | bytes) -> int:
    return text.count("{") + text.count("[") if isinstance(text, str) else text.count(b"{") + text.count(b"[")


def _out_of_range(text: str | bytes, value: Any) -> bool:
    found = _LONG_NUMBER.search(text if isinstance(text, str) else text.decode("utf-8", "replace"))
    return found is not None and not is_strict(value)


def _reason(text: str | bytes, error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "invalid UTF-8"
    message = str(error)
    if "out of range" in message or "integer string conversion" in message:
        return "number outside the double range"
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        if problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated"):
            return "truncated JSON"
        return f"invalid JSON at character {problem.pos + 1}"
    except (ValueError, RecursionError) as problem:
        return str(problem) if "is not valid JSON" in str(problem) else "invalid JSON"
    return "lone surrogate" if "hex escape" in message or "truncated" in message or "surrogate" in message else "invalid JSON"


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")
