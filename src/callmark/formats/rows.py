"""Split a file into rows, as bytes, before any format parses them.

Accepts JSONL (blank lines are skipped), a JSON array, or one JSON object over several lines; plain, gzip or zstd; `-` is standard input.
Also archives of rows (`archives.py`) and, for datasets, objects that hold rows and arrays of messages.
Lines and the items of an array are streamed: memory is bounded by the largest row. A missing file, a directory, a binary file, and a
compressed file with a row that expands beyond `MAX_ROW` raise `BadInput`.
"""

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Literal, cast

import msgspec
from msgspec import Raw

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.archives import ZIP, archive_rows
from callmark.formats.bare_lists import is_message
from callmark.formats.compression import BUFFER, Compression, decompress, decompression_errors, detect_compression
from callmark.formats.json_array import BrokenArray, TooLong, ValueReader
from callmark.formats.regular_files import open_regular
from callmark.types import Place, PlaceUnit

MAX_ROW = 1 << 25  # bytes of a decompressed row, or file read as a whole: a few compressed bytes can expand to any number
MAX_BLANK_LINES = 1 << 20  # consecutive decompressed blank lines, for the same reason
Split = Callable[[bytes], Sequence[bytes | Raw] | None]
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
BOM = b"\xef\xbb\xbf"


