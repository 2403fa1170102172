"""Compare values by their letters and digits only: the same value in another format (docs/reference/metrics.md, section 9)."""

import re
from typing import Any

from callmark.calls.values import exact
from callmark.calls.words import trim

_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_MAX_NUMBER = 300  # characters
_LEAST = 2  # letters and digits


def differs_in_format(expected: Any, actual: Any) -> bool:
    """Return whether two different values are the same one in another format: two strings that are not numbers, with the same letters and
    digits in any case (at least two), such as `W7868134` and `#W7868134`; or two values that are numerically equal.
    """
    one, other = _number(expected), _number(actual)
    if one is not None or other is not None:
        return one is not None and other is not None and exact(one, other)
    if not isinstance(expected, str) or not isinstance(actual, str):
        return False
    letters = _letters(expected)
    return len(letters) >= _LEAST and letters == _letters(actual)


def _number(value: Any) -> int | float | None:
    """Return the number that a value is, or that a text reads as."""
    if isinstance(value, int | float):
        return None if isinstance(value, bool) else value
    text = value.strip() if isinstance(value, str) else ""
    if len(text) > _MAX_NUMBER or not _NUMBER.fullmatch(text):
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, trim(text).casefold()))
