"""Matchers: what ground truth may have in the place of a value (docs/metrics.md, section 4).

A matcher is a non-empty object in the place of a value, all of whose keys begin with `$`. Only the expected side is ever read this
way. `check_matchers` refuses, when a file is read, a matcher that is not in the table or whose pattern does not compile; `matches` never
raises: for a matcher that would have been refused it returns False.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from callmark.calls.dates import parse_date, same_date
from callmark.calls.globs import matches_glob
from callmark.calls.ratio import ratio
from callmark.calls.strict import NotStrict, parse
from callmark.calls.words import words
from callmark.errors import BadInput
from callmark.wording import did_you_mean

Equal = Callable[[Any, Any], bool]

CONTAINER_TYPES = (dict, list)  # of values that may hold a matcher
LONGEST_TEXT = 2000  # characters of a text that are compared by ratio; beyond that only equal words count
MAX_SET_MEMBERS = 500  # of a $set
_OPTIONS = {"$glob": ("$case",), "$approx": ("$abs", "$rel"), "$text": ("$ratio",)}
SIMILAR = "$similar"  # the matcher that a rule of `callmark.toml` makes; no file may have it
MATCHER_KINDS = ("$literal", "$any", "$optional", "$glob", "$regex", "$one_of", "$set", "$approx", "$date", "$text", "$contains", "$not")


def is_matcher(value: Any) -> bool:
    """Return whether a value has the form of a matcher."""
    return isinstance(value, dict) and bool(value) and all(isinstance(key, str) and key.startswith("$") for key in value)


def has_matcher(value: Any) -> bool:
    """Return whether there is a matcher anywhere in a value."""
    if is_matcher(value):
        return True
    return any(map(has_matcher, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()))


def wrap_literal(value: Any) -> Any:
    """Return a recorded value as ground truth: what looks like a matcher in it is wrapped in `$literal`."""
    if is_matcher(value):
        return {"$literal": value}
    if isinstance(value, dict):
        return {key: wrap_literal(child) for key, child in value.items()}
    return [wrap_literal(child) for child in value] if isinstance(value, list) else value


def recorded_value(value: Any) -> Any:
    """Return the value without the matchers that only say how it is compared: the recorded value, for people."""
    if isinstance(value, dict):
        kind = next(iter(value), None) if len(value) == 1 else None
        return recorded_value(value[kind]) if kind in ("$literal", SIMILAR) else {key: recorded_value(item) for key, item in value.items()}
    return [recorded_value(item) for item in value] if isinstance(value, list) else value


def is_optional(expected: Any) -> bool:
    """Return whether an expected value may be left out."""
    return is_matcher(expected) and "$optional" in expected


def matches(matcher: Mapping[str, Any], actual: Any, equal: Equal) -> bool:
    """Return whether a matcher matches a value. `equal` is the rule inside a matcher: `exact`, reading matchers in turn."""
    kind = next((key for key in matcher if key in MATCHER_KINDS), None)
    if kind is None:
        return False
    return kind in _MATCH and _MATCH[kind](matcher, actual, equal)


def check_matchers(value: Any, where: str = "") -> None:
    """Raise `BadInput` for a matcher in an expected value that cannot be used; `where` is the argument's path."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if item.__class__ in CONTAINER_TYPES:
                check_matchers(item, f"{where}[{index}]")
    elif is_matcher(value):
        _check_matcher(value, where)
    elif isinstance(value, dict):
        for key, item in value.items():
            check_matchers(item, f"{where}.{key}" if where else str(key))


def _check_matcher(matcher: Mapping[str, Any], where: str) -> None:
    kinds = [key for key in matcher if key in MATCHER_KINDS]
    known = (*MATCHER_KINDS, *(option for kind in kinds for option in _OPTIONS.get(kind, ())))
    unknown = [key for key in matcher if key not in known]
    if unknown:
        raise BadInput(f"{where}: there is no matcher called {unknown[0]!r}{did_you_mean(unknown[0], known)}")
    if len(kinds) != 1:
        raise BadInput(f"{where}: {' and '.join(kinds)} stand together, one matcher was expected")
    kind = kinds[0]
    given = matcher[kind]
    if (problem := _PROBLEMS.get(kind, _no_problem)(matcher)) is not None:
        raise BadInput(f"{where}: {kind} {problem}")
    if kind in ("$optional", "$not"):
        check_matchers(given, where)
    elif kind in ("$one_of", "$set"):
        for index, item in enumerate(given):
            check_matchers(item, f"{where}.{kind}[{index}]")


def _matches_glob(matcher: Mapping[str, Any], actual: Any) -> bool:
    pattern = matcher["$glob"]
    if not isinstance(actual, str) or not isinstance(pattern, str):
        return False
    ignore_case = matcher.get("$case", True) is False
    return matches_glob(pattern.casefold(), actual.casefold()) if ignore_case else matches_glob(pattern, actual)


@lru_cache(maxsize=1024)
def _compile_regex(pattern: str) -> Any:
    """Return the compiled pattern, or the reason why it does not compile."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        return error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)


def _matches_regex(pattern: Any, actual: Any) -> bool:
    if not isinstance(pattern, str) or not isinstance(actual, str):
        return False
    compiled = _compile_regex(pattern)
    try:
        return not isinstance(compiled, str) and compiled.fullmatch(actual) is not None
    except UnicodeEncodeError:
        return False


def _matches_approx(matcher: Mapping[str, Any], actual: Any) -> bool:
    if isinstance(actual, str):
        try:
            actual = parse(actual)
        except NotStrict:
            return False
    numbers = [_exact_number(value) for value in (actual, matcher["$approx"], matcher.get("$abs", matcher.get("$rel")))]
    if any(number is None for number in numbers):
        return False
    value, expected, tolerance = (number or Fraction(0) for number in numbers)
    if "$abs" not in matcher:
        tolerance *= abs(expected)
    return abs(value - expected) <= tolerance


def _exact_number(value: Any) -> Fraction | None:
    """Return the number exactly as it is written, so that a limit is inclusive; None for what is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return Fraction(value) if isinstance(value, int) else Fraction(repr(value))
    except ValueError:  # not finite
        return None


