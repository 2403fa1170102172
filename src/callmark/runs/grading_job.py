"""Grade predictions in one pass over the cases, in one process or several.

Cases are read in blocks of rows, and each block becomes lines for the files of a run folder. Of n processes, each takes every n-th block,
and the blocks are merged in order: the files are the same, byte for byte. The processes also count their grades, unless details are wanted.

If predictions are matched in order, the k-th prediction is for the k-th row (for conversations: the k-th decision point), counting rows
that cannot be read.
"""

import fcntl
import gc
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from heapq import merge
from itertools import groupby, islice
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import cast

from msgspec import Struct, structs

from callmark.analysis.summary_parts import PartTally, SummaryStatistics
from callmark.errors import BadInput, BrokenRow
from callmark.formats import BadRow
from callmark.formats.evaluation_results import SCORES, result_row
from callmark.formats.matching import MatchedPredictions, TextCounts
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord, read_grade, write_grade
from callmark.grading.settings import GradingSettings
from callmark.runs.source import CaseSource, PlacedCase, ReadTotals
from callmark.types import Place, Prediction

_MAX_GRADED = 128  # cases graded at a time: those of a block of conversations can be many, each with a long history
_PIPE_SIZE = 1 << 20  # bytes that a worker may be ahead of the parent, which waits for the slowest worker; 64 KiB hold less than a block
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class GradingJob(Struct, frozen=True):
    """The cases, predictions and settings of a grading job, in a form that can be sent to another process.

    With `write_predictions`, the result includes the lines of the predictions. With `detailed`, it includes all grades.
    """

    source: CaseSource
    predictions: MatchedPredictions
    settings: GradingSettings
    write_predictions: bool = True
    detailed: bool = False


class GradedBlock(Struct, frozen=True):
    """The result for one block of rows: its cases, grades, bad rows, lines for the files of a run folder, and counts of parsed texts.

    Each case is given by its id, its place and the key of its predictions. A block of another process may have the `statistics` of its
    grades instead of the grades.
    """

    number: int
    cases: list[tuple[str, Place | None, str]] = []
    grades: list[GradeRecord] = []
    bad: list[BadRow] = []
    grade_lines: list[bytes] = []
    prediction_lines: list[bytes] = []
    result_lines: list[bytes] = []
    texts: TextCounts | None = None
    statistics: SummaryStatistics | None = None


class GradingTotals(Struct, frozen=True):
    """Totals of the whole file: those of reading it, the number of values that each match rule applied to, the policy rules that can
    never be violated, and the number of cases whose reply checks no evaluator evaluates.
    """

    read: ReadTotals
    match_counts: dict[str, int]
    unused_rules: dict[str, str] = {}
    unchecked_replies: int = 0


class WorkerError(Struct, frozen=True):
    """The error that ended a worker process, and the block in which it occurred."""

    number: int
    sentence: str
    hint: str
    broken_row: bool


def grade_blocks(job: GradingJob, *, jobs: int = 1) -> Iterator[GradedBlock | GradingTotals]:
    """Yield the graded blocks of the whole file in order, and the totals at the end."""
    if jobs == 1:
        yield from cast("Iterator[GradedBlock | GradingTotals]", grade_part(job, (0, 1)))
        return
    totals: list[GradingTotals] = []
    workers: list[Process] = []
    streams: list[Iterator[GradedBlock | WorkerError]] = []
    try:
        readers: list[Connection] = []
        for part in range(jobs):
            reader, writer = Pipe(duplex=False)
            _enlarge(writer)
            readers.append(reader)
            worker = Process(target=_send, args=(writer, readers, job, (part, jobs)), daemon=True)
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # Python would print a traceback for a Ctrl-C during the fork
            try:
                worker.start()
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            writer.close()
            workers.append(worker)
            streams.append(_receive(reader, totals))
        for item in merge(*streams, key=attrgetter("number")):
            if isinstance(item, WorkerError):  # the first error in the file, whichever process found it first
                raise (BrokenRow if item.broken_row else BadInput)(item.sentence, item.hint)
            yield item
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    yield _merge_totals(job.source, totals)


def grade_part(job: GradingJob, part: tuple[int, int]) -> Iterator[GradedBlock | GradingTotals | WorkerError]:
    """Yield the graded blocks of one part of the file, and the totals at the end. With several parts, errors are yielded, not raised."""
    own, parts = part
    bad: dict[int, list[BadRow]] = {}  # by block

    def on_bad(row: BadRow) -> None:
        if cases.block % parts == own:
            bad.setdefault(cases.block, []).append(row)

    cases = job.source.read(on_bad=on_bad, part=part, digest=own == 0)
    grader = Grader(job.settings)
    try:
        for number, block in groupby(cases, key=attrgetter("block")):
            while piece := list(islice(block, _MAX_GRADED)):
                graded = _grade_block(number, piece, job, grader)
                yield from (GradedBlock(earlier, bad=bad.pop(earlier)) for earlier in sorted(bad) if earlier < number)
                yield structs.replace(graded, bad=bad.pop(number, []))
    except BadInput as error:
        if parts == 1:
            raise
        yield _worker_error(cases.block, error)
        return
    finally:
        cases.close()
    yield from (GradedBlock(left, bad=bad.pop(left)) for left in sorted(bad))
    yield GradingTotals(cases.totals, dict(grader.matched), grader.unused_rules, grader.unchecked_replies)


