"""Recorded simulations of twelve airline tasks, four trials each, by every evaluator (CALLMARK_REAL_DATA, or
../shared/data beside the project).
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.real.test_recorded import DATA

AIRLINE = DATA / "airline" / "gpt-4o-first-12-tasks.json"
READS = ("get_*", "search_*", "list_*", "calculate", "think", "transfer_to_human_agents")  # the recorded actions are those that write
POLICY = """
rules:
  - id: ask-first
    says: Nothing is booked, changed or cancelled that the user did not confirm.
    confirmed: &writes [book_reservation, "update_reservation_*", cancel_reservation]
  - id: know-the-user
    says: The user is looked up before anything is written.
    before: {first: [get_user_details, get_reservation_details], then: *writes}
  - id: one-transfer
    says: Nobody is transferred twice.
    at_most: {times: 1, calls: transfer_to_human_agents}
"""

pytestmark = pytest.mark.skipif(not AIRLINE.exists(), reason=f"no real data in {DATA}: set CALLMARK_REAL_DATA")


@pytest.fixture
def told(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "callmark.toml").write_text(
        f"[evaluators.process]\nignore = {json.dumps(READS)}\n[evaluators.policy]\nrules = 'rules.yaml'\n"
    )
    (tmp_path / "rules.yaml").write_text(POLICY)
    return json.loads(cli("grade", AIRLINE, "--name", "air", "--json").out)


def test_twelve_scenarios_with_four_trials_by_every_evaluator(told: Any) -> None:
    summary = told["summary"]
    assert (summary["cases"], summary["scored"], summary["errors"]) == (12, 48, 0)
    assert told["info"]["dataset"]["kind"] == "scenarios"
    evaluators = {name.partition(".")[0] for name in summary["metrics"]}
    assert evaluators == {"call", "process", "policy", "effort", "recorded"}  # no state was recorded
    assert summary["metrics"]["recorded.reward"]["mean"] == 1 / 8


def test_pass_to_the_k_by_the_recorded_reward(told: Any) -> None:
    rewards = Counter((row["task_id"]) for row in json.loads(AIRLINE.read_text(encoding="utf-8")) if row["reward"] == 1)
    assert rewards == {1: 1, 2: 1, 5: 1, 6: 1, 7: 1, 11: 1}  # six of twelve tasks passed, each in one of four trials
    passes = told["summary"]["details"]["recorded_trials"]["pass_rates"]
    # By hand: pass^1 = (6 × 1/4) / 12 = 1/8; none passed twice, so pass^2 = pass^3 = pass^4 = 0. pass@k = (6 × k/4) / 12 = k/8.
    assert [one["every"] for one in passes] == [1 / 8, 0, 0, 0]
    assert [one["any"] for one in passes] == [1 / 8, 2 / 8, 3 / 8, 4 / 8]


def test_reliability_and_recorded_reward_differ_in_three_trials(told: Any, tmp_path: Path) -> None:
    lines = (tmp_path / "runs" / "air" / "grades.jsonl").read_text().splitlines()
    grades = {(grade["case"], grade.get("trial", 0)): grade["metrics"] for grade in map(json.loads, lines)}
    both = Counter((grade["process.reliability"], grade["recorded.reward"]) for grade in grades.values())
    assert both == {(0, 0): 41, (1, 1): 4, (1, 0): 1, (0, 1): 2}
    # By hand: every call is right, but the user never came to an end, which tau-bench does not reward;
    assert grades["2", 1]["process.reliability"] > grades["2", 1]["recorded.reward"]
    # the flights have two keys that the tool ignores, and a first booking was refused and made again: the same end state.
    assert all(grades[at]["process.reliability"] < grades[at]["recorded.reward"] for at in (("5", 1), ("11", 0)))
    assert told["summary"]["details"]["trials"]["pass_rates"][0]["every"] == pytest.approx(5 / 48)


def test_every_policy_violation_has_its_place(told: Any, tmp_path: Path) -> None:
    rows = {(str(row["task_id"]), row["trial"]): row["traj"] for row in json.loads(AIRLINE.read_text(encoding="utf-8"))}
    noted = 0
    for line in (tmp_path / "runs" / "air" / "grades.jsonl").read_text().splitlines():
        grade = json.loads(line)
        notes = [note for note in grade.get("notes", []) if note["kind"] == "policy_violation"]
        assert bool(notes) == (grade["metrics"]["policy.followed"] == 0)
        for note in notes:
            message = rows[grade["case"], grade.get("trial", 0)][note["message"]]
            assert grade["actual"][note["actual_index"]] in [one["function"]["name"] for one in message["tool_calls"]]
            assert grade["actual"][note["actual_index"]] in note["sentence"]
        noted += len(notes)
    # By hand: 28 of the writes follow words that are no yes ("I'll go with the first option"); the other two rules are always kept.
    assert noted == 28
