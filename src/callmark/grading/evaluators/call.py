"""Evaluator `call`: is the next call right? One score for one decision point (docs/metrics.md, section 6)."""

from typing import ClassVar

from msgspec import Struct

from callmark.grading.attempt import Attempt
from callmark.types import Metrics

SAME_ARGUMENTS, OTHER_ARGUMENTS = 1.0, 0.5


class CallEvaluator(Struct, frozen=True):
    """Soft F1 over the best pairing; `pass` is a score of at least the threshold.

    Nothing expected and nothing made is 1.0; only one side empty is 0.0. A malformed call pairs with nothing.
    """

    name: ClassVar[str] = "call"
    metrics: ClassVar[tuple[str, ...]] = ("score", "pass")
    threshold: float = 1.0

    def __call__(self, attempt: Attempt) -> Metrics:
        calls = len(attempt.expected) + len(attempt.actual)
        credit = 0.0
        for one in attempt.pairing.pairs:
            arguments = one.arguments
            credit += SAME_ARGUMENTS if arguments.agree == arguments.named else OTHER_ARGUMENTS
        value = 1.0 if 2 * credit == calls else round(2 * credit / calls, 6)
        return {"score": value, "pass": 1.0 if value >= self.threshold else 0.0}
