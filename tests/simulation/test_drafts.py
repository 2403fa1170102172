"""A scenario that is drafted from a conversation: the agent that had the conversation passes it, a sloppy one does not."""

from pathlib import Path

import pytest
from msgspec import structs

import callmark
from callmark.cli.main import run
from callmark.simulation.users.rule_based.user import RuleBasedUser
from callmark.simulation.users.script import ScriptUser
from callmark.types import Case, Conversation, Prediction
from callmark.worlds.helpdesk.agents import faults_for
from callmark.worlds.helpdesk.tools import TOOLS
from tests.simulation.helpdesk_conversations import grade_all, read_scenarios, simulate_cases

CAREFUL = "python:callmark.worlds.helpdesk.agents:careful"
SLOPPY = "python:callmark.worlds.helpdesk.agents:sloppy"


class Drafts:
    """Recorded conversations of the careful agent, and the scenarios that were drafted from them."""

    def __init__(self, folder: Path) -> None:
        assert run(["synth", "--scenarios-only", "--seed", "5", "-o", str(folder / "scenarios.jsonl"), "--json"]) == 0
        cases = read_scenarios(folder / "scenarios.jsonl")[::2]
        self.recorded = [conversation_of(one) for one in simulate_cases(cases, CAREFUL, RuleBasedUser(seed=6))]
        callmark.write(self.recorded, folder / "conversations.jsonl")
        self.result = callmark.convert(str(folder / "conversations.jsonl"), to="scenarios", out=folder / "drafts.jsonl")
        self.cases = read_scenarios(folder / "drafts.jsonl")

    def reliability(self, agent: str) -> list[float]:
        predictions = simulate_cases(self.cases, agent, ScriptUser())
        return [grade.metrics["process.reliability"] for grade in grade_all(self.cases, predictions)]


def conversation_of(prediction: Prediction) -> Conversation:
    return Conversation(prediction.case, prediction.transcript, TOOLS)


@pytest.fixture(scope="module")
def drafts(tmp_path_factory: pytest.TempPathFactory) -> Drafts:
    return Drafts(tmp_path_factory.mktemp("drafts"))


def test_every_recorded_conversation_is_drafted_with_its_calls_that_change_something(drafts: Drafts) -> None:
    assert [case.id for case in drafts.cases] == [conversation.id for conversation in drafts.recorded]
    assert {case.scenario_type for case in drafts.cases} == {"draft"}
    expected = {call.name for case in drafts.cases for call in case.expected}
    assert expected >= {"TicketManagementPlugin-create_support_ticket", "ActionItemPlugin-create_action_item"}
    assert not {name for name in expected if "-get_" in name or "-list_" in name or "-search_" in name}
    assert "scenarios are drafts (type draft): check the instructions and the expected calls" in " ".join(drafts.result.notes)


def test_the_agent_that_had_the_conversation_passes_its_drafts(drafts: Drafts) -> None:
    assert drafts.reliability(CAREFUL) == [1.0] * len(drafts.cases)


def test_the_agent_passes_where_the_ids_that_its_calls_make_are_others(drafts: Drafts) -> None:
    """Matchers stand for ids of tickets that the conversation has opened itself."""
    matchers = [value for case in drafts.cases for call in case.expected for value in call.arguments.values() if isinstance(value, dict)]
    assert {next(iter(matcher)) for matcher in matchers} >= {"$glob"}


def test_a_sloppy_agent_fails_where_it_has_a_fault(drafts: Drafts) -> None:
    reliability = drafts.reliability(SLOPPY)
    flawed = [bool(case.expected) and bool(faults_for(first_line(case))) for case in drafts.cases]
    failed = [value < 1 for value in reliability]
    assert sum(failed) >= len(failed) // 4
    assert not [case.id for case, has_fault, fails in zip(drafts.cases, flawed, failed, strict=True) if fails and not has_fault]


def first_line(case: Case) -> str:
    script: list[str] = case.data["script"]
    return script[0]


def test_a_draft_with_another_value_is_failed_by_the_agent_that_had_the_conversation(drafts: Drafts) -> None:
    changed: list[Case] = []
    for case in drafts.cases:
        first = next((call for call in case.expected if "title" in call.arguments), None)
        if first is not None:
            other = structs.replace(first, arguments={**first.arguments, "title": "Something else"})
            changed.append(structs.replace(case, expected=tuple(other if call is first else call for call in case.expected)))
    grades = grade_all(changed[:5], simulate_cases(changed[:5], CAREFUL, ScriptUser()))
    assert [grade.metrics["process.reliability"] for grade in grades] == [0.0] * 5
