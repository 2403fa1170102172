"""A run: what `run`, `simulate` and `grade` return, and what `compare`, `gate`, `report`, `view` and `export` take.

A line of grades that cannot be read, has other metrics than the run, or a fault of a call that is not in it, raises `BadInput` with its
number.
"""

from collections.abc import Iterator
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import Struct, structs

from callmark.analysis.summary import Intervals, Summary, Tally
from callmark.errors import BadInput
from callmark.grading.record import GradeRecord, read_grade
from callmark.runs.manifest import Manifest
from callmark.runs.store import GRADES, RunFolder
from callmark.runs.summary_file import load_summary

if TYPE_CHECKING:
    import pandas
    import polars

_BUFFER = 1 << 18


class ComputedSummary(Struct, frozen=True):
    """A summary, and what it was computed with: the details, and the intervals."""

    summary: Summary
    detailed: bool
    intervals: Intervals

    def covers(self, *, detailed: bool, intervals: Intervals) -> bool:
        """Return whether everything that is asked for is in it."""
        has_intervals = self.intervals in ("all", intervals) or intervals == "none"
        return has_intervals and (self.detailed or not detailed)


class Run:
    """One run folder. `label` is its name in tables, `info` is its `run.json`.

    A folder that is not a run, or has not been graded, raises `BadInput`.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        folder = RunFolder(fspath(path))
        self._set(folder, folder.read(), None)
        if not self.is_graded:
            raise self._not_graded()

    @classmethod
    def from_folder(cls, folder: RunFolder, info: Manifest, computed: ComputedSummary | None = None) -> Self:
        """Return the run of a folder whose `run.json` is known, graded or not."""
        run = cls.__new__(cls)
        run._set(folder, info, computed)
        return run

    def _set(self, folder: RunFolder, info: Manifest, computed: ComputedSummary | None) -> None:
        self.folder = folder
        self.info = info
        self._computed = computed

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {self.label!r}, {self.info.cases:,} cases)"

    def __fspath__(self) -> str:
        return str(self.folder.path)

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def label(self) -> str:
        return self.info.name

    @property
    def is_graded(self) -> bool:
        """Whether it has grades: False for a model of which nothing came back."""
        return Path(self.folder.file(GRADES)).is_file()

    @property
    def scenarios(self) -> bool:
        """Whether its cases are scenarios, else decision points."""
        return self.info.dataset.kind == "scenarios"

    @property
    def headline(self) -> str:
        """The full name of the metric that stands for the run."""
        return headline_metric(self.info)

    @property
    def fault_evaluators(self) -> frozenset[str]:
        """The evaluators whose faults are shown."""
        return frozenset(self.info.fault_evaluators)

    def grades(self) -> Iterator[GradeRecord]:
        """Yield its grades, in the order of the cases."""
        if not self.is_graded:
            raise self._not_graded()
        metrics = frozenset(self.info.metrics)
        with Path(self.folder.file(GRADES)).open("rb", buffering=_BUFFER) as lines:
            for number, line in enumerate(lines, 1):
                try:
                    grade = read_grade(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    raise self._broken_grade(number, f"cannot be read: {error}") from None
                if not metrics.issuperset(grade.metrics) or (metrics and not (grade.metrics or grade.error or grade.evaluator_errors)):
                    raise self._broken_grade(number, "has other metrics than the run")
                if not _refers_to_own_calls(grade):
                    raise self._broken_grade(number, "has a fault, or a pair, of a call that is not in it")
                yield grade

    def summary(self, *, detailed: bool = True, intervals: Intervals = "all") -> Summary:
        """Return the summary of its grades, with the details if asked for, and with the intervals of all metrics, of headline metrics or of
        none: they take their time. What grading computed or stored is not computed again.
        """
        if self._computed is not None and self._computed.covers(detailed=detailed, intervals=intervals):
            summary = self._computed.summary
            return summary if detailed else structs.replace(summary, details=None)
        if not detailed and intervals != "all" and (stored := self.stored_summary()) is not None:
            return stored
        tally = self.tally(detailed=detailed)
        for grade in self.grades():
            tally.add(grade)
        return tally.summary(intervals=intervals)

    def tally(self, *, detailed: bool = True) -> Tally:
        """Return an empty tally for its grades."""
        return Tally(self.info.metrics, fault_evaluators=self.fault_evaluators, detailed=detailed, ignore=self.info.grading.ignore)

    def stored_summary(self) -> Summary | None:
        """Return the summary in `summary.json`, without details and with the intervals of the terminal only; None where it is not valid."""
        return load_summary(self.folder, self.info)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a flat row for each grade: the case, its trial, every metric, expected and actual calls, faults as words, usage."""
        return (grade_row(grade, tuple(self.info.metrics)) for grade in self.grades())

    def to_pandas(self) -> "pandas.DataFrame":
        """Return `rows()` as a pandas table; `BadInput` where pandas is not installed."""
        table: pandas.DataFrame = _import_library("pandas").DataFrame(self._columns())
        return table

    def to_polars(self) -> "polars.DataFrame":
        """Return `rows()` as a polars table; `BadInput` where polars is not installed."""
        table: polars.DataFrame = _import_library("polars").DataFrame(self._columns(), infer_schema_length=None)
        return table

    def _columns(self) -> dict[str, list[Any]]:
        """Return the rows as columns, which takes a third of the memory; without rows, empty columns."""
        columns: dict[str, list[Any]] = {name: [] for name in grade_row(GradeRecord(""), tuple(self.info.metrics))}
        for row in self.rows():
            for name, value in row.items():
                columns[name].append(value)
        return columns

    def _not_graded(self) -> BadInput:
        return BadInput(f"{self.folder} has not been graded yet", f"callmark grade {self.folder} does it.")

    def _broken_grade(self, number: int, why: str) -> BadInput:
        return BadInput(f"{self.folder}/{GRADES}, line {number:,} {why}", f"callmark grade {self.folder} makes it anew.")


