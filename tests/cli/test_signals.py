"""SIGTERM and SIGHUP end a command as Ctrl-C does, with and without a terminal."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.kills import write_cases
from tests.simulation.process_kills import default_signals

AGENT = "import time\ndef answer(messages, tools):\n    time.sleep(0.05)\n    return {'text': 'hm'}\n"
COMMAND = ("run", "cases.jsonl", "--model", "python:slow:answer", "--name", "mine", "--concurrency", "1")
NEVER = 30.0


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a slow agent and many cases."""
    monkeypatch.chdir(tmp_path)
    Path("slow.py").write_text(AGENT)
    write_cases(tmp_path / "cases.jsonl", 2000)


def start(prepare: Callable[[], None]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "callmark", *COMMAND], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=prepare
    )


def wait_for_predictions(more: int = 1) -> None:
    """Wait until so many more predictions are recorded."""
    until, wanted = time.monotonic() + NEVER, count_predictions() + more
    while count_predictions() < wanted:
        assert time.monotonic() < until
        time.sleep(0.01)


def count_predictions() -> int:
    path = Path("runs/mine/predictions.jsonl")
    return path.read_bytes().count(b"\n") if path.exists() else 0


def run_status() -> str:
    status: str = json.loads(Path("runs/mine/run.json").read_bytes())["status"]
    return status


def ignore(number: int) -> Callable[[], None]:
    def prepare() -> None:
        default_signals()
        signal.signal(number, signal.SIG_IGN)

    return prepare


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_keeps_predictions_and_prints_how_to_resume(number: signal.Signals) -> None:
    with start(default_signals) as process:
        wait_for_predictions()
        process.send_signal(number)
        _, printed = process.communicate(timeout=NEVER)
    assert (process.returncode, run_status()) == (130, "interrupted")
    assert f"saved {count_predictions():,} of 2,000 predictions" in printed
    assert "Resume with: callmark run runs/mine --resume\n" in printed
    assert printed.endswith("callmark: interrupted.\n")


def test_repeated_signals_do_not_cut_the_clean_up_short() -> None:
    with start(default_signals) as process:
        wait_for_predictions()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
            process.send_signal(number)
        _, printed = process.communicate(timeout=NEVER)
    assert (process.returncode, run_status()) == (130, "interrupted")
    assert "Resume with: " in printed
    assert "Traceback" not in printed


def test_signal_ends_a_background_job_that_ignores_ctrl_c() -> None:
    with start(ignore(signal.SIGINT)) as process:
        wait_for_predictions()
        process.send_signal(signal.SIGINT)
        wait_for_predictions(2)
        process.send_signal(signal.SIGTERM)
        _, printed = process.communicate(timeout=NEVER)
    assert (process.returncode, run_status()) == (130, "interrupted")
    assert "Resume with: " in printed
    assert "Traceback" not in printed


def test_nohup_keeps_a_run_going() -> None:
    with start(ignore(signal.SIGHUP)) as process:
        wait_for_predictions()
        process.send_signal(signal.SIGHUP)
        wait_for_predictions(2)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=NEVER)
    assert (process.returncode, run_status()) == (130, "interrupted")


def test_closed_terminal_ends_a_run_as_interrupted() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        default_signals()
        os.execv(sys.executable, [sys.executable, "-m", "callmark", *COMMAND])
    wait_for_predictions()
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert run_status() == "interrupted"


EVALUATOR = """
import os, signal
from callmark import Metric, Result

MAIN = os.getpid()

class Terminates:
    name = "terminates"
    metrics = (Metric("calls", "calls"),)

    def evaluate(self, attempt):
        if not os.path.exists("sent"):
            open("sent", "w").close()
            os.kill(MAIN, signal.SIGTERM)
        return Result({"calls": 1})
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_signal_during_grading_ends_all_processes(jobs: str) -> None:
    Path("mine.py").write_text(EVALUATOR)
    rows = [json.dumps({"id": f"case-{number}", "tool_calls": []}) for number in range(2000)]
    Path("p.jsonl").write_text("\n".join(rows) + "\n")
    command = [sys.executable, "-m", "callmark", "grade", "cases.jsonl", "-p", "p.jsonl", "-e", "mine:Terminates", "--jobs", jobs]
    done = subprocess.run(command, capture_output=True, text=True, timeout=NEVER, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, "callmark: interrupted.")
    assert not Path("runs").exists() or not list(Path("runs").iterdir())
