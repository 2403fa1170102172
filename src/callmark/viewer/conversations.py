"""The cases of a run with their talk: each source conversation once, with all the decision points that were cut from it.

Where the dataset holds conversations, that is the whole conversation. Where it holds decision points, it is the longest history among
those of one conversation that stand together. A dataset that is gone, cannot be read or is not what it was has no cases: `problem` says so.
"""

import os
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby, islice

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.data.expand import decision_points, named
from callmark.errors import BadInput
from callmark.formats import BadRow, Dataset, side_tools
from callmark.formats.dataset import BLOCK
from callmark.running.folder import RunFolder, RunInfo
from callmark.types import Case, Conversation, Message

_NONE = (1 << 60, 1 << 61)  # a part of a file that no row is in
_LOOKED_AT = 4  # blocks of rows that are looked at from where a case should stand, before all are


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

    @cached_property
    def problem(self) -> str:
        """Why nothing can be shown of the cases; nothing where it can."""
        name = self._info.name
        if not os.path.isfile(self.path):
            return f"Its cases are gone: they stood in {name}."
        try:
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
        if not self._dialect_recorded and not self._info.limit:
            for block in range(near // BLOCK, near // BLOCK + _LOOKED_AT):
                with self._opened(part=(block, 1 << 61)) as dataset:
                    rows = islice(_until(dataset, (block + 1) * BLOCK), BLOCK)
                    found = _found(self._cut(rows, conversation) if self._info.cut else _together(_cases(rows)), case)
                    if found is not None:
                        return found
        with self._opened() as dataset:
            return _found(self._talks(dataset), case)

    @property
    def _dialect_recorded(self) -> bool:
        return self._opened().dialect.recorded

    def _opened(self, *, part: tuple[int, int] = (0, 1), digest: bool = False) -> Dataset:
        reading = side_tools(self._tools) if self._tools else None
        return Dataset(self.path, dialect=self._info.dialect, reading=reading, on_bad=_passed_over, part=part, digest=digest)

    def _talks(self, dataset: Dataset) -> Iterator[Talk]:
        limit = self._info.limit
        if self._info.cut:
            left = limit
            for row, name in named(dataset):
                cases = list(islice(decision_points(row, name=name), left))
                yield _of_conversation(row, cases)
                left = left and left - len(cases)
                if left == 0:
                    return
        else:
            cases = _cases(dataset)
            yield from _together(islice(_first_of_each(cases) if dataset.dialect.recorded else cases, limit))

    @staticmethod
    def _cut(rows: Iterator[Conversation], conversation: str | None) -> Iterator[Talk]:
        """Some of the rows, of which one should be that conversation: what one is called may depend on those before it."""
        for row in rows:
            if conversation is not None and (conversation == row.id or conversation.startswith(f"{row.id}~")):
                yield _of_conversation(row, list(decision_points(row, name=conversation)))


def _passed_over(row: BadRow) -> None:
    """Whoever graded the run was told of it."""


def _until(dataset: Dataset, row: int) -> Iterator[Conversation]:
    for one in dataset:
        yield one
        if dataset.ordinal + 1 >= row:
            return


def _cases(rows: Iterator[Conversation] | Dataset) -> Iterator[Case]:
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
        found = list(group)
        longest = max((case.messages for case in found), key=len)
        yield Talk(longest, [_told(case, longest) for case in found])


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


def _found(talks: Iterator[Talk], case: str) -> tuple[Talk, Told] | None:
    return next(((talk, told) for talk in talks for told in talk.cases if told.case.id == case), None)
