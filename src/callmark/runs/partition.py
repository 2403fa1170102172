"""Grade one part of a dataset, alone: in this process, in another one, or on another machine.

The grades become `grades/part-00000.parquet`, with the columns of `callmark.arrow`; what the summary and the messages need of them becomes
`statistics/part-00000.msgpack`. Both are written completely or not at all, the statistics last: a part whose statistics are there is done.
Grading a part again writes the same files, so it does not matter if a process dies, or if two of them grade the same part.

The statistics are data, and carry the fingerprint of the plan that the part belongs to: those of another plan do not count. Rows that
cannot be read raise `BrokenRow`, or are part of the statistics if they are to be skipped. Two cases with the same id in a part raise
`BadInput`.
"""

import os
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from callmark.analysis.summary_parts import PartTally, SummaryStatistics
from callmark.data.expand import decision_points, with_unique_ids
from callmark.errors import BadInput, StorageError
from callmark.formats import BadRow, Dataset, load_tools
from callmark.formats.matching import MatchedPredictions, TextCounts, match_predictions
from callmark.formats.output import Output, sync_file
from callmark.formats.partitions import Partition, PartitionRows
from callmark.formats.predictions import PredictionRow
from callmark.grading.grade_columns import grade_schema, write_columns
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.runs.prediction_index import PredictionIndex, case_hash
from callmark.runs.source import ReadTotals, refuse_repeated
from callmark.types import Case, Place

VERSION = 1  # of the statistics of a part
GRADES, STATISTICS, PREDICTIONS = "grades", "statistics", "predictions"
_BLOCK = 128  # cases graded at a time, each with its history
_ROW_GROUP = 8192  # grades that are written at a time


class PartitionJob(Struct, frozen=True):
    """What all parts of a job share.

    Attributes:
        out: Absolute path of the folder for the results.
        fingerprint: Digest of the inputs and settings, but not of `skip_bad`: what is graded without it has no bad row.
        settings: Evaluators, their options and match rules.
        format_name: Format of the cases.
        expanded: Whether the rows are conversations, which are cut into decision points.
        tools: Absolute path of the tools for rows that have none.
        parse: Text format of calls in raw text.
        skip_bad: Whether rows that cannot be read are skipped.
    """

    out: str
    fingerprint: str
    settings: GradingSettings
    format_name: str
    expanded: bool = False
    tools: str | None = None
    parse: str | None = None
    skip_bad: bool = False


class PartToGrade(Struct, frozen=True):
    """One part of a job."""

    job: PartitionJob
    partition: Partition


class PartitionResult(Struct, frozen=True):
    """What is kept of a part beside its grades.

    Attributes:
        version: Version of this layout.
        fingerprint: That of the job.
        grades_size: Size of the file of grades.
        statistics: What the part adds to the summary.
        cases: The hash of the id of each case, as 64-bit integers.
        bad: The rows that could not be read.
        texts: Counts of the texts that were parsed.
        read: Totals of reading the rows.
        match_counts: Number of values that each match rule applied to.
        unused_rules: Policy rules that can never be violated in this part.
        unchecked_replies: Number of cases with checks of the reply that no evaluator evaluated.
        first_case: Id of the first case; empty without cases.
    """

    version: int
    fingerprint: str
    grades_size: int
    statistics: SummaryStatistics
    cases: bytes
    bad: list[BadRow]
    texts: TextCounts
    read: ReadTotals
    match_counts: dict[str, int]
    unused_rules: dict[str, str]
    unchecked_replies: int
    first_case: str


class PartReport(Struct, frozen=True):
    """The number of a part that was graded, and the numbers of its cases and of the rows that could not be read."""

    number: int
    cases: int
    rejected: int


