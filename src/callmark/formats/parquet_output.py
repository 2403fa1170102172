"""Write rows as Parquet (extra `parquet`): one column for each key of the rows, in the order in which the keys appear.

A column of texts, integers, numbers or booleans has that type; any other is in JSON (Arrow's JSON type), so that a row is read back with
the values that it had. A null is a missing key. The rows are first written to a temporary file beside the target, because the last row may
have a key that no other has: memory is bounded by a block of rows.
"""

import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Raw

from callmark.errors import BadInput
from callmark.formats.tables import load_pyarrow

PARQUET = ".parquet"
_BLOCK_BYTES = 1 << 24  # of a row group
_BLOCK_ROWS = 10_000
_KINDS = {b'"': "text", b"t": "boolean", b"f": "boolean", b"[": "JSON", b"{": "JSON"}
_MAX_INTEGER = 1 << 63

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_value = msgspec.json.Decoder().decode


class ParquetStream(io.RawIOBase):
    """A writable stream of JSON lines, which becomes a Parquet file in `file` when it is closed. `discard` closes it without that."""

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._name = path
        self._arrow = load_pyarrow(f"{path}: Parquet is written")
        self._file = file
        self._spool_path = Path(f"{os.path.realpath(path)}.rows-{os.getpid()}")
        self._spool_path.unlink(missing_ok=True)
        self._spool = self._spool_path.open("xb")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._spool.write(data)

    def discard(self) -> None:
        """Close the stream and write nothing."""
        self._spool.close()
        self._spool_path.unlink(missing_ok=True)

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._spool.close()
            if self._spool_path.exists():
                self._write_table()
        except (self._arrow.ArrowException, ValueError, OverflowError) as error:
            raise BadInput(f"{self._name}: cannot be written as Parquet: {error}", "Write a .jsonl file.") from None
        finally:
            self._spool_path.unlink(missing_ok=True)
            super().close()

    def _write_table(self) -> None:
        from pyarrow import parquet

        kinds = _column_kinds(self._rows())
        types = self._types(kinds)
        schema = self._arrow.schema(list(types.items()))
        with parquet.ParquetWriter(self._file, schema, compression="zstd") as writer:
            for block in _blocks(self._rows()):
                columns = [self._column(block, key, kind, types[key]) for key, kind in kinds.items()]
                writer.write_table(self._arrow.Table.from_arrays(columns, schema=schema))

    def _types(self, kinds: Mapping[str, str]) -> dict[str, Any]:
        arrow = self._arrow
        known = {"text": arrow.string(), "boolean": arrow.bool_(), "integer": arrow.int64(), "number": arrow.float64()}
        return {key: known[kind] if kind in known else arrow.json_() for key, kind in kinds.items()}

    def _column(self, block: list[dict[str, Raw]], key: str, kind: str, column_type: Any) -> Any:
        cells = [bytes(row.get(key, b"null")) for row in block]
        if kind == "JSON":
            texts = [None if cell == b"null" else cell.decode() for cell in cells]
            return self._arrow.ExtensionArray.from_storage(column_type, self._arrow.array(texts, column_type.storage_type))
        return self._arrow.array([_decode_value(cell) for cell in cells], column_type)

    def _rows(self) -> Iterator[dict[str, Raw]]:
        with self._spool_path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield _decode_fields(line)
                except (ValueError, RecursionError):
                    raise BadInput(
                        f"{self._name}: row {number:,} is not an object, so it cannot be a row of a table", "Write a .jsonl file."
                    ) from None


def _column_kinds(rows: Iterator[dict[str, Raw]]) -> dict[str, str]:
    """Return the kind of each column: that of all its values, or JSON."""
    kinds: dict[str, str] = {}
    for row in rows:
        for key, raw in row.items():
            kind = _kind(bytes(raw))
            earlier = kinds.get(key, "")
            kinds[key] = kind if not earlier or kind == earlier else earlier if not kind else "JSON"
    return {key: kind or "JSON" for key, kind in kinds.items()}


def _kind(cell: bytes) -> str:
    """Return the kind of a JSON value; empty for null. A number that no column type holds exactly is JSON."""
    first = cell[:1]
    if first in _KINDS:
        return _KINDS[first]
    if cell == b"null":
        return ""
    if cell.lstrip(b"-").isdigit():
        return "integer" if len(cell) < 19 or -_MAX_INTEGER <= int(cell) < _MAX_INTEGER else "JSON"
    return "number" if repr(float(cell)).encode() == cell else "JSON"


def _blocks(rows: Iterator[dict[str, Raw]]) -> Iterator[list[dict[str, Raw]]]:
    block: list[dict[str, Raw]] = []
    size = 0
    for row in rows:
        block.append(row)
        size += sum(len(bytes(raw)) for raw in row.values())
        if size >= _BLOCK_BYTES or len(block) >= _BLOCK_ROWS:
            yield block
            block, size = [], 0
    if block:
        yield block
