"""Small run folders to build tests from: what a run says of itself, and its grades."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from callmark.formats import write_lines
from callmark.grading.evaluator import Settings
from callmark.grading.grader import GradeRecord, grade_line
from callmark.runs.store import GRADES, DatasetInfo, PredictionsInfo, RunFolder, RunInfo
from callmark.types import Fault

METRICS = ("call.score", "call.pass")


def right(case: str, **more: Any) -> GradeRecord:
    return GradeRecord(case, metrics={"call.score": 1.0, "call.pass": 1.0}, expected=("f",), made=("f",), pairs=((0, 0, True),), **more)


def wrong(case: str, **more: Any) -> GradeRecord:
    """A case in which nothing was called."""
    fault = Fault("no_call", expected_index=0, evaluators=("call",))
    return GradeRecord(case, metrics={"call.score": 0.0, "call.pass": 0.0}, expected=("f",), faults=(fault,), **more)


def failed(case: str) -> GradeRecord:
    return GradeRecord(case, error="HTTP 503", expected=("f",))


def some(score: int, of: int = 40) -> list[GradeRecord]:
    """Grades of that many cases, of which so many are right."""
    return [right(f"c{number}") if number < score else wrong(f"c{number}") for number in range(of)]


def make_run(
    folder: Path,
    grades: Iterable[GradeRecord] | None,
    *,
    name: str = "",
    digest: str = "one",
    metrics: tuple[str, ...] = METRICS,
    settings: Settings | None = None,
) -> Path:
    """A run of these grades; None: it has not been graded."""
    folder.mkdir(parents=True)
    found = None if grades is None else list(grades)
    info = RunInfo(
        name or folder.name,
        "0",
        "2026-01-01T00-00",
        DatasetInfo(f"{digest}.jsonl", f"../{digest}.jsonl", digest),
        PredictionsInfo(),
        settings or Settings(evaluators=("call",)),
        metrics,
        len({grade.case for grade in found or ()}),
    )
    RunFolder(folder).write(info)
    if found is not None:
        write_lines(str(folder / GRADES), map(grade_line, found))
    return folder
