"""Runs as one file that opens from disk, with no network: the page, and everything that it shows.

The table has every case. Cases as a whole, and conversations, are in it up to a size each, the worst first; the page says how many were
left out. Memory grows with the rows of the table and with that size, not with the dataset.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import msgspec

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.grading.grader import GradeRecord
from callmark.runs.compare import compared
from callmark.runs.run import Run
from callmark.types import Message
from callmark.viewer.bounded_heap import BoundedHeap
from callmark.viewer.bundle import around_data
from callmark.viewer.conversations import CasesOfRun, Told
from callmark.viewer.graded_rows import GradedRows
from callmark.viewer.page_data import case_data, comparison_data, message_data, run_data
from callmark.viewer.page_json import inside_script, page_json
from callmark.wording import ended

MOST = 20_000_000  # bytes of conversations, and as many of cases
_ERROR = 2.0  # ranks behind every score: there is the least to see
_encode = msgspec.json.Encoder().encode


def write_report(runs: Sequence[Run], out: str, *, most: int = MOST) -> dict[str, int]:
    """Write the report of these runs, and say how much was left out; several are compared with the first, on the cases that they share. No
    run at all, and the same one twice, raise `BadInput`.
    """
    if not runs:
        raise BadInput("no run was given: a report is of one or more", "callmark report runs/NAME")
    if len({run.folder.path.resolve() for run in runs}) < len(runs):
        raise BadInput("a run is given twice: it does not differ from itself")
    head, tail = around_data()
    inside = Inside(most)
    write_lines(out, chain((head,), map(inside_script, report_data(runs, inside)), (tail,)))
    return inside.left_out()


def report_data(runs: Sequence[Run], inside: "Inside") -> Iterator[bytes]:
    """The JSON of a report, piece by piece. `inside` is filled on the way."""
    names = _names(runs)
    read = [_Read(name, run) for name, run in zip(names, runs, strict=True)]
    yield b'{"runs":['
    for place, one in enumerate(read):
        yield b"," * (place > 0) + one.run_json()
    yield b'],"rows":{'
    for place, one in enumerate(read):
        yield b"," * (place > 0) + _encode(one.name) + b":" + one.rows_json()
    by_dataset: dict[object, list[_Read]] = {}
    for one in read:
        by_dataset.setdefault(one.cases.told_by, []).append(one)
    for group in by_dataset.values():
        inside.add(group)
    yield b'},"cases":{'
    for place, one in enumerate(read):
        yield b"," * (place > 0) + _encode(one.name) + b":{"
        yield from inside.cases_of(one.name)
        yield b"}"
    yield b'},"conversations":{'
    yield from inside.conversations()
    comparison, problem = _comparison(runs, names)
    yield b'},"comparison":' + page_json(comparison) + b',"comparison_problem":' + page_json(problem)
    yield b',"left_out":' + _encode(inside.left_out()) + b"}"


def _comparison(runs: Sequence[Run], names: Sequence[str]) -> tuple[dict[str, Any] | None, str]:
    """The runs compared; where they have nothing in common, why not: what there is of each is worth a page all the same."""
    if len(runs) < 2:
        return None, ""
    try:
        return comparison_data(names, compared(runs, common=True, called=names)), ""
    except BadInput as error:
        return None, f"{ended(str(error))} {error.hint}".strip()


def _names(runs: Sequence[Run]) -> list[str]:
    """What the runs are called on the page: by their folders, those of one name told apart by numbers."""
    names: list[str] = []
    for run in runs:
        own = name = scrub(run.folder.path.resolve().name)
        number = 1
        while name in names:
            number += 1
            name = f"{own} ({number})"
        names.append(name)
    return names


class _Read:
    """A run that has been read once."""

    def __init__(self, name: str, run: Run) -> None:
        self.name = name
        self.run = run
        self.cases = CasesOfRun(run.folder, run.info)
        self.rows = GradedRows(run)
        tally = run.tally()
        for grade in self.rows.read():
            tally.add(grade)
        self._summary = tally.summary()

    def run_json(self) -> bytes:
        columns = self.rows.columns
        return page_json(
            run_data(self.name, self.run.info, self._summary, names=columns.names(), trials=columns.trials, problem=self.cases.problem)
        )

    def rows_json(self) -> bytes:
        columns = self.rows.columns
        size = len(columns)
        return _encode({"from": 0, "next": None, "total": size, "names": columns.names(), **columns.chunk(0, size)})

    def by_case(self) -> Iterator[tuple[str, list[tuple[int, GradeRecord]]]]:
        """The grades of each case, with their rows."""
        for case, grades in groupby(enumerate(self.run.grades()), key=lambda numbered: numbered[1].case):
            yield case, list(grades)

    def score(self, grade: GradeRecord) -> float:
        return _ERROR if grade.error else grade.metrics.get(self.run.headline, 1.0)


class Inside:
    """The cases and conversations that go into the report."""

    def __init__(self, most: int = MOST) -> None:
        self._cases = BoundedHeap(most)
        self._conversations = BoundedHeap(most)
        self._told: dict[str, tuple[str, str, str | None]] = {}  # of each case: its run, what the page calls it, its conversation

    def add(self, runs: Sequence[_Read]) -> None:
        """Look through runs of one dataset, case by case."""
        groups = [run.by_case() for run in runs]
        heads = [next(group, None) for group in groups]
        for talk in runs[0].cases.talks() if not runs[0].cases.problem else ():
            asked = []
            for told in talk.cases:
                for place, run in enumerate(runs):
                    head = heads[place]
                    if head is not None and head[0] == told.case.id:
                        asked += [(run, row, grade, told) for row, grade in head[1]]
                        heads[place] = next(groups[place], None)
            if asked:
                score = min(run.score(grade) for run, _, grade, _ in asked)
                key = self._add_conversation(talk.messages, score) if talk.messages else None
                for run, row, grade, told in asked:
                    self._add_case(run, row, grade, told, key)
        for run, head, group in zip(runs, heads, groups, strict=True):
            for _, grades in chain((head,) if head else (), group):
                for row, grade in grades:
                    self._add_case(run, row, grade, None, None)

    def _add_conversation(self, messages: Sequence[Message], score: float) -> str:
        key = str(self._conversations.seen)
        if self._conversations.wants(score):
            self._conversations.add(key, score, page_json([message_data(message) for message in messages]))
        else:
            self._conversations.pass_over()
        return key

    def _add_case(self, run: _Read, row: int, grade: GradeRecord, told: Told | None, conversation: str | None) -> None:
        score = run.score(grade)
        if not self._cases.wants(score):
            self._cases.pass_over()
            return
        prediction = run.rows.prediction(row)
        upto, tail = (told.upto, told.tail) if told else (None, ())
        if prediction is not None and prediction.transcript:
            conversation, upto, tail = self._add_conversation(prediction.transcript, score), None, ()
        found = case_data(run.name, grade, told.case if told else None, prediction, problem=run.cases.problem)
        key = f"{run.name}\0{row}"
        self._told[key] = (run.name, f"{found['id']}#{found['trial']}", conversation)
        self._cases.add(key, score, page_json({**found, "upto": upto, "tail": [message_data(message) for message in tail]}))

    def cases_of(self, run: str) -> Iterator[bytes]:
        """The cases of a run that are kept, as the inside of a JSON object."""
        between = b""
        for key, piece in self._cases.pieces.items():
            of_run, name, conversation = self._told[key]
            if of_run == run:
                there = conversation if conversation in self._conversations.pieces else None
                yield between + _encode(name) + b':{"conversation":' + _encode(there) + b"," + piece[1:]
                between = b","

    def conversations(self) -> Iterator[bytes]:
        """The conversations that are kept, likewise."""
        for place, (key, piece) in enumerate(self._conversations.pieces.items()):
            yield b"," * (place > 0) + _encode(key) + b":" + piece

    def left_out(self) -> dict[str, int]:
        talks, cases = self._conversations, self._cases
        return {"conversations": talks.left_out, "of": talks.seen, "cases": cases.left_out, "of_cases": cases.seen}
