"""The offsets of the rows of a large JSONL file, so that a row can be read without reading those before it."""

from array import array
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.formats.file_sets import is_file_set
from callmark.formats.format import row_id
from callmark.formats.row_source import open_rows
from callmark.formats.rows import open_file
from callmark.types import Place

_EMPTY = Raw(b"{}")


class RowIndex:
    """The offsets of a file's rows. A file that is compressed or not JSONL has none and is read from the beginning.

    Its path comes from `run.json`: anything but a regular file raises `BadInput`.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._offsets = array("q")
        self._line_numbers = array("q")
        if is_file_set(path):
            return
        rows = open_rows(path, regular=True)
        rows.close()
        if rows.unit != "line" or rows.compression is not None:
            return
        with open_file(path, path, regular=True) as lines:
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
        with open_file(self._path, self._path, regular=True) as lines:
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
