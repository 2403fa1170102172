"""Users, agents, toolboxes and worlds of an installed package, selected by name on the command line."""

import json
import sys
from pathlib import Path

import pytest

from callmark.cli.main import run
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.simulation.toolboxes import open_tools
from callmark.simulation.users import open_user
from callmark.synthesis.world import find_world, match_world
from callmark.types import Tool
from tests.simulation.notes_case import lines

ENTRY_POINTS = """
[callmark.users]
parrot = theirs_simulation:USER
[callmark.agents]
clerk = theirs_simulation:AGENT
[callmark.toolboxes]
shelf = theirs_simulation:TOOLBOX
[callmark.worlds]
shelves = theirs_simulation:Shelves
"""
MODULE = """
from contextlib import asynccontextmanager

from callmark import (
    AgentProvider, BadInput, Call, Case, Message, NullContext, Tool, ToolboxProvider, ToolResult, UserProvider, UserTurn, World,
)

PUT = Tool("put", "Put a book on the shelf", {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]})


class Parrot(NullContext):
    def __init__(self, options, seed):
        self.label = f"parrot:{options}"
        self.words = options or "Please"

    def start_session(self, case, trial):
        return Lines([f"{self.words} put {case.expected[0].arguments['title']} on the shelf, number {case.id}.", "Thanks, goodbye."])


class Lines:
    def __init__(self, lines):
        self.lines = lines

    async def next_turn(self, messages):
        return UserTurn(self.lines.pop(0), not self.lines)


class Clerk:
    async def reply(self, session):
        if not any(message.role == "tool" for message in session.messages):
            call = Call("put", dict(session.case.expected[0].arguments), "call_1")
            result = await session.toolbox.call(call)
            session.messages += [Message("assistant", "", (call,)), Message("tool", result.text, (), call.id, call.name)]
        session.messages.append(Message("assistant", f"It is there, {session.case.id}."))


class Shelf(NullContext):
    tools = (PUT,)

    def __init__(self, name):
        self.label = f"shelf:{name}"

    @asynccontextmanager
    async def open_toolbox(self, conversation):
        yield Books()


class Books:
    tools = (PUT,)

    def __init__(self):
        self.books = {}

    async def call(self, call):
        self.books[call.arguments["title"]] = {"read": False}
        return ToolResult("ok")

    async def state(self):
        return {"books": dict(self.books)}


class Shelves(World):
    label = "the shelves"
    tools = ("shelf:top",)
    tool_definitions = (PUT,)

    def plans(self, number, *, seed, start=0, balance=False):
        titles = [f"{' '.join(f'w{index}x{word}' for word in range(20))}" for index in range(start, start + number)]
        return [
            Case(f"b{start + index}", instructions="…", expected=(Call("put", {"title": title}),), data={"plan": {}})
            for index, title in enumerate(titles)
        ]

    def expert(self):
        return Clerk()

    def user(self, seed):
        return Parrot("Kindly", seed)

    def check_state(self, state):
        if state != {"books": {}}:
            raise BadInput("the shelf is not empty")


def _open_clerk(options, settings):
    if options:
        raise BadInput(f"the clerk takes no options, got {options!r}")
    return Clerk()


USER = UserProvider("parrot", Parrot, "says the title", ("parrot:Hey",))
AGENT = AgentProvider("clerk", _open_clerk)
TOOLBOX = ToolboxProvider("shelf", lambda text, settings: Shelf(text), "shelf:top", "a shelf")
"""
SCENARIOS = [
    {
        "id": f"s{number}",
        "instructions": "…",
        "expected_function_calls": [{"functionName": "put", "arguments": {"title": f"Dune {number}"}}],
    }
    for number in range(2)
]


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "package"
    info = folder / "theirs_simulation-1.dist-info"
    info.mkdir(parents=True)
    (folder / "theirs_simulation.py").write_text(MODULE, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs-simulation\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "theirs_simulation", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("scenarios.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in SCENARIOS), encoding="utf-8")


def _open_nothing(spec: str) -> tuple[None, str]:
    raise AssertionError(spec)


def test_installed_user_agent_and_toolbox_take_part_in_a_simulation() -> None:
    assert run(["simulate", "scenarios.jsonl", "-a", "clerk", "-u", "parrot:Hey", "-t", "shelf:top", "--name", "mine", "--json"]) == 0
    rows = lines("runs/mine/predictions.jsonl")
    assert {row["case"] for row in rows} == {"s0", "s1"}
    spoken = [message["content"] for row in rows for message in row["transcript"] if message["role"] == "user"]
    assert spoken[0].startswith("Hey put Dune ")
    assert {grade["metrics"]["state.reached"] for grade in lines("runs/mine/grades.jsonl")} == {1.0}


def test_installed_agent_refuses_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "scenarios.jsonl", "-a", "clerk:fast", "-t", "shelf:top"]) == 2
    assert "the clerk takes no options, got 'fast'" in capsys.readouterr().err


def test_installed_user_gets_its_options_and_none_without_a_colon() -> None:
    assert open_user("parrot:Hey", open_model=_open_nothing).label == "parrot:Hey"  # type: ignore[arg-type]
    assert open_user("parrot", open_model=_open_nothing).label == "parrot:None"  # type: ignore[arg-type]


def test_names_of_installed_extensions_are_suggested() -> None:
    with pytest.raises(BadInput, match="Did you mean parrot") as user:
        open_user("parrt", open_model=_open_nothing)  # type: ignore[arg-type]
    assert "parrot" in user.value.hint
    with pytest.raises(BadInput, match="Did you mean shelf"):
        open_tools(["shelv:top"], keys=Keys())
    with pytest.raises(BadInput, match="tools: expected a source such as shelf:top, got 'shelf:'"):
        open_tools(["shelf:"], keys=Keys())


def test_installed_world_is_synthesized_by_name() -> None:
    assert run(["synth", "--world", "shelves", "-n", "3", "-o", "data", "--json"]) == 0
    rows = lines("data/train.jsonl") + lines("data/valid.jsonl")
    assert len(rows) == 3
    assert all(row["messages"][0]["content"].startswith("Kindly put ") for row in rows)
    assert json.loads(Path("data/synth.json").read_text())["world"] == "the shelves"


def test_world_is_found_by_its_tools() -> None:
    assert run(["synth", "--tools", "shelf:top", "-n", "2", "-o", "data", "--json"]) == 0
    assert json.loads(Path("data/synth.json").read_text())["world"] == "the shelves"
    assert match_world([Tool("take", "", {})]) is None


def test_unknown_world_is_refused_with_the_closest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synth", "--world", "shelvs", "-o", "data"]) == 2
    assert "unknown world 'shelvs'. Did you mean shelves?" in capsys.readouterr().err
    assert find_world("retail").label == "the retail store"
