"""Matchers: conditions that an expected argument may have instead of a value (docs/reference/metrics.md, section 4).

A matcher is a non-empty object, all of whose keys begin with `$`. Only expected values are read this way. `check_matchers` raises for
unknown matchers, invalid patterns and matchers that are too large when a file is read; `callmark.calls.matching` compares.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

from callmark.calls.dates import parse_date
from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.wording import did_you_mean

CONTAINER_TYPES = (dict, list)  # types of values that may contain a matcher
MAX_NODES = 10_000  # of a matcher: every object, list and plain value in it, but not what is in a $literal
MAX_SET_MEMBERS = 1000
_SHOWN = 40  # characters of an invalid value in a message
_OPTIONS = {"$glob": ("$case",), "$approx": ("$abs", "$rel"), "$text": ("$ratio",)}
SIMILAR = "$similar"  # the matcher that a rule in `callmark.toml` produces; files must not contain it
MATCHER_KINDS = ("$literal", "$any", "$optional", "$glob", "$regex", "$one_of", "$set", "$approx", "$date", "$text", "$contains", "$not")


def is_matcher(value: Any) -> bool:
    """Return whether a value has the form of a matcher: an object whose keys all begin with `$`."""
    if not isinstance(value, dict) or not value:
        return False
    for key in value:  # noqa: SIM110 - faster
        if not isinstance(key, str) or key[:1] != "$":
            return False
    return True


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


Path = tuple[Any, ...]  # the path of the container and a step; formatted only for a message


def check_matchers(value: Any, where: str = "") -> None:
    """Raise `BadInput` for an invalid matcher in an expected value. `where` is the path of the argument."""
    _check_value(value, (where,), counted=False)


def _check_value(value: Any, path: Path, *, counted: bool) -> None:
    """Check all matchers in a value. `counted` means that it is inside a matcher, whose nodes have been counted."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if item.__class__ in CONTAINER_TYPES:
                _check_value(item, (path, f"[{index}]"), counted=counted)
    elif is_matcher(value):
        if not counted and sum(1 for _ in islice(_nodes(value), MAX_NODES + 1)) > MAX_NODES:
            raise _invalid(path, f"expected a matcher with at most {MAX_NODES:,} nodes (objects, lists and values), got more")
        _check_matcher(value, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            if item.__class__ in CONTAINER_TYPES:
                _check_value(item, (path, ".", key), counted=counted)


def _invalid(path: Path, problem: str, hint: str = "") -> BadInput:
    steps: list[str] = []
    while len(path) > 1:
        steps[:0] = map(str, path[1:])
        path = path[0]
    where = "".join([path[0], *steps])
    return BadInput(f"{where if path[0] else where.removeprefix('.')}: {problem}", hint)


def _nodes(value: Any) -> Iterator[Any]:
    """Yield every object, list and plain value in a matcher, in no particular order. A `$literal` holds a plain value, of any size."""
    rest = [value]
    while rest:
        node = rest.pop()
        yield node
        if isinstance(node, dict) and not (is_matcher(node) and "$literal" in node):
            rest.extend(node.values())
        elif isinstance(node, list):
            rest.extend(node)


def _check_matcher(matcher: Mapping[str, Any], path: Path) -> None:
    kinds = [key for key in matcher if key in MATCHER_KINDS]
    known = (*MATCHER_KINDS, *(option for kind in kinds for option in _OPTIONS.get(kind, ())))
    unknown = [key for key in matcher if key not in known]
    if unknown:
        available = f"Available: {', '.join(MATCHER_KINDS)}."
        raise _invalid(path, f"unknown matcher {unknown[0]!r}{did_you_mean(unknown[0], known)}", available)
    if len(kinds) != 1:
        raise _invalid(path, f"expected one matcher, got {' and '.join(kinds)}")
    kind = kinds[0]
    given = matcher[kind]
    if (problem := _PROBLEMS.get(kind, _no_problem)(matcher)) is not None:
        raise _invalid(path, problem)
    if kind in ("$optional", "$not"):
        _check_value(given, path, counted=True)
    elif kind in ("$one_of", "$set"):
        for index, item in enumerate(given):
            if item.__class__ in CONTAINER_TYPES:
                _check_value(item, (path, f".{kind}[{index}]"), counted=True)


@lru_cache(maxsize=1024)
def compile_regex(pattern: str) -> Any:
    """Return the compiled pattern, or the reason why it is invalid."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        return error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)


def exact_number(value: Any) -> Fraction | None:
    """Return the number exactly as it is written, so that limits are inclusive; None if the value is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return Fraction(value) if isinstance(value, int) else Fraction(repr(value))
    except ValueError:  # not finite
        return None


def _no_problem(matcher: Mapping[str, Any]) -> str | None:
    return None


def _is_number(value: Any, minimum: float = float("-inf"), maximum: float = float("inf")) -> bool:
    return exact_number(value) is not None and bool(minimum <= value <= maximum)


def _glob_problem(matcher: Mapping[str, Any]) -> str | None:
    if not isinstance(matcher["$glob"], str):
        return _mismatch(matcher, "$glob", "a string")
    return None if isinstance(matcher.get("$case", True), bool) else _mismatch(matcher, "$case", "true or false")


def _regex_problem(matcher: Mapping[str, Any]) -> str | None:
    pattern = matcher["$regex"]
    if not isinstance(pattern, str):
        return _mismatch(matcher, "$regex", "a string")
    return f"$regex: not a valid RE2 pattern: {compiled}" if isinstance(compiled := compile_regex(pattern), str) else None


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
    return None if minimum <= len(items) <= maximum else f"{kind}: expected {expected}, got {len(items):,}"


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
    "$set": lambda matcher: _list_problem(matcher, "$set", f"a list of at most {MAX_SET_MEMBERS:,} items", 0, MAX_SET_MEMBERS),
    "$approx": _approx_problem,
    "$date": lambda matcher: (
        None
        if isinstance(matcher["$date"], str) and parse_date(matcher["$date"])
        else _mismatch(matcher, "$date", "a date (ISO 8601, 10 May 2025 or May 10, 2025)")
    ),
    "$text": _text_problem,
    "$contains": lambda matcher: None if isinstance(matcher["$contains"], str) else _mismatch(matcher, "$contains", "a string"),
}
