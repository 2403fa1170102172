"""Compare matchers with values (docs/reference/metrics.md, section 4).

`matches` raises `EvaluatorError` if the comparison needs too many checks (`MatchBudget`), and nothing else: an invalid matcher matches
nothing.
"""

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from functools import partial
from math import inf, nextafter
from typing import Any

from callmark.calls.dates import parse_date, same_date
from callmark.calls.globs import matches_glob
from callmark.calls.match_budget import MatchBudget
from callmark.calls.matchers import MAX_SET_MEMBERS, compile_regex, exact_number, has_matcher, is_matcher
from callmark.calls.places import Place
from callmark.calls.ratio import reaches_ratio
from callmark.calls.set_matching import all_matched
from callmark.calls.strict import NotStrict, parse
from callmark.calls.value_keys import value_key
from callmark.calls.words import trim, words

Equal = Callable[[Any, Any, MatchBudget, Place | None], bool]

LONGEST_TEXT = 2000  # characters of a text that is compared by ratio; a longer one must have equal words
_FEW = 8  # members of a $one_of that are compared one by one
_SHORT_PATTERN = 200  # characters of a pattern, or steps of an automaton: matching a short text is one check
_STEPS = 500  # of an automaton, or characters of a pattern that is tried at every place, that count as one check


def matches(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    """Return whether a matcher matches a value at a place. `equal` compares values inside the matcher: by `exact`, with nested matchers."""
    for kind in matcher:
        match = _MATCH.get(kind)
        if match is not None:
            break
    else:
        return False
    if budget.inside:
        return match(matcher, actual, equal, budget, place)
    budget.spend(1)
    budget.inside = True
    found = match(matcher, actual, equal, budget, place)
    budget.inside = False
    return found


def possible_keys(expected: Any) -> frozenset[Hashable] | None:
    """Return the keys (`value_key`) of the values that an expected value may match; None if it may match a value with any key."""
    if is_matcher(expected):
        if "$optional" in expected:
            return possible_keys(expected["$optional"])
        if "$one_of" in expected and isinstance(expected["$one_of"], list):
            found = [possible_keys(member) for member in expected["$one_of"]]
            return None if None in found else frozenset().union(*filter(None, found))
    key = _member_key(expected)
    return None if key is None else frozenset([key])


def text_test(matcher: Any) -> tuple[Callable[[str], str], Callable[[str], bool]] | None:
    """Return how a short text is prepared, and whether a prepared text is matched, for a matcher that looks only at the text; None for any
    other matcher. This is for many texts: it gives the same as `matches`, without counting checks.
    """
    if not is_matcher(matcher):
        return None
    kind = next(iter(matcher))
    pattern = matcher[kind]
    if not isinstance(pattern, str) or len(pattern) > _SHORT_PATTERN:
        return None
    if kind == "$glob" and len(matcher) == 1:
        return trim, lambda text: matches_glob(pattern, text)
    if kind == "$glob" and matcher.get("$case") is False:
        folded = pattern.casefold()
        return _trim_and_fold, lambda text: matches_glob(folded, text)
    if kind == "$contains" and len(matcher) == 1:
        part = pattern.casefold()
        return _trim_and_fold, lambda text: part in text
    if kind == "$regex" and len(matcher) == 1:
        compiled = compile_regex(pattern)
        if not isinstance(compiled, str) and compiled.programsize <= _SHORT_PATTERN:
            return trim, partial(_matches_compiled, compiled)
    return None


def _trim_and_fold(text: str) -> str:
    return trim(text).casefold()


def _matches_optional(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    return equal(matcher["$optional"], actual, budget, place)


def _matches_not(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    return not equal(matcher["$not"], actual, budget, place)


def _matches_glob(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    pattern = matcher["$glob"]
    if not isinstance(actual, str) or not isinstance(pattern, str):
        return False
    budget.spend_text(actual)
    actual = budget.prepare(trim, actual)
    if "?" in pattern:
        budget.spend(len(pattern) * len(actual) // _STEPS)
    if matcher.get("$case", True) is False:
        pattern, actual = budget.prepare(str.casefold, pattern), budget.prepare(str.casefold, actual)
    return matches_glob(pattern, actual)


def _matches_regex(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    pattern = matcher["$regex"]
    if not isinstance(pattern, str) or not isinstance(actual, str):
        return False
    compiled = compile_regex(pattern)
    if isinstance(compiled, str):
        return False
    budget.spend(compiled.programsize * len(actual) // _STEPS)
    return _matches_compiled(compiled, budget.prepare(trim, actual))


def _matches_compiled(compiled: Any, text: str) -> bool:
    try:
        return compiled.fullmatch(text) is not None
    except UnicodeEncodeError:
        return False


def _matches_one_of(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    members = matcher["$one_of"]
    if not isinstance(members, list):
        return False
    if len(members) > _FEW:
        budget.spend(1)
        key = budget.prepare_value(value_key, actual)
        if key is not None:
            by_key, members = budget.prepare_value(_by_key, members)
            if any(equal(member, actual, budget, place) for member in by_key.get(key, ())):
                return True
    return any(equal(member, actual, budget, place) for member in members)


def _by_key(members: list[Any]) -> tuple[dict[Hashable, list[Any]], list[Any]]:
    """Return the members with a key, by their key, and the other members."""
    by_key: dict[Hashable, list[Any]] = {}
    others: list[Any] = []
    for member in members:
        key = _member_key(member)
        others.append(member) if key is None else by_key.setdefault(key, []).append(member)
    return by_key, others


def _member_key(member: Any) -> Hashable:
    """Return the key of a plain value; None for a matcher, or a value that contains one."""
    if is_matcher(member) and "$literal" in member:
        return value_key(member["$literal"])
    return None if has_matcher(member) else value_key(member)


def _matches_set(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    """Return whether the members match one to one, in any order."""
    members = matcher["$set"]
    if (
        not isinstance(members, list)
        or not isinstance(actual, list | tuple)
        or len(members) != len(actual)
        or len(members) > MAX_SET_MEMBERS
    ):
        return False
    budget.spend(len(members))
    items_by_key: dict[Hashable, int] = {}
    without_key = 0
    for index, item in enumerate(actual):
        key = budget.prepare_value(value_key, item)
        if key is None:
            without_key |= 1 << index
        else:
            items_by_key[key] = items_by_key.get(key, 0) | 1 << index
    every = (1 << len(members)) - 1
    possible = [every if key is None else items_by_key.get(key, 0) | without_key for key in budget.prepare_value(_member_keys, members)]
    items = None if place is None else place.item(actual)
    return all_matched(possible, lambda member, item: equal(members[member], actual[item], budget, items))


def _member_keys(members: list[Any]) -> list[Hashable]:
    return list(map(_member_key, members))


def _matches_approx(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    if isinstance(actual, str):
        if place is not None and not place.admits(actual, budget):
            return False
        try:
            actual = parse(actual)
        except NotStrict:
            return False
    if isinstance(actual, bool) or not isinstance(actual, int | float):
        return False
    least, lower, low, high, upper, greatest = budget.prepare_value(_range, matcher)
    if lower < actual < upper:  # the quick checks for almost every number
        return True
    if not least <= actual <= greatest:
        return False
    value = exact_number(actual)
    return value is not None and low <= value <= high


_EMPTY_RANGE = (inf, inf, Fraction(1), Fraction(0), -inf, -inf)


def _range(matcher: Mapping[str, Any]) -> tuple[float, float, Fraction, Fraction, float, float]:
    """Return the range of an `$approx`, between numbers just outside and inside it that are quick to compare."""
    expected, tolerance = exact_number(matcher["$approx"]), exact_number(matcher.get("$abs", matcher.get("$rel")))
    if expected is None or tolerance is None:
        return _EMPTY_RANGE
    if "$abs" not in matcher:
        tolerance *= abs(expected)
    low, high = expected - tolerance, expected + tolerance
    at_low, at_high = _as_float(low), _as_float(high)
    return nextafter(at_low, -inf), nextafter(at_low, inf), low, high, nextafter(at_high, -inf), nextafter(at_high, inf)


def _as_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _matches_date(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    expected = matcher["$date"]
    if not isinstance(expected, str) or not isinstance(actual, str):
        return False
    expected_date, actual_date = budget.prepare_once(parse_date, expected), budget.prepare_once(parse_date, actual)
    return expected_date is not None and actual_date is not None and same_date(expected_date, actual_date)


def _matches_text(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    expected, min_ratio = matcher["$text"], matcher.get("$ratio")
    if not isinstance(expected, str) or not isinstance(actual, str) or not isinstance(min_ratio, int | float):
        return False
    budget.spend_text(actual)
    one, other = budget.prepare_once(_joined_words, expected), budget.prepare_once(_joined_words, actual)
    if one == other:
        return True
    if max(len(one), len(other)) > LONGEST_TEXT:
        return False
    return reaches_ratio(one, other, min_ratio, budget.spend)


def _joined_words(text: str) -> str:
    return " ".join(words(text))


def _matches_contains(matcher: Mapping[str, Any], actual: Any, equal: Equal, budget: MatchBudget, place: Place | None) -> bool:
    part = matcher["$contains"]
    if not isinstance(part, str) or not isinstance(actual, str):
        return False
    budget.spend_text(actual)
    return budget.prepare(str.casefold, part) in budget.prepare(str.casefold, budget.prepare(trim, actual))


_MATCH: dict[str, Callable[[Mapping[str, Any], Any, Equal, MatchBudget, Place | None], bool]] = {
    "$any": lambda matcher, actual, equal, budget, place: True,
    "$optional": _matches_optional,
    "$glob": _matches_glob,
    "$regex": _matches_regex,
    "$one_of": _matches_one_of,
    "$set": _matches_set,
    "$approx": _matches_approx,
    "$date": _matches_date,
    "$text": _matches_text,
    "$contains": _matches_contains,
    "$not": _matches_not,
}
