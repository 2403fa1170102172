"""The cases of a file, which is opened once, and read as often as a command needs them.

Conversations are cut into decision points. In recordings, where each row is a trial, the first row with an id is the case; a later row with
the same id and another task raises `BadInput`. So does a file with both conversations and cases.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Literal, NamedTuple, Self

from msgspec import Struct, structs

from callmark.calls.strict import scrub
from callmark.data.expand import decision_points, with_unique_ids
from callmark.errors import BadInput
from callmark.formats import BadRow, Dataset, load_tools
from callmark.formats.dataset import BLOCK, no_calls_error
from callmark.formats.file_sets import is_file_set
from callmark.formats.format import Format, ReadContext
from callmark.formats.rows import Rows
from callmark.formats.shared_file import SharedFile
from callmark.runs.patch import Patch
from callmark.runs.sample import Sample
from callmark.types import Case, Conversation, Place

CaseKind = Literal["decision points", "scenarios"]
RowKind = Literal["conversations", "decision points", "scenarios"]

_NO_ROWS = (1 << 60, 1 << 61)  # a part of a file that contains no row

_MAX_CACHED = 8 << 20  # bytes of a file whose cases are kept in memory after the first pass
_MAX_CACHED_MESSAGES = 1 << 20  # of all these cases: each decision point of a long conversation has a history of its own


class Survey(NamedTuple):
    """The number of cases in a file, and the totals of the file."""

    cases: int
    totals: "ReadTotals"


class PlacedCase(Struct, frozen=True, gc=False):
    """A case, its index in the file, its block of rows, and the conversation it was cut from, if any."""

    block: int
    index: int
    case: Case
    conversation: Conversation | None = None


class CaseSource:
    """One file of cases. `tools` is a file of tools for rows that have none; `limit` is the number of cases, starting from the first;
    `sample` limits the cases to those of some conversations.

    `name` is the name of the file in messages; its path by default. With `skip_bad`, rows that cannot be read are skipped. `row_kind` is
    the kind of its rows; by default that of the first valid row. `skipped` are the ids of cases to leave out,
    `patch` corrects expected calls. A file without valid rows
    raises `BadInput`; with `regular`, so does anything but a regular file.
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
        regular: bool = False,
        sample: Sample | None = None,
        skipped: Sequence[str] = (),
        patch: Patch | None = None,
    ) -> None:
        self.path = path
        self.name = name or scrub(path)
        self.limit = limit
        self.sample = sample
        self.skipped = tuple(skipped)
        self.patch = patch
        self.skip_bad = skip_bad
        self._given_name = name
        self._tools = tools
        self._regular = regular
        self._default_tools = load_tools(tools, regular=regular).default_tools if tools else None
        self._cached: _CachedCases | None = None
        self._file = None if is_file_set(path) else SharedFile(path, self.name, regular=regular)
        try:
            with self._open(format_name) as dataset:
                self.format: Format = dataset.format
                self.row_kind: RowKind = row_kind or _kind_of(next(iter(dataset)))
                rows = dataset.rows
                self._is_small = isinstance(rows, Rows) and rows.compression is None and rows.size <= _MAX_CACHED
        except BaseException:
            self.close()
            raise

    @property
    def expanded(self) -> bool:
        """Whether the rows are conversations, which are cut into decision points."""
        return self.row_kind == "conversations"

    @property
    def case_kind(self) -> CaseKind:
        return "scenarios" if self.row_kind == "scenarios" else "decision points"

    def read(self, *, on_bad: Callable[[BadRow], None] | None = None, part: tuple[int, int] = (0, 1), digest: bool = False) -> "CaseReader":
        """Return one pass over the cases. Bad rows are passed to `on_bad`; without `skip_bad`, they raise `BrokenRow`."""
        return CaseReader(self, on_bad or _ignore, part, digest=digest)

    def survey(self, *, on_bad: Callable[[BadRow], None] | None = None, check: Callable[[Case], None] | None = None) -> "Survey":
        """Read all cases once, before any request is sent, and count them. Duplicate ids raise `BadInput`; `check` may raise for a case:
        with `skip_bad`, it is passed to `on_bad` and left out, in later passes too.

        The cases of a small file are kept in memory: later passes neither read the file nor report bad rows.
        """
        reader = self.read(on_bad=on_bad, digest=True)
        cases: list[PlacedCase] = []
        places: dict[str, Place | None] = {}
        messages = 0
        skipped: list[str] = []
        for placed in reader:
            case = placed.case
            refuse_repeated(case.id, case.place, places)
            places[case.id] = case.place
            if check is not None and not self._passes(case, check, on_bad):
                skipped.append(case.id)
                continue
            messages += len(case.messages)
            if self._is_small and messages > _MAX_CACHED_MESSAGES:
                self._is_small = False
                cases.clear()
            if self._is_small:
                cases.append(placed)
        totals = reader.totals
        self.skipped += tuple(skipped)
        if self._is_small:
            self._cached = _CachedCases(cases, totals)
        return Survey(len(places) - len(skipped), totals)

    def _passes(self, case: Case, check: Callable[[Case], None], on_bad: Callable[[BadRow], None] | None) -> bool:
        try:
            check(case)
        except BadInput as error:
            if not self.skip_bad:
                raise
            if on_bad is not None:
                place = case.place or Place(self.name, 1)
                on_bad(BadRow(place, str(error).removeprefix(f"{place}: "), case.original.row))
            return False
        return True

    def refuse_without_calls(self, totals: "ReadTotals") -> None:
        """Raise `BadInput` if no call was found in the file."""
        if not totals.has_calls:
            raise no_calls_error(self.name, totals.rows, self.row_kind, self.format.title)

    def digest(self) -> str:
        """Return the digest of the file, without decoding any row."""
        with self._open(self.format.name, part=_NO_ROWS, digest=True) as dataset:
            for _ in dataset:
                pass
            return dataset.digest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing it again does nothing."""
        if self._file is not None:
            self._file.close()

    def __reduce__(self) -> tuple[object, ...]:
        """Open the file again in a process that does not inherit it."""
        options = (self.path, self.format.name, self._tools, self.skip_bad, self._given_name, self.limit, self.row_kind, self._regular)
        return _reopen, (*options, self.sample, self.skipped, self.patch)

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
            cases=True,
            regular=self._regular,
        )


class CaseReader:
    """One pass over the cases of a source. `part` `(k, n)` yields only the k-th of every n blocks of rows, so that n readers can share a
    file. Rows beyond the limit are read as well, because they are part of the digest; `first_cases` stops at the limit.
    """

    def __init__(self, source: CaseSource, on_bad: Callable[[BadRow], None], part: tuple[int, int], *, digest: bool) -> None:
        self._source = source
        self._part = part
        # Read all rows if a case depends on earlier ones: for unique conversation ids, and for the first row of a recorded case.
        shared = (0, 1) if source.expanded or source.format.recorded else part
        self._dataset = source._open(source.format.name, on_bad, shared, digest=digest)

    def __iter__(self) -> Iterator[PlacedCase]:
        limit = self._source.limit
        return self._sampled(self._read() if limit is None else (placed for placed in self._read() if placed.index < limit))

    def first_cases(self) -> Iterator[PlacedCase]:
        """Yield the cases up to the limit, without reading further."""
        limit = self._source.limit
        return self._sampled(self._read() if limit is None else takewhile(lambda placed: placed.index < limit, self._read()))

    def _sampled(self, cases: Iterator[PlacedCase]) -> Iterator[PlacedCase]:
        sample, skipped = self._source.sample, frozenset(self._source.skipped)
        if skipped:
            cases = (placed for placed in cases if placed.case.id not in skipped)
        cases = cases if sample is None else (placed for placed in cases if sample.contains(placed.case))
        patch = self._source.patch
        return cases if patch is None else (structs.replace(placed, case=patch.apply(placed.case)) for placed in cases)

    @property
    def block(self) -> int:
        """The block of the last row read."""
        return self._dataset.row_index // BLOCK

    @property
    def totals(self) -> "ReadTotals":
        """The totals of the file, after a complete pass."""
        cached = self._source._cached
        if cached is not None:
            return cached.totals
        read = self._dataset
        return ReadTotals(read.digest(), read.repaired_rows, read.good_rows, dict(read.unknown_parts), read.has_calls)

    def close(self) -> None:
        """Close the file before the end of the pass."""
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
                raise BadInput(f"{row.place}: expected a case, as in the earlier rows, got a conversation without expected calls")
            yield PlacedCase(self.block, self._dataset.row_index, row)

    def _first_of_each(self) -> Iterator[PlacedCase]:
        """Yield the cases of a recording, in the order of their first rows."""
        own, parts = self._part
        seen: dict[str, Case] = {}
        for placed in self._cases():
            case = placed.case
            first = seen.setdefault(case.id, case)
            if first is case:
                if placed.block % parts == own:
                    yield PlacedCase(placed.block, len(seen) - 1, case)
            elif (case.instructions, case.messages, case.expected) != (first.instructions, first.messages, first.expected):
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
    """The totals of one pass: the digest of the file (empty if not requested), the numbers of repaired and of valid rows, the content parts
    of unknown types, and whether a row has calls or says that none is expected.
    """

    digest: str = ""
    repaired_rows: int = 0
    rows: int = 0
    unknown_parts: Mapping[str, int] = {}
    has_calls: bool = False


class _CachedCases(NamedTuple):
    cases: list[PlacedCase]
    totals: ReadTotals


def refuse_repeated(case: str, place: Place | None, seen: Mapping[str, Place | None]) -> None:
    """Raise `BadInput` for a duplicate case id."""
    if case in seen:
        raise BadInput(
            f"{place}: duplicate case ID {case[:80]!r}, first used in {seen[case]}",
            "Give each case a unique ID, so that predictions can be matched to cases.",
        )


def _kind_of(first: Conversation) -> RowKind:
    if not isinstance(first, Case):
        return "conversations"
    return "scenarios" if first.is_scenario else "decision points"


def _reopen(
    path: str,
    format_name: str,
    tools: str | None,
    skip_bad: bool,
    name: str | None,
    limit: int | None,
    row_kind: RowKind,
    regular: bool,
    sample: Sample | None,
    skipped: tuple[str, ...],
    patch: Patch | None,
) -> CaseSource:
    return CaseSource(
        path,
        format_name=format_name,
        tools=tools,
        skip_bad=skip_bad,
        name=name,
        limit=limit,
        row_kind=row_kind,
        regular=regular,
        sample=sample,
        skipped=skipped,
        patch=patch,
    )


def _ignore(row: BadRow) -> None:
    """Skip a row that is reported elsewhere."""
