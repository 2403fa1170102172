"""The quality filter: each rejection reason alone, and near-duplicates."""

from typing import Any

import pytest

from callmark.grading.record import GradeRecord
from callmark.simulation.endings import ENDINGS
from callmark.synthesis.quality_filter import FINISHED, REASONS, QualityFilter, SimulatedConversation, rejection_reasons
from callmark.types import Call, Case, Conversation, EndStates, Message, Note, Prediction, Tool

ADD = Tool("add", "", {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]})
TRANSFER = Tool("transfer_to_human", "", {"type": "object", "properties": {}})


def conversation(
    title: str = "printer",
    *,
    said: str = "",
    metrics: dict[str, float] | None = None,
    ending: str = "completed",
    planned: str = "add",
    called: str = "add",
    notes: tuple[Note, ...] = (),
    misses: int = 0,
    messages: tuple[Message, ...] | None = None,
    number: int = 1,
    states: EndStates | None = None,
) -> SimulatedConversation:
    """Return a conversation that is accepted, except for the given problem."""
    call = Call(called, {"title": title} if called == "add" else {}, "1")
    if messages is None:
        messages = (
            Message("user", said or f"Add a note about the printer, number {number}"),
            Message("assistant", "", (call,)),
            Message("tool", "done", (), "1", called),
            Message("assistant", "It is there."),
        )
    plan = Case(f"p{number}", instructions="…", expected=(Call(planned, {}),))
    prediction = Prediction(plan.id, calls=(call,), transcript=messages, ending=ending, misses=misses, states=states)
    grade = GradeRecord(plan.id, metrics={"process.reliability": 1.0, "state.reached": 1.0} if metrics is None else metrics, notes=notes)
    return SimulatedConversation(plan, prediction, grade, Conversation(plan.id, messages, (ADD, TRANSFER)))


def test_conversation_that_follows_its_plan_has_no_rejection_reason() -> None:
    assert rejection_reasons(conversation()) == []


@pytest.mark.parametrize(
    "given, code, sentence",
    [
        ({"title": "scanner"}, "hallucinated_value", 'add: title="scanner" does not appear earlier in the conversation (hallucinated)'),
        ({"messages": (Message("user", "x"), Message("assistant", " "))}, "empty_assistant", "the assistant message has "),
        ({"metrics": {"state.reached": 0.0}}, "end_state", "the end state differs from the plan"),
        (
            {"metrics": {"state.reached": 0.0}, "notes": (Note("state_difference", "notes: a new row was not made"),)},
            "end_state",
            "notes: a new row was not made",
        ),
        ({"metrics": {"process.reliability": 0.0}}, "calls", "planned: none; called: none"),
        ({"metrics": {}}, "calls", "planned: none; called: none"),
        (
            {"metrics": {"state.reached": 1.0, "process.recall": 0.5}, "states": EndStates()},
            "calls",
            "planned: none; called: none",
        ),
        (
            {"metrics": {"state.reached": 1.0, "process.recall": 1.0, "process.args_recall": 0.9}, "states": EndStates()},
            "calls",
            "planned: none; called: none",
        ),
        ({"metrics": {}, "states": EndStates(unknown="add() returned an error: no")}, "refused", "add() returned an error: no"),
        ({"notes": (Note("policy_violation", "ask-first: ask"),)}, "policy", "ask-first: ask"),
        ({"misses": 1}, "not_recorded", "1 of 1 calls have no recorded result"),
        ({"ending": "turn limit"}, "ending", "it ended with: turn limit"),
        ({"ending": ""}, "ending", "it ended with: unknown"),
        ({"planned": "transfer_to_human"}, "transfer", "the planned transfer is missing"),
        ({"called": "transfer_to_human", "ending": "transfer"}, "transfer", "a transfer that was not planned"),
    ],
    ids=str,
)
def test_each_reason_alone_rejects(given: dict[str, Any], code: str, sentence: str) -> None:
    (reason,) = rejection_reasons(conversation(**given))
    assert (reason.code, reason.sentence[: len(sentence)]) == (code, sentence)
    assert REASONS[code]


@pytest.mark.parametrize("ignore, accepted", [((), 0), (("*.title",), 1), (("add.title",), 1), (("remove.title",), 0)])
def test_ignored_argument_needs_no_source(ignore: tuple[str, ...], accepted: int) -> None:
    quality_filter = QualityFilter(1, ignore=ignore)
    quality_filter.add([conversation(title="scanner")])
    assert len(quality_filter.accepted) == accepted


def test_planned_transfer_is_accepted() -> None:
    assert rejection_reasons(conversation(planned="transfer_to_human", called="transfer_to_human", ending="transfer")) == []


def test_endings_that_count_as_finished() -> None:
    assert (
        [ending for ending in ENDINGS if not rejection_reasons(conversation(ending=ending))]
        == list(FINISHED)
        == ["completed", "goodbye", "transfer"]
    )


def test_calls_decide_if_the_end_state_is_unknown() -> None:
    one = conversation(metrics={"process.reliability": 1.0})
    assert one.judged_by_calls
    assert rejection_reasons(one) == []
    assert not conversation().judged_by_calls


def test_additional_reads_do_not_matter_if_the_end_state_is_known() -> None:
    assert rejection_reasons(conversation(metrics={"process.reliability": 0.0, "state.reached": 1.0})) == []


def test_end_state_decides_if_the_plan_changes_something() -> None:
    metrics = {"state.reached": 1.0, "process.recall": 0.5, "process.args_recall": 0.5}
    assert rejection_reasons(conversation(metrics=metrics, states=EndStates(expected={"notes": {"n1": {}}}))) == []


def test_each_kind_of_reason_is_reported_once() -> None:
    broken = (Note("policy_violation", "a: x"), Note("policy_violation", "b: y"))
    found = rejection_reasons(conversation(title="scanner", metrics={"state.reached": 0.0}, notes=broken, ending="no progress"))
    assert [reason.code for reason in found] == ["hallucinated_value", "end_state", "policy", "ending"]


def test_near_duplicate_of_an_accepted_conversation_is_rejected() -> None:
    text = "Please add a note about the printer on the third floor, which has been out of order since Monday, and tell Ann about it"
    other = "The scanner? No: the printer. Somebody should write down that it makes a noise, and that we would like to have a new one"
    quality_filter = QualityFilter(10)
    said = enumerate([text, text, text, other, f"{other}!"], 1)
    quality_filter.add(
        [conversation(said=words, number=number, ending="turn limit" if number == 1 else "completed") for number, words in said]
    )
    assert [each.plan.id for each in quality_filter.accepted] == ["p2", "p4"]
    assert [(each.conversation.plan.id, [reason.code for reason in each.reasons]) for each in quality_filter.rejected] == [
        ("p1", ["ending"]),
        ("p3", ["near_duplicate"]),
        ("p5", ["near_duplicate"]),
    ]
    assert [each.reasons[0].sentence for each in quality_filter.rejected[1:]] == ["100% similar to p2", "100% similar to p4"]


def test_conversations_beyond_the_requested_number_are_ignored() -> None:
    texts = [f"note {' '.join(f'w{number}x{place}' for place in range(30))} about the printer" for number in range(4)]
    quality_filter = QualityFilter(2)
    quality_filter.add(
        [conversation(said=text, number=number, ending="goodbye" if number else "turn limit") for number, text in enumerate(texts)]
    )
    assert [each.plan.id for each in quality_filter.accepted] == ["p1", "p2"]
    assert (quality_filter.missing, quality_filter.judged, len(quality_filter.rejected)) == (0, 3, 1)
