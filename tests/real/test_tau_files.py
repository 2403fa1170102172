"""Real tau-bench recordings and tau2-bench tasks in every command (CALLMARK_REAL_DATA, or ../shared/data beside the project)."""

import json
from pathlib import Path

import pytest

import callmark
from callmark.types import Case
from tests.conftest import Cli
from tests.real.test_recorded import DATA

AIRLINE = DATA / "airline" / "gpt-4o-first-12-tasks.json"
TAU2 = DATA / "tau2"

pytestmark = pytest.mark.skipif(not AIRLINE.exists() or not TAU2.exists(), reason=f"no real data in {DATA}: set CALLMARK_REAL_DATA")


def test_the_recorded_conversations_are_counted(cli: Cli) -> None:
    counts = json.loads(cli("stats", AIRLINE, "--json").out)
    assert (counts["conversations"], counts["num_turns"]["total"], counts["tool_calls"]["total"]) == (48, 1492, 343)
    assert counts["roles"] == {"assistant": 698, "user": 403, "tool": 343, "system": 48}


def test_no_trial_is_a_copy_of_another(cli: Cli) -> None:
    report = json.loads(cli("lint", AIRLINE, "--json").out)
    assert set(report["summary"]) == {"duplicate_call_id", "hallucinated_value"}


def test_a_recorded_conversation_is_shown_with_its_task(cli: Cli) -> None:
    shown = cli("show", AIRLINE, "--id", "0-trial-3").out
    assert "EXPECTED" in shown
    assert "You are mia_li_3668." in shown


def test_every_call_is_a_decision_point_with_an_id_of_its_own(cli: Cli, tmp_path: Path) -> None:
    assert cli("expand", AIRLINE, "-o", tmp_path / "cases.jsonl", "--yes").status == 0
    cases = list(callmark.load(tmp_path / "cases.jsonl"))
    assert len({case.id for case in cases}) == len(cases) == 343


@pytest.mark.parametrize("target, rows", [("openai", 48), ("anthropic", 48), ("sharegpt", 48), ("scenarios", 12)])
def test_recordings_are_converted(cli: Cli, tmp_path: Path, target: str, rows: int) -> None:
    done = cli("convert", AIRLINE, "-o", tmp_path / "out.jsonl", "--to", target, "--json")
    assert (done.status, json.loads(done.out)["written"]) == (0, rows)


@pytest.mark.parametrize("name, tasks, calls, partly_compared", [("airline", 50, 142, 1), ("mock", 10, 8, 1)])
def test_tau2_tasks_are_scenarios(cli: Cli, tmp_path: Path, name: str, tasks: int, calls: int, partly_compared: int) -> None:
    file = TAU2 / f"{name}-tasks.json"
    cases = [case for case in callmark.load(file) if isinstance(case, Case)]
    assert (len(cases), sum(len(case.expected) for case in cases)) == (tasks, calls)
    assert all(case.is_scenario for case in cases)
    matched = [call for case in cases for call in case.expected if {"$optional": {"$any": True}} in call.arguments.values()]
    assert [call.name for call in matched] == ["transfer_to_human_agents"] * partly_compared
    for command in ("stats", "show", "lint"):
        assert cli(command, file).status == 0
    assert cli("convert", file, "-o", tmp_path / "scenarios.jsonl", "--to", "scenarios").status == 0
    again = [case for case in callmark.load(tmp_path / "scenarios.jsonl") if isinstance(case, Case)]
    assert [(case.id, case.instructions, case.expected) for case in again] == [
        (case.id, case.instructions, tuple(callmark.Call(call.name, call.arguments) for call in case.expected)) for case in cases
    ]


def test_tau2_tasks_are_graded_against_their_own_actions(cli: Cli, tmp_path: Path) -> None:
    rows = json.loads((TAU2 / "airline-tasks.json").read_text(encoding="utf-8"))
    lines = [
        {"id": row["id"], "calls": [{"name": one["name"], "arguments": one["arguments"]} for one in row["evaluation_criteria"]["actions"]]}
        for row in rows
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = cli("grade", TAU2 / "airline-tasks.json", "-p", tmp_path / "p.jsonl", "-o", tmp_path / "runs", "--name", "x", "--json")
    assert json.loads(done.out)["summary"]["metrics"]["process.reliability"]["mean"] == 1
