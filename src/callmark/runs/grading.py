"""Cases and predictions to grades, in one pass over the cases, by one process or by several.

The cases are read in blocks of rows; each block becomes lines for the files of a run folder. With several processes each takes the k-th
of every n blocks, and the blocks are put together in order again: the files are the same, byte for byte. Predictions are held in memory,
each as its own short line.

Conversations are cut into decision points on the way. In order, the k-th prediction is for the k-th row (of conversations: for the k-th
decision point), rows that cannot be read counted. A file that has conversations and cases in it raises `BadInput`.

Where each row is a trial that was recorded, the first row of an id is the case; a later one that asks for something else raises `BadInput`.
"""

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from itertools import groupby
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from operator import attrgetter, itemgetter
from typing import cast

from msgspec import Struct, structs

from callmark.data.expand import decision_points, named
from callmark.errors import BadInput, BrokenRow
from callmark.formats import BadRow, Dataset, side_tools
from callmark.formats.dataset import BLOCK
from callmark.formats.evaluation_results import SCORES, result_row
from callmark.formats.detect import dialect_called
from callmark.grading.grader import GradeRecord, Grader, grade_line, read_grade
from callmark.grading.evaluator import Settings
from callmark.runs.prediction_file import packed, unpacked
from callmark.types import Case, Place, Prediction


class GradingJob(Struct, frozen=True):
    """What there is to grade, as another process can be told it. `answers` are lines of predictions, by the id of their case, or, where
    `in_order`, by its place. `name` is what the file is called, where that is not its path. `limit`: the first so many cases only.
    """

    path: str
    settings: Settings
    answers: dict[str, list[bytes]]
    in_order: bool = False
    dialect: str | None = None
    tools: str | None = None
    skip_bad: bool = False
    name: str | None = None
    limit: int | None = None


class Block(Struct, frozen=True):
    """What a block of rows came to: its cases, its grades, its bad rows, and lines for the files of a run folder.

    A case is its id, its place, and what its predictions are found under: its id again, or its place in order.
    """

    number: int
    cases: list[tuple[str, Place | None, str]] = []
    grades: list[GradeRecord] = []
    bad: list[BadRow] = []
    grade_lines: list[bytes] = []
    prediction_lines: list[bytes] = []
    result_lines: list[bytes] = []


class Ended(Struct, frozen=True):
    """What is known of the cases when all is read."""

    digest: str
    dialect: str
    scenarios: bool
    cut: bool
    mended: int
    touched: dict[str, int]


class Refused(Struct, frozen=True):
    """What another process could not go on with, and the block in which that was."""

    number: int
    sentence: str
    hint: str
    broken: bool


def graded(work: GradingJob, *, jobs: int = 1) -> Iterator[Block | Ended]:
    """The blocks of the whole file, in order, and in the end what was learnt on the way."""
    if jobs == 1:
        yield from cast("Iterator[Block | Ended]", graded_part(work, (0, 1)))
        return
    ended: list[Ended] = []
    workers: list[Process] = []
    streams: list[Iterator[Block | Refused]] = []
    try:
        readers: list[Connection] = []
        for part in range(jobs):
            reader, writer = Pipe(duplex=False)
            readers.append(reader)
            worker = Process(target=_send, args=(writer, readers, work, (part, jobs)), daemon=True)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a Ctrl-C in the middle of a fork would be told by Python, not by us
            try:
                worker.start()
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            writer.close()
            workers.append(worker)
            streams.append(_received(reader, ended))
        for said in merge(*streams, key=attrgetter("number")):
            if isinstance(said, Refused):  # the first in the file, whoever came to it first
                raise (BrokenRow if said.broken else BadInput)(said.sentence, said.hint)
            yield said
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    first = next(one for one in ended if one.digest)
    touched = sum((Counter(one.touched) for one in ended), Counter(dict.fromkeys(first.touched, 0)))
    everything = {pattern: touched[pattern] for pattern in first.touched}
    every = first.cut or dialect_called(first.dialect).recorded  # of which each process reads all
    mended = first.mended if every else sum(one.mended for one in ended)
    yield structs.replace(first, mended=mended, touched=everything)


