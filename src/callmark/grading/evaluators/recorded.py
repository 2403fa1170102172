"""Evaluator `recorded`: the reward recorded with a conversation, unchanged. Not applicable without one."""

from typing import ClassVar

from msgspec import Struct

from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Metric, Result


class RecordedEvaluator(Struct, frozen=True):
    """The reward of the prediction."""

    name: ClassVar[str] = "recorded"
    metrics: ClassVar[tuple[Metric, ...]] = (Metric("reward", "reward", bounds=None),)
    not_applicable: ClassVar[str] = "these cases have no recorded reward"

    def evaluate(self, attempt: Attempt) -> Result:
        return Result({"reward": attempt.prediction.reward if attempt.prediction is not None else None})
