"""Does memory stay flat? Runs stats, filter and expand on a 2 GB file, each in its own process, and prints the peak memory.

python benchmarks/memory.py [--megabytes 2000] [--limit 300] [--to DIR]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from data import default_source, repeat_into

COMMANDS = {
    "stats": ["stats", "{file}", "--json"],
    "filter": ["filter", "{file}", "-o", "{out}", "--require", "find_* > get_*", "--consistent", "user_id", "--grounded"],
    "expand": ["expand", "{file}", "-o", "{out}"],
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--limit", type=int, default=300, help="MB")
    parser.add_argument("--to", default=None, help="folder for the files; default: a temporary folder")
    options = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory(dir=options.to) as folder:
        path = Path(folder, "big.jsonl")
        size = repeat_into(path, Path(default_source()), options.megabytes * 1_000_000)
        print(f"{size / 1e6:,.0f} MB of {default_source()}")
        for name, arguments in COMMANDS.items():
            most, seconds = measure([part.format(file=path, out=os.devnull) for part in arguments])
            verdict = "ok" if most <= options.limit else "FAILED"
            missed += most > options.limit
            print(f"  {name:8} peak {most:6.0f} MB  {seconds:6.1f} s   limit {options.limit} MB: {verdict}")
    return 1 if missed else 0


def measure(arguments: list[str]) -> tuple[float, float]:
    """Return the peak memory of one command in MB, and its seconds."""
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "callmark", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{arguments[0]} exited with status {child.returncode}")
    return peak(usage), time.perf_counter() - began


def peak(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    sys.exit(main())
