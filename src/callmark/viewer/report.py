"""The report: runs as one HTML file with the page and all its data, which opens from disk without a network.

The table has every case. Case details and conversations are each included up to a maximum size, lowest scores first; the page says how many
were left out. Memory grows with the rows of the table and with that size, not with the dataset.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import msgspec

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.grading.record import GradeRecord
from callmark.runs.compare import compare_runs
from callmark.runs.run import Run
from callmark.types import Message
from callmark.viewer.bounded_heap import BoundedHeap
from callmark.viewer.bundle import page_around_data
from callmark.viewer.graded_rows import GradedRows
from callmark.viewer.history import history_of
from callmark.viewer.page_data import case_data, comparison_data, message_data, run_data
from callmark.viewer.page_json import escape_for_script, page_json
from callmark.viewer.run_cases import CaseInConversation, RunCases
from callmark.viewer.triage import Triage
from callmark.wording import end_sentence

MAX_BYTES = 20_000_000  # of conversations, and the same again for cases
_ERROR_SCORE = 2.0  # higher than every score, so that errors are dropped first
_encode = msgspec.json.Encoder().encode


def write_report(
    runs: Sequence[Run],
    out: str,
    *,
    max_bytes: int = MAX_BYTES,
    warn: Callable[[str], None] = lambda sentence: None,
    replace: bool = False,
    history: bool = False,
) -> dict[str, int]:
    """Write the report of these runs and return how much was left out. `warn` gets a sentence for each dataset that cannot be shown.
    `replace` is for a file in a run folder, where a link is not followed. `history` writes only the numbers of the runs over time, without
    their cases.

    Several runs are compared with the first, on their common cases. No run, or the same run twice, raises `BadInput`.
    """
    if not runs:
        raise BadInput("a report needs at least one run", "Pass a run folder: callmark report runs/NAME")
    if len({run.folder.path.resolve() for run in runs}) < len(runs):
        raise BadInput("the same run was given twice", "Pass each run once.")
    head, tail = page_around_data()
    if history:
        data = page_json({"runs": [], "rows": {}, "history": history_of(runs, _unique_names(runs))})
        write_lines(out, (head, escape_for_script(data), tail), replace=replace)
        return ReportContents(max_bytes).left_out()
    contents = ReportContents(max_bytes)
    write_lines(out, chain((head,), map(escape_for_script, report_data(runs, contents, warn)), (tail,)), replace=replace)
    return contents.left_out()


def report_data(runs: Sequence[Run], contents: "ReportContents", warn: Callable[[str], None] = lambda sentence: None) -> Iterator[bytes]:
    """Yield the JSON of a report piece by piece, filling `contents` along the way."""
    names = _unique_names(runs)
    read = [_ReportRun(name, run) for name, run in zip(names, runs, strict=True)]
    for run in read:
        if run.cases.notice:
            warn(f"{run.run.folder}: {run.cases.notice}")
    yield b'{"runs":['
    for index, run in enumerate(read):
        yield b"," * (index > 0) + run.run_json()
    yield b'],"labels":{'
    for index, run in enumerate(read):
        yield b"," * (index > 0) + _encode(run.name) + b":" + page_json(run.labels())
    yield b'},"rows":{'
    for index, run in enumerate(read):
        yield b"," * (index > 0) + _encode(run.name) + b":" + run.rows_json()
    by_dataset: dict[object, list[_ReportRun]] = {}
    for run in read:
        by_dataset.setdefault(run.cases.identity, []).append(run)
    for group in by_dataset.values():
        contents.add(group)
    yield b'},"cases":{'
    for index, run in enumerate(read):
        yield b"," * (index > 0) + _encode(run.name) + b":{"
        yield from contents.as_cases(run.name)
        yield b"}"
    yield b'},"conversations":{'
    yield from contents.conversations()
    comparison, problem = _comparison(runs, names)
    yield b'},"comparison":' + page_json(comparison) + b',"comparison_problem":' + page_json(problem)
    yield b',"left_out":' + _encode(contents.left_out()) + b"}"


def _comparison(runs: Sequence[Run], names: Sequence[str]) -> tuple[dict[str, Any] | None, str]:
    """Return the comparison of the runs, or why there is none: runs without common cases can still be reported."""
    if len(runs) < 2:
        return None, ""
    definitions = {metric: definition for run in runs for metric, definition in run.info.metrics.items()}
    try:
        return comparison_data(names, compare_runs(runs, common=True, labels=names), definitions), ""
    except BadInput as error:
        return None, f"{end_sentence(str(error))} {error.hint}".strip()


def _unique_names(runs: Sequence[Run]) -> list[str]:
    """Return the names of the runs on the page: those of their folders, numbered if they repeat."""
    names: list[str] = []
    for run in runs:
        folder = name = scrub(run.folder.path.resolve().name)
        number = 1
        while name in names:
            number += 1
            name = f"{folder} ({number})"
        names.append(name)
    return names


class _ReportRun:
    """A run whose grades have been read once."""

    def __init__(self, name: str, run: Run) -> None:
        self.name = name
        self.run = run
        self.cases = RunCases(run.folder, run.info)
        self.rows = GradedRows(run)
        tally = run.tally()
        for grade in self.rows.read():
            tally.add(grade)
        self._summary = tally.summary()

    def run_json(self) -> bytes:
        columns = self.rows.columns
        return page_json(
            run_data(self.name, self.run.info, self._summary, names=columns.names(), trials=columns.trials, problem=self.cases.notice)
        )

    def labels(self) -> dict[str, Any]:
        """Return the labels beside the run, which are read-only here."""
        return Triage(str(self.run.folder.path), read_only=True).labels(self.run.info.dataset.digest, self.run.folder)

    def rows_json(self) -> bytes:
        columns = self.rows.columns
        size = len(columns)
        return _encode({"start": 0, "next": None, "total": size, "names": columns.names(), **columns.chunk(0, size)})

    def grades_by_case(self) -> Iterator[tuple[str, list[tuple[int, GradeRecord]]]]:
        """Yield the grades of each case, with their rows."""
        for case, grades in groupby(enumerate(self.run.grades()), key=lambda numbered: numbered[1].case):
            yield case, list(grades)

    def score(self, grade: GradeRecord) -> float:
        return _ERROR_SCORE if grade.error else grade.metrics.get(self.run.headline, 1.0)


class ReportContents:
    """The cases and conversations that are included in the report."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._cases = BoundedHeap(max_bytes)
        self._conversations = BoundedHeap(max_bytes)
        self._case_keys: dict[str, tuple[str, str, str | None]] = {}  # run, key on the page, and conversation of each case

    def add(self, runs: Sequence[_ReportRun]) -> None:
        """Add the cases of runs of one dataset."""
        groups = [run.grades_by_case() for run in runs]
        heads = [next(group, None) for group in groups]
        for conversation in runs[0].cases.conversations() if not runs[0].cases.problem else ():
            graded = []
            for placed in conversation.cases:
                for index, run in enumerate(runs):
                    head = heads[index]
                    if head is not None and head[0] == placed.case.id:
                        graded += [(run, row, grade, placed) for row, grade in head[1]]
                        heads[index] = next(groups[index], None)
            if graded:
                score = min(run.score(grade) for run, _, grade, _ in graded)
                key = self._add_conversation(conversation.messages, score) if conversation.messages else None
                for run, row, grade, placed in graded:
                    self._add_case(run, row, grade, placed, key)
        for run, head, group in zip(runs, heads, groups, strict=True):
            for _, grades in chain((head,) if head else (), group):
                for row, grade in grades:
                    self._add_case(run, row, grade, None, None)

    def _add_conversation(self, messages: Sequence[Message], score: float) -> str:
        key = str(self._conversations.offered)
        if self._conversations.accepts(score):
            self._conversations.add(key, score, page_json([message_data(message) for message in messages]))
        else:
            self._conversations.skip()
        return key

    def _add_case(self, run: _ReportRun, row: int, grade: GradeRecord, placed: CaseInConversation | None, conversation: str | None) -> None:
        score = run.score(grade)
        if not self._cases.accepts(score):
            self._cases.skip()
            return
        prediction = run.rows.prediction(row)
        length, tail = (placed.prompt_length, placed.prompt_tail) if placed else (None, ())
        if prediction is not None and prediction.transcript:
            conversation, length, tail = self._add_conversation(prediction.transcript, score), None, ()
        found = case_data(run.name, grade, placed.case if placed else None, prediction, problem=run.cases.notice)
        key = f"{run.name}\0{row}"
        self._case_keys[key] = (run.name, f"{found['id']}#{found['trial']}", conversation)
        prompt = {"prompt_length": length, "prompt_tail": [message_data(message) for message in tail]}
        self._cases.add(key, score, page_json({**found, **prompt}))

    def as_cases(self, run: str) -> Iterator[bytes]:
        """Yield the included cases of a run, as the inside of a JSON object."""
        separator = b""
        for key, item in self._cases.items.items():
            run_name, name, conversation = self._case_keys[key]
            if run_name == run:
                included = conversation if conversation in self._conversations.items else None
                yield separator + _encode(name) + b':{"conversation":' + _encode(included) + b"," + item[1:]
                separator = b","

    def conversations(self) -> Iterator[bytes]:
        """Yield the included conversations, as the inside of a JSON object."""
        for index, (key, item) in enumerate(self._conversations.items.items()):
            yield b"," * (index > 0) + _encode(key) + b":" + item

    def left_out(self) -> dict[str, int]:
        """Return how many conversations and cases were left out, and how many there are in total."""
        conversations, cases = self._conversations, self._cases
        return {
            "conversations": conversations.dropped,
            "all_conversations": conversations.offered,
            "cases": cases.dropped,
            "all_cases": cases.offered,
        }
