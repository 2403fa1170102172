"""Export the grades of a run as a table: CSV, JSONL or Parquet, one row per grade, as `Run.rows` yields them.

CSV and JSONL are written row by row, Parquet block by block, so memory use is constant. A run without grades gives a table without rows.

In CSV, text that a spreadsheet would read as a formula is prefixed with an apostrophe, and control characters are escaped (`\\x1b`);
numbers are unchanged. JSONL and Parquet contain all text unchanged.
"""

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from callmark.errors import BadInput, StorageError
from callmark.formats import write_lines
from callmark.grading.record import GradeRecord
from callmark.runs.run import Run, grade_row

TableFormat = Literal["csv", "parquet", "jsonl"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # some programs treat the full-width characters the same
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_INTEGER_COLUMNS = frozenset({"trial", "message", "prompt_characters", "input_tokens", "output_tokens"})
_FLOAT_COLUMNS = frozenset({"seconds", "cost"})
_BLOCK = 50_000  # rows of Parquet written at once


def export_results(run: Run, table_format: TableFormat, out: str) -> int:
    """Write the table, completely or not at all, and return the number of rows. `-` is standard output, except for Parquet."""
    if table_format == "parquet":
        return _write_parquet(run, out)
    lines = csv_lines(run) if table_format == "csv" else map(msgspec.json.encode, run.rows())
    return write_lines(out, lines) - (table_format == "csv")


def csv_lines(run: Run) -> Iterator[bytes]:
    """Yield the lines of a CSV file (RFC 4180), starting with the header, each without its final LF."""
    format_row = csv.writer(_ReturningWriter()).writerow
    yield format_row([_cell(name) for name in _columns(run)]).encode()[:-1]
    for row in run.rows():
        yield format_row([_cell(value) for value in row.values()]).encode()[:-1]


class _ReturningWriter:
    """A file object for `csv.writer` that makes `writerow` return the line."""

    def write(self, text: str) -> str:
        return text


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value if value.isprintable() else _CONTROL.sub(_escape, value)
    return f"'{text}" if value.startswith(_FORMULA) else text


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode()


def _columns(run: Run) -> tuple[str, ...]:
    return tuple(grade_row(GradeRecord(""), tuple(run.info.metrics)))


def _write_parquet(run: Run, out: str) -> int:
    if out == "-":
        raise BadInput("Parquet cannot be written to standard output", "Pass -o FILE.")
    write = _parquet_writer()
    target = Path(os.path.realpath(out))
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
    try:
        if target.is_dir():
            raise BadInput(f"{out}: expected a file to write, got a directory")
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = write(str(partial), run)
        partial.replace(target)
    except OSError as error:
        raise StorageError(f"{out}: cannot be written: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return rows


def _parquet_writer() -> Callable[[str, Run], int]:
    for library, write in (("pyarrow.parquet", _write_with_pyarrow), ("polars", _write_with_polars)):
        try:
            module = import_module(library)
        except ImportError:
            continue
        return lambda path, run: write(module, path, run)
    raise BadInput(
        "Parquet requires pyarrow or polars, and neither is installed", "Run pip install pyarrow, or use --to csv or --to jsonl."
    )


def _write_with_pyarrow(parquet: Any, path: str, run: Run) -> int:
    pyarrow = import_module("pyarrow")
    types = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in _column_types(run).items()])
    count = 0
    with parquet.ParquetWriter(path, schema) as writer:
        for block in _blocks(run.rows()):
            writer.write_table(pyarrow.Table.from_pylist(block, schema=schema))
            count += len(block)
    return count


def _write_with_polars(polars: Any, path: str, run: Run) -> int:
    types = {int: polars.Int64, float: polars.Float64, str: polars.String}
    frame = polars.DataFrame(run.rows(), schema={name: types[kind] for name, kind in _column_types(run).items()})
    frame.write_parquet(path)
    return int(frame.height)


def _column_types(run: Run) -> dict[str, type]:
    """Return the type of each column, which cannot be inferred from an empty column."""
    floats = _FLOAT_COLUMNS.union(run.info.metrics)
    return {name: int if name in _INTEGER_COLUMNS else float if name in floats else str for name in _columns(run)}


def _blocks(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    remaining = iter(rows)
    while block := list(islice(remaining, _BLOCK)):
        yield block
