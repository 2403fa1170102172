"""A dataset: the rows of one file as conversations, read as they are asked for.

A row that cannot be read raises `BadInput` with file, line and reason; with `on_bad` it is handed over instead and reading goes on.
A malformed call is not a bad row. Lone surrogates in a row are written out (`\\ud800` as text), so that the row can be used.
"""

from collections.abc import Callable, Iterator
from html import escape
from itertools import chain, islice
from typing import Any, Self

from msgspec import Struct, structs

from callmark.calls.strict import scrub
from callmark.errors import BadInput, BrokenRow
from callmark.formats.detect import dialect_called, sniff
from callmark.formats.format import Dialect, Reading
from callmark.formats.problems import explain
from callmark.formats.rows import Rows
from callmark.formats.surrogates import with_surrogate, written_out
from callmark.types import Case, Conversation, Place
from callmark.wording import ended

BLOCK = 64  # rows that are read by one of several readers at a time
_SHOWN = 5  # rows in a notebook
_MOST_SNIFFED = 1000  # rows that may be looked at before a dialect is found


class BadRow(Struct, frozen=True):
    """A row that could not be read, and why."""

    place: Place
    reason: str
    row: bytes


class Dataset:
    """The conversations (or cases) of a file. Iterating reads the file anew; a pipe can be read once.

    `part` `(k, n)` reads the k-th of every n blocks of rows only, so that n readers share a file. `ordinal` is the place of the row that
    was read last, bad ones counted, blank lines not. With `digest` every row goes into `digest()`, whatever the part. `name` is what the
    file is called in messages, where that is not its path.
    """

    def __init__(
        self,
        path: str,
        *,
        dialect: str | None = None,
        reading: Reading | None = None,
        on_bad: Callable[[BadRow], None] | None = None,
        part: tuple[int, int] = (0, 1),
        digest: bool = False,
        name: str | None = None,
    ) -> None:
        self.path = path
        self.part = part
        self.name = name or scrub(path)
        self._called = name
        self.bad_rows = 0  # of the last reading, as are the next two
        self.good_rows = 0
        self.mended = 0
        self.ordinal = -1
        self.what = "conversations"
        self._first_reason = ""
        self._on_bad = on_bad
        self._reading = reading or Reading()
        self._rows: Rows | None = None
        self._ahead: Iterator[tuple[int, bytes]] | None = None
        self._hash = _hash() if digest else None
        self.dialect: Dialect = dialect_called(dialect) if dialect else self._sniff()

    def __iter__(self) -> Iterator[Conversation]:
        rows, numbered = self._open()
        self.bad_rows = self.good_rows = self.mended = 0
        own, parts = self.part
        try:
            for self.ordinal, (number, row) in enumerate(numbered):
                if self._hash is not None:
                    self._hash.update(row)
                if parts > 1 and self.ordinal // BLOCK % parts != own:
                    continue
                conversation = self._read(Place(rows.name, number, rows.unit), row)
                if conversation is not None:
                    self.good_rows += 1
                    yield conversation
        finally:
            rows.close()
        if not self.good_rows and parts == 1:
            raise self._nothing(rows.name)

    def digest(self) -> str:
        """What tells this file from another, once it was read to its end."""
        return f"xxh3:{self._hash.hexdigest()}" if self._hash is not None else ""

    def counts(self) -> dict[str, str | int]:
        """What the last reading came to, for machines."""
        return {"dialect": self.dialect.name, "bad_rows": self.bad_rows, "mended_rows": self.mended}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rows is not None:
            self._rows.close()

    def __repr__(self) -> str:
        return f"Dataset({self.path!r}, {self.dialect.title})"

    def _repr_html_(self) -> str:
        try:
            first = list(islice(self, _SHOWN)) if self._rows is None or self._rows.again else []
        except BadInput as error:
            return f"<b>{escape(self.name)}</b> · {escape(str(error))}"
        rows = "".join(
            f"<tr><td>{escape(row.id)}</td><td>{len(row.messages)}</td><td><code>{escape(_calls(row))}</code></td></tr>" for row in first
        )
        head = "<tr><th>id</th><th>messages</th><th>calls</th></tr>"
        return f"<b>{escape(self.name)}</b> · {escape(self.dialect.title)}<table>{head}{rows}</table>"

    @property
    def rows(self) -> Rows | None:
        """The rows being read, for a progress bar; None before reading begins."""
        return self._rows

    def _open(self) -> tuple[Rows, Iterator[tuple[int, bytes]]]:
        if self._rows is not None and self._ahead is not None:
            numbered, self._ahead = self._ahead, None
            return self._rows, numbered
        if self._rows is not None and not self._rows.again:
            raise BadInput(f"{self._rows.name} has been read already, it can be read once")
        self._rows = Rows(self.path, self._called)
        return self._rows, iter(self._rows)

    def _sniff(self) -> Dialect:
        """The dialect of the first row that has one. The rows of a pipe are kept, so that none is lost."""
        rows, numbered = self._open()
        seen: list[tuple[int, bytes]] = []
        bad: list[tuple[Place, bytes, Exception]] = []
        try:
            for number, row in numbered:
                seen.append((number, row))
                place = Place(rows.name, number, rows.unit)
                try:
                    dialect = sniff(written_out(row))
                except (ValueError, RecursionError, BadInput) as error:
                    if self._on_bad is None:
                        raise _told(place, row, error) from None
                    bad.append((place, row, error))
                    if len(bad) < _MOST_SNIFFED:
                        continue
                    break
                if not rows.again:
                    self._ahead = chain(seen, numbered)
                return dialect
        finally:
            if self._ahead is None:
                rows.close()
        for place, row, problem in bad:  # no reading will come to hand them over
            self._bad(place, row, problem)
        raise self._nothing(rows.name)

    def _nothing(self, name: str) -> BadInput:
        if self._first_reason:
            return BadInput(f"{name}: none of its rows can be read; the first: {self._first_reason}")
        return BadInput(f"{name} is empty: there is no row in it")

    def _read(self, place: Place, row: bytes) -> Conversation | None:
        """The row's conversation, or None for a bad row that was handed over."""
        try:
            conversation = self.dialect.read(row, place, self._reading)
        except (ValueError, RecursionError, BadInput) as error:
            mended = written_out(row)
            if mended == row:
                self._bad(place, row, error)
                return None
            try:
                conversation = _with_surrogates(self.dialect.read(mended, place, self._reading))
            except (ValueError, RecursionError, BadInput) as second:
                self._bad(place, row, second)
                return None
            self.mended += 1
        if not self.good_rows and isinstance(conversation, Case):
            self.what = "scenarios" if conversation.is_scenario else "decision points"
        return conversation

    def _bad(self, place: Place, row: bytes, error: Exception) -> None:
        if self._on_bad is None:
            raise _told(place, row, error) from None
        self.bad_rows += 1
        reason = explain(row, error)
        self._first_reason = self._first_reason or reason
        self._on_bad(BadRow(place, reason, row))


