"""Where the rows of a large JSONL file begin, so that one of them can be read without reading those before it."""

from array import array
from itertools import islice
from pathlib import Path

from callmark.formats.dataset import BLOCK
from callmark.formats.rows import BUFFER, Rows

_GZIP = b"\x1f\x8b"


class RowIndex:
    """The beginnings of a file's blocks of rows. A file that is no JSONL, or compressed, has none: it is read from its beginning."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._begins = array("q")
        self._numbers = array("q")  # of the first line of each block
        rows = Rows(path)
        rows.close()
        with self._path.open("rb", buffering=BUFFER) as lines:
            if rows.unit != "line" or lines.read(2) == _GZIP:
                return
            lines.seek(0)
            at = before = 0
            for number, line in enumerate(lines, 1):
                if not line.isspace():
                    if before % BLOCK == 0:
                        self._begins.append(at)
                        self._numbers.append(number)
                    before += 1
                at += len(line)

    def block(self, block: int) -> list[tuple[int, bytes]] | None:
        """The rows of a block, each with the number of its line; None where the file has no index, or no such block."""
        if block >= len(self._begins):
            return None
        with self._path.open("rb") as lines:
            lines.seek(self._begins[block])
            rows = ((number, line) for number, line in enumerate(lines, self._numbers[block]) if not line.isspace())
            return list(islice(rows, BLOCK))
