"""Plans made by a model: good ones are simulated, bad ones are counted with the reason."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.synthesis.test_tool_lists import definitions, write_tools

MODEL = """
import json
import re
from pathlib import Path


def plan(messages, tools):
    number = int(re.search("Plan number ([0-9]+)", messages[-1]["content"])[1])
    plans = json.loads(Path("plans.json").read_text())
    text = plans[(number - 1) % len(plans)]
    return {"content": (text if isinstance(text, str) else json.dumps(text)).replace("NUMBER", str(number))}
"""
EMAIL = "mei.chenNUMBER@example.com"
GOOD = {
    "wish": "See my account",
    "says": [{"label": "email address", "value": EMAIL}],
    "calls": [
        {"name": "find_member_id_by_email", "arguments": {"email": EMAIL}},
        {"name": "get_member_details", "arguments": {"member_id": "{{1.member_id}}"}},
    ],
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "planner", raising=False)
    Path("planner.py").write_text(MODEL, encoding="utf-8")
    write_tools(tmp_path / "tools.json", definitions("mcp"))


def synth(cli: Cli, *plans: Any, number: int = 1) -> dict[str, Any]:
    Path("plans.json").write_text(json.dumps(plans), encoding="utf-8")
    options = ("--planner", "python:planner:plan", "--no-cache", "-n", str(number), "-o", "data", "--json")
    told: dict[str, Any] = json.loads(cli("synth", "--tools", "tools.json", *options).out)
    return told


def test_good_plan_is_simulated_with_values_of_earlier_results(cli: Cli) -> None:
    told = synth(cli, GOOD)
    assert (told["accepted"], told["bad_plans"], told["mocked"]) == (1, 0, True)
    line = next(line for name in ("train", "valid") for line in Path("data", f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    messages = json.loads(line)["messages"]
    found = json.loads(next(message["content"] for message in messages if message["role"] == "tool"))
    calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    assert [call["name"] for call in calls] == ["find_member_id_by_email", "get_member_details"]
    assert json.loads(calls[1]["arguments"]) == {"member_id": found["member_id"]}


@pytest.mark.parametrize(
    "bad, reason",
    [
        ("I cannot do that.", "not a plan in the requested form"),
        ({"wish": "x", "calls": []}, "expected a wish and 1 to 8 calls, got 0"),
        ({**GOOD, "wish": " ... "}, "expected a wish and 1 to 8 calls, got 2"),
        ({"wish": "x", "calls": [{"name": "fly"}]}, "call 1: unknown tool 'fly'"),
        ({"wish": "x", "calls": [{"name": "get_book"}]}, 'call 1: get_book: : "book_id" is a required property'),
        ({"wish": "x", "calls": [{"name": "get_book", "arguments": {"book_id": 7}}]}, "call 1: get_book: book_id: "),
        (
            {"wish": "x", "calls": [{"name": "get_book", "arguments": {"book_id": "B-1"}}]},
            "appears neither in what the user says nor in a result",
        ),
        (
            {"wish": "x", "calls": [{"name": "get_book", "arguments": {"book_id": "{{1.id}}"}}]},
            "refers to a call that does not come before it",
        ),
        (
            {**GOOD, "calls": [GOOD["calls"][0], {"name": "get_book", "arguments": {"book_id": "{{1.book_id}}"}}]},
            "the result of call 1 has no field book_id",
        ),
    ],
)
def test_bad_plan_is_left_out_and_the_reason_is_reported(cli: Cli, bad: Any, reason: str) -> None:
    told = synth(cli, GOOD, bad, number=2)
    assert told["bad_plans"] >= 2, "requested again once"
    assert reason in told["first_bad_plan"]
    assert told["accepted"] >= 1


def test_planner_cannot_be_combined_with_scenarios(cli: Cli) -> None:
    result = cli("synth", "--tools", "tools.json", "--planner", "python:planner:plan", "--scenarios", "x.jsonl", "-o", "data")
    assert result.status == 2
    assert "--planner cannot be used with --scenarios: there is nothing to plan" in result.err
