"""How fast does `callmark run` send, record and grade? The command as a process of its own, the server as another; best of several.

Start-up, which is the same command with one case, is subtracted; everything else is included: reading the cases, sending, recording,
grading, the summary. Without a cache (`--no-cache`). First a server that takes 100 ms for a response, compared with the ideal: the number
of cases divided by the concurrency, times 100 ms; then models that take no time. inspect-ai with its mock model is timed in its own
environment when that environment's Python is given. Exit status 1 when a limit is not held.

    python benchmarks/running.py [--cases 2000] [--concurrency 100] [--turns 3] [--inspect PYTHON]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parents[1]))  # the server is the tests'

from tests.runs.kills import run_command, run_to_end, start_chat_server, write_cases

UNNOTED = Path(os.devnull)
LATENCY = 0.1
MOST = 1.2  # times the ideal, with that latency
LEAST = 1_000  # samples a second, without any
PEER_TIMED = 500  # cases; more of them only take longer
AGENT = """
import re
async def answer(messages, tools):
    return {"calls": [{"name": "get_order", "arguments": {"order_id": re.search("[0-9]+", messages[-1]["content"])[0]}}]}
"""


class Timed(Struct):
    """The best of one way of asking, in seconds: with one case and with all."""

    name: str
    model: str
    start: float = float("inf")
    whole: float = float("inf")

    @property
    def seconds(self) -> float:
        """What all cases took, start-up taken off."""
        return self.whole - self.start


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in {"cases": 2000, "concurrency": 100, "turns": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--inspect", default=None, metavar="PYTHON", help="the Python of an environment that has inspect-ai")
    options = parser.parse_args()
    print(f"{options.cases:,} cases, {options.concurrency} at a time; best of {options.turns}")
    with (
        tempfile.TemporaryDirectory() as made,
        start_chat_server(UNNOTED, "--latency", str(LATENCY)) as slow,
        start_chat_server(UNNOTED) as fast,
    ):
        folder = Path(made)
        cases, one = write_cases(folder / "cases.jsonl", options.cases), write_cases(folder / "one.jsonl", 1)
        (folder / "agent.py").write_text(AGENT, encoding="utf-8")
        ways = [
            Timed(f"a server that takes {LATENCY * 1000:.0f} ms", f"{slow.url}#model"),
            Timed("a server that takes no time", f"{fast.url}#model"),
            Timed("python: an async function", "python:agent:answer"),
            Timed("scripted:hasty", "scripted:hasty"),
        ]
        peers: list[dict[str, Any]] = []
        for turn in range(options.turns):
            for number, way in enumerate(ways):
                name = f"{number}-{turn}"
                more = ("--concurrency", str(options.concurrency))
                way.start = min(way.start, run_to_end(run_command(one, way.model, folder, f"{name}-one", *more), folder))
                way.whole = min(way.whole, run_to_end(run_command(cases, way.model, folder, name, *more), folder))
                check(folder / name, options.cases)
            if options.inspect:
                few = write_cases(folder / "few.jsonl", min(PEER_TIMED, options.cases))
                peers.append(ask_peer(options.inspect, few, options.concurrency))
    return report(ways, options.cases, options.cases / options.concurrency * LATENCY, peers)


def check(run: Path, cases: int) -> None:
    """A run that is not whole stops the benchmark."""
    counts = [len((run / name).read_bytes().splitlines()) for name in ("predictions.jsonl", "grades.jsonl")]
    if counts != [cases, cases]:
        sys.exit(f"{cases:,} predictions and grades were expected, {counts[0]:,} and {counts[1]:,} were found")


def ask_peer(python: str, cases: Path, concurrency: int) -> dict[str, Any]:
    """What the peer's script prints in its own environment; a script that fails stops the benchmark with what it said."""
    command = [python, str(Path(__file__).parent / "peers" / "run_inspect.py"), str(cases), "--at-once", str(concurrency)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"run_inspect.py did not run:\n{done.stderr}")
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def report(ways: list[Timed], cases: int, ideal: float, peers: list[dict[str, Any]]) -> int:
    slow, *fast = ways
    print(f"  {'':30} {'start-up':>8} {'seconds':>8} {'a second':>9}")
    held = slow.seconds <= MOST * ideal
    for way in ways:
        verdict = f"  ideal {ideal:.2f} s, {slow.seconds / ideal:.2f} times that" if way is slow else ""
        print(f"  {way.name:30} {way.start:8.2f} {way.seconds:8.2f} {cases / way.seconds:9,.0f}{verdict}")
    if peers:
        peer = peers[0]
        for key, suffix in (("per_second", ""), ("recorded_per_second", ", samples in its log")):
            best = max(each[key] for each in peers)
            factors = [cases / way.seconds / best for way in fast]
            name = f"{peer['name']} {peer['version']}{suffix}"
            print(f"  {name:39} {'':8} {best:9,.0f}  callmark is {min(factors):.0f} to {max(factors):.0f} times as fast")
        print(f"  {peer['name']}: {peer['note']}; {PEER_TIMED:,} cases, start-up taken off")
    else:
        print("  left out, no Python of an environment was given: inspect-ai")
    print(f"  {slow.name}: at most {MOST} times the ideal: {'held' if held else 'NOT HELD'} ({slow.seconds / ideal:.2f})")
    for way in fast:
        speed = cases / way.seconds
        held = held and speed >= LEAST
        print(f"  {way.name}: at least {LEAST:,} a second: {'held' if speed >= LEAST else 'NOT HELD'} ({speed:,.0f})")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
