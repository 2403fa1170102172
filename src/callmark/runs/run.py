"""A run that was graded, to look at again: what it says of itself, its grades one by one, and what they come to.

A folder that is no run, or whose grades are not there yet, raises `BadInput`; a line of grades that cannot be read, has other metrics
than the run, or a fault of a call that is not in it, names itself.

What grading knew of the grades is kept in `summary.json`, so that nobody has to read a hundred thousand of them to say it. It is believed
only where it was written for these very grades, by this version, and is as it was written.
"""

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct, structs

from callmark.analysis.summary import SHOWN, Estimate, Summary, Tally
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.grading.grader import GradeRecord, read_grade
from callmark.grading.evaluator import fault_evaluators
from callmark.runs.store import GRADES, SUMMARY, RunFolder, RunInfo

if TYPE_CHECKING:
    import pandas
    import polars

_BUFFER = 1 << 18
_LARGEST = 5_000_000  # bytes of a summary: names and texts of errors are endless


class Run:
    """One run folder. `label` is what tables call it: the name of the run."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.folder = RunFolder(fspath(path))
        self.info = self.folder.read()
        if not Path(self.folder.file(GRADES)).is_file():
            raise BadInput(f"{self.folder} has not been graded yet", f"callmark grade {self.folder} does it.")

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {self.label!r}, {self.info.cases:,} cases)"

    @property
    def label(self) -> str:
        return self.info.name

    @property
    def scenarios(self) -> bool:
        return self.info.dataset.what == "scenarios"

    @property
    def headline(self) -> str:
        return headline_of(self.info)

    @property
    def counted(self) -> frozenset[str]:
        """The evaluators whose faults are told."""
        return fault_evaluators(self.info.settings.evaluators, scenarios=self.scenarios)

    def grades(self) -> Iterator[GradeRecord]:
        """Its grades, in the order of the cases."""
        metrics = frozenset(self.info.metrics)
        with Path(self.folder.file(GRADES)).open("rb", buffering=_BUFFER) as lines:
            for number, line in enumerate(lines, 1):
                try:
                    grade = read_grade(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    raise self._broken(number, f"cannot be read: {error}") from None
                if not metrics.issuperset(grade.metrics) or (not grade.error and metrics and not grade.metrics):
                    raise self._broken(number, "has other metrics than the run")
                if not _is_of_its_calls(grade):
                    raise self._broken(number, "has a fault, or a pair, of a call that is not in it")
                yield grade

    def _broken(self, number: int, why: str) -> BadInput:
        return BadInput(f"{self.folder}/{GRADES}, line {number:,} {why}", f"callmark grade {self.folder} makes it anew.")

    def summary(self, *, detailed: bool = True) -> Summary:
        """What its grades come to, every metric with its interval."""
        tally = self.tally(detailed=detailed)
        for grade in self.grades():
            tally.add(grade)
        return tally.summary()

    def tally(self, *, detailed: bool = True) -> Tally:
        """What its grades are counted with."""
        return Tally(counted=self.counted, detailed=detailed, ignore=self.info.settings.ignore)

    def known_summary(self) -> Summary | None:
        """What grading knew of its grades, without the details and with the intervals of the terminal only; None where nothing was kept, or
        what was kept cannot be believed.
        """
        try:
            file = Path(self.folder.file(SUMMARY))
            if not file.is_file() or file.stat().st_size > _LARGEST:
                return None
            kept = msgspec.json.decode(file.read_bytes(), type=_Kept)
            if kept.stamp != _stamp(self.folder, self.info, kept.summary):
                return None
            return msgspec.json.decode(kept.summary, type=Summary)
        except (OSError, ValueError, RecursionError):
            return None

    def rows(self) -> Iterator[dict[str, Any]]:
        """A flat row for each grade: the case, its trial, every metric, what was expected and made, its faults as words, what it took."""
        return (result_row(grade, self.info.metrics) for grade in self.grades())

    def to_pandas(self) -> "pandas.DataFrame":
        """`rows()` as a table of pandas; `BadInput` where that is not installed."""
        table: pandas.DataFrame = _installed("pandas").DataFrame(self._columns())
        return table

    def to_polars(self) -> "polars.DataFrame":
        """`rows()` as a table of polars; `BadInput` where that is not installed."""
        table: polars.DataFrame = _installed("polars").DataFrame(self._columns(), infer_schema_length=None)
        return table

    def _columns(self) -> dict[str, list[Any]]:
        """The rows turned on their side, which takes a third of the memory; of no rows the empty columns."""
        columns: dict[str, list[Any]] = {name: [] for name in result_row(GradeRecord(""), self.info.metrics)}
        for row in self.rows():
            for name, value in row.items():
                columns[name].append(value)
        return columns


class _Kept(Struct):
    """`summary.json`."""

    stamp: str
    summary: Raw


def keep_summary(folder: RunFolder, info: RunInfo, summary: Summary) -> None:
    """Write down what the grades of a folder come to, the same whatever else was asked for when they were made. What JSON cannot hold, or
    is very large, is not kept.
    """
    plain = {name: one if name in SHOWN else Estimate(one.n, one.mean) for name, one in summary.metrics.items()}
    with suppress(OverflowError, ValueError, RecursionError):
        text = msgspec.json.encode(structs.replace(summary, metrics=plain, details=None))
        kept = msgspec.json.encode(_Kept(_stamp(folder, info, Raw(text)), Raw(text)))
        if len(kept) < _LARGEST:
            write_lines(folder.file(SUMMARY), [kept])


def _stamp(folder: RunFolder, info: RunInfo, summary: Raw) -> str:
    """What tells a summary from any other, and from one of other grades, of other evaluators, or of another version."""
    import xxhash

    how = (version("callmark"), info.dataset.what, info.settings.evaluators, info.settings.ignore)
    found = xxhash.xxh3_128(msgspec.json.encode(how))
    found.update(summary)
    with Path(folder.file(GRADES)).open("rb") as grades:
        while piece := grades.read(_BUFFER):
            found.update(piece)
    return f"xxh3:{found.hexdigest()}"


def headline_of(info: RunInfo) -> str:
    """The metric that stands for a run: SPEC's choice, or the first there is where it was not graded by that."""
    wanted = "process.reliability" if info.dataset.what == "scenarios" else "call.score"
    return wanted if wanted in info.metrics or not info.metrics else info.metrics[0]


def _is_of_its_calls(grade: GradeRecord) -> bool:
    """Whether every fault and every pair is of calls that the grade has."""
    expected, made = range(len(grade.expected)), range(len(grade.made))
    for one, other, _ in grade.pairs:
        if one not in expected or other not in made:
            return False
    return all(
        (fault.expected_index is None or fault.expected_index in expected) and (fault.actual_index is None or fault.actual_index in made)
        for fault in grade.faults
    )


def _installed(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise BadInput(f"{library} is not installed", f"pip install {library}; or Run.rows() gives the rows as they are.") from None


def result_row(grade: GradeRecord, metrics: tuple[str, ...]) -> dict[str, Any]:
    """A grade as one flat row, the same columns for every one of a run. An error has no numbers."""
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
        "made": ", ".join(grade.made),
        "faults": "; ".join(
            f"{fault.kind}{f' {fault.argument}' if fault.argument else ''}{f' ({fault.origin})' if fault.origin else ''}"
            for fault in grade.faults
        ),
        "notes": "; ".join(note.kind for note in grade.notes),
        "prompt_characters": grade.prompt,
        "seconds": usage.seconds if usage else None,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "cost": usage.cost if usage else None,
    }