class Rows:
    """The rows of one file, as `(number, bytes)`. Numbers start at 1 and count lines in JSONL, items in an array.

    A line keeps its line break, because removing it would copy every row.
    """

    def __init__(
        self,
        path: str,
        name: str | None = None,
        *,
        stream: IO[bytes] | None = None,
        regular: bool = False,
        split: Split | None = None,
    ) -> None:
        """Open the file, or read from the `stream` of a file that is already open. `regular` refuses anything but a regular file.

        `split` returns the rows in an object that holds rows, None for a row; with it, a file that is one array of messages is one row.
        """
        self.name = name or ("standard input" if path == "-" else scrub(path))
        self._file = open_file(path, self.name, regular=regular) if stream is None else stream
        self._stream = self._file
        self.compression: Compression | None = None
        self._split = split
        self._is_archive = False
        self.unit: PlaceUnit = "line"
        self._first_lines: list[bytes] = []  # lines that were read to recognize the layout; the last may be incomplete if it is an array
        self._leading_blanks = 0  # blank lines before them
        self._lines_read = 0  # decompressed lines so far
        self._items_read = 0
        self._blank_in_a_row = 0  # consecutive blank lines among the last of these
        self.rereadable = path != "-" and os.path.isfile(path)  # a pipe can only be read once
        self.size = os.path.getsize(path) if self.rereadable else 0
        try:
            with self._explain_errors():
                self.unit = self._read_head()
        except BadInput:
            self.close()
            raise

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        try:
            with self._explain_errors():
                rows = self._items() if self.unit == "item" else self._numbered(chain(self._first_lines, self._lines()))
                if self._split is not None:
                    yield from self._first_rows(rows, self._split)
                yield from rows
        finally:
            self.close()

    def _first_rows(self, rows: Iterator[tuple[int, bytes]], split: Split) -> Iterator[tuple[int, bytes]]:
        """Yield the first row, or the rows in it if it is an object that holds rows: such an object is a file of its own."""
        for number, row in rows:
            inner = split(row)
            if inner is None:
                yield number, row
                return
            self.unit = "item"
            yield from ((place, bytes(one)) for place, one in enumerate(inner, 1))
            return

    def place(self, number: int) -> Place:
        """Return the place of the row with this number."""
        return Place(self.name, number, self.unit)

    def pieces(self) -> Iterator[bytes]:
        """Yield the decompressed content of the file piece by piece, from its first character that is not white space."""
        try:
            with self._explain_errors():
                yield b"".join(self._first_lines).lstrip()
                while piece := self._stream.read(BUFFER):
                    yield piece
        finally:
            self.close()

    def read_all(self) -> bytes:
        """Return the decompressed content of the file, without surrounding whitespace."""
        pieces: list[bytes] = []
        size = 0
        for piece in self.pieces():
            pieces.append(piece)
            size += len(piece)
            if self.compression is not None and size > MAX_ROW:
                raise self._too_large("")
        return b"".join(pieces).strip()

    @property
    def position(self) -> int:
        """Number of bytes read so far, for a progress bar."""
        return 0 if self._file.closed or not self._file.seekable() else self._file.tell()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if sys.stdin is None or self._file is not sys.stdin.buffer:
            self._file.close()

    def _read_head(self) -> Literal["line", "item"]:
        """Read up to the first line that is not blank, and return whether rows are lines or items. Waits for slow pipes."""
        magic = cast("io.BufferedReader", self._file).peek(4)
        if magic.startswith(ZIP):
            self._is_archive = True
            return "item"
        self.compression = detect_compression(magic)
        if self.compression is not None:
            self._stream = decompress(self._file, self.compression)
        head = cast("io.BufferedReader", self._stream).peek(BUFFER)
        if head.startswith(_UTF16):
            hint = f"Convert it first: iconv -f UTF-16 -t UTF-8 {self.name} > utf8.jsonl"
            raise BadInput(f"{self.name}: expected UTF-8, got UTF-16", hint)
        if b"\0" in head:
            raise BadInput(f"{self.name}: expected JSON or JSONL, got a binary file")
        line, before = b"", 0  # `before` counts white space at the beginning of a line that is longer than the buffer
        while piece := self._line(BUFFER, before):
            line = piece.removeprefix(BOM) if not self._leading_blanks and not before else piece
            if not line.isspace():
                break
            self._leading_blanks += piece.endswith(b"\n")
            line, before = b"", 0 if piece.endswith(b"\n") else before + len(piece)
        if line.lstrip().startswith(b"["):
            self._first_lines = [line]
            return "line" if self._is_followed_by_lines(line) else "item"
        if line and not line.endswith(b"\n"):
            line += self._line(None, before + len(line))
        self._first_lines = [line] if line else []
        return "item" if _is_multiline_object(line.lstrip()) else "line"

    def _is_followed_by_lines(self, line: bytes) -> bool:
        """Return whether a line that begins an array is complete and not the last: then it is a row of JSONL. Reads the next row."""
        if not line.endswith(b"\n") or not is_json(line):
            return False
        while following := self._line(None):
            self._first_lines.append(following)
            if not following.isspace():
                return True
        return False

    def _lines(self) -> Iterator[bytes]:
        return iter(self._stream) if self.compression is None else iter(self._line, b"")

    def _numbered(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        for number, line in enumerate(lines, self._leading_blanks + 1):
            if not line.isspace():
                yield number, line

    def _line(self, size: int | None = None, before: int = 0) -> bytes:
        """Return the rest of a line of which `before` bytes were read, or the next `size` bytes of it."""
        if self.compression is None:
            return self._stream.readline(-1 if size is None else size)
        most = MAX_ROW + 1 - before
        line = self._stream.readline(most if size is None else min(size, most))
        if before + len(line) > MAX_ROW:
            raise self._too_large(f", line {self._lines_read + 1:,}")
        complete = line.endswith(b"\n")
        self._lines_read += complete
        if not line.isspace():
            self._blank_in_a_row = 0
        elif complete:
            self._blank_in_a_row += 1
            if self._blank_in_a_row > MAX_BLANK_LINES:
                where = f"{self.name}, line {self._lines_read:,}"
                raise BadInput(f"{where}: the {self.compression} file expands to more than {MAX_BLANK_LINES:,} consecutive blank lines")
        return line

    def _items(self) -> Iterator[tuple[int, bytes]]:
        if self._is_archive:
            rows = archive_rows(self._file, self.name, limit=MAX_ROW)
            yield from ((number, _on_one_line(row)) for number, row in enumerate(rows, 1))
            return
        head = b"".join(self._first_lines)
        reader = ValueReader(head, self._stream.read, limit=None if self.compression is None else MAX_ROW)
        try:
            if not head.lstrip().startswith(b"["):
                text = reader.single()
                if text is None:  # JSONL after all, whose first line looked like the start of an object
                    self.unit = "line"
                    yield from self._numbered(_rejoined(reader.rest(), self._lines()))
                    return
                yield 1, _on_one_line(text)
                return
            items = reader.items()
            for number, text in enumerate(items, 1):
                self._items_read = number
                if number == 1 and self._split is not None and is_message(text):
                    yield 1, self._joined(text, items)
                    return
                yield number, _on_one_line(text)
        except TooLong as error:
            raise self._too_large(f", item {error.number or self._items_read:,}") from None
        except BrokenArray as error:
            where = f", item {error.number:,}" if error.number else ""
            raise BadInput(f"{self.name}{where}: {error}") from None

    def _joined(self, first: bytes, items: Iterator[bytes]) -> bytes:
        """Return an array of messages as one row."""
        texts, size = [first], len(first)
        for text in items:
            texts.append(text)
            size += len(text)
            if self.compression is not None and size > MAX_ROW:
                raise self._too_large(", item 1")
        return _on_one_line(b"[" + b",".join(texts) + b"]")

    def _too_large(self, where: str) -> BadInput:
        what = "a row" if where else "a file"
        return BadInput(
            f"{self.name}{where}: the {self.compression} file expands to {what} of more than {MAX_ROW >> 20:,} MiB",
            "If you trust it, decompress it first: plain files have no such limit.",
        )

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Convert read and decompression errors to `BadInput`."""
        try:
            yield
        except decompression_errors() as error:
            after = f" after {self.unit} {max(self._lines_read, self._items_read):,}" if self._lines_read or self._items_read else ""
            if "ictionary" in str(error):
                raise BadInput(
                    f"{self.name}: the {self.compression} file was compressed with an external dictionary",
                    "Decompress it first, with that dictionary: zstd -d -D DICTIONARY FILE",
                ) from None
            raise BadInput(f"{self.name}: the {self.compression} file is truncated or damaged{after} ({error})") from None
        except OSError as error:
            raise BadInput(f"{self.name}: cannot be read: {error.strerror or error}") from None


def open_file(path: str, name: str, *, regular: bool = False) -> IO[bytes]:
    """Open a file for reading; `-` is standard input. A missing or unreadable file and a directory raise `BadInput`.

    With `regular`, so does anything but a regular file: the path comes from data, and is not the user's own choice.
    """
    if not path:
        raise BadInput("the name of the input file is empty")
    if path == "-" and not regular:
        if sys.stdin is None:
            raise BadInput("standard input is closed")
        return sys.stdin.buffer
    try:
        return open_regular(os.path.realpath(path), name) if regular else Path(path).open("rb", buffering=BUFFER)
    except FileNotFoundError:
        raise BadInput(f"{name}: no such file") from None
    except IsADirectoryError:
        raise BadInput(f"{name}: expected a file, got a directory", _json_files_hint(path)) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{name}: cannot be opened: {getattr(error, 'strerror', None) or error}") from None


def _on_one_line(text: bytes) -> bytes:
    return msgspec.json.format(text, indent=-1) if b"\n" in text else text


def _rejoined(data: bytes, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines in `data`, whose last one may be incomplete, and then those that follow."""
    *complete, last = data.split(b"\n")
    yield from (line + b"\n" for line in complete)
    if last := last + next(lines, b""):
        yield last
    yield from lines


def _json_files_hint(path: str) -> str:
    found = sorted(entry.name for entry in Path(path).iterdir() if ".json" in entry.name)[:5]
    return f"Files in it include {', '.join(found)}." if found else ""


def _is_multiline_object(first: bytes) -> bool:
    """Return whether the first line starts an object that continues on the next line, instead of being a row."""
    return first.startswith(b"{") and first.endswith(b"\n") and first.rstrip()[-1:] in (b"{", b",", b"[", b":")


def is_json(text: bytes) -> bool:
    """Return whether a text is one JSON value."""
    try:
        msgspec.json.decode(text, type=Raw)
    except (ValueError, RecursionError):
        return False
    return True
