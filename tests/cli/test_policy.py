"""`--policy FILE` and the table `[evaluators.policy]` of callmark.toml."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.rows import assistant, call, user

RULES = "rules: [{id: ask-first, says: Ask first., confirmed: book}]"
CONVERSATION = [user("I want to fly"), assistant(call("book"))]


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = {
        "task_id": 1,
        "trial": 0,
        "reward": 0.0,
        "info": {"task": {"instruction": "Fly.", "actions": [{"name": "book"}]}},
        "traj": CONVERSATION,
    }
    Path("air.json").write_text(json.dumps([row]))
    Path("rules.yaml").write_text(RULES)


def metrics(cli: Cli, *arguments: str) -> Any:
    return json.loads(cli("grade", *arguments, "--json").out)["summary"]["metrics"]


def test_policy_rules_enable_the_policy_evaluator(cli: Cli) -> None:
    assert "policy.followed" not in metrics(cli, "air.json", "--name", "without")
    found = metrics(cli, "air.json", "--name", "with", "--policy", "rules.yaml")
    assert (found["policy.followed"]["mean"], found["policy.rules"]["mean"]) == (0, 0)
    assert metrics(cli, "runs/with") == found  # its rules stand in its run.json


def test_policy_path_is_relative_to_callmark_toml(cli: Cli) -> None:
    Path("settings").mkdir()
    Path("rules.yaml").rename("settings/mine.yaml")
    Path("settings/callmark.toml").write_text('[evaluators.policy]\nrules = "mine.yaml"')
    assert "policy.followed" in metrics(cli, "air.json", "--config", "settings/callmark.toml")


def test_policy_rules_may_be_inline_in_callmark_toml(cli: Cli) -> None:
    Path("callmark.toml").write_text('[[evaluators.policy.rules]]\nid = "a"\nsays = "b"\nnever = "book"\n')
    assert metrics(cli, "air.json")["policy.followed"]["mean"] == 0


@pytest.mark.parametrize(
    "text, expected_text",
    [
        (None, "rules.yaml: no such file"),
        ("rules: [", "rules.yaml, line 1: not valid YAML"),
        (
            "rules: [{id: a, says: b, never: 'f('}]",
            "rules.yaml: rule 'a': never: pattern 'f(', character 3: expected ARGUMENT=VALUE, got the end of the pattern",
        ),
        ("- a", "rules.yaml: expected an object with the key rules, got a list"),
        ("[" * 3000, "rules.yaml, line 1: nesting deeper than 200"),
    ],
)
def test_invalid_policy_file_is_refused_by_name(cli: Cli, text: str | None, expected_text: str) -> None:
    Path("rules.yaml").unlink() if text is None else Path("rules.yaml").write_text(text)
    found = cli("grade", "air.json", "--policy", "rules.yaml")
    assert (found.status, found.out) == (2, "")
    assert expected_text in found.err


def test_policy_evaluator_without_rules_is_refused(cli: Cli) -> None:
    assert "the evaluator policy needs rules" in cli("grade", "air.json", "--evaluator", "policy").err


def test_repeated_rule_is_refused(cli: Cli, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n- id: a\n  says: Never.\n  never: delete\n  never: make\n")
    completed = cli("grade", tmp_path / "cases.jsonl", "--policy", rules)
    assert completed.status == 2
    assert "rules.yaml, line 2: duplicate key 'never'" in completed.err


def test_rule_about_an_unknown_tool_is_reported(cli: Cli) -> None:
    tools = [{"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}]
    case = {"id": "c1", "messages": [user("x")], "tools": tools, "expected_output": {"tool_calls": [call("book")]}}
    Path("eval.jsonl").write_text(json.dumps(case) + "\n")
    Path("p.jsonl").write_text(json.dumps({"id": "c1", "tool_calls": [call("book")]}) + "\n")
    Path("rules.yaml").write_text("rules: [{id: known, says: a, never: boo*}, {id: mistyped, says: b, never: bok}]")
    printed = cli("grade", "eval.jsonl", "-p", "p.jsonl", "-e", "policy", "--policy", "rules.yaml").out
    assert "Rule mistyped can never be violated: no tool matches bok\n" in printed
    assert "Rule known" not in printed
