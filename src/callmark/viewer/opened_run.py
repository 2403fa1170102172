"""A graded run that is open in the viewer, read in a background thread: its first rows are available immediately.

So is the summary that grading stored. If that is valid, all rows are read first, and then the grades once more for the details; otherwise
everything is counted along with the rows. A run whose grades cannot be read raises the same error on every request.
"""

from contextlib import suppress
from threading import Condition, Thread
from typing import Any

from callmark.analysis.summary import Summary, Tally
from callmark.errors import BadInput
from callmark.grading.record import GradeRecord
from callmark.runs.run import Run
from callmark.runs.store import RunFolder
from callmark.types import Case, Message
from callmark.viewer.graded_rows import GradedRows
from callmark.viewer.page_data import case_data, message_data, run_data
from callmark.viewer.priority_gate import PriorityGate
from callmark.viewer.run_cases import RunCases

_FIRST_ROWS, _ROWS_STEP = 500, 5000  # rows become available in batches, the first one about a screenful
_ROWS_BEFORE_COUNTING = 20_000
_SMALL_RUN = 5000  # rows that are counted without a noticeable delay
_SUMMARY_TIMEOUT = 0.15  # seconds that a request waits for metrics before it returns without them


class OpenedRun:
    """One run, with the data for three requests: its metrics, its rows, one of its cases."""

    def __init__(self, name: str, path: str, priority: PriorityGate | None = None) -> None:
        self.name = name
        self._priority = priority or PriorityGate()
        self.run = Run(path)
        self._rows = GradedRows(self.run)
        self._cases = RunCases(self.run.folder, self.run.info)
        self._stamp = self._cases.stamp
        self._changed = Condition()
        self._available_rows = 0
        self._all_available = False
        self._stored_summary_read = False
        self._summary: Summary | None = None
        self._ready = False
        self._problem = ""
        self._error: BadInput | None = None
        self._closed = False
        Thread(target=self._read, name=f"reading {name}", daemon=True).start()

    def close(self) -> None:
        """Stop reading. No request follows."""
        self._closed = True

    def run_data(self) -> dict[str, Any]:
        """Return the run, with the metrics that are known so far."""
        with self._changed:
            self._changed.wait_for(lambda: self._stored_summary_read or self._error)
            self._changed.wait_for(self._has_numbers, timeout=_SUMMARY_TIMEOUT)
            self._raise_error()
            summary, ready, problem = self._summary, self._ready, self._problem
        columns = self._rows.columns
        return run_data(
            self.name, self.run.info, summary, names=columns.names(), trials=columns.trials, ready=ready, problem=problem
        )  # fmt: skip

    def rows_data(self, start: int, limit: int) -> dict[str, Any]:
        """Return up to `limit` rows from `start` on."""
        with self._changed:
            self._changed.wait_for(lambda: self._available_rows >= start + limit or self._all_available or self._error)
            self._raise_error()
            stop, complete = min(self._available_rows, start + limit), self._all_available
        total = self._available_rows if complete else max(self._available_rows, self.run.info.cases)
        more = stop < total or not complete
        columns = self._rows.columns
        return {"start": start, "next": stop if more else None, "total": total, "names": columns.names(), **columns.chunk(start, stop)}

    def case_data(self, case: str, trial: int) -> dict[str, Any] | None:
        """Return a case in one trial, with its conversation; None if there is no such row."""
        row = self._find_row(case, trial)
        if row is None:
            return None
        grade, prediction = self._rows.grade(row), self._rows.prediction(row)
        cases = self._current_cases()
        notice = cases.notice
        found = None if notice else cases.find(grade.case, grade.conversation, self._rows.source_rows[row])
        conversation, placed = found or (None, None)
        messages: tuple[Message, ...] = conversation.messages if conversation else ()
        length, tail = (placed.prompt_length, placed.prompt_tail) if placed else (None, ())
        if prediction is not None and prediction.transcript:
            messages, length, tail = prediction.transcript, None, ()
        return {
            **case_data(self.name, grade, placed.case if placed else None, prediction, problem=notice),
            "conversation": grade.conversation,
            "prompt_length": length,
            "prompt_tail": [message_data(message) for message in tail],
            "messages": [message_data(message) for message in messages] if messages or placed else None,
        }

    @property
    def digest(self) -> str:
        """The digest of the dataset."""
        return self.run.info.dataset.digest

    @property
    def folder(self) -> RunFolder:
        """The folder of the run."""
        return self.run.folder

    def case_id(self, case: str, trial: int) -> str | None:
        """Return the id of a case, given its id on the page; None if there is no such row."""
        row = self._find_row(case, trial)
        return None if row is None else self._rows.grade(row).case

    def original_case(self, case: str, trial: int) -> Case | None:
        """Return a case as it is in the dataset, without corrections; None if it cannot be shown."""
        row = self._find_row(case, trial)
        cases = self._current_cases()
        if row is None or cases.problem:
            return None
        grade = self._rows.grade(row)
        found = cases.find_original(grade.case, grade.conversation, self._rows.source_rows[row])
        return found[1].case if found else None

    def _find_row(self, case: str, trial: int) -> int | None:
        while True:
            row = self._rows.columns.row_of(case, trial)
            with self._changed:
                if row is None:
                    self._raise_error()
                if row is not None or self._all_available:
                    return row
                self._changed.wait(timeout=1)

    def _current_cases(self) -> RunCases:
        """Return the dataset, reopened if its file has been written since."""
        current = RunCases(self.run.folder, self.run.info)
        if current.stamp != self._stamp:
            self._cases, self._stamp = current, current.stamp
        return self._cases

    def _has_numbers(self) -> bool:
        """Return whether the metrics are worth returning: for a small run, all of them are known without a noticeable delay."""
        return self._ready or self._error is not None or (self._summary is not None and self.run.info.cases > _SMALL_RUN)

    def _raise_error(self) -> None:
        if self._error is not None:
            raise BadInput(str(self._error), self._error.hint)

    def _read(self) -> None:
        try:
            self._publish(summary=self.run.stored_summary(), stored_summary_read=True)
            tally = self.run.tally()
            has_summary = self._summary is not None
            with self._priority:
                self._read_rows(None if has_summary else tally)
            if has_summary:
                for grade in self._priority.in_background(self.run.grades()):
                    tally.add(grade)
                    self._stop_if_closed()
            self._publish(summary=tally.summary(), ready=True)
        except BadInput as error:
            self._publish(error=error)
        except Exception as error:  # waiting requests have to return, whatever the error
            self._publish(error=BadInput(f"cannot show the grades of {self.name} ({type(error).__name__}: {error})"))

    def _read_rows(self, tally: Tally | None = None) -> None:
        """Read the rows, count them if there is a tally, then build the indexes for looking up cases of a large run."""
        uncounted: list[GradeRecord] = []
        count = 0
        for count, grade in enumerate(self._rows.read(), 1):
            if tally:
                uncounted.append(grade)
            if count == _FIRST_ROWS or count % _ROWS_STEP == 0:
                self._publish(available_rows=count)
                if tally and count >= _ROWS_BEFORE_COUNTING:
                    _add_all(tally, uncounted)
                self._stop_if_closed()
        self._publish(available_rows=count, all_available=True)
        if tally:
            _add_all(tally, uncounted)
        with suppress(BadInput, OSError):  # raised again by the request for a case
            self._publish(problem=self._cases.notice)
            if count > _SMALL_RUN:
                self._rows.build_index()
                self._cases.build_index()

    def _stop_if_closed(self) -> None:
        if self._closed:
            raise BadInput(f"{self.name} has changed or was closed", "Reload the page.")

    def _publish(self, **values: Any) -> None:
        """Set attributes and wake the requests that wait for them."""
        with self._changed:
            for name, value in values.items():
                setattr(self, f"_{name}", value)
            self._changed.notify_all()


def _add_all(tally: Tally, grades: list[GradeRecord]) -> None:
    for grade in grades:
        tally.add(grade)
    grades.clear()