def _grade_block(number: int, placed: list[PlacedCase], job: GradingJob, grader: Grader) -> GradedBlock:
    """Grade a block step by step, which takes a third less time than case by case."""
    matched = job.predictions
    cases = [each.case for each in placed]
    predictions = [matched.of_case(each.case, each.index) for each in placed]
    counts = [matched.count_texts(each.case, each.index, found) for each, found in zip(placed, predictions, strict=True)]
    grades = [grader.record(case, trials) for case, trials in zip(cases, predictions, strict=True)]
    return GradedBlock(
        number,
        [(each.case.id, each.case.place, matched.key(each.case.id, each.index)) for each in placed],
        [grade for trials in grades for grade in trials],
        [],
        [write_grade(grade) for trials in grades for grade in trials],
        [
            line
            for each, trials in zip(placed, predictions, strict=True)
            if job.write_predictions
            for line in matched.lines_of_case(each.case, each.index, trials)
        ],
        [
            result_row(case, prediction, {name: grade.metrics[name] for name in SCORES if name in grade.metrics} or None)
            for case, graded, trials in zip(cases, grades, predictions, strict=True)
            if case.is_scenario
            for grade, prediction in zip(graded, trials or [Prediction(case.id, error=grade.error) for grade in graded], strict=True)
        ],
        sum(texts, TextCounts()) if (texts := [found for found in counts if found is not None]) else None,
    )


def _merge_totals(source: CaseSource, totals: list[GradingTotals]) -> GradingTotals:
    first = next(each for each in totals if each.read.digest)
    counts = sum((Counter(each.match_counts) for each in totals), Counter(dict.fromkeys(first.match_counts, 0)))
    reads_all = source.expanded or source.format.recorded  # in these cases, each process reads every row
    read = first.read if reads_all else _sum_totals([each.read for each in totals], first.read.digest)
    unused = {rule: tools for rule, tools in first.unused_rules.items() if all(rule in each.unused_rules for each in totals)}
    unchecked = sum(each.unchecked_replies for each in totals)
    return GradingTotals(read, {pattern: counts[pattern] for pattern in first.match_counts}, unused, unchecked)


def _sum_totals(parts: list[ReadTotals], digest: str) -> ReadTotals:
    return ReadTotals(
        digest,
        sum(part.repaired_rows for part in parts),
        sum(part.rows for part in parts),
        dict(sum((Counter(part.unknown_parts) for part in parts), Counter())),
        any(part.has_calls for part in parts),
    )


def _worker_error(number: int, error: BadInput) -> WorkerError:
    return WorkerError(number, str(error), error.hint, isinstance(error, BrokenRow))


def _enlarge(pipe: Connection) -> None:
    """Give a pipe a larger buffer, where the system can, so that a worker need not wait for the parent after every block."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # beyond what the system allows
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


def _send(writer: Connection, readers: list[Connection], job: GradingJob, part: tuple[int, int]) -> None:
    """Grade one part in a worker process, and send it block by block. The worker closes its read ends, so that it notices when the parent
    stops reading.
    """
    gc.freeze()  # what the worker shares with the parent would be copied if it were looked through for garbage
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):  # the parent may handle them as it handles Ctrl-C
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        for reader in readers:
            reader.close()
        for item in grade_part(job, part):
            writer.send(_without_grades(item, detailed=job.detailed) if isinstance(item, GradedBlock) else item)
    except BadInput as error:
        writer.send(_worker_error(0, error))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        writer.close()


def _without_grades(block: GradedBlock, *, detailed: bool) -> GradedBlock:
    """Return a block with the statistics of its grades, if that is enough, instead of the grades, which are in its lines as well."""
    if detailed or any(grade.file for grade in block.grades):  # numbers by file are not part of the statistics
        return structs.replace(block, grades=[])
    tally = PartTally()
    for grade in block.grades:
        tally.add(grade)
    return structs.replace(block, grades=[], statistics=tally.statistics())


def _receive(reader: Connection, totals: list[GradingTotals]) -> Iterator[GradedBlock | WorkerError]:
    while True:
        try:
            item = reader.recv()
        except (EOFError, OSError):
            raise BadInput("a grading process was killed", "If memory ran out, use fewer --jobs.") from None
        match item:
            case GradedBlock(statistics=None):
                yield structs.replace(item, grades=[read_grade(line) for line in item.grade_lines])
            case GradedBlock():
                yield item
            case GradingTotals():
                totals.append(item)
                return
            case WorkerError():
                yield item
                return
