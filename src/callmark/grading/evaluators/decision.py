"""Evaluator `decision`: was it right to make a call, or to make none? (docs/reference/metrics.md, section 20)

    decision.correct        a call was made if and only if calls are expected; a malformed call is a call
    decision.over_calling   a call was made; only of cases that expect none
    decision.under_calling  no call was made; only of cases that expect calls
    decision.hallucinated   share of the calls that were made where none is expected with a hallucinated value; only of those cases, and
                            only if the conversation is known
    decision.behavior       the reply asks, answers or declines as the case states (heuristic); only of cases that state it

The category, for the matrix, is `call` or `no_call`.
"""

from typing import ClassVar

from msgspec import Struct

from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Metric, Result
from callmark.grading.reply_behavior import reply_behavior


class DecisionEvaluator(Struct, frozen=True):
    """Whether to call a tool; and where a case states it, whether to ask, answer or decline."""

    name: ClassVar[str] = "decision"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("correct", "correct decision", kind="rate", headline=True),
        Metric("over_calling", "over-calling", kind="rate", higher_is_better=False),
        Metric("under_calling", "under-calling", kind="rate", higher_is_better=False),
        Metric("hallucinated", "wrong calls with a hallucinated value", higher_is_better=False),
        Metric("behavior", "behavior", kind="rate", heuristic=True),
    )

    def evaluate(self, attempt: Attempt) -> Result:
        expected, actual = bool(attempt.expected), bool(attempt.actual)
        hallucinated = _hallucinated_calls(attempt) if actual and not expected and attempt.messages else None
        behavior, reasons = _behavior(attempt)
        values: dict[str, float | None] = {
            "correct": float(expected == actual),
            "over_calling": None if expected else float(actual),
            "under_calling": float(not actual) if expected else None,
            "hallucinated": None if hallucinated is None else hallucinated / len(attempt.actual),
            "behavior": behavior,
        }
        pooled: dict[str, tuple[float, float]] = (
            {} if hallucinated is None else {"hallucinated": (float(hallucinated), float(len(attempt.actual)))}
        )
        return Result(values, reasons, pooled=pooled, category=(_category(expected), _category(actual)))


def _category(calls: bool) -> str:
    return "call" if calls else "no_call"


def _hallucinated_calls(attempt: Attempt) -> int:
    """Return how many actual calls have a value that does not appear earlier in the conversation."""
    return sum(
        any(attempt.find_source(value, index) is None for _, value in attempt.values_needing_source(call))
        for index, call in enumerate(attempt.actual)
    )


def _behavior(attempt: Attempt) -> tuple[float | None, dict[str, str]]:
    """Return whether the reply does what the case states, and the reason, which is marked as heuristic; None if it states nothing."""
    stated = attempt.case.behavior if attempt.case is not None else ""
    if not stated:
        return None, {}
    found = "call" if attempt.actual else reply_behavior(attempt.prediction.text if attempt.prediction is not None else "")
    return float(found == stated), {"behavior": f"expected {stated}, got {found} (heuristic)"}
