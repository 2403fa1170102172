"""Does any process outlive callmark? Signals it while programs run that ignore end of input, SIGTERM, SIGHUP and SIGINT.

`callmark simulate` runs with 14 kinds of tool servers at once, of which seven call setsid, most of these after forking twice. It gets
SIGTERM, SIGHUP, SIGINT or SIGKILL when one of each kind runs and some conversations are recorded. 3 seconds later, no process of any server
may be alive. run.json must say `interrupted` and the exit status must be 130, except after SIGKILL. Then the run is resumed: every recorded
conversation is still there, and every scenario is recorded once, without an error. The same for `callmark run` with a program (`cmd:`) as
the model. The start of a tool server is timed with and without its watchdog. Exits with status 1 on any difference.

    python benchmarks/process_kills.py [--rounds 1] [--cases 42]
"""

import argparse
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the servers are in tests/

from tests.simulation.process_kills import Outcome, resume, run_command, signal_run, simulate_command
from tests.simulation.stubborn_server import KINDS

from callmark.models.child_environment import child_environment
from callmark.models.child_process import ChildProcess
from callmark.models.keys import Keys

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)
LIMIT = 3.0  # seconds after the signal
PROGRAM = ("setsid: has five daemons",)
RECORDED = 5  # predictions before the signal
STARTS = 50


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in {"rounds": 1, "cases": 42}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    show_start()
    kinds = tuple(KINDS)
    problems = 0
    started: Counter[str] = Counter()
    left: Counter[str] = Counter()
    print(f"  {'command':9} {'signal':8} {'recorded':>8} {'processes':>9} {'alive at signal + 3 s':>21} {'last ended after':>16}  result")
    for _ in range(options.rounds):
        for command in ("simulate", "run"):
            for number in SIGNALS:
                outcome, found = one_kill(command, kinds if command == "simulate" else PROGRAM, number, options.cases)
                problems += bool(found)
                started.update(each.kind for each in outcome.processes)
                left.update(each.kind for each in outcome.left)
                seconds = f"{outcome.seconds:.2f} s" if not outcome.left else "never"
                counts = f"{outcome.recorded:8,} {len(outcome.processes):9,} {len(outcome.left):21,} {seconds:>16}"
                print(f"  {command:9} {number.name:8} {counts}  {'; '.join(found) or 'ok'}", flush=True)
    print(f"  {'kind of tool server':52} {'processes':>9} {'left':>5}")
    for kind in kinds:
        print(f"  {kind:52} {started[kind]:9,} {left[kind]:5,}")
    print(f"  {started.total():,} processes, {left.total()} left: {f'FAILED in {problems}' if problems else 'ok'}")
    return 1 if problems else 0


def one_kill(name: str, kinds: Sequence[str], number: signal.Signals, cases: int) -> tuple[Outcome, list[str]]:
    """Return what a signal did, and everything that is not as it should be."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        if name == "simulate":
            command = simulate_command(folder, kinds, cases, concurrency=len(kinds))
        else:
            cases *= 10
            command = run_command(folder, kinds, cases)
        outcome = signal_run(command, folder, kinds, number, recorded=RECORDED, limit=LIMIT)
        killed = number == signal.SIGKILL
        found = [f"{each.kind} ({each.pid}) is alive" for each in outcome.left]
        if outcome.status != (-number if killed else 130):
            found.append(f"exit status {outcome.status}")
        if outcome.run_status != ("running" if killed else "interrupted"):
            found.append(f"run.json says {outcome.run_status}")
        if not killed and "--resume" not in outcome.printed:
            found.append(f"printed {outcome.printed!r}")
        return outcome, found + resume(command, folder, cases)


def show_start() -> None:
    """Print how long a program takes to start and end, directly and under a watchdog."""
    environment = child_environment((), Keys())

    def directly() -> None:
        with subprocess.Popen(["true"], stdin=-1, stdout=-1, stderr=-1, env=environment, start_new_session=True):
            pass

    def watched() -> None:
        child = ChildProcess(["true"], environment)
        child.wait_until_started()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            stream.close()

    times = []
    for start in (directly, watched):
        seconds = []
        for _ in range(STARTS):
            began = time.perf_counter()
            start()
            seconds.append(time.perf_counter() - began)
        times.append(statistics.median(seconds) * 1000)
    print(f"start and end of a program: {times[0]:.1f} ms directly, {times[1]:.1f} ms under a watchdog (median of {STARTS})")


if __name__ == "__main__":
    sys.exit(main())
