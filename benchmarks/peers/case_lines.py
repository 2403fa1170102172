"""Read the cases of benchmarks/parity.py and print a system's numbers: each is one line of JSON.

The first line that is printed names the version. A number is a string if the system raised: the type of the exception. A metric that cannot
express a case is left out.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

Calls = list[dict[str, Any]]  # name, arguments
Metric = Callable[[Calls, Calls], Any]  # expected and actual calls; None if the metric cannot express the case


def answer(package: str, metrics: Mapping[str, Metric]) -> None:
    """Print the metrics of every case on standard input. Whatever the package prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with contextlib.redirect_stdout(sys.stderr):
        out.write(json.dumps({"version": metadata.version(package)}) + "\n")
        for line in sys.stdin:
            numbers = {name: _number(metric, line) for name, metric in metrics.items()}
            out.write(json.dumps({name: number for name, number in numbers.items() if number is not None}) + "\n")
    out.close()


def _number(metric: Metric, line: str) -> Any:
    case = json.loads(line)  # again for each metric, as a package may change what it is given
    try:
        number = metric(case["expected"], case["actual"])
    except Exception as error:
        return type(error).__name__
    return None if number is None else float(number)
