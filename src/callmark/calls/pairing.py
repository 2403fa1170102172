"""Pairing two lists of calls, one to one (docs/metrics.md, section 5).

Only calls of the same name are paired, and none that is malformed. Of all pairings: the one with the most pairs; then the most pairs
whose arguments all agree; then the greatest sum of agreement (exactly: arguments that agree / arguments named on either side; 1 when
there are none); then the most arguments that agree; then the fewest arguments made; then the fewest expected. What is still tied
changes no number: the earliest.

Empty lists give no pairs. Repeated calls are repeated calls: two expected and one made is one pair and one left over.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import lcm
from typing import Any

from msgspec import Struct

from callmark.calls.matchers import optional
from callmark.calls.schema import properties
from callmark.calls.strict import dump
from callmark.calls.values import Rule, agrees, may_be_left_out, without_defaults
from callmark.types import Call

MOST_COMPARED = 40_000  # pairs of calls of one name that are all compared; beyond that, equal ones are paired first, the rest in order
MOST_ORDERED = 2500  # pairs of calls of one name among which the earliest of equally good pairings is looked for

_PLAIN = frozenset({str, int, float, bool})  # of which two equal ones of one type always agree

Parameters = Callable[[str], Mapping[str, Any]]  # the schema of a tool by its name; {} where none is known


class Comparison(Struct, frozen=True, gc=False):
    """Two argument objects: how many names agree, are expected, were made, stand on either side; and which do not agree."""

    agree: int
    expected: int
    made: int
    named: int
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()

    @property
    def all_agree(self) -> bool:
        return self.agree == self.named

    @property
    def agreement(self) -> Fraction:
        return Fraction(self.agree, self.named) if self.named else Fraction(1)


class Pair(Struct, frozen=True, gc=False):
    """The indexes of an expected call and of the call that was made for it, and how their arguments compare."""

    expected: int
    actual: int
    arguments: Comparison

    @property
    def agrees(self) -> bool:
        return self.arguments.all_agree


class Pairing(Struct, frozen=True, gc=False):
    """The pairs in the order of the expected calls, and what is left over on either side."""

    pairs: tuple[Pair, ...]
    unpaired_expected: tuple[int, ...]
    unpaired_actual: tuple[int, ...]

    @property
    def perfect(self) -> bool:
        """Whether nothing is left over and all arguments agree."""
        return not self.unpaired_expected and not self.unpaired_actual and all([one.agrees for one in self.pairs])  # noqa: C419 - faster


def no_schema(name: str) -> Mapping[str, Any]:
    """Where no tool is known."""
    return {}


def compare(
    expected: Mapping[str, Any], actual: Mapping[str, Any], *, rule: Rule = "exact", parameters: Mapping[str, Any] | None = None
) -> Comparison:
    """Two argument objects, less what equals being left out. An optional argument that was not given counts on neither side."""
    if fast_equal(expected, actual, parameters):
        return _all_agree(len(expected))
    if parameters:
        expected, actual = without_defaults(expected, parameters, patterns=True), without_defaults(actual, parameters)
    agree = wanted = 0
    missing: list[str] = []
    differ: list[str] = []
    for key, value in expected.items():
        if key in actual:
            wanted += 1
            other = actual[key]
            if (value.__class__ is other.__class__ and value.__class__ in _PLAIN and value == other) or agrees(value, other, rule):
                agree += 1
            else:
                differ.append(key)
        elif not optional(value):
            wanted += 1
            missing.append(key)
    if len(actual) == wanted - len(missing) and not missing and not differ:
        return _all_agree(wanted)
    extra = tuple(key for key in actual if key not in expected)
    return Comparison(agree, wanted, len(actual), wanted + len(extra), tuple(missing), extra, tuple(differ))


def by_similar(found: Comparison, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Comparison:
    """How two argument objects compare by `similar`, of which it is known how they compare by `exact`: only what differs can change."""
    differ = tuple([key for key in found.differ if not agrees(expected[key], actual[key], "similar")])
    if len(differ) == len(found.differ):
        return found
    agree = found.agree + len(found.differ) - len(differ)
    return Comparison(agree, found.expected, found.made, found.named, found.missing, found.extra, differ)


def fast_equal(expected: Mapping[str, Any], actual: Mapping[str, Any], parameters: Mapping[str, Any] | None) -> bool:
    """Whether all arguments agree by every rule and all count, told at a glance: Python finds them equal, there is no matcher, no true
    that is a 1 and nothing that equals being left out. False says nothing.
    """
    if expected != actual:
        return False
    for key, value in expected.items():
        if value.__class__ is not str:
            other = actual[key]
            if value.__class__ is not other.__class__ or (value.__class__ not in _PLAIN and not _plain_list(value, other)):
                return False
    return not parameters or not may_be_left_out(expected, properties(parameters))


def _plain_list(one: Any, other: Any) -> bool:
    """Whether two equal values are lists of plain values of the same types."""
    if one.__class__ is not list:
        return False
    classes = [item.__class__ for item in one]
    return _PLAIN.issuperset(classes) and classes == [item.__class__ for item in other]


@cache
def _all_agree(named: int) -> Comparison:
    return Comparison(named, named, named, named)


@cache
def _one_right(named: int) -> Pairing:
    return Pairing((Pair(0, 0, _all_agree(named)),), (), ())


def pair(
    expected: Sequence[Call],
    actual: Sequence[Call],
    *,
    rule: Rule = "exact",
    any_case: bool = False,
    parameters: Parameters = no_schema,
) -> Pairing:
    """The best pairing of two lists. `any_case` pairs names whatever their case."""
    if len(expected) == 1 and len(actual) == 1:  # what nearly every decision point is
        wanted, made = expected[0], actual[0]
        same = wanted.name == made.name or (any_case and wanted.name.casefold() == made.name.casefold())
        if not same or wanted.malformed or made.malformed:
            return _NOT_ONE
        schema = parameters(wanted.name) if parameters is not no_schema else None
        if fast_equal(wanted.arguments, made.arguments, schema):
            return _one_right(len(wanted.arguments))
        return Pairing((Pair(0, 0, compare(wanted.arguments, made.arguments, rule=rule, parameters=schema)),), (), ())
    if not actual:
        return Pairing((), tuple(range(len(expected))), ())
    ours, theirs = _by_name(expected, any_case), _by_name(actual, any_case)
    pairs: list[Pair] = []
    for name, places in ours.items():
        if others := theirs.get(name):
            pairs += _pair_named(expected, actual, places, others, rule, parameters)
    pairs.sort(key=lambda one: one.expected)
    taken, used = {one.expected for one in pairs}, {one.actual for one in pairs}
    return Pairing(
        tuple(pairs),
        tuple(index for index in range(len(expected)) if index not in taken),
        tuple(index for index in range(len(actual)) if index not in used),
    )


_NOT_ONE = Pairing((), (0,), (0,))


def _by_name(calls: Sequence[Call], any_case: bool) -> dict[str, list[int]]:
    named: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        if not call.malformed:
            named.setdefault(call.name.casefold() if any_case else call.name, []).append(index)
    return named


def _pair_named(
    expected: Sequence[Call], actual: Sequence[Call], wanted: list[int], made: list[int], rule: Rule, parameters: Parameters
) -> list[Pair]:
    """The best pairs among calls of one name."""

    def against(one: int, other: int) -> Pair:
        schema = parameters(expected[one].name)
        return Pair(one, other, compare(expected[one].arguments, actual[other].arguments, rule=rule, parameters=schema))

    if len(wanted) == 1 and len(made) == 1:
        return [against(wanted[0], made[0])]
    if len(wanted) * len(made) > MOST_COMPARED:
        equal, wanted, made = _equal_first(expected, actual, wanted, made)
        found = [against(one, other) for one, other in equal]
        if len(wanted) * len(made) > MOST_COMPARED:
            return found + [against(one, other) for one, other in zip(wanted, made, strict=False)]
    else:
        found = []
    if not wanted or not made:
        return found
    table = [[against(one, other) for other in made] for one in wanted]
    weights = _weights(table)
    if len(wanted) <= len(made):
        chosen = list(enumerate(assign(weights)))
    else:
        chosen = [(row, column) for column, row in enumerate(assign([list(column) for column in zip(*weights, strict=True)]))]
    return found + [table[row][column] for row, column in chosen]


def _equal_first(
    expected: Sequence[Call], actual: Sequence[Call], wanted: list[int], made: list[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Pairs of calls with literally equal arguments, and what is left: for lists too long to compare everything with everything."""
    by_text: dict[str, list[int]] = {}
    for index in reversed(made):
        by_text.setdefault(_text(actual[index]), []).append(index)
    equal = [(index, same.pop()) for index in wanted if (same := by_text.get(_text(expected[index])))]
    taken, used = {one for one, _ in equal}, {other for _, other in equal}
    return equal, [index for index in wanted if index not in taken], [index for index in made if index not in used]


