"""A run: the result of `run`, `simulate` and `grade`, and the input of `compare`, `gate`, `report`, `view` and `export`.

A line of `grades.jsonl` that is not valid, or does not fit the run, raises `BadInput` with its number.
"""

from collections.abc import Iterator
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import Struct, structs

from callmark.analysis.disagreements import Disagreement
from callmark.analysis.summary import Summary, Tally
from callmark.errors import BadInput
from callmark.grading.record import GradeRecord, read_grade
from callmark.runs.git_state import GitState
from callmark.runs.manifest import Manifest, resume_command
from callmark.runs.store import GRADES, RunFolder
from callmark.runs.summary_file import load_summary

if TYPE_CHECKING:
    import pandas
    import polars


class ComputedSummary(Struct, frozen=True):
    """A summary, and whether it includes the details."""

    summary: Summary
    detailed: bool


class Run:
    """A run: a folder with predictions and grades.

        run = callmark.Run("runs/base")
        run.summary().metrics["call.score"]     # mean, interval, n
        run.to_pandas()                         # one row per case and trial

    A run can be used as a path.

    Args:
        path: Folder of the run.

    Attributes:
        folder: The files of the run.
        info: The content of `run.json`: dataset, model, grading settings, metric definitions, counts.

    Raises:
        BadInput: The folder is not a run, or the run has not been graded.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        folder = RunFolder(fspath(path))
        self._set(folder, folder.read(), None)
        if not self.is_graded:
            raise self._not_graded()

    @classmethod
    def from_folder(cls, folder: RunFolder, info: Manifest, computed: ComputedSummary | None = None) -> Self:
        """Return the run in a folder whose `run.json` is known. It need not be graded."""
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
        """Path of the run folder."""
        return self.folder.path

    @property
    def label(self) -> str:
        """Name of the run in tables and reports."""
        return self.info.name

    @property
    def is_graded(self) -> bool:
        """Whether the run has grades. False if the model did not return a single prediction."""
        return self.folder.has(GRADES)

    @property
    def scenarios(self) -> bool:
        """Whether the cases are scenarios; otherwise they are decision points."""
        return self.info.dataset.kind == "scenarios"

    @property
    def tags(self) -> dict[str, str]:
        """Tags of the run (`--tag KEY=VALUE`), by key; the value of a tag without one is empty."""
        return self.info.tags

    @property
    def git(self) -> GitState | None:
        """Commit, branch and changes of the Git repository in which the run was started; None if there was none."""
        return self.info.git

    @property
    def headline(self) -> str:
        """Full name of the main metric: `call.score`, or `process.reliability` for scenarios, or the first metric of the run."""
        return headline_metric(self.info)

    def grades(self) -> Iterator[GradeRecord]:
        """Yield the grades, in the order of the cases.

        An invalid line of `grades.jsonl` raises `BadInput` with its number; `callmark grade RUN` writes the file again.
        """
        if not self.is_graded:
            raise self._not_graded()
        metrics = frozenset(self.info.metrics)
        limits = {name: metric.limits for name, metric in self.info.metrics.items()}
        with self.folder.open(GRADES) as lines:
            for number, line in enumerate(lines, 1):
                try:
                    grade = read_grade(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    raise self._broken_grade(number, f"not a valid grade: {error}") from None
                if not metrics.issuperset(grade.metrics):  # a case may have none, if no metric applies to it
                    raise self._broken_grade(number, "the metrics differ from those of the run")
                for name, value in grade.metrics.items():
                    least, greatest = limits[name]
                    if not least <= value <= greatest:
                        raise self._broken_grade(number, f"{name}: expected a number from {least:g} to {greatest:g}, got {value:g}")
                if not _refers_to_own_calls(grade):
                    raise self._broken_grade(number, "a fault or pair refers to a call that does not exist")
                yield grade

    def summary(self, *, detailed: bool = True) -> Summary:
        """Return the summary of the grades: means, intervals, counts and breakdowns.

        Results that were computed or stored during grading are reused.

        Args:
            detailed: Include the detailed breakdowns.
        """
        if self._computed is not None and (self._computed.detailed or not detailed):
            summary = self._computed.summary
            return summary if detailed else structs.replace(summary, details=None)
        if not detailed and (stored := self.stored_summary()) is not None:
            return stored
        tally = self.tally(detailed=detailed)
        for grade in self.grades():
            tally.add(grade)
        return tally.summary()

    def disagreements(self) -> list[Disagreement]:
        """Return where evaluators disagree: what passes, what fails and why, with counts and example cases; the largest group first.

        Empty if fewer than two evaluators have a verdict.
        """
        details = self.summary().details
        return details.disagreements if details else []

    def tally(self, *, detailed: bool = True) -> Tally:
        """Return an empty tally for grades of this run."""
        return Tally(self.info.metrics, detailed=detailed, process_ignore=self.info.grading.process_ignore(scenarios=self.scenarios))

    def stored_summary(self) -> Summary | None:
        """Return the summary in `summary.json`, without details; None if it is missing or outdated."""
        return load_summary(self.folder, self.info)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one flat dict per grade: case, trial, all metrics, expected and actual calls, faults, usage. An error has no metrics."""
        return (grade_row(grade, tuple(self.info.metrics)) for grade in self.grades())

    def to_pandas(self) -> "pandas.DataFrame":
        """Return `rows()` as a pandas data frame. Raises `BadInput` if pandas is not installed."""
        table: pandas.DataFrame = _import_library("pandas").DataFrame(self._columns())
        return table

    def to_polars(self) -> "polars.DataFrame":
        """Return `rows()` as a polars data frame. Raises `BadInput` if polars is not installed."""
        table: polars.DataFrame = _import_library("polars").DataFrame(self._columns(), infer_schema_length=None)
        return table

    def _columns(self) -> dict[str, list[Any]]:
        """Return the rows as columns, which takes a third of the memory. Without rows, the columns are empty."""
        columns: dict[str, list[Any]] = {name: [] for name in grade_row(GradeRecord(""), tuple(self.info.metrics))}
        for row in self.rows():
            for name, value in row.items():
                columns[name].append(value)
        return columns

    def _not_graded(self) -> BadInput:
        grade = f"callmark grade {self.folder}"
        if self.info.model_run is None or self.info.status == "complete":
            return BadInput(f"{self.folder}: the run has not been graded", f"Grade it with: {grade}")
        hint = f"Resume it with: {resume_command(self.info, str(self.folder))}, or grade what exists with: {grade}"
        return BadInput(f"{self.folder}: the run was interrupted before it was graded", hint)

    def _broken_grade(self, number: int, why: str) -> BadInput:
        return BadInput(f"{self.folder}/{GRADES}, line {number}: {why}", f"Write the grades again with: callmark grade {self.folder}")


def headline_metric(info: Manifest) -> str:
    """Return the full name of a run's main metric: `call.score` or `process.reliability`, or the first metric if it has neither."""
    metrics = tuple(info.metrics)
    name = "process.reliability" if info.dataset.kind == "scenarios" else "call.score"
    return name if name in metrics or not metrics else metrics[0]


def grade_row(grade: GradeRecord, metrics: tuple[str, ...]) -> dict[str, Any]:
    """Return a grade as a flat dict, with the same keys for every grade of a run. An error has no metrics."""
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
    """Return whether all faults and pairs refer to calls of the grade."""
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
        raise BadInput(f"{name} is not installed", f"Run pip install {name}, or use Run.rows().") from None
