"""`callmark tools`, for every kind of source."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from callmark.cli.tools import command
from callmark.errors import BadInput
from tests.simulation.mcp_servers import raw_server

TOOL = {"type": "function", "function": {"name": "act", "description": "", "parameters": {"type": "object"}}}
FUNCTION = {
    "type": "function",
    "function": {
        "name": "act",
        "description": "Acts.",
        "parameters": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    },
}
OPERATION = {
    "type": "function",
    "function": {"name": "act", "description": "", "parameters": {"type": "object", "properties": {}, "required": []}},
}


def printed(source: str, *options: str) -> Any:
    completed = CliRunner().invoke(command, [source, *options], catch_exceptions=False)
    assert completed.exit_code == 0
    return completed.stdout


def refusal(source: str) -> str:
    with pytest.raises(BadInput) as error:
        printed(source)
    return str(error.value)


def test_every_source_is_printed_as_openai_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "listed_functions.py").write_text('def act():\n    "Acts."\n', encoding="utf-8")
    (tmp_path / "api.json").write_text('{"openapi": "3.1.0", "paths": {"/": {"get": {"operationId": "act"}}}}', encoding="utf-8")
    (tmp_path / "tools.json").write_text(json.dumps([TOOL]), encoding="utf-8")
    (tmp_path / "object.json").write_text(json.dumps({"tools": [TOOL]}), encoding="utf-8")
    call = {"id": "1", "type": "function", "function": {"name": "act", "arguments": "{}"}}
    messages = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "1", "content": "done"}]
    rows = [{"messages": messages, "tools": [TOOL]}, {"messages": messages, "tools": [{**TOOL, "more": 1}]}]
    (tmp_path / "conversations.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for source, expected in (
        (f"mcp:{raw_server(tmp_path)}", TOOL),
        ("python:listed_functions", FUNCTION),
        ("recorded:conversations.jsonl", TOOL),
        ("conversations.jsonl", TOOL),
        ("api.json", OPERATION),
        ("tools.json", TOOL),
        ("object.json", TOOL),
    ):
        assert json.loads(printed(source)) == [expected], source


def test_json_is_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "api.yaml"
    path.write_text("openapi: 3.0.0\npaths: {/: {get: {operationId: act}}}", encoding="utf-8")
    assert printed(str(path), "--json").count("\n") == 1
    assert printed(str(path)).count("\n") > 10


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nosuch.jsonl", "nosuch.jsonl: no such file"),
        ("nosuch.yaml", "nosuch.yaml: no such file"),
        ("mpc:server", "unknown tool source 'mpc'. Did you mean mcp?"),
        ("bare.jsonl", "bare.jsonl: no row has tools"),
    ],
)
def test_source_without_tools_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, expected: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.jsonl").write_text('{"messages": [{"role": "user", "content": "hi"}]}', encoding="utf-8")
    assert refusal(source) == expected
