"""Evaluator `recorded`: what somebody else's judge gave a conversation that was recorded, passed on as it is.

`recorded.reward` is the number that stood beside the conversation; no number where there was none.
"""

from typing import ClassVar

from msgspec import Struct

from callmark.grading.attempt import Attempt
from callmark.types import Metrics


class RecordedEvaluator(Struct, frozen=True):
    name: ClassVar[str] = "recorded"
    metrics: ClassVar[tuple[str, ...]] = ("reward",)

    def __call__(self, attempt: Attempt) -> Metrics:
        prediction = attempt.prediction
        return {} if prediction is None or prediction.reward is None else {"reward": prediction.reward}
