"""Matchers: conditions that an expected argument may have instead of a value (docs/reference/metrics.md, section 4).

A matcher is a non-empty object, all of whose keys begin with `$`. Only expected values are read this way. `check_matchers` raises for
unknown matchers and invalid patterns when a file is read. `matches` never raises: an invalid matcher matches nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from callmark.calls.dates import parse_date, same_date
from callmark.calls.globs import matches_glob
from callmark.calls.ratio import ratio
from callmark.calls.strict import NotStrict, dump, parse
from callmark.calls.words import words
from callmark.errors import BadInput
from callmark.wording import did_you_mean

Equal = Callable[[Any, Any], bool]

CONTAINER_TYPES = (dict, list)  # types of values that may contain a matcher
LONGEST_TEXT = 2000  # characters of a text that is compared by ratio; a longer one must have equal words
MAX_SET_MEMBERS = 500  # of a $set
_SHOWN = 40  # characters of an invalid value in a message
_OPTIONS = {"$glob": ("$case",), "$approx": ("$abs", "$rel"), "$text": ("$ratio",)}
SIMILAR = "$similar"  # the matcher that a rule in `callmark.toml` produces; files must not contain it
MATCHER_KINDS = ("$literal", "$any", "$optional", "$glob", "$regex", "$one_of", "$set", "$approx", "$date", "$text", "$contains", "$not")


def is_matcher(value: Any) -> bool:
    """Return whether a value has the form of a matcher: an object whose keys all begin with `$`."""
    return isinstance(value, dict) and bool(value) and all(isinstance(key, str) and key.startswith("$") for key in value)


def has_matcher(value: Any) -> bool:
    """Return whether a value contains a matcher at any depth."""
    if is_matcher(value):
        return True
    return any(map(has_matcher, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()))


def wrap_literal(value: Any) -> Any:
    """Return a recorded value as an expected value: parts that look like matchers are wrapped in `$literal`."""
    if is_matcher(value):
        return {"$literal": value}
    if isinstance(value, dict):
        return {key: wrap_literal(child) for key, child in value.items()}
    return [wrap_literal(child) for child in value] if isinstance(value, list) else value


def recorded_value(value: Any) -> Any:
    """Return the value without `$literal` and `$similar`, which only say how it is compared: the recorded value, for display."""
    if isinstance(value, dict):
        kind = next(iter(value), None) if len(value) == 1 else None
        return recorded_value(value[kind]) if kind in ("$literal", SIMILAR) else {key: recorded_value(item) for key, item in value.items()}
    return [recorded_value(item) for item in value] if isinstance(value, list) else value


def is_optional(expected: Any) -> bool:
    """Return whether an expected argument may be omitted."""
    return is_matcher(expected) and "$optional" in expected


def matches(matcher: Mapping[str, Any], actual: Any, equal: Equal) -> bool:
    """Return whether a matcher matches a value. `equal` compares values inside the matcher: by `exact`, with nested matchers."""
    kind = next((key for key in matcher if key in MATCHER_KINDS), None)
    if kind is None:
        return False
    return kind in _MATCH and _MATCH[kind](matcher, actual, equal)


def check_matchers(value: Any, where: str = "") -> None:
    """Raise `BadInput` for an invalid matcher in an expected value. `where` is the path of the argument."""
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
        raise BadInput(
            f"{where}: unknown matcher {unknown[0]!r}{did_you_mean(unknown[0], known)}", f"Available: {', '.join(MATCHER_KINDS)}."
        )
    if len(kinds) != 1:
        raise BadInput(f"{where}: expected one matcher, got {' and '.join(kinds)}")
    kind = kinds[0]
    given = matcher[kind]
    if (problem := _PROBLEMS.get(kind, _no_problem)(matcher)) is not None:
        raise BadInput(f"{where}: {problem}")
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
    """Return the compiled pattern, or the reason why it is invalid."""
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
    """Return the number exactly as it is written, so that limits are inclusive; None if the value is not a number."""
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
        return _mismatch(matcher, "$glob", "a string")
    return None if isinstance(matcher.get("$case", True), bool) else _mismatch(matcher, "$case", "true or false")


def _regex_problem(matcher: Mapping[str, Any]) -> str | None:
    pattern = matcher["$regex"]
    if not isinstance(pattern, str):
        return _mismatch(matcher, "$regex", "a string")
    return f"$regex: invalid pattern: {compiled}" if isinstance(compiled := _compile_regex(pattern), str) else None


def _approx_problem(matcher: Mapping[str, Any]) -> str | None:
    if not _is_number(matcher["$approx"]):
        return _mismatch(matcher, "$approx", "a number")
    if ("$abs" in matcher) == ("$rel" in matcher):
        return f"$approx: expected $abs or $rel as the tolerance, got {'both' if '$abs' in matcher else 'neither'}"
    tolerance = "$abs" if "$abs" in matcher else "$rel"
    return None if _is_number(matcher[tolerance], 0) else _mismatch(matcher, tolerance, "a number of at least 0")


def _text_problem(matcher: Mapping[str, Any]) -> str | None:
    if not isinstance(matcher["$text"], str):
        return _mismatch(matcher, "$text", "a string")
    return None if _is_number(matcher.get("$ratio"), 0, 1) else _mismatch(matcher, "$ratio", "a number from 0 to 1")


def _list_problem(matcher: Mapping[str, Any], kind: str, expected: str, minimum: int, maximum: float) -> str | None:
    items = matcher[kind]
    if not isinstance(items, list):
        return _mismatch(matcher, kind, expected)
    return None if minimum <= len(items) <= maximum else f"{kind}: expected {expected}, got {len(items)}"


def _mismatch(matcher: Mapping[str, Any], key: str, expected: str) -> str:
    if key not in matcher:
        return f"{key}: expected {expected}, but it is missing"
    shown = dump(matcher[key])
    return f"{key}: expected {expected}, got {shown if len(shown) <= _SHOWN else f'{shown[:_SHOWN]}…'}"


_PROBLEMS: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "$any": lambda matcher: None if matcher["$any"] is True else _mismatch(matcher, "$any", "true"),
    "$glob": _glob_problem,
    "$regex": _regex_problem,
    "$one_of": lambda matcher: _list_problem(matcher, "$one_of", "a list of at least 1 item", 1, float("inf")),
    "$set": lambda matcher: _list_problem(matcher, "$set", f"a list of at most {MAX_SET_MEMBERS} items", 0, MAX_SET_MEMBERS),
    "$approx": _approx_problem,
    "$date": lambda matcher: (
        None
        if isinstance(matcher["$date"], str) and parse_date(matcher["$date"])
        else _mismatch(matcher, "$date", "a date (ISO 8601, 10 May 2025 or May 10, 2025)")
    ),
    "$text": _text_problem,
    "$contains": lambda matcher: None if isinstance(matcher["$contains"], str) else _mismatch(matcher, "$contains", "a string"),
}
