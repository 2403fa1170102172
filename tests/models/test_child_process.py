"""Programs under a watchdog: how they start and end, and that nothing of them is left.

What is left when callmark gets a signal is tested in `tests/simulation/test_processes.py`.
"""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from callmark.models import watchdog
from callmark.models.child_environment import child_environment
from callmark.models.child_process import ChildProcess
from callmark.models.keys import Keys
from tests.simulation.mcp_servers import ends_soon, is_alive

NEVER = 30.0


def start(*command: str) -> ChildProcess:
    return ChildProcess(command, child_environment((), Keys()))


def finish(child: ChildProcess) -> tuple[int, bytes, bytes]:
    """Wait for a program, and return its exit status, output and standard error."""
    child.stdin.close()
    out, err = child.stdout.readall(), child.stderr.readall()
    status = child.wait()
    child.stdout.close()
    child.stderr.close()
    return status, out, err


@pytest.mark.parametrize(
    "script, status",
    [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", -9), ("kill -15 $$", -15), ("kill -11 $$", -11), ("kill -1 $$", -1)],
)
def test_exit_status_and_output_are_those_of_the_program(script: str, status: int) -> None:
    child = start("sh", "-c", f"echo out; echo err >&2; {script}")
    child.wait_until_started()
    assert finish(child) == (status, b"out\n", b"err\n")


def test_program_gets_its_input_and_its_end() -> None:
    child = start("cat")
    child.stdin.write(b"hello")
    assert finish(child) == (0, b"hello", b"")


def test_program_that_cannot_be_executed_raises_the_reason(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program")
    (tmp_path / "empty").touch(mode=0o755)
    for command, problem in (
        ("no-such-program", FileNotFoundError),
        (str(tmp_path / "plain"), PermissionError),
        (str(tmp_path), PermissionError),
        (str(tmp_path / "empty"), OSError),
    ):
        child = start(command)
        with pytest.raises(problem) as raised:
            child.wait_until_started()
        assert raised.value.strerror
        finish(child)


def test_failed_starts_leave_no_open_files() -> None:
    before = len(os.listdir("/dev/fd"))
    for command in (("a\0b",), ("no-such-program",)):
        try:
            child = start(*command)
        except ValueError:
            continue
        finish(child)
    assert len(os.listdir("/dev/fd")) == before


def test_program_has_its_own_session_and_default_signals() -> None:
    _, out, _ = finish(start("sh", "-c", "[ $(ps -o sid= -p $$) = $$ ] && grep SigIgn /proc/self/status"))
    ignored = int(out.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))  # Python ignores both


def test_kill_may_come_at_any_time_and_repeatedly() -> None:
    child = start("sleep", "100")
    child.kill()  # perhaps before the program has started
    child.kill()
    status, _, _ = finish(child)
    child.kill()  # after it has ended
    assert status == -signal.SIGKILL


def test_program_ends_if_its_watchdog_is_killed() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux kills a process when its parent ends")
    child = start("sh", "-c", "echo $$; exec sleep 100")
    pid = int(child.stdout.read(20))
    os.kill(child._watchdog.pid, signal.SIGKILL)
    assert finish(child)[0] == -signal.SIGKILL
    assert ends_soon(pid, NEVER)


def test_processes_that_a_program_leaves_behind_end_with_it() -> None:
    child = start("sh", "-c", "sleep 100 & echo $!; exit 3")
    status, out, _ = finish(child)
    assert status == 3
    assert not is_alive(int(out))


WITHOUT_ADOPTION = """
import os, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import watchdog
watchdog._load_prctl = lambda: lambda option, value: -1
watchdog._children = None  # there is no /proc
watchdog.main(int(sys.argv[2]), int(sys.argv[3]), 0, sys.argv[4:])
"""


@pytest.mark.parametrize("script, status", [("sleep 100 & echo $$ $!; wait", -9), ("sleep 100 & echo $$ $!; exit 4", 4)])
def test_process_group_ends_where_orphans_cannot_be_adopted(script: str, status: int) -> None:
    ours, theirs = socket.socketpair()
    arguments = (watchdog.__file__, str(os.getpid()), str(theirs.fileno()))
    with (
        ours,
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", WITHOUT_ADOPTION, *arguments, "sh", "-c", script],
            stdout=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
        ) as process,
    ):
        theirs.close()
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        if status < 0:
            ours.send(b"k")
        assert process.wait(NEVER) == status
    assert all(ends_soon(pid, NEVER) for pid in pids)


PARENT = """
import os, sys, time
from callmark.models.child_environment import child_environment
from callmark.models.child_process import ChildProcess
from callmark.models.keys import Keys
child = ChildProcess(["sh", "-c", "echo $$; exec sleep 100"], child_environment((), Keys()))
print(int(child.stdout.read(20)), flush=True)
if os.fork() == 0:  # a copy of this process, with the same open files
    print(os.getpid(), flush=True)
    time.sleep(100)
time.sleep(100)
"""


def test_program_ends_with_callmark_though_a_copy_of_callmark_lives() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        program, copy = (int(process.stdout.readline()) for _ in range(2))
        process.kill()
        process.wait()
        try:
            assert ends_soon(program, NEVER)
            assert is_alive(copy)
        finally:
            os.kill(copy, signal.SIGKILL)
