"""An index of predictions by the id of their case, so that each part of the cases finds its own without reading the others.

Each part of the predictions is indexed alone (`index_part`); the parts are then merged and sorted into files that every process maps into
memory (`merge_index`). An entry takes 16 bytes, and rows stay in their files; those of Parquet files are copied to lines of JSON. Finding
predictions takes a seek for each case, or none if they are in the order of the cases.

Predictions are matched by id only: a row without the id of its case raises `BadInput`. Rows that cannot be read are returned, or raise
`BrokenRow`. All files are written completely or not at all, and a part that is indexed already is not indexed again.
"""

import mmap
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput, BrokenRow
from callmark.formats import BadRow
from callmark.formats.output import Output, write_lines
from callmark.formats.partitions import Partition, PartitionRows
from callmark.formats.predictions import PredictionRow, read_row
from callmark.formats.rows import open_file
from callmark.formats.tables import load_pyarrow
from callmark.types import Place
from callmark.wording import end_sentence

_MERGED, _HASHES, _STARTS = "index.json", "hashes", "starts"
_TRIAL_HASHES, _TRIAL_STARTS = "trial-hashes", "trial-starts"  # one entry for each trial of a case: where it is first
_COLUMNS = (_HASHES, _STARTS, _TRIAL_HASHES, _TRIAL_STARTS)
_SORTED = 1 << 19  # entries that are sorted at a time
_OFFSET_BITS = 40  # of a start: the part, then the offset in its file
_OFFSETS = (1 << _OFFSET_BITS) - 1
_BY_ORDER = "--engine ray matches predictions to cases by ID only. Give every row the ID of its case, or grade without --engine."


class PartToIndex(Struct, frozen=True):
    """A part of the predictions, the folder of the index, and whether rows that cannot be read are skipped."""

    partition: Partition
    folder: str
    skip_bad: bool = False


class IndexedPart(Struct, frozen=True):
    """The index of a part: the hash of the case, the trial and the offset of each row, as 64-bit integers; the file that the offsets are
    for, and the rows that cannot be read.
    """

    path: str
    hashes: bytes
    trials: bytes
    offsets: bytes
    bad: list[BadRow] = []


class IndexInfo(Struct, frozen=True):
    """The files that the entries point to, by part; the number of predictions, and of those that repeat a trial."""

    paths: list[str]
    rows: int
    repeated: int


def case_hash(case: str) -> int:
    """Return a 64-bit integer for the id of a case."""
    import xxhash

    return xxhash.xxh3_64_intdigest(case.encode("utf-8", "surrogatepass"))


def index_part(part: PartToIndex) -> int:
    """Index a part of the predictions, and return its number of predictions."""
    partition = part.partition
    file = _part_file(part.folder, partition.number)
    if os.path.exists(file):
        return len(_read_part(file).hashes) // 8
    hashes, trials, offsets = array("Q"), array("q"), array("Q")
    bad: list[BadRow] = []
    rows = PartitionRows(partition)
    copy = f"{file}.jsonl" if partition.unit == "row" else None
    with Output(copy, replace=True) as output:
        position = 0
        for number, row in rows:
            place = rows.place(number)
            try:
                case, trial = _key(row, place)
            except BrokenRow as error:
                if not part.skip_bad:
                    raise BrokenRow(end_sentence(f"{place}: {error}"), error.hint) from None
                bad.append(BadRow(place, str(error), row))
                continue
            hashes.append(case_hash(case))
            trials.append(trial)
            offsets.append(position if copy else rows.offset)
            if copy:
                output.line(row)
                position += len(row) + 1
    found = IndexedPart(copy or partition.path, hashes.tobytes(), trials.tobytes(), offsets.tobytes(), bad)
    _write(file, msgspec.msgpack.encode(found))
    return len(hashes)


