"""MCP servers as tools, with real servers: requests, separate states, and misbehaving servers."""

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


async def result_text(toolbox: Toolbox, name: str) -> str:
    """Return the text of the result, or the error."""
    try:
        return (await call_tool(toolbox, name)).text
    except ModelError as error:
        return f"error: {error}"


def call_act(command: str, timeout: float = 20, times: int = 1) -> list[str]:
    """Return the results of calling `act`, each in a separate conversation."""
    found: list[str] = []

    async def check(tools: ToolSource) -> None:
        for _ in range(times):
            async with tools.open_toolbox("a") as toolbox:
                found.append(await result_text(toolbox, "act"))

    use(f"mcp:{command}", check, timeout)
    return found


def refusal(spec: str) -> str:
    async def nothing(tools: ToolSource) -> None:
        raise AssertionError("it was entered")

    with pytest.raises(BadInput) as error:
        use(spec, nothing)
    return str(error.value)


@pytest.fixture
def _short_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "GRACE_PERIOD", 0.3)
    monkeypatch.setattr(connection, "GRACE_PERIOD", 0.3)


@pytest.mark.usefixtures("_short_grace_period")
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
            pids.extend([int(await result_text(one, "pid")), int(await result_text(other, "pid"))])
            assert await call_tool(one, "structured") == ToolResult('{"count":2}')
            assert await call_tool(one, "refuse") == ToolResult("not allowed", is_error=True)
            assert await call_tool(one, "picture") == ToolResult("before\n[image: image/png]")
            assert (await call_tool(one, "add_note", title=7)).is_error
            assert await call_tool(one, "add_nots") == ToolResult("Unknown tool 'add_nots'. Did you mean add_note?", is_error=True)
            assert (await one.call(Call("add_note", malformed="not JSON"))).is_error
            assert await result_text(one, "noisy") == "done"
            big = await call_tool(one, "big")
            assert big.text.startswith("é" * 524_288 + "\n")
            assert big.text.endswith("[truncated: the first 1,048,576 of 2,000,000 bytes]")
            gone = await result_text(other, "die")
            assert "notes_server.py did not respond to die: it exited with status 7; standard error ends with " in gone
            assert "the disk is full" in gone
            assert "did not respond to pid: it exited with status 7" in await result_text(other, "pid")
            assert await result_text(one, "pid") == str(pids[0])
            assert str(pids[0]) != str(pids[1])

    use(f"mcp:{real_server(tmp_path)}", check)
    assert all(map(ends_soon, pids))


@pytest.mark.usefixtures("_short_grace_period")
def test_server_that_separates_conversations_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callmark.simulation.toolboxes.mcp._PING_TIMEOUT", 0.5)
    pids: list[int] = []

    async def one(tools: ToolSource, number: int) -> str:
        async with tools.open_toolbox(f"c{number}") as toolbox:
            assert await toolbox.state() == {"notes": {}}
            await call_tool(toolbox, "add_note", title=f"n{number}")
            await asyncio.sleep(0.01)
            assert await toolbox.state() == {"notes": {f"n{number}": {"text": ""}}}
            return await result_text(toolbox, "pid")

    async def check(tools: ToolSource) -> None:
        served = set(await asyncio.gather(*[one(tools, number) for number in range(20)]))
        assert len(served) == 1
        pids.extend(map(int, served))
        async with tools.open_toolbox("x") as toolbox, tools.open_toolbox("y") as beside:
            assert "exited with status 7" in await result_text(toolbox, "die")
            assert "exited with status 7" in await result_text(beside, "pid")  # its state is lost, too
        pids.append(int(await one(tools, 1)))
        async with tools.open_toolbox("z") as toolbox:
            call = asyncio.create_task(result_text(toolbox, "hang"))
            await asyncio.sleep(0.1)
            call.cancel()
        assert int(await one(tools, 2)) == pids[-1]  # a cancelled conversation does not disturb others
        async with tools.open_toolbox("z") as toolbox:
            assert "timed out: no response to block within 2 s" in await result_text(toolbox, "block")
        pids.append(int(await one(tools, 3)))  # the server that no longer responds was replaced
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
    assert len(looks) == 3  # from a server that is not shared, every time


def test_equal_rows_are_the_same_object() -> None:
    reader = StateReader("the desk")
    one = reader.read('{"a": {"1": {"x": 1}, "2": {"x": 1}}, "b": {}}')
    other = reader.read('{"a": {"1": {"x": 1}, "2": {"x":1.0}}}')
    assert one == {"a": {"1": {"x": 1}, "2": {"x": 1}}, "b": {}}
    assert one["a"]["1"] is one["a"]["2"] is other["a"]["1"] is not other["a"]["2"]
    assert changes(one, other).rows == {}
    with pytest.raises(ModelError, match="the state of the desk: expected {table: {key: {column: value}}}, got a different structure"):
        reader.read('{"a": {"1": 5}}')
    with pytest.raises(ModelError, match="the state of the desk is not valid JSON"):
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


