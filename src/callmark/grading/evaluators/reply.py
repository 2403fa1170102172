"""Evaluator `reply`: what did the agent say? (docs/reference/metrics.md, section 22)

    reply.pass    1 if all checks hold, else 0
    reply.score   checks that pass / checks

The checks are those of the case (`expected_output.reply`) and those for all cases (`[reply]` in `callmark.toml`), which a case replaces one
by one. The text is that of the prediction, or of every assistant message of a conversation together. Not applicable without a check, and if
only calls are known. The reason lists each check that fails.
"""

from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr

from callmark.calls.reply_checks import count_checks, failed_checks, join_checks, read_reply_checks
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Metric, Result
from callmark.types import Prediction, ReplyChecks


class ReplyEvaluator(Struct, frozen=True):
    """The share of the checks that pass. `checks` are those for all cases, as a table; invalid ones raise `BadInput`."""

    checks: Any = None

    name: ClassVar[str] = "reply"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("pass", "reply pass", kind="rate", headline=True),
        Metric("score", "reply checks passed"),
    )
    not_applicable: ClassVar[str] = "these cases have no reply checks (expected_output.reply)"
    added_by: ClassVar[tuple[str, ...]] = ("checks",)

    def __post_init__(self) -> None:
        if not isinstance(self.checks, ReplyChecks):
            force_setattr(self, "checks", read_reply_checks(self.checks, "checks"))

    def evaluate(self, attempt: Attempt) -> Result:
        checks = join_checks(self.checks, attempt.case.reply if attempt.case is not None else None)
        if checks is None or attempt.prediction is None:
            return Result({"pass": None, "score": None})
        failed = failed_checks(reply_text(attempt.prediction), checks)
        reasons = {"pass": "; ".join(f"{name}: {reason}" for name, reason in failed.items())} if failed else {}
        return Result({"pass": float(not failed), "score": 1 - len(failed) / count_checks(checks)}, reasons)


def reply_text(prediction: Prediction) -> str:
    """Return the text of a prediction; of a conversation, the texts of all assistant messages, each on lines of its own."""
    if not prediction.transcript:
        return prediction.text
    return "\n".join(message.text for message in prediction.transcript if message.role == "assistant" and message.text)