def grade_part(part: PartToGrade) -> PartReport:
    """Grade a part and write its files."""
    job, partition = part.job, part.partition
    grader = Grader(job.settings)
    rows = PartitionRows(partition)
    bad: list[BadRow] = []

    def reject(row: BadRow) -> None:
        if not rows.is_definition:  # it is reported by the part that it is in
            bad.append(row)

    dataset = Dataset(
        partition.name,
        format_name=job.format_name,
        context=load_tools(job.tools) if job.tools else None,
        on_bad=reject if job.skip_bad else None,
        cases=True,
        rows=rows,
    )
    tally = PartTally(grader.metrics, process_ignore=job.settings.process_ignore(scenarios=False))
    hashes = array("Q")
    texts = TextCounts()
    places: dict[str, Place | None] = {}
    path = grades_path(job.out, partition.number)
    with _GradeWriter(path, grader) as writer, PredictionIndex(os.path.join(job.out, PREDICTIONS)) as index:
        cases = iter(_cases(dataset, expanded=job.expanded))
        while block := list(islice(cases, _BLOCK)):
            for case in block:
                refuse_repeated(case.id, case.place, places)
                places[case.id] = case.place
                hashes.append(case_hash(case.id))
            matched = match_predictions(_Found(index.find([case.id for case in block]), job.parse), in_order=False)
            for case in block:
                grades, counts = _grade(case, matched, grader)
                texts = texts if counts is None else texts + counts
                for grade in grades:
                    tally.add(grade)
                writer.add(grades)
    read = ReadTotals("", dataset.repaired_rows, dataset.good_rows, dict(dataset.unknown_parts), dataset.has_calls)
    result = PartitionResult(
        VERSION, job.fingerprint, os.path.getsize(path), tally.statistics(), hashes.tobytes(), bad, texts, read, dict(grader.matched),
        grader.unused_rules, grader.unchecked_replies, next(iter(places), ""),
    )  # fmt: skip
    with Output(_statistics_path(job.out, partition.number), replace=True) as output:
        output.piece(msgspec.msgpack.encode(result))
    return PartReport(partition.number, len(places), len(bad))


def read_result(job: PartitionJob, number: int) -> PartitionResult | None:
    """Return what is kept of a part; None if it is not graded yet, or for other inputs or settings."""
    try:
        result = msgspec.msgpack.decode(Path(_statistics_path(job.out, number)).read_bytes(), type=PartitionResult)
        is_whole = os.path.getsize(grades_path(job.out, number)) == result.grades_size
    except (OSError, ValueError):
        return None
    return result if is_whole and (result.version, result.fingerprint) == (VERSION, job.fingerprint) else None


def grades_path(out: str, number: int) -> str:
    """Return the path of the grades of a part."""
    return os.path.join(out, GRADES, f"part-{number:05}.parquet")


def _statistics_path(out: str, number: int) -> str:
    return os.path.join(out, STATISTICS, f"part-{number:05}.msgpack")


def _cases(dataset: Dataset, *, expanded: bool) -> Iterator[Case]:
    if expanded:
        for row, name in with_unique_ids(dataset):
            yield from decision_points(row, name=name)
        return
    for row in dataset:
        if not isinstance(row, Case) or row.is_scenario:
            what = "a scenario" if isinstance(row, Case) else "a conversation without expected calls"
            raise BadInput(f"{row.place}: expected a decision point, as in the first row, got {what}")
        yield row


def _grade(case: Case, matched: MatchedPredictions, grader: Grader) -> tuple[list[GradeRecord], TextCounts | None]:
    predictions = matched.of_case(case, 0)
    return grader.record(case, predictions), matched.count_texts(case, 0, predictions)


class _Found:
    """The predictions of a block of cases."""

    name = "the predictions"
    bad_rows = 0

    def __init__(self, rows: Iterable[tuple[Place, PredictionRow]], parse: str | None) -> None:
        self.parse = parse
        self.good_rows = 0
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[Place, PredictionRow]]:
        for place, row in self._rows:
            self.good_rows += 1
            yield place, row


class _GradeWriter:
    """Writes grades as Parquet, completely or not at all."""

    def __init__(self, path: str, grader: Grader) -> None:
        self._path = path
        self._partial = f"{path}.partial-{os.uname().nodename}-{os.getpid()}"
        self._schema = grade_schema(tuple(grader.metrics))
        self._grades: list[GradeRecord] = []

    def __enter__(self) -> "_GradeWriter":
        from pyarrow import parquet

        try:
            Path(self._path).parent.mkdir(parents=True, exist_ok=True)
            self._writer: Any = parquet.ParquetWriter(self._partial, self._schema, compression="zstd")
        except OSError as error:
            raise self._refused(error) from None
        return self

    def add(self, grades: Iterable[GradeRecord]) -> None:
        self._grades += grades
        if len(self._grades) >= _ROW_GROUP:
            self._write()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._write()
            self._writer.close()
            if kind is None:
                sync_file(self._partial)
                os.replace(self._partial, self._path)
        except OSError as error:
            raise self._refused(error) from None
        finally:
            Path(self._partial).unlink(missing_ok=True)

    def _write(self) -> None:
        grades, self._grades = self._grades, []
        if not grades:
            return
        try:
            self._writer.write_batch(write_columns(grades, self._schema))
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> StorageError:
        return StorageError(f"{self._path}: cannot be written: {error.strerror or error}")
