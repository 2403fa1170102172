"""Measure what it costs to summarize a million grades: time relative to reading them, and memory relative to a tenth of them.

Times are CPU times. Each job is a separate process: reading (`read_grade` on every line), the summary for a gate, and the summary with all
details; both have an interval for every metric. The grades are synthetic: five decision points per conversation, thirty tools, a fault in
one of five, and usage. Memory may grow by 16 bytes per conversation, because intervals over conversations need to know them. Exits with
status 1 if a limit is exceeded.

    python benchmarks/summary.py [--grades 1000000] [--turns 2] [--to DIR]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from callmark.formats import write_lines
from callmark.formats.matching import PredictionsInfo
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord, read_grade, write_grade
from callmark.grading.settings import GradingSettings
from callmark.runs.manifest import DatasetInfo, Manifest
from callmark.runs.run import Run
from callmark.runs.store import GRADES, RunFolder
from callmark.types import Fault, FaultKind, Usage
from memory import peak

POINTS = 5  # decision points per conversation
TOOLS = [
    f"{verb}_{noun}" for verb in ("find", "get", "create", "change", "cancel") for noun in ("order", "user", "room", "item", "bill", "trip")
]
ARGUMENTS = ("order_id", "user_id", "date", "amount", "reason")
METRICS = {
    "call.score": (1.0, 0.5, 0.0), "call.pass": (1.0, 0.0, 0.0),
    "schema.tool_selection": (1.0, 1.0, 0.0), "schema.parameter_accuracy": (1.0, 1.0, 0.0),
    "schema.execution_success": (1.0, 1.0, 0.0), "schema.overall": (1.0, 1.0, 0.0),
    "process.precision": (1.0, 1.0, 0.0), "process.recall": (1.0, 1.0, 0.0),
    "process.args_precision": (1.0, 0.5, 0.0), "process.args_recall": (1.0, 0.5, 0.0), "process.reliability": (1.0, 0.0, 0.0),
}  # fmt: skip
JOBS = ("reading", "for a gate", "in detail")
MOST_TIMES = {"for a gate": 5.0, "in detail": 8.0}  # relative to reading
MOST_PER_GRADE = 10  # bytes by which memory may grow with each grade


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--grades", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--to", default=None, help="folder for the files; default: a temporary folder")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(timed(options.job, options.run))
        return 0
    missed = 0
    with tempfile.TemporaryDirectory(dir=options.to) as made:
        whole, tenth = (write_run(Path(made, name), count) for name, count in (("whole", options.grades), ("tenth", options.grades // 10)))
        size = whole.joinpath(GRADES).stat().st_size
        print(f"{options.grades:,} grades of {options.grades // POINTS:,} conversations, {size / 1e6:,.0f} MB; best of {options.turns}")
        read = 0.0
        for job in JOBS:
            seconds, most = min(measure(job, whole) for _ in range(options.turns))
            _, fewer = measure(job, tenth)
            read = read or seconds
            growth = (most - fewer) * 1e6 / (options.grades * 0.9)
            passed = seconds <= MOST_TIMES.get(job, 1.0) * read and growth <= MOST_PER_GRADE
            missed += not passed
            print(
                f"  {job:10} {seconds:6.1f} s  {seconds / read:4.1f} × reading   peak {most:5.0f} MB, {fewer:4.0f} MB for a tenth: "
                f"{growth:4.0f} bytes per grade   {'ok' if passed else 'FAILED'}"
            )
    print(f"  limits: {', '.join(f'{job} {most:g} × reading' for job, most in MOST_TIMES.items())}, {MOST_PER_GRADE} bytes per grade")
    return 1 if missed else 0


def write_run(folder: Path, count: int) -> Path:
    """Write a run with that many grades."""
    folder.mkdir()
    write_lines(str(folder / GRADES), map(write_grade, grades(count)))
    dataset = DatasetInfo("cases.jsonl", "../cases.jsonl", "generated")
    manifest = Manifest(folder.name, "0", "", dataset, PredictionsInfo(), GradingSettings())
    grader = Grader(GradingSettings())
    manifest.metrics, manifest.cases = grader.metrics, count
    RunFolder(folder).write(manifest)
    return folder


def grades(count: int) -> Iterator[GradeRecord]:
    random = Random(5)
    for number in range(count):
        conversation, place = divmod(number, POINTS)
        tool, drawn = random.choice(TOOLS), random.random()
        if drawn > 0.999:
            yield GradeRecord(f"talk{conversation}:{2 * place + 2}", error="HTTP 503", expected=(tool,), conversation=f"talk{conversation}")
            continue
        outcome = 0 if drawn > 0.2 else 1 if drawn > 0.08 else 2
        yield GradeRecord(
            f"talk{conversation}:{2 * place + 2}",
            metrics={name: values[outcome] for name, values in METRICS.items()},
            expected=(tool,),
            actual=(tool if outcome < 2 else random.choice(TOOLS),),
            pairs=((0, 0, outcome == 0),) if outcome < 2 else (),
            faults=(fault(outcome, random),) if outcome else (),
            conversation=f"talk{conversation}",
            message=2 * place + 2,
            usage=Usage(random.expovariate(1), random.randrange(500, 4_000), random.randrange(10, 90)),
            prompt_characters=random.randrange(1_000, 20_000),
        )


def fault(outcome: int, random: Random) -> Fault:
    if outcome == 2:
        return Fault("wrong_tool", 0, 0, evaluators=("call", "schema", "process"))
    kind: FaultKind = random.choice(("wrong_value", "missing_argument"))
    value = f"W{random.randrange(10**7)}"
    return Fault(
        kind, 0, 0, random.choice(ARGUMENTS), value, value[::-1], ("call", "process"), "hallucinated" if kind == "wrong_value" else None
    )


def measure(job: str, run: Path) -> tuple[float, float]:
    """Return the CPU seconds of one job, without start-up, and its peak memory in MB."""
    arguments = [sys.executable, __file__, "--job", job, "--run", str(run)]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{job} exited with status {child.returncode}")
    return float(output), peak(usage)


def timed(job: str, folder: str) -> float:
    began = time.process_time()
    if job == "reading":
        with Path(folder, GRADES).open("rb") as lines:
            for line in lines:
                read_grade(line)
    else:
        summary = Run(folder).summary(detailed=job == "in detail")
        assert all(found.low is not None for found in summary.metrics.values())
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
