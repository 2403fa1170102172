"""The confusion matrix of tools: which was called instead of which. And whether there were too many calls or too few.

A scored case is counted once, an error never, so the cells add up to the scored cases. Without grades there are no cells. In a whole
conversation no tool is called instead of another, so its cell is off the diagonal only for a call that is missing, malformed, or made
where none is expected; there, calls count as for the evaluator `process`.
"""

from collections import Counter

from msgspec import Struct

from callmark.analysis.breakdowns import MOST_NAMES, NO_CALL, NO_NAME, OTHERS, bounded
from callmark.grading.ignored_functions import is_ignored
from callmark.grading.record import GradeRecord
from callmark.types import Fault

UNKNOWN_TOOL = "(unknown tool)"


class ConfusionCell(Struct, frozen=True):
    """The number of cases in which one tool was expected and the other was called."""

    expected: str
    actual: str
    count: int


class CallCounts(Struct, frozen=True):
    """Too many and too few calls, whatever the tool.

    `cases_with_extra_calls` have `extra_calls` more calls than expected in total, `cases_with_missing_calls` have `missing_calls` fewer.
    Of the `no_call_expected` cases, `called_anyway` made a call; of the `call_expected` cases, `called_nothing` made none.
    """

    cases_with_extra_calls: int
    cases_with_missing_calls: int
    extra_calls: int
    missing_calls: int
    no_call_expected: int
    called_anyway: int
    call_expected: int
    called_nothing: int


class Confusion(Struct, frozen=True):
    """The cells of the confusion matrix that are not 0, the most frequent first."""

    cells: list[ConfusionCell]
    call_counts: CallCounts

    def most_confused(self, n: int) -> list[ConfusionCell]:
        """Return the most frequent cells off the diagonal: another tool than expected, no call, or a call where none was expected."""
        return [cell for cell in self.cells if cell.expected != cell.actual][:n]


class ConfusionTally:
    """Counts grades one by one. With `process_ignore`, the functions that `process` ignores, only what it counts.

    A case is in the cell of its first expected call that is wrong as a whole (another tool, no call, or a malformed call); if there is
    none, in the cell of its first expected call, on the diagonal. So wrong arguments, extra calls and malformed calls with the right name
    are on the diagonal. If no call is expected, the first actual call counts. The column is "(unknown tool)" if the called tool is not
    listed in the case, "(no name)" for a call without a name.

    The first 10,000 rows have names, the others count under "…"; likewise the cells off the diagonal, under "…" of their row.
    """

    def __init__(self, *, process_ignore: tuple[str, ...] | None = None) -> None:
        self._process_ignore = process_ignore
        self._rows: set[str] = set()
        self._cells: Counter[tuple[str, str]] = Counter()
        self._counts: Counter[str] = Counter()

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; errors are excluded."""
        if grade.error:
            return
        if self._process_ignore is None:
            faults, expected, actual = grade.faults, grade.expected, grade.actual
        else:
            faults = tuple([fault for fault in grade.faults if "process" in fault.evaluators])
            expected, actual = (
                tuple([name for name in names if not is_ignored(name, self._process_ignore)]) for names in (grade.expected, grade.actual)
            )
        cell = _cell(grade, faults, expected, actual)
        self._cells[cell if cell in self._cells else self._bounded(*cell)] += 1
        self._add_counts(len(expected), len(actual))

    def confusion(self) -> Confusion:
        """Return the matrix so far."""
        cells = sorted(self._cells.items(), key=lambda item: (-item[1], item[0]))
        counts = CallCounts(**{name: self._counts[name] for name in CallCounts.__struct_fields__})
        return Confusion([ConfusionCell(expected, actual, count) for (expected, actual), count in cells], counts)

    def _bounded(self, expected: str, actual: str) -> tuple[str, str]:
        row = bounded(self._rows, expected)
        self._rows.add(row)
        if actual == expected:
            return row, row
        return row, actual if (row, actual) in self._cells or len(self._cells) < MOST_NAMES else OTHERS

    def _add_counts(self, expected: int, actual: int) -> None:
        counts = self._counts
        if actual > expected:
            counts["cases_with_extra_calls"] += 1
            counts["extra_calls"] += actual - expected
        elif actual < expected:
            counts["cases_with_missing_calls"] += 1
            counts["missing_calls"] += expected - actual
        if expected:
            counts["call_expected"] += 1
            if not actual:
                counts["called_nothing"] += 1
        else:
            counts["no_call_expected"] += 1
            if actual:
                counts["called_anyway"] += 1


def _cell(grade: GradeRecord, faults: tuple[Fault, ...], expected_names: tuple[str, ...], actual_names: tuple[str, ...]) -> tuple[str, str]:
    """Return the row and the column of a scored case: `faults` and names without those that are ignored."""
    if not expected_names:
        return NO_CALL, (actual_names[0] or NO_NAME) if actual_names else NO_CALL
    wrong = _first_wrong_call(faults) if faults else None
    if wrong is None:
        name = expected_names[0] or NO_NAME
        return name, name
    index, fault = wrong
    expected = grade.expected[index] or NO_NAME
    if fault.kind == "unknown_tool":
        return expected, UNKNOWN_TOOL
    return expected, NO_CALL if fault.actual_index is None else grade.actual[fault.actual_index] or NO_NAME


def _first_wrong_call(faults: tuple[Fault, ...]) -> tuple[int, Fault] | None:
    """Return the first expected call that is wrong as a whole, and its fault: faults of malformed calls precede the others."""
    first: tuple[int, Fault] | None = None
    for fault in faults:
        index = fault.expected_index
        if fault.argument is None and index is not None and (first is None or index < first[0]):
            first = index, fault
    return first
