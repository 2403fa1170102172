"""The quality filter of synthetic conversations: which are accepted, and why others are rejected. Pure.

A conversation is accepted when lint finds nothing in its row (every value is grounded), it changed what was planned and nothing else, broke
no rule of the policy, transferred exactly if that was planned, came to a proper end, and is no near-duplicate of an accepted one. Where the
plan changes nothing, the planned calls must be there; where the end state is unknown, the planned calls with their arguments and no others.
A plan that the tools refuse is rejected. A conversation that ended in an error never gets here.
"""

from collections.abc import Iterable

from msgspec import Struct

from callmark.data.lint import CODES, lint_row
from callmark.data.near_duplicates import NearDuplicateIndex, sketch
from callmark.grading.record import GradeRecord
from callmark.simulation.endings import COMPLETED, GOODBYE, TRANSFER, is_transfer
from callmark.simulation.states import is_refused
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
    END_STATE: "something else was changed than was planned",
    CALLS: "other calls than were planned, where the end state does not tell",
    REFUSED: "the tools refuse what was planned",
    POLICY: "a rule of the policy was broken",
    ENDING: "it did not come to a proper end",
    TRANSFERRED: "handed over though that was not planned, or the other way round",
    NOT_RECORDED: "a call that no result was recorded for",
    NEAR_DUPLICATE: "nearly the same as one that was kept before",
}


class RejectionReason(Struct, frozen=True):
    """Why a conversation is rejected: a code of `REASONS`, and a sentence about this conversation."""

    code: str
    sentence: str


class SimulatedConversation(Struct, frozen=True):
    """A conversation to judge: its plan, its prediction, the grade of that, and the dataset row that it would become."""

    plan: Case
    prediction: Prediction
    grade: GradeRecord
    row: Conversation

    @property
    def judged_by_calls(self) -> bool:
        """Return whether the end state of the plan is unknown, so that the calls decide."""
        return "state.reached" not in self.grade.metrics

    @property
    def changes_nothing(self) -> bool:
        """Return whether the plan leaves all data as they are, so that an agent which does nothing reaches its end state too."""
        return self.prediction.states is not None and not self.prediction.states.expected


class RejectedConversation(Struct, frozen=True):
    """A rejected conversation with its reasons, at most one per code."""

    conversation: SimulatedConversation
    reasons: tuple[RejectionReason, ...]


class QualityFilter:
    """Takes conversations in the order of their plans until `number` are accepted, and ignores the rest.

    So the same plans give the same rows, however many conversations ran at a time.
    """

    def __init__(self, number: int) -> None:
        self.number = number
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
        """Judge conversations one after the other."""
        for conversation in conversations:
            if not self.missing:
                return
            reasons = rejection_reasons(conversation) or self._near_duplicate_reasons(conversation)
            if reasons:
                self.rejected.append(RejectedConversation(conversation, tuple(reasons)))
            else:
                self.accepted.append(conversation)

    def _near_duplicate_reasons(self, conversation: SimulatedConversation) -> list[RejectionReason]:
        """Compare with the accepted conversations only, and remember this one where it is new."""
        signature = sketch(conversation.row)
        found = self._near_duplicates.find(signature)
        if found is None:
            self._near_duplicates.add(signature)
            return []
        return [RejectionReason(NEAR_DUPLICATE, f"{found.similarity:.0%} of it is the same as {self.accepted[found.index].plan.id}")]


def rejection_reasons(conversation: SimulatedConversation) -> list[RejectionReason]:
    """Return every reason to reject a conversation by itself, each code once; empty where there is none."""
    found: dict[str, RejectionReason] = {}
    for reason in _reasons(conversation):
        found.setdefault(reason.code, reason)
    return list(found.values())


def _reasons(conversation: SimulatedConversation) -> Iterable[RejectionReason]:
    grade, prediction = conversation.grade, conversation.prediction
    for finding in lint_row(conversation.row):
        yield RejectionReason(finding.code, finding.sentence)
    if is_refused(prediction.states):
        yield RejectionReason(REFUSED, prediction.states.unknown if prediction.states else "")
    elif conversation.judged_by_calls:
        if grade.metrics.get("process.reliability") != 1:
            yield RejectionReason(CALLS, f"planned: {_names(grade.expected)}; called: {_names(grade.actual)}")
    elif grade.metrics["state.reached"] != 1:
        difference = next((note.sentence for note in grade.notes if note.kind == "state_difference"), "the end state is another one")
        yield RejectionReason(END_STATE, difference)
    elif conversation.changes_nothing and min(grade.metrics.get(f"process.{name}", 1) for name in ("recall", "args_recall")) != 1:
        yield RejectionReason(CALLS, f"planned: {_names(grade.expected)}; called: {_names(grade.actual)}")
    for note in grade.notes:
        if note.kind == "policy_violation":
            yield RejectionReason(POLICY, note.sentence)
    if prediction.misses:
        yield RejectionReason(NOT_RECORDED, f"for {prediction.misses:,} of {len(prediction.calls):,} calls no result was recorded")
    if prediction.ending not in FINISHED:
        yield RejectionReason(ENDING, f"it ended with {prediction.ending or 'nothing that is known'}")
    planned, transferred = _has_transfer(conversation.plan.expected), _has_transfer(prediction.calls)
    if planned != transferred:
        yield RejectionReason(
            TRANSFERRED, "it was handed over, which was not planned" if transferred else "it was not handed over, which was planned"
        )


def _has_transfer(calls: Iterable[Call]) -> bool:
    return any(is_transfer(call.name) for call in calls)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
