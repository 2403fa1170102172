"""The cases of a run with their talk: each source conversation once, with all the decision points that were cut from it.

Where the dataset holds conversations, that is the whole conversation. Where it holds decision points, it is the longest history among
those of one conversation that stand together. A dataset that is gone, cannot be read or is not what it was has no cases: `problem` says so.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import groupby, islice, takewhile

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.data.expand import decision_points, named
from callmark.errors import BadInput
from callmark.formats import BadRow, Dataset, side_tools
from callmark.formats.dataset import digest_of
from callmark.formats.detect import dialect_called
from callmark.formats.format import Reading
from callmark.runs.store import RunFolder, RunInfo
from callmark.types import Case, Conversation, Message, Place
from callmark.viewer.row_index import RowIndex, may_be_called

_NONE = (1 << 60, 1 << 61)  # a part of a file that no row is in
_LOOKED_AT = 16  # rows that are read from where a case should stand, before only those are that seem to be called so
_MOST_BESIDE = 64  # rows that are looked at before and after a case, for others of its conversation


class Told(Struct, frozen=True):
    """A case, and how much of its talk stood before the decision: the first `upto` messages, and then `tail`. None: there is no talk."""

    case: Case
    upto: int | None
    tail: tuple[Message, ...] = ()


class Talk(Struct, frozen=True):
    """A conversation, and the cases that were cut from it."""

    messages: tuple[Message, ...]
    cases: list[Told]


class CasesOfRun:
    """The dataset that a run was made on. Where that is, only `run.json` says: so nothing of it is shown unless it is, byte for byte, the
    file that the run was made on.
    """

    def __init__(self, folder: RunFolder, info: RunInfo) -> None:
        self._info = info.dataset
        self.path = folder.to_here(info.dataset.path)
        self._tools = folder.to_here(info.dataset.tools) if info.dataset.tools else None

    @property
    def stamp(self) -> tuple[str, int, int]:
        """What tells the file from what it was a moment ago."""
        try:
            found = os.stat(self.path)
        except (OSError, ValueError):
            return self.path, 0, 0
        return os.path.realpath(self.path), found.st_mtime_ns, found.st_size

    @property
    def told_by(self) -> object:
        """What is the same for runs of the same cases."""
        info = self._info
        return self.stamp, info.digest, info.dialect, info.cut, info.limit, self._tools, info.tools_digest

    @cached_property
    def problem(self) -> str:
        """Why nothing can be shown of the cases; nothing where it can."""
        name = self._info.name
        if not os.path.isfile(self.path):
            return f"Its cases are gone: they stood in {name}."
        if self._tools and not os.path.isfile(self._tools):
            return "The tools of its cases are gone."
        try:
            if self._tools and digest_of(self._tools) != self._info.tools_digest:
                return "The tools of its cases have changed since the run."
            with self._opened(part=_NONE, digest=True) as dataset:
                for _ in dataset:
                    pass
                if dataset.digest() != self._info.digest:
                    return f"{name} has changed since the run: what stands there now is not what was asked."
        except BadInput as error:
            return f"The cases cannot be read: {scrub(str(error))}."
        return ""

    def talks(self) -> Iterator[Talk]:
        """All cases, in the order of their grades."""
        return self._talks(self._opened())

    def find(self, case: str, conversation: str | None, near: int) -> tuple[Talk, Told] | None:
        """A case and its talk; None where it is not there. `near` is how many rows stand before it, or fewer."""
        told_apart = self._info.cut and "~" in (conversation or "~")  # what such a one is called depends on those before it
        if not (dialect_called(self._info.dialect).recorded or told_apart):
            reading = self._reading()
            cut = self._info.cut
            for at, row in self._called((conversation if cut else case) or "", near, reading):
                talk = _of_conversation(row, list(decision_points(row))) if cut else _shared(self._beside(at, row, reading))
                if found := _found((talk,), case):
                    return found
        with self._opened() as dataset:
            return _found(self._talks(dataset), case)

    def prepare(self) -> None:
        """Find where the rows of the file begin."""
        if not self.problem:
            self._index  # noqa: B018 - it is kept

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self.path)

    def _called(self, name: str, near: int, reading: Reading) -> Iterator[tuple[int, Conversation]]:
        """The rows from `near` on that may be of that name, each with how many stand before it. The nearest are read whatever they are
        called: not every dialect has its ids where others have them.
        """
        for at, number, line in self._index.rows(near):
            if at - near < _LOOKED_AT or may_be_called(name, line, Place(self._info.name, number)):
                row = self._read(number, line, reading)
                if row is not None and row.id == name:
                    yield at, row

    def _beside(self, at: int, row: Conversation, reading: Reading) -> list[Case]:
        """A case, and those around it that were cut from the same conversation; nothing for what is no case."""
        if not isinstance(row, Case):
            return []
        first = max(0, at - _MOST_BESIDE)
        earlier = reversed(list(islice(self._index.rows(first), at - first)))
        later = islice(self._index.rows(at + 1), _MOST_BESIDE)
        before = _as_long_as_of(row, (self._read(number, line, reading) for _, number, line in earlier))
        after = _as_long_as_of(row, (self._read(number, line, reading) for _, number, line in later))
        return [*reversed(list(before)), row, *after]

    def _read(self, number: int, line: bytes, reading: Reading) -> Conversation | None:
        """A row, as far as it can be read without what reading a whole file does for broken ones."""
        with suppress(ValueError, RecursionError, BadInput):
            return dialect_called(self._info.dialect).read(line, Place(self._info.name, number), reading)
        return None

    def _reading(self) -> Reading:
        return side_tools(self._tools) if self._tools else Reading()

    def _opened(self, *, part: tuple[int, int] = (0, 1), digest: bool = False) -> Dataset:
        return Dataset(self.path, dialect=self._info.dialect, reading=self._reading(), on_bad=_passed_over, part=part, digest=digest)

    def _talks(self, dataset: Dataset) -> Iterator[Talk]:
        limit = self._info.limit
        if self._info.cut:
            left = limit
            for row, name in named(dataset):
                points = list(islice(decision_points(row, name=name), left))
                yield _of_conversation(row, points)
                left = left and left - len(points)
                if left == 0:
                    return
        else:
            cases = _cases(dataset)
            yield from _together(islice(_first_of_each(cases) if dataset.dialect.recorded else cases, limit))


def _passed_over(row: BadRow) -> None:
    """Whoever graded the run was told of it."""


def _as_long_as_of(case: Case, rows: Iterable[Conversation | None]) -> Iterator[Case]:
    """Cases of the same conversation, up to the first that is of another; what cannot be read is passed over."""
    of = case.source.conversation if case.source else None
    cases = (row for row in rows if isinstance(row, Case))
    return takewhile(lambda one: of is not None and one.source is not None and one.source.conversation == of, cases)


def _cases(rows: Iterable[Conversation]) -> Iterator[Case]:
    return (row for row in rows if isinstance(row, Case))


def _first_of_each(cases: Iterator[Case]) -> Iterator[Case]:
    seen: set[str] = set()
    for case in cases:
        if case.id not in seen:
            seen.add(case.id)
            yield case


def _together(cases: Iterator[Case]) -> Iterator[Talk]:
    """Cases that stand together and are of one conversation share the longest history among them."""
    for _, group in groupby(cases, key=lambda case: case.source.conversation if case.source else f"\0{case.id}"):
        yield _shared(list(group))


def _shared(cases: list[Case]) -> Talk:
    longest = max((case.messages for case in cases), key=len, default=())
    return Talk(longest, [_told(case, longest) for case in cases])


def _of_conversation(row: Conversation, cases: list[Case]) -> Talk:
    return Talk(row.messages, [_told(case, row.messages) for case in cases])


def _told(case: Case, whole: tuple[Message, ...]) -> Told:
    if not case.messages:
        return Told(case, None if case.is_scenario else 0)
    upto = 0
    for one, other in zip(case.messages, whole, strict=False):
        if one is not other and one != other:
            break
        upto += 1
    return Told(case, upto, case.messages[upto:])


def _found(talks: Iterable[Talk], case: str) -> tuple[Talk, Told] | None:
    return next(((talk, told) for talk in talks for told in talk.cases if told.case.id == case), None)
