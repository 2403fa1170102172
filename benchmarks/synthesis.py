"""Is synthetic data as quick, as sound and as varied as it should be? 300 conversations of the retail store, made by the command.

Made twice: the same bytes. Then `callmark lint --train --valid` must find nothing, document 001's filter must keep every conversation that
has a find_* call, every result must be what a fresh store gives to the same calls, what was changed must be what the planned calls change,
and every decision point, graded against itself, must be perfect. Beside the real retail file (../shared/data, or CALLMARK_REAL_DATA) stand
lengths, tools, distinct sequences of tools per 50 conversations, near copies, and distinct 4-grams per word of what users say, each in as
many conversations as the real file has. Exit status 1 when a limit is not held.

    python benchmarks/synthesis.py [--number 300] [--seed 7]
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # where the real file is, is the tests' to know

from tests.real.test_recorded import RETAIL

import callmark
from callmark.calls.results import match_results
from callmark.cli.main import run
from callmark.data.near_duplicates import NearDuplicateIndex, sketch
from callmark.worlds.retail.store.store import Store

SECONDS = 60
MOST_NEAR = 0.05
PER = 50  # conversations in which sequences are counted
FILES = ("train.jsonl", "valid.jsonl", "plans.jsonl", "rejected.jsonl")
FILTER = ("--require", "find_* > get_user_details(user_id=$result)", "--consistent", "user_id", "--grounded", "--clean")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    held: list[bool] = []

    def told(what: str, holds: bool) -> None:
        held.append(holds)
        print(f"  {what}: {'held' if holds else 'NOT HELD'}", flush=True)

    with tempfile.TemporaryDirectory() as made:
        one, two = Path(made, "one"), Path(made, "two")
        began = time.perf_counter()
        synth = ["synth", "-n", str(options.number), "--seed", str(options.seed)]
        status = run([*synth, "-o", str(one)])
        seconds = time.perf_counter() - began
        told(f"{options.number} conversations in {seconds:.1f} s, at most {SECONDS}", status == 0 and seconds <= SECONDS)
        run([*synth, "-o", str(two), "--concurrency", "3"])
        told(
            "the same bytes again, with another --concurrency",
            all((one / name).read_bytes() == (two / name).read_bytes() for name in FILES),
        )
        train, valid = one / "train.jsonl", one / "valid.jsonl"
        rows = [*callmark.load(train), *callmark.load(valid)]
        told(f"{len(rows)} rows", len(rows) == options.number)
        found = callmark.lint(callmark.load(train), valid=callmark.load(valid))
        told(f"lint finds {len(found.findings)}", not found.findings)
        finding = [row for row in rows if any(call.name.startswith("find_") for call in row.calls)]
        callmark.write(finding, one / "finding.jsonl")
        run(["filter", str(one / "finding.jsonl"), "-o", str(one / "kept.jsonl"), *FILTER])
        kept = sum(1 for _ in callmark.load(one / "kept.jsonl"))
        told(f"document 001's filter keeps {kept} of {len(finding)} that have a find_* call", kept == len(finding))
        about = json.loads((one / "synth.json").read_text())
        plans = {plan.id: plan for plan in callmark.load(one / "plans.jsonl")}
        planned = [plan.expected for name in (*about["train"], *about["valid"]) if isinstance(plan := plans[name], callmark.Case)]
        for what, holds in replayed(rows, planned):
            told(what, holds)
        told(*graded(rows))
        real = list(callmark.load(RETAIL)) if RETAIL.exists() else []
        for what, holds in beside(rows, real):
            told(what, holds)
    return 0 if all(held) else 1


def replayed(rows: Iterable[callmark.Conversation], plans: Iterable[Sequence[callmark.Call]]) -> Iterable[tuple[str, bool]]:
    """Every call made again on a fresh store: does it give what stands in the row, and do all lead where the planned ones lead?"""
    first = Store(7)
    calls = same = ends = count = 0
    for row, planned in zip(rows, plans, strict=True):
        count += 1
        store, other = first.copy(), first.copy()
        results = match_results(row.messages).by_call
        for index, message in enumerate(row.messages):
            for place, call in enumerate(message.calls):
                calls += 1
                same += store.call(call.name, call.arguments).text == row.messages[results[(index, place)]].text
        for call in planned:
            other.call(call.name, call.arguments)
        ends += store.state() == other.state()
        store.close()
        other.close()
    yield f"{same} of {calls} results are what a fresh store gives", calls > 0 and same == calls
    yield f"{ends} of {count} end states are those that the planned calls lead to", ends == count


def graded(rows: Sequence[callmark.Conversation]) -> tuple[str, bool]:
    points = list(callmark.expand(rows))
    perfect = sum(
        all(
            value == 1
            for value in callmark.grade(point.expected, point.expected, tools=point.tools, messages=point.messages).metrics.values()
        )
        for point in points
    )
    return f"{perfect} of {len(points)} decision points are perfect against themselves", perfect == len(points)


def beside(rows: Sequence[callmark.Conversation], real: Sequence[callmark.Conversation]) -> Iterable[tuple[str, bool]]:
    """What is measured of both files, and whether the synthetic one may stand beside the real one."""
    if not real:
        yield f"there is no real file at {RETAIL}", False
        return
    ours, theirs = callmark.stats(rows), callmark.stats(real)
    for name in ("num_turns", "tool_calls"):
        one, other = getattr(ours, name), getattr(theirs, name)
        yield (
            f"{name} {one.mean:.2f} (from {one.min} to {one.max}), real {other.mean:.2f} ({other.min} to {other.max})",
            0.5 < one.mean / other.mean < 2,
        )
    yield f"{len(ours.tools)} tools called, real {len(theirs.tools)}", len(ours.tools) == len(rows[0].tools) == 15
    of_ours = [sequences(part) for part in parts(rows, PER)]
    yield (
        f"{min(of_ours)} to {max(of_ours)} distinct sequences per {PER} conversations, real {sequences(real[:PER])}",
        min(of_ours) >= sequences(real[:PER]),
    )
    copies = NearDuplicateIndex()
    near = sum(copies.add(sketch(row)) is not None for row in rows)
    yield f"{near} near copies of {len(rows)}", near < MOST_NEAR * len(rows)
    variety = [four_grams(part) for part in parts(rows, len(real))]
    yield f"{min(variety):.3f} to {max(variety):.3f} distinct 4-grams a word, real {four_grams(real):.3f}", min(variety) >= four_grams(real)
    print(f"    ({four_grams(rows):.3f} in all {len(rows)} conversations)")


def parts(rows: Sequence[callmark.Conversation], size: int) -> list[Sequence[callmark.Conversation]]:
    """As many whole pieces of that size as there are."""
    return [rows[at : at + size] for at in range(0, len(rows) - size + 1, size)]


def sequences(rows: Iterable[callmark.Conversation]) -> int:
    return len({tuple(call.name for call in row.calls) for row in rows})


def four_grams(rows: Iterable[callmark.Conversation]) -> float:
    """Distinct 4-grams within user turns for each word of them."""
    turns = [message.text.lower().split() for row in rows for message in row.messages if message.role == "user"]
    distinct = {gram for words in turns for gram in zip(*(islice(words, at, None) for at in range(4)), strict=False)}
    return len(distinct) / sum(map(len, turns))


if __name__ == "__main__":
    sys.exit(main())
