"""Synthesis over tools that can be called: plans are made by calling them, results are real, refused calls are recorded as such."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import callmark
from callmark.calls.results import match_results
from callmark.models.keys import Keys
from callmark.models.model import ModelError
from callmark.runs.event_loop import run_sync
from callmark.simulation.session import NullContext, ToolResult
from callmark.simulation.toolboxes import open_tools
from callmark.synthesis import server_world
from callmark.synthesis.server_arguments import ArgumentGenerator
from callmark.synthesis.server_values import Parameter, names_resource, observe, refers_to
from callmark.types import Call, Conversation, Tool
from tests.conftest import Cli

SERVER = '''
import json

_room = {"R-1": "history", "R-2": "travel"}
_books = {}


def list_rooms() -> str:
    """List all rooms."""
    return json.dumps([{"room_id": key, "name": name} for key, name in _room.items()])


def get_room(room_id: str) -> str:
    """Get a room.

    Args:
        room_id: The ID of the room.
    """
    if room_id not in _room:
        raise ValueError(f"there is no room {room_id}")
    return json.dumps({"room_id": room_id, "name": _room[room_id]})


def create_book(title: str, pages: int, lent: bool = False) -> str:
    """Create a book."""
    _books[title] = pages
    return json.dumps({"title": title, "pages": pages, "lent": lent})


def delete_book(book_title: str) -> str:
    """Delete a book."""
    return json.dumps({"deleted": book_title, "pages": _books.pop(book_title)})


def open_vault(word: str) -> str:
    """Open the vault."""
    raise ValueError("the vault stays closed")
'''


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "rooms", raising=False)
    Path("rooms.py").write_text(SERVER, encoding="utf-8")
    assert cli("synth", "--tools", "python:rooms", "-n", "30", "-o", "data").status == 0
    return tmp_path / "data"


def rows_of(out: Path) -> list[tuple[Conversation, dict[str, Any]]]:
    found = []
    for name in ("train.jsonl", "valid.jsonl"):
        raw = map(json.loads, (out / name).read_text(encoding="utf-8").splitlines())
        found += list(zip((row for row in callmark.load(out / name) if isinstance(row, Conversation)), raw, strict=True))
    return found


def test_conversations_are_grounded_and_replay_with_equal_results(out: Path) -> None:
    rows = rows_of(out)
    assert len(rows) == 30
    assert callmark.lint(row for row, _ in rows).findings == []
    assert {call.name for row, _ in rows for call in row.calls} == {"list_rooms", "get_room", "create_book", "delete_book", "open_vault"}

    async def replay() -> None:
        async with open_tools(["python:rooms"]) as source:
            for index, (row, raw) in enumerate(rows):
                async with source.open_toolbox(f"replay-{index}/0/x") as toolbox:
                    for (message, place), result in match_results(row.messages).by_call.items():
                        call = row.messages[message].calls[place]
                        answer = await toolbox.call(call)
                        assert answer.text == row.messages[result].text
                        assert answer.is_error == (call.id in raw.get("refused_calls", ()))

    run_sync(replay)


def test_refused_calls_are_recorded_as_such(out: Path) -> None:
    refused = [(row, raw["refused_calls"]) for row, raw in rows_of(out) if "refused_calls" in raw]
    assert refused
    for row, ids in refused:
        assert all(call.name == "open_vault" for call in row.calls if call.id in ids)
        assert any("the vault stays closed" in message.text for message in row.messages if message.role == "assistant")
    assert json.loads((out / "synth.json").read_text(encoding="utf-8"))["refused_calls"] == sum(len(ids) for _, ids in refused)


def test_values_come_from_earlier_results(out: Path) -> None:
    """A room is looked up in the list, and a book is created before it is deleted."""
    for row, _ in rows_of(out):
        names = [call.name for call in row.calls]
        for index, call in enumerate(row.calls):
            if call.name == "get_room":
                assert "list_rooms" in names[:index]
                assert call.arguments["room_id"] in ("R-1", "R-2")
            if call.name == "delete_book":
                created = [other.arguments["title"] for other in row.calls[:index] if other.name == "create_book"]
                assert call.arguments["book_title"] in created


def test_resumed_synthesis_reads_its_plans(out: Path, cli: Cli) -> None:
    before = (out / "train.jsonl").read_bytes()
    assert cli("synth", "--tools", "python:rooms", "-n", "30", "-o", "data", "--resume").status == 0
    assert (out / "train.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "text, noun, expected",
    [
        ('[{"name": "Ada", "type": "person"}]', "entity", [("entity", "name", "Ada"), ("entity", "type", "person")]),
        ('{"books": [{"title": "Rain"}], "count": 1}', "", [("book", "title", "Rain"), ("", "count", 1)]),
        ('["main", "dev"]', "branch", [("branch", "name", "main"), ("branch", "name", "dev")]),
        ("Commit: 'a1b2'\nAuthor: Mei Chen", "log", [("log", "Commit", "a1b2"), ("log", "Author", "Mei Chen")]),
        ("All good.", "thing", []),
        ("", "thing", []),
    ],
)
def test_values_of_a_result(text: str, noun: str, expected: list[tuple[str, str, Any]]) -> None:
    assert [(item.kind, item.field, item.value) for item in observe(text, noun)] == expected


@pytest.mark.parametrize(
    "parameter, kind, field, expected",
    [
        (Parameter("entityName", ""), "entity", "name", True),
        (Parameter("entityNames", "", many=True), "entity", "name", True),
        (Parameter("from", "The name of the entity where the relation starts"), "entity", "name", True),
        (Parameter("name", "The name of the entity", "entity", creates=True), "entity", "name", False),
        (Parameter("ticket_id", ""), "support ticket", "id", True),
        (Parameter("ticket_id", ""), "", "ticket_id", True),
        (Parameter("name", ""), "branch", "name", False),
        (Parameter("priority", "", "ticket", creates=True), "priority", "name", True),
        (Parameter("observations", "", "entity", creates=True, many=True), "observation", "name", False),
        (Parameter("city", ""), "hotel", "price", False),
    ],
)
def test_which_parameter_takes_a_value(parameter: Parameter, kind: str, field: str, expected: bool) -> None:
    assert refers_to(parameter, kind, field) is expected


class CrashingTools(NullContext):
    """A server that lists its tools, and exits on every call."""

    label = "crashing"
    tools = (Tool("list_rooms"), Tool("list_books"))

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Any]:
        yield self

    async def call(self, call: Call) -> ToolResult:
        raise ModelError("the tool server exited with status 1")


def test_server_that_fails_at_every_call_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations about what no tool can do would look as if the tools had been tried."""
    monkeypatch.setattr(server_world, "open_tools", lambda specs, keys: CrashingTools())
    world = server_world.ServerWorld(("mcp:server",), CrashingTools.tools, Keys())
    with pytest.raises(ModelError, match="the tool server exited with status 1"):
        world.plans(10, seed=1)


