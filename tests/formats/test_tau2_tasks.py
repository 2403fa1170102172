"""Tasks of tau2-bench are scenarios: instructions for a user, and the agent's actions as expected calls."""

import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.types import Case
from tests.conftest import Cli
from tests.rows import write_rows

TRANSFER = {"action_id": "a1", "name": "transfer", "arguments": {"summary": "x", "team": "y"}, "info": None}


def task(*actions: Any, instructions: Any = "You want a refund.", **others: Any) -> dict[str, Any]:
    criteria = {"actions": list(actions), "nl_assertions": ["The agent refunds."], "reward_basis": ["DB"]}
    return {"id": "t1", "user_scenario": {"persona": None, "instructions": instructions}, "evaluation_criteria": criteria, **others}


def read(row: Any) -> Case:
    [found] = callmark.load([row])
    assert isinstance(found, Case)
    return found


def score(case: Case, **arguments: Any) -> float:
    return callmark.grade(list(case.expected), [{"name": "transfer", "arguments": arguments}]).metrics["call.score"]


def test_a_task_is_a_scenario() -> None:
    found = read(task(TRANSFER, description={"purpose": "Refunds", "notes": None}))
    assert (found.id, found.instructions, found.description, found.is_scenario) == ("t1", "You want a refund.", "Refunds", True)
    assert [str(call) for call in found.expected] == ['transfer(summary="x", team="y")']


def test_structured_instructions_become_one_text() -> None:
    given = {
        "domain": "airline",
        "reason_for_call": "Cancel it.",
        "known_info": "You are Mia.",
        "unknown_info": "Your order number.",
        "task_instructions": "Insist.",
    }
    found = read(task(instructions=given))
    assert found.instructions == "Cancel it.\n\nYou are Mia.\n\nYou do not know: Your order number.\n\nInsist."
    assert found.scenario_type == "airline"


@pytest.mark.parametrize(
    "compare_args, same, other_team, without_team, none",
    [(None, 1, 0.5, 0.5, 0.5), (["summary"], 1, 1, 1, 0.5), ([], 1, 1, 1, 1)],
)
def test_only_the_arguments_that_are_compared_count(
    compare_args: Any, same: float, other_team: float, without_team: float, none: float
) -> None:
    found = read(task({**TRANSFER, "compare_args": compare_args}))
    assert score(found, summary="x", team="y") == same
    assert score(found, summary="x", team="z") == other_team
    assert score(found, summary="x") == without_team
    assert score(found) == none


def test_other_parameters_of_a_known_tool_do_not_count_either(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "transfer", "parameters": {"type": "object", "properties": {"urgent": {"type": "boolean"}}}}]))
    file = write_rows(tmp_path / "tasks.jsonl", task({**TRANSFER, "compare_args": []}))
    [found] = callmark.load(file, tools=tools)
    assert isinstance(found, Case)
    assert score(found, urgent=True) == 1


def test_what_is_left_out_is_reported(cli: Cli, tmp_path: Path) -> None:
    row = task(TRANSFER, {**TRANSFER, "requestor": "user"}, initial_state={"message_history": []})
    done = cli("stats", write_rows(tmp_path / "tasks.jsonl", row), "--json")
    assert json.loads(done.out)["tool_calls"]["total"] == 1
    sentence = "ignored: initial states (data and messages before the conversation) (1), calls to the simulated user's own tools (1)."
    assert sentence in done.err


def test_a_recorded_value_that_looks_like_a_matcher_is_literal() -> None:
    found = read(task({**TRANSFER, "arguments": {"summary": {"$any": True}}}))
    assert found.expected[0].arguments == {"summary": {"$literal": {"$any": True}}}


@pytest.mark.parametrize("criteria", [None, {}, {"actions": None}, {"nl_assertions": []}])
def test_a_task_without_actions_has_no_expected_calls(criteria: Any) -> None:
    assert read(task() | {"evaluation_criteria": criteria}).expected == ()


@pytest.mark.parametrize(
    "row, reason",
    [
        (task(instructions=" "), "user_scenario.instructions: expected text that says what the user wants, got none"),
        (task(instructions=5), "user_scenario.instructions: expected"),
        (
            task({**TRANSFER, "requestor": "narrator"}),
            "evaluation_criteria.actions[0].requestor: expected assistant or user, got 'narrator'",
        ),
        (task({**TRANSFER, "compare_args": "summary"}), "evaluation_criteria.actions[0].compare_args: expected"),
    ],
)
def test_a_broken_task_is_refused_with_the_field(row: Any, reason: str) -> None:
    with pytest.raises(BadInput) as error:
        read(row)
    assert reason in str(error.value)


def test_an_action_with_a_renamed_arguments_key_is_malformed() -> None:
    [call] = read(task({"action_id": "a1", "name": "transfer", "payload": {"summary": "x"}})).expected
    assert call.malformed == "unknown keys: payload"