def graded_part(work: GradingJob, part: tuple[int, int]) -> Iterator[Block | Ended | Refused]:
    """The blocks of one part of the file, and in the end what was learnt on the way. Of several parts none raises: they say it."""
    first = first_row(work)
    cut = not isinstance(first, Case)
    own, parts = part
    bad: dict[int, list[BadRow]] = {}  # by block

    def on_bad(row: BadRow) -> None:
        block = dataset.ordinal // BLOCK
        if block % parts == own:
            bad.setdefault(block, []).append(row)

    with _opened(work, on_bad=on_bad, part=(0, 1) if cut else part, digest=own == 0) as dataset:
        if dataset.dialect.recorded:  # which row of a case is the first can be told by reading all
            dataset.part = (0, 1)
        grader = Grader(work.settings)
        placed = _placed(dataset, work, part=part, cut=cut)
        try:
            for number, block in groupby(placed, key=itemgetter(0)):
                made = _graded_block(number, block, work, grader)
                yield from (Block(earlier, bad=bad.pop(earlier)) for earlier in sorted(bad) if earlier < number)
                yield structs.replace(made, bad=bad.pop(number, []))
        except BadInput as error:
            if parts == 1:
                raise
            yield _refused(dataset.ordinal // BLOCK, error)
            return
        yield from (Block(left, bad=bad.pop(left)) for left in sorted(bad))
        scenarios = isinstance(first, Case) and first.is_scenario
        yield Ended(dataset.digest(), dataset.dialect.name, scenarios, cut, dataset.mended, dict(grader.touched))


def _refused(number: int, error: BadInput) -> Refused:
    return Refused(number, str(error), error.hint, isinstance(error, BrokenRow))


def first_row(work: GradingJob) -> Case | object:
    """The first row that can be read; a file without one raises `BadInput`."""
    with _opened(work, on_bad=lambda row: None) as dataset:
        return next(iter(dataset))


def survey(work: GradingJob, *, on_bad: Callable[[BadRow], None] | None = None) -> tuple[Ended, dict[str, Place | None]]:
    """What is known of the cases once all are read, and the place of each by its id. Two cases of one id raise `BadInput`."""
    first = first_row(work)
    cut = not isinstance(first, Case)
    seen: dict[str, Place | None] = {}
    with _opened(work, on_bad=on_bad or (lambda row: None), digest=True) as dataset:
        for _, _, case in _placed(dataset, work, cut=cut):
            refuse_repeated(case.id, case.place, seen)
            seen[case.id] = case.place
        scenarios = isinstance(first, Case) and first.is_scenario
        return Ended(dataset.digest(), dataset.dialect.name, scenarios, cut, dataset.mended, {}), seen


def each_case(work: GradingJob, *, cut: bool) -> Iterator[tuple[int, Case]]:
    """The cases, each with its place in order."""
    with _opened(work, on_bad=lambda row: None) as dataset:
        for _, at, case in _placed(dataset, work, cut=cut):
            yield at, case
            if at + 1 == work.limit:
                return


def refuse_repeated(case: str, place: Place | None, seen: Mapping[str, Place | None]) -> None:
    """Refuse a case whose id was there before."""
    if case in seen:
        raise BadInput(
            f"{place}: the id {case[:80]!r} stands for two cases, the first is in {seen[case]}",
            "Give each case an id of its own, so that a prediction is for one of them.",
        )


Placed = tuple[int, int, Case]  # the block that a case belongs to, its place in order, the case


def _placed(dataset: Dataset, work: GradingJob, *, part: tuple[int, int] = (0, 1), cut: bool) -> Iterator[Placed]:
    """The cases of a part, as far as the limit goes; what is beyond it is read all the same, as it belongs to the file."""
    placed = _cut(dataset, part) if cut else _first_of_each(_cases(dataset), part) if dataset.dialect.recorded else _cases(dataset)
    limit = work.limit
    return placed if limit is None else (one for one in placed if one[1] < limit)


def _cases(dataset: Dataset) -> Iterator[Placed]:
    for row in dataset:
        if not isinstance(row, Case):
            raise BadInput(f"{row.place}: the row is a conversation with nothing expected, among cases that have it")
        yield dataset.ordinal // BLOCK, dataset.ordinal, row


def _first_of_each(placed: Iterator[Placed], part: tuple[int, int]) -> Iterator[Placed]:
    """The cases of which each row is a trial, in the order of their first rows; those of a part's own."""
    own, parts = part
    seen: dict[str, Case] = {}
    for block, _, case in placed:
        first = seen.setdefault(case.id, case)
        if first is case:
            if block % parts == own:
                yield block, len(seen) - 1, case
        elif (case.instructions, case.expected) != (first.instructions, first.expected):
            refuse_repeated(case.id, case.place, {first.id: first.place})


def _cut(dataset: Dataset, part: tuple[int, int]) -> Iterator[Placed]:
    """The decision points of a part's own conversations. All are read, as what one is called depends on those before it."""
    own, parts = part
    before = 0
    for row, name in named(dataset):
        block = dataset.ordinal // BLOCK
        if block % parts == own:
            for at, case in enumerate(decision_points(row, name=name), before):
                yield block, at, case
        before += len(row.calls)


def _graded_block(number: int, placed: Iterator[Placed], work: GradingJob, grader: Grader) -> Block:
    """One thing after the other for the whole block, which takes a third less time than everything for one case after the other."""
    cases = list(placed)
    keys = [str(at) if work.in_order else case.id for _, at, case in cases]
    lines = [work.answers.get(key, []) for key in keys]
    answers = [[unpacked(line) for line in one] for one in lines]
    if work.in_order:
        answers = [[structs.replace(answer, case=case.id) for answer in one] for one, (_, _, case) in zip(answers, cases, strict=True)]
        lines = [[packed(answer) for answer in one] for one in answers]
    grades = [grader.record(case, one) for one, (_, _, case) in zip(answers, cases, strict=True)]
    return Block(
        number,
        [(case.id, case.place, key) for (_, _, case), key in zip(cases, keys, strict=True)],
        [grade for one in grades for grade in one],
        [],
        [grade_line(grade) for one in grades for grade in one],
        [line for one in lines for line in one],
        [
            result_row(case, answer, {name: grade.metrics[name] for name in SCORES if name in grade.metrics} or None)
            for one, (_, _, case), made in zip(grades, cases, answers, strict=True)
            if case.is_scenario
            for grade, answer in zip(one, made or [Prediction(case.id, error=grade.error) for grade in one], strict=True)
        ],
    )


def _opened(work: GradingJob, *, on_bad: Callable[[BadRow], None], part: tuple[int, int] = (0, 1), digest: bool = False) -> Dataset:
    reading = side_tools(work.tools) if work.tools else None
    bad = on_bad if work.skip_bad else None
    return Dataset(work.path, dialect=work.dialect, reading=reading, on_bad=bad, part=part, digest=digest, name=work.name)


def _send(writer: Connection, readers: list[Connection], work: GradingJob, part: tuple[int, int]) -> None:
    """What another process does: its part, block by block, into a pipe. It keeps no end to read from, so as to learn when nobody reads."""
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for reader in readers:
            reader.close()
        for said in graded_part(work, part):
            writer.send(structs.replace(said, grades=[]) if isinstance(said, Block) else said)
    except BadInput as error:
        writer.send(_refused(0, error))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        writer.close()


def _received(reader: Connection, ended: list[Ended]) -> Iterator[Block | Refused]:
    while True:
        try:
            said = reader.recv()
        except (EOFError, OSError):
            raise BadInput("a process that graded was ended from outside", "Fewer --jobs need less memory.") from None
        match said:
            case Block():
                yield structs.replace(said, grades=[read_grade(line) for line in said.grade_lines])
            case Ended():
                ended.append(said)
                return
            case Refused():
                yield said
                return
