"""Pair two lists of calls, one to one (docs/reference/metrics.md, section 5).

Only calls with the same name are paired, and malformed calls never are. The best pairing has the most pairs; then the most pairs whose
arguments all agree; then the greatest sum of agreement (arguments that agree / arguments named on either side, 1 without arguments); then
the most arguments that agree; then the fewest actual arguments; then the fewest expected ones. Of further ties, the pairs with the smallest
indexes win, expected first. With more than 1,000 calls of one name on a side, equal calls are paired first and the rest in order.

Repeated calls are paired one to one: two expected calls and one actual call make one pair and leave one expected call unpaired.

Comparing raises `EvaluatorError`, which names the argument, if the matchers of all calls together need too many checks (`MatchBudget`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import lcm
from typing import Any

from msgspec import Struct

from callmark.calls.agreement import Agreement, AgreementRow, Counts
from callmark.calls.assignment import assign, first_matching, match
from callmark.calls.match_budget import MatchBudget
from callmark.calls.matchers import is_optional
from callmark.calls.places import Place
from callmark.calls.schema import properties
from callmark.calls.value_keys import value_key
from callmark.calls.values import (
    ComparisonRule,
    agrees,
    default_agrees,
    is_matched,
    matched_arguments,
    may_equal_default,
    without_defaults,
)
from callmark.errors import EvaluatorError
from callmark.types import Call

MAX_CALLS = 1000  # of one name on a side, up to which the pairing is the best one
MAX_COMPARED_PAIRS = 40_000  # pairs of calls that are all compared, to find repeated calls

_FEW_PAIRS = 100  # pairs of calls with one name that are compared one by one, which is faster than by their values
_MAX_TRIES = 8  # calls with the same key that a call is compared with, beyond MAX_CALLS

_PLAIN = frozenset({str, int, float, bool})  # types whose equal values always agree

Parameters = Callable[[str], Mapping[str, Any]]  # the schema of a tool by name; {} if it is unknown


class ArgumentComparison(Struct, frozen=True, gc=False):
    """The comparison of two argument objects: the number of arguments that agree, are expected, actual or named on either side, and the
    names of those that do not agree.
    """

    agree: int
    expected: int
    actual: int
    named: int
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()

    @property
    def all_agree(self) -> bool:
        """Whether all arguments on either side agree."""
        return self.agree == self.named


class Pair(Struct, frozen=True, gc=False):
    """The indexes of an expected and an actual call, and the comparison of their arguments."""

    expected: int
    actual: int
    arguments: ArgumentComparison

    @property
    def agrees(self) -> bool:
        """Whether all arguments agree."""
        return self.arguments.all_agree


class Pairing(Struct, frozen=True, gc=False):
    """The pairs in the order of the expected calls, and the indexes of the unpaired calls on either side.

    `limited` says that there were too many calls of one name to find the best pairing.
    """

    pairs: tuple[Pair, ...]
    unpaired_expected: tuple[int, ...]
    unpaired_actual: tuple[int, ...]
    limited: bool = False

    @property
    def perfect(self) -> bool:
        """Whether every call is paired and all arguments agree."""
        return not self.unpaired_expected and not self.unpaired_actual and all([pair.agrees for pair in self.pairs])  # noqa: C419 - faster


def no_schema(name: str) -> Mapping[str, Any]:
    """Return an empty schema, for use without tools."""
    return {}


def compare_arguments(
    expected: Mapping[str, Any],
    actual: Mapping[str, Any],
    *,
    rule: ComparisonRule = "exact",
    parameters: Mapping[str, Any] | None = None,
    budget: MatchBudget | None = None,
) -> ArgumentComparison:
    """Compare two argument objects without arguments that are equivalent to omission. An omitted optional argument is not counted.

    `budget` is shared by all comparisons that belong together.
    """
    if fast_equal(expected, actual, parameters):
        return _all_agree(len(expected))
    return _compare_arguments(expected, actual, rule, parameters, budget)


def _compare_arguments(
    expected: Mapping[str, Any],
    actual: Mapping[str, Any],
    rule: ComparisonRule,
    parameters: Mapping[str, Any] | None,
    budget: MatchBudget | None,
) -> ArgumentComparison:
    given = actual
    if parameters and (known := properties(parameters)) and (may_equal_default(expected, known) or may_equal_default(actual, known)):
        matched = matched_arguments(expected)
        expected, actual = without_defaults(expected, parameters, kept=matched), without_defaults(actual, parameters, kept=matched)
    budget = MatchBudget() if budget is None else budget
    agree = expected_count = 0
    missing: list[str] = []
    differ: list[str] = []
    for key, value in expected.items():
        if key in actual:
            expected_count += 1
            other = actual[key]
            are_plain = value.__class__ is other.__class__ and value.__class__ in _PLAIN  # the schema does not matter then
            place = Place(parameters, given, key) if parameters and not are_plain else None
            if (are_plain and value == other) or _agrees(key, value, other, rule, budget, place):
                agree += 1
            else:
                differ.append(key)
        elif not is_optional(value) and not (parameters and is_matched(value) and _default_agrees(key, value, parameters, budget)):
            expected_count += 1
            missing.append(key)
    if len(actual) == expected_count - len(missing) and not missing and not differ:
        return _all_agree(expected_count)
    extra = tuple(key for key in actual if key not in expected)
    return ArgumentComparison(agree, expected_count, len(actual), expected_count + len(extra), tuple(missing), extra, tuple(differ))


def _agrees(key: str, expected: Any, actual: Any, rule: ComparisonRule, budget: MatchBudget, place: Place | None = None) -> bool:
    try:
        return agrees(expected, actual, rule, budget, place)
    except EvaluatorError as error:
        raise EvaluatorError(f"{key}: {error}") from None


def _default_agrees(key: str, expected: Any, parameters: Mapping[str, Any], budget: MatchBudget) -> bool:
    try:
        return default_agrees(key, expected, parameters, budget)
    except EvaluatorError as error:
        raise EvaluatorError(f"{key}: {error}") from None


def compare_similar(comparison: ArgumentComparison, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> ArgumentComparison:
    """Return the comparison by `similar` of two objects, given their comparison by `exact`: only arguments that differ can change."""
    budget = MatchBudget()
    differ = tuple([key for key in comparison.differ if not _agrees(key, expected[key], actual[key], "similar", budget)])
    if len(differ) == len(comparison.differ):
        return comparison
    return ArgumentComparison(
        comparison.agree + len(comparison.differ) - len(differ),
        comparison.expected,
        comparison.actual,
        comparison.named,
        comparison.missing,
        comparison.extra,
        differ,
    )


def fast_equal(expected: Mapping[str, Any], actual: Mapping[str, Any], parameters: Mapping[str, Any] | None) -> bool:
    """Return True if a quick check shows that all arguments agree by every rule and all count: they are equal in Python, without matchers,
    without a `true` that equals 1, and without arguments that are equivalent to omitting them. False requires a full comparison.
    """
    if expected != actual:
        return False
    for key, value in expected.items():
        if value.__class__ is not str:
            other = actual[key]
            if value.__class__ is not other.__class__ or (value.__class__ not in _PLAIN and not _are_plain_lists(value, other)):
                return False
    return not parameters or not may_equal_default(expected, properties(parameters))


def _are_plain_lists(one: Any, other: Any) -> bool:
    """Return whether two equal values are lists of plain values of the same types."""
    if one.__class__ is not list:
        return False
    classes = [item.__class__ for item in one]
    return _PLAIN.issuperset(classes) and classes == [item.__class__ for item in other]


@cache
def _all_agree(named: int) -> ArgumentComparison:
    return ArgumentComparison(named, named, named, named)


@cache
def _single_agreeing_pair(named: int) -> Pairing:
    return Pairing((Pair(0, 0, _all_agree(named)),), (), ())


def pair_calls(
    expected: Sequence[Call],
    actual: Sequence[Call],
    *,
    rule: ComparisonRule = "exact",
    ignore_case: bool = False,
    parameters: Parameters = no_schema,
    budget: MatchBudget | None = None,
    preferred: Callable[[Call], bool] | None = None,
) -> Pairing:
    """Return the best pairing of two lists. `ignore_case` compares names without case. `budget` is shared with other comparisons.

    Of pairings that are equally good, the one with the most actual calls that are `preferred` is returned.
    """
    if len(expected) == 1 and len(actual) == 1:  # the fast path for almost every decision point
        expected_call, actual_call = expected[0], actual[0]
        same_name = expected_call.name == actual_call.name or (ignore_case and expected_call.name.casefold() == actual_call.name.casefold())
        if not same_name or expected_call.malformed or actual_call.malformed:
            return _SINGLE_MISMATCH
        schema = parameters(expected_call.name) if parameters is not no_schema else None
        if fast_equal(expected_call.arguments, actual_call.arguments, schema):
            return _single_agreeing_pair(len(expected_call.arguments))
        try:
            arguments = _compare_arguments(expected_call.arguments, actual_call.arguments, rule, schema, budget)
        except EvaluatorError as error:
            raise EvaluatorError(f"{expected_call.name}: {error}") from None
        return Pairing((Pair(0, 0, arguments),), (), ())
    if not actual:
        return Pairing((), tuple(range(len(expected))), ())
    expected_by_name, actual_by_name = _by_name(expected, ignore_case), _by_name(actual, ignore_case)
    pairs: list[Pair] = []
    limited = False
    comparer = _Comparer(expected, actual, rule, parameters, budget or MatchBudget(), preferred)
    for name, expected_indexes in expected_by_name.items():
        if actual_indexes := actual_by_name.get(name):
            too_many = max(len(expected_indexes), len(actual_indexes)) > MAX_CALLS
            limited = limited or too_many
            pairs += (_pair_equal_first if too_many else _pair_same_name)(comparer, expected_indexes, actual_indexes)
    pairs.sort(key=lambda pair: pair.expected)
    paired_expected, paired_actual = {pair.expected for pair in pairs}, {pair.actual for pair in pairs}
    return Pairing(
        tuple(pairs),
        tuple(index for index in range(len(expected)) if index not in paired_expected),
        tuple(index for index in range(len(actual)) if index not in paired_actual),
        limited,
    )


_SINGLE_MISMATCH = Pairing((), (0,), (0,))


def _by_name(calls: Sequence[Call], ignore_case: bool) -> dict[str, list[int]]:
    named: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        if not call.malformed:
            named.setdefault(call.name.casefold() if ignore_case else call.name, []).append(index)
    return named


def compare_calls(
    expected: Call,
    actual: Call,
    *,
    rule: ComparisonRule = "exact",
    parameters: Mapping[str, Any] | None = None,
    budget: MatchBudget | None = None,
) -> ArgumentComparison:
    """Compare the arguments of two calls, whatever their names. An `EvaluatorError` names the expected call and the argument."""
    try:
        return compare_arguments(expected.arguments, actual.arguments, rule=rule, parameters=parameters, budget=budget)
    except EvaluatorError as error:
        raise EvaluatorError(f"{expected.name}: {error}") from None


class _Comparer:
    """Compares the calls of two lists by their indexes."""

    def __init__(
        self,
        expected: Sequence[Call],
        actual: Sequence[Call],
        rule: ComparisonRule,
        parameters: Parameters,
        budget: MatchBudget,
        preferred: Callable[[Call], bool] | None,
    ) -> None:
        self.expected, self.actual = expected, actual
        self.preferred = preferred
        self._rule: ComparisonRule = rule
        self._parameters = parameters
        self._budget = budget

    def pair(self, row: int, column: int, budget: MatchBudget | None = None) -> Pair:
        expected = self.expected[row]
        parameters = self._parameters(expected.name)
        return Pair(
            row,
            column,
            compare_calls(expected, self.actual[column], rule=self._rule, parameters=parameters, budget=budget or self._budget),
        )

    def counted_arguments(self, call: Call) -> Mapping[str, Any]:
        """Return the arguments that count."""
        return without_defaults(call.arguments, self._parameters(call.name))

    def agreement(self, rows: Sequence[int], columns: Sequence[int]) -> list[AgreementRow]:
        """Compare many expected calls with many actual calls at once."""
        by_name: dict[str, Agreement] = {}  # of the expected calls, whose schema counts
        actual = [self.actual[column].arguments for column in columns]
        found = []
        for row in rows:
            expected = self.expected[row]
            if expected.name not in by_name:
                parameters = self._parameters(expected.name)
                by_name[expected.name] = Agreement(actual, self._rule, parameters, self._budget, self._agree)
            try:
                found.append(by_name[expected.name].row(expected.arguments))
            except EvaluatorError as error:
                raise EvaluatorError(f"{expected.name}: {error}") from None
        return found

    def _agree(self, key: str, expected: Any, actual: Any, place: Place | None) -> bool:
        return _agrees(key, expected, actual, self._rule, self._budget, place)


def _pair_same_name(comparer: _Comparer, rows: list[int], columns: list[int]) -> list[Pair]:
    """Return the best pairs among calls with one name. `rows` are indexes of expected calls, `columns` of actual calls."""
    if len(rows) == 1 and len(columns) == 1:
        return [comparer.pair(rows[0], columns[0])]
    preferred = None if comparer.preferred is None else [comparer.preferred(comparer.actual[column]) for column in columns]
    if len(rows) * len(columns) <= _FEW_PAIRS:
        table = [[comparer.pair(row, column) for column in columns] for row in rows]
        counts = [[(cell.agree, cell.expected, cell.actual, cell.named) for cell in [pair.arguments for pair in row]] for row in table]
        return [table[row][column] for row, column in assign(_weights(counts, preferred))]
    compared = comparer.agreement(rows, columns)
    chosen = None if preferred is not None else _all_agreeing(compared, len(columns))
    if chosen is None:
        chosen = assign(_weights([row.counts() for row in compared], preferred))
    budget = MatchBudget()  # these pairs have been compared
    return [comparer.pair(rows[row], columns[column], budget) for row, column in chosen]


def _all_agreeing(compared: Sequence[AgreementRow], columns: int) -> list[tuple[int, int]] | None:
    """Return the first pairing in which all arguments of all pairs agree; None if there is none, or the number of arguments varies."""
    if any([row.varies for row in compared]):  # noqa: C419 - faster
        return None
    agreeing = [row.full for row in compared]
    column_of = match(agreeing, columns)
    if len(column_of) < min(len(compared), columns):
        return None
    return first_matching(agreeing, columns, (1 << max(len(compared), columns)) - 1, column_of)


def _pair_equal_first(comparer: _Comparer, rows: list[int], columns: list[int]) -> list[Pair]:
    """Return pairs of equal calls, and the remaining calls paired in order, for lists too long to find the best pairing."""
    by_key: dict[Any, list[int]] = {}
    for column in reversed(columns):
        by_key.setdefault(value_key(dict(comparer.counted_arguments(comparer.actual[column]))), []).append(column)
    pairs: list[Pair] = []
    for row in rows:
        candidates = by_key.get(value_key(dict(comparer.counted_arguments(comparer.expected[row]))), [])
        for at in range(len(candidates) - 1, max(len(candidates) - _MAX_TRIES, 0) - 1, -1):
            pair = comparer.pair(row, candidates[at])
            if pair.agrees:
                del candidates[at]
                pairs.append(pair)
                break
    used_rows, used_columns = {pair.expected for pair in pairs}, {pair.actual for pair in pairs}
    rest = zip([row for row in rows if row not in used_rows], [column for column in columns if column not in used_columns], strict=False)
    return pairs + [comparer.pair(row, column) for row, column in rest]


def _weights(counts: Sequence[Sequence[Counts]], preferred: Sequence[bool] | None) -> list[list[int]]:
    """Return an integer weight for each pair, so that the sum of weights orders pairings by the criteria, in their order.

    The last criterion is the number of columns that are preferred, if any.
    """
    cells = {cell for row in counts for cell in row}
    share = lcm(*(named or 1 for _, _, _, named in cells))
    most = max(max(agree, expected, actual) for agree, expected, actual, _ in cells) + 1
    pairs = min(len(counts), len(counts[0]))
    base, agreed = pairs * most + 1, pairs * share + 1
    scale = 1 if preferred is None else pairs + 1
    weights: dict[Counts, int] = {}
    for cell in cells:
        agree, expected, actual, named = cell
        number = (agree == named) * agreed + (share if not named else share // named * agree)
        for part in (agree, most - actual, most - expected):
            number = number * base + part
        weights[cell] = number * scale
    if preferred is None:
        return [[weights[cell] for cell in row] for row in counts]
    return [[weights[cell] + liked for cell, liked in zip(row, preferred, strict=True)] for row in counts]
