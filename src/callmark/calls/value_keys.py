"""Keys of values, to find equal values by hashing instead of comparing every pair."""

from collections.abc import Hashable
from math import floor, isfinite, log
from typing import Any

from callmark.calls.strict import NotStrict, parse
from callmark.calls.words import trim
from callmark.errors import BadInput

MAX_COMPARISONS = 1_000_000  # of values that may be equal by their keys and are not, or have no key, in one search

_NULL, _BOOLEANS = ("null",), (("false",), ("true",))
_JSON_STARTS = frozenset("{[-0123456789tfn")
_NEAR = 2e-9  # of the magnitude: twice the tolerance of `exact`
_MAX_NEAR_ONE = 1e8  # above it, a number that is not whole may be near several whole ones
_INTERVALS = 1e6  # per unit of the natural logarithm, into which numbers that are not near a whole one are sorted


class ComparisonBudget:
    """The comparisons that are left to a search. Values of usual texts have different keys, so a search that needs more is refused."""

    def __init__(self) -> None:
        self._left = MAX_COMPARISONS

    def spend(self) -> None:
        """Count a comparison. If none is left, raise `BadInput`."""
        self._left -= 1
        if self._left < 0:
            raise BadInput(
                f"a search for equal values needs more than {MAX_COMPARISONS:,} comparisons, because too many of them may be equal",
                "Normalize JSON texts in the values to Unicode NFC, and write numbers without quotes.",
            )


def value_key(value: Any) -> Hashable:
    """Return a key that is the same for values that are equal by `exact`, and may be the same for others.

    None means that the value has no key and must be compared: it contains an object of another type, a number that is near the edge of an
    interval of numbers with the same key, or a JSON text that has another value once it is normalized, because of its object keys, or
    because of a mark that combines with the escape before it.
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
    if isinstance(value, bool):
        return _BOOLEANS[value]
    if isinstance(value, float) and not value.is_integer():
        return _number_key(value)
    return value if isinstance(value, int | float) else None


def _number_key(value: float) -> Hashable:
    """Return the key of a number that is not whole: an interval of numbers. None if it is near another interval or a whole number."""
    magnitude = abs(value)
    if not isfinite(value) or magnitude > _MAX_NEAR_ONE or abs(value - round(value)) <= 2 * _NEAR * magnitude:
        return None
    at = log(magnitude) * _INTERVALS
    interval = floor(at + _NEAR * _INTERVALS)
    return ("~", value > 0, interval) if interval == floor(at - _NEAR * _INTERVALS) else None


def _text_key(text: str) -> Hashable:
    normal = trim(text)
    key = _json_key(normal, normal)
    if normal != text and normal[:1] in _JSON_STARTS and _json_key(text, key) != key:
        return None
    return key


def _json_key(text: str, otherwise: Hashable) -> Hashable:
    """Return the key of the value of a JSON text; another key for a text that is not JSON, or is the JSON of a string."""
    if text.strip()[:1] not in _JSON_STARTS:
        return otherwise
    try:
        return value_key(parse(text))
    except NotStrict:
        return otherwise
