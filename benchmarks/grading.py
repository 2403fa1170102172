"""Measure the speed of grading in memory: one expected call and one actual call with 3 arguments, given as JSON strings.

Generates pairs of calls from a seed, three in four of them correct, and times on the same pairs: the evaluator `call` without and with
tools, the evaluator on parsed calls, `callmark.grade` with all three evaluators, and a baseline that calls `json.loads` twice and compares.
A peer is timed in its own environment if its Python is given; a note below the table says what is timed. Everything is timed several times
in turns, and the best time of each is printed. Tool lists are parsed beforehand, as in a run over a dataset. Exits with status 1 if
callmark is slower than the limit or wrong about any pair.

    python benchmarks/grading.py [--pairs 5000] [--turns 3] [--passes 5] [--seed 1] [--bfcl PYTHON] [--agentevals PYTHON] [--adk PYTHON]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from operator import ne
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

import callmark
from callmark.calls.expected import read_expected_calls
from callmark.calls.shapes import read_calls
from callmark.calls.toolsets import read_tools
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.call import CallEvaluator

LEAST = 150_000  # scores per second of the evaluator `call`, on one core
LIMITED, PLAIN = "call", "json baseline"
PEERS = {"bfcl": "bfcl_checker.py", "agentevals": "agentevals_match.py", "adk": "adk_trajectory.py"}
CITIES = ["Lisbon", "Oslo", "Kyoto", "Quito", "Accra", "Zürich", "Hobart", "São Paulo"]
PEOPLE = ["Ada Byron", "Grace Murray", "Alan Mathison", "Edsger Wybe", "Barbara Jane", "José Núñez"]
TAGS = ["quiet", "balcony", "breakfast", "parking", "late arrival", "pets"]
PARAMETERS: dict[str, dict[str, Any]] = {
    "find_room": {"city": {"type": "string"}, "nights": {"type": "integer"}, "most": {"type": "number"}},
    "book_room": {"guest": {"type": "string"}, "room": {"type": "string"}, "nights": {"type": "integer"}},
    "set_rate": {"room": {"type": "string"}, "rate": {"type": "number"}, "city": {"type": "string"}},
    "note_wishes": {"guest": {"type": "string"}, "room": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
}
MAKE: dict[str, Callable[[Random], Any]] = {
    "city": lambda random: random.choice(CITIES),
    "guest": lambda random: random.choice(PEOPLE),
    "room": lambda random: f"R{random.randrange(100, 999)}",
    "nights": lambda random: random.randint(1, 21),
    "most": lambda random: random.randint(40, 400) + 0.5,
    "rate": lambda random: random.randint(40, 400) + 0.25,
    "tags": lambda random: random.sample(TAGS, random.randint(1, 3)),
}

Pairs = list[dict[str, Any]]
Way = Callable[[], list[bool]]


class Timed(Struct):
    """The best result of one variant: scores per second, the same from argument strings if that differs, and calls graded as correct."""

    name: str
    per_second: float
    right: int
    version: str = ""
    note: str = ""
    from_strings: float | None = None


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in {"pairs": 5000, "turns": 3, "passes": 20, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    for peer in PEERS:
        parser.add_argument(f"--{peer}", default=None, metavar="PYTHON", help="the Python of an environment with this package")
    options = parser.parse_args()
    tools, pairs, truth = workload(options.pairs, options.seed)
    right = sum(truth)
    pythons = {peer: getattr(options, peer) for peer in PEERS}
    print(f"{len(pairs):,} pairs of calls with 3 arguments, {right:,} correct; best of {options.turns} turns of {options.passes} passes")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "calls.json")
        path.write_text(json.dumps({"tools": tools, "pairs": pairs}), encoding="utf-8")
        ours: dict[str, Timed] = {}
        peers: dict[str, Timed] = {}
        for _ in range(options.turns):
            for name, way in ways(tools, pairs).items():
                keep_best(ours, best_of(name, way, truth, options.passes))
            for peer, python in pythons.items():
                if python:
                    keep_best(peers, run_peer(python, PEERS[peer], path, options.passes))
    return report(ours, peers, [peer for peer, python in pythons.items() if not python], right)


def workload(count: int, seed: int) -> tuple[list[dict[str, Any]], Pairs, list[bool]]:
    """Return the tools, the pairs `{"expected", "made"}` in OpenAI's format, and whether each actual call is correct.

    The result is the same for the same seed. Exactly one in four is wrong: a wrong tool, or a wrong value of one argument. Half of the
    correct ones have their arguments in another order and without spaces, so that comparing strings is not enough.
    """
    random = Random(seed)
    tools = [{"type": "function", "function": {"name": name, "parameters": _schema(name)}} for name in PARAMETERS]
    wrong = set(random.sample(range(count), count // 4))
    pairs = []
    for index in range(count):
        name = random.choice(list(PARAMETERS))
        arguments = {key: MAKE[key](random) for key in PARAMETERS[name]}
        made_name, made = _spoiled(random, name, arguments) if index in wrong else (name, arguments)
        if random.random() < 0.5:
            text = json.dumps(dict(reversed(made.items())), separators=(",", ":"), ensure_ascii=False)
        else:
            text = json.dumps(made)
        pairs.append({"expected": _call(index, name, json.dumps(arguments)), "made": _call(index, made_name, text)})
    return tools, pairs, [index not in wrong for index in range(count)]


def _schema(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": PARAMETERS[name], "required": list(PARAMETERS[name])}


def _call(index: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _spoiled(random: Random, name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if random.random() < 0.3:
        return random.choice([other for other in PARAMETERS if other != name]), arguments
    key = random.choice(list(arguments))
    value = arguments[key]
    while value == arguments[key]:
        value = MAKE[key](random)
    return name, {**arguments, key: value}


def ways(tools: list[dict[str, Any]], pairs: Pairs) -> dict[str, Way]:
    """Return the variants; each returns whether each pair is correct."""
    lists = [([pair["expected"]], [pair["made"]]) for pair in pairs]
    known = read_tools(tools)
    read = [(read_expected_calls(expected), read_calls(made)) for expected, made in lists]
    evaluator = CallEvaluator()

    def call() -> list[bool]:
        return [
            evaluator.evaluate(Attempt(read_expected_calls(expected), read_calls(made))).values["score"] == 1 for expected, made in lists
        ]

    def call_with_tools() -> list[bool]:
        return [
            evaluator.evaluate(Attempt(read_expected_calls(expected), read_calls(made), tools=known)).values["score"] == 1
            for expected, made in lists
        ]

    def already_read() -> list[bool]:
        return [evaluator.evaluate(Attempt(expected, made)).values["score"] == 1 for expected, made in read]

    def all_evaluators() -> list[bool]:
        return [callmark.grade(expected, made, tools=known).metrics["call.score"] == 1 for expected, made in lists]

    def plain() -> list[bool]:
        verdicts = []
        for expected, made in lists:
            ours, theirs = expected[0]["function"], made[0]["function"]
            wanted, given = json.loads(ours["arguments"]), json.loads(theirs["arguments"])
            verdicts.append(ours["name"] == theirs["name"] and wanted == given)
        return verdicts

    return {
        LIMITED: call,
        "call, with tools": call_with_tools,
        "call, calls parsed": already_read,
        "grade, three evaluators, with tools": all_evaluators,
        PLAIN: plain,
    }


def best_of(name: str, way: Way, truth: list[bool], passes: int) -> Timed:
    best = float("inf")
    verdicts: list[bool] = []
    for _ in range(passes):
        began = time.perf_counter()
        verdicts = way()
        best = min(best, time.perf_counter() - began)
    if verdicts != truth:
        sys.exit(f"{name}: {sum(map(ne, verdicts, truth)):,} of {len(truth):,} pairs were graded incorrectly")
    return Timed(name, len(truth) / best, sum(verdicts))


def run_peer(python: str, script: str, path: Path, passes: int) -> Timed:
    """Run a peer's script in its own environment and return its result; a failure stops the benchmark with the script's output."""
    command = [python, str(Path(__file__).parent / "peers" / script), str(path), "--passes", str(passes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{script} failed:\n{done.stderr}")
    return Timed(**json.loads(done.stdout.splitlines()[-1]))


def keep_best(best: dict[str, Timed], timed: Timed) -> None:
    known = best.setdefault(timed.name, timed)
    known.per_second = max(known.per_second, timed.per_second)
    if known.from_strings and timed.from_strings:
        known.from_strings = max(known.from_strings, timed.from_strings)


def report(ours: dict[str, Timed], peers: dict[str, Timed], left_out: list[str], right: int) -> int:
    """Print the table, what was timed, and the verdict. `speedup` is the speed of the evaluator `call` relative to a row."""
    speed = ours[LIMITED].per_second
    print(f"  {'':36} {'per second':>10}  {'of call':>7}  {'speedup':>11}  {'correct':>7}")
    for row in [*ours.values(), *peers.values()]:
        figures = [("", row.per_second)]
        if row.from_strings:
            figures.append((" from strings", row.from_strings))
        for suffix, figure in figures:
            name = f"{row.name} {row.version}".strip() + suffix
            correct = f"{row.right:7,}" + ("" if row.right == right else f"  ({row.right - right:+,})")
            print(f"  {name:36} {figure:10,.0f}  {figure / speed:6.2f}x  {speed / figure:10.2f}x  {correct}")
    for row in peers.values():
        print(f"  {row.name}: {row.note}")
    if left_out:
        print(f"  skipped, because no Python was given: {', '.join(left_out)}")
    fast_enough = speed >= LEAST
    print(f"  call: at least {LEAST:,} per second: {'ok' if fast_enough else 'FAILED'} ({speed:,.0f})")
    return 0 if fast_enough else 1


if __name__ == "__main__":
    sys.exit(main())
