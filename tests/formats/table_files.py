"""The same rows in other containers: tables of structs, tables with JSON in columns of text, CSV, and Parquet as callmark writes it."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import feather, parquet

from callmark.formats import write_lines
from tests.rows import write_rows

Rows = Sequence[dict[str, Any]]


def columns_of(rows: Rows) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def write_structs(rows: Rows, folder: Path) -> Path:
    """Write an Arrow file in which lists and objects are lists and structs, padded with nulls. Only Arrow has structs without fields."""
    path = folder / "structs.arrow"
    padding = dict.fromkeys(columns_of(rows))
    feather.write_feather(pyarrow.Table.from_pylist([{**padding, **row} for row in rows]), str(path))
    return path


def write_parquet_structs(rows: Rows, folder: Path) -> Path:
    path = folder / "structs.parquet"
    padding = dict.fromkeys(columns_of(rows))
    parquet.write_table(pyarrow.Table.from_pylist([{**padding, **row} for row in rows]), path)
    return path


def write_json_texts(rows: Rows, folder: Path) -> Path:
    """Write a Parquet file in which lists and objects are JSON in columns of text."""
    path = folder / "texts.parquet"
    parquet.write_table(pyarrow.table({key: [_cell(row.get(key)) for row in rows] for key in columns_of(rows)}), path)
    return path


def write_csv(rows: Rows, folder: Path) -> Path:
    path = folder / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns_of(rows))
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items() if value is not None} for row in rows)
    return path


def write_parquet(rows: Rows, folder: Path) -> Path:
    """Write a Parquet file as `convert -o FILE.parquet` does."""
    path = folder / "rows.parquet"
    write_lines(str(path), (json.dumps(row).encode() for row in rows))
    return path


def write_jsonl(rows: Rows, folder: Path) -> Path:
    path = folder / "rows.jsonl"
    write_rows(path, *rows)
    return path


CONTAINERS: dict[str, Callable[[Rows, Path], Path]] = {
    "structs": write_structs,
    "JSON texts": write_json_texts,
    "CSV": write_csv,
    "Parquet": write_parquet,
}


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
