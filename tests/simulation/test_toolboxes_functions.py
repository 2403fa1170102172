"""Python functions as tools: signatures, docstrings, calls, and failures."""

import asyncio
import enum
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest

from callmark.errors import BadInput
from callmark.models import threads
from callmark.models.model import ModelError
from callmark.simulation.session import Toolbox, ToolResult, ToolSource
from callmark.simulation.toolboxes import open_tools
from callmark.simulation.toolboxes.docstrings import read_docstring
from callmark.simulation.toolboxes.signatures import Signature
from callmark.types import Call

Write = Callable[[str], str]
Use = Callable[[ToolSource], Awaitable[None]]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes a new module to the current folder and returns its name. Hanging functions are abandoned quickly."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(threads, "_STOP_TIMEOUT", 0.2)

    def write(code: str) -> str:
        name = f"tools_{len(list(tmp_path.glob('*.py')))}_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        return name

    return write


def use(spec: str, check: Use, timeout: float = 20) -> None:
    async def run() -> None:
        async with open_tools([f"python:{spec}"], timeout=timeout) as tools:
            await check(tools)

    asyncio.run(run())


def names(spec: str) -> list[str]:
    found: list[str] = []

    async def check(tools: ToolSource) -> None:
        found.extend(tool.name for tool in tools.tools)

    use(spec, check)
    return found


def call_tool(spec: str, name: str, timeout: float = 20, **arguments: Any) -> ToolResult | str:
    found: list[ToolResult | str] = []

    async def check(tools: ToolSource) -> None:
        async with tools.open_toolbox("a") as toolbox:
            try:
                found.append(await toolbox.call(Call(name, arguments)))
            except ModelError as error:
                found.append(str(error))

    use(spec, check, timeout)
    return found[0]


def refusal(spec: str) -> str:
    with pytest.raises(BadInput) as error:
        names(spec)
    return str(error.value)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float | None = None


@dataclass
class Paint:
    color: Color
    coats: Literal[2, 1] = 2


class Address(TypedDict, total=False):
    street: str


class Opaque:
    pass


@dataclass
class Tree:
    children: "list[Tree]"


