"""Python graders as JSON: same numbers as the reward when run as the service runs them, and the limits of the service."""

import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark import BadInput
from callmark.rewards import Reward, check_grader, multi_grader, python_grader
from tests.conftest import Cli
from tests.rewards.corpus import completions
from tests.rewards.packages.__main__ import graded, run_service, service_input

SOURCE = "def grade(sample, item):\n    return 1.0\n"


def test_grader_run_as_the_service_runs_it_gives_the_reward_to_the_bit(tmp_path: Path) -> None:
    corpus = [each for each in completions(600) if each.form == "messages"]
    assert run_service(python_grader(), [service_input(each) for each in corpus], tmp_path) == [graded(each) for each in corpus]


def test_weights_become_a_multi_grader_with_the_same_rewards(tmp_path: Path) -> None:
    reward = Reward(weights={"call.score": 0.75, "call.pass": 0.25}, malformed=-1.0, options={"call": {"threshold": 0.5}})
    corpus = [each for each in completions(200) if each.form == "messages"]
    grader = python_grader(reward)
    assert grader["calculate_output"] == "0.75 * call_score + 0.25 * call_pass"
    expected = [reward.score(each.completion, each.expected_output, tools=each.tools) for each in corpus]
    assert -1.0 in expected
    assert run_service(grader, [service_input(each) for each in corpus], tmp_path) == expected


def test_service_stand_in_refuses_the_network(tmp_path: Path) -> None:
    grader = {
        "type": "python",
        "name": "x",
        "source": "import socket\ndef grade(sample, item):\n    socket.socket().connect(('127.0.0.1', 9))\n",
    }
    with pytest.raises(RuntimeError, match="not allowed in a grader"):
        run_service(grader, [{"sample": {}, "item": {}}], tmp_path)


@pytest.mark.parametrize(
    "reward, message",
    [
        (Reward(metric="call.arguments"), "call.arguments cannot be exported"),
        (Reward(match={"f.a": {"$any": True}}), "a reward with match cannot be exported"),
    ],
)
def test_reward_that_the_exported_grader_lacks_is_refused(reward: Reward, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        python_grader(reward)


def python(source: str) -> dict[str, Any]:
    return {"type": "python", "name": "x", "source": source}


@pytest.mark.parametrize(
    "grader, message",
    [
        (python(SOURCE + "#" * 256_000), "expected at most 256,000 bytes, got 256,040"),
        (python("def grade(sample, item)"), "not valid Python"),
        (python("def score(sample, item):\n    return 1\n"), r"expected a function grade\(sample, item\)"),
        (python("import urllib.request\n" + SOURCE), "imports urllib.request"),
        (python("from socket import socket\n" + SOURCE), "imports socket"),
        (python(SOURCE + "open('x')\n"), "calls open"),
        ({**python(SOURCE), "name": ""}, "name is missing"),
        ({"type": "multi", "name": "m", "graders": {}, "calculate_output": "1"}, "at least one grader"),
        ({"type": "multi", "name": "m", "graders": {"a b": python(SOURCE)}, "calculate_output": "1"}, "cannot be used in a formula"),
        ({"type": "multi", "name": "m", "graders": {"a": python(SOURCE)}, "calculate_output": "b"}, "no grader is named b"),
        ({"type": "multi", "name": "m", "graders": {"a": python(SOURCE)}, "calculate_output": "open(a)"}, "unknown function"),
        ({"type": "multi", "name": "m", "graders": {"a": python(SOURCE)}, "calculate_output": "a.b"}, "Attribute is not allowed"),
        ({"type": "multi", "name": "m", "graders": {"a": python(SOURCE)}, "calculate_output": "a +"}, "not a formula"),
    ],
)
def test_grader_that_the_service_would_refuse_is_refused(grader: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        check_grader(grader)


def test_formula_may_use_functions_and_other_types_of_graders() -> None:
    other = {"type": "string_check", "name": "same", "input": "{{sample.output_text}}", "reference": "x", "operation": "eq"}
    assert multi_grader({"a": python_grader(), "b": other}, "max(a, 0.5 * b) ^ 2")["graders"]["b"] == other


def test_command_writes_the_json(cli: Cli, tmp_path: Path) -> None:
    result = cli("export", "grader", "--json", "-o", tmp_path / "grader.json")
    assert result.status == 0, result.err
    assert "Python grader, as JSON →" in result.out
    written = json.loads((tmp_path / "grader.json").read_text(encoding="utf-8"))
    assert written == python_grader()
    assert set(written) == {"type", "name", "source", "image_tag"}
    callmark.export_grader(tmp_path / "grader.py")
    assert written["source"].startswith((tmp_path / "grader.py").read_text(encoding="utf-8"))
