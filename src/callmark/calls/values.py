"""Compare two argument values by `exact` or by `similar` (docs/reference/metrics.md, sections 2 and 3).

By `exact`, strings are compared after Unicode NFC and trimming, numbers by value (within 1e-9, unless both are whole), and a boolean is not
a number. A string equals a value of another type if its JSON does, unless the schema is known and does not admit the type of the actual
value. By `similar`, strings agree if their words are equal, and no schema is consulted. Neither raises, whatever the values.

`agrees` reads matchers (section 4) on the expected side; `exact` and `similar` take every value literally. `agrees` raises `EvaluatorError`
if its matchers need too many checks, and nothing else.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from callmark.calls.match_budget import MatchBudget
from callmark.calls.matchers import CONTAINER_TYPES, SIMILAR, has_matcher, is_matcher, is_optional
from callmark.calls.matching import matches
from callmark.calls.places import Place
from callmark.calls.schema import admits_null, properties, required, variants
from callmark.calls.strict import NotStrict, parse
from callmark.calls.words import trim, words

ComparisonRule = Literal["exact", "similar"]

TOLERANCE = 1e-9  # of the larger magnitude, by which numbers may differ where either is not whole

_MAX_WHOLE = 1 << 54  # no number that is not whole comes near a larger whole one
_WITH_DEFAULT = frozenset({"default", "$ref", "anyOf", "oneOf", "allOf"})  # schema keys that may lead to a default
_JSON_STARTS = '{["-0123456789tfn'  # the first characters of JSON values
_WORD_VALUES = {"true": True, "false": False, "none": None}


def exact(expected: Any, actual: Any) -> bool:
    """Return whether two values are equal by section 2, without a schema. Symmetric."""
    return _compare(expected, actual, "exact", False, None, None)


def similar(expected: Any, actual: Any) -> bool:
    """Return whether two values agree by section 3. Symmetric."""
    return _compare(expected, actual, "similar", False, None, None)


def agrees(
    expected: Any, actual: Any, rule: ComparisonRule = "exact", budget: MatchBudget | None = None, place: Place | None = None
) -> bool:
    """Return whether two values agree by the rule, with matchers read on the expected side, at any depth.

    `budget` is shared by the values of one comparison; without it, these two are compared alone. `place` is where the actual value is in
    the arguments of a tool whose schema is known; `similar` ignores it.
    """
    place = place if rule == "exact" else None
    return _compare(expected, actual, rule, True, MatchBudget() if budget is None else budget, place)


def without_defaults(arguments: Mapping[str, Any], parameters: Mapping[str, Any], *, kept: Iterable[str] = ()) -> Mapping[str, Any]:
    """Return the arguments without those that are equivalent to omitting them: the default of a parameter, and null for an optional
    parameter that does not allow null.

    `kept` are names of arguments that stay in any case: those for which the expected call has a matcher (`matched_arguments`).
    """
    known = properties(parameters)
    if not known or not may_equal_default(arguments, known):
        return arguments
    required_keys = required(parameters)
    return {
        key: value
        for key, value in arguments.items()
        if key in kept or key not in known or not _equals_omission(arguments, key, parameters, is_required=key in required_keys)
    }


def matched_arguments(expected: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the expected arguments that are, or contain, a matcher."""
    return tuple([key for key, value in expected.items() if is_matched(value)])


def is_matched(expected: Any) -> bool:
    """Return whether an expected value is, or contains, a matcher."""
    return expected.__class__ in CONTAINER_TYPES and has_matcher(expected)


def default_agrees(key: str, expected: Any, parameters: Mapping[str, Any], budget: MatchBudget) -> bool:
    """Return whether a matcher of an argument that was left out matches a default of its parameter. `$any` and `$not` match none."""
    if is_matcher(expected) and ("$any" in expected or "$not" in expected):
        return False
    defaults = [part["default"] for part in variants(properties(parameters).get(key), parameters) if "default" in part]
    return any(agrees(expected, default, "exact", budget, Place(parameters, {key: default}, key)) for default in defaults)


def _compare(expected: Any, actual: Any, rule: ComparisonRule, matchers: bool, budget: MatchBudget | None, place: Place | None) -> bool:
    try:
        return _equal(expected, actual, rule, matchers, budget, place)
    except RecursionError:  # nested more deeply than any well-formed call
        if budget is not None:
            budget.inside = False
        return False


