"""Split a file into rows, as bytes, before any format parses them.

Accepts JSONL (blank lines are skipped), a JSON array, or one JSON object over several lines; plain, gzip or zstd; `-` is standard input.
JSONL is streamed; an array is held in memory. A missing file, a directory, a binary file, and a compressed file that expands beyond the
limits raise `BadInput`.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Literal, cast

import msgspec
from msgspec import Raw

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.compression import BUFFER, Compression, decompress, decompression_errors, detect_compression

LONGEST_LINE = 1 << 28  # bytes of a decompressed line: a few compressed bytes can expand to any number
LARGEST_FILE = 1 << 31  # bytes of a decompressed file that is held in memory
MAX_BLANK_LINES = 1 << 20  # consecutive decompressed blank lines, for the same reason
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


class Rows:
    """The rows of one file, as `(number, bytes)`. Numbers start at 1 and count lines in JSONL, items in an array.

    A line keeps its line break, because removing it would copy every row.
    """

    def __init__(self, path: str, name: str | None = None, *, stream: IO[bytes] | None = None) -> None:
        """Open the file, or read from the `stream` of a file that is already open."""
        self.name = name or ("standard input" if path == "-" else scrub(path))
        self._file = open_file(path, self.name) if stream is None else stream
        self._stream = self._file
        self.compression: Compression | None = None
        self._leading_blanks = 0  # blank lines before the first row
        self._lines_read = 0  # decompressed lines so far
        self._blank_in_a_row = 0  # consecutive blank lines among the last of these
        self.rereadable = path != "-" and os.path.isfile(path)  # a pipe can only be read once
        self.size = os.path.getsize(path) if self.rereadable else 0
        try:
            with self._explain_errors():
                self._first_lines = self._read_first_line()
        except BadInput:
            self.close()
            raise
        first = self._first_lines[-1].lstrip() if self._first_lines else b""
        self.unit: Literal["line", "item"] = "item" if first.startswith(b"[") or _is_multiline_object(first) else "line"

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        try:
            with self._explain_errors():
                if self.unit == "item":
                    yield from self._items()
                else:
                    lines = self._stream if self.compression is None else self._decompressed_lines()
                    for number, line in enumerate(chain(self._first_lines, lines), self._leading_blanks + 1):
                        if not line.isspace():
                            yield number, line
        finally:
            self.close()

    def read_all(self) -> bytes:
        """Return the decompressed content of the file, without surrounding whitespace."""
        try:
            with self._explain_errors():
                return (b"".join(self._first_lines) + self._read_rest()).strip()
        finally:
            self.close()

    @property
    def position(self) -> int:
        """Number of bytes read so far, for a progress bar."""
        return 0 if self._file.closed or not self._file.seekable() else self._file.tell()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if sys.stdin is None or self._file is not sys.stdin.buffer:
            self._file.close()

    def _read_first_line(self) -> list[bytes]:
        """Return the first line that is not blank; an empty list if there is none. Waits for slow pipes."""
        self.compression = detect_compression(cast("io.BufferedReader", self._file).peek(4))
        if self.compression is not None:
            self._stream = decompress(self._file, self.compression)
        head = cast("io.BufferedReader", self._stream).peek(BUFFER)
        if head.startswith(_UTF16):
            raise BadInput(f"{self.name}: expected UTF-8, got UTF-16", f"Convert it first: iconv -f UTF-16 -t UTF-8 {self.name}")
        if b"\0" in head:
            raise BadInput(f"{self.name}: expected JSON or JSONL, got a binary file")
        while line := self._stream.readline() if self.compression is None else self._decompressed_line():
            if not self._leading_blanks:
                line = line.removeprefix(_BOM)
            if not line.isspace():
                return [line]
            self._leading_blanks += 1
        return []

    def _decompressed_lines(self) -> Iterator[bytes]:
        return iter(self._decompressed_line, b"")

    def _decompressed_line(self) -> bytes:
        line = self._stream.readline(LONGEST_LINE)
        if len(line) == LONGEST_LINE:
            where = f"{self.name}, line {self._lines_read + 1}"
            raise BadInput(f"{where}: the {self.compression} file expands to a line of {_mebibytes(len(line))} or more")
        self._lines_read += bool(line)
        self._blank_in_a_row = self._blank_in_a_row + 1 if line.isspace() else 0
        if self._blank_in_a_row > MAX_BLANK_LINES:
            where = f"{self.name}, line {self._lines_read:,}"
            raise BadInput(f"{where}: the {self.compression} file expands to more than {MAX_BLANK_LINES:,} consecutive blank lines")
        return line

    def _read_rest(self) -> bytes:
        """Return the rest of the file."""
        if self.compression is None:
            return self._stream.read()
        pieces: list[bytes] = []
        size = 0
        while piece := self._stream.read(BUFFER):
            pieces.append(piece)
            size += len(piece)
            if size >= LARGEST_FILE:
                raise BadInput(
                    f"{self.name}: the {self.compression} file expands to {_mebibytes(size)} or more, which is too large to hold in memory",
                    "Convert it to JSONL, which is streamed and can be of any size.",
                )
        return b"".join(pieces)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Convert read and decompression errors to `BadInput`."""
        try:
            yield
        except decompression_errors() as error:
            after = f" after line {self._lines_read:,}" if self._lines_read else ""
            if "ictionary" in str(error):
                raise BadInput(
                    f"{self.name}: the {self.compression} file was compressed with an external dictionary",
                    "Decompress it first, with that dictionary: zstd -d -D DICTIONARY FILE",
                ) from None
            raise BadInput(f"{self.name}: the {self.compression} file is truncated or damaged{after} ({error})") from None
        except OSError as error:
            raise BadInput(f"{self.name}: cannot be read: {error.strerror or error}") from None

    def _items(self) -> Iterator[tuple[int, bytes]]:
        text = b"".join(self._first_lines) + self._read_rest()
        items = self._parse_array(text.strip()) if text.lstrip().startswith(b"[") else [Raw(text.strip())] if is_json(text) else None
        if items is None:  # JSONL after all, whose first line looked like the start of an array
            self.unit = "line"
            yield from ((number, line) for number, line in enumerate(text.split(b"\n"), self._leading_blanks + 1) if line.strip())
            return
        for number, item in enumerate(items, 1):
            raw = bytes(item)
            yield number, msgspec.json.format(raw, indent=-1) if b"\n" in raw else raw

    def _parse_array(self, text: bytes) -> list[Raw] | None:
        """Return the items of an array; None if only the first line is an array."""
        from callmark.formats.problems import explain

        try:
            return msgspec.json.decode(text, type=list[Raw])
        except (ValueError, RecursionError) as error:
            if is_json(self._first_lines[-1]):
                return None
            raise BadInput(f"{self.name}: {explain(text, error).replace('the row', 'the file')}") from None


def open_file(path: str, name: str) -> IO[bytes]:
    """Open a file for reading; `-` is standard input. A missing or unreadable file and a directory raise `BadInput`."""
    if not path:
        raise BadInput("the name of the input file is empty")
    if path == "-":
        if sys.stdin is None:
            raise BadInput("standard input is closed")
        return sys.stdin.buffer
    try:
        return Path(path).open("rb", buffering=BUFFER)
    except FileNotFoundError:
        raise BadInput(f"{name}: no such file") from None
    except IsADirectoryError:
        raise BadInput(f"{name}: expected a file, got a directory", _json_files_hint(path)) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{name}: cannot be opened: {getattr(error, 'strerror', None) or error}") from None


def _mebibytes(size: int) -> str:
    return f"{size >> 20:,} MiB"


def _json_files_hint(path: str) -> str:
    found = sorted(entry.name for entry in Path(path).iterdir() if ".json" in entry.name)[:5]
    return f"Files in it: {', '.join(found)}." if found else ""


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
