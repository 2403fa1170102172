"""A run that is not finished, or not graded: what came back so far is graded in memory, as it comes. Nothing is written, nothing locked.

Rows stand in the order in which answers came. A last line that is still being written is left for the next time; one that cannot be read
is passed over, and so is an answer to a question that was answered before.
"""

import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec import structs

from callmark.analysis.summary import Tally
from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.grading.evaluator import fault_evaluators
from callmark.grading.grader import Grader
from callmark.runs.run import headline_of
from callmark.runs.store import PREDICTIONS, RunFolder
from callmark.types import Case, Prediction
from callmark.viewer.conversations import CasesOfRun, Talk, Told
from callmark.viewer.graded_rows import prediction_at
from callmark.viewer.page_data import case_data, message_data, run_data
from callmark.viewer.rows import Columns, made_by

_PATIENCE = 0.4  # seconds that are spent on grading for one that asks
_MOST_AHEAD = 2000  # cases that wait for an answer: models are asked in order, many at a time


class RunInProgress:
    """One run, and the three things it is asked."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.folder = RunFolder(path)
        self.info = self.folder.read()
        self._file = Path(self.folder.file(PREDICTIONS))
        self._cases = CasesOfRun(self.folder, self.info)
        self._grader = Grader(self.info.settings)
        scenarios = self.info.dataset.what == "scenarios"
        counted = fault_evaluators(self.info.settings.evaluators, scenarios=scenarios)
        self.info = structs.replace(self.info, metrics=self._grader.metrics)
        self._columns = Columns(self.info.metrics, headline=headline_of(self.info), counted=counted)
        self._tally = Tally(counted=counted, ignore=self.info.settings.ignore)
        self._lock = Lock()
        self._at = 0  # how much of the file has been read
        self._caught_up = False
        self._answered = self._answered_before()
        self._coming = self._told()
        self._ahead: dict[str, tuple[int, Case]] = {}
        self._done: dict[str, set[int]] = {}  # the trials of each case that have their row
        self._begins = array("q")
        self._near = array("q")

    def close(self) -> None:
        """Nobody will ask again."""

    def run_data(self) -> dict[str, Any]:
        """The run, as far as it has come."""
        self._catch_up()
        with self._lock:
            summary = self._tally.summary(intervals=())
            found = run_data(
                self.name, self.info, summary, names=self._columns.names(), trials=self._columns.trials,
                ready=self._caught_up, problem=self._cases.problem,
            )  # fmt: skip
            rows = len(self._columns)
        status = "running" if self.info.status == "complete" else self.info.status  # it is being graded
        return {**found, "status": status, "answers": rows, "cases": len(self._done)}

    def rows_data(self, start: int, most: int) -> dict[str, Any]:
        """So many rows from `start` on, as far as there are any yet."""
        self._catch_up()
        with self._lock:
            total = len(self._columns)
            stop = min(total, start + most)
            following = stop if stop < total else None
            return {"from": start, "next": following, "total": total, "names": self._columns.names(), **self._columns.chunk(start, stop)}

    def case_data(self, case: str, trial: int) -> dict[str, Any] | None:
        """A case in one trial, and its conversation; None where nothing came back for it yet."""
        with self._lock:
            row = self._columns.row_of(case, trial)
        prediction = None if row is None else prediction_at(str(self._file), self._begins[row])
        if row is None or prediction is None:
            return None
        found = self._find(prediction.case, self._near[row])
        if found is None:
            return None
        talk, told = found
        grade = Grader(self.info.settings).record(told.case, [prediction])[0]
        whole = prediction.transcript or talk.messages
        return {
            **case_data(self.name, grade, told.case, prediction),
            "conversation": grade.conversation,
            "upto": None if prediction.transcript else told.upto,
            "tail": [message_data(message) for message in (() if prediction.transcript else told.tail)],
            "messages": [message_data(message) for message in whole],
        }

    def _find(self, case: str, near: int) -> tuple[Talk, Told] | None:
        conversation = case.rpartition(":")[0] if self.info.dataset.cut else None
        return self._cases.find(case, conversation, near)

    def _catch_up(self) -> None:
        """Grade what is new, for as long as somebody waits."""
        until = time.monotonic() + _PATIENCE
        with self._lock:
            self._caught_up = bool(self._cases.problem)
            if self._caught_up or not self._file.is_file():
                self._caught_up = True
                return
            with self._file.open("rb") as lines:
                lines.seek(self._at)
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    begins, self._at = self._at, self._at + len(line)
                    self._take(line, begins)
                    if time.monotonic() > until:
                        return
            self._caught_up = True

    def _take(self, line: bytes, begins: int) -> None:
        try:
            prediction = read_prediction(line, whole=True).prediction
        except BadInput:
            return
        key = (prediction.case, prediction.trial)
        if (prediction.error and key in self._answered) or prediction.trial in self._done.get(prediction.case, ()):
            return
        found = self._case(prediction.case)
        if found is None:
            return
        near, case = found
        try:
            grade = self._grader.record(case, [prediction])[0]
        except BadInput:  # an evaluator of one's own that fails: grading the run will tell
            return
        self._tally.add(grade)
        self._columns.add(grade, prediction.calls)
        self._begins.append(begins)
        self._near.append(near)
        self._count(prediction)

    def _count(self, prediction: Prediction) -> None:
        trials = self._done.setdefault(prediction.case, set())
        trials.add(prediction.trial)
        if len(trials) >= (self.info.asked.trials if self.info.asked else 1):
            self._ahead.pop(prediction.case, None)

    def _case(self, name: str) -> tuple[int, Case] | None:
        while name not in self._ahead:
            found = next(self._coming, None)
            if found is None:
                return None
            if len(self._ahead) >= _MOST_AHEAD:
                self._ahead.pop(next(iter(self._ahead)))
            self._ahead[found[1].id] = found
        return self._ahead[name]

    def _told(self) -> Iterator[tuple[int, Case]]:
        before = 0
        for number, talk in enumerate(self._cases.talks()):
            for told in talk.cases:
                yield (number if self.info.dataset.cut else before), told.case
                before += 1

    def _answered_before(self) -> set[tuple[str, int]]:
        """What has an answer by now, so that an error before it, of a run that was gone on with, is none."""
        if not self._file.is_file():
            return set()
        with self._file.open("rb") as lines:
            found = (made_by(line) for line in lines if line.endswith(b"\n"))
            return {(made.case, made.trial) for made in found if made is not None and not made.error}
