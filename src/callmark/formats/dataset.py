"""A dataset: the rows of a file or a list as conversations, read on demand.

A row that cannot be read raises `BadInput` with file, line and reason; with `on_bad` it is passed to that callback and reading continues.
A malformed call is not a bad row. Lone surrogates in a row are escaped (`\\ud800` as text), so that the row can be used.
"""

from collections.abc import Callable, Iterable, Iterator
from html import escape
from itertools import chain, islice
from typing import Any, Self

from msgspec import Struct, structs

from callmark.calls.strict import scrub
from callmark.errors import BadInput, BrokenRow
from callmark.formats import items
from callmark.formats.detect import detect_format, find_format, format_by_extension
from callmark.formats.format import Format, ReadContext
from callmark.formats.items import Items
from callmark.formats.problems import explain
from callmark.formats.rows import Rows
from callmark.formats.shared_file import SharedFile
from callmark.formats.surrogates import escape_surrogates, reject_surrogates
from callmark.types import Case, Conversation, Place
from callmark.wording import end_sentence

BLOCK = 64  # rows that one of several readers reads at a time
DEFAULT_FORMAT = "openai"
_SHOWN_ROWS = 5  # in a notebook
_SHOWN_CALLS = 300  # characters of the calls of such a row
_MAX_DETECTED = 1000  # rows that are looked at before a format is found

_Row = bytes | Conversation


class BadRow(Struct, frozen=True):
    """A row that cannot be read, and why."""

    place: Place
    reason: str
    row: bytes


class Dataset:
    """The conversations (or cases) of a file, or of a list of dicts, conversations or cases.

    Iterating reads the file again; a pipe can be read once. Dicts are detected and read like rows of a file, conversations are returned as
    they are. `part` `(k, n)` reads only the k-th of every n blocks of rows, so that n readers share a file. `row_index` is the index of the
    last row, bad ones counted, blank lines not. With `digest` every row goes into `digest()`, whatever the part. `name` is what the file is
    called in messages, where that is not its path. `file` is the file, where it is open already.
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
    ) -> None:
        self.path = source if isinstance(source, str) else ""
        self.part = part
        self.name = name or (scrub(source) if isinstance(source, str) else items.NAME)
        self.on_bad = on_bad
        self.bad_rows = 0  # of the last iteration, as are the next two
        self.good_rows = 0
        self.repaired_rows = 0
        self.row_index = -1
        self.row_kind = "conversations"
        self._items = None if isinstance(source, str) else Items(source)
        self._given_name = name
        self._file = file
        self._first_reason = ""
        self._context = context or ReadContext()
        self._rows: Rows | Items | None = None
        self._buffered: Iterator[tuple[int, _Row]] | None = None  # rows of a pipe that detection has read
        self._hash = _new_hash() if digest else None
        self.format: Format = find_format(format_name) if format_name else format_by_extension(self.path) or self._detect_format()

    def __iter__(self) -> Iterator[Conversation]:
        rows, numbered = self._open()
        self.bad_rows = self.good_rows = self.repaired_rows = 0
        own_part, parts = self.part
        try:
            for self.row_index, (number, row) in enumerate(numbered):
                if self._hash is not None:
                    self._hash.update(row if row.__class__ is bytes else _hashed_text(row))
                if parts > 1 and self.row_index // BLOCK % parts != own_part:
                    continue
                conversation = self._read(Place(rows.name if self._items is None else "", number, rows.unit), row)
                if conversation is not None:
                    self.good_rows += 1
                    yield conversation
        finally:
            rows.close()
        if not self.good_rows and parts == 1:
            raise self._no_rows(rows.name)

    def digest(self) -> str:
        """Return a digest of all rows, once they were read to the end; empty where none was asked for."""
        return f"xxh3:{self._hash.hexdigest()}" if self._hash is not None else ""

    def counts(self) -> dict[str, str | int]:
        """Return the format and the counts of the last iteration, for JSON output."""
        return {"format": self.format.name, "bad_rows": self.bad_rows, "repaired_rows": self.repaired_rows}

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

    @property
    def default_tools(self) -> bytes:
        """The JSON of the tools for rows that have none; empty where there are none."""
        raw_tools, tools = self._context.default_tools
        return raw_tools if tools else b""

    @property
    def rows(self) -> Rows | Items | None:
        """The rows being read, for a progress bar; None before reading begins."""
        return self._rows

    def _open(self) -> tuple[Rows | Items, Iterator[tuple[int, _Row]]]:
        if self._rows is not None and self._buffered is not None:
            numbered, self._buffered = self._buffered, None
            return self._rows, numbered
        if self._rows is not None and not self._rows.rereadable:
            raise BadInput(f"{self._rows.name} has been read already, it can be read once")
        self._rows = self._items or Rows(self.path, self._given_name, stream=self._file.stream() if self._file else None)
        return self._rows, iter(self._rows)

    def _detect_format(self) -> Format:
        """Return the format of the first row that has one. Rows of a pipe are buffered, so that none is lost.

        A list that holds conversations and nothing else is in the default format.
        """
        rows, numbered = self._open()
        seen: list[tuple[int, _Row]] = []
        bad: list[tuple[Place, bytes, Exception]] = []
        conversations = 0
        try:
            for number, row in numbered:
                if isinstance(row, Conversation):
                    conversations += 1
                    continue
                seen.append((number, row))
                place = Place(rows.name if self._items is None else "", number, rows.unit)
                try:
                    found = detect_format(escape_surrogates(row))
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
        for place, row, problem in bad:  # they are reported here, as nothing will be read
            self._report_bad(place, row, problem)
        raise self._no_rows(rows.name)

    def _no_rows(self, name: str) -> BadInput:
        if self._first_reason:
            return BadInput(f"{name}: none of its rows can be read; the first: {self._first_reason}")
        return BadInput(f"{name} is empty: there is no row in it")

    def _read(self, place: Place, row: _Row) -> Conversation | None:
        """Return the row's conversation, or None for a bad row that was reported."""
        if isinstance(row, bytes):
            conversation = self._read_text(place, row)
            if conversation is None:
                return None
        else:
            conversation = row
        if not self.good_rows and isinstance(conversation, Case):
            self.row_kind = "scenarios" if conversation.is_scenario else "decision points"
        return conversation

    def _read_text(self, place: Place, row: bytes) -> Conversation | None:
        try:
            return self.format.read(row, place, self._context)
        except (ValueError, RecursionError, BadInput) as error:
            repaired = escape_surrogates(row)
            if repaired == row:
                self._report_bad(place, row, error)
                return None
            try:
                conversation = _reject_surrogates(self.format.read(repaired, place, self._context))
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


def file_digest(path: str) -> str:
    """Return a digest of the whole content of a file."""
    digest = _new_hash()
    digest.update(Rows(path).read_all())
    return f"xxh3:{digest.hexdigest()}"


def _new_hash() -> Any:
    import xxhash

    return xxhash.xxh3_128()


def _hashed_text(row: Any) -> bytes:
    """Return what goes into the digest for a conversation that was made in memory."""
    return row.original.row or repr(row).encode("utf-8", "backslashreplace")


def _reject_surrogates(conversation: Conversation) -> Conversation:
    """Return the conversation of a repaired row, in which a call whose arguments had a lone surrogate is malformed, as it is everywhere."""
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
