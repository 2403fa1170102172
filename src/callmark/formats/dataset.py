"""A dataset: the rows of a file or a list as conversations, read on demand.

A row that cannot be read raises `BrokenRow` with the file, the line and the reason; with `on_bad`, it is passed to that callback and
reading continues. A malformed call does not make a row bad. Lone surrogates in a row are escaped (`\\ud800` as text), so that the row can
be used.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from html import escape
from itertools import chain, islice
from typing import Any, Self

from msgspec import Struct, structs

from callmark.calls.content_parts import counting
from callmark.calls.strict import scrub
from callmark.errors import BadInput, BrokenRow
from callmark.formats import items
from callmark.formats.bare_lists import wrap_list
from callmark.formats.detect import detect_format, find_format, format_by_extension, split_container
from callmark.formats.format import Format, ReadContext
from callmark.formats.items import Items
from callmark.formats.joining import Join, PieceStore, Refused, refused_row
from callmark.formats.problems import explain, refuse_unreadable
from callmark.formats.row_source import RowSource, open_rows
from callmark.formats.rows import Rows, Split
from callmark.formats.shared_file import SharedFile
from callmark.formats.surrogates import escape_surrogates, reject_surrogates
from callmark.types import Case, Conversation, Place
from callmark.wording import end_sentence, pluralize

BLOCK = 64  # rows per block, when several readers share a file
DEFAULT_FORMAT = "openai"
_SHOWN_ROWS = 5  # in a notebook
_SHOWN_CALLS = 300  # characters of the calls in each of these rows
_MAX_DETECTED = 1000  # rows tried before format detection gives up

_Row = bytes | Conversation | Refused


class BadRow(Struct, frozen=True):
    """A row that cannot be read: its location, the reason and its bytes."""

    place: Place
    reason: str
    row: bytes


class Dataset:
    """The conversations or cases in a file or a list. `callmark.load` opens one.

    Iterating yields `Conversation` or `Case` objects; each iteration reads the file again. A pipe can only be read once. Dicts are read
    like the rows of a file; conversations and cases are yielded unchanged. A dataset is also a context manager that closes its file.

    Args:
        source: Path of a file (`-` is standard input), a folder, a glob or `hf:FOLDER`, or a list of dicts, conversations or cases.
        format_name: Format of the rows; detected by default.
        context: The tools for rows that have none.
        on_bad: Called with each row that cannot be read, which is then skipped. Without it, such a row raises `BrokenRow`.
        part: `(k, n)` reads only the k-th of every n blocks of rows, so that n readers can share a file.
        digest: Compute `digest()` over all rows, whatever the part.
        name: Name of the file in messages; its path by default.
        file: The file, if it is already open.
        cases: Read the case of rows that are both a conversation and a case, such as recorded simulations.
        regular: Refuse anything but regular files, because the path comes from data.
        rows: A part of the rows of `source`, which may have no valid row.

    Attributes:
        path: Path of the file; empty for a list.
        format: The `Format` of the rows.
        good_rows: Number of valid rows in the last iteration.
        bad_rows: Number of skipped rows in the last iteration.
        repaired_rows: Number of rows with escaped surrogates in the last iteration.
        row_index: Index of the last row read, counting bad rows, but not blank lines and rows that only define what others use.
        row_bytes: Number of bytes of all rows in the last iteration, without compression.
        row_kind: `conversations`, `decision points` or `scenarios`, by the first valid row.
        unknown_parts: Number of content parts of unknown types in the last iteration, by type. They are kept, but not understood.
        has_calls: Whether a row so far in the last iteration has a call, or says that no call is expected. If none does, the file was
            probably not understood. For cases, only expected calls count.
        is_read: Whether the last iteration read all rows.

    Raises:
        BadInput: The file is missing or empty, its format is not recognized, or no row in it can be read.
    """

    def __init__(
        self,
        source: str | Iterable[Any],
        *,
        format_name: str | None = None,
        context: ReadContext | None = None,
        on_bad: Callable[[BadRow], None] | None = None,
        part: tuple[int, int] = (0, 1),
        digest: bool = False,
        name: str | None = None,
        file: SharedFile | None = None,
        cases: bool = False,
        regular: bool = False,
        rows: RowSource | None = None,
    ) -> None:
        self.path = source if isinstance(source, str) else ""
        self.part = part
        self.name = name or (scrub(source) if isinstance(source, str) else items.NAME)
        self.on_bad = on_bad
        self.cases = cases
        self.bad_rows = 0
        self.good_rows = 0
        self.repaired_rows = 0
        self.row_index = -1
        self.row_bytes = 0
        self.row_kind = "conversations"
        self.unknown_parts: Counter[str] = Counter()
        self.has_calls = False
        self.is_read = False
        self._items: RowSource | Items | None = rows if isinstance(source, str) else Items(source, split_container)
        self._is_part = part[1] > 1 or rows is not None
        self._given_name = name
        self._file = file
        self._regular = regular
        self._first_reason = ""
        self._context = context or ReadContext()
        self._rows: RowSource | Items | None = None
        self._buffered: Iterator[tuple[int, _Row]] | None = None  # rows of a pipe that format detection has consumed
        self._hash = _new_hash() if digest else None
        self.split: Split = split_container
        self.format: Format = find_format(format_name) if format_name else format_by_extension(self.path) or self._detect_format()

    def __iter__(self) -> Iterator[Conversation]:
        rows, numbered = self._open()
        self._reader = self.format.reader(cases=self.cases)
        self.bad_rows = self.good_rows = self.repaired_rows = self.row_bytes = 0
        self.has_calls = self.is_read = False
        self.unknown_parts.clear()
        self._context.references.clear()
        self._context.left_out.clear()
        self._context.not_captured.clear()
        definitions = 0
        own_part, parts = self.part
        place, define, digest = rows.place, self.format.define, self._hash
        if self.format.join is not None:
            file_name = rows.name if self._items is None else ""
            numbered = self._joined(numbered, self.format.join)

            def place(number: int) -> Place:
                return Place(file_name, number, "conversation")

        try:
            for index, (number, row) in enumerate(numbered):
                if digest is not None:
                    digest.update(row if row.__class__ is bytes else _hashed_text(row))
                self.row_index = index - definitions
                self.row_bytes += len(row) if row.__class__ is bytes else 0
                is_own = parts == 1 or self.row_index // BLOCK % parts == own_part
                if define is not None:
                    found = self._define(place(number), row, is_own=is_own)
                    definitions += found is True
                    if found is not False:
                        continue
                if not is_own:
                    continue
                conversation = self._read(place(number), row)
                if conversation is not None:
                    self.good_rows += 1
                    if not self.has_calls:
                        self.has_calls = _has_calls(conversation)
                    yield conversation
        finally:
            rows.close()
        if not self.good_rows and not self._is_part:
            raise self._no_rows(rows.name, definitions)
        self.is_read = True

    def _joined(self, numbered: Iterator[tuple[int, _Row]], join: Join) -> Iterator[tuple[int, _Row]]:
        """Yield the conversations that the parts in all rows make, numbered from 1. A row that cannot be read is reported."""
        first: list[_Row] = []
        with PieceStore() as store:
            for number, row in numbered:
                if not isinstance(row, bytes):
                    first.append(row)
                    continue
                try:
                    for piece in join.pieces(row):
                        store.add(piece)
                except (ValueError, RecursionError, BadInput) as error:
                    assert self._rows is not None
                    if self.on_bad is None or self.part[0] == 0:  # of several readers of a file, the first one reports it
                        self._report_bad(self._rows.place(number), row, error)
            yield from enumerate(chain(first, self._conversations(store, join)), 1)

    def _conversations(self, store: PieceStore, join: Join) -> Iterator[_Row]:
        """Yield the conversations in each group; if a group cannot be read, it is refused."""

        def count(what: str) -> None:
            self._context.not_captured[what] += 1

        for pieces in store.groups():
            if isinstance(pieces, Refused):
                yield pieces
                continue
            try:
                found = list(join.conversations(pieces, count))
            except (ValueError, RecursionError, BadInput) as error:
                hint = error.hint if isinstance(error, BadInput) else ""
                found = [Refused(BadInput(explain(b"{}", error), hint), refused_row(pieces))]
            yield from found

    def digest(self) -> str:
        """Return the digest of all rows, after a complete iteration; empty if the dataset was opened without `digest`."""
        return f"xxh3:{self._hash.hexdigest()}" if self._hash is not None else ""

    def counts(self) -> dict[str, Any]:
        """Return the format and the counts of the last iteration, for JSON output. `unknown_parts`, `not_captured` and `no_calls` only if
        there are any."""
        counts: dict[str, Any] = {"format": self.format.name, "bad_rows": self.bad_rows, "repaired_rows": self.repaired_rows}
        if self.unknown_parts:
            counts["unknown_parts"] = dict(self.unknown_parts)
        if self.not_captured:
            counts["not_captured"] = self.not_captured
        return counts if self.has_calls or not self.is_read else {**counts, "no_calls": True}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rows is not None:
            self._rows.close()

    def __repr__(self) -> str:
        return f"Dataset({self.path or self.name!r}, {self.format.title})"

    def _repr_html_(self) -> str:
        try:
            first = list(islice(self, _SHOWN_ROWS)) if self._rows is None or self._rows.rereadable else []
        except BadInput as error:
            return f"<b>{escape(self.name)}</b> · {escape(str(error))}"
        rows = "".join(
            f"<tr><td>{escape(row.id)}</td><td>{len(row.messages)}</td><td><code>{escape(_shown_calls(row))}</code></td></tr>"
            for row in first
        )
        head = "<tr><th>id</th><th>messages</th><th>calls</th></tr>"
        return f"<b>{escape(self.name)}</b> · {escape(self.format.title)}<table>{head}{rows}</table>"

    def case_of(self, row: Conversation) -> Case | None:
        """Return the case in a row that is both a conversation and a case; None for any other row, and for a case that cannot be read."""
        if self.format.read_case is None or isinstance(row, Case) or not row.original.row or row.place is None:
            return None
        try:
            return self.format.read_case(row.original.row, row.place, self._context)
        except (ValueError, RecursionError, BadInput):
            return None

    @property
    def left_out(self) -> dict[str, int]:
        """What was left out of the rows of the last iteration because it is not part of the data, with its number."""
        return dict(self._context.left_out)

    @property
    def not_captured(self) -> dict[str, int]:
        """What the recording of the last iteration lacks, with its number."""
        return dict(self._context.not_captured)

    @property
    def default_tools(self) -> bytes:
        """The JSON of the tools for rows that have none; empty if no such tools were given."""
        raw_tools, tools = self._context.default_tools
        return raw_tools if tools else b""

    @property
    def rows(self) -> RowSource | Items | None:
        """The rows being read, for a progress bar; None before reading begins."""
        return self._rows

    def _open(self) -> tuple[RowSource | Items, Iterator[tuple[int, _Row]]]:
        if self._rows is not None and self._buffered is not None:
            numbered, self._buffered = self._buffered, None
            return self._rows, numbered
        if self._rows is not None and not self._rows.rereadable:
            raise BadInput(f"{self._rows.name}: already read; a pipe can only be read once")
        self._rows = self._items or open_rows(self.path, self._given_name, file=self._file, regular=self._regular, split=self.split)
        return self._rows, iter(self._rows)

    def _detect_format(self) -> Format:
        """Return the format of the first row that has one. Rows of a pipe are buffered, so that none is lost.

        A list of `Conversation` objects only is in the default format.
        """
        rows, numbered = self._open()
        seen: list[tuple[int, _Row]] = []
        bad: list[tuple[Place, bytes, Exception]] = []
        conversations = 0
        try:
            for number, row in numbered:
                if not isinstance(row, bytes):
                    conversations += 1
                    continue
                seen.append((number, row))
                place = rows.place(number)
                try:
                    refuse_unreadable(row)
                    found = detect_format(wrap_list(escape_surrogates(row)))
                except (ValueError, RecursionError, BadInput) as error:
                    if self.on_bad is None:
                        raise _broken_row(place, row, error) from None
                    bad.append((place, row, error))
                    if len(bad) < _MAX_DETECTED:
                        continue
                    break
                if not rows.rereadable:
                    self._buffered = chain(seen, numbered)
                return found
        finally:
            if self._buffered is None:
                rows.close()
        if conversations:
            return find_format(DEFAULT_FORMAT)
        for place, row, problem in bad:  # reported here, because no iteration will follow
            self._report_bad(place, row, problem)
        raise self._no_rows(rows.name)

    def _no_rows(self, name: str, definitions: int = 0) -> BadInput:
        if self._first_reason:
            return BadInput(f"{name}: no valid rows. The first problem: {self._first_reason}")
        if definitions:
            return BadInput(f"{name}: no rows: only tools and conversations that no row uses")
        return BadInput(f"{name} is empty")

    def _read(self, place: Place, row: _Row) -> Conversation | None:
        """Return the conversation in a row; None for a bad row, which is reported."""
        if isinstance(row, Refused):
            self._report_bad(place, row.row, row.reason)
            return None
        if isinstance(row, bytes):
            conversation = self._read_text(place, row)
            if conversation is None:
                return None
        else:
            conversation = row
        if not self.good_rows and isinstance(conversation, Case):
            self.row_kind = "scenarios" if conversation.is_scenario else "decision points"
        return conversation

    def _define(self, place: Place, row: _Row, *, is_own: bool) -> bool | None:
        """Read a row that only later rows use, and return whether it is one; None for a bad one, which is reported by its own part."""
        if self.format.define is None or not isinstance(row, bytes):
            return False
        try:
            return self.format.define(row, place, self._context)
        except (ValueError, RecursionError, BadInput) as first:
            error: Exception = first
        repaired = escape_surrogates(row)
        if repaired != row:
            try:
                is_definition = self.format.define(repaired, place, self._context)
            except (ValueError, RecursionError, BadInput) as second:
                error = second
            else:
                self.repaired_rows += is_own and is_definition
                return is_definition
        if is_own:
            self._report_bad(place, row, error)
        return None

    def reread(self, row: bytes, place: Place) -> Conversation:
        """Return the conversation in a row that replaces one of this dataset. A row that cannot be read raises what the format raises."""
        return self.format.reader(cases=self.cases)(row, place, self._context)

    def _read_text(self, place: Place, row: bytes) -> Conversation | None:
        if row.__class__ is not bytes:
            try:
                refuse_unreadable(row)
            except BadInput as error:
                self._report_bad(place, row, error)
                return None
        if row.startswith(b"["):
            row = wrap_list(row)
        outer, counting.counter = counting.counter, self.unknown_parts
        try:
            return self._reader(row, place, self._context)
        except (ValueError, RecursionError, BadInput) as error:
            return self._read_repaired(place, row, error)
        finally:
            counting.counter = outer

    def _read_repaired(self, place: Place, row: bytes, error: Exception) -> Conversation | None:
        """Read a bad row again with its lone surrogates escaped. Without any, or if that does not help, it is reported."""
        repaired = escape_surrogates(row)
        if repaired == row:
            self._report_bad(place, row, error)
            return None
        try:
            conversation = _reject_surrogates(self._reader(repaired, place, self._context))
        except (ValueError, RecursionError, BadInput) as second:
            self._report_bad(place, row, second)
            return None
        self.repaired_rows += 1
        return conversation

    def _report_bad(self, place: Place, row: bytes, error: Exception) -> None:
        if self.on_bad is None:
            raise _broken_row(place, row, error) from None
        self.bad_rows += 1
        reason = explain(row, error)
        self._first_reason = self._first_reason or reason
        self.on_bad(BadRow(place, reason, row))


def no_calls_error(name: str, rows: int, row_kind: str, title: str) -> BadInput:
    """Return the error for a file in which no call was found: it was probably not understood."""
    found = pluralize(rows, row_kind.removesuffix("s"))
    return BadInput(
        f"{name}: no tool calls found in {found} ({title}), so there is no call to test",
        f"callmark show {name} shows how a row is read; --from FORMAT reads it in another format. "
        "If the file is not supposed to contain any calls, pass --allow-no-calls.",
    )


def _has_calls(row: Conversation) -> bool:
    """Return whether a row has calls, or says that none is expected."""
    if not isinstance(row, Case):
        return any(message.calls for message in row.messages)
    return bool(row.expected or row.alternatives or row.states_expectation)


def file_digest(path: str, *, regular: bool = False) -> str:
    """Return the digest of a file's content, decompressed. With `regular`, anything but a regular file raises `BadInput`."""
    digest = _new_hash()
    digest.update(Rows(path, regular=regular).read_all())
    return f"xxh3:{digest.hexdigest()}"


