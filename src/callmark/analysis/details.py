"""The details of a run: breakdowns, confusion matrix, functions and arguments, the distribution of scores, and interpretations.

They take about as long as reading the grades, so they are computed only on request. Without grades the tables are empty.
"""

from collections.abc import Mapping

from msgspec import Struct

from callmark.analysis.breakdowns import Breakdowns, BreakdownTally, Distribution, ScoreTally
from callmark.analysis.confusion import Confusion, ConfusionTally
from callmark.analysis.disagreements import Disagreement, DisagreementTally
from callmark.analysis.functions import FunctionTable, FunctionTally
from callmark.analysis.interpretations import Interpretation, Score, interpret
from callmark.analysis.reasons import MetricReasons, ReasonTally
from callmark.analysis.trials import TrialSummary, TrialTally
from callmark.grading.evaluator import Metric
from callmark.grading.record import GradeRecord


class Details(Struct, frozen=True):
    """Tables over the scored cases; errors are excluded.

    `trials` is None if no case has two trials and no group has two cases; `recorded_trials` is the same by the recorded reward.
    """

    breakdowns: Breakdowns
    score_distribution: Distribution | None
    confusion: Confusion
    functions: FunctionTable
    interpretations: list[Interpretation]
    trials: TrialSummary | None = None
    recorded_trials: TrialSummary | None = None
    reasons: dict[str, MetricReasons] = {}
    disagreements: list[Disagreement] = []


class DetailTally:
    """Counts grades one by one, errors too.

    With `process_ignore`, the functions that `process` ignores, calls are counted as `process` does, and a case passes by
    `process.reliability`; otherwise by `call.pass`.
    """

    def __init__(self, metrics: Mapping[str, Metric], *, process_ignore: tuple[str, ...] | None = None) -> None:
        self._breakdowns = BreakdownTally()
        self._scores = ScoreTally()
        self._confusion = ConfusionTally(process_ignore=process_ignore)
        self._functions = FunctionTally(process_ignore=process_ignore)
        self._trials = TrialTally("call.pass" if process_ignore is None else "process.reliability")
        self._recorded_trials = TrialTally("recorded.reward")
        self._reasons = ReasonTally()
        self._disagreements = DisagreementTally(metrics)

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; of an error, only that its trial has no result."""
        self._trials.add(grade)
        self._recorded_trials.add(grade)
        if grade.error:
            return
        self._breakdowns.add(grade)
        self._scores.add(grade)
        self._confusion.add(grade)
        self._functions.add(grade)
        self._reasons.add(grade)
        self._disagreements.add(grade)

    def details(self, scores: Mapping[str, Score], metrics: Mapping[str, Metric], *, scored: int, malformed: int) -> Details:
        """Return the details so far. The scores, metric definitions and counts are for the interpretations."""
        breakdowns, table = self._breakdowns.breakdowns(), self._functions.table()
        interpretations = interpret(
            scores,
            metrics,
            scenario_types=breakdowns.by_scenario_type,
            functions=table,
            scored=scored,
            malformed=malformed,
        )
        trials, recorded_trials = (
            summary if summary.trial_consistency.n or summary.group_consistency.n else None
            for summary in (self._trials.trials(), self._recorded_trials.trials())
        )
        return Details(
            breakdowns,
            self._scores.distribution(),
            self._confusion.confusion(),
            table,
            interpretations,
            trials,
            recorded_trials,
            self._reasons.reasons(),
            self._disagreements.disagreements(),
        )
