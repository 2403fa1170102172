"""MCP servers as tools, with real servers: what they are asked, who sees whose state, and everything that a server may do wrong."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelError
from callmark.simulation.session import State, Toolbox, ToolResult, ToolSource
from callmark.simulation.states import changes
from callmark.simulation.toolboxes import connection, open_tools, server_process
from callmark.simulation.toolboxes.results import StateReader
from callmark.types import Call, Tool
from tests.simulation.mcp_servers import ends_soon, free_port, raw_server, real_server

Use = Callable[[ToolSource], Awaitable[None]]


def use(spec: str, check: Use, timeout: float = 20) -> None:
    async def run() -> None:
        async with open_tools([spec], timeout=timeout, keys=Keys()) as tools:
            await check(tools)

    asyncio.run(run())


async def call_tool(toolbox: Toolbox, name: str, **arguments: object) -> ToolResult:
    return await toolbox.call(Call(name, dict(arguments)))


async def said(toolbox: Toolbox, name: str) -> str:
    """The text of the result, or why there is none."""
    try:
        return (await call_tool(toolbox, name)).text
    except ModelError as error:
        return f"no reply: {error}"


def acted(command: str, timeout: float = 20, times: int = 1) -> list[str]:
    """What comes of a call of `act`, in a conversation of its own each time."""
    found: list[str] = []

    async def check(tools: ToolSource) -> None:
        for _ in range(times):
            async with tools.open_toolbox("a") as toolbox:
                found.append(await said(toolbox, "act"))

    use(f"mcp:{command}", check, timeout)
    return found


def refusal(spec: str) -> str:
    async def nothing(tools: ToolSource) -> None:
        raise AssertionError("it was entered")

    with pytest.raises(BadInput) as error:
        use(spec, nothing)
    return str(error.value)


@pytest.fixture
def _short_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "GRACE_PERIOD", 0.3)
    monkeypatch.setattr(connection, "GRACE_PERIOD", 0.3)


@pytest.mark.usefixtures("_short_moments")
def test_each_conversation_has_its_own_server(tmp_path: Path) -> None:
    pids: list[int] = []

    async def check(tools: ToolSource) -> None:
        assert [tool.name for tool in tools.tools][:2] == ["add_note", "pid"]
        assert tools.tools[0].description == "Add a note."
        assert tools.tools[0].parameters["required"] == ["title"]
        async with tools.open_toolbox("a") as one, tools.open_toolbox("b") as other:
            assert one.tools == tools.tools
            assert await call_tool(one, "add_note", title="milk") == ToolResult("added milk")
            assert await one.state() == {"notes": {"milk": {"text": ""}}}
            assert await other.state() == {"notes": {}}
            pids.extend([int(await said(one, "pid")), int(await said(other, "pid"))])
            assert await call_tool(one, "structured") == ToolResult('{"count":2}')
            assert await call_tool(one, "refuse") == ToolResult("not allowed", is_error=True)
            assert await call_tool(one, "picture") == ToolResult("before\n[image: image/png]")
            assert (await call_tool(one, "add_note", title=7)).is_error
            assert await call_tool(one, "add_nots") == ToolResult(
                "There is no tool called 'add_nots'. Did you mean add_note?", is_error=True
            )
            assert (await one.call(Call("add_note", malformed="not JSON"))).is_error
            assert await said(one, "noisy") == "done"
            big = await call_tool(one, "big")
            assert big.text.startswith("é" * 524_288 + "\n")
            assert big.text.endswith("[cut: the result has 2,000,000 bytes, these are the first 1,048,576]")
            gone = await said(other, "die")
            assert "notes_server.py did not answer die: it ended with exit status 7; its last words: " in gone
            assert "the disk is full" in gone
            assert "did not answer pid: it ended with exit status 7" in await said(other, "pid")
            assert await said(one, "pid") == str(pids[0])
            assert str(pids[0]) != str(pids[1])

    use(f"mcp:{real_server(tmp_path)}", check)
    assert all(map(ends_soon, pids))


@pytest.mark.usefixtures("_short_moments")
def test_server_that_separates_conversations_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callmark.simulation.toolboxes.mcp._PING_TIMEOUT", 0.5)
    pids: list[int] = []

    async def one(tools: ToolSource, number: int) -> str:
        async with tools.open_toolbox(f"c{number}") as toolbox:
            assert await toolbox.state() == {"notes": {}}
            await call_tool(toolbox, "add_note", title=f"n{number}")
            await asyncio.sleep(0.01)
            assert await toolbox.state() == {"notes": {f"n{number}": {"text": ""}}}
            return await said(toolbox, "pid")

    async def check(tools: ToolSource) -> None:
        served = set(await asyncio.gather(*[one(tools, number) for number in range(20)]))
        assert len(served) == 1
        pids.extend(map(int, served))
        async with tools.open_toolbox("x") as toolbox, tools.open_toolbox("y") as beside:
            assert "exit status 7" in await said(toolbox, "die")
            assert "exit status 7" in await said(beside, "pid")  # what it had done there is lost
        pids.append(int(await one(tools, 1)))
        async with tools.open_toolbox("z") as toolbox:
            call = asyncio.create_task(said(toolbox, "hang"))
            await asyncio.sleep(0.1)
            call.cancel()
        assert int(await one(tools, 2)) == pids[-1]  # who is cancelled disturbs nobody else
        async with tools.open_toolbox("z") as toolbox:
            assert "did not answer block within 2 s" in await said(toolbox, "block")
        pids.append(int(await one(tools, 3)))  # the one that answers nobody any more has been replaced
        assert len(set(pids)) == 3

    use(f"mcp:{real_server(tmp_path, 'shared')}", check, timeout=2)
    assert all(map(ends_soon, pids))


def test_initial_state_of_a_shared_server_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    read = StateReader.read

    def looked(self: StateReader, text: str) -> State:
        looks.append(text)
        return read(self, text)

    monkeypatch.setattr(StateReader, "read", looked)

    async def one(tools: ToolSource, number: int) -> None:
        async with tools.open_toolbox(f"c{number}") as toolbox:
            before = await toolbox.state()
            assert before == await toolbox.state() == {"notes": {}}
            if number % 2:
                await call_tool(toolbox, "add_note", title="x")
                assert await toolbox.state() == {"notes": {"x": {"text": ""}}}

    async def check(tools: ToolSource) -> None:
        await asyncio.gather(*[one(tools, number) for number in range(10)])

    use(f"mcp:{real_server(tmp_path, 'shared')}", check, timeout=5)
    assert len(looks) == 1 + 5
    looks.clear()
    use(f"mcp:{real_server(tmp_path)}", lambda tools: one(tools, 1), timeout=5)
    assert len(looks) == 3  # of a server that does not promise it, every time


def test_equal_rows_are_the_same_object() -> None:
    reader = StateReader("the desk")
    one = reader.read('{"a": {"1": {"x": 1}, "2": {"x": 1}}, "b": {}}')
    other = reader.read('{"a": {"1": {"x": 1}, "2": {"x":1.0}}}')
    assert one == {"a": {"1": {"x": 1}, "2": {"x": 1}}, "b": {}}
    assert one["a"]["1"] is one["a"]["2"] is other["a"]["1"] is not other["a"]["2"]
    assert changes(one, other).rows == {}
    with pytest.raises(ModelError, match="the state of the desk is not made of tables"):
        reader.read('{"a": {"1": 5}}')
    with pytest.raises(ModelError, match="the state of the desk cannot be read"):
        reader.read('{"a": {"1": {"x": NaN}}}')


@pytest.fixture
def over_http(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, str(tmp_path / "notes_server.py"), "http", str(port)]
    real_server(tmp_path)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        while line := process.stderr.readline():
            if b"running on" in line:
                break
        yield f"127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_over_http_a_conversation_has_a_session_of_its_own(over_http: str) -> None:
    async def check(tools: ToolSource) -> None:
        assert tools.label == f"mcp:http://…@{over_http}?token=…"
        async with tools.open_toolbox("a") as one, tools.open_toolbox("b") as other:
            assert await call_tool(one, "add_note", title="milk") == ToolResult("added milk")
            assert await other.state() == {"notes": {"milk": {"text": ""}}}  # this server keeps nothing apart
            assert (await call_tool(one, "big")).text.endswith("these are the first 1,048,576]")
            gone = await said(one, "die")
            assert gone.startswith(f"no reply: the tool server http://…@{over_http}?token=… did not answer die: ")
            assert "nobody answers there" in await said(other, "pid")
        for number in range(4):
            with pytest.raises(ModelError, match="nobody answers there") as error:
                async with tools.open_toolbox("c"):
                    pass
            assert error.value.fatal is (number == 3)

    use(f"mcp:http://me:passw0rd@{over_http}?token=s3cr3tt0ken", check)
    assert refusal(f"mcp:http://me:passw0rd@{over_http}?token=s3cr3tt0ken") == (
        f"the tool server http://…@{over_http}?token=… cannot be used: nobody answers there"
    )


FAULTS = {
    "garbage without end": ("def act(_):\n while True: os.write(1, b'garbage\\n' * 1000)", "it wrote without end and answered nothing"),
    "notifications without end": (
        "NOISE = {'jsonrpc': '2.0', 'method': 'notifications/message', 'params': {'level': 'info', 'data': 'x' * 60000}}\n"
        "def act(_):\n while True: write(NOISE)",
        "it wrote without end and answered nothing",
    ),
    "a line without end": ("def act(_):\n while True: os.write(1, b'x' * 65536)", "it wrote a line of more than 16 MB"),
    "closed output": ("def act(_):\n os.close(1)\n time.sleep(100)", "it closed its output"),
    "killed": ("def act(_): os.kill(os.getpid(), 9)", "it was ended by signal 9 (Killed)"),
    "not JSON": ("def act(_): print('{oops', flush=True)", "did not answer act within 1 s; it wrote '{oops' to its standard output"),
    "no result": ("def act(_): answer({'content': 'x'})", "answered act with what is no answer: "),
    "internal error": ("def act(_): fail(-32603, 'out of order')", "failed at act: 'out of order'"),
}


@pytest.mark.usefixtures("_short_moments")
@pytest.mark.parametrize(("code", "expected"), FAULTS.values(), ids=FAULTS)
def test_misbehaving_server_raises_a_model_error(tmp_path: Path, code: str, expected: str) -> None:
    first, second = acted(raw_server(tmp_path, code), timeout=1 if "JSON" in expected or "oops" in expected else 10, times=2)
    assert first.startswith("no reply: the tool server raw_0.py ")
    assert expected in first
    assert expected in second  # and a conversation after it has a server of its own


def test_error_response_of_a_server_is_an_error_result(tmp_path: Path) -> None:
    assert acted(raw_server(tmp_path, "def act(_): fail(-32602, 'unknown ticket')")) == ["unknown ticket"]


def test_line_that_is_not_mcp_is_skipped(tmp_path: Path) -> None:
    assert acted(raw_server(tmp_path, "print('starting …', flush=True)\ndef act(_): print('working'); text('fine')")) == ["fine"]


def test_keys_in_tool_definitions_are_hidden_and_repeated_tools_merged(tmp_path: Path) -> None:
    schema = "{'type': 'object', 'properties': {'key': {'type': 'string', 'default': 'sk-1234abcd'}}}"
    command = raw_server(tmp_path, f"TOOLS = [{{'name': 'act', 'description': 'uses sk-1234abcd', 'inputSchema': {schema}}}] * 2")

    async def run() -> tuple[Tool, ...]:
        async with open_tools([f"mcp:{command}"], timeout=20, keys=Keys({"ACT_KEY": "sk-1234abcd"})) as tools:
            return tools.tools

    (tool,) = asyncio.run(run())
    assert tool == Tool("act", "uses …", {"type": "object", "properties": {"key": {"type": "string", "default": "…"}}})


BEGINNINGS = {
    "no program": ("mcp:nosuchprogram --token s3cr3tt0ken", "there is no program called 'nosuchprogram' for the tool server"),
    "ends": ("mcp:{raw}", "the tool server raw_0.py cannot be used: it ended with exit status 3; its last words: 'no licence'"),
    "no MCP": ("mcp:cat", "the tool server cat cannot be used: it does not speak MCP"),
    "no tools": ("mcp:{empty}", "the tool server raw_1.py has no tools"),
    "two of a name": (
        "mcp:{twice}",
        "the tool server raw_2.py answered which tools it has with what is no answer: 'two tools called act'",
    ),
    "no name": ("mcp:{nameless}", "the tool server raw_3.py answered which tools it has with what is no answer: 'a tool without a name'"),
    "nobody there": ("mcp:http://127.0.0.1:1/mcp", "the tool server http://127.0.0.1:1/mcp cannot be used: nobody answers there"),
    "no address": ("mcp:http://host:x/mcp", "the address of mcp: has a port that is no number from 1 to 65535"),
    "no command": ("mcp:'python", "the command of mcp: cannot be read: no closing quotation"),
}


@pytest.mark.usefixtures("_short_moments")
@pytest.mark.parametrize(("spec", "expected"), BEGINNINGS.values(), ids=BEGINNINGS)
def test_unusable_server_is_refused_on_entering(tmp_path: Path, spec: str, expected: str) -> None:
    raw = raw_server(tmp_path, "print('no licence', file=sys.stderr)\nsys.exit(3)")
    empty = raw_server(tmp_path, "TOOLS = []")
    twice = raw_server(tmp_path, "TOOLS += [{**TOOLS[0], 'description': 'another'}]")
    nameless = raw_server(tmp_path, "TOOLS += [{**TOOLS[0], 'name': ''}]")
    refused = refusal(spec.format(raw=raw, empty=empty, twice=twice, nameless=nameless))
    assert refused.startswith(expected)
    assert "s3cr3t" not in refused


@pytest.mark.usefixtures("_short_moments")
def test_server_that_never_starts_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "START_TIMEOUT", 2)
    command = raw_server(tmp_path, "print('waiting for a licence', file=sys.stderr)\ntime.sleep(100)")
    with pytest.raises(BadInput, match="did not begin to speak MCP within 2 s; its last words: 'waiting for a licence'"):
        use(f"mcp:{command}", lambda tools: asyncio.sleep(0), timeout=0.5)


HANGING = """
child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(100)'])
open('pids', 'w').write(f'{os.getpid()} {child.pid}')
def act(_): time.sleep(100)
"""


@pytest.mark.usefixtures("_short_moments")
def test_cancelled_conversation_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def check(tools: ToolSource) -> None:
        async def converse() -> None:
            async with tools.open_toolbox("a") as toolbox:
                await call_tool(toolbox, "act")

        task = asyncio.create_task(converse())
        await asyncio.sleep(0.2)
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 2

    use(f"mcp:{raw_server(tmp_path, HANGING)}", check)
    assert all(ends_soon(int(pid)) for pid in (tmp_path / "pids").read_text(encoding="utf-8").split())


PROGRAM = """
import asyncio, sys
from callmark.simulation.toolboxes import open_tools
from callmark.types import Call, Tool

async def main():
    async with open_tools([sys.argv[1]]) as tools, tools.open_toolbox("a") as toolbox:
        print("open", flush=True)
        await toolbox.call(Call("act"))

asyncio.run(main())
"""


def test_ctrl_c_leaves_no_process_behind(tmp_path: Path) -> None:
    command = raw_server(tmp_path, HANGING)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, f"mcp:{command}"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"open\n"
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=10)
    assert errors.strip().endswith(b"KeyboardInterrupt")
    assert all(ends_soon(int(pid)) for pid in (tmp_path / "pids").read_text(encoding="utf-8").split())
