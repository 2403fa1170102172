"""The adapters of agent frameworks, on messages that the real packages returned (`make frameworks` runs the packages themselves)."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from callmark import registry
from callmark.calls.strict import parse
from callmark.integrations.framework import Framework
from callmark.types import Message
from tests.conftest import Cli
from tests.frameworks.__main__ import FIXTURES, FRAMEWORKS

RECORDED = json.loads((FIXTURES / "by_hand.json").read_text(encoding="utf-8"))


def framework(name: str) -> Framework:
    found = import_module(registry.BUILT_IN["agents"][name].partition(":")[0]).FRAMEWORK
    assert isinstance(found, Framework)
    return found


def turns(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def plain(messages: list[Message]) -> list[Any]:
    """Return what counts: who said what, the calls, and the results, with objects in place of JSON text."""
    found: list[Any] = []
    for message in messages:
        if message.role not in ("assistant", "tool"):
            continue
        calls = [(call.name, call.arguments, call.malformed) for call in message.calls]
        found.append((message.role, _value(message.text) if message.role == "tool" else message.text, calls))
    return found


def _value(text: str) -> Any:
    value = parse(text.encode()) if text.startswith(("{", "[")) else text
    return value["result"] if isinstance(value, dict) and list(value) == ["result"] else value


def test_every_framework_is_registered_and_recorded() -> None:
    assert list(registry.BUILT_IN["agents"]) == list(FRAMEWORKS)
    assert {file.stem for file in FIXTURES.glob("*.json")} == {*FRAMEWORKS, "by_hand"}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_recorded_messages_are_read_as_the_conversation_by_hand(name: str) -> None:
    expected = []
    for message in RECORDED:
        calls = [(call["function"]["name"], json.loads(call["function"]["arguments"]), "") for call in message.get("tool_calls", ())]
        text = message["content"] or ""
        if message["role"] != "user":
            expected.append((message["role"], _value(text) if message["role"] == "tool" else text, calls))
    assert [part for turn in turns(name) for part in plain(framework(name).read(turn["messages"]))] == expected


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_result_belongs_to_a_call_before_it(name: str) -> None:
    for turn in turns(name):
        ids = set()
        for message in framework(name).read(turn["messages"]):
            ids |= {call.id for call in message.calls}
            assert message.role != "tool" or message.tool_call_id in ids


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_tokens_are_those_of_every_response(name: str) -> None:
    responses = sum(message["role"] == "assistant" for message in RECORDED)
    assert sum(turn["input_tokens"] for turn in turns(name)) == 100 * responses
    assert sum(turn["output_tokens"] for turn in turns(name)) == 10 * responses


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_framework_that_is_not_installed_is_named(name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scenarios.json").write_text('[{"id": "a", "instructions": "…", "expected_function_calls": []}]', encoding="utf-8")
    done = cli("simulate", "scenarios.json", "--agent", f"{name}:my_agent:agent")
    assert (done.status, done.err.splitlines()[0]) == (2, f"callmark: {name}:my_agent:agent: {framework(name).package} is not installed.")
