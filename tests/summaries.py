"""Summaries and comparisons of grades, with the metrics of all built-in evaluators."""

from collections.abc import Iterable

from callmark.analysis.compare import Comparison, compare_all
from callmark.analysis.summary import Summary, Tally
from callmark.grading.evaluator_set import EvaluatorSet
from callmark.grading.evaluators.policy import PolicyEvaluator
from callmark.grading.record import GradeRecord
from callmark.grading.settings import DEFAULT_EVALUATORS, RECORDING_EVALUATORS, GradingSettings, build_evaluators

_EVALUATORS = tuple(dict.fromkeys((*DEFAULT_EVALUATORS, *RECORDING_EVALUATORS)))
METRICS = EvaluatorSet([*build_evaluators(GradingSettings(_EVALUATORS)).evaluators, PolicyEvaluator()]).metrics


def summarize(grades: Iterable[GradeRecord]) -> Summary:
    """Return the summary of these grades, in detail."""
    tally = Tally(METRICS, detailed=True)
    for grade in grades:
        tally.add(grade)
    return tally.summary()


def compare(first: Iterable[GradeRecord], second: Iterable[GradeRecord], *, headline: str = "call.score") -> Comparison:
    """Return the comparison of the second run with the first."""
    runs = [("the first run", first), ("the second run", second)]
    ((_, comparison),) = compare_all(runs, headline=headline)
    return comparison
