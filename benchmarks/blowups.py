"""Does the work stay bounded? Inputs that could take far more time or memory than their size, at n, 2n and 4n, each in a fresh process.

    python benchmarks/blowups.py [NAME …]

A row passes if the time and the memory at 4n are at most seven times those at n (linear would be four times), or if the input is refused
within two seconds. A new row is a function in one of `ROWS` with the decorator `@blowup`: it gets n, builds the input and returns the
function to measure, which returns a sentence if it refuses the input.
"""

import atexit
import importlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from callmark.errors import CallmarkError

ROWS = ("blowups_calls", "blowups_conversations", "blowups_files", "blowups_runs")  # modules in this folder
MAX_GROWTH = 7.0  # from n to 4n
MAX_SECONDS, MAX_REFUSAL_SECONDS = 30.0, 2.0
MIN_SECONDS, MIN_MEGABYTES = 0.03, 20.0  # less is noise
TRIES = 3
FOLDER = Path(tempfile.mkdtemp(prefix="callmark-blowups-"))  # for the files of the inputs
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

Run = Callable[[], str | None]


class Blowup(NamedTuple):
    """A row of the table: its name, the smallest n, and the function that builds the input."""

    name: str
    n: int
    build: Callable[[int], Run]


class Measurement(NamedTuple):
    """The processor seconds of one run, the megabytes that the process needed for it, and why the input was refused, if it was."""

    seconds: float
    megabytes: float
    refusal: str


BLOWUPS: dict[str, Blowup] = {}


def blowup(name: str, *, n: int) -> Callable[[Callable[[int], Run]], Callable[[int], Run]]:
    """Add a row to the table. The input is built by the function for n, 2n and 4n."""

    def add(build: Callable[[int], Run]) -> Callable[[int], Run]:
        BLOWUPS[name] = Blowup(name, n, build)
        return build

    return add


def main(names: list[str]) -> int:
    if names[:1] == ["--measure"]:
        print(json.dumps(measure_here(BLOWUPS[names[1]], int(names[2]))))
        return 0
    rows = [row for row in BLOWUPS.values() if not names or any(name in row.name for name in names)]
    width = max(len(row.name) for row in rows)
    print(f"{'':{width}}  {'n':>9} {'seconds at n, 2n, 4n':>24} {'MB at n, 2n, 4n':>20}  growth")
    failed = 0
    for row in rows:
        measured = [measure(row, row.n * factor) for factor in (1, 2, 4)]
        tries = 1
        while not verdict(measured)[0] and tries < TRIES:
            tries += 1
            measured = [min(before, measure(row, row.n * factor)) for before, factor in zip(measured, (1, 2, 4), strict=True)]
        passed, reason = verdict(measured)
        failed += not passed
        seconds = " ".join(f"{each.seconds:7.2f}" for each in measured)
        megabytes = " ".join(f"{each.megabytes:6.0f}" for each in measured)
        print(f"{row.name:{width}}  {row.n:9,} {seconds:>24} {megabytes:>20}  {reason}", flush=True)
    print(f"{len(rows) - failed} of {len(rows)} rows are linear, or refused")
    return 1 if failed else 0


def verdict(measured: list[Measurement]) -> tuple[bool, str]:
    """Return whether a row passes, and why."""
    first, _, last = measured
    slowest = max(each.seconds for each in measured)
    if last.refusal:
        passed = last.seconds <= MAX_REFUSAL_SECONDS and slowest <= MAX_SECONDS
        return passed, f"{'refused' if passed else 'FAILED: refused too late'}: {last.refusal}"
    time_growth = max(last.seconds, MIN_SECONDS) / max(first.seconds, MIN_SECONDS)
    memory_growth = max(last.megabytes, MIN_MEGABYTES) / max(first.megabytes, MIN_MEGABYTES)
    passed = max(time_growth, memory_growth) <= MAX_GROWTH and slowest <= MAX_SECONDS
    return passed, f"{'' if passed else 'FAILED: '}time x{time_growth:.1f}, memory x{memory_growth:.1f}"


def measure(row: Blowup, n: int) -> Measurement:
    """Measure one run in a fresh process."""
    command = [sys.executable, __file__, "--measure", row.name, str(n)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=4 * MAX_SECONDS)
    except subprocess.TimeoutExpired:
        return Measurement(4 * MAX_SECONDS, 0.0, "")
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{row.name}, n = {n:,}: status {error.returncode}\n{error.stderr[-2000:]}") from None
    return Measurement(*json.loads(done.stdout.splitlines()[-1]))


def measure_here(row: Blowup, n: int) -> Measurement:
    """Measure one run in this process."""
    before = peak_megabytes()
    run = row.build(n)
    began = time.process_time()
    try:
        refusal = run() or ""
    except CallmarkError as error:
        refusal = str(error)
    seconds = time.process_time() - began
    return Measurement(round(seconds, 4), round(peak_megabytes() - before, 1), refusal.replace(f"{FOLDER}/", "")[:160])


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _load_rows() -> None:
    sys.modules.setdefault("blowups", sys.modules[__name__])  # the rows import this module, also if it is the main one
    for module in ROWS:
        importlib.import_module(module)


def attempt_to_grade(**arguments: Any) -> str | None:
    """Grade calls with all details, and return why they were refused, if they were."""
    from callmark import grade

    found = grade(**arguments)
    assert found.metrics, "no metrics"
    assert found.faults is not None
    assert found.notes is not None
    return None


if __name__ == "__main__":
    _load_rows()
    sys.exit(main(sys.argv[1:]))
