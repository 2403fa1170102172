"""The rows of a path: of a file in any container, of a folder or glob of files, of a Hugging Face dataset on disk.

A container is recognized by its first bytes, CSV by its extension. Whatever the container, a row is the bytes of one JSON object.
"""

import os
from collections.abc import Iterator
from typing import IO, Protocol, cast

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.compression import Compression
from callmark.formats.rows import Rows, Split, open_file
from callmark.formats.shared_file import SharedFile
from callmark.types import Place, PlaceUnit

_CSV = (".csv", ".tsv")
_COMPRESSED = (".gz", ".zst")


class RowSource(Protocol):
    """Rows as `(number, bytes)`, read once.

    Attributes:
        name: Name in messages; while rows of several files are read, that of the present one.
        unit: What a number counts.
        size: Number of bytes to read, for a progress bar; 0 if it is not known.
        position: Number of bytes read so far.
        rereadable: Whether the path can be opened again; a pipe cannot.
        compression: Compression of a JSON file.
    """

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> PlaceUnit: ...
    @property
    def size(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def rereadable(self) -> bool: ...
    @property
    def compression(self) -> Compression | None: ...
    def __iter__(self) -> Iterator[tuple[int, bytes]]: ...
    def place(self, number: int) -> Place:
        """Return the place of the row that was read last, which has this number."""
        ...

    def close(self) -> None:
        """Close the files that are open. Closing again does nothing."""
        ...


def open_rows(
    path: str,
    name: str | None = None,
    *,
    file: SharedFile | None = None,
    regular: bool = False,
    split: Split | None = None,
) -> RowSource:
    """Open a path, or read the `file` that is already open there. `name`, `regular` and `split` are those of `Rows`.

    A container whose package is not installed raises `BadInput` that names the extra.
    """
    from callmark.formats.file_sets import FileSetRows, is_file_set
    from callmark.formats.reference_tables import ReferenceRows, is_reference_folder

    if file is None and is_reference_folder(path):
        return ReferenceRows(path, name, regular=regular)
    if file is None and is_file_set(path):
        return FileSetRows(path, name, regular=regular, split=split)
    shown = name or ("standard input" if path == "-" else scrub(path))
    stream = file.stream() if file is not None else open_file(path, shown, regular=regular)
    try:
        return _open_stream(path, shown, stream, split, regular=regular)
    except BaseException:
        if path != "-":
            stream.close()
        raise


def _open_stream(path: str, name: str, stream: IO[bytes], split: Split | None, *, regular: bool) -> RowSource:
    from callmark.formats.bfcl_files import JoinedRows, joins
    from callmark.formats.tables import TableRows, table_kind

    try:
        head = b"" if stream.isatty() else cast("_Peekable", stream).peek(8)[:8]
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror or error}") from None
    kind = table_kind(head)
    if kind is not None:
        return TableRows(stream, name, kind)
    if path.removesuffix(_COMPRESSED[0]).removesuffix(_COMPRESSED[1]).lower().endswith(_CSV):
        from callmark.formats.csv_rows import CsvRows

        return CsvRows(stream, name, path=path)
    rows = Rows(path, name, stream=stream, split=split)
    return JoinedRows(rows, path, regular=regular) if joins(path) else rows


class _Peekable(Protocol):
    def peek(self, size: int) -> bytes: ...


def size_of(path: str) -> int:
    """Return the size of a file; 0 if it is not a regular file."""
    return os.path.getsize(path) if os.path.isfile(path) else 0
