"""What is kept of the conversations that were held, and why the others are not. Values in, values out.

A conversation is kept when lint finds nothing in its row (a hallucinated value is a finding: every value is grounded), it changed what was
planned and nothing else, it broke no rule of the policy, handed over exactly if that was planned, came to a proper end, and is no near
copy of one that was kept before. Where nothing was to be changed, the planned calls have to be there; where it is not known what a plan
leads to, those with their arguments and no other. A plan that the tools refuse leads to nothing that could be kept. An error is no
rejection: the conversation was not held.
"""

from collections.abc import Iterable

from msgspec import Struct

from callmark.data.lint import CODES, row_findings
from callmark.data.near import NearCopies, sketch
from callmark.grading.grader import GradeRecord
from callmark.simulation.endings import COMPLETED, GOODBYE, TRANSFER, hands_over
from callmark.simulation.states import is_refused
from callmark.types import Call, Case, Conversation, Prediction

FINISHED = (COMPLETED, GOODBYE, TRANSFER)
END_STATE, CALLS, REFUSED, POLICY, ENDING, HANDED_OVER, NOT_RECORDED, NEAR_COPY = (
    "end_state",
    "calls",
    "refused",
    "policy",
    "ending",
    "transfer",
    "not_recorded",
    "near_copy",
)
REASONS: dict[str, str] = {
    **{code: sentence for code, (_, sentence) in CODES.items()},
    END_STATE: "something else was changed than was planned",
    CALLS: "other calls than were planned, where the end state does not tell",
    REFUSED: "the tools refuse what was planned",
    POLICY: "a rule of the policy was broken",
    ENDING: "it did not come to a proper end",
    HANDED_OVER: "handed over though that was not planned, or the other way round",
    NOT_RECORDED: "a call that no result was recorded for",
    NEAR_COPY: "nearly the same as one that was kept before",
}


class Reason(Struct, frozen=True):
    """Why a conversation is not kept: one of `REASONS`, and what it was in this one."""

    code: str
    sentence: str


class Held(Struct, frozen=True):
    """A conversation that was held: its plan, how it went, its grade, and the row that it would be."""

    plan: Case
    prediction: Prediction
    grade: GradeRecord
    row: Conversation

    @property
    def by_calls(self) -> bool:
        """Whether it is not known what the plan leads to, so that its calls decide."""
        return "state.reached" not in self.grade.metrics

    @property
    def changes_nothing(self) -> bool:
        """Whether the plan is to leave everything as it is, which whoever does nothing does too."""
        return self.prediction.states is not None and not self.prediction.states.expected


class Rejected(Struct, frozen=True):
    """A conversation that is not kept, with every reason, one of a kind."""

    held: Held
    reasons: tuple[Reason, ...]


class QualityFilter:
    """Takes conversations in the order of their plans until `number` of them are kept; what comes after is left alone, so that the same
    plans give the same rows, however many were held at a time.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._copies = NearCopies()
        self.kept: list[Held] = []
        self.rejected: list[Rejected] = []

    @property
    def missing(self) -> int:
        """How many more are to be kept."""
        return self.number - len(self.kept)

    @property
    def judged(self) -> int:
        return len(self.kept) + len(self.rejected)

    def take(self, held: Iterable[Held]) -> None:
        """Judge these, one after the other."""
        for one in held:
            if not self.missing:
                return
            reasons = reasons_against(one) or self._copied(one)
            if reasons:
                self.rejected.append(Rejected(one, tuple(reasons)))
            else:
                self.kept.append(one)

    def _copied(self, held: Held) -> list[Reason]:
        """Of what nothing else speaks against: whether it was kept before. What is rejected is not compared with."""
        drawn = sketch(held.row)
        found = self._copies.find(drawn)
        if found is None:
            self._copies.add(drawn)
            return []
        return [Reason(NEAR_COPY, f"{found.alike:.0%} of it is the same as {self.kept[found.index].plan.id}")]


def reasons_against(held: Held) -> list[Reason]:
    """Everything that speaks against one conversation by itself, each kind of reason once."""
    found: dict[str, Reason] = {}
    for reason in _reasons(held):
        found.setdefault(reason.code, reason)
    return list(found.values())


def _reasons(held: Held) -> Iterable[Reason]:
    grade, prediction = held.grade, held.prediction
    for finding in row_findings(held.row):
        yield Reason(finding.code, finding.sentence)
    if is_refused(prediction.states):
        yield Reason(REFUSED, prediction.states.unknown if prediction.states else "")
    elif held.by_calls:
        if grade.metrics.get("process.reliability") != 1:
            yield Reason(CALLS, f"planned: {_names(grade.expected)}; called: {_names(grade.made)}")
    elif grade.metrics["state.reached"] != 1:
        told = next((note.sentence for note in grade.notes if note.kind == "state_difference"), "the end state is another one")
        yield Reason(END_STATE, told)
    elif held.changes_nothing and min(grade.metrics.get(f"process.{name}", 1) for name in ("recall", "args_recall")) != 1:
        yield Reason(CALLS, f"planned: {_names(grade.expected)}; called: {_names(grade.made)}")
    for note in grade.notes:
        if note.kind == "policy_violation":
            yield Reason(POLICY, note.sentence)
    if prediction.misses:
        yield Reason(NOT_RECORDED, f"for {prediction.misses:,} of {len(prediction.calls):,} calls no result was recorded")
    if prediction.ending not in FINISHED:
        yield Reason(ENDING, f"it ended with {prediction.ending or 'nothing that is known'}")
    planned, handed = _hands_over(held.plan.expected), _hands_over(prediction.calls)
    if planned != handed:
        yield Reason(HANDED_OVER, "it was handed over, which was not planned" if handed else "it was not handed over, which was planned")


def _hands_over(calls: Iterable[Call]) -> bool:
    return any(hands_over(call.name) for call in calls)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
