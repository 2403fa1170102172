"""When two argument values are the same (`exact`) and when they agree (`similar`); docs/metrics.md, sections 2 and 3.

Strings are the same after Unicode NFC and trimming, numbers as numbers, a boolean is not a number; a string is the same as a
value that is not one when its JSON is. They agree already when their words are equal. Neither raises, whatever the values.

`agrees` reads matchers (section 4) on the expected side; `exact` and `similar` take every value as it is.
"""

from collections.abc import Mapping
from typing import Any, Literal

from callmark.calls.matchers import SIMILAR, is_matcher, matches, is_optional
from callmark.calls.schema import admits_null, properties, required, variants
from callmark.calls.strict import NotStrict, parse
from callmark.calls.words import normalize, words

ComparisonRule = Literal["exact", "similar"]

_WITH_DEFAULT = frozenset({"default", "$ref", "anyOf", "oneOf", "allOf"})  # where a default may stand
_WORDS = {"true": True, "false": False, "none": None}


def exact(expected: Any, actual: Any) -> bool:
    """Whether two values are the same by the rules of section 2. Symmetric."""
    return _compare(expected, actual, "exact", False)


def similar(expected: Any, actual: Any) -> bool:
    """Whether two values agree by the rules of section 3. Symmetric."""
    return _compare(expected, actual, "similar", False)


def agrees(expected: Any, actual: Any, rule: ComparisonRule = "exact") -> bool:
    """`exact` or `similar`, with matchers read on the expected side, at any depth."""
    return _compare(expected, actual, rule, True)


def without_defaults(arguments: Mapping[str, Any], parameters: Mapping[str, Any], *, patterns: bool = False) -> Mapping[str, Any]:
    """The arguments less those that equal being left out: the parameter's default, and null where it is optional and not null-able.

    With `patterns` they are expected ones, in which `$literal` stands for its value.
    """
    known = properties(parameters)
    if not known or not may_equal_default(arguments, known):
        return arguments
    needed = required(parameters)
    return {
        key: value
        for key, value in arguments.items()
        if key not in known or not _left_out(value, known[key], key in needed, parameters, patterns)
    }


def _compare(expected: Any, actual: Any, rule: ComparisonRule, patterns: bool) -> bool:
    try:
        return _same(expected, actual, rule, patterns)
    except RecursionError:  # deeper than any call that is well-formed
        return False


def _same(expected: Any, actual: Any, rule: ComparisonRule, patterns: bool) -> bool:
    if isinstance(expected, str):
        if isinstance(actual, str):
            return expected == actual or _same_text(expected, actual, rule)
        return _same_as_text(actual, expected, rule)
    if patterns and isinstance(expected, dict) and is_matcher(expected):
        if "$literal" in expected:
            return _same(expected["$literal"], actual, "exact", False)
        if SIMILAR in expected:
            return _same(expected[SIMILAR], actual, "similar", False)
        return matches(expected, actual, _inside)
    if isinstance(actual, str):
        return _same_as_text(expected, actual, rule, patterns)
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict):
        return isinstance(actual, dict) and _same_objects(expected, actual, rule, patterns)
    if isinstance(expected, list | tuple):
        return (
            isinstance(actual, list | tuple)
            and len(expected) == len(actual)
            and all(_same(one, other, rule, patterns) for one, other in zip(expected, actual, strict=True))
        )
    return not isinstance(actual, dict | list | tuple) and bool(expected == actual)


def _inside(expected: Any, actual: Any) -> bool:
    """The rule inside a matcher."""
    return _same(expected, actual, "exact", True)


def _same_objects(expected: dict[str, Any], actual: dict[str, Any], rule: ComparisonRule, patterns: bool) -> bool:
    if not patterns:
        return len(expected) == len(actual) and all(
            key in actual and _same(value, actual[key], rule, False) for key, value in expected.items()
        )
    if not actual.keys() <= expected.keys():
        return False
    return all(_same(value, actual[key], rule, True) if key in actual else is_optional(value) for key, value in expected.items())


def _same_text(expected: str, actual: str, rule: ComparisonRule) -> bool:
    if normalize(expected, "NFC").strip() == normalize(actual, "NFC").strip():
        return True
    return rule == "similar" and bool(found := words(expected)) and found == words(actual)


def _same_as_text(value: Any, text: str, rule: ComparisonRule, patterns: bool = False) -> bool:
    """A value that is no string against a string: the same when the string's JSON is, and is no string."""
    try:
        read = parse(text)
    except NotStrict:
        spelled = text.strip().casefold()
        return rule == "similar" and spelled in _WORDS and _WORDS[spelled] is value
    return not isinstance(read, str) and _same(value, read, rule, patterns)


def may_equal_default(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Whether any of the arguments could equal being left out: told at a glance for nearly every call."""
    for key, value in arguments.items():
        if value is None or value.__class__ is dict:
            return True
        schema = known.get(key)
        if schema is not None and (schema.__class__ is not dict or not _WITH_DEFAULT.isdisjoint(schema)):
            return True
    return False


def _left_out(value: Any, schema: Any, needed: bool, root: Mapping[str, Any], patterns: bool) -> bool:
    if not isinstance(schema, dict):
        return False
    if patterns and is_matcher(value):
        value = value.get("$literal", value.get(SIMILAR, value))
    if any("default" in part and exact(part["default"], value) for part in variants(schema, root)):
        return True
    return value is None and not needed and not admits_null(schema, root)
