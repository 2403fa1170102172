"""Measure the speed of grading from files relative to a floor: one buffered, typed decode of the same bytes.

The floor decodes cases and predictions into what grading needs: messages, undecoded tools, expected calls with their source, actual calls.

Creates a file of decision points, cut from real conversations and repeated with new ids (300 MB by default), and files of predictions with
no, one in ten, and one in three predictions wrong. Then runs `callmark grade` as a separate process, with three evaluators, faults and all
output files. Start-up time, measured by grading half a megabyte, is subtracted. Also measures two processes (`--jobs 2`), the peak memory
with all data and with a tenth of it, and a plain script that decodes both files with `json.loads`, compares names and arguments, and writes
one score per case. Bytecode is written, as it is for every user.

    python benchmarks/grade_files.py [--megabytes 300] [--repeat 5] [--to DIR]
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec import Struct

import callmark
from callmark.formats.openai import write
from data import Row, WireCall, decode, default_source
from memory import measure

LIMIT = 3.0  # times the floor, whatever the share of wrong predictions
LEAST_FASTER = 2.0  # than the plain script, with one in three predictions wrong
LEAST_BY_TWO = 1.7  # how many times as fast two processes are as one
PLAIN = """
import json, sys

def calls(found):
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in found]

cases, predictions, out = sys.argv[1:]
with open(predictions, encoding="utf-8") as file:
    made = {row["id"]: row["tool_calls"] for row in map(json.loads, file)}
with open(cases, encoding="utf-8") as file, open(out, "w", encoding="utf-8") as scores:
    for row in map(json.loads, file):
        score = float(calls(row["expected_output"]["tool_calls"]) == calls(made[row["id"]]))
        scores.write(json.dumps({"id": row["id"], "score": score}) + "\\n")
