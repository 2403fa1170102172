"""Pair two lists of calls, one to one (docs/metrics.md, section 5).

Only calls of the same name are paired, and no malformed ones. Of all pairings: the one with the most pairs; then the most pairs whose
arguments all agree; then the greatest sum of agreement (exactly: arguments that agree / arguments named on either side; 1 when there are
none); then the most arguments that agree; then the fewest actual arguments; then the fewest expected. Ties beyond that change no number:
the earliest pairs win.

Empty lists give no pairs. Repeated calls count each: two expected and one actual give one pair and one left over.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import lcm
from typing import Any

from msgspec import Struct

from callmark.calls.matchers import is_optional
from callmark.calls.schema import properties
from callmark.calls.strict import dump
from callmark.calls.values import ComparisonRule, agrees, may_equal_default, without_defaults
from callmark.types import Call

MAX_COMPARED_PAIRS = 40_000  # pairs of calls of one name that are all compared; beyond that, equal ones are paired first, the rest in order
MAX_ORDERED_PAIRS = 2500  # pairs of calls of one name among which the earliest of equal pairings is found

_PLAIN = frozenset({str, int, float, bool})  # types of which two equal values always agree

Parameters = Callable[[str], Mapping[str, Any]]  # the schema of a tool by its name; {} where none is known


class ArgumentComparison(Struct, frozen=True, gc=False):
    """Two argument objects compared: how many arguments agree, are expected, actual, named on either side; and which do not agree."""

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
    """The pairs in the order of the expected calls, and what is left over on either side."""

    pairs: tuple[Pair, ...]
    unpaired_expected: tuple[int, ...]
    unpaired_actual: tuple[int, ...]

    @property
    def perfect(self) -> bool:
        """Whether nothing is left over and all arguments agree."""
        return not self.unpaired_expected and not self.unpaired_actual and all([pair.agrees for pair in self.pairs])  # noqa: C419 - faster


def no_schema(name: str) -> Mapping[str, Any]:
    """Return an empty schema, for where no tool is known."""
    return {}


def compare_arguments(
    expected: Mapping[str, Any], actual: Mapping[str, Any], *, rule: ComparisonRule = "exact", parameters: Mapping[str, Any] | None = None
) -> ArgumentComparison:
    """Compare two argument objects without what equals being left out. An optional argument that is left out counts on neither side."""
    if fast_equal(expected, actual, parameters):
        return _all_agree(len(expected))
    if parameters:
        expected, actual = without_defaults(expected, parameters, matchers=True), without_defaults(actual, parameters)
    agree = expected_count = 0
    missing: list[str] = []
    differ: list[str] = []
    for key, value in expected.items():
        if key in actual:
            expected_count += 1
            other = actual[key]
            if (value.__class__ is other.__class__ and value.__class__ in _PLAIN and value == other) or agrees(value, other, rule):
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


def compare_similar(comparison: ArgumentComparison, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> ArgumentComparison:
    """Return the comparison by `similar` of two objects whose comparison by `exact` is known: only what differs can change."""
    differ = tuple([key for key in comparison.differ if not agrees(expected[key], actual[key], "similar")])
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
    """Return True if a quick look shows that all arguments agree by every rule and all count: Python finds them equal, there is no matcher,
    no `true` that equals a 1, and nothing that equals being left out. False means that only a full comparison can tell.
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
) -> Pairing:
    """Return the best pairing of two lists. `ignore_case` pairs names whatever their case."""
    if len(expected) == 1 and len(actual) == 1:  # nearly every decision point
        expected_call, actual_call = expected[0], actual[0]
        same_name = expected_call.name == actual_call.name or (ignore_case and expected_call.name.casefold() == actual_call.name.casefold())
        if not same_name or expected_call.malformed or actual_call.malformed:
            return _SINGLE_MISMATCH
        schema = parameters(expected_call.name) if parameters is not no_schema else None
        if fast_equal(expected_call.arguments, actual_call.arguments, schema):
            return _single_agreeing_pair(len(expected_call.arguments))
        arguments = compare_arguments(expected_call.arguments, actual_call.arguments, rule=rule, parameters=schema)
        return Pairing((Pair(0, 0, arguments),), (), ())
    if not actual:
        return Pairing((), tuple(range(len(expected))), ())
    expected_by_name, actual_by_name = _by_name(expected, ignore_case), _by_name(actual, ignore_case)
    pairs: list[Pair] = []
    for name, expected_indexes in expected_by_name.items():
        if actual_indexes := actual_by_name.get(name):
            pairs += _pair_same_name(expected, actual, expected_indexes, actual_indexes, rule, parameters)
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


