"""The cases of a file: opened once, its format detected once, and read as often as a command needs them.

Rows that are conversations are cut into decision points. Where each row is a recorded trial, the first row of an id is the case; a later
row that asks for something else raises `BadInput`. So does a file with conversations and cases in it.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Literal, NamedTuple, Self

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.data.expand import decision_points, with_unique_ids
from callmark.errors import BadInput
from callmark.formats import BadRow, Dataset, load_tools
from callmark.formats.dataset import BLOCK
from callmark.formats.format import Format, ReadContext
from callmark.formats.rows import Rows
from callmark.formats.shared_file import SharedFile
from callmark.types import Case, Conversation, Place

CaseKind = Literal["decision points", "scenarios"]
RowKind = Literal["conversations", "decision points", "scenarios"]

_NO_ROWS = (1 << 60, 1 << 61)  # a part of a file that no row is in

_MAX_CACHED = 8 << 20  # bytes of a file whose cases are held in memory once they were read


class Survey(NamedTuple):
    """The number of cases of a file, its digest, and the number of rows that were repaired."""

    cases: int
    digest: str
    repaired_rows: int


class PlacedCase(Struct, frozen=True, gc=False):
    """A case, its index among the cases of its file, the block of rows that it belongs to, and the conversation it was cut from, if any."""

    block: int
    index: int
    case: Case
    conversation: Conversation | None = None


class CaseSource:
    """One file of cases. `tools` is a file of tools for rows that have none; `limit` is the number of cases to read, from the first on.

    `name` is the name of the file in messages, where that is not its path. With `skip_bad`, rows that cannot be read are passed over.
    `row_kind` says what its rows are; where it is not given, the first row that can be read decides, and a file without one raises
    `BadInput`.
    """

    def __init__(
        self,
        path: str,
        *,
        format_name: str | None = None,
        tools: str | None = None,
        skip_bad: bool = False,
        name: str | None = None,
        limit: int | None = None,
        row_kind: RowKind | None = None,
    ) -> None:
        self.path = path
        self.name = name or scrub(path)
        self.limit = limit
        self.skip_bad = skip_bad
        self._given_name = name
        self._tools = tools
        self._default_tools = load_tools(tools).default_tools if tools else None
        self._cached: _CachedCases | None = None
        self._file = SharedFile(path, self.name)
        try:
            with self._open(format_name) as dataset:
                self.format: Format = dataset.format
                self.row_kind: RowKind = row_kind or _kind_of(next(iter(dataset)))
                rows = dataset.rows
                self._is_small = isinstance(rows, Rows) and rows.compression is None and rows.size <= _MAX_CACHED
        except BaseException:
            self._file.close()
            raise

    @property
    def expanded(self) -> bool:
        """Whether its rows are conversations, which are cut into decision points."""
        return self.row_kind == "conversations"

    @property
    def case_kind(self) -> CaseKind:
        return "scenarios" if self.row_kind == "scenarios" else "decision points"

    def read(self, *, on_bad: Callable[[BadRow], None] | None = None, part: tuple[int, int] = (0, 1), digest: bool = False) -> "CaseReader":
        """Return one pass over the cases. Rows that cannot be read go to `on_bad`, without `skip_bad` they raise `BadInput`."""
        return CaseReader(self, on_bad or _ignore, part, digest=digest)

    def survey(self, *, on_bad: Callable[[BadRow], None] | None = None, check: Callable[[Case], None] | None = None) -> "Survey":
        """Read all cases once, before anything is sent: count them, and refuse two of one id, or one that `check` raises for.

        The cases of a small file are held in memory: later passes neither read the file nor report rows that cannot be read.
        """
        reader = self.read(on_bad=on_bad, digest=True)
        cases: list[PlacedCase] = []
        places: dict[str, Place | None] = {}
        for placed in reader:
            case = placed.case
            refuse_repeated(case.id, case.place, places)
            places[case.id] = case.place
            if check is not None:
                check(case)
            if self._is_small:
                cases.append(placed)
        totals = reader.totals
        if self._is_small:
            self._cached = _CachedCases(cases, totals)
        return Survey(len(places), totals.digest, totals.repaired_rows)

    def digest(self) -> str:
        """Return the digest of the file; no row is decoded."""
        with self._open(self.format.name, part=_NO_ROWS, digest=True) as dataset:
            for _ in dataset:
                pass
            return dataset.digest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second time changes nothing."""
        self._file.close()

    def __reduce__(self) -> tuple[object, ...]:
        """Open the file again in a process that does not inherit it."""
        options = (self.path, self.format.name, self._tools, self.skip_bad, self._given_name, self.limit, self.row_kind)
        return _reopen, options

    def _open(
        self,
        format_name: str | None,
        on_bad: Callable[[BadRow], None] | None = None,
        part: tuple[int, int] = (0, 1),
        *,
        digest: bool = False,
    ) -> Dataset:
        context = ReadContext(raw_tools=self._default_tools[0], tools=self._default_tools[1]) if self._default_tools else None
        handler = (on_bad or _ignore) if self.skip_bad else None
        return Dataset(
            self.path,
            format_name=format_name,
            context=context,
            on_bad=handler,
            part=part,
            digest=digest,
            name=self._given_name,
            file=self._file,
        )


