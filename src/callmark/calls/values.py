"""Compare two argument values by `exact` or by `similar` (docs/reference/metrics.md, sections 2 and 3).

By `exact`, strings are compared after Unicode NFC and trimming, numbers by value, and a boolean is not a number. A string equals a value of
another type if its JSON does. By `similar`, strings agree if their words are equal. Neither raises, whatever the values.

`agrees` reads matchers (section 4) on the expected side; `exact` and `similar` take every value literally. `agrees` raises `EvaluatorError`
if its matchers need too many checks, and nothing else.
"""

from collections.abc import Mapping
from typing import Any, Literal

from callmark.calls.match_budget import MatchBudget
from callmark.calls.matchers import SIMILAR, is_matcher, is_optional
from callmark.calls.matching import matches
from callmark.calls.schema import admits_null, properties, required, variants
from callmark.calls.strict import NotStrict, parse
from callmark.calls.words import normalize, words

ComparisonRule = Literal["exact", "similar"]

_WITH_DEFAULT = frozenset({"default", "$ref", "anyOf", "oneOf", "allOf"})  # schema keys that may lead to a default
_WORD_VALUES = {"true": True, "false": False, "none": None}


def exact(expected: Any, actual: Any) -> bool:
    """Return whether two values are equal by section 2. Symmetric."""
    return _compare(expected, actual, "exact", False, None)


def similar(expected: Any, actual: Any) -> bool:
    """Return whether two values agree by section 3. Symmetric."""
    return _compare(expected, actual, "similar", False, None)


def agrees(expected: Any, actual: Any, rule: ComparisonRule = "exact", budget: MatchBudget | None = None) -> bool:
    """Return whether two values agree by the rule, with matchers read on the expected side, at any depth.

    `budget` is shared by the values of one comparison; without it, these two are compared alone.
    """
    return _compare(expected, actual, rule, True, MatchBudget() if budget is None else budget)


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


def _compare(expected: Any, actual: Any, rule: ComparisonRule, matchers: bool, budget: MatchBudget | None) -> bool:
    try:
        return _equal(expected, actual, rule, matchers, budget)
    except RecursionError:  # nested more deeply than any well-formed call
        if budget is not None:
            budget.inside = False
        return False


def _equal(expected: Any, actual: Any, rule: ComparisonRule, matchers: bool, budget: MatchBudget | None) -> bool:
    if isinstance(expected, str):
        if isinstance(actual, str):
            return expected == actual or _equal_texts(expected, actual, rule, budget)
        return _equals_text(actual, expected, rule, False, budget)
    if matchers and budget is not None and isinstance(expected, dict) and is_matcher(expected):
        if "$literal" in expected:
            return _equal(expected["$literal"], actual, "exact", False, budget)
        if SIMILAR in expected:
            return _equal(expected[SIMILAR], actual, "similar", False, budget)
        return matches(expected, actual, _equal_inside, budget)
    if isinstance(actual, str):
        return _equals_text(expected, actual, rule, matchers, budget)
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict):
        return isinstance(actual, dict) and _equal_objects(expected, actual, rule, matchers, budget)
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple) or len(expected) != len(actual):
            return False
        if budget is not None and budget.inside:
            budget.spend(len(expected))
        return all(_equal(item, other, rule, matchers, budget) for item, other in zip(expected, actual, strict=True))
    return not isinstance(actual, dict | list | tuple) and bool(expected == actual)


def _equal_inside(expected: Any, actual: Any, budget: MatchBudget) -> bool:
    """Compare values inside a matcher: by `exact`, with nested matchers."""
    budget.spend(1)
    return _equal(expected, actual, "exact", True, budget)


def _equal_objects(
    expected: dict[str, Any], actual: dict[str, Any], rule: ComparisonRule, matchers: bool, budget: MatchBudget | None
) -> bool:
    if not actual.keys() <= expected.keys() or (not matchers and len(expected) != len(actual)):
        return False
    if budget is not None and budget.inside:
        budget.spend(len(expected))
    return all(
        _equal(value, actual[key], rule, matchers, budget) if key in actual else matchers and is_optional(value)
        for key, value in expected.items()
    )


def _equal_texts(expected: str, actual: str, rule: ComparisonRule, budget: MatchBudget | None) -> bool:
    if budget is None:
        if _trim(expected) == _trim(actual):
            return True
        return rule == "similar" and bool(found := words(expected)) and found == words(actual)
    if budget.inside:
        budget.spend_text(actual)
    if budget.prepare(_trim, expected) == budget.prepare(_trim, actual):
        return True
    return rule == "similar" and bool(found := budget.prepare(words, expected)) and found == budget.prepare(words, actual)


def _trim(text: str) -> str:
    """Return the text in NFC, without outer white space."""
    return normalize(text, "NFC").strip()


def _equals_text(value: Any, text: str, rule: ComparisonRule, matchers: bool, budget: MatchBudget | None) -> bool:
    """Return whether a value that is not a string equals the JSON in a string. That JSON must not be a string itself."""
    read = _parse(text) if budget is None else budget.prepare_once(_parse, text)
    if not read:
        word = text.strip().casefold() if rule == "similar" else ""
        return word in _WORD_VALUES and _WORD_VALUES[word] is value
    return not isinstance(read[0], str) and _equal(value, read[0], rule, matchers, budget)


def _parse(text: str) -> tuple[Any] | tuple[()]:
    """Return the value of a strict JSON text in a tuple; an empty one for any other text."""
    try:
        return (parse(text),)
    except NotStrict:
        return ()


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
