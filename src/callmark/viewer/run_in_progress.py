"""A run that is not finished or not graded: its predictions are graded in memory as they arrive. No file is written or locked.

Rows are in the order in which predictions arrive. An incomplete last line is read later. Unreadable lines are skipped, and so are further
predictions for the same trial. Evaluators that `run.json` names by their module are left out: looking at a run imports nothing.
"""

import time
from array import array
from collections.abc import Iterator
from threading import Lock
from typing import Any

from msgspec import structs

from callmark.analysis.summary import Summary, Tally
from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.grading.grader import Grader
from callmark.grading.settings import DEFAULT_EVALUATORS, SIMULATION_EVALUATORS, without_imports
from callmark.runs.run import headline_metric
from callmark.runs.store import PREDICTIONS, RunFolder
from callmark.types import Case, Prediction
from callmark.viewer.case_columns import CaseColumns
from callmark.viewer.page_data import case_data, message_data, run_data
from callmark.viewer.predicted_calls import read_prediction_at, superseded_errors
from callmark.viewer.run_cases import CaseConversation, CaseInConversation, RunCases

_GRADING_TIME = 0.4  # seconds that one request spends on grading
_MAX_CASES_AHEAD = 2000  # cases held until their prediction arrives: requests are sent in order but concurrently


class RunInProgress:
    """One run, with the data for three requests: its metrics, its rows, one of its cases."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.folder = RunFolder(path)
        manifest = self.folder.read()
        self._cases = RunCases(self.folder, manifest)
        grading, self._left_out = without_imports(manifest.grading)
        if not grading.evaluators:
            evaluators = SIMULATION_EVALUATORS if manifest.dataset.kind == "scenarios" else DEFAULT_EVALUATORS
            grading = structs.replace(grading, evaluators=evaluators)
        self._grader = Grader(grading)
        self.info = structs.replace(manifest, grading=grading, metrics=self._grader.metrics)
        self._columns = CaseColumns(self.info.metrics, headline=headline_metric(self.info))
        self._tally = Tally(self.info.metrics)
        self._lock = Lock()
        self._summary: tuple[int, Summary] | None = None  # and the number of rows that it is of
        self._read_bytes = 0  # of the file of predictions
        self._caught_up = False
        self._superseded = superseded_errors(self.folder)
        self._next_cases = self._read_cases()
        self._cases_ahead: dict[str, tuple[int, Case]] = {}
        self._graded_trials: dict[str, set[int]] = {}  # by case
        self._prediction_offsets = array("q")
        self._source_rows = array("q")

    def close(self) -> None:
        """Do nothing: no thread reads this run."""

    def run_data(self) -> dict[str, Any]:
        """Return the run as far as it has been graded."""
        self._catch_up()
        summary = self.summary(catch_up=False)
        with self._lock:
            found = run_data(
                self.name, self.info, summary, names=self._columns.names(), trials=self._columns.trials,
                ready=self._caught_up, problem=self._problem,
            )  # fmt: skip
            rows = len(self._columns)
        status = "running" if self.info.status == "complete" else self.info.status  # complete, but not graded yet
        return {**found, "status": status, "predictions": rows, "cases": len(self._graded_trials)}

    def summary(self, *, catch_up: bool = True) -> Summary:
        """Return the summary of what has been graded, which is computed again only if there is more."""
        if catch_up:
            self._catch_up()
        with self._lock:
            rows = len(self._columns)
            if self._summary is None or self._summary[0] != rows:
                self._summary = rows, self._tally.summary()
            return self._summary[1]

    @property
    def _problem(self) -> str:
        """What cannot be shown: the cases, or the metrics of evaluators that would have to be imported."""
        names = " and ".join(self._left_out)
        left_out = f"The metrics of {names} appear when the run is graded, because the viewer imports no code." if names else ""
        return " ".join(filter(None, (self._cases.problem, left_out)))

    def rows_data(self, start: int, limit: int) -> dict[str, Any]:
        """Return up to `limit` rows from `start` on, as far as they exist yet."""
        self._catch_up()
        with self._lock:
            total = len(self._columns)
            stop = min(total, start + limit)
            following = stop if stop < total else None
            return {"start": start, "next": following, "total": total, "names": self._columns.names(), **self._columns.chunk(start, stop)}

    def case_data(self, case: str, trial: int) -> dict[str, Any] | None:
        """Return a case in one trial, with its conversation; None if it has no prediction yet."""
        with self._lock:
            row = self._columns.row_of(case, trial)
        prediction = None if row is None else read_prediction_at(self.folder, self._prediction_offsets[row])
        if row is None or prediction is None:
            return None
        found = self._find(prediction.case, self._source_rows[row])
        if found is None:
            return None
        conversation, placed = found
        grade = Grader(self.info.grading).record(placed.case, [prediction])[0]
        messages = prediction.transcript or conversation.messages
        return {
            **case_data(self.name, grade, placed.case, prediction),
            "conversation": grade.conversation,
            "prompt_length": None if prediction.transcript else placed.prompt_length,
            "prompt_tail": [message_data(message) for message in (() if prediction.transcript else placed.prompt_tail)],
            "messages": [message_data(message) for message in messages],
        }

    @property
    def digest(self) -> str:
        """The digest of the dataset; empty if it is not known yet."""
        return self.info.dataset.digest

    def case_id(self, case: str, trial: int) -> str | None:
        """Return the id of a case, given its id on the page; None if it has no prediction yet."""
        with self._lock:
            row = self._columns.row_of(case, trial)
        prediction = None if row is None else read_prediction_at(self.folder, self._prediction_offsets[row])
        return prediction.case if prediction else None

    def original_case(self, case: str, trial: int) -> Case | None:
        """Return None: expectations are corrected once the run is graded."""
        return None

    def _find(self, case: str, source_row: int) -> tuple[CaseConversation, CaseInConversation] | None:
        conversation = case.rpartition(":")[0] if self.info.dataset.expanded else None
        return self._cases.find(case, conversation, source_row)

    def _catch_up(self) -> None:
        """Grade new predictions for as long as a request may wait."""
        deadline = time.monotonic() + _GRADING_TIME
        with self._lock:
            self._caught_up = bool(self._cases.problem)
            if self._caught_up or not self.folder.has(PREDICTIONS):
                self._caught_up = True
                return
            with self.folder.open(PREDICTIONS) as lines:
                lines.seek(self._read_bytes)
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    offset, self._read_bytes = self._read_bytes, self._read_bytes + len(line)
                    self._grade_line(line, offset)
                    if time.monotonic() > deadline:
                        return
            self._caught_up = True

    def _grade_line(self, line: bytes, offset: int) -> None:
        try:
            prediction = read_prediction(line, whole=True).prediction
        except BadInput:
            return
        is_superseded = bool(prediction.error) and (prediction.case, prediction.trial) in self._superseded
        if is_superseded or prediction.trial in self._graded_trials.get(prediction.case, ()):
            return
        found = self._find_case(prediction.case)
        if found is None:
            return
        source_row, case = found
        grade = self._grader.record(case, [prediction])[0]
        self._tally.add(grade)
        self._columns.add(grade, prediction.calls)
        self._prediction_offsets.append(offset)
        self._source_rows.append(source_row)
        self._count_trial(prediction)

    def _count_trial(self, prediction: Prediction) -> None:
        trials = self._graded_trials.setdefault(prediction.case, set())
        trials.add(prediction.trial)
        if len(trials) >= (self.info.model_run.trials if self.info.model_run else 1):
            self._cases_ahead.pop(prediction.case, None)

    def _find_case(self, name: str) -> tuple[int, Case] | None:
        while name not in self._cases_ahead:
            found = next(self._next_cases, None)
            if found is None:
                return None
            if len(self._cases_ahead) >= _MAX_CASES_AHEAD:
                self._cases_ahead.pop(next(iter(self._cases_ahead)))
            self._cases_ahead[found[1].id] = found
        return self._cases_ahead[name]

    def _read_cases(self) -> Iterator[tuple[int, Case]]:
        """Yield the cases, each with a lower bound of its row in the dataset."""
        if not self.info.dataset.expanded:
            yield from ((index, placed.case) for index, placed in enumerate(self._cases.cases()))
            return
        row, last = -1, None
        for placed in self._cases.cases():
            row += placed.conversation is not last
            last = placed.conversation
            yield row, placed.case