class CaseReader:
    """One pass over the cases of a source. `part` `(k, n)` yields those of the k-th of every n blocks of rows, so that n readers share a
    file. Rows beyond the limit are read too, as they belong to the digest; `first_cases` leaves them unread.
    """

    def __init__(self, source: CaseSource, on_bad: Callable[[BadRow], None], part: tuple[int, int], *, digest: bool) -> None:
        self._source = source
        self._part = part
        # All rows are read where what a case is depends on those before it: the name of a conversation, the first row of a recorded case.
        shared = (0, 1) if source.expanded or source.format.recorded else part
        self._dataset = source._open(source.format.name, on_bad, shared, digest=digest)

    def __iter__(self) -> Iterator[PlacedCase]:
        limit = self._source.limit
        return self._read() if limit is None else (placed for placed in self._read() if placed.index < limit)

    def first_cases(self) -> Iterator[PlacedCase]:
        """Yield the cases up to the limit, and end there."""
        limit = self._source.limit
        return self._read() if limit is None else takewhile(lambda placed: placed.index < limit, self._read())

    @property
    def block(self) -> int:
        """The block of the row that was read last."""
        return self._dataset.row_index // BLOCK

    @property
    def totals(self) -> "ReadTotals":
        """What was learned of the file, once it was read to its end."""
        cached = self._source._cached
        return ReadTotals(self._dataset.digest(), self._dataset.repaired_rows) if cached is None else cached.totals

    def close(self) -> None:
        """End the pass early."""
        self._dataset.__exit__()

    def _read(self) -> Iterator[PlacedCase]:
        own, parts = self._part
        if self._source._cached is not None:
            return (placed for placed in self._source._cached.cases if placed.block % parts == own)
        if self._source.expanded:
            return self._cut()
        return self._first_of_each() if self._source.format.recorded else self._cases()

    def _cases(self) -> Iterator[PlacedCase]:
        for row in self._dataset:
            if not isinstance(row, Case):
                raise BadInput(f"{row.place}: the row is a conversation with nothing expected, among cases that have it")
            yield PlacedCase(self.block, self._dataset.row_index, row)

    def _first_of_each(self) -> Iterator[PlacedCase]:
        """Yield the cases of which each row is a trial, in the order of their first rows."""
        own, parts = self._part
        seen: dict[str, Case] = {}
        for placed in self._cases():
            case = placed.case
            first = seen.setdefault(case.id, case)
            if first is case:
                if placed.block % parts == own:
                    yield PlacedCase(placed.block, len(seen) - 1, case)
            elif (case.instructions, case.expected) != (first.instructions, first.expected):
                refuse_repeated(case.id, case.place, {first.id: first.place})

    def _cut(self) -> Iterator[PlacedCase]:
        """Yield the decision points of the conversations."""
        own, parts = self._part
        earlier = 0
        for row, name in with_unique_ids(self._dataset):
            block = self.block
            if block % parts == own:
                for index, case in enumerate(decision_points(row, name=name), earlier):
                    yield PlacedCase(block, index, case, row)
            earlier += len(row.calls)


class ReadTotals(NamedTuple):
    """What one pass learned of a file: its digest, empty where it was not asked for, and the number of rows that were repaired."""

    digest: str
    repaired_rows: int


class _CachedCases(NamedTuple):
    cases: list[PlacedCase]
    totals: ReadTotals


def refuse_repeated(case: str, place: Place | None, seen: Mapping[str, Place | None]) -> None:
    """Refuse a case whose id was there before."""
    if case in seen:
        raise BadInput(
            f"{place}: the id {case[:80]!r} stands for two cases, the first is in {seen[case]}",
            "Give each case an id of its own, so that a prediction is for one of them.",
        )


def _kind_of(first: Conversation) -> RowKind:
    if not isinstance(first, Case):
        return "conversations"
    return "scenarios" if first.is_scenario else "decision points"


def _reopen(
    path: str, format_name: str, tools: str | None, skip_bad: bool, name: str | None, limit: int | None, row_kind: RowKind
) -> CaseSource:
    return CaseSource(path, format_name=format_name, tools=tools, skip_bad=skip_bad, name=name, limit=limit, row_kind=row_kind)


def _ignore(row: BadRow) -> None:
    """Pass over a row that somebody else reports."""
