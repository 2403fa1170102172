"""Check speed, correctness and variety of synthetic data: 300 conversations of the retail store from `callmark synth`.

Synthesizing twice must give identical files. `callmark lint --train --valid` must find nothing, the Foundry filter must keep every
conversation with a find_* call, a fresh store must return the same result for every call, the final state must be that of the planned
calls, and every decision point, graded against itself, must be correct. Lengths, tools, distinct tool sequences per 50 conversations,
near-duplicates and distinct 4-grams per word of user text are compared with the real retail file (../shared/data, or CALLMARK_REAL_DATA),
each over as many conversations as the real file has. Exits with status 1 if a check fails.

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

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests/ knows the path of the real file

from tests.real.test_recorded import RETAIL

import callmark
from callmark.calls.results import match_results
from callmark.cli.main import run
from callmark.data.near_duplicates import NearDuplicateIndex, sketch
from callmark.worlds.retail.store.store import Store

SECONDS = 60
MOST_NEAR = 0.05
PER = 50  # conversations over which tool sequences are counted
FILES = ("train.jsonl", "valid.jsonl", "plans.jsonl", "rejected.jsonl")
FILTER = ("--require", "find_* > get_user_details(user_id=$result)", "--consistent", "user_id", "--grounded", "--clean")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    results: list[bool] = []

    def check(what: str, passed: bool) -> None:
        results.append(passed)
        print(f"  {what}: {'ok' if passed else 'FAILED'}", flush=True)

    with tempfile.TemporaryDirectory() as made:
        one, two = Path(made, "one"), Path(made, "two")
        began = time.perf_counter()
        synth = ["synth", "-n", str(options.number), "--seed", str(options.seed)]
        status = run([*synth, "-o", str(one)])
        seconds = time.perf_counter() - began
        check(f"{options.number} conversations in {seconds:.1f} s, limit {SECONDS}", status == 0 and seconds <= SECONDS)
        run([*synth, "-o", str(two), "--concurrency", "3"])
        check(
            "identical files with another --concurrency",
            all((one / name).read_bytes() == (two / name).read_bytes() for name in FILES),
        )
        train, valid = one / "train.jsonl", one / "valid.jsonl"
        rows = [*callmark.load(train), *callmark.load(valid)]
        check(f"{len(rows)} rows", len(rows) == options.number)
        found = callmark.lint(callmark.load(train), valid=callmark.load(valid))
        check(f"{len(found.findings)} lint findings", not found.findings)
        finding = [row for row in rows if any(call.name.startswith("find_") for call in row.calls)]
        callmark.write(finding, one / "finding.jsonl")
        run(["filter", str(one / "finding.jsonl"), "-o", str(one / "kept.jsonl"), *FILTER])
        kept = sum(1 for _ in callmark.load(one / "kept.jsonl"))
        check(f"the Foundry filter keeps {kept} of {len(finding)} conversations with a find_* call", kept == len(finding))
        about = json.loads((one / "synth.json").read_text())
        plans = {plan.id: plan for plan in callmark.load(one / "plans.jsonl")}
        planned = [plan.expected for name in (*about["train"], *about["valid"]) if isinstance(plan := plans[name], callmark.Case)]
        for what, passed in replay(rows, planned):
            check(what, passed)
        check(*grade_against_itself(rows))
        real = list(callmark.load(RETAIL)) if RETAIL.exists() else []
        for what, passed in compare_with_real(rows, real):
            check(what, passed)
    return 0 if all(results) else 1


def replay(rows: Iterable[callmark.Conversation], plans: Iterable[Sequence[callmark.Call]]) -> Iterable[tuple[str, bool]]:
    """Repeat every call on a fresh store; compare the results with the row, and the final state with that of the planned calls."""
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
    yield f"{same} of {calls} results equal those of a fresh store", calls > 0 and same == calls
    yield f"{ends} of {count} final states equal those of the planned calls", ends == count


def grade_against_itself(rows: Sequence[callmark.Conversation]) -> tuple[str, bool]:
    points = list(callmark.expand(rows))
    perfect = sum(
        all(
            value == 1
            for value in callmark.grade(point.expected, point.expected, tools=point.tools, messages=point.messages).metrics.values()
        )
        for point in points
    )
    return f"{perfect} of {len(points)} decision points are correct when graded against themselves", perfect == len(points)


def compare_with_real(rows: Sequence[callmark.Conversation], real: Sequence[callmark.Conversation]) -> Iterable[tuple[str, bool]]:
    """Compare statistics of both files."""
    if not real:
        yield f"{RETAIL}: no such file", False
        return
    ours, theirs = callmark.stats(rows), callmark.stats(real)
    for name in ("num_turns", "tool_calls"):
        one, other = getattr(ours, name), getattr(theirs, name)
        yield (
            f"{name} {one.mean:.2f} ({one.min} to {one.max}), real {other.mean:.2f} ({other.min} to {other.max})",
            0.5 < one.mean / other.mean < 2,
        )
    yield f"{len(ours.tools)} tools called, real {len(theirs.tools)}", len(ours.tools) == len(rows[0].tools) == 15
    of_ours = [sequences(part) for part in parts(rows, PER)]
    yield (
        f"{min(of_ours)} to {max(of_ours)} distinct tool sequences per {PER} conversations, real {sequences(real[:PER])}",
        min(of_ours) >= sequences(real[:PER]),
    )
    index = NearDuplicateIndex()
    near = sum(index.add(sketch(row)) is not None for row in rows)
    yield f"{near} near-duplicates in {len(rows)} conversations", near < MOST_NEAR * len(rows)
    variety = [four_grams(part) for part in parts(rows, len(real))]
    yield (
        f"{min(variety):.3f} to {max(variety):.3f} distinct 4-grams per word, real {four_grams(real):.3f}",
        min(variety) >= four_grams(real),
    )
    print(f"    ({four_grams(rows):.3f} over all {len(rows)} conversations)")


def parts(rows: Sequence[callmark.Conversation], size: int) -> list[Sequence[callmark.Conversation]]:
    """Return as many complete parts of that size as there are."""
    return [rows[at : at + size] for at in range(0, len(rows) - size + 1, size)]


def sequences(rows: Iterable[callmark.Conversation]) -> int:
    return len({tuple(call.name for call in row.calls) for row in rows})


def four_grams(rows: Iterable[callmark.Conversation]) -> float:
    """Return the number of distinct 4-grams in user turns per word."""
    turns = [message.text.lower().split() for row in rows for message in row.messages if message.role == "user"]
    distinct = {gram for words in turns for gram in zip(*(islice(words, at, None) for at in range(4)), strict=False)}
    return len(distinct) / sum(map(len, turns))


if __name__ == "__main__":
    sys.exit(main())
