"""Decision points by reference as a folder of three Parquet files, with the rows of `by_reference.py`:

    tools.parquet           id, tools
    conversations.parquet   id, messages, tools_ref
    records.parquet         id, source, expected_output, group

Read as one file, in which each conversation comes before the first record that uses it: memory stays bounded if the records follow the
order of the conversations. The folder is written completely or not at all.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput, StorageError
from callmark.formats.compression import Compression
from callmark.formats.output import Output
from callmark.formats.parquet_output import PARQUET
from callmark.formats.row_source import RowSource, open_rows, size_of
from callmark.types import Place, PlaceUnit

TOOLS, CONVERSATIONS, RECORDS = (f"{name}{PARQUET}" for name in ("tools", "conversations", "records"))
_FILES = (TOOLS, CONVERSATIONS, RECORDS)
_PREFIXES = ((b'{"tools":', TOOLS), (b'{"conversation":', CONVERSATIONS))


class _Source(Struct):
    conversation: str


class _Record(Struct):
    source: _Source


class _Conversation(Struct):
    id: str


_decode_record = msgspec.json.Decoder(_Record).decode
_decode_conversation = msgspec.json.Decoder(_Conversation).decode


def is_reference_folder(path: str) -> bool:
    """Return whether a folder has the tables of decision points by reference."""
    return all(os.path.isfile(os.path.join(path, name)) for name in (CONVERSATIONS, RECORDS))


class ReferenceRows:
    """The rows of such a folder, as `(number, JSON)`. With `regular`, anything but regular files raises `BadInput`."""

    rereadable = True
    compression: Compression | None = None
    unit: PlaceUnit = "row"

    def __init__(self, path: str, name: str | None = None, *, regular: bool = False) -> None:
        self.name = name or scrub(path)
        self._path = path
        self._regular = regular
        self._open: list[RowSource] = []
        self._place = Place(self.name, 0, "row")
        self.size = sum(size_of(os.path.join(path, file)) for file in _FILES)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        try:
            for place, row in self._rows():
                number += 1
                self._place = Place(place.file, number, place.unit, number - place.number)
                yield number, row
        finally:
            self.close()

    @property
    def position(self) -> int:
        return sum(rows.position for rows in self._open)

    def place(self, number: int) -> Place:
        return self._place

    def close(self) -> None:
        for rows in self._open:
            rows.close()

    def _rows(self) -> Iterator[tuple[Place, bytes]]:
        """Yield the tools, then each record, and before it the conversations up to its own."""
        if os.path.exists(os.path.join(self._path, TOOLS)):
            yield from ((place, b'{"tools":%b}' % row) for place, row in self._file(TOOLS))
        conversations = self._file(CONVERSATIONS)
        defined: set[str] = set()
        for place, record in self._file(RECORDS):
            needed = _conversation_of(record)
            while needed and needed not in defined:
                following = next(conversations, None)
                if following is None:  # reported when the record is read
                    break
                defined.add(_id_of(following[1]))
                yield following[0], b'{"conversation":%b}' % following[1]
            yield place, record
        yield from ((place, b'{"conversation":%b}' % row) for place, row in conversations)

    def _file(self, name: str) -> Iterator[tuple[Place, bytes]]:
        rows = open_rows(os.path.join(self._path, name), regular=self._regular)
        self._open.append(rows)
        for number, row in rows:
            yield rows.place(number), row


class ReferenceTables:
    """Context manager that writes lines of `ReferenceWriter` to such a folder."""

    def __init__(self, path: str) -> None:
        self._target = Path(os.path.realpath(path))
        self._name = scrub(path)
        self._partial = self._target.with_name(f"{self._target.name}.partial-{os.getpid()}")
        self._outputs = {name: Output(str(self._partial / name)) for name in _FILES}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._target.exists() and not (self._target.is_dir() and {each.name for each in self._target.iterdir()} <= {*_FILES}):
            raise BadInput(f"{self._name}: already exists, but is not a folder of cases by reference", "Remove it, or choose another name.")
        shutil.rmtree(self._partial, ignore_errors=True)
        try:
            for output in self._outputs.values():
                self._stack.enter_context(output)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def line(self, line: bytes) -> None:
        """Write a line to the file that it belongs to."""
        for prefix, name in _PREFIXES:
            if line.startswith(prefix):
                self._outputs[name].line(line[len(prefix) : -1])
                return
        self._outputs[RECORDS].line(line)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._stack.__exit__(kind, error, trace)
            if kind is None:
                shutil.rmtree(self._target, ignore_errors=True)
                self._partial.rename(self._target)
        except OSError as problem:
            raise StorageError(f"{self._name}: cannot be written: {problem.strerror or problem}") from None
        finally:
            shutil.rmtree(self._partial, ignore_errors=True)


def _conversation_of(record: bytes) -> str:
    """Return the id of the conversation that a record refers to; empty if the record cannot be read, which is reported later."""
    try:
        return _decode_record(record).source.conversation
    except (ValueError, RecursionError):
        return ""


def _id_of(conversation: bytes) -> str:
    try:
        return _decode_conversation(conversation).id
    except (ValueError, RecursionError):
        return ""
