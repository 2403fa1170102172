"""A graded run as the viewer has it open: read in a thread of its own, so that its first rows are there at once.

So are the numbers that were kept when it was graded. Where they were, all rows follow, and then the grades are gone through once more for
the details; where not, everything is counted along with the rows. A run whose grades cannot be read says why, whatever it is asked.
"""

from contextlib import suppress
from threading import Condition, Thread
from typing import Any

from callmark.analysis.summary import Summary, Tally
from callmark.errors import BadInput
from callmark.grading.grader import GradeRecord
from callmark.runs.run import Run
from callmark.viewer.conversations import CasesOfRun
from callmark.viewer.graded_rows import GradedRows
from callmark.viewer.page_data import case_data, message_data, run_data
from callmark.viewer.priority_gate import PriorityGate

_FIRST, _STEP = 500, 5000  # rows that are there together: a screen of them at first
_SOON = 20_000  # rows before which nothing is counted
_FEW = 5000  # rows of which everything is worked out in one go
_PATIENCE = 0.15  # seconds that somebody waits for numbers before they are told to come again


class OpenedRun:
    """One run, and the three things it is asked."""

    def __init__(self, name: str, path: str, precedence: PriorityGate | None = None) -> None:
        self.name = name
        self._precedence = precedence or PriorityGate()
        self.run = Run(path)
        self._rows = GradedRows(self.run)
        self._cases = CasesOfRun(self.run.folder, self.run.info)
        self._stamp = self._cases.stamp
        self._changed = Condition()
        self._there = 0  # rows that can be had
        self._all_there = False
        self._looked_up = False  # whether it is known if there are numbers from when it was graded
        self._summary: Summary | None = None
        self._ready = False
        self._problem = ""
        self._error: BadInput | None = None
        self._closed = False
        Thread(target=self._read, name=f"reading {name}", daemon=True).start()

    def close(self) -> None:
        """Nobody will ask again: stop reading."""
        self._closed = True

    def run_data(self) -> dict[str, Any]:
        """The run, with its numbers as far as they are known."""
        with self._changed:
            self._changed.wait_for(lambda: self._looked_up or self._error)
            self._changed.wait_for(self._is_worth_telling, timeout=_PATIENCE)
            self._raise_error()
            summary, ready, problem = self._summary, self._ready, self._problem
        columns = self._rows.columns
        return run_data(
            self.name, self.run.info, summary, names=columns.names(), trials=columns.trials, ready=ready, problem=problem
        )  # fmt: skip

    def rows_data(self, start: int, most: int) -> dict[str, Any]:
        """So many rows from `start` on; fewer where there are no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._there >= start + most or self._all_there or self._error)
            self._raise_error()
            stop, ended = min(self._there, start + most), self._all_there
        total = self._there if ended else max(self._there, self.run.info.cases)
        more = stop < total or not ended
        columns = self._rows.columns
        return {"from": start, "next": stop if more else None, "total": total, "names": columns.names(), **columns.chunk(start, stop)}

    def case_data(self, case: str, trial: int) -> dict[str, Any] | None:
        """A case in one trial, and its conversation; None where there is no such row."""
        row = self._row(case, trial)
        if row is None:
            return None
        grade, prediction = self._rows.grade(row), self._rows.prediction(row)
        cases = self._cases_now()
        problem = cases.problem
        found = None if problem else cases.find(grade.case, grade.conversation, self._rows.near[row])
        talk, told = found or (None, None)
        messages, upto, tail = (talk.messages, told.upto, told.tail) if talk and told else ((), None, ())
        if prediction is not None and prediction.transcript:
            messages, upto, tail = prediction.transcript, None, ()
        return {
            **case_data(self.name, grade, told.case if told else None, prediction, problem=problem),
            "conversation": grade.conversation,
            "upto": upto,
            "tail": [message_data(message) for message in tail],
            "messages": [message_data(message) for message in messages] if messages or told else None,
        }

    def _row(self, case: str, trial: int) -> int | None:
        while True:
            row = self._rows.columns.row_of(case, trial)
            with self._changed:
                if row is None:
                    self._raise_error()
                if row is not None or self._all_there:
                    return row
                self._changed.wait(timeout=1)

    def _cases_now(self) -> CasesOfRun:
        """The dataset; looked at anew where its file has been written since."""
        now = CasesOfRun(self.run.folder, self.run.info)
        if now.stamp != self._stamp:
            self._cases, self._stamp = now, now.stamp
        return self._cases

    def _is_worth_telling(self) -> bool:
        """Of a few rows everything is known in a moment."""
        return self._ready or self._error is not None or (self._summary is not None and self.run.info.cases > _FEW)

    def _raise_error(self) -> None:
        if self._error is not None:
            raise BadInput(str(self._error), self._error.hint)

    def _read(self) -> None:
        try:
            self._say(summary=self.run.known_summary(), looked_up=True)
            tally = self.run.tally()
            known = self._summary is not None
            with self._precedence:
                self._read_rows(None if known else tally)
            if known:
                for grade in self._precedence.beside(self.run.grades()):
                    tally.add(grade)
                    self._stop_if_closed()
            self._say(summary=tally.summary(), ready=True)
        except BadInput as error:
            self._say(error=error)
        except Exception as error:  # whoever waits has to be told, whatever it is
            self._say(error=BadInput(f"the grades of {self.name} cannot be shown ({type(error).__name__}: {error})"))

    def _read_rows(self, tally: Tally | None = None) -> None:
        """Read the rows, and count them where nobody has; then what takes long in a large run before a case of it can be looked at."""
        waiting: list[GradeRecord] = []
        count = 0
        for count, grade in enumerate(self._rows.read(), 1):
            if tally:
                waiting.append(grade)
            if count == _FIRST or count % _STEP == 0:
                self._say(there=count)
                if tally and count >= _SOON:
                    _add(tally, waiting)
                self._stop_if_closed()
        self._say(there=count, all_there=True)
        if tally:
            _add(tally, waiting)
        with suppress(BadInput, OSError):  # then whoever looks at a case is told
            self._say(problem=self._cases.problem)
            if count > _FEW:
                self._rows.prepare()
                self._cases.prepare()

    def _stop_if_closed(self) -> None:
        if self._closed:
            raise BadInput(f"{self.name} has changed, or others were asked for since", "Load the page again.")

    def _say(self, **known: Any) -> None:
        with self._changed:
            for name, value in known.items():
                setattr(self, f"_{name}", value)
            self._changed.notify_all()


def _add(tally: Tally, grades: list[GradeRecord]) -> None:
    for grade in grades:
        tally.add(grade)
    grades.clear()
