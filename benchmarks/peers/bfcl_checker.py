"""How fast is the checker of the Berkeley Function Calling Leaderboard? Run by benchmarks/grading.py, in an environment with bfcl-eval.

The checker wants decoded arguments, a function description with Python's type names and, of each argument, a list of the values that
are right. The description and that list are made beforehand; so are the decoded arguments, and timed once more with `json.loads` of
the made call's arguments inside, which its own handlers do. Prints one JSON line.

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

TYPES = {"number": "float", "object": "dict"}  # where the checker has another word than JSON Schema
MODEL = "model"  # asked about only for a function name with a dot in it; there is none
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
        "note": "ast_checker, one Python function, on arguments decoded beforehand; from strings: json.loads of the made arguments inside",
    }
    print(json.dumps(line))


def checker() -> tuple[Callable[..., dict[str, Any]], Any]:
    """`ast_checker` and its word for Python.

    Its module imports the table of every model and with it every vendor's client; none is needed to check a call, so that an empty table
    stands in for it and bfcl-eval can be installed without dependencies.
    """
    models = ModuleType("bfcl_eval.constants.model_config")
    models.__dict__["MODEL_CONFIG_MAPPING"] = {}
    sys.modules[models.__name__] = models
    from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found, unused-ignore]
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # type: ignore[import-not-found, unused-ignore]

    return ast_checker, Language.PYTHON


def description(function: dict[str, Any]) -> dict[str, Any]:
    """The function with the checker's type names."""
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