def digest_of(path: str) -> str:
    """What tells a whole file from another."""
    found = _hash()
    found.update(Rows(path).whole())
    return f"xxh3:{found.hexdigest()}"


def _hash() -> Any:
    import xxhash

    return xxhash.xxh3_128()


def _with_surrogates(conversation: Conversation) -> Conversation:
    """The conversation of a mended row, in which a call whose arguments had a lone surrogate is malformed, as it is everywhere else."""
    messages = tuple(
        structs.replace(message, calls=tuple(map(with_surrogate, message.calls))) if message.calls else message
        for message in conversation.messages
    )
    kept = structs.replace(conversation, messages=messages, original=structs.replace(conversation.original, messages=messages))
    if not isinstance(kept, Case):
        return kept
    others = tuple(tuple(map(with_surrogate, calls)) for calls in kept.alternatives)
    return structs.replace(kept, expected=tuple(map(with_surrogate, kept.expected)), alternatives=others)


def _calls(row: Conversation) -> str:
    return "; ".join(map(str, row.expected if isinstance(row, Case) else row.calls))[:300]


def _told(place: Place, row: bytes, error: Exception) -> BadInput:
    return BrokenRow(ended(f"{place}: {explain(row, error)}"), error.hint if isinstance(error, BadInput) else "")
