"""How fast is grading from file to grades, against the floor: one buffered typed decode of the same bytes, cases and predictions, into
what grading needs (messages, tools left as they are, expected calls, where they were cut from; the calls that were made)?

Makes a file of decision points, cut from real conversations and repeated under ids of their own (300 MB by default), and files of
predictions of which none, one in ten and one in four is wrong in one way or another. Then runs `callmark grade` as people do, a process of
its own: three evaluators, faults, everything written out. The time of grading half a megabyte, which is start-up, is taken off. With one
process, then with two; the most memory that it had, on all of it and on a tenth.

    python benchmarks/grade_files.py [--megabytes 300] [--repeat 3] [--to DIR]
"""

import argparse
import json
import random
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

LIMIT = 3.0
LIMITED = ("nothing wrong", "one in ten wrong")  # of a worse model, whose faults take their time, it is only told


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


WRONG = {"none": 0.0, "tenth": 0.1, "quarter": 0.25}  # shares of predictions that are wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--to", default=None, help="folder for the files (a temporary one if not given)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.to) as name:
        folder = Path(name)
        rows = make(folder, "big", options.megabytes * 1_000_000)
        make(folder, "tenth", options.megabytes * 100_000)
        make(folder, "small", 500_000)
        size = (folder / "big.jsonl").stat().st_size
        print(f"{size / 1e6:,.0f} MB, {rows:,} decision points of {default_source()}, best of {options.repeat}")
        return report(folder, options.repeat, size, rows)


def make(folder: Path, name: str, size: int) -> int:
    """A file of cases of that size, and one of predictions for each share of wrong ones. Gives the number of cases."""
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
                    made = spoiled(calls, dice) if dice.random() < WRONG[share] else calls
                    out.write(json.dumps({"id": own, "tool_calls": made}) + "\n")
                rows += 1
                if file.tell() >= size:
                    break
            turn += 1
    return rows


def spoiled(calls: list[dict[str, Any]], dice: random.Random) -> list[dict[str, Any]]:
    """The calls with another value, another tool, an argument less, or none at all."""
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
        decode(str(folder / "big-quarter.jsonl"), PredictionRow)
        keep("floor", time.perf_counter() - began)
        keep("start-up", *graded(folder, "small", "none"))
        keep("nothing wrong", *graded(folder, "big", "none"))
        keep("one in ten wrong", *graded(folder, "big", "tenth"))
        keep("one in four wrong", *graded(folder, "big", "quarter"))
        keep("the same, --jobs 2", *graded(folder, "big", "quarter", "--jobs", "2"))
        keep("the same, of a tenth", *graded(folder, "tenth", "quarter"))
    missed = 0
    for name, seconds in best.items():
        net = seconds if name in ("floor", "start-up") else seconds - best["start-up"]
        verdict = ""
        if name.endswith("wrong"):
            verdict = f"  {net / rows * 1e6:4.0f} µs a case"
        if name in LIMITED:
            missed += net / best["floor"] > LIMIT
            verdict += f", at most {LIMIT:g}: {'held' if net / best['floor'] <= LIMIT else 'NOT HELD'}"
        most = f"  {memory[name]:4.0f} MB" if memory[name] else "         "
        print(f"  {name:22} {seconds:6.2f} s{most}  {net / best['floor']:5.2f} x floor{verdict}")
    faster = best["one in four wrong"] / best["the same, --jobs 2"]
    print(f"  --jobs 2 is {faster:.2f} times faster: {'held' if faster > 1 else 'NOT HELD'}")
    return 1 if missed or faster <= 1 else 0


def graded(folder: Path, cases: str, predictions: str, *more: str) -> tuple[float, float]:
    """The seconds and the most memory of one `callmark grade`."""
    arguments = ["grade", str(folder / f"{cases}.jsonl"), "-p", str(folder / f"{cases}-{predictions}.jsonl"), "-o", str(folder / "runs")]
    most, seconds = measure([*arguments, *more])
    return seconds, most


if __name__ == "__main__":
    sys.exit(main())