def headline_metric(info: Manifest) -> str:
    """Return the full name of the metric that stands for a run: SPEC's choice, or the first where it was not graded by that."""
    metrics = tuple(info.metrics)
    name = "process.reliability" if info.dataset.kind == "scenarios" else "call.score"
    return name if name in metrics or not metrics else metrics[0]


def grade_row(grade: GradeRecord, metrics: tuple[str, ...]) -> dict[str, Any]:
    """Return a grade as one flat row, with the same columns for every grade of a run. An error has no numbers."""
    usage = grade.usage
    return {
        "case": grade.case,
        "trial": grade.trial,
        "conversation": grade.conversation,
        "message": grade.message,
        "scenario_type": grade.scenario_type or None,
        "group": grade.group,
        "error": grade.error or None,
        **{name: grade.metrics.get(name) for name in metrics},
        "expected": ", ".join(grade.expected),
        "actual": ", ".join(grade.actual),
        "faults": "; ".join(
            f"{fault.kind}{f' {fault.argument}' if fault.argument else ''}{f' ({fault.origin})' if fault.origin else ''}"
            for fault in grade.faults
        ),
        "notes": "; ".join(note.kind for note in grade.notes),
        "prompt_characters": grade.prompt_characters,
        "seconds": usage.seconds if usage else None,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "cost": usage.cost if usage else None,
    }


def _refers_to_own_calls(grade: GradeRecord) -> bool:
    """Return whether every fault and every pair is of calls that the grade has."""
    expected, actual = range(len(grade.expected)), range(len(grade.actual))
    for expected_index, actual_index, _ in grade.pairs:
        if expected_index not in expected or actual_index not in actual:
            return False
    return all(
        (fault.expected_index is None or fault.expected_index in expected) and (fault.actual_index is None or fault.actual_index in actual)
        for fault in grade.faults
    )


def _import_library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise BadInput(f"{name} is not installed", f"pip install {name}; or Run.rows() gives the rows as they are.") from None
