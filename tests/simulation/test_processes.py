"""No tool server and no program outlives callmark, whichever way it ends. More kinds and signals in `benchmarks/process_kills.py`."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from callmark.models.keys import Keys
from callmark.simulation.toolboxes import connection, open_tools, server_process
from tests.simulation.mcp_servers import ends_soon
from tests.simulation.process_kills import LOG, alive, run_command, signal_run, simulate_command, stubborn

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux finds every descendant")

KINDS = (
    "has grandchildren",
    "setsid: has a daemon without streams",
    "setsid: has a daemon that runs another program",
    "setsid: has a daemon that replaces itself",
)
NEVER = 30.0  # seconds: far longer than any of this takes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_of_a_tool_server_outlives_a_simulation(tmp_path: Path, number: signal.Signals) -> None:
    command = simulate_command(tmp_path, KINDS, 8, concurrency=4)
    outcome = signal_run(command, tmp_path, KINDS, number, recorded=0, limit=NEVER)
    assert outcome.left == []
    assert {each.kind for each in outcome.processes} == set(KINDS)
    if number == signal.SIGKILL:
        assert outcome.status == -signal.SIGKILL
    else:
        assert (outcome.status, outcome.run_status) == (130, "interrupted")
        assert "callmark simulate killed --resume" in outcome.printed


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_no_process_of_a_program_outlives_a_run(tmp_path: Path, number: signal.Signals) -> None:
    kinds = ("setsid: has five daemons",)
    outcome = signal_run(run_command(tmp_path, kinds, 1000), tmp_path, kinds, number, recorded=1, limit=NEVER)
    assert (outcome.left, len(outcome.processes)) == ([], 6)
    if number == signal.SIGKILL:
        assert outcome.status == -signal.SIGKILL
    else:
        assert (outcome.status, outcome.run_status) == (130, "interrupted")
        assert "callmark run killed --resume" in outcome.printed


def test_start_that_is_cancelled_ends_the_server_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for module in (server_process, connection):
        monkeypatch.setattr(module, "GRACE_PERIOD", NEVER)

    async def run() -> None:
        server = connection.read_server("sh -c 'echo $$ > pid; exec sleep 1000'", Keys())
        start = asyncio.create_task(connection.Connection(server, timeout=NEVER, keys=Keys()).start())
        while not Path("pid").exists() or not Path("pid").read_text():
            await asyncio.sleep(0.01)
        start.cancel()
        async with asyncio.timeout(NEVER):
            await asyncio.wait([start])
        assert start.cancelled()

    asyncio.run(run())
    assert ends_soon(int(Path("pid").read_text()), NEVER)


def test_cancelled_conversations_do_not_wait_for_one_server_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server_process, "GRACE_PERIOD", NEVER)
    tools = open_tools([f"mcp:{stubborn(('sleeps',))}"], keys=Keys())

    async def converse(name: str, opened: asyncio.Event) -> None:
        async with tools.open_toolbox(name):
            opened.set()
            await asyncio.sleep(NEVER)

    async def run() -> None:
        async with tools:
            events = [asyncio.Event() for _ in range(4)]
            tasks = [asyncio.create_task(converse(str(number), event)) for number, event in enumerate(events)]
            await asyncio.gather(*(event.wait() for event in events))
            for task in tasks:  # one after the other, as for several tool sources of one conversation
                task.cancel()
                await asyncio.wait([task])
            servers = alive(tmp_path / LOG)
            assert len(servers) == 4
            for server in servers:
                os.kill(server.pid, signal.SIGKILL)

    asyncio.run(run())
    assert alive(tmp_path / LOG) == []
