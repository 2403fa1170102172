"""Small run folders for tests: a manifest and grades."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from callmark.formats import write_lines
from callmark.formats.matching import PredictionsInfo
from callmark.grading.evaluator import Metric
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord, write_grade
from callmark.grading.settings import GradingSettings
from callmark.runs.manifest import DatasetInfo, Manifest
from callmark.runs.store import GRADES, RunFolder
from callmark.types import Fault

METRICS = ("call.score", "call.pass")
DEFINITIONS = Grader(GradingSettings()).metrics


def right(case: str, **more: Any) -> GradeRecord:
    return GradeRecord(case, metrics={"call.score": 1.0, "call.pass": 1.0}, expected=("f",), actual=("f",), pairs=((0, 0, True),), **more)


def wrong(case: str, **more: Any) -> GradeRecord:
    """Return the grade of a case without a call."""
    fault = Fault("no_call", expected_index=0, evaluators=("call",))
    return GradeRecord(case, metrics={"call.score": 0.0, "call.pass": 0.0}, expected=("f",), faults=(fault,), **more)


def failed(case: str) -> GradeRecord:
    return GradeRecord(case, error="HTTP 503", expected=("f",))


def some(score: int, of: int = 40) -> list[GradeRecord]:
    """Return grades of so many cases, of which `score` are right."""
    return [right(f"c{number}") if number < score else wrong(f"c{number}") for number in range(of)]


def make_run(
    folder: Path,
    grades: Iterable[GradeRecord] | None,
    *,
    name: str = "",
    digest: str = "one",
    metrics: tuple[str, ...] = METRICS,
    settings: GradingSettings | None = None,
) -> Path:
    """Write a run with these grades; None: it has not been graded."""
    folder.mkdir(parents=True)
    records = None if grades is None else list(grades)
    manifest = Manifest(
        name or folder.name,
        "0",
        "2026-01-01T00-00",
        DatasetInfo(f"{digest}.jsonl", f"../{digest}.jsonl", digest),
        PredictionsInfo(),
        settings or GradingSettings(evaluators=("call",)),
        metrics={metric: DEFINITIONS.get(metric, Metric(metric.partition(".")[2], metric, bounds=None)) for metric in metrics},
        cases=len({grade.case for grade in records or ()}),
    )
    RunFolder(folder).write(manifest)
    if records is not None:
        write_lines(str(folder / GRADES), map(write_grade, records))
    return folder
