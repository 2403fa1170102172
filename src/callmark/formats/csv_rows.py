"""CSV and TSV as rows: a header, then one row per record. Cells in columns of `JSON_COLUMNS` are JSON, all others are text.

A cell of a number in `trial`, `reward` and the like is a number. An empty cell is an empty text; in the columns of JSON and numbers, the
row does not have that key. A record with more or fewer cells than the header is a bad row. Repeated and empty names in the header raise
`BadInput`.
"""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from msgspec import json

from callmark.errors import BadInput
from callmark.formats.compression import Compression, decompress, decompression_errors, detect_compression
from callmark.formats.problems import UnreadableRow
from callmark.formats.rows import MAX_ROW
from callmark.formats.table_columns import JSON_COLUMNS, MESSAGE_COLUMNS, json_cell
from callmark.types import Place, PlaceUnit
from callmark.wording import pluralize

_NUMBERS = frozenset({"trial", "repeat", "reward", "latency", "input_token_count", "output_token_count"})
_TEXTS = frozenset({"output", "completion", "content", "result"})  # of predictions, where an empty text says that the model wrote nothing
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


class CsvRows:
    """The records of an open CSV file as `(number, JSON)`, without the header."""

    unit: PlaceUnit = "row"

    def __init__(self, file: IO[bytes], name: str, *, path: str) -> None:
        self.name = name
        self._file = file
        self._tabs = ".tsv" in path.lower()[-8:]
        self.compression: Compression | None = detect_compression(cast("io.BufferedReader", file).peek(4))
        self.rereadable = file.seekable()
        self.size = 0
        if self.rereadable:
            self.size = file.seek(0, io.SEEK_END)
            file.seek(0)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        csv.field_size_limit(MAX_ROW)
        stream = self._file if self.compression is None else decompress(self._file, self.compression)
        number = 0
        try:
            with self._explain_errors():
                lines = io.TextIOWrapper(cast("io.BufferedReader", stream), "utf-8-sig", newline="")
                records = csv.reader(lines, delimiter="\t" if self._tabs else ",", strict=True)
                header = self._header(next(records, []))
                for record in records:
                    if record:  # a blank line
                        number += 1
                        yield number, _row(header, record)
        finally:
            self.close()

    @property
    def position(self) -> int:
        return 0 if self._file.closed or not self._file.seekable() else self._file.tell()

    def place(self, number: int) -> Place:
        return Place(self.name, number, self.unit)

    def close(self) -> None:
        self._file.close()

    def _header(self, header: list[str]) -> list[str]:
        for name in header:
            if header.count(name) > 1 or not name:
                what = f"the column {name[:80]!r} more than once" if name else "a column without a name"
                raise BadInput(f"{self.name}: expected a header with the names of the columns, got {what}")
        return header

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except csv.Error as error:
            raise BadInput(f"{self.name}: not valid CSV: {error}") from None
        except UnicodeDecodeError as error:
            raise BadInput(f"{self.name}: not valid UTF-8: byte 0x{error.object[error.start]:02x}") from None
        except decompression_errors() as error:
            raise BadInput(f"{self.name}: the {self.compression} file is truncated or damaged ({error})") from None
        except OSError as error:
            raise BadInput(f"{self.name}: cannot be read: {error.strerror or error}") from None


def _row(header: list[str], record: list[str]) -> bytes:
    if len(record) != len(header):
        reason = f"expected {pluralize(len(header), 'cell')}, as in the header, got {len(record):,}"
        return UnreadableRow(json.encode(record), reason)
    return (
        b"{"
        + b",".join([json.encode(key) + b":" + cell for key, text in zip(header, record, strict=True) if (cell := _cell(key, text))])
        + b"}"
    )


def _cell(key: str, text: str) -> bytes:
    """Return the JSON of a cell; empty if the row does not have that key."""
    if key in _NUMBERS:
        return text.encode() if _NUMBER.fullmatch(text) or not text else json.encode(text)
    return b"" if not text and (key in JSON_COLUMNS or key in MESSAGE_COLUMNS - _TEXTS) else json_cell(key, text)