def _pair_same_name(
    expected: Sequence[Call], actual: Sequence[Call], rows: list[int], columns: list[int], rule: ComparisonRule, parameters: Parameters
) -> list[Pair]:
    """Return the best pairs among calls of one name: `rows` are indexes of expected calls, `columns` of actual ones."""

    def compared(row: int, column: int) -> Pair:
        schema = parameters(expected[row].name)
        return Pair(row, column, compare_arguments(expected[row].arguments, actual[column].arguments, rule=rule, parameters=schema))

    if len(rows) == 1 and len(columns) == 1:
        return [compared(rows[0], columns[0])]
    pairs: list[Pair] = []
    if len(rows) * len(columns) > MAX_COMPARED_PAIRS:
        equal, rows, columns = _pair_equal(expected, actual, rows, columns)
        pairs = [compared(row, column) for row, column in equal]
        if len(rows) * len(columns) > MAX_COMPARED_PAIRS:
            return pairs + [compared(row, column) for row, column in zip(rows, columns, strict=False)]
    if not rows or not columns:
        return pairs
    table = [[compared(row, column) for column in columns] for row in rows]
    weights = _weights(table)
    if len(rows) <= len(columns):
        chosen = list(enumerate(assign(weights)))
    else:
        chosen = [(row, column) for column, row in enumerate(assign([list(column) for column in zip(*weights, strict=True)]))]
    return pairs + [table[row][column] for row, column in chosen]


def _pair_equal(
    expected: Sequence[Call], actual: Sequence[Call], rows: list[int], columns: list[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Return pairs of calls with literally equal arguments, and what is left: for lists too long to compare all with all."""
    by_text: dict[str, list[int]] = {}
    for column in reversed(columns):
        by_text.setdefault(_text(actual[column]), []).append(column)
    equal = [(row, same.pop()) for row in rows if (same := by_text.get(_text(expected[row])))]
    paired_rows, paired_columns = {row for row, _ in equal}, {column for _, column in equal}
    return equal, [row for row in rows if row not in paired_rows], [column for column in columns if column not in paired_columns]


def _text(call: Call) -> str:
    return dump(dict(sorted(call.arguments.items())))


def _weights(table: Sequence[Sequence[Pair]]) -> list[list[int]]:
    """Return one whole number for each pair, so that sums of them order pairings by the criteria, one after the other.

    The last criterion is how early a pair is: the first expected call with the first actual one, and so on (for small tables).
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
        return number * early**rows + (columns - column) * early ** (rows - 1 - row) if early > 1 else number

    return [[weight(cell, row, column) for column, cell in enumerate(cells)] for row, cells in enumerate(comparisons)]


def assign(weights: Sequence[Sequence[int]]) -> list[int]:
    """Return the column of each row, one to one, with the greatest sum; there must be at least as many columns as rows.

    The Hungarian method with potentials, on whole numbers of any size. Ties go to the earliest columns.
    """
    rows, columns = len(weights), len(weights[0]) if weights else 0
    row_potential, column_potential = [0] * (rows + 1), [0] * (columns + 1)
    row_of = [0] * (columns + 1)
    for row in range(1, rows + 1):
        row_of[0] = row
        column = 0
        shortest: list[int | None] = [None] * (columns + 1)
        before = [0] * (columns + 1)
        done = [False] * (columns + 1)
        while row_of[column]:
            done[column] = True
            current, step, nearest = row_of[column], None, 0
            costs = weights[current - 1]
            for at in range(1, columns + 1):
                if done[at]:
                    continue
                cost = -costs[at - 1] - row_potential[current] - column_potential[at]
                known = shortest[at]
                if known is None or cost < known:
                    shortest[at] = known = cost
                    before[at] = column
                if step is None or known < step:
                    step, nearest = known, at
            for at in range(columns + 1):
                if done[at]:
                    row_potential[row_of[at]] += step or 0
                    column_potential[at] -= step or 0
                else:
                    waiting = shortest[at]
                    if waiting is not None:
                        shortest[at] = waiting - (step or 0)
            column = nearest
        while column:
            row_of[column] = row_of[before[column]]
            column = before[column]
    chosen = [0] * rows
    for at in range(1, columns + 1):
        if row_of[at]:
            chosen[row_of[at] - 1] = at - 1
    return chosen