def _equal(expected: Any, actual: Any, rule: ComparisonRule, matchers: bool, budget: MatchBudget | None, place: Place | None) -> bool:
    if isinstance(expected, str):
        if isinstance(actual, str):
            return expected == actual or _equal_texts(expected, actual, rule, budget)
        return _equals_text(expected, actual, rule, False, budget, place)
    if matchers and budget is not None and isinstance(expected, dict) and is_matcher(expected):
        if "$literal" in expected:
            return _equal(expected["$literal"], actual, "exact", False, budget, place)
        if SIMILAR in expected:
            return _equal(expected[SIMILAR], actual, "similar", False, budget, None)
        return matches(expected, actual, _equal_inside, budget, place)
    if isinstance(actual, str):
        return _equals_text(expected, actual, rule, matchers, budget, place)
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict):
        return isinstance(actual, dict) and _equal_objects(expected, actual, rule, matchers, budget, place)
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple) or len(expected) != len(actual):
            return False
        if budget is not None and budget.inside:
            budget.spend(len(expected))
        items = None if place is None else place.item(actual)
        return all(_equal(item, other, rule, matchers, budget, items) for item, other in zip(expected, actual, strict=True))
    return not isinstance(actual, dict | list | tuple) and (bool(expected == actual) or _nearly_equal(expected, actual))


def _nearly_equal(expected: Any, actual: Any) -> bool:
    """Return whether two different numbers, at least one of which is not whole, are equal within the tolerance."""
    if not isinstance(expected, int | float) or not isinstance(actual, int | float):
        return False
    for number in (expected, actual):
        if isinstance(number, int) and abs(number) > _MAX_WHOLE:
            return False
    if float(expected).is_integer() and float(actual).is_integer():
        return False
    larger = max(abs(expected), abs(actual))
    return larger < float("inf") and abs(expected - actual) <= TOLERANCE * larger


def _equal_inside(expected: Any, actual: Any, budget: MatchBudget, place: Place | None) -> bool:
    """Compare values inside a matcher: by `exact`, with nested matchers."""
    budget.spend(1)
    return _equal(expected, actual, "exact", True, budget, place)


def _equal_objects(
    expected: dict[str, Any],
    actual: dict[str, Any],
    rule: ComparisonRule,
    matchers: bool,
    budget: MatchBudget | None,
    place: Place | None,
) -> bool:
    if not actual.keys() <= expected.keys() or (not matchers and len(expected) != len(actual)):
        return False
    if budget is not None and budget.inside:
        budget.spend(len(expected))
    return all(
        _equal(value, actual[key], rule, matchers, budget, None if place is None else place.field(actual, key))
        if key in actual
        else matchers and is_optional(value)
        for key, value in expected.items()
    )


def _equal_texts(expected: str, actual: str, rule: ComparisonRule, budget: MatchBudget | None) -> bool:
    if budget is None:
        if trim(expected) == trim(actual):
            return True
        return rule == "similar" and bool(found := words(expected)) and found == words(actual)
    if budget.inside:
        budget.spend_text(actual)
    if budget.prepare(trim, expected) == budget.prepare(trim, actual):
        return True
    return rule == "similar" and bool(found := budget.prepare(words, expected)) and found == budget.prepare(words, actual)


def _equals_text(expected: Any, actual: Any, rule: ComparisonRule, matchers: bool, budget: MatchBudget | None, place: Place | None) -> bool:
    """Compare a string with a value of another type: it is equal if its JSON is, which must not be a string itself.

    If the schema does not admit the type of the actual value, they differ. The inside of an actual string has no place in the schema.
    """
    text, value = (expected, actual) if isinstance(expected, str) else (actual, expected)
    read = _parse(text) if budget is None else budget.prepare_once(_parse, text)
    if not read:
        word = text.strip().casefold() if rule == "similar" else ""
        return word in _WORD_VALUES and _WORD_VALUES[word] is value
    if isinstance(read[0], str) or (place is not None and not place.admits(actual, budget)):
        return False
    return _equal(value, read[0], rule, matchers, budget, None) if text is actual else _equal(read[0], value, rule, False, budget, place)


def _parse(text: str) -> tuple[Any] | tuple[()]:
    """Return the value of a strict JSON text in a tuple; an empty one for any other text."""
    if text.lstrip()[:1] not in _JSON_STARTS:  # almost always; finding out why a text is not JSON takes much longer
        return ()
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


def _equals_omission(arguments: Mapping[str, Any], key: str, parameters: Mapping[str, Any], *, is_required: bool) -> bool:
    value, schema = arguments[key], properties(parameters)[key]
    if not isinstance(schema, dict):
        return False
    place: Place | None = None
    for part in variants(schema, parameters):
        if "default" in part:
            place = Place(parameters, arguments, key) if place is None else place
            if _compare(part["default"], value, "exact", False, None, place):
                return True
    return value is None and not is_required and not admits_null(schema, parameters)
