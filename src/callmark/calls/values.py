"""Compare two argument values by `exact` or by `similar` (docs/reference/metrics.md, sections 2 and 3).

By `exact`, strings are compared after Unicode NFC and trimming, numbers by value, and a boolean is not a number. A string equals a value of
another type if its JSON does. By `similar`, strings agree if their words are equal. Neither raises, whatever the values.

`agrees` reads matchers (section 4) on the expected side; `exact` and `similar` take every value literally.
"""

from collections.abc import Mapping
from typing import Any, Literal

from callmark.calls.matchers import SIMILAR, is_matcher, is_optional, matches
from callmark.calls.schema import admits_null, properties, required, variants
from callmark.calls.strict import NotStrict, parse
from callmark.calls.words import normalize, words

ComparisonRule = Literal["exact", "similar"]

_WITH_DEFAULT = frozenset({"default", "$ref", "anyOf", "oneOf", "allOf"})  # schema keys that may lead to a default
_WORD_VALUES = {"true": True, "false": False, "none": None}


def exact(expected: Any, actual: Any) -> bool:
    """Return whether two values are equal by section 2. Symmetric."""
    return _compare(expected, actual, "exact", False)


def similar(expected: Any, actual: Any) -> bool:
    """Return whether two values agree by section 3. Symmetric."""
    return _compare(expected, actual, "similar", False)


def agrees(expected: Any, actual: Any, rule: ComparisonRule = "exact") -> bool:
    """Return whether two values agree by the rule, with matchers read on the expected side, at any depth."""
    return _compare(expected, actual, rule, True)


def without_defaults(arguments: Mapping[str, Any], parameters: Mapping[str, Any], *, matchers: bool = False) -> Mapping[str, Any]:
    """Return the arguments without those that are equivalent to omitting them: the default of a parameter, and null for an optional
    parameter that does not allow null.

    With `matchers`, the arguments are expected ones, in which `$literal` is read as its value.
    """
    known = properties(parameters)
    if not known or not may_equal_default(arguments, known):
        return arguments
    required_keys = required(parameters)
    return {
        key: value
        for key, value in arguments.items()
        if key not in known or not _equals_omission(value, known[key], key in required_keys, parameters, matchers)
    }


def _compare(expected: Any, actual: Any, rule: ComparisonRule, matchers: bool) -> bool:
    try:
        return _equal(expected, actual, rule, matchers)
    except RecursionError:  # nested more deeply than any well-formed call
        return False


def _equal(expected: Any, actual: Any, rule: ComparisonRule, matchers: bool) -> bool:
    if isinstance(expected, str):
        if isinstance(actual, str):
            return expected == actual or _equal_texts(expected, actual, rule)
        return _equals_text(actual, expected, rule)
    if matchers and isinstance(expected, dict) and is_matcher(expected):
        if "$literal" in expected:
            return _equal(expected["$literal"], actual, "exact", False)
        if SIMILAR in expected:
            return _equal(expected[SIMILAR], actual, "similar", False)
        return matches(expected, actual, _equal_inside)
    if isinstance(actual, str):
        return _equals_text(expected, actual, rule, matchers)
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict):
        return isinstance(actual, dict) and _equal_objects(expected, actual, rule, matchers)
    if isinstance(expected, list | tuple):
        return (
            isinstance(actual, list | tuple)
            and len(expected) == len(actual)
            and all(_equal(item, other, rule, matchers) for item, other in zip(expected, actual, strict=True))
        )
    return not isinstance(actual, dict | list | tuple) and bool(expected == actual)


def _equal_inside(expected: Any, actual: Any) -> bool:
    """Compare values inside a matcher: by `exact`, with nested matchers."""
    return _equal(expected, actual, "exact", True)


def _equal_objects(expected: dict[str, Any], actual: dict[str, Any], rule: ComparisonRule, matchers: bool) -> bool:
    if not matchers:
        return len(expected) == len(actual) and all(
            key in actual and _equal(value, actual[key], rule, False) for key, value in expected.items()
        )
    if not actual.keys() <= expected.keys():
        return False
    return all(_equal(value, actual[key], rule, True) if key in actual else is_optional(value) for key, value in expected.items())


def _equal_texts(expected: str, actual: str, rule: ComparisonRule) -> bool:
    if normalize(expected, "NFC").strip() == normalize(actual, "NFC").strip():
        return True
    return rule == "similar" and bool(found := words(expected)) and found == words(actual)


def _equals_text(value: Any, text: str, rule: ComparisonRule, matchers: bool = False) -> bool:
    """Return whether a value that is not a string equals the JSON in a string. That JSON must not be a string itself."""
    try:
        read = parse(text)
    except NotStrict:
        word = text.strip().casefold()
        return rule == "similar" and word in _WORD_VALUES and _WORD_VALUES[word] is value
    return not isinstance(read, str) and _equal(value, read, rule, matchers)


def may_equal_default(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Return False if a quick check shows that no argument is equivalent to omitting it, as in almost every call."""
    for key, value in arguments.items():
        if value is None or value.__class__ is dict:
            return True
        schema = known.get(key)
        if schema is not None and (schema.__class__ is not dict or not _WITH_DEFAULT.isdisjoint(schema)):
            return True
    return False


def _equals_omission(value: Any, schema: Any, is_required: bool, root: Mapping[str, Any], matchers: bool) -> bool:
    if not isinstance(schema, dict):
        return False
    if matchers and is_matcher(value):
        value = value.get("$literal", value.get(SIMILAR, value))
    if any("default" in part and exact(part["default"], value) for part in variants(schema, root)):
        return True
    return value is None and not is_required and not admits_null(schema, root)
