"""Files to rows: where the bytes of a row begin and end, before anyone asks what they mean.

JSONL (blank lines passed over), a JSON array, one JSON object spread over lines; plain, gzip or zstd; `-` is standard input. JSONL is
streamed; an array is held in memory. A missing file, a directory, an empty file and one that is not text raise `BadInput`, as does what
would unpack to more than can be meant.
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
from callmark.formats.packing import BUFFER, Packing, broken, packing_of, unpacked

LONGEST_UNPACKED = 1 << 28  # bytes of a line of a packed file: a few of its own may unpack to any number
LARGEST_UNPACKED = 1 << 31  # bytes of one that is held in memory
MOST_BLANK = 1 << 20  # lines of a packed file, one after the other: a few bytes may unpack to any number
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


class Rows:
    """The rows of one file, in order, as `(number, bytes)`; numbers begin at 1 and count lines in JSONL, items in an array.

    A line keeps its end: cutting it off would copy every row once more.
    """

    def __init__(self, path: str, name: str | None = None) -> None:
        self.name = name or ("standard input" if path == "-" else scrub(path))
        self._file = _open(path, self.name)
        self._stream = self._file
        self.packing: Packing | None = None
        self._blank = 0  # lines before the first that is not
        self._unpacked = 0  # lines of a packed file that were read whole
        self._blank_unpacked = 0  # of these, the last ones that were blank
        self.again = path != "-" and os.path.isfile(path)  # a pipe can be read once
        self.size = os.path.getsize(path) if self.again else 0
        try:
            with self._told():
                self._begun = self._begin()
        except BadInput:
            self.close()
            raise
        first = self._begun[-1].lstrip() if self._begun else b""
        self.unit: Literal["line", "item"] = "item" if first.startswith(b"[") or _spread(first) else "line"

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        try:
            with self._told():
                if self.unit == "item":
                    yield from self._items()
                else:
                    lines = self._stream if self.packing is None else self._unpacked_lines()
                    for number, line in enumerate(chain(self._begun, lines), self._blank + 1):
                        if not line.isspace():
                            yield number, line
        finally:
            self.close()

    def whole(self) -> bytes:
        """Everything that is in the file, as it is."""
        try:
            with self._told():
                return (b"".join(self._begun) + self._rest()).strip()
        finally:
            self.close()

    @property
    def position(self) -> int:
        """How many bytes of the file have been read, for a progress bar."""
        return 0 if self._file.closed or not self._file.seekable() else self._file.tell()

    def close(self) -> None:
        if sys.stdin is None or self._file is not sys.stdin.buffer:
            self._file.close()

    def _begin(self) -> list[bytes]:
        """The first line that is not blank, read whole, however slowly it comes; nothing where there is none."""
        self.packing = packing_of(cast("io.BufferedReader", self._file).peek(4))
        if self.packing is not None:
            self._stream = unpacked(self._file, self.packing)
        head = cast("io.BufferedReader", self._stream).peek(BUFFER)
        if head.startswith(_UTF16):
            raise BadInput(f"{self.name} is UTF-16 text, UTF-8 was expected", f"Convert it first: iconv -f UTF-16 -t UTF-8 {self.name}")
        if b"\0" in head:
            raise BadInput(f"{self.name} is not a text file, JSON or JSONL was expected")
        while line := self._stream.readline() if self.packing is None else self._unpacked_line():
            if not self._blank:
                line = line.removeprefix(_BOM)
            if not line.isspace():
                return [line]
            self._blank += 1
        return []

    def _unpacked_lines(self) -> Iterator[bytes]:
        return iter(self._unpacked_line, b"")

    def _unpacked_line(self) -> bytes:
        line = self._stream.readline(LONGEST_UNPACKED)
        if len(line) == LONGEST_UNPACKED:
            raise BadInput(
                f"{self.name}, line {self._unpacked + 1}: the {self.packing} file unpacks to a line of {_mib(len(line))} or more"
            )
        self._unpacked += bool(line)
        self._blank_unpacked = self._blank_unpacked + 1 if line.isspace() else 0
        if self._blank_unpacked > MOST_BLANK:
            raise BadInput(
                f"{self.name}, line {self._unpacked:,}: the {self.packing} file unpacks to more than {MOST_BLANK:,} blank lines in a row"
            )
        return line

    def _rest(self) -> bytes:
        """What is left of the file."""
        if self.packing is None:
            return self._stream.read()
        pieces: list[bytes] = []
        size = 0
        while piece := self._stream.read(BUFFER):
            pieces.append(piece)
            size += len(piece)
            if size >= LARGEST_UNPACKED:
                raise BadInput(
                    f"{self.name}: the {self.packing} file unpacks to {_mib(size)} or more in one piece", "JSONL may be of any size."
                )
        return b"".join(pieces)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turns what can go wrong in reading into a sentence."""
        try:
            yield
        except broken() as error:
            after = f" after line {self._unpacked:,}" if self._unpacked else ""
            if "ictionary" in str(error):
                raise BadInput(
                    f"{self.name} is a {self.packing} file that was packed with a dictionary, which is not in it",
                    "Unpack it first, with that dictionary: zstd -d -D DICTIONARY FILE",
                ) from None
            raise BadInput(f"{self.name} is a {self.packing} file that is cut off or damaged{after} ({error})") from None
        except OSError as error:
            raise BadInput(f"{self.name} cannot be read: {error.strerror or error}") from None

    def _items(self) -> Iterator[tuple[int, bytes]]:
        text = b"".join(self._begun) + self._rest()
        items = self._array(text.strip()) if text.lstrip().startswith(b"[") else [Raw(text.strip())] if is_json(text) else None
        if items is None:  # lines after all
            self.unit = "line"
            yield from ((number, line) for number, line in enumerate(text.split(b"\n"), self._blank + 1) if line.strip())
            return
        for number, item in enumerate(items, 1):
            raw = bytes(item)
            yield number, msgspec.json.format(raw, indent=-1) if b"\n" in raw else raw

    def _array(self, text: bytes) -> list[Raw] | None:
        """The items of an array; None where only the first line is one."""
        from callmark.formats.problems import explain

        try:
            return msgspec.json.decode(text, type=list[Raw])
        except (ValueError, RecursionError) as error:
            if is_json(self._begun[-1]):
                return None
            raise BadInput(f"{self.name}: {explain(text, error).replace('the row', 'the file')}") from None


