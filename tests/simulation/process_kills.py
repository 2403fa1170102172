"""Run `callmark` with tool servers and programs that do not want to end, signal it, and find the processes that are left.

Shared by `tests/simulation/test_processes.py` and `benchmarks/process_kills.py`.
"""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from callmark.runs.store import PREDICTIONS, RUN
from tests.runs.kills import write_cases
from tests.simulation.notes_case import write_folder

SERVER = Path(__file__).with_name("stubborn_server.py")
LOG, NAME = "processes.log", "killed"
_LONGEST = 60.0  # seconds to wait for anything


class LoggedProcess(NamedTuple):
    """A process of a stubborn server."""

    pid: int
    started: str
    kind: str


class Outcome(Struct):
    """What a signal did to callmark: its exit status and output, the status in run.json, the predictions in it; and to the processes:
    all of them, the seconds until the last had ended, and those that had not.
    """

    status: int
    printed: str
    run_status: str
    recorded: int
    processes: list[LoggedProcess]
    seconds: float
    left: list[LoggedProcess]


def simulate_command(folder: Path, kinds: Sequence[str], cases: int, *, concurrency: int) -> list[str]:
    """Write scenarios, and return the command line of a simulation with tool servers of these kinds."""
    write_folder(folder, cases)
    given = ["scenarios.jsonl", "--agent", "python:noting:slow", "--tools", f"mcp:{stubborn(kinds)}", "--user", "script"]
    return [sys.executable, "-m", "callmark", "simulate", *given, "-o", ".", "--name", NAME, "--concurrency", str(concurrency)]


def run_command(folder: Path, kinds: Sequence[str], cases: int) -> list[str]:
    """Write decision points, and return the command line of a run with a program of this kind as its model."""
    path = write_cases(folder / "cases.jsonl", cases)
    return [sys.executable, "-m", "callmark", "run", path.name, "--model", f"cmd:{stubborn(kinds)}", "-o", ".", "--name", NAME]


def signal_run(
    command: Sequence[str], folder: Path, kinds: Sequence[str], number: signal.Signals, *, recorded: int, limit: float
) -> Outcome:
    """Start a command, send a signal when a program of each kind runs and so many predictions are recorded, and see what is left after
    `limit` seconds. What is left is killed.
    """
    log = folder / LOG
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals
    ) as process:
        assert process.stderr is not None
        _wait_until(lambda: {each.kind for each in alive(log)} == set(kinds) and count_lines(folder) >= recorded, process)
        began = time.monotonic()
        process.send_signal(number)
        printed = process.stderr.read()
        status = process.wait(_LONGEST)
    while alive(log) and time.monotonic() < began + limit:
        time.sleep(0.01)
    seconds, left = time.monotonic() - began, alive(log)
    for each in left:
        subprocess.run(["kill", "-9", str(each.pid)], check=False)
    info = json.loads((folder / NAME / RUN).read_bytes())
    return Outcome(status, printed, info.get("status", "complete"), count_lines(folder), read_log(log), seconds, left)


def default_signals() -> None:
    """Stop ignoring signals: a shell makes background jobs ignore SIGINT, and nohup makes its command ignore SIGHUP."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def resume(command: Sequence[str], folder: Path, cases: int) -> list[str]:
    """Resume a run, and return everything that is not as it should be."""
    before = (folder / NAME / PREDICTIONS).read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    done = subprocess.run([*command, "--resume"], cwd=folder, capture_output=True, text=True, timeout=_LONGEST, check=False)
    after = (folder / NAME / PREDICTIONS).read_bytes()
    rows = [json.loads(line) for line in after.splitlines()]
    counts = Counter(row["case"] for row in rows)
    problems = [f"exit status {done.returncode}: {done.stderr}"] if done.returncode else []
    problems += [] if after.startswith(whole) else ["recorded predictions are gone"]
    problems += [f"{row['case']}: {row['error']}" for row in rows if row.get("error")]
    problems += [f"{case} is recorded {count} times" for case, count in counts.items() if count > 1]
    problems += [] if len(counts) == cases else [f"{len(counts)} of {cases} cases are recorded"]
    return problems


def stubborn(kinds: Sequence[str]) -> str:
    """Return the command of a program of these kinds, which takes its log from the current folder."""
    return shlex.join([sys.executable, "-S", "-E", str(SERVER), LOG, *kinds])


def count_lines(folder: Path) -> int:
    """Return the number of predictions that are recorded."""
    path = folder / NAME / PREDICTIONS
    return path.read_bytes().count(b"\n") if path.exists() else 0


def read_log(log: Path) -> list[LoggedProcess]:
    """Return all processes that the servers started."""
    if not log.exists():
        return []
    rows = [line.split("\t") for line in log.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
    return [LoggedProcess(int(pid), started, kind.rstrip("\n")) for pid, started, kind in rows]


def alive(log: Path) -> list[LoggedProcess]:
    """Return the processes of the servers that run. A process that has the id of one, but another start time, is not one of them."""
    return [each for each in read_log(log) if _start_time(each.pid) == each.started]


def _start_time(pid: int) -> str:
    """Return the start time of a process; empty if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode()


def _wait_until(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + _LONGEST
    while not condition():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < until
        time.sleep(0.01)
