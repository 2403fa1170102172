"""How each function fares: how often it was expected, made and paired, and which of its arguments go wrong, with examples.

By the pairing that the faults go by: names with case, arguments by `exact`. Where nothing but the evaluator `process` is told, as of scenarios,
by that (docs/metrics.md, 8): names in any case, arguments by `similar`, functions on its ignore list in neither table. Errors are in none
of it; no grades give empty tables.
"""

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from callmark.analysis.breakdowns import MOST_NAMES, NO_NAME, OTHERS, bounded
from callmark.analysis.by_process import by_process
from callmark.calls.strict import dump
from callmark.grading.evaluators.process import IGNORED, ProcessEvaluator
from callmark.grading.grader import GradeRecord
from callmark.types import Fault, FaultKind

LONGEST_VALUE = 200  # characters of a value in an example
_EXPECTED, _MADE, _PAIRED, _RIGHT = range(4)


class FunctionSummary(Struct, frozen=True):
    """A function over all scored cases: the calls of it that were expected, made, paired, and in how many pairs all arguments are right.

    `precision` is paired / made, `recall` paired / expected; None where there is nothing to divide by. A malformed or repeated call is
    made and not paired.
    """

    name: str
    expected: int
    made: int
    paired: int
    right: int
    precision: float | None
    recall: float | None


class ArgumentExample(Struct, frozen=True):
    """The first time that an argument was wrong in this way: the case, and both values as JSON, cut if long; None where it was left out."""

    kind: FaultKind
    case: str
    expected: str | None
    actual: str | None


class ArgumentSummary(Struct, frozen=True):
    """How often an argument of a function was wrong, in all and in which way; of wrong values how many were hallucinated or taken from
    elsewhere; an example of each way.
    """

    function: str
    argument: str
    count: int
    missing: int
    extra: int
    unknown: int
    wrong_type: int
    wrong_value: int
    hallucinated: int
    elsewhere: int
    examples: list[ArgumentExample]


class FunctionTable(Struct, frozen=True):
    """Functions, the most expected first; arguments that were wrong, the most often wrong first."""

    functions: list[FunctionSummary]
    arguments: list[ArgumentSummary]


class FunctionTally:
    """Takes grades one by one. With `counted`, only faults that one of these evaluators counts are told; `ignore` is the list of `process`.

    The first 10,000 functions are told apart, the others are under "…"; likewise 10,000 arguments, further ones under "…" of their
    function. Where an alternative counted, its calls are the expected ones. Where case does not count, a name is spelled as it was first.
    """

    def __init__(self, *, counted: Collection[str] = (), ignore: tuple[str, ...] = IGNORED) -> None:
        self._counted = frozenset(counted)
        self._process = ProcessEvaluator(ignore) if self._counted == {"process"} else None
        self._functions: dict[str, list[int]] = {}
        self._spelled: dict[str, str] = {}
        self._arguments: dict[tuple[str, str], _Wrong] = {}

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; an error is left out."""
        if grade.error:
            return
        expected, made, pairs = self._calls(grade)
        for name in expected:
            self._counts(name)[_EXPECTED] += 1
        for name in made:
            self._counts(name)[_MADE] += 1
        for index, _, right in pairs:
            counts = self._counts(grade.expected[index])
            counts[_PAIRED] += 1
            counts[_RIGHT] += right
        for fault in grade.faults:
            if fault.argument is not None and (not self._counted or not self._counted.isdisjoint(fault.evaluators)):
                self._add_argument(grade, fault, fault.argument)

    def table(self) -> FunctionTable:
        """The tables so far."""
        functions = [_function(self._spelled[key], *counts) for key, counts in self._functions.items()]
        arguments = [wrong.summary(self._spelled[key], argument) for (key, argument), wrong in self._arguments.items()]
        return FunctionTable(
            sorted(functions, key=lambda one: (-one.expected, -one.made, one.name)),
            sorted(arguments, key=lambda one: (-one.count, one.function, one.argument)),
        )

    def _calls(self, grade: GradeRecord) -> tuple[Sequence[str], Sequence[str], Sequence[tuple[int, int, bool]]]:
        """The names that were expected and made, and the pairs."""
        if self._process is None:
            return grade.expected, grade.made, grade.pairs
        seen = by_process(grade, self._process)
        return [grade.expected[place] for place in seen.expected], [grade.made[place] for place in seen.made], seen.pairs

    def _key(self, name: str) -> str:
        """What a function is known by, or "…"."""
        key = name or NO_NAME
        if self._process:
            key = key.casefold()
        if key not in self._functions:
            key = bounded(self._functions, key)
            self._spelled.setdefault(key, OTHERS if key == OTHERS else name or NO_NAME)
        return key

    def _counts(self, name: str) -> list[int]:
        counts = self._functions.get(name)
        return self._functions.setdefault(self._key(name), [0, 0, 0, 0]) if counts is None else counts

    def _add_argument(self, grade: GradeRecord, fault: Fault, argument: str) -> None:
        function = grade.expected[fault.expected_index] if fault.expected_index is not None else ""
        if self._process and self._process.ignores(function):
            return
        key = (self._key(function), argument)
        if key not in self._arguments and len(self._arguments) >= MOST_NAMES:
            key = (key[0], OTHERS)
        wrong = self._arguments.get(key)
        if wrong is None:
            wrong = self._arguments[key] = _Wrong()
        wrong.add(grade.case, fault)


class _Wrong:
    """The ways in which one argument was wrong."""

    __slots__ = ("counts", "elsewhere", "examples", "hallucinated")

    def __init__(self) -> None:
        self.counts: dict[FaultKind, int] = {}
        self.examples: list[ArgumentExample] = []
        self.hallucinated = self.elsewhere = 0

    def add(self, case: str, fault: Fault) -> None:
        kind = fault.kind
        if kind not in self.counts:
            self.counts[kind] = 0
            expected = None if kind in ("extra_argument", "unknown_argument") else _cut(fault.expected)
            actual = None if kind == "missing_argument" else _cut(fault.actual)
            self.examples.append(ArgumentExample(kind, case, expected, actual))
        self.counts[kind] += 1
        if kind == "wrong_value":
            self.hallucinated += fault.origin == "hallucinated"
            self.elsewhere += fault.origin == "elsewhere"

    def summary(self, function: str, argument: str) -> ArgumentSummary:
        return ArgumentSummary(
            function,
            argument,
            sum(self.counts.values()),
            self.counts.get("missing_argument", 0),
            self.counts.get("extra_argument", 0),
            self.counts.get("unknown_argument", 0),
            self.counts.get("wrong_type", 0),
            self.counts.get("wrong_value", 0),
            self.hallucinated,
            self.elsewhere,
            sorted(self.examples, key=lambda example: -self.counts[example.kind]),
        )


def _function(name: str, expected: int, made: int, paired: int, right: int) -> FunctionSummary:
    precision, recall = paired / made if made else None, paired / expected if expected else None
    return FunctionSummary(name, expected, made, paired, right, precision, recall)


def _cut(value: Any) -> str:
    text = dump(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