def _open(path: str, name: str) -> IO[bytes]:
    if not path:
        raise BadInput("the name of a file to read is empty")
    if path == "-":
        if sys.stdin is None:
            raise BadInput("standard input is closed")
        return sys.stdin.buffer
    try:
        return Path(path).open("rb", buffering=BUFFER)
    except FileNotFoundError:
        raise BadInput(f"there is no file {name}") from None
    except IsADirectoryError:
        raise BadInput(f"{name} is a directory, a file was expected", _files_in(path)) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{name} cannot be opened: {getattr(error, 'strerror', None) or error}") from None


def _mib(size: int) -> str:
    return f"{size >> 20:,} MiB"


def _files_in(path: str) -> str:
    found = sorted(entry.name for entry in Path(path).iterdir() if ".json" in entry.name)[:5]
    return f"It holds {', '.join(found)}." if found else ""


def _spread(first: bytes) -> bool:
    """Whether the first line begins an object spread over lines rather than being a row."""
    return first.startswith(b"{") and first.endswith(b"\n") and first.rstrip()[-1:] in (b"{", b",", b"[", b":")


def is_json(text: bytes) -> bool:
    """Whether a text is one JSON value."""
    try:
        msgspec.json.decode(text, type=Raw)
    except (ValueError, RecursionError):
        return False
    return True