def test_each_conversation_has_its_own_session_over_http(over_http: str) -> None:
    async def check(tools: ToolSource) -> None:
        assert tools.label == f"mcp:http://…@{over_http}?token=…"
        async with tools.open_toolbox("a") as one, tools.open_toolbox("b") as other:
            assert await call_tool(one, "add_note", title="milk") == ToolResult("added milk")
            assert await other.state() == {"notes": {"milk": {"text": ""}}}  # this server does not separate sessions
            assert (await call_tool(one, "big")).text.endswith("the first 1,048,576 of 2,000,000 bytes]")
            gone = await result_text(one, "die")
            assert gone.startswith(f"error: the tool server http://…@{over_http}?token=… did not respond to die: ")
            assert "could not connect" in await result_text(other, "pid")
        for number in range(4):
            with pytest.raises(ModelError, match="could not connect") as error:
                async with tools.open_toolbox("c"):
                    pass
            assert error.value.fatal is (number == 3)

    use(f"mcp:http://me:passw0rd@{over_http}?token=s3cr3tt0ken", check)
    assert refusal(f"mcp:http://me:passw0rd@{over_http}?token=s3cr3tt0ken") == (
        f"the tool server http://…@{over_http}?token=… cannot be used: could not connect"
    )


FAULTS = {
    "endless garbage": ("def act(_):\n while True: os.write(1, b'garbage\\n' * 1000)", "it flooded its output without responding"),
    "endless notifications": (
        "NOISE = {'jsonrpc': '2.0', 'method': 'notifications/message', 'params': {'level': 'info', 'data': 'x' * 60000}}\n"
        "def act(_):\n while True: write(NOISE)",
        "it flooded its output without responding",
    ),
    "an endless line": ("def act(_):\n while True: os.write(1, b'x' * 65536)", "it wrote a line longer than 16 MB"),
    "closed output": ("def act(_):\n os.close(1)\n time.sleep(100)", "it closed its standard output"),
    "killed": ("def act(_): os.kill(os.getpid(), 9)", "it was killed by signal 9 (Killed)"),
    "not JSON": (
        "def act(_): print('{oops', flush=True)",
        "timed out: no response to act within 1 s; it wrote '{oops' to standard output, which is not an MCP message",
    ),
    "no result": ("def act(_): answer({'content': 'x'})", "returned an invalid response to act: "),
    "internal error": ("def act(_): fail(-32603, 'out of order')", "returned an error for act: 'out of order'"),
}


@pytest.mark.usefixtures("_short_grace_period")
@pytest.mark.parametrize(("code", "expected"), FAULTS.values(), ids=FAULTS)
def test_misbehaving_server_raises_a_model_error(tmp_path: Path, code: str, expected: str) -> None:
    first, second = call_act(raw_server(tmp_path, code), timeout=1 if "JSON" in expected or "oops" in expected else 10, times=2)
    assert first.startswith("error: the tool server raw_0.py ")
    assert expected in first
    assert expected in second  # the next conversation has its own server


def test_error_response_of_a_server_is_an_error_result(tmp_path: Path) -> None:
    assert call_act(raw_server(tmp_path, "def act(_): fail(-32602, 'unknown ticket')")) == ["unknown ticket"]


def test_line_that_is_not_mcp_is_skipped(tmp_path: Path) -> None:
    assert call_act(raw_server(tmp_path, "print('starting …', flush=True)\ndef act(_): print('working'); text('fine')")) == ["fine"]


def test_keys_in_tool_definitions_are_hidden_and_repeated_tools_merged(tmp_path: Path) -> None:
    schema = "{'type': 'object', 'properties': {'key': {'type': 'string', 'default': 'sk-1234abcd'}}}"
    command = raw_server(tmp_path, f"TOOLS = [{{'name': 'act', 'description': 'uses sk-1234abcd', 'inputSchema': {schema}}}] * 2")

    async def run() -> tuple[Tool, ...]:
        async with open_tools([f"mcp:{command}"], timeout=20, keys=Keys({"ACT_KEY": "sk-1234abcd"})) as tools:
            return tools.tools

    (tool,) = asyncio.run(run())
    assert tool == Tool("act", "uses …", {"type": "object", "properties": {"key": {"type": "string", "default": "…"}}})


UNUSABLE = {
    "no program": ("mcp:nosuchprogram --token s3cr3tt0ken", "cannot start the tool server: command not found: 'nosuchprogram'"),
    "exits": ("mcp:{raw}", "the tool server raw_0.py exited with status 3 before it responded; standard error ends with 'no license'"),
    "no MCP": ("mcp:cat", "the tool server cat cannot be used: it does not speak MCP"),
    "no tools": ("mcp:{empty}", "the tool server raw_1.py has no tools"),
    "duplicate name": (
        "mcp:{twice}",
        "the tool server raw_2.py returned an invalid response to tools/list: 'two tools are named act'",
    ),
    "no name": ("mcp:{nameless}", "the tool server raw_3.py returned an invalid response to tools/list: 'a tool without a name'"),
    "no server": ("mcp:http://127.0.0.1:1/mcp", "the tool server http://127.0.0.1:1/mcp cannot be used: could not connect"),
    "invalid address": ("mcp:http://host:x/mcp", "the URL of mcp: has an invalid port (expected 1 to 65535)"),
    "invalid command": ("mcp:'python", "mcp: invalid command: no closing quotation"),
}