"""


class Expected(Struct):
    tool_calls: list[WireCall]


class Origin(Struct):
    conversation: str
    message: int
    call: int | None = None


class CaseRow(Row, kw_only=True):
    id: str
    expected_output: Expected
    source: Origin


class PredictionRow(Struct):
    id: str
    tool_calls: list[WireCall]


WRONG = {"none": 0.0, "tenth": 0.1, "third": 1 / 3}  # share of wrong predictions


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--to", default=None, help="folder for the files; default: a temporary folder")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(dir=options.to) as name:
        folder = Path(name)
        rows = write_files(folder, "big", options.megabytes * 1_000_000)
        write_files(folder, "tenth", options.megabytes * 100_000)
        write_files(folder, "small", 500_000)
        size = (folder / "big.jsonl").stat().st_size
        print(f"{size / 1e6:,.0f} MB, {rows:,} decision points from {default_source()}, best of {options.repeat}")
        return report(folder, options.repeat, size, rows)


def write_files(folder: Path, name: str, size: int) -> int:
    """Write a file of cases of that size, and a file of predictions for each share of wrong ones. Return the number of cases."""
    cases = list(callmark.expand(callmark.load(default_source())))
    records = [(write(case), case.id, json.loads(write(case))["expected_output"]["tool_calls"]) for case in cases]
    dice = random.Random(7)
    rows = turn = 0
    with ExitStack() as files:
        file = files.enter_context((folder / f"{name}.jsonl").open("wb"))
        predictions = {share: files.enter_context((folder / f"{name}-{share}.jsonl").open("w")) for share in WRONG}
        while file.tell() < size:
            for text, case, calls in records:
                own = f"{turn}/{case}"
                text = text.replace(b'{"id":"' + case.encode(), b'{"id":"' + own.encode(), 1)
                file.write(text.replace(b'"conversation":"', b'"conversation":"' + f"{turn}/".encode(), 1) + b"\n")
                for share, out in predictions.items():
                    actual = perturbed(calls, dice) if dice.random() < WRONG[share] else calls
                    out.write(json.dumps({"id": own, "tool_calls": actual}) + "\n")
                rows += 1
                if file.tell() >= size:
                    break
            turn += 1
    return rows


def perturbed(calls: list[dict[str, Any]], dice: random.Random) -> list[dict[str, Any]]:
    """Return the calls with a wrong value, a wrong tool or a missing argument, or no calls."""
    first = calls[0]["function"]
    arguments = json.loads(first["arguments"])
    match dice.randrange(4):
        case 0 if arguments:
            key = dice.choice(list(arguments))
            return [{**calls[0], "function": {**first, "arguments": json.dumps({**arguments, key: "#W9999999"})}}]
        case 1 if arguments:
            arguments.pop(next(iter(arguments)))
            return [{**calls[0], "function": {**first, "arguments": json.dumps(arguments)}}]
        case 2:
            return []
        case _:
            return [{**calls[0], "function": {**first, "name": "get_user_details"}}]


def report(folder: Path, repeat: int, size: int, rows: int) -> int:
    best: dict[str, float] = {}
    memory: dict[str, float] = {}

    def keep(name: str, seconds: float, most: float = 0) -> None:
        best[name] = min(best.get(name, seconds), seconds)
        memory[name] = max(memory.get(name, 0), most)

    for _ in range(repeat):
        began = time.perf_counter()
        decode(str(folder / "big.jsonl"), CaseRow)
        decode(str(folder / "big-third.jsonl"), PredictionRow)
        keep("floor", time.perf_counter() - began)
        keep("plain script", *plain(folder))
        keep("start-up", *graded(folder, "small", "none"))
        keep("none wrong", *graded(folder, "big", "none"))
        keep("one in ten wrong", *graded(folder, "big", "tenth"))
        keep("one in three wrong", *graded(folder, "big", "third"))
        keep("same, --jobs 2", *graded(folder, "big", "third", "--jobs", "2"))
        keep("same, a tenth of it", *graded(folder, "tenth", "third"))
    missed = 0
    for name, seconds in best.items():
        net = seconds if name in ("floor", "start-up", "plain script") else seconds - best["start-up"]
        verdict = ""
        if name.endswith("wrong"):
            missed += net / best["floor"] > LIMIT
            verdict = f"  {net / rows * 1e6:4.0f} µs per case, limit {LIMIT:g}: {'ok' if net / best['floor'] <= LIMIT else 'FAILED'}"
        most = f"  {memory[name]:4.0f} MB" if memory[name] else "         "
        print(f"  {name:22} {seconds:6.2f} s{most}  {net / best['floor']:5.2f} x floor{verdict}")
    alone = best["one in three wrong"] - best["start-up"]
    faster, by_two = best["plain script"] / alone, alone / (best["same, --jobs 2"] - best["start-up"])
    for text, ratio, least in (("faster than the plain script", faster, LEAST_FASTER), ("faster with --jobs 2", by_two, LEAST_BY_TWO)):
        missed += ratio < least
        print(f"  {ratio:.2f} times {text}, at least {least:g}: {'ok' if ratio >= least else 'FAILED'}")
    return 1 if missed else 0


def plain(folder: Path) -> tuple[float, float]:
    """Return the seconds of the plain script, without those that Python takes to start, and its peak memory, which is not measured."""
    files = [str(folder / name) for name in ("big.jsonl", "big-third.jsonl", "plain.jsonl")]
    began = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", "import json"], check=True)
    middle = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", PLAIN, *files], check=True)
    return time.perf_counter() - middle - (middle - began), 0


def graded(folder: Path, cases: str, predictions: str, *more: str) -> tuple[float, float]:
    """Return the seconds and the peak memory of one `callmark grade`."""
    arguments = ["grade", str(folder / f"{cases}.jsonl"), "-p", str(folder / f"{cases}-{predictions}.jsonl"), "-o", str(folder / "runs")]
    most, seconds = measure([*arguments, *more])
    return seconds, most


if __name__ == "__main__":
    sys.exit(main())
