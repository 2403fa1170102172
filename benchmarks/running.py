"""Measure how fast `callmark run` sends requests, records and grades. Command and server are separate processes; best of several.

Start-up, measured by the same command with one case, is subtracted. Everything else is included: reading the cases, sending, recording,
grading, the summary. The cache is off (`--no-cache`). First with a server with a latency of 100 ms, compared with the ideal (cases /
concurrency x 100 ms), then with models that respond at once. inspect-ai with its mock model is timed in its own environment if its Python
is given. Exits with status 1 if a limit is exceeded.

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

sys.path.insert(0, str(Path(__file__).parents[1]))  # the server is in tests/

from tests.runs.kills import run_command, run_to_end, start_chat_server, write_cases

NO_LOG = Path(os.devnull)
LATENCY = 0.1
MOST = 1.2  # times the ideal, with latency
LEAST = 1_000  # cases per second, without latency
PEER_TIMED = 500  # cases; more would only take longer
AGENT = """
import re
async def answer(messages, tools):
    return {"calls": [{"name": "get_order", "arguments": {"order_id": re.search("[0-9]+", messages[-1]["content"])[0]}}]}
"""


class Timed(Struct):
    """The best times of one model in seconds: with one case (`start`) and with all cases (`whole`)."""

    name: str
    model: str
    start: float = float("inf")
    whole: float = float("inf")

    @property
    def seconds(self) -> float:
        """The time for all cases, without start-up."""
        return self.whole - self.start


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in {"cases": 2000, "concurrency": 100, "turns": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--inspect", default=None, metavar="PYTHON", help="the Python of an environment with inspect-ai")
    options = parser.parse_args()
    print(f"{options.cases:,} cases, concurrency {options.concurrency}; best of {options.turns}")
    with (
        tempfile.TemporaryDirectory() as made,
        start_chat_server(NO_LOG, "--latency", str(LATENCY)) as slow,
        start_chat_server(NO_LOG) as fast,
    ):
        folder = Path(made)
        cases, one = write_cases(folder / "cases.jsonl", options.cases), write_cases(folder / "one.jsonl", 1)
        (folder / "agent.py").write_text(AGENT, encoding="utf-8")
        ways = [
            Timed(f"server with {LATENCY * 1000:.0f} ms latency", f"{slow.url}#model"),
            Timed("server without latency", f"{fast.url}#model"),
            Timed("async Python function", "python:agent:answer"),
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
                peers.append(run_peer(options.inspect, few, options.concurrency))
    return report(ways, options.cases, options.cases / options.concurrency * LATENCY, peers)


def check(run: Path, cases: int) -> None:
    """Stop the benchmark if a run is incomplete."""
    counts = [len((run / name).read_bytes().splitlines()) for name in ("predictions.jsonl", "grades.jsonl")]
    if counts != [cases, cases]:
        sys.exit(f"expected {cases:,} predictions and grades, got {counts[0]:,} and {counts[1]:,}")


def run_peer(python: str, cases: Path, concurrency: int) -> dict[str, Any]:
    """Run the peer's script in its own environment and return its result; a failure stops the benchmark with the script's output."""
    command = [python, str(Path(__file__).parent / "peers" / "run_inspect.py"), str(cases), "--at-once", str(concurrency)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"run_inspect.py failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def report(ways: list[Timed], cases: int, ideal: float, peers: list[dict[str, Any]]) -> int:
    slow, *fast = ways
    print(f"  {'':30} {'start-up':>8} {'seconds':>8} {'per second':>10}")
    passed = slow.seconds <= MOST * ideal
    for way in ways:
        verdict = f"  {slow.seconds / ideal:.2f} x the ideal of {ideal:.2f} s" if way is slow else ""
        print(f"  {way.name:30} {way.start:8.2f} {way.seconds:8.2f} {cases / way.seconds:10,.0f}{verdict}")
    if peers:
        peer = peers[0]
        for key, suffix in (("per_second", ""), ("recorded_per_second", ", samples logged")):
            best = max(each[key] for each in peers)
            factors = [cases / way.seconds / best for way in fast]
            name = f"{peer['name']} {peer['version']}{suffix}"
            print(f"  {name:39} {'':8} {best:10,.0f}  callmark is {min(factors):.0f} to {max(factors):.0f} times as fast")
        print(f"  {peer['name']}: {peer['note']}; {PEER_TIMED:,} cases, without start-up")
    else:
        print("  skipped, because no Python was given: inspect-ai")
    print(f"  {slow.name}: at most {MOST} x the ideal: {'ok' if passed else 'FAILED'} ({slow.seconds / ideal:.2f})")
    for way in fast:
        speed = cases / way.seconds
        passed = passed and speed >= LEAST
        print(f"  {way.name}: at least {LEAST:,} per second: {'ok' if speed >= LEAST else 'FAILED'} ({speed:,.0f})")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
