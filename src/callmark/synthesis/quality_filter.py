"""The quality filter for synthetic conversations: which are accepted, and why others are rejected. Pure.

A conversation is accepted if lint finds nothing in its row (every value is grounded), it reached the planned end state, broke no policy
rule, transferred exactly if planned, finished, and is not a near-duplicate of an accepted conversation. If the plan changes nothing, all
planned calls are required; if the end state is unknown, all planned calls with their arguments and no others. A call that returns an error
is accepted only if that is planned. Conversations that ended in an error are excluded before.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from callmark.data.lint import CODES, lint_row
from callmark.data.near_duplicates import NearDuplicateIndex, sketch
from callmark.grading.record import GradeRecord
from callmark.simulation.endings import COMPLETED, GOODBYE, TRANSFER, is_transfer
from callmark.simulation.states import is_unreachable
from callmark.synthesis.api_goals import failed_calls
from callmark.types import Call, Case, Conversation, Prediction

FINISHED = (COMPLETED, GOODBYE, TRANSFER)
END_STATE, CALLS, REFUSED, POLICY, ENDING, TRANSFERRED, NOT_RECORDED, NEAR_DUPLICATE = (
    "end_state",
    "calls",
    "refused",
    "policy",
    "ending",
    "transfer",
    "not_recorded",
    "near_duplicate",
)
REASONS: dict[str, str] = {
    **{code: sentence for code, (_, sentence) in CODES.items()},
    END_STATE: "the end state differs from the plan",
    CALLS: "the calls differ from the plan, and the end state is inconclusive",
    REFUSED: "a planned call returns an error",
    POLICY: "a call violates a policy rule",
    ENDING: "the conversation did not finish",
    TRANSFERRED: "an unplanned transfer, or a planned one that is missing",
    NOT_RECORDED: "a call has no recorded result",
    NEAR_DUPLICATE: "a near-duplicate of an accepted conversation",
}


class RejectionReason(Struct, frozen=True):
    """Why a conversation is rejected: a code of `REASONS`, and a sentence about this conversation."""

    code: str
    sentence: str


class SimulatedConversation(Struct, frozen=True):
    """A conversation to judge: its plan, its prediction, its grade, and the dataset row it would become."""

    plan: Case
    prediction: Prediction
    grade: GradeRecord
    row: Conversation

    @property
    def judged_by_calls(self) -> bool:
        """Return whether the calls decide, because the end state of the plan is unknown."""
        return "state.reached" not in self.grade.metrics

    @property
    def changes_nothing(self) -> bool:
        """Return whether the plan changes no data, so that an agent that does nothing reaches the end state too."""
        return self.prediction.states is not None and not self.prediction.states.expected


class RejectedConversation(Struct, frozen=True):
    """A rejected conversation with its reasons, at most one per code."""

    conversation: SimulatedConversation
    reasons: tuple[RejectionReason, ...]


class QualityFilter:
    """Takes conversations in the order of their plans until `number` are accepted, and ignores the rest.

    Therefore the same plans give the same rows at any concurrency. `ignore` are patterns of arguments that need no source.
    """

    def __init__(self, number: int, *, ignore: Sequence[str] = ()) -> None:
        self.number = number
        self._ignore = ignore
        self._near_duplicates = NearDuplicateIndex()
        self.accepted: list[SimulatedConversation] = []
        self.rejected: list[RejectedConversation] = []

    @property
    def missing(self) -> int:
        """Return how many conversations are still needed."""
        return self.number - len(self.accepted)

    @property
    def judged(self) -> int:
        """Return how many conversations were accepted or rejected."""
        return len(self.accepted) + len(self.rejected)

    def add(self, conversations: Iterable[SimulatedConversation]) -> None:
        """Judge conversations in order."""
        for conversation in conversations:
            if not self.missing:
                return
            reasons = rejection_reasons(conversation, ignore=self._ignore) or self._near_duplicate_reasons(conversation)
            if reasons:
                self.rejected.append(RejectedConversation(conversation, tuple(reasons)))
            else:
                self.accepted.append(conversation)

    def _near_duplicate_reasons(self, conversation: SimulatedConversation) -> list[RejectionReason]:
        """Compare with the accepted conversations, and add this one to the index if it is new."""
        signature = sketch(conversation.row)
        found = self._near_duplicates.find(signature)
        if found is None:
            self._near_duplicates.add(signature)
            return []
        return [RejectionReason(NEAR_DUPLICATE, f"{found.similarity:.0%} similar to {self.accepted[found.index].plan.id}")]


def rejection_reasons(conversation: SimulatedConversation, *, ignore: Sequence[str] = ()) -> list[RejectionReason]:
    """Return all reasons to reject a conversation, without near-duplicates and each code once; empty if there are none."""
    found: dict[str, RejectionReason] = {}
    for reason in _reasons(conversation, ignore):
        found.setdefault(reason.code, reason)
    return list(found.values())


def _reasons(conversation: SimulatedConversation, ignore: Sequence[str]) -> Iterable[RejectionReason]:
    grade, prediction = conversation.grade, conversation.prediction
    for finding in lint_row(conversation.row, ignore=ignore):
        yield RejectionReason(finding.code, finding.sentence)
    fails_by_plan = bool(failed_calls(conversation.plan.data.get("plan")))
    if is_unreachable(prediction.states) and not fails_by_plan:
        yield RejectionReason(REFUSED, prediction.states.unknown if prediction.states else "")
    elif conversation.judged_by_calls or fails_by_plan:
        if grade.metrics.get("process.reliability") != 1:
            yield RejectionReason(CALLS, f"planned: {_names(grade.expected)}; called: {_names(grade.actual)}")
    elif grade.metrics["state.reached"] != 1:
        difference = next((note.sentence for note in grade.notes if note.kind == "state_difference"), "the end state differs from the plan")
        yield RejectionReason(END_STATE, difference)
    elif conversation.changes_nothing and min(grade.metrics.get(f"process.{name}", 1) for name in ("recall", "args_recall")) != 1:
        yield RejectionReason(CALLS, f"planned: {_names(grade.expected)}; called: {_names(grade.actual)}")
    for note in grade.notes:
        if note.kind == "policy_violation":
            yield RejectionReason(POLICY, note.sentence)
    if prediction.misses:
        yield RejectionReason(NOT_RECORDED, f"{prediction.misses:,} of {len(prediction.calls):,} calls have no recorded result")
    if prediction.ending not in FINISHED:
        yield RejectionReason(ENDING, f"it ended with: {prediction.ending or 'unknown'}")
    planned, transferred = _has_transfer(conversation.plan.expected), _has_transfer(prediction.calls)
    if planned != transferred:
        yield RejectionReason(TRANSFERRED, "a transfer that was not planned" if transferred else "the planned transfer is missing")


def _has_transfer(calls: Iterable[Call]) -> bool:
    return any(is_transfer(call.name) for call in calls)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
