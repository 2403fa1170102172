"""Parquet and Arrow IPC files as rows (extra `parquet`): record batch by record batch, so that memory is bounded by one of them.

The batches are small where rows are large. Columns of text with few different values are read as such, whatever they expand to. An Arrow
file is mapped into memory, and its data is checked before it is used. A damaged file raises `BadInput`; so does a row that expands beyond
`MAX_ROW`.
"""

import io
import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, Literal

from callmark.errors import BadInput
from callmark.formats.compression import Compression
from callmark.formats.rows import MAX_ROW
from callmark.types import Place, PlaceUnit

TableKind = Literal["Parquet", "Arrow", "Arrow stream"]

_MAGIC: tuple[tuple[bytes, TableKind], ...] = ((b"PAR1", "Parquet"), (b"ARROW1", "Arrow"), (b"\xff\xff\xff\xff", "Arrow stream"))
_ENCRYPTED = b"PARE"
_BATCH_BYTES = 1 << 20
_MAX_BATCH_ROWS = 256
_BUFFER = 1 << 20  # bytes of a column that are read at once
_MAX_DICTIONARY = 1 << 26  # bytes of a column of a row group that is read as a dictionary
_FEW_BYTES = 256  # per value, on average, of such a column
INSTALL = "Install it with: pip install 'callmark[parquet]'"


def table_kind(head: bytes) -> TableKind | None:
    """Return the kind of table that begins with these bytes; None for anything else."""
    if head.startswith(_ENCRYPTED):
        return "Parquet"
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


class TableRows:
    """The rows of an open Parquet or Arrow file, as `(number, JSON)`."""

    unit: PlaceUnit = "row"
    rereadable = True
    compression: Compression | None = None

    def __init__(self, file: IO[bytes], name: str, kind: TableKind, *, row_groups: Sequence[int] | None = None) -> None:
        """Read an open file. With `row_groups`, only these row groups of a Parquet file are read, and their rows are numbered from 1."""
        self.name = name
        self.kind: TableKind = kind
        self._row_groups = row_groups
        self._file = file
        self._mapped: mmap.mmap | None = None
        if not file.seekable():
            raise BadInput(f"{name}: {_title(kind)} cannot be read from a pipe", "Pass the path of the file.")
        self.size = file.seek(0, io.SEEK_END)
        file.seek(0)
        self._arrow = load_pyarrow(f"{name}: {_title(kind)} is read")
        with self._explain_errors():
            self._batches = self._open()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        from callmark.formats.table_columns import read_batch

        number = 0
        try:
            with self._explain_errors():
                for batch in self._batches():
                    for number, row in enumerate(read_batch(batch, self.name), number + 1):  # noqa: B020 - goes on counting
                        if len(row) > MAX_ROW:
                            raise BadInput(f"{self.name}, row {number:,}: expands to a row of more than {MAX_ROW >> 20:,} MiB")
                        yield number, row
        finally:
            self.close()

    def row_groups(self) -> list[tuple[int, int]]:
        """Return the numbers of rows and of bytes of each row group of a Parquet file."""
        from pyarrow import parquet

        with self._explain_errors():
            self._file.seek(0)
            metadata = parquet.read_metadata(self._arrow.PythonFile(self._file, mode="r"))
            groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        return [(group.num_rows, group.total_byte_size) for group in groups]

    @property
    def position(self) -> int:
        return 0 if self._file.closed else self._file.tell()

    def place(self, number: int) -> Place:
        return Place(self.name, number, self.unit)

    def close(self) -> None:
        self._batches = lambda: iter(())
        self._file.close()

    def _open(self) -> Callable[[], Iterator[Any]]:
        if self.kind == "Parquet":
            return self._open_parquet()
        source = self._buffer()
        ipc = self._arrow.ipc
        reader = ipc.open_stream(source) if self.kind == "Arrow stream" else ipc.open_file(source)
        batches = reader if self.kind == "Arrow stream" else (reader.get_batch(index) for index in range(reader.num_record_batches))
        return lambda: (piece for batch in batches for piece in _pieces(batch))

    def _buffer(self) -> Any:
        """Return the file as a source for Arrow: mapped into memory if it is a file of the system."""
        with suppress(OSError, ValueError):
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            return self._arrow.BufferReader(self._arrow.py_buffer(mapped))
        return self._arrow.PythonFile(self._file, mode="r")

    def _open_parquet(self) -> Callable[[], Iterator[Any]]:
        from pyarrow import parquet

        source = self._arrow.PythonFile(self._file, mode="r")
        metadata = parquet.read_metadata(source)
        few = [path for path in _text_columns(metadata) if _has_few_values(metadata, path)]
        source.seek(0)
        reader = parquet.ParquetFile(
            source, read_dictionary=[_column_path(metadata, at) for at in few], buffer_size=_BUFFER, pre_buffer=False
        )
        rows = max(1, metadata.num_rows)
        size = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
        batch_rows = max(1, min(_MAX_BATCH_ROWS, _BATCH_BYTES * rows // max(1, size)))
        groups = None if self._row_groups is None else list(self._row_groups)
        return lambda: reader.iter_batches(batch_size=batch_rows, row_groups=groups, use_threads=False)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Convert the errors of pyarrow to `BadInput`."""
        try:
            yield
        except (self._arrow.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
            self._file.close()
            problem = " ".join(str(error).split())[:200]
            if "encrypt" in problem:
                raise BadInput(f"{self.name}: the Parquet file is encrypted", "Decrypt it first.") from None
            if isinstance(error, self._arrow.ArrowNotImplementedError):
                raise BadInput(f"{self.name}: pyarrow cannot read the {self.kind} file: {problem}") from None
            raise BadInput(f"{self.name}: the {self.kind} file is truncated or damaged ({problem})") from None


def load_pyarrow(what: str) -> Any:
    """Return pyarrow. `what` says what needs it, for the `BadInput` that is raised without it."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise BadInput(f"{what} with pyarrow, which is not installed", INSTALL) from None
    return pyarrow


def _title(kind: TableKind) -> str:
    return kind if kind == "Parquet" else "an Arrow file"


def _pieces(batch: Any) -> Iterator[Any]:
    """Yield a batch in pieces of few rows, each checked: offsets in a file may point anywhere."""
    size = max(1, min(_MAX_BATCH_ROWS, _BATCH_BYTES * max(1, batch.num_rows) // max(1, batch.nbytes)))
    for start in range(0, batch.num_rows, size):
        piece = batch.slice(start, size)
        piece.validate(full=True)
        yield piece


def _text_columns(metadata: Any) -> list[int]:
    """Return the indexes of the columns of text. Text inside lists and structs cannot be read as a dictionary."""
    found = [(index, metadata.schema.column(index)) for index in range(metadata.num_columns)]
    return [index for index, one in found if one.physical_type == "BYTE_ARRAY" and one.path == one.name and not one.max_repetition_level]


def _column_path(metadata: Any, index: int) -> str:
    path: str = metadata.schema.column(index).path
    return path


def _has_few_values(metadata: Any, column: int) -> bool:
    """Return whether a column takes so few bytes that reading it as a dictionary costs little and saves much."""
    for group in range(metadata.num_row_groups):
        chunk = metadata.row_group(group).column(column)
        if chunk.total_uncompressed_size > min(_MAX_DICTIONARY, _FEW_BYTES * max(256, chunk.num_values)):
            return False
    return True
