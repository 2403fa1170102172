"""Which tool was called instead of which, and whether there were too many calls or too few.

A scored case is counted once, an error never, so the cells add up to the scored cases. No grades give no cell. Where nothing but the evaluator
`process` is told, as of scenarios, functions on its ignore list count on neither side, and a name in another case is the same.
"""

from collections import Counter
from collections.abc import Collection

from msgspec import Struct

from callmark.analysis.breakdowns import MOST_NAMES, NO_CALL, NO_NAME, OTHERS, bounded
from callmark.analysis.by_process import ByProcess, by_process
from callmark.grading.evaluators.process import IGNORED, ProcessEvaluator
from callmark.grading.grader import GradeRecord
from callmark.types import Fault

UNKNOWN_TOOL = "(unknown tool)"


class Cell(Struct, frozen=True):
    """In how many cases this tool was called where that one was expected."""

    expected: str
    made: str
    count: int


class Calling(Struct, frozen=True):
    """Calling too much and too little, whichever the tools.

    `more` and `fewer`: the cases with more and with fewer calls than expected; `too_many` and `too_few`: the calls in all of them. Of
    the `none_due` cases that expect no call `called_anyway` made one; of the `due` ones `called_nothing` made none.
    """

    more: int
    fewer: int
    too_many: int
    too_few: int
    none_due: int
    called_anyway: int
    due: int
    called_nothing: int


class Confusion(Struct, frozen=True):
    """The cells of the matrix that are not 0, the most frequent first."""

    cells: list[Cell]
    calling: Calling

    def most_confused(self, n: int) -> list[Cell]:
        """The most frequent cells in which another tool was called than expected, or none, or one where none was due."""
        return [cell for cell in self.cells if cell.expected != cell.made][:n]


class ConfusionTally:
    """Takes grades one by one; `counted` are the evaluators that are told, `ignore` is the list of `process`.

    A case is in the cell of its first expected call that is wrong as a whole (another tool, none, or one that cannot be read); where
    there is none, in that of its first expected call, which then was made. So wrong arguments, extra calls and malformed calls of the
    right name are on the diagonal. Where no call was expected, the first that was made counts. The column is "(unknown tool)" where the
    case's own list of tools does not have what was called in the expected one's place, "(no name)" for a call that names no tool.

    The first 10,000 rows are told apart, the others are under "…"; likewise the cells beside the diagonal, further ones under "…" of
    their row.
    """

    def __init__(self, *, counted: Collection[str] = (), ignore: tuple[str, ...] = IGNORED) -> None:
        self._process = ProcessEvaluator(ignore) if set(counted) == {"process"} else None
        self._rows: set[str] = set()
        self._cells: Counter[tuple[str, str]] = Counter()
        self._more = self._fewer = self._too_many = self._too_few = 0
        self._none_due = self._called_anyway = self._due = self._called_nothing = 0

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; an error is left out."""
        if grade.error:
            return
        if self._process is None:
            cell, expected, made = _cell(grade), len(grade.expected), len(grade.made)
        else:
            seen = by_process(grade, self._process)
            cell, expected, made = _process_cell(grade, seen), len(seen.expected), len(seen.made)
        self._cells[cell if cell in self._cells else self._bounded(*cell)] += 1
        self._add_calling(expected, made)

    def confusion(self) -> Confusion:
        """The matrix so far."""
        cells = sorted(self._cells.items(), key=lambda item: (-item[1], item[0]))
        calling = Calling(
            self._more,
            self._fewer,
            self._too_many,
            self._too_few,
            self._none_due,
            self._called_anyway,
            self._due,
            self._called_nothing,
        )
        return Confusion([Cell(expected, made, count) for (expected, made), count in cells], calling)

    def _bounded(self, expected: str, made: str) -> tuple[str, str]:
        row = bounded(self._rows, expected)
        self._rows.add(row)
        if made == expected:
            return row, row
        return row, made if (row, made) in self._cells or len(self._cells) < MOST_NAMES else OTHERS

    def _add_calling(self, expected: int, made: int) -> None:
        if made > expected:
            self._more += 1
            self._too_many += made - expected
        elif made < expected:
            self._fewer += 1
            self._too_few += expected - made
        if expected:
            self._due += 1
            self._called_nothing += not made
        else:
            self._none_due += 1
            self._called_anyway += bool(made)


def _cell(grade: GradeRecord) -> tuple[str, str]:
    """The row and the column of a scored case."""
    if not grade.expected:
        return NO_CALL, (grade.made[0] or NO_NAME) if grade.made else NO_CALL
    wrong = _first_wrong(grade.faults) if grade.faults else None
    if wrong is None:
        name = grade.expected[0] or NO_NAME
        return name, name
    index, fault = wrong
    expected = grade.expected[index] or NO_NAME
    if fault.kind == "unknown_tool":
        return expected, UNKNOWN_TOOL
    return expected, NO_CALL if fault.actual_index is None else grade.made[fault.actual_index] or NO_NAME


def _process_cell(grade: GradeRecord, seen: ByProcess) -> tuple[str, str]:
    """The same as `process` sees it: what it leaves unpaired stands one against one in order, after the malformed calls, as faults do. What
    is no more than extra by `exact` has its name, known or not.
    """
    if not seen.expected:
        return NO_CALL, (grade.made[seen.made[0]] or NO_NAME) if seen.made else NO_CALL
    left = seen.left_expected()
    if not left:
        name = grade.expected[seen.expected[0]] or NO_NAME
        return name, name
    instead: dict[int, int] = {}
    for other in sorted(seen.left_made(), key=lambda place: place not in seen.malformed):
        free = [place for place in left if place not in instead]
        name = grade.made[other].casefold()
        same = [place for place in free if grade.expected[place].casefold() == name and other in seen.malformed]
        if free:
            instead[(same or free)[0]] = other
    expected = grade.expected[left[0]] or NO_NAME
    if left[0] not in instead:
        return expected, NO_CALL
    actual = instead[left[0]]
    if actual in seen.malformed and grade.made[actual].casefold() == expected.casefold():
        return expected, expected
    unknown = any(fault.kind == "unknown_tool" and fault.actual_index == actual for fault in grade.faults)
    return expected, UNKNOWN_TOOL if unknown else grade.made[actual] or NO_NAME


def _first_wrong(faults: tuple[Fault, ...]) -> tuple[int, Fault] | None:
    """The first expected call that is wrong as a whole, and its fault: faults of malformed calls stand before the others."""
    found: tuple[int, Fault] | None = None
    for fault in faults:
        index = fault.expected_index
        if fault.argument is None and index is not None and (found is None or index < found[0]):
            found = index, fault
    return found
