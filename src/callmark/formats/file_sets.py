"""Several files read as one dataset: a folder, a glob, or a Hugging Face dataset on disk (`hf:FOLDER`).

The rows are those of the files in the order of their names, as if the files were one: rows are numbered over all of them, which gives those
without an id different ids. Messages name the file and the row in it. Of a folder, the files with an extension of data are read, but not
those in folders below it; a glob names the files itself. A folder without data and a glob that matches nothing raise `BadInput`.
"""

import os
from collections.abc import Iterator, Sequence
from glob import glob, has_magic

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.compression import Compression
from callmark.formats.hugging_face import PREFIX, hugging_face_files, is_saved_dataset
from callmark.formats.row_source import RowSource, open_rows, size_of
from callmark.formats.rows import Split
from callmark.types import Place, PlaceUnit

_JSON = (".jsonl", ".json", ".ndjson", ".csv", ".tsv")
_EXTENSIONS = (*(f"{ending}{packed}" for ending in _JSON for packed in ("", ".gz", ".zst")), ".parquet", ".arrow", ".feather", ".eval")
_RUN_FILES = {"run.json", "grades.jsonl"}  # a folder with one of them is a run, whose files are not a dataset
_SHOWN_FILES = 5


class FileSetRows:
    """The rows of several files, as `(number, bytes)`. With `regular`, anything but regular files raises `BadInput`."""

    rereadable = True
    compression: Compression | None = None

    def __init__(self, path: str, name: str | None = None, *, regular: bool = False, split: Split | None = None) -> None:
        self._name = name or scrub(path)
        self._files = files_of(path, self._name)
        self._regular = regular
        self._split = split
        self._present: RowSource | None = None
        self._before = 0  # rows of earlier files
        self._read = 0  # bytes of earlier files
        self.size = sum(map(size_of, self._files))

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        self._before = self._read = 0
        try:
            for file in self._files:
                self._present = open_rows(file, regular=self._regular, split=self._split)
                last = 0
                for last, row in self._present:
                    yield self._before + last, row
                self._before += last
                self._read += size_of(file)
        finally:
            self.close()

    @property
    def name(self) -> str:
        return self._name

    @property
    def unit(self) -> PlaceUnit:
        return self._present.unit if self._present is not None else "row"

    @property
    def position(self) -> int:
        return self._read + (self._present.position if self._present is not None else 0)

    def place(self, number: int) -> Place:
        assert self._present is not None
        found = self._present.place(number - self._before)
        return Place(found.file, number, found.unit, self._before)

    def close(self) -> None:
        if self._present is not None:
            self._present.close()


def is_file_set(path: str) -> bool:
    """Return whether a path names several files: a folder, a glob, or `hf:FOLDER`. A file whose name looks like a glob is a file."""
    return path.startswith(PREFIX) or os.path.isdir(path) or (has_magic(path) and not os.path.exists(path))


def has_data(folder: str) -> bool:
    """Return whether a folder has files of data."""
    try:
        return bool(files_of(folder, folder))
    except (BadInput, OSError):
        return False


def files_of(path: str, name: str) -> Sequence[str]:
    """Return the paths of the files of a set, in the order in which they are read."""
    if path.startswith(PREFIX):
        return hugging_face_files(path.removeprefix(PREFIX), name)
    if not os.path.isdir(path):
        found = sorted(one for one in glob(path, recursive=True) if os.path.isfile(one))
        if not found:
            raise BadInput(f"{name}: no file matches")
        return found
    if is_saved_dataset(path):
        return hugging_face_files(path, name)
    names = sorted(entry.name for entry in os.scandir(path) if entry.is_file() and not entry.name.startswith((".", "_")))
    if not _RUN_FILES.isdisjoint(names):
        raise BadInput(
            f"{name}: expected a file, or a folder of data files, got a run folder", f"Its predictions: {name}/predictions.jsonl"
        )
    data = [each for each in names if each.lower().endswith(_EXTENSIONS)]
    if not data:
        shown = ", ".join(map(scrub, sorted(os.listdir(path))[:_SHOWN_FILES]))
        raise BadInput(
            f"{name}: expected a file, or a folder of data files, got a folder with {shown or 'nothing in it'}",
            "Data files end in .jsonl, .json, .ndjson, .csv, .tsv (also with .gz or .zst), .parquet, .arrow or .eval. "
            f"For files in folders below it, pass a glob: '{name}/**/*.jsonl'",
        )
    return [os.path.join(path, each) for each in data]
