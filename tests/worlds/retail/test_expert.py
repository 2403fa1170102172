"""The expert with customers who do not do what was planned for them; and all that it can say."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import pytest

from callmark.models.model import ModelError
from callmark.simulation.session import Session, ToolResult
from callmark.types import Call, Case, Message, Tool
from callmark.worlds.retail import tools
from callmark.worlds.retail.expert import refusal_templates, statement_templates
from callmark.worlds.retail.expert.agent import RetailExpert, run_dialogue
from callmark.worlds.retail.expert.dialogue import MAX_ATTEMPTS, ExpertDialogue
from callmark.worlds.retail.expert.order_tasks import find_refusal_reason
from callmark.worlds.retail.expert.question_templates import PARTS, QUESTIONS_BY_ACT, SAMPLE_VALUES
from callmark.worlds.retail.language.grammar import Grammar
from callmark.worlds.retail.store.store import Store
from callmark.worlds.retail.world import RetailWorld


class Counter:
    """The expert at work: says what it says, and has its calls carried out."""

    def __init__(self, case: Case) -> None:
        self._store = Store()
        self._steps = run_dialogue(case, 0)
        next(self._steps)
        self.calls: list[Call] = []

    def record_user_turn(self, text: str) -> str:
        turn = self._steps.send(text)
        while isinstance(turn, Call):
            self.calls.append(turn)
            answer = self._store.call(turn.name, turn.arguments)
            turn = self._steps.send(answer.text)
        return turn

    @property
    def item_phrase(self) -> list[str]:
        return [call.name for call in self.calls]


def _case(branch: str) -> Case:
    """A plan of that branch alone."""
    for case in RetailWorld().plans(60, seed=7):
        own = case.data["plan"]
        if branch in own["branches"] and len(own["goals"]) == 1 and own["login"] == "email" and not own["goals"][0]["wrong_order_id"]:
            return case
    raise LookupError(branch)


def test_whoever_never_says_who_they_are_is_handed_over_and_nothing_is_looked_up() -> None:
    counter = Counter(_case("cancel: no longer needed"))
    said = [counter.record_user_turn(text) for text in ("Hi", "No idea", *["Just cancel it"] * MAX_ATTEMPTS)]
    assert counter.called == [tools.TRANSFER]
    assert len(set(said)) == len(said)


def test_an_email_that_nobody_has_leads_to_name_and_zip() -> None:
    case = _case("cancel: no longer needed")
    customer = case.data["plan"]["customer"]
    counter = Counter(case)
    said = counter.record_user_turn("Hi, I am nobody@example.com")
    assert "nobody@example.com" in said or "zip" in said
    counter.record_user_turn(f"{customer['first_name']} {customer['last_name']}, {customer['zip']}")
    assert counter.called[:3] == [tools.FIND_BY_EMAIL, tools.FIND_BY_NAME_ZIP, tools.GET_USER]


@pytest.mark.parametrize("answer", ['{"a": {}}', "[]", "null", "5", '"x"', "", "\0"])
def test_answers_that_no_store_gives_end_the_conversation_and_nothing_else(answer: str) -> None:
    case = _case("cancel: no longer needed")
    opening = Message("user", f"Cancel {case.data['plan']['goals'][0]['order_id']}. {case.data['plan']['customer']['email']}")

    class Liar:
        tools: tuple[Tool, ...] = ()

        async def call(self, call: Call) -> ToolResult:
            return ToolResult('{"user_id": "x"}' if call.name == tools.FIND_BY_EMAIL else answer)

        async def state(self) -> None:
            return None

    with pytest.raises(ModelError, match="the expert cannot go on with what get_user_details answered"):
        asyncio.run(RetailExpert().reply(Session(case, 0, Liar(), [opening])))


@pytest.mark.parametrize("answer", ["no", "hmm, not sure", "yes, but only tomorrow", "What is the weather like?", ""])
def test_nothing_is_written_without_a_clear_yes(answer: str) -> None:
    case = _case("cancel: no longer needed")
    case.data["plan"]["volunteered_slots"] = ["goal", "login"]
    goal, customer = case.data["plan"]["goals"][0], case.data["plan"]["customer"]
    goal["volunteered_slots"] = ["order", "reason"]
    counter = Counter(case)
    assert goal["order_id"] in counter.record_user_turn(f"Cancel {goal['order_id']}, I no longer need it. {customer['email']}")
    said = counter.record_user_turn(answer)
    assert counter.called == [tools.FIND_BY_EMAIL, tools.GET_USER, tools.GET_ORDER]
    assert "else" in said


def test_an_order_number_that_is_never_right_leads_to_a_person() -> None:
    case = _case("cancel: no longer needed")
    case.data["plan"]["volunteered_slots"] = ["goal", "login"]
    counter = Counter(case)
    counter.record_user_turn(f"Cancel order #W0000001. {case.data['plan']['customer']['email']}")
    for number in range(2, 2 + MAX_ATTEMPTS):
        counter.record_user_turn(f"#W000000{number}")
    assert counter.called == [tools.FIND_BY_EMAIL, tools.GET_USER, tools.TRANSFER]


@pytest.mark.parametrize(
    ("status", "needed", "refusal_reason"),
    [
        ("pending", "pending", ""),
        ("processed", "pending", "shipped"),
        ("delivered", "pending", "delivered"),
        ("return requested", "pending", "delivered"),
        ("cancelled", "pending", "cancelled"),
        ("pending (items modified)", "pending", "changed once"),
        ("delivered", "delivered", ""),
        ("pending", "delivered", "not delivered"),
        ("processed", "delivered", "not delivered"),
        ("pending (items modified)", "delivered", "not delivered"),
        ("cancelled", "delivered", "cancelled"),
        ("return requested", "delivered", "asked once"),
        ("exchange requested", "delivered", "asked once"),
    ],
)
def test_the_status_of_an_order_says_why_not(status: str, needed: str, refusal_reason: str) -> None:
    assert find_refusal_reason({"status": status}, needed) == refusal_reason


def _phrases() -> Iterator[str]:
    for some in (QUESTIONS_BY_ACT, vars(statement_templates), vars(refusal_templates)):
        for name, value in some.items():
            if not name.startswith("_"):
                yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | Sequence):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)


def test_every_phrase_can_be_said_and_has_no_hole_in_it() -> None:
    grammar = Grammar(PARTS)
    phrases = list(_phrases())
    assert len(phrases) > 250
    for phrase in phrases:
        for number in range(3):
            said = grammar.render(phrase, Random(f"{number}/{phrase}"), style="", values=SAMPLE_VALUES)
            assert said
            assert not set("{}[]<>|") & set(said)


def test_every_act_has_at_least_six_wordings() -> None:
    assert [act for act, phrases in QUESTIONS_BY_ACT.items() if len(set(phrases)) < 6] == []


def test_every_refusal_can_be_explained() -> None:
    assert set(refusal_templates.EXPLANATIONS) == set(refusal_templates.REFUSALS)


def test_a_product_is_looked_up_once_in_a_conversation() -> None:
    dialogue = ExpertDialogue(_case("cancel: no longer needed"), 0)
    steps = dialogue.get_product("1")
    assert next(steps) == Call(tools.GET_PRODUCT, {"product_id": "1"})
    with pytest.raises(StopIteration):
        steps.send('{"name": "Tent"}')
    with pytest.raises(StopIteration) as found:
        next(dialogue.get_product("1"))
    assert found.value.value == {"name": "Tent"}
