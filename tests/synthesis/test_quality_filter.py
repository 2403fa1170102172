"""What is kept and what is not: each reason, by a conversation that has nothing else against it."""

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
    """A conversation that is kept, but for what is given."""
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
        ({"title": "scanner"}, "hallucinated_value", 'add: title = "scanner" stands nowhere before the call'),
        ({"messages": (Message("user", "x"), Message("assistant", " "))}, "empty_assistant", "the assistant says nothing"),
        ({"metrics": {"state.reached": 0.0}}, "end_state", "the end state is another one"),
        (
            {"metrics": {"state.reached": 0.0}, "notes": (Note("state_difference", "notes: a new row was not made"),)},
            "end_state",
            "notes: a new row was not made",
        ),
        ({"metrics": {"process.reliability": 0.0}}, "calls", "planned: nothing; called: nothing"),
        ({"metrics": {}}, "calls", "planned: nothing; called: nothing"),
        (
            {"metrics": {"state.reached": 1.0, "process.recall": 0.5}, "states": EndStates()},
            "calls",
            "planned: nothing; called: nothing",
        ),
        (
            {"metrics": {"state.reached": 1.0, "process.recall": 1.0, "process.args_recall": 0.9}, "states": EndStates()},
            "calls",
            "planned: nothing; called: nothing",
        ),
        ({"metrics": {}, "states": EndStates(unknown="add() is refused: no")}, "refused", "add() is refused: no"),
        ({"notes": (Note("policy_violation", "ask-first: ask"),)}, "policy", "ask-first: ask"),
        ({"misses": 1}, "not_recorded", "for 1 of 1 calls no result was recorded"),
        ({"ending": "turn limit"}, "ending", "it ended with turn limit"),
        ({"ending": ""}, "ending", "it ended with nothing that is known"),
        ({"planned": "transfer_to_human"}, "transfer", "it was not handed over, which was planned"),
        ({"called": "transfer_to_human", "ending": "transfer"}, "transfer", "it was handed over, which was not planned"),
    ],
    ids=str,
)
def test_each_reason_alone_rejects(given: dict[str, Any], code: str, sentence: str) -> None:
    (reason,) = rejection_reasons(conversation(**given))
    assert (reason.code, reason.sentence[: len(sentence)]) == (code, sentence)
    assert REASONS[code]


def test_planned_transfer_is_accepted() -> None:
    assert rejection_reasons(conversation(planned="transfer_to_human", called="transfer_to_human", ending="transfer")) == []


def test_endings_that_count_as_finished() -> None:
    assert (
        [ending for ending in ENDINGS if not rejection_reasons(conversation(ending=ending))]
        == list(FINISHED)
        == ["completed", "goodbye", "transfer"]
    )


def test_calls_decide_where_the_end_state_is_unknown() -> None:
    one = conversation(metrics={"process.reliability": 1.0})
    assert one.judged_by_calls
    assert rejection_reasons(one) == []
    assert not conversation().judged_by_calls


def test_additional_reads_do_not_matter_where_the_end_state_is_known() -> None:
    assert rejection_reasons(conversation(metrics={"process.reliability": 0.0, "state.reached": 1.0})) == []


def test_end_state_decides_where_the_plan_changes_something() -> None:
    metrics = {"state.reached": 1.0, "process.recall": 0.5, "process.args_recall": 0.5}
    assert rejection_reasons(conversation(metrics=metrics, states=EndStates(expected={"notes": {"n1": {}}}))) == []


def test_each_kind_of_reason_is_reported_once() -> None:
    broken = (Note("policy_violation", "a: x"), Note("policy_violation", "b: y"))
    found = rejection_reasons(conversation(title="scanner", metrics={"state.reached": 0.0}, notes=broken, ending="no progress"))
    assert [reason.code for reason in found] == ["hallucinated_value", "end_state", "policy", "ending"]


def test_near_duplicate_of_an_accepted_conversation_is_rejected() -> None:
    text = "Please add a note about the printer on the third floor, which has been out of order since Monday, and tell Ann about it"
    other = "The scanner? No: the printer. Somebody should write down that it makes a noise, and that we would like to have a new one"
    judged = QualityFilter(10)
    said = enumerate([text, text, text, other, f"{other}!"], 1)
    judged.add([conversation(said=words, number=number, ending="turn limit" if number == 1 else "completed") for number, words in said])
    assert [each.plan.id for each in judged.accepted] == ["p2", "p4"]
    assert [(each.conversation.plan.id, [reason.code for reason in each.reasons]) for each in judged.rejected] == [
        ("p1", ["ending"]),
        ("p3", ["near_duplicate"]),
        ("p5", ["near_duplicate"]),
    ]
    assert [each.reasons[0].sentence for each in judged.rejected[1:]] == ["100% of it is the same as p2", "100% of it is the same as p4"]


def test_conversations_beyond_the_requested_number_are_ignored() -> None:
    texts = [f"note {' '.join(f'w{number}x{place}' for place in range(30))} about the printer" for number in range(4)]
    judged = QualityFilter(2)
    judged.add([conversation(said=text, number=number, ending="goodbye" if number else "turn limit") for number, text in enumerate(texts)])
    assert [each.plan.id for each in judged.accepted] == ["p1", "p2"]
    assert (judged.missing, judged.judged, len(judged.rejected)) == (0, 3, 1)
