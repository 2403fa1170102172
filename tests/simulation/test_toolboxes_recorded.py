"""Recorded results as tools, joined tool sources, and invalid tool specs."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.simulation.session import ToolResult
from callmark.simulation.toolboxes import open_tools
from callmark.types import Call

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}}},
    },
}


def row(*calls: tuple[dict[str, Any], str], tools: list[Any] | None = None) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "?"}]
    for number, (arguments, result) in enumerate(calls):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "weather", "arguments": json.dumps(arguments)}}
        messages += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": f"c{number}", "content": result}]
    return json.dumps({"messages": messages, "tools": [WEATHER] if tools is None else tools})


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    path = tmp_path / "dataset.jsonl"
    rows = [
        row(({"city": "Oslo"}, "rain"), ({"city": "Rome"}, "sun")),
        row(({"city": "Oslo", "days": 1}, "snow"), ({"city": "Oslo", "days": 2}, "fog")),
    ]
    path.write_text("\n".join(rows), encoding="utf-8")
    return f"recorded:{path}"


def test_kth_call_returns_the_kth_result_then_the_last(recorded: str) -> None:
    calls: list[tuple[dict[str, Any], ToolResult]] = [
        ({"city": "Oslo"}, ToolResult("rain")),
        ({"city": "Oslo", "days": "2"}, ToolResult("fog")),
        ({"city": " Oslo ", "days": 1.0}, ToolResult("snow")),
        ({"city": "Oslo"}, ToolResult("snow")),
        ({"city": "Paris"}, ToolResult("No result was recorded for this call.", is_error=True, missed=True)),
        ({"city": "oslo"}, ToolResult("No result was recorded for this call.", is_error=True, missed=True)),
        ({"city": "Rome"}, ToolResult("sun")),
    ]

    async def run() -> None:
        async with open_tools([recorded]) as tools:
            assert tools.label == "recorded:dataset.jsonl"
            assert [tool.name for tool in tools.tools] == ["weather"]
            for _ in range(2):  # each conversation begins at the first
                async with tools.open_toolbox("a") as toolbox:
                    for arguments, expected in calls:
                        assert await toolbox.call(Call("weather", arguments)) == expected
                    assert (await toolbox.call(Call("wether"))).is_error
                    assert await toolbox.state() is None

    asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (row(({"city": "Oslo"}, "rain"), tools=[]), "no tools found"),
        (row(), "no tool results found"),
        ("", "is empty"),
    ],
)
def test_file_without_tools_or_results_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "dataset.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=expected):
        open_tools([f"recorded:{path}"])


DESK = "class Desk:\n  def close(self): self.closed = True\n  def state(self): return {'desks': {'1': vars(self)}, 'same': {}}\n"


def test_several_sources_are_joined_into_one_toolbox(recorded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("joined_desk_a", "joined_desk_b"):
        (tmp_path / f"{name}.py").write_text(DESK.replace("close(", f"close_{name[-1]}("), encoding="utf-8")

    async def run() -> None:
        async with open_tools([recorded, "python:joined_desk_a:Desk", "python:joined_desk_b:Desk"]) as tools:
            assert tools.label == "recorded:dataset.jsonl + python:joined_desk_a:Desk + python:joined_desk_b:Desk"
            async with tools.open_toolbox("a") as toolbox:
                assert [tool.name for tool in toolbox.tools] == ["weather", "close_a", "close_b"]
                assert await toolbox.call(Call("weather", {"city": "Rome"})) == ToolResult("sun")
                assert await toolbox.call(Call("close_b")) == ToolResult("")
                assert await toolbox.state() == {
                    "desks": {"1": {}},
                    "same": {},
                    "python:joined_desk_b:Desk/desks": {"1": {"closed": True}},
                    "python:joined_desk_b:Desk/same": {},
                }
                assert (await toolbox.call(Call("closed"))).is_error

    asyncio.run(run())


def test_duplicate_tool_names_are_refused(recorded: str) -> None:
    async def run() -> None:
        async with open_tools([recorded, recorded]):
            pass

    with pytest.raises(BadInput, match=r"two tools are named weather, in recorded:dataset.jsonl and in recorded:dataset.jsonl"):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ([], "no tools given"),
        ([""], "--tools: expected KIND:SOURCE, got ''"),
        (["mcp:"], "--tools: expected a source such as mcp:'python server.py', got 'mcp:'"),
        (["python"], "--tools: expected a source such as python:my_tools, got 'python'"),
        (["recorded: "], "--tools: expected a source such as recorded:train.jsonl, got 'recorded:'"),
        (["recorded:nosuch.jsonl"], "nosuch.jsonl: no such file"),
        (["pyton:x"], "unknown tool source 'pyton'. Did you mean python?"),
        (["server.py"], "--tools: expected KIND:SOURCE, got 'server.py'"),
        (
            ["http://me:passw0rd@localhost/mcp?key=s3cr3tt0ken"],
            "--tools: expected mcp:URL for a tool server, got http://…@localhost/mcp?…",
        ),
    ],
)
def test_invalid_tool_spec_is_refused_with_an_example(specs: list[str], expected: str) -> None:
    with pytest.raises(BadInput) as error:
        open_tools(specs, keys=Keys())
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("shop.py", "--tools: expected KIND:SOURCE, got 'shop.py'. Did you mean python:shop?"),
        ("shop", "--tools: expected KIND:SOURCE, got 'shop'. Did you mean python:shop?"),
        ("shop:Desk", "unknown tool source 'shop'. Did you mean python:shop:Desk?"),
        ("store.py", "--tools: expected KIND:SOURCE, got 'store.py'"),
    ],
)
def test_python_file_is_suggested_as_a_tool_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, expected: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.py").touch()
    with pytest.raises(BadInput) as error:
        open_tools([spec], keys=Keys())
    assert str(error.value) == expected


def test_timeout_must_be_positive(recorded: str) -> None:
    with pytest.raises(BadInput, match="expected more than 0 seconds, got 0"):
        open_tools([recorded], timeout=0)