@pytest.mark.usefixtures("_short_grace_period")
@pytest.mark.parametrize(("spec", "expected"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_server_is_refused_on_entering(tmp_path: Path, spec: str, expected: str) -> None:
    raw = raw_server(tmp_path, "print('no license', file=sys.stderr)\nsys.exit(3)")
    empty = raw_server(tmp_path, "TOOLS = []")
    twice = raw_server(tmp_path, "TOOLS += [{**TOOLS[0], 'description': 'another'}]")
    nameless = raw_server(tmp_path, "TOOLS += [{**TOOLS[0], 'name': ''}]")
    refused = refusal(spec.format(raw=raw, empty=empty, twice=twice, nameless=nameless))
    assert refused.startswith(expected)
    assert "s3cr3t" not in refused


@pytest.mark.usefixtures("_short_grace_period")
def test_server_that_never_starts_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "START_TIMEOUT", 2)
    command = raw_server(tmp_path, "print('waiting for a license', file=sys.stderr)\ntime.sleep(100)")
    with pytest.raises(BadInput, match="did not complete the MCP handshake within 2 s; standard error ends with 'waiting for a license'"):
        use(f"mcp:{command}", lambda tools: asyncio.sleep(0), timeout=0.5)


HANGING = """
child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(100)'])
open('pids', 'w').write(f'{os.getpid()} {child.pid}')
def act(_): time.sleep(100)
"""


@pytest.mark.usefixtures("_short_grace_period")
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


# one server for all conversations


def count_processes(spec: str, *, share_server: bool | None, conversations: int = 6) -> tuple[int, tuple[str, ...]]:
    """Return the number of server processes that conversations used, and the notices of the source."""
    pids: set[str] = set()
    notices: tuple[str, ...] = ()

    async def converse(tools: ToolSource, number: int) -> None:
        async with tools.open_toolbox(f"c{number}") as toolbox:
            pids.add(await result_text(toolbox, "act"))

    async def run() -> None:
        nonlocal notices
        async with open_tools([spec], timeout=20, keys=Keys(), share_server=share_server) as tools:
            await asyncio.gather(*[converse(tools, number) for number in range(conversations)])
            notices = getattr(tools, "notices", ())

    asyncio.run(run())
    return len(pids), notices


PIDS = "def act(arguments):\n    text(str(os.getpid()))\n"
READ_ONLY = 'TOOLS[0]["annotations"] = {"readOnlyHint": True}\n'
ONE_WRITES = READ_ONLY + 'TOOLS.append({"name": "write", "inputSchema": {"type": "object"}})\n'


@pytest.mark.usefixtures("_short_grace_period")
@pytest.mark.parametrize(
    "code, share_server, processes, warns",
    [
        (READ_ONLY, None, 1, False),
        (READ_ONLY, True, 1, False),
        (READ_ONLY, False, 6, False),
        (ONE_WRITES, None, 6, False),
        (ONE_WRITES, True, 1, True),
        ("", None, 6, False),
        ("", True, 1, True),
    ],
)
def test_server_is_shared_if_all_tools_are_read_only_or_on_request(
    tmp_path: Path, code: str, share_server: bool | None, processes: int, warns: bool
) -> None:
    found, notices = count_processes(f"mcp:{raw_server(tmp_path, PIDS + code)}", share_server=share_server)
    assert (found, len(notices)) == (processes, warns)
    if warns:
        assert "all conversations share one server, but " in notices[0]
        assert "declared as read-only: a conversation may see what another one changed, and end states are not compared." in notices[0]


@pytest.mark.usefixtures("_short_grace_period")
@pytest.mark.parametrize("share_server, seen", [(None, [True, True]), (True, [False, False])])
def test_state_is_not_read_from_a_server_that_conversations_share_and_change(
    tmp_path: Path, share_server: bool | None, seen: list[bool]
) -> None:
    async def check() -> list[bool]:
        spec = f"mcp:{real_server(tmp_path)}"
        found = []
        async with open_tools([spec], timeout=20, keys=Keys(), share_server=share_server) as tools:
            for title in ("milk", "tea"):
                async with tools.open_toolbox(title) as toolbox:
                    await call_tool(toolbox, "add_note", title=title)
                    found.append(await toolbox.state() == {"notes": {title: {"text": ""}}})
        return found

    assert asyncio.run(check()) == seen


def test_sharing_without_a_server_is_refused() -> None:
    for share, option in ((True, "--share-server"), (False, "--no-share-server")):
        with pytest.raises(BadInput, match=f"^{option} has no effect: none of the tools come from a server"):
            open_tools(["python:json"], keys=Keys(), share_server=share)
