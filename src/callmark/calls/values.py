"""When two argument values are the same: `exact` (docs/metrics.md, section 2).

Strings are the same after Unicode NFC and trimming, numbers as numbers, a boolean is not a number; a string is the same as a
value that is not one when its JSON is. Nothing raises, whatever the values and however deep.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any

from callmark.calls.schema import admits_null, properties, required
from callmark.calls.strict import NotStrict, parse

_LONGEST_MARKS = 1000


def exact(expected: Any, actual: Any) -> bool:
    """Whether two values are the same by the rules of section 2. Symmetric."""
    if isinstance(expected, str):
        if isinstance(actual, str):
            return expected == actual or _normal(expected) == _normal(actual)
        return _same_as_text(actual, expected)
    if isinstance(actual, str):
        return _same_as_text(expected, actual)
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and len(expected) == len(actual)
            and all(key in actual and exact(value, actual[key]) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return isinstance(actual, list) and len(expected) == len(actual) and all(map(exact, expected, actual))
    return not isinstance(actual, dict | list) and bool(expected == actual)


def without_defaults(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments less those that equal being left out: the parameter's default, and null where it is optional and not null-able."""
    known = properties(parameters)
    if not known:
        return dict(arguments)
    needed = required(parameters)
    return {key: value for key, value in arguments.items() if key not in known or not _equals_leaving_out(value, known[key], key in needed)}


def _equals_leaving_out(value: Any, schema: Any, needed: bool) -> bool:
    if not isinstance(schema, dict):
        return False
    if "default" in schema and exact(schema["default"], value):
        return True
    return value is None and not needed and not admits_null(schema)


def _normal(text: str) -> str:
    if not text.isascii() and not (len(text) > _LONGEST_MARKS and _marks(text) > _LONGEST_MARKS):
        text = unicodedata.normalize("NFC", text)
    return text.strip()


def _marks(text: str) -> int:
    """The longest run of combining marks: normalising one takes time squared, and no writing has long ones."""
    longest = run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        longest = max(longest, run)
    return longest


def _same_as_text(value: Any, text: str) -> bool:
    """A value that is no string against a string: the same when the string's JSON is, and is no string."""
    try:
        read = parse(text)
    except NotStrict:
        return False
    return not isinstance(read, str) and exact(value, read)