def _matches_date(expected: Any, actual: Any) -> bool:
    if not isinstance(expected, str) or not isinstance(actual, str):
        return False
    expected_date, actual_date = parse_date(expected), parse_date(actual)
    return expected_date is not None and actual_date is not None and same_date(expected_date, actual_date)


def _matches_text(matcher: Mapping[str, Any], actual: Any) -> bool:
    expected, min_ratio = matcher["$text"], matcher.get("$ratio")
    if not isinstance(expected, str) or not isinstance(actual, str) or not isinstance(min_ratio, int | float):
        return False
    expected_words, actual_words = words(expected), words(actual)
    if expected_words == actual_words:
        return True
    one, other = " ".join(expected_words), " ".join(actual_words)
    if max(len(one), len(other)) > LONGEST_TEXT:
        return False
    return ratio(one, other) >= min_ratio


def _matches_set(expected: Any, actual: Any, equal: Equal) -> bool:
    """Return whether the members match one to one, in any order."""
    if (
        not isinstance(expected, list)
        or not isinstance(actual, list | tuple)
        or len(expected) != len(actual)
        or len(expected) > MAX_SET_MEMBERS
    ):
        return False
    candidates = [[index for index, value in enumerate(actual) if equal(member, value)] for member in expected]
    taken: dict[int, int] = {}
    return all(_assign(member, candidates, taken, set()) for member in range(len(expected)))


def _assign(member: int, candidates: Sequence[Sequence[int]], taken: dict[int, int], tried: set[int]) -> bool:
    for index in candidates[member]:
        if index not in tried:
            tried.add(index)
            if index not in taken or _assign(taken[index], candidates, taken, tried):
                taken[index] = member
                return True
    return False


_MATCH: dict[str, Callable[[Mapping[str, Any], Any, Equal], bool]] = {
    "$any": lambda matcher, actual, equal: True,
    "$optional": lambda matcher, actual, equal: equal(matcher["$optional"], actual),
    "$glob": lambda matcher, actual, equal: _matches_glob(matcher, actual),
    "$regex": lambda matcher, actual, equal: _matches_regex(matcher["$regex"], actual),
    "$one_of": lambda matcher, actual, equal: (
        isinstance(matcher["$one_of"], list) and any(equal(item, actual) for item in matcher["$one_of"])
    ),
    "$set": lambda matcher, actual, equal: _matches_set(matcher["$set"], actual, equal),
    "$approx": lambda matcher, actual, equal: _matches_approx(matcher, actual),
    "$date": lambda matcher, actual, equal: _matches_date(matcher["$date"], actual),
    "$text": lambda matcher, actual, equal: _matches_text(matcher, actual),
    "$contains": lambda matcher, actual, equal: (
        isinstance(actual, str) and isinstance(matcher["$contains"], str) and matcher["$contains"].casefold() in actual.casefold()
    ),
    "$not": lambda matcher, actual, equal: not equal(matcher["$not"], actual),
}


def _no_problem(matcher: Mapping[str, Any]) -> str | None:
    return None


def _is_number(value: Any, minimum: float = float("-inf"), maximum: float = float("inf")) -> bool:
    return _exact_number(value) is not None and bool(minimum <= value <= maximum)


def _glob_problem(matcher: Mapping[str, Any]) -> str | None:
    if not isinstance(matcher["$glob"], str):
        return "wants a text"
    return None if isinstance(matcher.get("$case", True), bool) else "has a $case that is neither true nor false"


def _regex_problem(matcher: Mapping[str, Any]) -> str | None:
    pattern = matcher["$regex"]
    if not isinstance(pattern, str):
        return "wants a text"
    return f"does not compile: {compiled}" if isinstance(compiled := _compile_regex(pattern), str) else None


def _approx_problem(matcher: Mapping[str, Any]) -> str | None:
    if not _is_number(matcher["$approx"]):
        return "wants a number"
    if ("$abs" in matcher) == ("$rel" in matcher):
        return "wants a tolerance: either $abs or $rel"
    return None if _is_number(matcher.get("$abs", matcher.get("$rel")), 0) else "has a tolerance that is no number, or below 0"


def _text_problem(matcher: Mapping[str, Any]) -> str | None:
    if not isinstance(matcher["$text"], str):
        return "wants a text"
    return None if _is_number(matcher.get("$ratio"), 0, 1) else "wants a $ratio from 0 to 1"


_PROBLEMS: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "$any": lambda matcher: None if matcher["$any"] is True else "takes true and nothing else",
    "$glob": _glob_problem,
    "$regex": _regex_problem,
    "$one_of": lambda matcher: (
        None if isinstance(matcher["$one_of"], list) and matcher["$one_of"] else "wants a list with at least one member"
    ),
    "$set": lambda matcher: (
        None
        if isinstance(matcher["$set"], list) and len(matcher["$set"]) <= MAX_SET_MEMBERS
        else f"wants a list of at most {MAX_SET_MEMBERS} members"
    ),
    "$approx": _approx_problem,
    "$date": lambda matcher: (
        None
        if isinstance(matcher["$date"], str) and parse_date(matcher["$date"])
        else "wants a date: ISO 8601, 10 May 2025 or May 10, 2025"
    ),
    "$text": _text_problem,
    "$contains": lambda matcher: None if isinstance(matcher["$contains"], str) else "wants a text",
}
