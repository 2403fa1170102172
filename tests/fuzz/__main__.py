"""`make fuzz`: many mutated inputs for every target, in worker processes, with a limit of time and memory for each input.

    python -m tests.fuzz --inputs 1000000

Prints, for each target, how many inputs were read and refused, the slowest and the one that took most memory. An input that raises another
error, takes more than 2 s of processor time or more than 500 MB is a failure: it is written to the corpus, where the tests read it from
then on, and the exit status is 1.
"""

import argparse
import os
import sys
import time
from hashlib import sha256
from multiprocessing import get_context

from tests.fuzz.targets import CORPUS, CORPUS_OF, FOLDER_VARIABLE, TARGETS, memory_folder
from tests.fuzz.worker import BATCH, MAX_SECONDS, Batch, Outcome, Totals, run_batch

_MAX_WALL = 60.0  # seconds without a sign of life


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=int(os.environ.get("FUZZ") or 1_000_000))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--targets", default=",".join(TARGETS), help="names, separated by commas")
    parser.add_argument("--minutes", type=float, default=0, help="stop after this time")
    given = parser.parse_args()
    names = given.targets.split(",")
    total = sum(TARGETS[name].share for name in names)
    batches: list[Batch] = []
    for name in names:
        number = round(given.inputs * TARGETS[name].share / total)
        batches += [Batch(name, given.seed, start, min(start + BATCH, number)) for start in range(0, number, BATCH)]
    batches.sort(key=lambda batch: batch.start / max(1, TARGETS[batch.target].share))  # all targets progress together
    with memory_folder() as folder:
        os.environ[FOLDER_VARIABLE] = folder
        return fuzz(batches, jobs=given.jobs, minutes=given.minutes)


def fuzz(batches: list[Batch], *, jobs: int, minutes: float) -> int:
    """Run all batches and print the result. Return the exit status."""
    started = time.monotonic()
    totals = {name: Totals() for name in TARGETS}
    failures: list[Outcome] = []
    context = get_context("spawn")
    with context.Pool(jobs, maxtasksperchild=20) as pool:
        pending = [(batch, pool.apply_async(run_batch, (batch,))) for batch in batches]
        for number, (batch, result) in enumerate(pending, 1):
            if minutes and time.monotonic() - started > 60 * minutes:
                sys.stdout.write(f"stopped after {minutes:g} minutes\n")
                pool.terminate()
                break
            try:
                done = result.get(_MAX_WALL + MAX_SECONDS * BATCH)
            except Exception as error:
                failures.append(Outcome(batch.target, batch.seed, batch.start, f"the batch was lost: {error!r}", b""))
                sys.stdout.write(f"{failures[-1]}\n")
                continue
            totals[batch.target].add(done)
            for failure in done.failures:
                failures.append(failure)
                sys.stdout.write(f"{failure}\n")
                sys.stdout.flush()
            if number % 200 == 0:
                sys.stdout.write(f"{sum(each.inputs for each in totals.values()):,} inputs, {len(failures)} failures\n")
                sys.stdout.flush()
    _show(totals, failures, time.monotonic() - started)
    for failure in failures:  # only now, so that the inputs stay those of the seed
        if failure.data:
            sys.stdout.write(f"{_store(failure)}  {failure}\n")
    return 1 if failures else 0


def _store(failure: Outcome) -> str:
    """Write an input that failed to the corpus, and return its path."""
    folder = CORPUS / CORPUS_OF.get(failure.target, failure.target)
    path = folder / f"found-{sha256(failure.data).hexdigest()[:12]}{next(folder.iterdir()).suffix}"
    path.write_bytes(failure.data)
    return os.path.relpath(path)


def _show(totals: dict[str, Totals], failures: list[Outcome], seconds: float) -> None:
    write = sys.stdout.write
    write(f"{'target':<12} {'inputs':>9} {'refused':>9} {'failures':>8}   slowest              most memory\n")
    for name, one in totals.items():
        if one.inputs:
            slowest, largest = f"{one.slowest * 1000:,.0f} ms (#{one.slowest_index})", f"{one.largest:,.0f} MB (#{one.largest_index})"
            write(f"{name:<12} {one.inputs:>9,} {one.refused:>9,} {one.failures:>8,}   {slowest:<20} {largest}\n")
    write(f"{sum(one.inputs for one in totals.values()):,} inputs in {seconds:,.0f} s, {len(failures)} failures\n")


if __name__ == "__main__":
    sys.exit(main())
