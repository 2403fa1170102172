"""Do Ray Data, Polars and Hugging Face datasets give identical columns, if they map `callmark.arrow.grade_batch` over one Parquet file?

Writes a Parquet file of decision points with their predictions, cut from real conversations and repeated with new ids: a third wrong, some
errors, some rows that cannot be read. Each engine grades it in batches of its own; the columns must be those of `grade_batch` on the
whole file: the same values, and after `cast` the same types. Also prints the rows per core-second of `grade_batch` alone, by shape: with
JSON texts in the columns, with structs, and by reference.

Needs Ray, Polars and datasets: `make ray-proof` runs it in an environment of its own. Exits with status 1 if anything differs.

    python benchmarks/engines.py [--copies 20] [--batch 256]
"""

import argparse
import json
import logging
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

import callmark
from callmark.arrow import grade_batch, schema, summarize
from callmark.formats.openai import write
from data import default_source

PREDICTION = ["tool_calls", "error"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "logged.parquet")
        rows = logged_rows(options.copies)
        parquet.write_table(in_json(rows), path, row_group_size=1000)
        print(f"{len(rows):,} decision points with predictions, {path.stat().st_size / 1e6:.1f} MB")
        expected = by_case(grade_batch(parquet.read_table(path), PREDICTION))
        print(f"  {'pyarrow':10} {expected.num_rows:,} rows, {len(expected.schema)} columns, {rejected(expected):,} rejected")
        engines: dict[str, Callable[[Path, int], pyarrow.Table]] = {"Ray Data": in_ray_data, "Polars": in_polars, "datasets": in_datasets}
        problems = 0
        for name, engine in engines.items():
            found = by_case(engine(path, options.batch).cast(schema()))
            same = found.equals(expected) and summarize([found]) == summarize([expected])
            problems += not same
            print(f"  {name:10} identical columns: {'ok' if same else 'FAILED'}")
        show_speed(rows)
    return 1 if problems else 0


def in_ray_data(path: Path, batch: int) -> pyarrow.Table:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    ray.init(address="local", include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    graded = ray.data.read_parquet(str(path)).map_batches(
        partial(grade_batch, prediction=PREDICTION), batch_format="pyarrow", batch_size=batch
    )
    found = pyarrow.concat_tables(ray.get(graded.to_arrow_refs()))
    ray.shutdown()
    return found


def in_polars(path: Path, batch: int) -> pyarrow.Table:
    import polars

    def grade(frame: polars.DataFrame) -> polars.DataFrame:
        return polars.DataFrame(grade_batch(frame.to_arrow(), PREDICTION))

    columns = polars.DataFrame(schema().empty_table()).schema
    graded = polars.scan_parquet(path).map_batches(grade, schema=columns).collect()
    return graded.to_arrow()


def in_datasets(path: Path, batch: int) -> pyarrow.Table:
    import datasets

    datasets.disable_progress_bars()
    logged = datasets.Dataset.from_parquet(str(path), cache_dir=str(path.parent)).with_format("arrow")
    grade = partial(grade_batch, prediction=PREDICTION)
    return logged.map(grade, batched=True, batch_size=batch, remove_columns=logged.column_names).data.table


def by_case(table: pyarrow.Table) -> pyarrow.Table:
    """Return a table in the order of its cases: engines may change it. Metadata of engines is dropped."""
    keys = [("case", "ascending"), ("rejected", "ascending")]
    return table.replace_schema_metadata(schema().metadata).sort_by(keys).combine_chunks()


def rejected(table: pyarrow.Table) -> int:
    return int(table.num_rows - table.column("rejected").null_count)


def show_speed(rows: list[dict[str, Any]]) -> None:
    shapes = {"JSON texts": in_json(rows), "structs": pyarrow.Table.from_pylist(rows), "by reference": by_reference(rows)}
    for name, table in shapes.items():
        grade_batch(table.slice(0, 300), PREDICTION)
        best = 0.0
        for _ in range(3):
            began = time.process_time()
            for start in range(0, table.num_rows, 256):
                grade_batch(table.slice(start, 256), PREDICTION)
            best = max(best, table.num_rows / (time.process_time() - began))
        print(f"  {name:12} {best:8,.0f} rows per core-second, {table.nbytes / table.num_rows / 1e3:6.1f} kB each")


def logged_rows(copies: int) -> list[dict[str, Any]]:
    chooser = random.Random(3)
    points = [json.loads(write(case)) for case in callmark.expand(default_source())]
    rows = []
    for copy in range(copies):
        for point in points:
            calls = json.loads(json.dumps(point["expected_output"]["tool_calls"]))
            if chooser.random() < 1 / 3:
                arguments = json.loads(calls[0]["function"]["arguments"])
                calls[0]["function"]["arguments"] = json.dumps({**arguments, next(iter(arguments), "x"): "something else"})
            row = {**point, "id": f"{copy}-{point['id']}", "tool_calls": calls, "error": None}
            row["source"] = {**point["source"], "conversation": f"{copy}-{point['source']['conversation']}"}
            if chooser.random() < 0.01:
                row = {**row, "tool_calls": None, "error": "HTTP 503"}
            rows.append(row)
    return rows


def in_json(rows: list[dict[str, Any]]) -> pyarrow.Table:
    """Return rows as a table in which nested values are JSON. A few rows have messages that cannot be read."""
    table = {key: [text(row[key]) for row in rows] for key in rows[0]}
    for number in range(50, len(rows), 500):
        table["messages"][number] = "not a list"
    return pyarrow.table({key: pyarrow.array(cells, pyarrow.string()) for key, cells in table.items()})


def text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def by_reference(rows: list[dict[str, Any]]) -> pyarrow.Table:
    """Return the same rows with their whole conversation in a column with few different values."""
    whole = {row.id: json.loads(write(row)) for row in callmark.load(default_source())}
    conversations = []
    for row in rows:
        name = row["source"]["conversation"]
        conversations.append(json.dumps({"id": name, "messages": whole[name.partition("-")[2]]["messages"]}))
    table = {key: [text(row[key]) for row in rows] for key in ("id", "source", "expected_output", *PREDICTION)}
    tools = pyarrow.array([json.dumps(row["tools"]) for row in rows])
    columns = {key: pyarrow.array(cells, pyarrow.string()) for key, cells in table.items()}
    return pyarrow.table({**columns, "conversation": pyarrow.array(conversations).dictionary_encode(), "tools": tools.dictionary_encode()})


if __name__ == "__main__":
    sys.exit(main())
