"""Where the rows of a large JSONL file begin, so that one of them can be read without reading those before it."""

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.formats.format import row_id
from callmark.formats.rows import Rows
from callmark.types import Place

_BUFFER = 1 << 18
_NOTHING = Raw(b"{}")


class RowIndex:
    """The beginnings of a file's rows. A file that is no JSONL, or compressed, has none: it is read from its beginning."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._begins = array("q")
        self._numbers = array("q")  # of their lines
        rows = Rows(path)
        rows.close()
        if rows.unit != "line" or rows.packing is not None:
            return
        with self._path.open("rb", buffering=_BUFFER) as lines:
            at = 0
            for number, line in enumerate(lines, 1):
                if not line.isspace():
                    self._begins.append(at)
                    self._numbers.append(number)
                at += len(line)

    def rows(self, start: int) -> Iterator[tuple[int, int, bytes]]:
        """The rows from the one that so many stand before: how many do before each, the number of its line, and its bytes; nothing where
        the file has no index, or no such row.
        """
        if not 0 <= start < len(self._begins):
            return
        with self._path.open("rb") as lines:
            lines.seek(self._begins[start])
            at = start
            for number, line in enumerate(lines, self._numbers[start]):
                if not line.isspace():
                    yield at, number, line
                    at += 1


class _Named(Struct, gc=False):
    """What a row is known by: everything else, which may be long, is passed over."""

    id: Any = None
    item: Raw = _NOTHING


_decode = msgspec.json.Decoder(_Named).decode


def may_be_called(name: str, row: bytes, place: Place) -> bool:
    """Whether a row, or what it is wrapped around, has that id, as far as can be told without reading it; False where that is not clear."""
    try:
        found = _decode(row)
        return name == row_id(found.id, place) or (found.item is not _NOTHING and name == row_id(_decode(found.item).id, place))
    except (ValueError, RecursionError):
        return False
