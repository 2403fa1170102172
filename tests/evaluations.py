"""What an evaluator returns for an attempt, for tests."""

from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Evaluator
from callmark.types import Metrics


def values(evaluator: Evaluator, attempt: Attempt) -> Metrics:
    """Return the values of the metrics that are applicable."""
    return {name: value for name, value in evaluator.evaluate(attempt).values.items() if value is not None}
