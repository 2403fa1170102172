"""The cases of a run with their conversations: each conversation once, with all the decision points that were cut from it.

If the dataset holds conversations, that is the whole conversation. If it holds decision points, it is the longest history among adjacent
ones of the same conversation. A dataset that is missing, unreadable or changed has no cases: `problem` says why.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import chain, groupby, islice, takewhile

from msgspec import Struct, structs

from callmark.calls.history import Histories
from callmark.data.expand import cut
from callmark.errors import BadInput
from callmark.formats import load_tools
from callmark.formats.dataset import file_digest
from callmark.formats.detect import find_format
from callmark.formats.file_sets import files_of, is_file_set
from callmark.formats.format import ReadContext
from callmark.runs.grade import stored_patch
from callmark.runs.manifest import Manifest
from callmark.runs.patch import Patch
from callmark.runs.source import CaseSource, PlacedCase
from callmark.runs.store import RunFolder
from callmark.types import Case, Conversation, Message, Place, SourceRow
from callmark.viewer.row_index import RowIndex, may_have_id

_ROWS_READ_ANYWAY = 16  # after the expected row of a case; beyond them, only rows that seem to have its id are read
_MAX_NEIGHBORS = 64  # rows read before and after a case to find others of its conversation
_VALUES_NOT_SHOWN = "Expected values are shown only where a fault names them"
_PROMPTS_NOT_SHOWN = f"Its conversations are not shown. {_VALUES_NOT_SHOWN}."
_SCENARIOS_NOT_SHOWN = f"The instructions of its scenarios are not shown. {_VALUES_NOT_SHOWN}; conversations are from the predictions."


class CaseInConversation(Struct, frozen=True):
    """A case and its prompt: the first `prompt_length` messages of the conversation, then `prompt_tail`.

    `prompt_length` is None if there is no prompt.
    """

    case: Case
    prompt_length: int | None
    prompt_tail: tuple[Message, ...] = ()


class CaseConversation(Struct, frozen=True):
    """The messages of a conversation and the cases that were cut from it."""

    messages: tuple[Message, ...]
    cases: list[CaseInConversation]


class RunCases:
    """The dataset of a run. Its path comes from `run.json`, so the file is shown only if its digest is that of the run's dataset."""

    def __init__(self, folder: RunFolder, info: Manifest) -> None:
        self._folder = folder
        self._manifest = info
        self._info = info.dataset
        self.path = folder.resolve_path(info.dataset.path)
        self._tools = folder.resolve_path(info.dataset.tools) if info.dataset.tools else None

    @property
    def stamp(self) -> tuple[str, int, int]:
        """The path, time and size of the file, which change when it is written."""
        try:
            found = [os.stat(file) for file in (files_of(self.path, self.path) if is_file_set(self.path) else [self.path])]
        except (OSError, ValueError, BadInput):
            return self.path, 0, 0
        return os.path.realpath(self.path), max(each.st_mtime_ns for each in found), sum(each.st_size for each in found)

    @property
    def identity(self) -> object:
        """A key that is equal for runs on the same cases."""
        info = self._info
        return self.stamp, info.digest, info.format, info.expanded, info.limit, self._tools, info.tools_digest, info.patch

    @cached_property
    def problem(self) -> str:
        """Why the cases cannot be shown; empty if they can."""
        name = self._info.name
        if not os.path.isfile(self.path) and not is_file_set(self.path):
            return f"The dataset {name} is missing. Check that it was not moved or deleted."
        if self._tools and not os.path.isfile(self._tools):
            return "The file with the tools of the dataset is missing."
        try:
            self._patch  # noqa: B018 - read once
        except (BadInput, OSError):
            return "The corrections of the run are missing or have changed."
        try:
            if self._tools and file_digest(self._tools, regular=True) != self._info.tools_digest:
                return "The tools of the dataset have changed since the run."
            with self._open() as source:
                if source.digest() != self._info.digest:
                    return f"The dataset {name} has changed since the run."
        except BadInput:  # its message may quote the file, which need not be the dataset of the run
            return f"The dataset {name} cannot be read. callmark stats says why."
        return ""

    @cached_property
    def _patch(self) -> Patch | None:
        return stored_patch(self._folder, self._manifest)

    @property
    def notice(self) -> str:
        """The problem of a graded run, and what is not shown because of it; empty if the cases can be shown."""
        return f"{self.problem} {_SCENARIOS_NOT_SHOWN if self._info.kind == 'scenarios' else _PROMPTS_NOT_SHOWN}" if self.problem else ""

    def cases(self, *, patched: bool = True) -> Iterator[PlacedCase]:
        """Yield all cases, in the order of their grades."""
        with self._open() as source:
            source.patch = self._patch if patched else None
            yield from source.read().first_cases()

    def conversations(self) -> Iterator[CaseConversation]:
        """Yield all cases by conversation, in the order of their grades. Cases of a known conversation are without their messages: each
        would hold a long history of its own.
        """
        for whole, group in self._groups():
            if whole is None:
                yield _share_longest_history([placed.case for placed in group])
            else:
                yield CaseConversation(whole.messages, [_without_history(_cut_from(placed.case)) for placed in group])

    def find(self, case: str, conversation: str | None, source_row: int) -> tuple[CaseConversation, CaseInConversation] | None:
        """Return a case and its conversation; None if it is not in the dataset. `source_row` is a lower bound of its row there."""
        found = self.find_original(case, conversation, source_row)
        if found is None or self._patch is None:
            return found
        whole, placed = found
        return whole, structs.replace(placed, case=self._patch.apply(placed.case))

    def find_original(self, case: str, conversation: str | None, source_row: int) -> tuple[CaseConversation, CaseInConversation] | None:
        """Return the same, as it is in the dataset: without the corrections of the run."""
        # the suffix `~2` of a repeated conversation id depends on the rows before it
        has_unique_name = not (self._info.expanded and "~" in (conversation or "~"))
        row_format = find_format(self._info.format)
        if has_unique_name and not row_format.recorded and row_format.is_row_wise:
            context = self._read_context()
            expanded = self._info.expanded
            for at, row in self._rows_with_id((conversation if expanded else case) or "", source_row, context):
                if expanded:
                    histories = Histories(row)
                    for point in cut(histories):
                        if point.id == case:
                            return _alone(row, histories.complete(point))
                elif found := _find_case(_share_longest_history(self._neighbors(at, row, context)), case):
                    return found
        for whole, group in self._groups(patched=False):
            if whole is None:
                if found := _find_case(_share_longest_history([placed.case for placed in group]), case):
                    return found
            else:
                for placed in group:
                    if placed.case.id == case:
                        return _alone(whole, placed.case)
        return None

    def _groups(self, *, patched: bool = True) -> Iterator[tuple[Conversation | None, Iterable[PlacedCase]]]:
        """Yield the cases by conversation, each group with the conversation that it was cut from; None if that is not known."""
        for _, cases in groupby(self.cases(patched=patched), key=_conversation_key):
            first = next(cases)
            yield first.conversation or first.case.original.conversation, chain((first,), cases)  # noqa: B031 - the rest of the group

    def build_index(self) -> None:
        """Find the offsets of the file's rows before the first request for a case."""
        if not self.problem:
            self._index  # noqa: B018 - cached

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self.path)

    def _open(self) -> CaseSource:
        info = self._info
        row_kind = "conversations" if info.expanded else info.kind
        return CaseSource(
            self.path, format_name=info.format, tools=self._tools, skip_bad=True, name=info.name, limit=info.limit, row_kind=row_kind,
            regular=True,
        )  # fmt: skip

    def _rows_with_id(self, name: str, source_row: int, context: ReadContext) -> Iterator[tuple[int, Conversation]]:
        """Yield the rows from `source_row` on that have this id, each with its index.

        The nearest rows are read whatever their id seems to be, because not every format has ids in the usual place.
        """
        for at, number, line in self._index.rows(source_row):
            if at - source_row < _ROWS_READ_ANYWAY or may_have_id(name, line, Place(self._info.name, number)):
                row = self._read_row(number, line, context)
                if row is not None and row.id == name:
                    yield at, row

    def _neighbors(self, at: int, row: Conversation, context: ReadContext) -> list[Case]:
        """Return a case and those around it that were cut from the same conversation; nothing for a row that is not a case."""
        if not isinstance(row, Case):
            return []
        first = max(0, at - _MAX_NEIGHBORS)
        earlier = reversed(list(islice(self._index.rows(first), at - first)))
        later = islice(self._index.rows(at + 1), _MAX_NEIGHBORS)
        before = _while_same_conversation(row, (self._read_row(number, line, context) for _, number, line in earlier))
        after = _while_same_conversation(row, (self._read_row(number, line, context) for _, number, line in later))
        return [*reversed(list(before)), row, *after]

    def _read_row(self, number: int, line: bytes, context: ReadContext) -> Conversation | None:
        """Return one row; None if it cannot be read without the context of the whole file."""
        with suppress(ValueError, RecursionError, BadInput):
            return find_format(self._info.format).reader(cases=True)(line, Place(self._info.name, number), context)
        return None

    def _read_context(self) -> ReadContext:
        return load_tools(self._tools, regular=True) if self._tools else ReadContext()


