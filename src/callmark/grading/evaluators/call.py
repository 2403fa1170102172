"""Evaluator `call`: is the next tool call correct? One score per decision point (docs/reference/metrics.md, section 6)."""

from typing import ClassVar

from msgspec import Struct

from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Dependency, FaultRule, Metric, Result

SAME_ARGUMENTS, OTHER_ARGUMENTS = 1.0, 0.5


class CallEvaluator(Struct, frozen=True):
    """Soft F1 over the best one-to-one pairing of expected and actual calls. `pass` is 1 if the score reaches the threshold.

    The score is 1.0 if no call is expected and none is made, and 0.0 if only one side is empty. Malformed calls are never paired.
    `arguments` is the mean agreement of the pairs' arguments, which ranks the predictions that score 0.5; not applicable without a pair. A
    threshold outside 0 to 1 raises `BadInput`.
    """

    threshold: float = 1.0

    name: ClassVar[str] = "call"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("score", "call score", headline=True),
        Metric("pass", "pass", kind="rate", headline=True),
        Metric("arguments", "argument agreement"),
    )
    depends_on: ClassVar[tuple[Dependency, ...]] = ("agreement",)
    counts_faults: ClassVar[FaultRule] = "exact"

    def __post_init__(self) -> None:
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int | float):
            raise BadInput(f"threshold: expected a number, got {self.threshold!r}")
        if not 0 <= self.threshold <= 1:
            raise BadInput(f"threshold: expected a number from 0 to 1, got {self.threshold:g}")

    def evaluate(self, attempt: Attempt) -> Result:
        pairs = attempt.pair().pairs
        credit = agreement = 0.0
        for pair in pairs:
            arguments = pair.arguments
            if arguments.agree == arguments.named:
                credit += SAME_ARGUMENTS
                agreement += 1.0
            else:
                credit += OTHER_ARGUMENTS
                agreement += arguments.agree / arguments.named
        calls = len(attempt.expected) + len(attempt.actual)
        score = 1.0 if 2 * credit == calls else round(2 * credit / calls, 6)
        passes = 1.0 if score >= self.threshold else 0.0
        return Result({"score": score, "pass": passes, "arguments": agreement / len(pairs) if pairs else None})

    @staticmethod
    def score(attempt: Attempt) -> float:
        """Return `call.score`."""
        return CallEvaluator().evaluate(attempt).values["score"] or 0.0
