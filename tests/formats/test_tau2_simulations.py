"""Simulations of tau2-bench: the agent's part of the conversation, the task as a scenario, the recorded result."""

import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.formats.predictions import Predictions
from tests.conftest import Cli
from tests.rows import write_rows

TASK = {
    "id": "7",
    "user_scenario": {"instructions": "Book a seat."},
    "evaluation_criteria": {"actions": [{"action_id": "a", "name": "book", "arguments": {"to": "SEA"}, "requestor": "assistant"}]},
}
MESSAGES: list[dict[str, Any]] = [
    {"role": "assistant", "content": "Hi!", "tool_calls": None, "turn_idx": 0, "cost": 0.1},
    {"role": "user", "content": "Book a seat to SEA.", "tool_calls": None},
    {"role": "user", "content": None, "tool_calls": [{"id": "u1", "name": "look", "arguments": {}, "requestor": "user"}]},
    {"role": "tool", "id": "u1", "content": "bars: 3", "requestor": "user", "error": False},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "name": "book", "arguments": {"to": "SEA"}, "requestor": "assistant"}],
    },
    {"role": "tool", "tool_messages": [{"role": "tool", "id": "c1", "content": "{}", "requestor": "assistant", "error": False}]},
    {"role": "assistant", "content": "Booked.", "tool_calls": None},
    {"role": "user", "content": "###STOP###", "tool_calls": None},
]


def simulation(**changes: Any) -> dict[str, Any]:
    ended = {"termination_reason": "user_stop", "reward_info": {"reward": 1.0, "db_check": None}}
    return {"id": "s", "task_id": "7", "trial": 1, "messages": MESSAGES, "seed": 3, **ended, **changes}


def results(folder: Path, *simulations: Any) -> Path:
    path = folder / "results.json"
    info = {"git_commit": "x", "environment_info": {"domain_name": "airline", "policy": "Be brief."}}
    path.write_text(json.dumps({"timestamp": "now", "info": info, "tasks": [TASK], "simulations": list(simulations)}, indent=4))
    return path


def test_the_conversation_is_the_agents_part(tmp_path: Path) -> None:
    dataset = callmark.load(results(tmp_path, simulation()))
    [conversation] = dataset
    assert (dataset.format.name, conversation.id) == ("tau2-simulations", "7-trial-1")
    assert [(message.role, message.text or str(*message.calls)) for message in conversation.messages] == [
        ("system", "Be brief."), ("assistant", "Hi!"), ("user", "Book a seat to SEA."), ("assistant", 'book(to="SEA")'), ("tool", "{}"),
        ("assistant", "Booked."), ("user", "###STOP###"),
    ]  # fmt: skip
    assert dataset.left_out == {"calls to the simulated user's own tools": 1}


def test_a_results_file_is_graded_with_its_own_predictions(cli: Cli, tmp_path: Path) -> None:
    failed = simulation(trial=0, termination_reason="infrastructure_error", messages=[])
    path = results(tmp_path, simulation(), failed, simulation(trial=2, termination_reason="max_steps"))
    done = cli("grade", path, "-o", tmp_path, "--name", "r", "--json")
    assert done.status == 3
    metrics = json.loads(done.out)["summary"]["metrics"]
    assert (metrics["process.reliability"]["mean"], metrics["process.reliability"]["n"]) == (1.0, 2)
    predictions = [row.prediction for _, row in Predictions(str(path))]
    assert [(one.case, one.trial, one.ending, one.reward, one.error) for one in predictions] == [
        ("7", 1, "goodbye", 1.0, ""),
        ("7", 0, "infrastructure_error", 1.0, "the simulation ended with infrastructure_error"),
        ("7", 2, "max_steps", 1.0, ""),
    ]
    assert cli("expand", path, "-o", tmp_path / "cases.jsonl").status == 0
    assert cli("lint", path).status == 0


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"messages": None}, "messages: expected a list, got none: voice simulations are not supported"),
        ({"messages": [{"role": "narrator", "content": "x"}]}, r"messages\[0\].role: expected one of"),
        (
            {"messages": [{"role": "tool", "id": "x", "content": "x", "requestor": "robot"}]},
            r"messages\[0\].requestor: expected assistant or user",
        ),
        ({"messages": [{"role": "assistant", "function_calls": [{}]}]}, "unknown key 'function_calls', which may hold calls"),
        ({"messages": ["x"]}, r"messages\[0\]: expected a message"),
        ({"trial": -1}, "trial: expected an integer of at least 0"),
    ],
)
def test_what_is_not_understood_is_refused(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=sentence):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", simulation(**changes))))


def test_a_simulation_without_its_task_is_no_case() -> None:
    with pytest.raises(BadInput, match="task: the task '7' is missing from the tasks of the results file"):
        list(callmark.load([simulation()], cases=True))