NULLABLE = {"anyOf": [{"type": "string"}, {"type": "null"}]}
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None}},
    "required": ["x"],
}
PAINT = {
    "type": "object",
    "properties": {"color": {"type": "string", "enum": ["red", "blue"]}, "coats": {"type": "integer", "enum": [2, 1], "default": 2}},
    "required": ["color"],
}
SCHEMAS: list[tuple[Any, Any, dict[str, Any]]] = [
    (str, None, {**NULLABLE, "default": None}),
    (int, 3, {"type": "integer", "default": 3}),
    (float | None, None, {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None}),
    (bool, ..., {"type": "boolean"}),
    (Literal["b", "a"], "a", {"type": "string", "enum": ["b", "a"], "default": "a"}),
    (Literal[1, 2], ..., {"type": "integer", "enum": [1, 2]}),
    (Literal["b", 2, "a"], ..., {"type": ["string", "integer"], "enum": ["b", 2, "a"]}),
    (Literal["b", "a"] | None, None, {"anyOf": [{"type": "string", "enum": ["b", "a"]}, {"type": "null"}], "default": None}),
    (list[Literal[2, 1]], ..., {"type": "array", "items": {"type": "integer", "enum": [2, 1]}}),
    (Color, Color.RED, {"type": "string", "enum": ["red", "blue"], "default": "red"}),
    (Paint, ..., PAINT),
    (list[int], ..., {"type": "array", "items": {"type": "integer"}}),
    (dict[str, int], ..., {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Point, ..., POINT),
    (list[Point], ..., {"type": "array", "items": POINT}),
    (Address, ..., {"type": "object", "properties": {"street": {"type": "string"}}, "required": []}),
    (Tree, ..., {"type": "object", "properties": {"children": {"type": "array", "items": {}}}, "required": ["children"]}),
    (Annotated[str, "the city"], ..., {"type": "string", "description": "the city"}),
    (Opaque, Opaque(), {}),
    (Any, 5, {"type": "integer", "default": 5}),
    ("NotDefinedAnywhere", ..., {}),
]


@pytest.mark.parametrize(("hint", "default", "expected"), SCHEMAS)
def test_schema_of_a_parameter_follows_from_type_and_default(hint: Any, default: Any, expected: dict[str, Any]) -> None:
    def function(value: Any = default) -> None: ...

    function.__annotations__ = {"value": hint}
    if default is ...:
        function.__defaults__ = None
    tool = Signature(function, "f").tool
    assert tool.parameters == {
        "type": "object",
        "properties": {"value": expected},
        "required": ["value"] if default is ... else [],
        "additionalProperties": False,
    }


GOOGLE = """Books a room.

    It takes a while.

    Args:
        city (str): The city: a name,
            or a code.
        nights: How many.

    Returns:
        A number.
    """
NUMPY = """Books a room.

    It takes a while.

    Parameters
    ----------
    city : str, optional
        The city: a name,
        or a code.
    nights : int
        How many.

    Returns
    -------
    int
        A number.
    """
SPHINX = """Books a room.

    It takes a while.

    :param str city: The city: a name,
        or a code.
    :param nights: How many.
    :returns: A number.
    :raises ValueError: never
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX])
def test_docstring_is_read_in_three_styles(docstring: str) -> None:
    found = read_docstring(docstring)
    assert found.text == "Books a room.\n\nIt takes a while."
    assert found.parameters == {"city": "The city: a name, or a code.", "nights": "How many."}


@pytest.mark.parametrize(
    ("docstring", "text"), [(None, ""), ("", ""), ("Args:", ""), ("One: two.\n\nThree:\n  four", "One: two.\n\nThree:\n  four")]
)
def test_docstring_without_parameters(docstring: str | None, text: str) -> None:
    assert read_docstring(docstring).text == text
    assert read_docstring(docstring).parameters == {}


SHOP = '''
import enum
from dataclasses import dataclass
from os.path import join
from math import floor as _floor

class Size(enum.Enum):
    SMALL = "S"

@dataclass
class Item:
    name: str
    count: int = 1

def order(item: Item, size: Size = Size.SMALL, *, gift: bool = False) -> dict:
    """Orders an item."""
    return {"name": item.name, "count": item.count, "size": size.value, "gift": gift}

async def later(text: str) -> str:
    return text.upper()

def fails(why: str):
    raise ValueError(why)

def leaves():
    raise SystemExit(3)

def nothing():
    print("printed")

def anything(**more):
    return more

def slow():
    import time
    time.sleep(20)

def _private(): ...
'''
CALLS: list[tuple[str, dict[str, Any], ToolResult]] = [
    ("order", {"item": {"name": "tea"}}, ToolResult('{"name":"tea","count":1,"size":"S","gift":false}')),
    (
        "order",
        {"item": {"name": "tea", "count": 2.0}, "size": "S", "gift": True},
        ToolResult('{"name":"tea","count":2,"size":"S","gift":true}'),
    ),
    ("order", {"item": {"name": 5}}, ToolResult("item.name: expected a string, got a number.", True)),
    ("order", {}, ToolResult("order: item is missing.", True)),
    ("order", {"item": {"name": "tea"}, "gifts": True}, ToolResult("order: unknown argument 'gifts'. Did you mean gift?", True)),
    ("later", {"text": "soon"}, ToolResult("SOON")),
    ("fails", {"why": "sold out"}, ToolResult("ValueError: sold out", True)),
    ("leaves", {}, ToolResult("SystemExit: 3", True)),
    ("nothing", {}, ToolResult("")),
    ("anything", {"a": 1}, ToolResult('{"a":1}')),
    ("ordr", {}, ToolResult("Unknown tool 'ordr'. Did you mean order?", True)),
]


def test_functions_are_called_with_converted_arguments(module: Write, capsys: pytest.CaptureFixture[str]) -> None:
    async def check(tools: ToolSource) -> None:
        assert [tool.name for tool in tools.tools] == ["order", "later", "fails", "leaves", "nothing", "anything", "slow"]
        assert tools.tools[0].description == "Orders an item."
        async with tools.open_toolbox("a") as toolbox:
            for name, arguments, expected in CALLS:
                assert await toolbox.call(Call(name, arguments)) == expected
            assert await toolbox.state() is None

    use(module(SHOP), check)
    assert capsys.readouterr().out == ""


def test_function_that_modifies_its_arguments_does_not_change_the_call(module: Write) -> None:
    name = module("def take(items, more: dict):\n    more['n'] = items.pop()\n    return [items, more]\n")
    call = Call("take", {"items": ["a"], "more": {}})

    async def check(tools: ToolSource) -> None:
        async with tools.open_toolbox("a") as toolbox:
            assert await toolbox.call(call) == ToolResult('[[],{"n":"a"}]')

    use(name, check)
    assert call.arguments == {"items": ["a"], "more": {}}


def test_function_that_times_out_raises_a_model_error(module: Write) -> None:
    began = time.monotonic()
    name = module(SHOP)
    assert call_tool(name, "slow", timeout=0.2) == f"slow of python:{name} did not return within 0.2 s"
    assert time.monotonic() - began < 2


DESK = """
class Desk:
    floor = 3
    def __init__(self):
        self.tickets = {}
    def open_ticket(self, title: str) -> str:
        self.tickets["T1"] = {"title": title}
        return "T1"
    @property
    def size(self):
        raise RuntimeError("asked")
    @staticmethod
    def now() -> str:
        return "noon"
    def state(self):
        return {"tickets": self.tickets}
    def _hidden(self): ...

def made():
    return Desk()

def listed():
    seen = {}
    def note(text: str): seen[text] = {}
    def state(): return {"notes": seen}
    return [note, state]

def broken():
    raise RuntimeError("no desk")
"""


@pytest.mark.parametrize("maker", ["Desk", "Desk()", "made()"])
def test_class_is_instantiated_for_each_conversation(module: Write, maker: str) -> None:
    async def check(tools: ToolSource) -> None:
        assert [tool.name for tool in tools.tools] == ["open_ticket", "now"]
        async with tools.open_toolbox("a") as one, tools.open_toolbox("b") as other:
            assert await one.call(Call("open_ticket", {"title": "x"})) == ToolResult("T1")
            assert await one.state() == {"tickets": {"T1": {"title": "x"}}}
            assert await other.state() == {"tickets": {}}

    use(f"{module(DESK)}:{maker}", check)


def test_factory_may_return_a_list_of_functions(module: Write) -> None:
    async def check(tools: ToolSource) -> None:
        async with tools.open_toolbox("a") as toolbox:
            await toolbox.call(Call("note", {"text": "x"}))
            assert await toolbox.state() == {"notes": {"x": {}}}

    use(f"{module(DESK)}:listed()", check)


def test_failing_factory_is_an_error_of_one_conversation(module: Write) -> None:
    code = "made = []\ndef f(): return 'ok'\ndef tools():\n    made.append(1)\n    return [5] if len(made) == 2 else [f]\n"

    async def check(tools: ToolSource) -> None:
        with pytest.raises(ModelError, match="tools: expected functions with a name, got an int"):
            async with tools.open_toolbox("a"):
                pass
        async with tools.open_toolbox("b") as toolbox:
            assert await toolbox.call(Call("f")) == ToolResult("ok")

    use(f"{module(code)}:tools()", check)


def test_names_select_functions(module: Write) -> None:
    assert names(f"{module(SHOP)}:later,order") == ["later", "order"]
    assert names(module(f"__all__ = ['_private', 'join']\n{SHOP}")) == ["join", "_private"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("nosuchmodule", "python:nosuchmodule: no module named nosuchmodule"),
        (":x", "tools: expected a module such as python:my_tools, got python::x"),
        ("{desk}:Dsk", "module {desk} has no attribute 'Dsk'. Did you mean Desk?"),
        ("{desk}:Desk.floor", "{desk}:Desk.floor: expected a function or a class, got an int"),
        ("{desk}:broken()", "the tools of python:{desk}:broken() cannot be created: RuntimeError: no desk ({desk}.py:29)"),
        ("{empty}", "python:{empty} has no public functions"),
        ("{bad}", "python:{bad}: cannot import {bad}: SyntaxError: "),
        ("{desk}:Desk,made()", "two tools are named open_ticket in python:{desk}:Desk,made()"),
    ],
)
def test_unusable_python_spec_is_refused(module: Write, spec: str, expected: str) -> None:
    written = {"desk": module(DESK), "empty": module("x = 1"), "bad": module("def")}
    assert refusal(spec.format(**written)).startswith(expected.format(**written))


def test_invalid_state_raises_a_model_error(module: Write) -> None:
    async def check(tools: ToolSource) -> None:
        async with tools.open_toolbox("a") as toolbox:
            await reads(toolbox)

    async def reads(toolbox: Toolbox) -> None:
        with pytest.raises(ModelError, match="expected {table: {key: {column: value}}}, got a different structure"):
            await toolbox.state()

    use(module("def state(): return {'tickets': 3}\ndef tool(): ..."), check)
