"""Which of many calls of one name agree with which, argument by argument, without comparing every pair.

Equal values are compared once, and values that cannot be equal (`value_key`) not at all. Sets of actual calls are the bits of a number.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from callmark.calls.assignment import bit_indexes
from callmark.calls.match_budget import MatchBudget
from callmark.calls.matchers import is_optional
from callmark.calls.matching import possible_keys, text_test
from callmark.calls.places import Place
from callmark.calls.value_keys import value_key
from callmark.calls.values import TOLERANCE, ComparisonRule, default_agrees, matched_arguments, without_defaults

_SHORT = 100  # characters; matching a shorter text is one check

Counts = tuple[int, int, int, int]  # arguments that agree, are expected, actual, and named on either side
Agree = Callable[[str, Any, Any, Place | None], bool]  # whether an argument agrees


class Agreement:
    """The actual calls of one name, to be compared with one expected call after another, by the schema of one tool."""

    def __init__(
        self, actual: Sequence[Mapping[str, Any]], rule: ComparisonRule, parameters: Mapping[str, Any], budget: MatchBudget, agree: Agree
    ) -> None:
        self._rule: ComparisonRule = rule
        self._parameters = parameters
        self._budget = budget
        self._agree = agree
        self._every = (1 << len(actual)) - 1
        self._sizes: list[int] = []  # without arguments that are equivalent to omitting them
        self._given: dict[str, int] = {}  # the calls that have an argument
        self._counted: dict[str, int] = {}  # the same without those in which it is equivalent to omitting it
        self._groups: dict[str, dict[Hashable, dict[Hashable, tuple[Any, Mapping[str, Any], list[int]]]]] = {}
        self._texts: dict[tuple[str, Callable[[str], str]], tuple[list[tuple[str, int]], list[tuple[str, int]]]] = {}  # short, long
        self._found: dict[tuple[str, Hashable], int] = {}
        for index, arguments in enumerate(actual):
            self._add(index, arguments, without_defaults(arguments, parameters))

    def _add(self, index: int, arguments: Mapping[str, Any], counted: Mapping[str, Any]) -> None:
        self._sizes.append(len(counted))
        bit = 1 << index
        for key, value in arguments.items():
            self._given[key] = self._given.get(key, 0) | bit
            if key in counted:
                self._counted[key] = self._counted.get(key, 0) | bit
            group = self._groups.setdefault(key, {}).setdefault(value_key(value) if self._rule == "exact" else None, {})
            group.setdefault(_identity(value), (value, arguments, [0]))[2][0] |= bit

    def row(self, expected: Mapping[str, Any]) -> "AgreementRow":
        """Compare an expected call with all actual calls."""
        matched = matched_arguments(expected)
        expected = without_defaults(expected, self._parameters, kept=matched)
        agreeing: list[int] = []
        absent: list[int] = []  # the calls without an argument that may be left out
        full = self._every
        for key, value in expected.items():
            given = (self._given if key in matched else self._counted).get(key, 0)
            agrees = self._agreeing(key, value, is_matched=key in matched) & given
            missing = self._every & ~given
            agreeing.append(agrees)
            may_be_absent = missing and key in matched and self._may_be_absent(key, value)
            full &= agrees | missing if may_be_absent else agrees
            if may_be_absent:
                absent.append(missing)
        for key, counted in self._counted.items():
            if key not in expected:
                full &= ~counted
        restored = [self._given.get(key, 0) & ~self._counted.get(key, 0) for key in matched]
        present = [(self._given if key in matched else self._counted).get(key, 0) for key in expected]
        counts = partial(self._counts, len(expected), agreeing, absent, restored, present)
        return AgreementRow(full, bool(absent) or any(restored), counts)

    def _counts(
        self, named: int, agreeing: Sequence[int], absent: Sequence[int], restored: Sequence[int], present: Sequence[int]
    ) -> list[Counts]:
        agree, skipped, more, shared = ([0] * len(self._sizes) for _ in range(4))
        for sets, numbers in ((agreeing, agree), (absent, skipped), (restored, more), (present, shared)):
            for bits in sets:
                for index in bit_indexes(bits):
                    numbers[index] += 1
        found: list[Counts] = []
        for index, size in enumerate(self._sizes):
            expected, actual = named - skipped[index], size + more[index]
            found.append((agree[index], expected, actual, expected + actual - shared[index]))
        return found

    def _may_be_absent(self, key: str, value: Any) -> bool:
        return is_optional(value) or default_agrees(key, value, self._parameters, self._budget)

    def _agreeing(self, key: str, value: Any, *, is_matched: bool) -> int:
        """Return the calls in which an argument agrees with an expected value."""
        identity = (key, _identity(value))
        bits = self._found.get(identity)
        if bits is None:
            quick = text_test(value) if is_matched else None
            bits = self._compare(key, value) if quick is None else self._compare_texts(key, value, *quick)
            self._found[identity] = bits
        return bits

    def _compare(self, key: str, value: Any) -> int:
        groups = self._groups.get(key, {})
        wanted = possible_keys(value) if self._rule == "exact" else None  # by `similar`, no text has a key
        candidates = groups.values() if wanted is None else [groups.get(each, {}) for each in (*wanted, None)]
        bits = 0
        for group in candidates:
            for actual, arguments, same in group.values():
                if value.__class__ is float and actual.__class__ is float and abs(value - actual) > 2 * TOLERANCE * abs(value):
                    continue  # the quick check for numbers without a key
                if self._agree(key, value, actual, Place(self._parameters, arguments, key) if self._parameters else None):
                    bits |= same[0]
        return bits

    def _compare_texts(self, key: str, value: Any, prepare: Callable[[str], str], test: Callable[[str], bool]) -> int:
        """Compare a matcher that looks only at the text. Every short text is prepared once, for all expected calls."""
        texts = self._texts.get((key, prepare))
        if texts is None:
            texts = self._texts[key, prepare] = [], []
            for group in self._groups.get(key, {}).values():
                for actual, _, same in group.values():
                    if isinstance(actual, str):
                        is_short = len(actual) <= _SHORT
                        texts[not is_short].append((prepare(actual) if is_short else actual, same[0]))
        short, long = texts
        self._budget.spend(len(short))
        bits = 0
        for text, calls in short:
            if test(text):
                bits |= calls
        for text, calls in long:
            if self._agree(key, value, text, None):
                bits |= calls
        return bits


class AgreementRow:
    """An expected call compared with all actual calls.

    `full` are those whose arguments all agree. `varies` says that the number of arguments depends on the actual call, even among those.
    """

    __slots__ = ("_counts", "full", "varies")

    def __init__(self, full: int, varies: bool, counts: Callable[[], list[Counts]]) -> None:
        self.full = full
        self.varies = varies
        self._counts = counts

    def counts(self) -> list[Counts]:
        """Return the counts for each actual call."""
        return self._counts()


def _identity(value: Any) -> Hashable:
    """Return a key that only identical values share."""
    if isinstance(value, dict):
        return frozenset([(key, _identity(item)) for key, item in value.items()]), dict
    if isinstance(value, list | tuple):
        return tuple([_identity(item) for item in value]), list
    return (value, value.__class__) if isinstance(value, Hashable) else id(value)