def _text(call: Call) -> str:
    return dump(dict(sorted(call.arguments.items())))


def _weights(table: Sequence[Sequence[Pair]]) -> list[list[int]]:
    """One whole number for what makes a pair good, so that sums of them order as the criteria do, one after the other.

    The last is how early it is: the first expected call with the first made, and so on (for tables small enough to matter).
    """
    rows, columns = len(table), len(table[0])
    comparisons = [[one.arguments for one in row] for row in table]
    share = lcm(*(one.named or 1 for row in comparisons for one in row))
    most = max(max(one.agree, one.made, one.expected) for row in comparisons for one in row) + 1
    pairs = min(rows, columns)
    base, agreed = pairs * most + 1, pairs * share + 1
    early = columns + 1 if rows * columns <= MOST_ORDERED else 1

    def weight(one: Comparison, row: int, column: int) -> int:
        number = int(one.all_agree) * agreed + (share if not one.named else share // one.named * one.agree)
        for part in (one.agree, most - one.made, most - one.expected):
            number = number * base + part
        return number * early**rows + (columns - column) * early ** (rows - 1 - row) if early > 1 else number

    return [[weight(one, row, column) for column, one in enumerate(cells)] for row, cells in enumerate(comparisons)]


def assign(weights: Sequence[Sequence[int]]) -> list[int]:
    """The column of each row, one to one, with the greatest sum; there must be at least as many columns as rows.

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
