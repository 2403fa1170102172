"""How fast is grading from file to grades, against the floor: one buffered typed decode of the same bytes?

Makes a file of decision points, cut from real conversations and repeated under ids of their own (300 MB by default), and a file of
predictions of which one in four is wrong in one way or another. Then runs `callmark grade` as people do, a process of its own: three
suites, faults, everything written out. The time of grading a single record, which is start-up, is taken off. With one process, then with
two; the most memory that it had, on all of it and on a tenth. Also with no wrong prediction at all, which shows what faults cost.

    python benchmarks/grade_files.py [--megabytes 300] [--repeat 3] [--to DIR]
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import callmark
from callmark.formats.openai import write
from data import Row, decode, default_source
from memory import measure

LIMIT = 3.0
WRONG = 0.25


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
        make(folder, "one", 1)
        size = (folder / "big.jsonl").stat().st_size
        print(f"{size / 1e6:,.0f} MB, {rows:,} decision points of {default_source()}, best of {options.repeat}")
        return report(folder, options.repeat, size, rows)


def make(folder: Path, name: str, size: int) -> int:
    """A file of cases of that size, and two of predictions: with one in four wrong, and with none. Gives the number of cases."""
    cases = list(callmark.expand(callmark.load(default_source())))
    records = [(write(case), case.id, json.loads(write(case))["expected_output"]["tool_calls"]) for case in cases]
    dice = random.Random(7)
    rows = 0
    with (
        (folder / f"{name}.jsonl").open("wb") as file,
        (folder / f"{name}-wrong.jsonl").open("w") as wrong,
        (folder / f"{name}-right.jsonl").open("w") as right,
    ):
        turn = 0
        while file.tell() < size:
            for text, case, calls in records:
                own = f"{turn}/{case}"
                text = text.replace(b'{"id":"' + case.encode(), b'{"id":"' + own.encode(), 1)
                file.write(text.replace(b'"conversation":"', b'"conversation":"' + f"{turn}/".encode(), 1) + b"\n")
                right.write(json.dumps({"id": own, "tool_calls": calls}) + "\n")
                wrong.write(json.dumps({"id": own, "tool_calls": spoiled(calls, dice)}) + "\n")
                rows += 1
                if file.tell() >= size:
                    break
            turn += 1
    return rows


def spoiled(calls: list[dict[str, Any]], dice: random.Random) -> list[dict[str, Any]]:
    """The calls, one time in four with another value, another tool, an argument less, or none at all."""
    if dice.random() >= WRONG:
        return calls
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
        decode(str(folder / "big.jsonl"), Row)
        keep("floor", time.perf_counter() - began)
        keep("start-up", *graded(folder, "one", "right"))
        keep("grade", *graded(folder, "big", "wrong"))
        keep("grade, nothing wrong", *graded(folder, "big", "right"))
        keep("grade --jobs 2", *graded(folder, "big", "wrong", "--jobs", "2"))
        keep("grade, a tenth", *graded(folder, "tenth", "wrong"))
    for name, seconds in best.items():
        net = seconds - best["start-up"] if name.startswith("grade") else seconds
        limit = f"  at most {LIMIT:g}: {'held' if net / best['floor'] <= LIMIT else 'NOT HELD'}" if name == "grade" else ""
        most = f"  {memory[name]:4.0f} MB" if memory[name] else "         "
        print(f"  {name:22} {seconds:6.2f} s{most}  {net / best['floor']:5.2f} x floor{limit}")
    each = (best["grade"] - best["start-up"]) / rows * 1e6
    faster = best["grade --jobs 2"] < best["grade"]
    verdict = "faster: held" if faster else "NOT FASTER"
    print(f"  {each:.0f} µs a case; --jobs 2 is {verdict} ({best['grade'] / best['grade --jobs 2']:.2f} times)")
    return 0 if faster and (best["grade"] - best["start-up"]) / best["floor"] <= LIMIT else 1


def graded(folder: Path, cases: str, predictions: str, *more: str) -> tuple[float, float]:
    """The seconds and the most memory of one `callmark grade`."""
    arguments = ["grade", str(folder / f"{cases}.jsonl"), "-p", str(folder / f"{cases}-{predictions}.jsonl"), "-o", str(folder / "runs")]
    most, seconds = measure([*arguments, *more])
    return seconds, most


if __name__ == "__main__":
    sys.exit(main())
