"""Results by function and by argument: expected, actual and paired calls, and which arguments are wrong, with examples.

Calls are paired as for faults: names with case, arguments by `exact`. For whole conversations, they are paired as the evaluator `process`
does (docs/reference/metrics.md, section 8): names without case, arguments by `similar`, no ignored
functions. Errors are excluded; without grades the tables are empty.
"""

from collections.abc import Sequence

from msgspec import Struct

from callmark.analysis.breakdowns import MOST_NAMES, NO_NAME, OTHERS, bounded
from callmark.analysis.process_view import process_view
from callmark.calls.display import show_expected
from callmark.calls.strict import dump
from callmark.grading.record import GradeRecord
from callmark.types import Fault, FaultKind

LONGEST_VALUE = 200  # characters of a value in an example
_EXPECTED, _ACTUAL, _PAIRED, _CORRECT = range(4)


class FunctionSummary(Struct, frozen=True):
    """A function over all scored cases: its expected, actual and paired calls, and the pairs in which all arguments are correct.

    `precision` is paired / actual, `recall` paired / expected; None if the divisor is 0. A malformed or repeated call is
    an actual call and not paired.
    """

    name: str
    expected: int
    actual: int
    paired: int
    correct: int
    precision: float | None
    recall: float | None


class ArgumentExample(Struct, frozen=True):
    """The first fault of this kind of an argument: the case, and both values as JSON, cut if long; None for a missing argument."""

    kind: FaultKind
    case: str
    expected: str | None
    actual: str | None


class ArgumentSummary(Struct, frozen=True):
    """How often an argument of a function was wrong, in total and by kind of fault, with an example of each kind.

    `hallucinated`, `elsewhere` and `format` count where wrong values came from.
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
    format: int = 0


class FunctionTable(Struct, frozen=True):
    """Functions, the most expected first, and wrong arguments, the most frequent first."""

    functions: list[FunctionSummary]
    arguments: list[ArgumentSummary]


class FunctionTally:
    """Counts grades one by one.

    With `process_ignore`, the functions that `process` ignores, calls are paired and faults are counted as `process` does. The first
    10,000 functions have names, the others count under "…"; likewise 10,000 arguments, further ones under "…" of their function. If an
    alternative counted, its calls are the expected ones. Where case is ignored, the first spelling of a name is used.
    """

    def __init__(self, *, process_ignore: tuple[str, ...] | None = None) -> None:
        self._process_ignore = process_ignore
        self._functions: dict[str, list[int]] = {}
        self._spellings: dict[str, str] = {}
        self._arguments: dict[tuple[str, str], _ArgumentFaults] = {}

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; errors are excluded."""
        if grade.error:
            return
        expected, actual, pairs = self._calls(grade)
        for name in expected:
            self._counts(name)[_EXPECTED] += 1
        for name in actual:
            self._counts(name)[_ACTUAL] += 1
        for index, _, correct in pairs:
            counts = self._counts(grade.expected[index])
            counts[_PAIRED] += 1
            counts[_CORRECT] += correct
        for fault in grade.faults:
            if fault.argument is not None and (self._process_ignore is None or "process" in fault.evaluators):
                self._add_argument(grade, fault, fault.argument)

    def table(self) -> FunctionTable:
        """Return the tables so far."""
        functions = [_summarize_function(self._spellings[key], *counts) for key, counts in self._functions.items()]
        arguments = [faults.summary(self._spellings[key], argument) for (key, argument), faults in self._arguments.items()]
        return FunctionTable(
            sorted(functions, key=lambda function: (-function.expected, -function.actual, function.name)),
            sorted(arguments, key=lambda argument: (-argument.count, argument.function, argument.argument)),
        )

    def _calls(self, grade: GradeRecord) -> tuple[Sequence[str], Sequence[str], Sequence[tuple[int, int, bool]]]:
        """Return the names of the expected and of the actual calls, and the pairs."""
        if self._process_ignore is None:
            return grade.expected, grade.actual, grade.pairs
        view = process_view(grade, self._process_ignore)
        return [grade.expected[index] for index in view.expected], [grade.actual[index] for index in view.actual], view.pairs

    def _key(self, name: str) -> str:
        """Return the key of a function, or "…"."""
        key = name or NO_NAME
        if self._process_ignore is not None:
            key = key.casefold()
        if key not in self._functions:
            key = bounded(self._functions, key)
            self._spellings.setdefault(key, OTHERS if key == OTHERS else name or NO_NAME)
        return key

    def _counts(self, name: str) -> list[int]:
        counts = self._functions.get(name)
        return self._functions.setdefault(self._key(name), [0, 0, 0, 0]) if counts is None else counts

    def _add_argument(self, grade: GradeRecord, fault: Fault, argument: str) -> None:
        function = grade.expected[fault.expected_index] if fault.expected_index is not None else ""
        key = (self._key(function), argument)
        if key not in self._arguments and len(self._arguments) >= MOST_NAMES:
            key = (key[0], OTHERS)
        faults = self._arguments.get(key)
        if faults is None:
            faults = self._arguments[key] = _ArgumentFaults()
        faults.add(grade.case, fault)


class _ArgumentFaults:
    """The faults of one argument."""

    __slots__ = ("counts", "elsewhere", "examples", "format", "hallucinated")

    def __init__(self) -> None:
        self.counts: dict[FaultKind, int] = {}
        self.examples: list[ArgumentExample] = []
        self.hallucinated = self.elsewhere = self.format = 0

    def add(self, case: str, fault: Fault) -> None:
        kind = fault.kind
        if kind not in self.counts:
            self.counts[kind] = 0
            expected = None if kind in ("extra_argument", "unknown_argument") else _cut(show_expected(fault.expected))
            actual = None if kind == "missing_argument" else _cut(dump(fault.actual))
            self.examples.append(ArgumentExample(kind, case, expected, actual))
        self.counts[kind] += 1
        if kind == "wrong_value":
            self.hallucinated += fault.origin == "hallucinated"
            self.elsewhere += fault.origin == "elsewhere"
            self.format += fault.origin == "format"

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
            self.format,
        )


def _summarize_function(name: str, expected: int, actual: int, paired: int, correct: int) -> FunctionSummary:
    precision, recall = paired / actual if actual else None, paired / expected if expected else None
    return FunctionSummary(name, expected, actual, paired, correct, precision, recall)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
