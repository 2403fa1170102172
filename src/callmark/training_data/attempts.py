"""The attempts of runs at each case: its predictions with their grades, over all trials of all runs.

A run whose dataset is missing or has changed raises `BadInput`, and so do two runs that have different cases with the same id.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.matching import match_predictions
from callmark.formats.predictions import Predictions
from callmark.grading.evaluator import Metric
from callmark.grading.record import GradeRecord
from callmark.runs.grade import reopen_cases
from callmark.runs.run import Run
from callmark.runs.store import PREDICTIONS
from callmark.types import Case, Prediction

SCORE = "call.score"


class Attempt(Struct, frozen=True):
    """A prediction and its grade. `score` is `call.score`, or without it the share of verdicts that are 1."""

    prediction: Prediction
    grade: GradeRecord
    score: float

    @property
    def passed(self) -> bool:
        """Whether the attempt is correct."""
        return self.score >= 1


class AttemptedCase(Struct, frozen=True):
    """A case and the attempts at it that were scored; errors are not among them."""

    case: Case
    attempts: tuple[Attempt, ...]

    @property
    def worst(self) -> Attempt | None:
        """The failed attempt with the lowest score, the first of several; None if none failed."""
        failed = [attempt for attempt in self.attempts if not attempt.passed]
        return min(failed, key=lambda attempt: (attempt.score, attempt.grade.metrics.get("call.arguments", 0.0))) if failed else None

    @property
    def best(self) -> Attempt | None:
        """The first correct attempt; None if there is none."""
        return next((attempt for attempt in self.attempts if attempt.passed), None)

    @property
    def flipped(self) -> bool:
        """Whether some attempts are correct and others are not."""
        return self.worst is not None and self.best is not None


def read_attempts(runs: Sequence[Run]) -> list[AttemptedCase]:
    """Return every case of the runs once, in the order of the first run that has it, with the attempts of all runs."""
    cases: dict[str, Case] = {}
    attempts: dict[str, list[Attempt]] = {}
    for run in runs:
        for case, found in _attempts_of(run):
            known = cases.setdefault(case.id, case)
            if known is not case and (known.messages, known.instructions, known.expected) != (
                case.messages,
                case.instructions,
                case.expected,
            ):
                raise BadInput(
                    f"{run.folder}: case {scrub(case.id)[:80]!r} differs from the case with that ID in {runs[0].folder}",
                    "Export runs on one dataset together, and others separately.",
                )
            attempts.setdefault(case.id, []).extend(found)
    return [AttemptedCase(case, tuple(attempts[name])) for name, case in cases.items()]


def _attempts_of(run: Run) -> Iterable[tuple[Case, list[Attempt]]]:
    verdicts = [name for name, metric in run.info.metrics.items() if metric.kind == "rate"]
    grades = {case: list(found) for case, found in groupby(run.grades(), key=attrgetter("case"))}
    predictions = match_predictions(Predictions(run.folder.inside(PREDICTIONS), regular=True))
    found: list[tuple[Case, list[Attempt]]] = []
    with reopen_cases(run.folder, run.info) as source:
        reader = source.read(digest=True)
        for placed in reader:
            by_trial = {each.trial: each for each in predictions.of_case(placed.case, placed.index) if not each.error}
            scored = [grade for grade in grades.get(placed.case.id, ()) if not grade.error and grade.trial in by_trial]
            found.append((placed.case, [_attempt(by_trial[grade.trial], grade, verdicts, run.info.metrics) for grade in scored]))
        if reader.totals.digest != run.info.dataset.digest:
            raise BadInput(f"{run.folder}: its cases have changed since the run", "Grade its predictions against the new file first.")
    return found


def _attempt(prediction: Prediction, grade: GradeRecord, verdicts: Sequence[str], metrics: dict[str, Metric]) -> Attempt:
    if SCORE in grade.metrics:
        return Attempt(prediction, grade, grade.metrics[SCORE])
    values = [grade.metrics[name] for name in verdicts if name in grade.metrics]
    return Attempt(prediction, grade, sum(values) / len(values) if values else 1.0)
