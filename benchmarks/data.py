"""Measure the speed of stats, filter and expand relative to a floor: one buffered, typed decode of the same bytes.

Creates a file of repeated realistic rows (500 MB by default), times each job several times in turns, in one process, and prints the best
time of each and its ratio to the floor. The floor reads the file with a large buffer and decodes every line into a typed row: messages with
role, text and calls; tools stay undecoded. `lean` decodes the bare minimum: roles and calls. Counting turns and calls with the `json`
module is timed for comparison. The output of `expand` is several times larger than its input, so it is timed with its output discarded,
with its output written to a file, and next to writing as many bytes without any work.

    python benchmarks/data.py [--megabytes 500] [--repeat 5] [--source FILE] [--to DIR]
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

import callmark
from callmark.data import filter as rules
from callmark.formats import Output
from callmark.formats.openai import write

LIMITS = {"stats": 3.0, "expand": 5.0}
BUFFER = 1 << 20


class Function(Struct):
    name: str
    arguments: str


class WireCall(Struct):
    function: Function
    id: str | None = None


class LeanMessage(Struct):
    role: str
    tool_calls: list[WireCall] | None = None


class LeanRow(Struct):
    messages: list[LeanMessage]


class WireMessage(Struct):
    role: str
    content: str | None = None
    tool_calls: list[WireCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None


class Row(Struct):
    messages: list[WireMessage]
    tools: Raw = Raw(b"[]")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--source", default=default_source())
    parser.add_argument("--to", default=None, help="folder for the files; default: a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.to) as folder:
        path = Path(folder, "big.jsonl")
        size = repeat_into(path, Path(options.source), options.megabytes * 1_000_000)
        print(f"{size / 1e6:,.0f} MB of {options.source}, best of {options.repeat}")
        limits = LIMITS if "retail" in options.source else {}
        if not limits:
            print("(the limits apply only to the retail file, whose rows have 23 KB)")
        return report(measure(str(path), folder, options.repeat), size, limits)


def default_source() -> str:
    """Return the real retail file if it is available, else the dataset in the package."""
    real = Path(os.environ.get("CALLMARK_REAL_DATA", Path(__file__).parents[2] / "shared" / "data"), "retail", "valid.jsonl")
    return os.path.relpath(real if real.exists() else Path(callmark.__file__).parent / "worlds" / "hotel" / "hotel.jsonl")


def repeat_into(path: Path, source: Path, size: int) -> int:
    rows = source.read_bytes()
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(rows)
    return path.stat().st_size


def measure(path: str, folder: str, repeat: int) -> dict[str, float]:
    out = str(Path(folder, "out.jsonl"))
    jobs: dict[str, Callable[[], object]] = {
        "floor": lambda: decode(path, Row),
        "lean": lambda: decode(path, LeanRow),
        "stats": lambda: callmark.stats(callmark.load(path)),
        "expand": lambda: expand(path, os.devnull),
        "expand to a file": lambda: expand(path, out),
        "write only": lambda: write_only(out, written),
        "filter": lambda: filter_rows(path, out),
        "json module": lambda: count_with_json(path),
    }
    expand(path, out)
    written = Path(out).stat().st_size
    print(f"expand writes {written / 1e6:,.0f} MB")
    best = dict.fromkeys(jobs, float("inf"))
    for turn in range(repeat):
        for name, job in jobs.items():
            if name == "json module" and turn:
                continue
            Path(out).unlink(missing_ok=True)
            began = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def decode(path: str, row_type: type[Struct]) -> None:
    one = msgspec.json.Decoder(row_type).decode
    with open(path, "rb", buffering=BUFFER) as file:
        for line in file:
            one(line)


def expand(path: str, out: str) -> None:
    with Output(out) as output:
        for case in callmark.expand(callmark.load(path)):
            output.line(write(case))


def write_only(out: str, size: int) -> None:
    """Write as many bytes without any work, to measure the disk."""
    block = b"x" * (1 << 20)
    with open(out, "wb", buffering=0) as file:
        file.writelines(block for _ in range(size >> 20))


def filter_rows(path: str, out: str) -> None:
    conditions = [rules.require("find_* > get_*"), rules.calls_between(1, None)[0]]
    with Output(out) as output:
        for row, failed, _ in rules.apply_rules(callmark.load(path), conditions):
            if not failed:
                output.line(row.original.row.rstrip())


def count_with_json(path: str) -> tuple[int, int]:
    turns = calls = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            turns += len(row["messages"])
            for message in row["messages"]:
                for call in message.get("tool_calls") or []:
                    json.loads(call["function"]["arguments"]) if call["function"]["arguments"].endswith("}") else None
                    calls += 1
    return turns, calls


def report(best: dict[str, float], size: int, limits: dict[str, float]) -> int:
    missed = 0
    for name, seconds in best.items():
        ratio = seconds / best["floor"]
        limit = limits.get(name)
        verdict = "" if limit is None else f"  limit {limit:g}: {'ok' if ratio <= limit else 'FAILED'}"
        missed += limit is not None and ratio > limit
        speed = f"{seconds:7.2f} s  {size / seconds / 1e6:8,.0f} MB/s"
        print(f"  {name:18} {speed}  {ratio:5.2f} x floor  {seconds / best['lean']:5.2f} x lean{verdict}")
    print(f"  stats is {best['json module'] / best['stats']:.1f} times faster than counting turns and calls with the json module")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
