"""A graded run, read for the page: one row for each grade, with the file offsets of the grade and its prediction."""

from array import array
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

import msgspec

from callmark.errors import BadInput
from callmark.grading.record import GradeRecord, read_grade
from callmark.runs.run import Run
from callmark.runs.store import GRADES
from callmark.types import Prediction
from callmark.viewer.case_columns import CaseColumns
from callmark.viewer.predicted_calls import CallsAt, PredictedCallsReader, read_prediction_at


class GradedRows:
    """The rows of a run. They are complete after `read` has been iterated to the end."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.columns = CaseColumns(run.info.metrics, headline=run.headline)
        self.source_rows = array("q")  # for each row, a lower bound of its case's row in the dataset
        self._prediction_offsets = array("q")  # -1 without a prediction

    def read(self) -> Iterator[GradeRecord]:
        """Yield the grades one by one, each after its row has been added."""
        reader = PredictedCallsReader(self.run.folder)
        expanded = self.run.info.dataset.expanded
        source_row = -1
        last: str | None = None
        try:
            for grade in self.run.grades():
                found = CallsAt(-1, ()) if grade.error else reader.find(grade.case, grade.trial)
                name = grade.conversation if expanded else grade.case
                if name != last:
                    source_row, last = source_row + 1, name
                self.source_rows.append(source_row)
                self._prediction_offsets.append(found.offset)
                self.columns.add(grade, found.calls)
                yield grade
        finally:
            reader.close()

    def prediction(self, row: int) -> Prediction | None:
        """Return the prediction of a row; None if there is none or it can no longer be read."""
        offset = self._prediction_offsets[row]
        return None if offset < 0 else read_prediction_at(self.run.folder, offset)

    def grade(self, row: int) -> GradeRecord:
        """Return the grade of a row, read from the file again. A missing or changed file raises `BadInput`."""
        try:
            with self.run.folder.open(GRADES) as lines:
                lines.seek(self._grade_offsets[row])
                return read_grade(lines.readline())
        except (OSError, IndexError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise BadInput(f"the grades of {self.run.label} have changed", "Reload the page.") from None

    def build_index(self) -> None:
        """Find the offsets of the grades before the first request for one."""
        self._grade_offsets  # noqa: B018 - cached

    @cached_property
    def _grade_offsets(self) -> list[int]:
        with self.run.folder.open(GRADES) as lines:
            return list(accumulate(map(len, lines), initial=0))
