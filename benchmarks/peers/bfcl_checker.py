"""Measure the speed of the Berkeley Function Calling Leaderboard's checker. Run by benchmarks/grading.py in an environment with bfcl-eval.

The checker takes decoded arguments, a function description with Python type names and, for each argument, a list of correct values. The
description and the list are created beforehand. It is timed on arguments decoded beforehand, and again including `json.loads` of the actual
call's arguments, which its own handlers do. Prints one JSON line.

    python benchmarks/peers/bfcl_checker.py CALLS.json [--passes 5]
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

TYPES = {"number": "float", "object": "dict"}  # types with another name than in JSON Schema
MODEL = "model"  # only used for function names with a dot, which do not occur here
CATEGORY = "simple_python"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("calls")
    parser.add_argument("--passes", type=int, default=5)
    options = parser.parse_args()
    given = json.loads(Path(options.calls).read_text(encoding="utf-8"))
    check, python = checker()
    functions = {tool["function"]["name"]: description(tool["function"]) for tool in given["tools"]}
    rows = []
    for pair in given["pairs"]:
        expected, made = pair["expected"]["function"], pair["made"]["function"]
        answer = {expected["name"]: {key: [value] for key, value in json.loads(expected["arguments"]).items()}}
        rows.append(([functions[expected["name"]]], made["name"], made["arguments"], json.loads(made["arguments"]), [answer]))

    def valid(function: list[Any], name: str, made: Any, answer: list[Any]) -> bool:
        return bool(check(function, [{name: made}], answer, python, CATEGORY, MODEL)["valid"])

    def decoded() -> int:
        return sum([valid(function, name, made, answer) for function, name, _, made, answer in rows])

    def from_strings() -> int:
        return sum([valid(function, name, json.loads(text), answer) for function, name, text, _, answer in rows])

    best, right = best_of(decoded, options.passes)
    best_from_strings, _ = best_of(from_strings, options.passes)
    line = {
        "name": "bfcl-eval",
        "version": metadata.version("bfcl-eval"),
        "per_second": len(rows) / best,
        "from_strings": len(rows) / best_from_strings,
        "right": right,
        "note": "ast_checker, one Python function, on arguments decoded beforehand; from strings: including json.loads of the arguments",
    }
    print(json.dumps(line))


def checker() -> tuple[Callable[..., dict[str, Any]], Any]:
    """Return `ast_checker` and its constant for Python.

    Its module imports the table of all models, and with it every vendor's client. None of them is needed to check a call, so the table is
    replaced by an empty one, and bfcl-eval can be installed without dependencies.
    """
    models = ModuleType("bfcl_eval.constants.model_config")
    models.__dict__["MODEL_CONFIG_MAPPING"] = {}
    sys.modules[models.__name__] = models
    from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found, unused-ignore]
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # type: ignore[import-not-found, unused-ignore]

    return ast_checker, Language.PYTHON


def description(function: dict[str, Any]) -> dict[str, Any]:
    """Return the function with the checker's type names."""
    schema = function["parameters"]
    properties = {key: {**one, "type": TYPES.get(one["type"], one["type"])} for key, one in schema["properties"].items()}
    return {"name": function["name"], "parameters": {"type": "dict", "properties": properties, "required": schema["required"]}}


def best_of(way: Callable[[], int], passes: int) -> tuple[float, int]:
    best, right = float("inf"), 0
    for _ in range(passes):
        began = time.perf_counter()
        right = way()
        best = min(best, time.perf_counter() - began)
    return best, right


if __name__ == "__main__":
    main()
