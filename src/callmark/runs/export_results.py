"""The grades of a run as a table for other programs: CSV, JSONL or Parquet, a row for each, as `Run.rows` gives them.

CSV and JSONL are written row by row, Parquet block by block, so memory stays flat. A run without grades gives a table without rows.

A cell of CSV that a spreadsheet would take for a formula gets an apostrophe before it; control characters are written out (`\\x1b`).
Numbers stay numbers. JSONL and Parquet hold every text as it is.
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

from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.grading.grader import GradeRecord
from callmark.runs.run import Run, result_row

Form = Literal["csv", "parquet", "jsonl"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # some programs take the wide ones for the others
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_WHOLE = frozenset({"trial", "message", "prompt_characters", "input_tokens", "output_tokens"})
_FRACTIONS = frozenset({"seconds", "cost"})
_BLOCK = 50_000  # rows of Parquet written at once


def export_results(run: Run, form: Form, out: str) -> int:
    """Write the table to a file, whole or not at all (`-` is standard output, of Parquet refused), and give back how many rows it has."""
    if form == "parquet":
        return _write_parquet(run, out)
    lines = csv_lines(run) if form == "csv" else map(msgspec.json.encode, run.rows())
    return write_lines(out, lines) - (form == "csv")


def csv_lines(run: Run) -> Iterator[bytes]:
    """The lines of a CSV file (RFC 4180) without their last LF, the header first."""
    row = csv.writer(_Given()).writerow
    yield row([_cell(name) for name in _columns(run)]).encode()[:-1]
    for each in run.rows():
        yield row([_cell(value) for value in each.values()]).encode()[:-1]


class _Given:
    """What `csv.writer` writes to: `writerow` then gives back the line."""

    def write(self, text: str) -> str:
        return text


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value if value.isprintable() else _CONTROL.sub(_written_out, value)
    return f"'{text}" if value.startswith(_FORMULA) else text


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "surrogatepass").decode()


def _columns(run: Run) -> tuple[str, ...]:
    return tuple(result_row(GradeRecord(""), run.info.metrics))


def _write_parquet(run: Run, out: str) -> int:
    if out == "-":
        raise BadInput("Parquet cannot go to standard output", "-o FILE names a file.")
    write = _parquet_writer()
    target = Path(os.path.realpath(out))
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
    try:
        if target.is_dir():
            raise BadInput(f"{out} is a directory, a file to write was expected")
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = write(str(partial), run)
        partial.replace(target)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return rows


def _parquet_writer() -> Callable[[str, Run], int]:
    for library, write in (("pyarrow.parquet", _with_pyarrow), ("polars", _with_polars)):
        try:
            found = import_module(library)
        except ImportError:
            continue
        return lambda path, run: write(found, path, run)
    raise BadInput("Parquet needs pyarrow or polars, and neither is installed", "pip install pyarrow; or --to csv, --to jsonl.")


def _with_pyarrow(parquet: Any, path: str, run: Run) -> int:
    pyarrow = import_module("pyarrow")
    kinds = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in _kinds(run).items()])
    count = 0
    with parquet.ParquetWriter(path, schema) as writer:
        for block in _blocks(run.rows()):
            writer.write_table(pyarrow.Table.from_pylist(block, schema=schema))
            count += len(block)
    return count


def _with_polars(polars: Any, path: str, run: Run) -> int:
    kinds = {int: polars.Int64, float: polars.Float64, str: polars.String}
    frame = polars.DataFrame(run.rows(), schema={name: kinds[kind] for name, kind in _kinds(run).items()})
    frame.write_parquet(path)
    return int(frame.height)


def _kinds(run: Run) -> dict[str, type]:
    """What each column holds: said beforehand, as one that is empty could be anything."""
    fractions = _FRACTIONS.union(run.info.metrics)
    return {name: int if name in _WHOLE else float if name in fractions else str for name in _columns(run)}


def _blocks(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    left = iter(rows)
    while block := list(islice(left, _BLOCK)):
        yield block
