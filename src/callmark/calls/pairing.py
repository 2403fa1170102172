"""Pair two lists of calls, one to one (docs/reference/metrics.md, section 5).

Only calls with the same name are paired, and malformed calls never are. The best pairing has the most pairs; then the most pairs whose
arguments all agree; then the greatest sum of agreement (arguments that agree / arguments named on either side, 1 without arguments); then
the most arguments that agree; then the fewest actual arguments; then the fewest expected ones. Further ties do not affect any metric: the
earliest pairs win.

Repeated calls are paired one to one: two expected calls and one actual call make one pair and leave one expected call unpaired.

Comparing raises `EvaluatorError`, which names the argument, if the matchers of all calls together need too many checks (`MatchBudget`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import lcm
from typing import Any

from msgspec import Struct

from callmark.calls.assignment import assign
from callmark.calls.match_budget import MatchBudget
from callmark.calls.matchers import is_optional
from callmark.calls.schema import properties
from callmark.calls.strict import dump
from callmark.calls.values import ComparisonRule, agrees, may_equal_default, without_defaults
from callmark.errors import EvaluatorError
from callmark.types import Call

MAX_COMPARED_PAIRS = 40_000  # pairs of calls with one name that are all compared; above that, equal calls first, the rest in order
MAX_ORDERED_PAIRS = 2500  # pairs of calls with one name up to which ties are broken by order

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
    """The pairs in the order of the expected calls, and the indexes of the unpaired calls on either side."""

    pairs: tuple[Pair, ...]
    unpaired_expected: tuple[int, ...]
    unpaired_actual: tuple[int, ...]

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
    if parameters:
        expected, actual = without_defaults(expected, parameters, matchers=True), without_defaults(actual, parameters)
    budget = MatchBudget() if budget is None else budget
    agree = expected_count = 0
    missing: list[str] = []
    differ: list[str] = []
    for key, value in expected.items():
        if key in actual:
            expected_count += 1
            other = actual[key]
            plainly_equal = value.__class__ is other.__class__ and value.__class__ in _PLAIN and value == other
            if plainly_equal or _agrees(key, value, other, rule, budget):
                agree += 1
            else:
                differ.append(key)
        elif not is_optional(value):
            expected_count += 1
            missing.append(key)
    if len(actual) == expected_count - len(missing) and not missing and not differ:
        return _all_agree(expected_count)
    extra = tuple(key for key in actual if key not in expected)
    return ArgumentComparison(agree, expected_count, len(actual), expected_count + len(extra), tuple(missing), extra, tuple(differ))


def _agrees(key: str, expected: Any, actual: Any, rule: ComparisonRule, budget: MatchBudget) -> bool:
    try:
        return agrees(expected, actual, rule, budget)
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
        arguments = compare_calls(expected_call, actual_call, rule=rule, parameters=schema, budget=budget)
        return Pairing((Pair(0, 0, arguments),), (), ())
    if not actual:
        return Pairing((), tuple(range(len(expected))), ())
    expected_by_name, actual_by_name = _by_name(expected, ignore_case), _by_name(actual, ignore_case)
    pairs: list[Pair] = []
    comparer = _Comparer(expected, actual, rule, parameters, budget or MatchBudget(), preferred)
    for name, expected_indexes in expected_by_name.items():
        if actual_indexes := actual_by_name.get(name):
            pairs += _pair_same_name(comparer, expected_indexes, actual_indexes)
    pairs.sort(key=lambda pair: pair.expected)
    paired_expected, paired_actual = {pair.expected for pair in pairs}, {pair.actual for pair in pairs}
    return Pairing(
        tuple(pairs),
        tuple(index for index in range(len(expected)) if index not in paired_expected),
        tuple(index for index in range(len(actual)) if index not in paired_actual),
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
    """Compares the calls of two lists by their indexes. The arguments of a call are prepared once, not for every pair."""

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
        self._expected: dict[int, Call] = {}
        self._actual: dict[tuple[int, str], Call] = {}  # by index and by the name of the expected call, whose schema counts

    def pair(self, row: int, column: int) -> Pair:
        name = self.expected[row].name
        expected, actual = self._expected.get(row), self._actual.get((column, name))
        if expected is None:
            expected = self._expected[row] = self._without_defaults(self.expected[row], name, matchers=True)
        if actual is None:
            actual = self._actual[column, name] = self._without_defaults(self.actual[column], name, matchers=False)
        return Pair(row, column, compare_calls(expected, actual, rule=self._rule, budget=self._budget))

    def _without_defaults(self, call: Call, name: str, *, matchers: bool) -> Call:
        arguments = without_defaults(call.arguments, self._parameters(name), matchers=matchers)
        return call if arguments is call.arguments else Call(call.name, dict(arguments))


def _pair_same_name(comparer: _Comparer, rows: list[int], columns: list[int]) -> list[Pair]:
    """Return the best pairs among calls with one name. `rows` are indexes of expected calls, `columns` of actual calls."""
    if len(rows) == 1 and len(columns) == 1:
        return [comparer.pair(rows[0], columns[0])]
    pairs: list[Pair] = []
    if len(rows) * len(columns) > MAX_COMPARED_PAIRS:
        equal, rows, columns = _pair_equal(comparer.expected, comparer.actual, rows, columns)
        pairs = [comparer.pair(row, column) for row, column in equal]
        if len(rows) * len(columns) > MAX_COMPARED_PAIRS:
            return pairs + [comparer.pair(row, column) for row, column in zip(rows, columns, strict=False)]
    if not rows or not columns:
        return pairs
    table = [[comparer.pair(row, column) for column in columns] for row in rows]
    preferred = comparer.preferred
    weights = _weights(table, None if preferred is None else [preferred(comparer.actual[column]) for column in columns])
    if len(rows) <= len(columns):
        chosen = list(enumerate(assign(weights)))
    else:
        chosen = [(row, column) for column, row in enumerate(assign([list(column) for column in zip(*weights, strict=True)]))]
    return pairs + [table[row][column] for row, column in chosen]


def _pair_equal(
    expected: Sequence[Call], actual: Sequence[Call], rows: list[int], columns: list[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Return pairs of calls with identical arguments, and the remaining indexes, for lists too long to compare every pair."""
    by_text: dict[str, list[int]] = {}
    for column in reversed(columns):
        by_text.setdefault(_text(actual[column]), []).append(column)
    equal = [(row, same.pop()) for row in rows if (same := by_text.get(_text(expected[row])))]
    paired_rows, paired_columns = {row for row, _ in equal}, {column for _, column in equal}
    return equal, [row for row in rows if row not in paired_rows], [column for column in columns if column not in paired_columns]


