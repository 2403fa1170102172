"""A graded run read for the page: its grades become rows, and where the grade and the prediction of each stand is kept."""

from array import array
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import msgspec

from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.grading.grader import GradeRecord, read_grade
from callmark.runs.run import Run
from callmark.runs.store import GRADES, PREDICTIONS
from callmark.types import Prediction
from callmark.viewer.rows import Columns, MadeCalls


class GradedRows:
    """The rows of a run, once `read` was gone through."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.columns = Columns(run.info.metrics, headline=run.headline, counted=run.counted)
        self.near = array("q")  # how many rows of the dataset stand before the case of each, or fewer
        self._predictions = run.folder.file(PREDICTIONS)
        self._begins = array("q")  # the prediction of each, -1 where there is none

    def read(self) -> Iterator[GradeRecord]:
        """The grades one by one, each after its row was added."""
        made = MadeCalls(self._predictions)
        cut = self.run.info.dataset.cut
        before = -1
        last: str | None = None
        try:
            for grade in self.run.grades():
                begins, calls = (-1, ()) if grade.error else made.of(grade.case, grade.trial)
                name = grade.conversation if cut else grade.case
                if name != last:
                    before, last = before + 1, name
                self.near.append(before)
                self._begins.append(begins)
                self.columns.add(grade, calls)
                yield grade
        finally:
            made.close()

    def prediction(self, row: int) -> Prediction | None:
        """What came back in a row; None where nothing did, or it is no longer there."""
        begins = self._begins[row]
        return None if begins < 0 else prediction_at(self._predictions, begins)

    def grade(self, row: int) -> GradeRecord:
        """The grade of a row, read again. A file that is gone, or another by now, raises `BadInput`."""
        try:
            with Path(self.run.folder.file(GRADES)).open("rb") as lines:
                lines.seek(self._lines[row])
                return read_grade(lines.readline())
        except (OSError, IndexError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise BadInput(f"the grades of {self.run.label} have changed", "Load the page again.") from None

    def prepare(self) -> None:
        """Find where each line of the grades begins."""
        self._lines  # noqa: B018 - it is kept

    @cached_property
    def _lines(self) -> list[int]:
        """Where each line of the grades begins."""
        with Path(self.run.folder.file(GRADES)).open("rb") as lines:
            return list(accumulate(map(len, lines), initial=0))


def prediction_at(path: str, begins: int) -> Prediction | None:
    """The prediction whose line begins there; None where it cannot be read."""
    with suppress(OSError, BadInput), Path(path).open("rb") as lines:
        lines.seek(begins)
        return read_prediction(lines.readline(), whole=True).prediction
    return None