def _new_hash() -> Any:
    import xxhash

    return xxhash.xxh3_128()


def _hashed_text(row: Any) -> bytes:
    """Return the bytes that a conversation built in Python, or one that is refused, contributes to the digest."""
    return row.row if isinstance(row, Refused) else row.original.row or repr(row).encode("utf-8", "backslashreplace")


def _reject_surrogates(conversation: Conversation) -> Conversation:
    """Return the conversation of a repaired row, with each call whose arguments had a lone surrogate marked as malformed."""
    messages = tuple(
        structs.replace(message, calls=tuple(map(reject_surrogates, message.calls))) if message.calls else message
        for message in conversation.messages
    )
    repaired = structs.replace(conversation, messages=messages, original=structs.replace(conversation.original, messages=messages))
    if not isinstance(repaired, Case):
        return repaired
    alternatives = tuple(tuple(map(reject_surrogates, calls)) for calls in repaired.alternatives)
    return structs.replace(repaired, expected=tuple(map(reject_surrogates, repaired.expected)), alternatives=alternatives)


def _shown_calls(row: Conversation) -> str:
    return "; ".join(map(str, row.expected if isinstance(row, Case) else row.calls))[:_SHOWN_CALLS]


def _broken_row(place: Place, row: bytes, error: Exception) -> BadInput:
    return BrokenRow(end_sentence(f"{place}: {explain(row, error)}"), error.hint if isinstance(error, BadInput) else "")