def _while_same_conversation(case: Case, rows: Iterable[Conversation | None]) -> Iterator[Case]:
    """Yield cases of the same conversation, up to the first of another. Unreadable rows are skipped."""
    if case.source is None:
        return iter(())
    conversation = case.source.conversation
    cases = (row for row in rows if isinstance(row, Case))
    return takewhile(lambda other: other.source is not None and other.source.conversation == conversation, cases)


def _conversation_key(placed: PlacedCase) -> object:
    return placed.case.source.conversation if placed.case.source else f"\0{placed.case.id}"


def _share_longest_history(cases: list[Case]) -> CaseConversation:
    longest = max((case.messages for case in cases), key=len, default=())
    return CaseConversation(longest, [_in_conversation(case, longest) for case in cases])


def _cut_from(case: Case) -> CaseInConversation:
    """Return a case of a known conversation: the messages before the one with the call are shared."""
    length = case.source.message if case.source else 0
    return CaseInConversation(case, length, case.messages[length:])


def _alone(conversation: Conversation, case: Case) -> tuple[CaseConversation, CaseInConversation]:
    placed = _cut_from(case)
    return CaseConversation(conversation.messages, [placed]), placed


def _without_history(placed: CaseInConversation) -> CaseInConversation:
    return structs.replace(placed, case=structs.replace(placed.case, messages=(), original=SourceRow()))


def _in_conversation(case: Case, messages: tuple[Message, ...]) -> CaseInConversation:
    if not case.messages:
        return CaseInConversation(case, None if case.is_scenario else 0)
    length = 0
    for own, shared in zip(case.messages, messages, strict=False):
        if own is not shared and own != shared:
            break
        length += 1
    return CaseInConversation(case, length, case.messages[length:])


def _find_case(conversation: CaseConversation, case: str) -> tuple[CaseConversation, CaseInConversation] | None:
    return next(((conversation, placed) for placed in conversation.cases if placed.case.id == case), None)
