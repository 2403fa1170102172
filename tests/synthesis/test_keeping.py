"""What is kept and what is not: each reason, by a conversation that has nothing else against it."""

from typing import Any

import pytest

from callmark.grading.grader import GradeRecord
from callmark.simulation.endings import ENDINGS
from callmark.synthesis.keeping import FINISHED, REASONS, Held, QualityFilter, reasons_against
from callmark.types import Call, Case, Conversation, EndStates, Message, Note, Prediction, Tool

ADD = Tool("add", "", {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]})
TRANSFER = Tool("transfer_to_human", "", {"type": "object", "properties": {}})


def held(
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
) -> Held:
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
    return Held(plan, prediction, grade, Conversation(plan.id, messages, (ADD, TRANSFER)))


def test_nothing_speaks_against_a_conversation_that_went_as_planned() -> None:
    assert reasons_against(held()) == []


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
def test_each_reason_alone_is_enough(given: dict[str, Any], code: str, sentence: str) -> None:
    (reason,) = reasons_against(held(**given))
    assert (reason.code, reason.sentence[: len(sentence)]) == (code, sentence)
    assert REASONS[code]


def test_a_planned_transfer_is_a_proper_end() -> None:
    assert reasons_against(held(planned="transfer_to_human", called="transfer_to_human", ending="transfer")) == []


def test_the_ends_that_count_as_finished() -> None:
    assert (
        [ending for ending in ENDINGS if not reasons_against(held(ending=ending))] == list(FINISHED) == ["completed", "goodbye", "transfer"]
    )


def test_where_the_state_is_not_known_calls_decide() -> None:
    one = held(metrics={"process.reliability": 1.0})
    assert one.by_calls
    assert reasons_against(one) == []
    assert not held().by_calls


def test_where_the_state_is_known_other_reads_do_not_matter() -> None:
    assert reasons_against(held(metrics={"process.reliability": 0.0, "state.reached": 1.0})) == []


def test_where_something_was_to_be_changed_the_state_decides_and_calls_do_not() -> None:
    metrics = {"state.reached": 1.0, "process.recall": 0.5, "process.args_recall": 0.5}
    assert reasons_against(held(metrics=metrics, states=EndStates(expected={"notes": {"n1": {}}}))) == []


def test_every_reason_is_told_each_kind_once() -> None:
    broken = (Note("policy_violation", "a: x"), Note("policy_violation", "b: y"))
    found = reasons_against(held(title="scanner", metrics={"state.reached": 0.0}, notes=broken, ending="no progress"))
    assert [reason.code for reason in found] == ["hallucinated_value", "end_state", "policy", "ending"]


def test_near_copies_of_what_was_kept_are_not_and_those_of_what_was_rejected_are() -> None:
    text = "Please add a note about the printer on the third floor, which has been out of order since Monday, and tell Ann about it"
    other = "The scanner? No: the printer. Somebody should write down that it makes a noise, and that we would like to have a new one"
    keeper = QualityFilter(10)
    said = enumerate([text, text, text, other, f"{other}!"], 1)
    keeper.take([held(said=words, number=number, ending="turn limit" if number == 1 else "completed") for number, words in said])
    assert [one.plan.id for one in keeper.kept] == ["p2", "p4"]
    assert [(one.held.plan.id, [reason.code for reason in one.reasons]) for one in keeper.rejected] == [
        ("p1", ["ending"]),
        ("p3", ["near_copy"]),
        ("p5", ["near_copy"]),
    ]
    assert [one.reasons[0].sentence for one in keeper.rejected[1:]] == ["100% of it is the same as p2", "100% of it is the same as p4"]


def test_what_comes_after_the_last_that_was_wanted_is_left_alone() -> None:
    texts = [f"note {' '.join(f'w{number}x{place}' for place in range(30))} about the printer" for number in range(4)]
    keeper = QualityFilter(2)
    keeper.take([held(said=text, number=number, ending="goodbye" if number else "turn limit") for number, text in enumerate(texts)])
    assert [one.plan.id for one in keeper.kept] == ["p1", "p2"]
    assert (keeper.missing, keeper.judged, len(keeper.rejected)) == (0, 3, 1)
