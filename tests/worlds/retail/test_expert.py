"""The expert with users who deviate from the plan, and all of its templates."""

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


class ExpertRunner:
    """Runs the expert's dialogue against a store."""

    def __init__(self, case: Case) -> None:
        self._store = Store()
        self._steps = run_dialogue(case, 0)
        next(self._steps)
        self.calls: list[Call] = []

    def send(self, text: str) -> str:
        turn = self._steps.send(text)
        while isinstance(turn, Call):
            self.calls.append(turn)
            result = self._store.call(turn.name, turn.arguments)
            turn = self._steps.send(result.text)
        return turn

    @property
    def call_names(self) -> list[str]:
        return [call.name for call in self.calls]


def _case(branch: str) -> Case:
    """Return a plan of that branch alone."""
    for case in RetailWorld().plans(60, seed=7):
        plan = case.data["plan"]
        if branch in plan["branches"] and len(plan["goals"]) == 1 and plan["login"] == "email" and not plan["goals"][0]["wrong_order_id"]:
            return case
    raise LookupError(branch)


def test_unidentified_user_is_transferred_without_a_lookup() -> None:
    runner = ExpertRunner(_case("cancel: no longer needed"))
    replies = [runner.send(text) for text in ("Hi", "No idea", *["Just cancel it"] * MAX_ATTEMPTS)]
    assert runner.call_names == [tools.TRANSFER]
    assert len(set(replies)) == len(replies)


def test_unknown_email_falls_back_to_name_and_zip() -> None:
    case = _case("cancel: no longer needed")
    customer = case.data["plan"]["customer"]
    runner = ExpertRunner(case)
    replies = runner.send("Hi, I am nobody@example.com")
    assert "nobody@example.com" in replies or "zip" in replies
    runner.send(f"{customer['first_name']} {customer['last_name']}, {customer['zip']}")
    assert runner.call_names[:3] == [tools.FIND_BY_EMAIL, tools.FIND_BY_NAME_ZIP, tools.GET_USER]


@pytest.mark.parametrize("tool_text", ['{"a": {}}', "[]", "null", "5", '"x"', "", "\0"])
def test_foreign_tool_result_is_an_error_of_that_conversation(tool_text: str) -> None:
    case = _case("cancel: no longer needed")
    opening = Message("user", f"Cancel {case.data['plan']['goals'][0]['order_id']}. {case.data['plan']['customer']['email']}")

    class Liar:
        tools: tuple[Tool, ...] = ()

        async def call(self, call: Call) -> ToolResult:
            return ToolResult('{"user_id": "x"}' if call.name == tools.FIND_BY_EMAIL else tool_text)

        async def state(self) -> None:
            return None

    with pytest.raises(ModelError, match="the expert cannot use the result of get_user_details"):
        asyncio.run(RetailExpert().reply(Session(case, 0, Liar(), [opening])))


@pytest.mark.parametrize("user_text", ["no", "hmm, not sure", "yes, but only tomorrow", "What is the weather like?", ""])
def test_expert_writes_nothing_without_a_clear_yes(user_text: str) -> None:
    case = _case("cancel: no longer needed")
    case.data["plan"]["volunteered_slots"] = ["goal", "login"]
    goal, customer = case.data["plan"]["goals"][0], case.data["plan"]["customer"]
    goal["volunteered_slots"] = ["order", "reason"]
    runner = ExpertRunner(case)
    assert goal["order_id"] in runner.send(f"Cancel {goal['order_id']}, I no longer need it. {customer['email']}")
    replies = runner.send(user_text)
    assert runner.call_names == [tools.FIND_BY_EMAIL, tools.GET_USER, tools.GET_ORDER]
    assert "else" in replies


def test_wrong_order_number_every_time_leads_to_a_transfer() -> None:
    case = _case("cancel: no longer needed")
    case.data["plan"]["volunteered_slots"] = ["goal", "login"]
    runner = ExpertRunner(case)
    runner.send(f"Cancel order #W0000001. {case.data['plan']['customer']['email']}")
    for number in range(2, 2 + MAX_ATTEMPTS):
        runner.send(f"#W000000{number}")
    assert runner.call_names == [tools.FIND_BY_EMAIL, tools.GET_USER, tools.TRANSFER]


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
def test_order_status_gives_the_refusal_reason(status: str, needed: str, refusal_reason: str) -> None:
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


def test_every_expert_template_renders_without_placeholders() -> None:
    grammar = Grammar(PARTS)
    phrases = list(_phrases())
    assert len(phrases) > 250
    for phrase in phrases:
        for number in range(3):
            replies = grammar.render(phrase, Random(f"{number}/{phrase}"), style="", values=SAMPLE_VALUES)
            assert replies
            assert not set("{}[]<>|") & set(replies)


def test_every_act_has_at_least_six_templates() -> None:
    assert [act for act, phrases in QUESTIONS_BY_ACT.items() if len(set(phrases)) < 6] == []


def test_every_refusal_has_an_explanation() -> None:
    assert set(refusal_templates.EXPLANATIONS) == set(refusal_templates.REFUSALS)


def test_product_is_looked_up_once_per_conversation() -> None:
    dialogue = ExpertDialogue(_case("cancel: no longer needed"), 0)
    steps = dialogue.get_product("1")
    assert next(steps) == Call(tools.GET_PRODUCT, {"product_id": "1"})
    with pytest.raises(StopIteration):
        steps.send('{"name": "Tent"}')
    with pytest.raises(StopIteration) as found:
        next(dialogue.get_product("1"))
    assert found.value.value == {"name": "Tent"}