def merge_index(folder: str, parts: int) -> IndexInfo:
    """Merge the index of so many parts into one."""
    merged = Path(folder, _MERGED)
    if merged.exists():
        return msgspec.json.decode(merged.read_bytes(), type=IndexInfo)
    arrow = load_pyarrow("predictions are indexed")
    read = [_read_part(_part_file(folder, number)) for number in range(parts)]
    rows = sum(len(part.hashes) for part in read) // 8
    ranges = max(1, rows // _SORTED)
    trials = 0
    with ExitStack() as stack:
        outputs = {name: stack.enter_context(Output(os.path.join(folder, name), replace=True)) for name in _COLUMNS}
        for number in range(ranges):  # of hashes, one after the other
            low, high = (arrow.scalar((1 << 64) * at // ranges - (at == ranges), arrow.uint64()) for at in (number, number + 1))
            table = arrow.concat_tables([_rows_between(part, at, low, high, last=number == ranges - 1) for at, part in enumerate(read)])
            firsts = table.group_by(["hash", "trial"]).aggregate([("start", "min")])
            table = table.select(["hash", "start"]).sort_by([("hash", "ascending"), ("start", "ascending")])
            trials += firsts.num_rows
            for output, column in zip(outputs.values(), (table["hash"], table["start"], firsts["hash"], firsts["start_min"]), strict=True):
                output.piece(_bytes(column))
    info = IndexInfo([part.path for part in read], rows, rows - trials)
    write_lines(str(merged), [msgspec.json.encode(info)], replace=True)
    return info


def bad_predictions(folder: str, parts: int) -> Iterator[BadRow]:
    """Yield the rows that could not be read, in order."""
    for number in range(parts):
        yield from _read_part(_part_file(folder, number)).bad


class PredictionIndex:
    """The merged index of a folder, open for reading. It is a context manager."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.info = msgspec.json.decode(Path(folder, _MERGED).read_bytes(), type=IndexInfo)
        self._hashes = _map(os.path.join(folder, _HASHES))
        self._starts = _map(os.path.join(folder, _STARTS))
        self._file: IO[bytes] | None = None
        self._part = -1
        self._position = -1

    def __enter__(self) -> "PredictionIndex":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def find(self, cases: Iterable[str]) -> list[tuple[Place, PredictionRow]]:
        """Return the predictions of these cases, in the order of their files."""
        wanted = set(cases)
        starts: list[int] = []
        for case in wanted:
            key = case_hash(case)
            at = bisect_left(self._hashes, key)
            while at < len(self._hashes) and self._hashes[at] == key:
                starts.append(self._starts[at])
                at += 1
        found = ((start, read_row(self._line(start))) for start in sorted(starts))
        return [(Place("", start & _OFFSETS), row) for start, row in found if row.case in wanted]

    def unmatched(self, cases: Any) -> tuple[int, str]:
        """Return the number of predictions for none of these cases, given as a `pyarrow` array of hashes, and the case of the first one.

        Predictions that repeat a trial count once.
        """
        arrow = load_pyarrow("predictions are indexed")
        from pyarrow import compute

        hashes, starts = (_integers(arrow.uint64(), Path(self._folder, name).read_bytes()) for name in (_TRIAL_HASHES, _TRIAL_STARTS))
        rest = starts.filter(compute.invert(compute.is_in(hashes, value_set=cases)))
        if not len(rest):
            return 0, ""
        return len(rest), read_row(self._line(compute.min(rest).as_py())).case or ""

    def _line(self, start: int) -> bytes:
        part, offset = start >> _OFFSET_BITS, start & _OFFSETS
        if part != self._part:
            if self._file is not None:
                self._file.close()
            path = self.info.paths[part]
            self._file, self._part, self._position = open_file(path, scrub(path)), part, -1
        assert self._file is not None
        if offset != self._position:
            self._file.seek(offset)
        line = self._file.readline()
        self._position = offset + len(line)
        return line


def _key(row: bytes, place: Place) -> tuple[str, int]:
    """Return the id of the case and the trial of a prediction. A row that cannot be read raises `BrokenRow`."""
    try:
        found = read_row(row)
    except BadInput as error:
        raise BrokenRow(str(error), error.hint) from None
    if found.case is None:
        raise BadInput(f"{place}: the row has no case ID", _BY_ORDER)
    return found.case, found.prediction.trial


def _part_file(folder: str, number: int) -> str:
    return os.path.join(folder, f"part-{number:05}")


def _read_part(file: str) -> IndexedPart:
    return msgspec.msgpack.decode(Path(file).read_bytes(), type=IndexedPart)


def _write(path: str, content: bytes) -> None:
    with Output(path, replace=True) as output:
        output.piece(content)


def _rows_between(part: IndexedPart, number: int, low: Any, high: Any, *, last: bool) -> Any:
    """Return the rows of a part whose hashes are in a range, as a table."""
    arrow = load_pyarrow("predictions are indexed")
    from pyarrow import compute

    hashes = _integers(arrow.uint64(), part.hashes)
    below = compute.less_equal(hashes, high) if last else compute.less(hashes, high)
    chosen = compute.and_(compute.greater_equal(hashes, low), below)
    starts = compute.add(_integers(arrow.uint64(), part.offsets).filter(chosen), arrow.scalar(number << _OFFSET_BITS, arrow.uint64()))
    columns = {"hash": hashes.filter(chosen), "trial": _integers(arrow.int64(), part.trials).filter(chosen), "start": starts}
    return arrow.table(columns)


def _integers(kind: Any, content: bytes) -> Any:
    """Return 64-bit integers as a `pyarrow` array."""
    arrow = load_pyarrow("predictions are indexed")
    return arrow.Array.from_buffers(kind, len(content) // 8, [None, arrow.py_buffer(content)])


def _bytes(column: Any) -> bytes:
    """Return the 64-bit integers of a column."""
    pieces = []
    for chunk in column.chunks:
        values = chunk.buffers()[1]
        if values is not None:
            pieces.append(memoryview(values)[chunk.offset * 8 : (chunk.offset + len(chunk)) * 8])
    return b"".join(pieces)


def _map(path: str) -> Sequence[int]:
    """Return the 64-bit integers in a file, mapped into memory."""
    if not os.path.getsize(path):
        return array("Q")
    with open_file(path, path) as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast("Q")
