"""Are tables read in flat memory, and how fast beside JSONL? The same decision points as JSONL, as Parquet of callmark, and as structs.

Each file is read in a process of its own, at one size and at four times that. Prints rows per second of CPU, and the peak of memory.
Exits with status 1 if the larger file needs more than 1.3 times the memory of the smaller one.

    python benchmarks/tables.py [--megabytes 100]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import callmark
from callmark.formats import Output

HOTEL = Path(callmark.__file__).parent / "worlds" / "hotel" / "hotel.jsonl"
MOST = 1.3
BLOCK = 1000  # rows of a table of structs


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=100, help="of JSONL")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read(options.read)))
        return 0
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("jsonl", "parquet", "structs.parquet"):
            peaks = []
            for factor in (1, 4):
                path = Path(folder) / f"rows-{factor}.{kind}"
                write(path, options.megabytes * factor << 20)
                command = [sys.executable, __file__, "--read", str(path)]
                found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
                size = path.stat().st_size / 1e6
                peaks.append(found["megabytes"])
                text = f"{options.megabytes * factor} MB of JSON, {size:,.1f} MB on disk"
                print(f"{kind}, {text}: {found['rate']:,.0f} rows/s, {found['megabytes']} MB of memory", flush=True)
                path.unlink()
            failed = failed or peaks[1] > MOST * peaks[0]
    return 1 if failed else 0


def read(path: str) -> dict[str, float]:
    with callmark.load(path) as dataset:
        next(iter(dataset))  # imports
        began = time.process_time()
        rows = sum(1 for _ in dataset)
        rate = rows / (time.process_time() - began)
    return {"rate": rate, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}


def write(path: Path, size: int) -> None:
    if path.name.endswith("structs.parquet"):
        write_structs(path, size)
        return
    with Output(str(path)) as output:
        for line in lines(size):
            output.line(line)


def write_structs(path: Path, size: int) -> None:
    import pyarrow
    from pyarrow import parquet

    found = lines(size)
    first = [json.loads(next(found)) for _ in range(BLOCK)]
    table = pyarrow.Table.from_pylist(first)
    with parquet.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        block: list[dict[str, object]] = []
        for line in found:
            block.append(json.loads(line))
            if len(block) == BLOCK:
                writer.write_table(pyarrow.Table.from_pylist(block, schema=table.schema))
                block = []


def lines(size: int) -> Iterator[bytes]:
    """Yield decision points until they have this many bytes."""
    cases = list(callmark.expand(str(HOTEL)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.jsonl"
        callmark.write(cases, path)
        rows = path.read_bytes().splitlines()
    written = 0
    for number in count():
        for row in rows:
            line = row.replace(b'"id":"', b'"id":"%d-' % number, 1)
            written += len(line)
            yield line
        if written > size:
            return


if __name__ == "__main__":
    sys.exit(main())
