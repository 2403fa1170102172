"""The LOB evaluation from Python: `EvaluationService` with `ChatSimulator` as its target."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from callmark.compat.lob import ChatSimulator, EvaluationService, FunctionCallReliabilityEvaluator
from callmark.errors import BadInput
from tests.rows import write_rows
from tests.simulation.mcp_servers import ends_soon, raw_server
from tests.simulation.notes_case import executed, scenario, write_folder

SERVER = """
TOOLS = [{"name": "add_note", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}}]
with open("pids", "a") as file:
    file.write(f"{os.getpid()}\\n")

def act(arguments):
    if arguments["title"] == "n2":
        os._exit(9)
    text("added")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in ("notes", "noting"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    write_folder(tmp_path)
    return tmp_path


def simulator(**more: Any) -> ChatSimulator:
    return ChatSimulator(**{"agent": "python:noting:answer", "tools": "python:notes:Notes", "user": "script", **more})


def evaluate(target: Any, evaluators: Any = None) -> Any:
    return EvaluationService().evaluate("scenarios.jsonl", "output", target, evaluators or [FunctionCallReliabilityEvaluator()])


def test_simulated_user_talks_to_the_chatbot() -> None:
    found = evaluate(simulator())
    assert (found.scored, found.errors, list(found.metrics.values())) == (4, 0, [1.0])
    assert executed() == ["n0", "n1", "n2", "n3"]
    assert json.loads(Path("output/evaluation_metrics.json").read_text()) == [found.metrics]
    rows = json.loads(Path("output/evaluation_results.json").read_text())[0]["rows"]
    assert [row["inputs.id"] for row in rows] == ["s0", "s1", "s2", "s3"]
    assert rows[0]["outputs.function_calls"] == [{"functionName": "add_note", "arguments": {"title": "n0"}}]
    assert [message["role"] for message in rows[0]["outputs.chat_history"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]


def test_server_failure_is_an_error_of_its_row_and_servers_are_closed(here: Path) -> None:
    found = evaluate(simulator(tools=f"mcp:{raw_server(here, SERVER)}"))
    assert (found.scored, found.errors, list(found.metrics.values())) == (3, 1, [1.0])
    errors = [row["outputs.error_message"] for row in found.rows]
    assert [bool(error) for error in errors] == [False, False, True, False]
    assert "the tool server raw_" in errors[2]
    pids = [int(pid) for pid in Path("pids").read_text().split()]
    assert len(pids) >= 4
    assert all(map(ends_soon, pids))


def test_servers_are_closed_when_an_evaluator_fails(here: Path) -> None:
    def failing(**columns: Any) -> float:
        raise ValueError("no")

    with pytest.raises(BadInput, match="evaluator failing raised ValueError: no"):
        evaluate(simulator(tools=f"mcp:{raw_server(here, SERVER)}"), {"failing": failing})
    assert all(map(ends_soon, map(int, Path("pids").read_text().split())))


def test_invalid_script_is_an_error_of_its_row(here: Path) -> None:
    write_rows(here / "scenarios.jsonl", scenario(0), scenario(1, data={"script": []}))
    found = evaluate(simulator())
    assert [row["outputs.error_message"] for row in found.rows] == [
        None,
        "scenario 's1': data.script: expected a list of non-empty lines, got []",
    ]


def test_conversation_that_the_user_did_not_understand_is_an_error_of_its_row(here: Path) -> None:
    (here / "foreign.py").write_text('def reply(messages, tools):\n    return f"Wie lautet Antwort {len(messages)}?"\n', encoding="utf-8")
    found = evaluate(simulator(agent="python:foreign:reply", user="rule-based"))
    assert (found.scored, found.errors) == (0, 4)
    assert {row["outputs.error_message"] for row in found.rows} == {"the simulated user did not understand the agent"}
    assert all(len(row["outputs.chat_history"]) > 4 for row in found.rows)


def test_simulator_works_inside_a_running_event_loop() -> None:
    async def notebook() -> Any:
        return evaluate(simulator())

    assert asyncio.run(notebook()).scored == 4


def test_concurrent_rows_and_closing_twice(here: Path) -> None:
    target = simulator(tools=f"mcp:{raw_server(here, SERVER.replace('os._exit(9)', 'pass'))}")

    async def work() -> list[dict[str, Any]]:
        try:
            return await asyncio.gather(*(target(**scenario(number)) for number in range(4)))
        finally:
            await target.aclose()
            await target.aclose()

    assert [row["ending"] for row in asyncio.run(work())] == ["completed"] * 4
    assert all(map(ends_soon, map(int, Path("pids").read_text().split())))


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"agent": "python:nowhere:f"}, "nowhere"),
        ({"user": "rule-basd"}, "Did you mean rule-based?"),
        ({"tools": "mcpp:x"}, "Did you mean mcp?"),
        ({"agent": "chatbot:http://127.0.0.1:9/x"}, "executes its own calls, so --tools cannot be used with it"),
    ],
)
def test_invalid_simulator_is_rejected_when_constructed(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence.replace("?", r"\?")):
        simulator(**given)