def _text(call: Call) -> str:
    return dump(dict(sorted(call.arguments.items())))


def _weights(table: Sequence[Sequence[Pair]], preferred: Sequence[bool] | None) -> list[list[int]]:
    """Return an integer weight for each pair, so that the sum of weights orders pairings by the criteria, in their order.

    The last criteria are the columns that are preferred, if any, and, for small tables, early pairs: the first expected call with the first
    actual call, and so on.
    """
    rows, columns = len(table), len(table[0])
    comparisons = [[pair.arguments for pair in row] for row in table]
    share = lcm(*(cell.named or 1 for row in comparisons for cell in row))
    most = max(max(cell.agree, cell.actual, cell.expected) for row in comparisons for cell in row) + 1
    pairs = min(rows, columns)
    base, agreed = pairs * most + 1, pairs * share + 1
    early = columns + 1 if rows * columns <= MAX_ORDERED_PAIRS else 1

    def weight(cell: ArgumentComparison, row: int, column: int) -> int:
        number = int(cell.all_agree) * agreed + (share if not cell.named else share // cell.named * cell.agree)
        for part in (cell.agree, most - cell.actual, most - cell.expected):
            number = number * base + part
        if preferred is not None:
            number = number * (pairs + 1) + preferred[column]
        return number * early**rows + (columns - column) * early ** (rows - 1 - row) if early > 1 else number

    return [[weight(cell, row, column) for column, cell in enumerate(cells)] for row, cells in enumerate(comparisons)]
