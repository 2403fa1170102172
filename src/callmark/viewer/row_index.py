"""The offsets of the rows of a large JSONL file, so that a row can be read without reading those before it."""

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
_EMPTY = Raw(b"{}")


class RowIndex:
    """The offsets of a file's rows. A file that is compressed or not JSONL has none and is read from the beginning."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._offsets = array("q")
        self._line_numbers = array("q")
        rows = Rows(path)
        rows.close()
        if rows.unit != "line" or rows.compression is not None:
            return
        with self._path.open("rb", buffering=_BUFFER) as lines:
            offset = 0
            for number, line in enumerate(lines, 1):
                if not line.isspace():
                    self._offsets.append(offset)
                    self._line_numbers.append(number)
                offset += len(line)

    def rows(self, start: int) -> Iterator[tuple[int, int, bytes]]:
        """Yield the rows from `start` on: index, line number, bytes. Yield nothing if the file has no index or no such row."""
        if not 0 <= start < len(self._offsets):
            return
        with self._path.open("rb") as lines:
            lines.seek(self._offsets[start])
            index = start
            for number, line in enumerate(lines, self._line_numbers[start]):
                if not line.isspace():
                    yield index, number, line
                    index += 1


class _RowId(Struct, gc=False):
    """The id of a row, or of the item it wraps. Everything else, which may be long, is not decoded."""

    id: Any = None
    item: Raw = _EMPTY


_decode = msgspec.json.Decoder(_RowId).decode


def may_have_id(name: str, row: bytes, place: Place) -> bool:
    """Return whether a row, or the item it wraps, seems to have that id, without decoding the rest."""
    try:
        found = _decode(row)
        return name == row_id(found.id, place) or (found.item is not _EMPTY and name == row_id(_decode(found.item).id, place))
    except (ValueError, RecursionError):
        return False
