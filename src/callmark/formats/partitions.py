"""Parts of large files, each of which can be read alone: ranges of lines of JSONL files, row groups of Parquet files.

`scan_file` looks through one file, `plan` turns the scans of all files into partitions, and `PartitionRows` reads one of them. The rows
have the numbers that they have when all files are read as one dataset (`file_sets.py`), so that messages and generated ids are the same.

Decision points by reference need definitions of earlier rows (`by_reference.py`): a partition knows where those that it needs and does not
contain are, in whatever file, and they are read before its own rows. A conversation and its records stay together where possible.

Anything but plain JSONL and Parquet raises `BadInput`, and so does a file that has changed since it was scanned. Empty files have no
partition.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import IO, NamedTuple

import msgspec
from msgspec import Struct, structs

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.by_reference import DEFINITION
from callmark.formats.compression import Compression
from callmark.formats.detect import split_container
from callmark.formats.row_source import open_rows
from callmark.formats.rows import BOM, Rows, open_file
from callmark.formats.tables import TableRows
from callmark.types import Place, PlaceUnit

PARTITION_BYTES = 1 << 25
_BLOCK = 1 << 23
_TAIL = 1 << 16
_LONGEST = 2  # times the size of a partition, before a conversation is divided


class Definition(Struct, frozen=True, array_like=True):
    """A row that other rows refer to.

    Attributes:
        key: `tools` or `conversation`, and its id.
        file: Path of the file.
        start: Offset in the file.
        size: Number of bytes.
        number: Number of the line in the file.
        needs: Key of the tools that a conversation refers to; empty without.
        before: Number of the rows in the files before this one.
    """

    key: str
    file: str
    start: int
    size: int
    number: int
    needs: str = ""
    before: int = 0


class Piece(Struct, frozen=True):
    """A part of one file: a range of bytes, or of row groups; the number of its first row in the file; what its rows define, and what they
    use before it is defined in this piece.
    """

    start: int
    end: int
    number: int
    definitions: list[Definition] = []
    uses: list[str] = []


class FileScan(Struct, frozen=True):
    """The pieces of one file, and the number of its last row."""

    path: str
    unit: PlaceUnit
    size: int
    last: int
    pieces: list[Piece]


class Partition(Struct, frozen=True):
    """A part of a dataset.

    Attributes:
        number: Number of the partition, starting at 0.
        path: Absolute path of the file.
        name: Name of the file in messages.
        unit: `line` for JSONL, `row` for Parquet.
        start: Offset of the first byte, or index of the first row group.
        end: Offset after the last byte, or index after the last row group.
        first: Number of the first row in the file.
        before: Number of rows in the files before this one.
        size: Size of the file when it was scanned.
        definitions: Earlier rows that its rows refer to.
    """

    number: int
    path: str
    name: str
    unit: PlaceUnit
    start: int
    end: int
    first: int
    before: int
    size: int
    definitions: list[Definition] = []


class Scan(NamedTuple):
    """What to scan: a file, whether its rows refer to each other, and the size of a partition in bytes."""

    path: str
    by_reference: bool = False
    partition_bytes: int = PARTITION_BYTES


def scan_file(scan: Scan) -> FileScan:
    """Return the pieces of a file, each about as large as a partition should be."""
    path, name = scan.path, scrub(scan.path)
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    if os.path.isfile(path) and not size:
        return FileScan(path, "line", 0, 0, [])
    with closing(open_rows(path)) as rows:
        if isinstance(rows, TableRows) and rows.kind == "Parquet":
            groups = rows.row_groups()
            pieces = _group_pieces(groups, scan.partition_bytes)
            return FileScan(path, "row", size, sum(count for count, _ in groups), pieces)
        if not isinstance(rows, Rows) or rows.unit != "line" or rows.compression is not None or not rows.rereadable:
            raise BadInput(
                f"{name}: cannot be divided into partitions: expected a Parquet file, or a JSONL file without compression",
                "callmark convert writes both.",
            )
        first = next(iter(rows), None)
        if first is not None and split_container(first[1]) is not None:
            raise BadInput(f"{name}: cannot be divided into partitions: one object holds all rows", "Write one row in each line.")
    with open_file(path, name) as file:
        if scan.by_reference:
            pieces = list(_reference_pieces(file, path, scan.partition_bytes))
        else:
            pieces = list(_line_pieces(file, scan.partition_bytes))
        last = _last_number(file, pieces)
    return FileScan(path, "line", size, last, pieces)


def plan(scans: Iterable[FileScan]) -> list[Partition]:
    """Return the partitions of files in this order."""
    partitions: list[Partition] = []
    known: dict[str, Definition] = {}
    before = 0
    for scan in scans:
        for piece in scan.pieces:
            # A repeated definition is checked against the first one when it is read.
            keys = [*piece.uses, *(definition.key for definition in piece.definitions if definition.key in known)]
            definitions = [structs.replace(definition, before=before) for definition in piece.definitions]
            partitions.append(
                Partition(
                    len(partitions), os.path.realpath(scan.path), scrub(scan.path), scan.unit, piece.start, piece.end, piece.number,
                    before, scan.size, _with_tools(keys, known),
                )
            )  # fmt: skip
            for definition in definitions:
                known.setdefault(definition.key, definition)
        before += scan.last
    return partitions


def _with_tools(keys: Sequence[str], known: dict[str, Definition]) -> list[Definition]:
    """Return the definitions of these keys that are known, and of the tools that they need, tools first."""
    found = dict.fromkeys(known[key] for key in keys if key in known)
    tools = dict.fromkeys(known[each.needs] for each in found if each.needs in known)
    return list(dict.fromkeys([*tools, *sorted(found, key=lambda each: bool(each.needs))]))


class PartitionRows:
    """The rows of a partition, as `(number, bytes)`, after the definitions that they need."""

    rereadable = True
    compression: Compression | None = None

    def __init__(self, partition: Partition) -> None:
        self.name = partition.name
        self.unit = partition.unit
        self.size = partition.end - partition.start if partition.unit == "line" else 0
        self.position = 0
        self.offset = 0  # in the file, of the last row; only of lines
        self.is_definition = False  # whether the last row is one of another partition
        self._partition = partition
        self._place = Place(self.name, 0, self.unit)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        partition = self._partition
        for definition, row in _read_definitions(partition.definitions):
            self.is_definition = True
            self._place = Place(scrub(definition.file), definition.before + definition.number, "line", definition.before)
            yield self._place.number, row
        self.is_definition = False
        with open_file(partition.path, self.name) as file:
            if os.fstat(file.fileno()).st_size != partition.size:
                raise BadInput(
                    f"{self.name}: the file has changed since it was divided into partitions", "Start again with another folder."
                )
            rows = self._lines(file) if self.unit == "line" else self._table(file)
            for number, row in rows:
                self._place = Place(self.name, partition.before + number, self.unit, partition.before)
                yield self._place.number, row

    def place(self, number: int) -> Place:
        """Return the place of the row that was read last."""
        return self._place

    def close(self) -> None:
        """Do nothing; the file is closed when the iteration ends."""

    def _lines(self, file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
        partition = self._partition
        file.seek(partition.start)
        following = partition.start
        for number, line in enumerate(file, partition.first):
            row = line.removeprefix(BOM) if number == 1 else line
            self.offset = following + len(line) - len(row)
            following += len(line)
            self.position = following - partition.start
            if not row.isspace():
                yield number, row
            if following >= partition.end:
                return

    def _table(self, file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
        partition = self._partition
        table = TableRows(file, self.name, "Parquet", row_groups=range(partition.start, partition.end))
        for number, row in table:
            yield partition.first - 1 + number, row


def _group_pieces(groups: Sequence[tuple[int, int]], partition_bytes: int) -> list[Piece]:
    """Return pieces of consecutive row groups, given as their numbers of rows and of bytes."""
    pieces: list[Piece] = []
    start, number, size, rows = 0, 1, 0, 0
    for index, (count, group_bytes) in enumerate(groups):
        if index > start and size + group_bytes > partition_bytes:
            pieces.append(Piece(start, index, number))
            start, number, size, rows = index, number + rows, 0, 0
        size += group_bytes
        rows += count
    return [*pieces, Piece(start, len(groups), number)] if rows or pieces else pieces


def _line_pieces(file: IO[bytes], partition_bytes: int) -> Iterator[Piece]:
    """Yield pieces that end after the first line that makes them large enough."""
    start, number = 0, 1
    offset, lines = 0, 0  # of the block, and line breaks before it
    while block := file.read(_BLOCK):
        counted = 0
        while (at := block.find(b"\n", max(start + partition_bytes - 1 - offset, 0))) >= 0 and offset + at + 1 >= start + partition_bytes:
            lines += block.count(b"\n", counted, at + 1)
            counted = at + 1
            yield Piece(start, offset + at + 1, number)
            start, number = offset + at + 1, lines + 1
        lines += block.count(b"\n", counted)
        offset += len(block)
    if offset > start or not start:
        yield Piece(start, offset, number)


class _ToolsRow(Struct):
    class Tools(Struct):
        id: str

    tools: Tools


class _ConversationRow(Struct):
    class Conversation(Struct):
        id: str
        tools_ref: str | None = None

    conversation: Conversation


class _RecordRow(Struct):
    class Source(Struct):
        conversation: str

    source: Source


_decode_tools = msgspec.json.Decoder(_ToolsRow).decode
_decode_conversation = msgspec.json.Decoder(_ConversationRow).decode
_decode_record = msgspec.json.Decoder(_RecordRow).decode


def _reference_pieces(file: IO[bytes], path: str, partition_bytes: int) -> Iterator[Piece]:
    """Yield pieces that end before a definition, where possible. A row that cannot be read is reported by the partition that it is in."""
    path = os.path.realpath(path)
    start, first, offset = 0, 1, 0
    own: dict[str, Definition] = {}
    uses: dict[str, None] = {}
    for number, line in enumerate(file, 1):
        is_definition = DEFINITION.match(line) is not None
        if offset - start >= partition_bytes and (is_definition or offset - start >= _LONGEST * partition_bytes):
            yield Piece(start, offset, first, list(own.values()), list(uses))
            start, first, own, uses = offset, number, {}, {}
        try:
            key, needs = _keys(line, is_definition=is_definition)
        except (ValueError, RecursionError):
            key = needs = ""
        if needs and needs not in own:
            uses[needs] = None
        if key:
            own.setdefault(key, Definition(key, path, offset, len(line), number, needs))
        offset += len(line)
    yield Piece(start, offset, first, list(own.values()), list(uses))


def _keys(line: bytes, *, is_definition: bool) -> tuple[str, str]:
    """Return the key that a line defines and the key that it refers to; empty if there is none."""
    if not is_definition:
        return "", f"conversation:{_decode_record(line).source.conversation}"
    if line.lstrip()[1:].lstrip().startswith(b'"tools"'):
        return f"tools:{_decode_tools(line).tools.id}", ""
    found = _decode_conversation(line).conversation
    return f"conversation:{found.id}", "" if found.tools_ref is None else f"tools:{found.tools_ref}"


def _read_definitions(definitions: Sequence[Definition]) -> Iterator[tuple[Definition, bytes]]:
    file, path = None, ""
    try:
        for definition in definitions:
            if file is None or definition.file != path:
                if file is not None:
                    file.close()
                path = definition.file
                file = open_file(path, scrub(path))
            file.seek(definition.start)
            yield definition, file.read(definition.size)
    finally:
        if file is not None:
            file.close()


def _last_number(file: IO[bytes], pieces: Sequence[Piece]) -> int:
    """Return the number of the last line that is not blank; 0 if there is none."""
    for piece in reversed(pieces):
        file.seek(piece.start)
        lines, last = 0, 0
        rest = piece.end - piece.start
        while rest and (block := file.read(min(_BLOCK, rest))):
            rest -= len(block)
            content = block.rstrip()
            if content:
                last = lines + content.count(b"\n") + 1
            lines += block.count(b"\n")
        if last:
            return piece.number + last - 1
    return 0
