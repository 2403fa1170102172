"""What does it cost to sum up a million grades? Time against just reading them, and memory against a tenth of them.

Time is the processor's, so that what else the machine does is no matter. Each way is a process of its own: reading (`read_grade` on every
line), the summary that a gate takes, and the one with all details, every metric with its interval. The grades are made up: five decision
points to a conversation, thirty tools, a fault in one of five, what each answer took. What grows with the number of grades is said: 16
bytes a conversation, as an interval that respects conversations must know which of them came again. Exit status 1 when a limit is not held.

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

POINTS = 5  # of a conversation
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
WAYS = ("reading", "for a gate", "in detail")
MOST_TIMES = {"for a gate": 5.0, "in detail": 8.0}  # reading
MOST_A_GRADE = 10  # bytes that memory may grow by with each


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--grades", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--to", default=None, help="folder for the files (a temporary one if not given)")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(timed(options.way, options.run))
        return 0
    missed = 0
    with tempfile.TemporaryDirectory(dir=options.to) as made:
        whole, tenth = (write_run(Path(made, name), count) for name, count in (("whole", options.grades), ("tenth", options.grades // 10)))
        size = whole.joinpath(GRADES).stat().st_size
        print(f"{options.grades:,} grades of {options.grades // POINTS:,} conversations, {size / 1e6:,.0f} MB; best of {options.turns}")
        read = 0.0
        for way in WAYS:
            seconds, most = min(measure(way, whole) for _ in range(options.turns))
            _, fewer = measure(way, tenth)
            read = read or seconds
            growth = (most - fewer) * 1e6 / (options.grades * 0.9)
            held = seconds <= MOST_TIMES.get(way, 1.0) * read and growth <= MOST_A_GRADE
            missed += not held
            print(
                f"  {way:10} {seconds:6.1f} s  {seconds / read:4.1f} × reading   {most:5.0f} MB at most, {fewer:4.0f} MB of a tenth: "
                f"{growth:4.0f} bytes a grade   {'held' if held else 'NOT HELD'}"
            )
    print(f"  limits: {', '.join(f'{way} {most:g} × reading' for way, most in MOST_TIMES.items())}, {MOST_A_GRADE} bytes a grade")
    return 1 if missed else 0


def write_run(folder: Path, count: int) -> Path:
    """Write a run with so many grades."""
    folder.mkdir()
    write_lines(str(folder / GRADES), map(write_grade, grades(count)))
    dataset = DatasetInfo("cases.jsonl", "../cases.jsonl", "generated")
    manifest = Manifest(folder.name, "0", "", dataset, PredictionsInfo(), GradingSettings())
    grader = Grader(GradingSettings())
    manifest.metrics, manifest.fault_evaluators, manifest.cases = grader.metrics, grader.fault_evaluators(scenarios=False), count
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


def measure(way: str, run: Path) -> tuple[float, float]:
    """The processor's seconds of one way, start-up taken off, and the most memory in MB."""
    arguments = [sys.executable, __file__, "--way", way, "--run", str(run)]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{way} ended with {child.returncode}")
    return float(said), peak(usage)


def timed(way: str, folder: str) -> float:
    began = time.process_time()
    if way == "reading":
        with Path(folder, GRADES).open("rb") as lines:
            for line in lines:
                read_grade(line)
    else:
        summary = Run(folder).summary(detailed=way == "in detail")
        assert all(found.low is not None for found in summary.metrics.values())
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