@pytest.mark.parametrize(
    "schema, low, high",
    [
        ({"type": "integer", "default": 5}, 2, 8),
        ({"type": "integer", "default": 5, "minimum": "1", "maximum": None}, 2, 8),
        ({"type": "integer", "default": -5, "minimum": -10, "maximum": -1}, -10, -1),
        ({"type": "number", "default": 0.5, "maximum": 0.9}, 0, 0.9),
        ({"type": "integer", "default": 3, "minimum": 2, "maximum": 4}, 2, 4),
    ],
)
def test_number_near_a_default_fits_the_schema(schema: dict[str, Any], low: float, high: float) -> None:
    values = ArgumentGenerator("seed", Random(1))
    assert all(low <= values.generate(schema, "days", "trip") <= high for _ in range(30))


def test_length_of_a_list_is_limited_whatever_its_schema_says() -> None:
    schema = {"type": "array", "minItems": 10**12, "items": {"type": "boolean"}}
    assert len(ArgumentGenerator("seed", Random(1)).generate(schema, "flags", "trip")) == 20


def test_which_parameter_needs_a_resource() -> None:
    assert names_resource(Parameter("room_id", ""), "room")
    assert names_resource(Parameter("to", "the name of the entity"), "entity")
    assert not names_resource(Parameter("observations", "", "entity", creates=True, many=True), "observation")
    assert not names_resource(Parameter("title", ""), "")
