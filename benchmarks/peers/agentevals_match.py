"""Measure the speed of agentevals' trajectory match. Run by benchmarks/grading.py in an environment with agentevals.

The evaluator takes OpenAI messages and decodes the argument strings itself, so all of its work is timed. The messages, one per side, are
created beforehand. Tracing is off. Prints one JSON line.

    python benchmarks/peers/agentevals_match.py CALLS.json [--passes 5]
"""

import argparse
import json
import os
import time
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"


def main() -> None:
    from agentevals.trajectory.match import create_trajectory_match_evaluator  # type: ignore[import-not-found, unused-ignore]

    parser = argparse.ArgumentParser()
    parser.add_argument("calls")
    parser.add_argument("--passes", type=int, default=5)
    options = parser.parse_args()
    given = json.loads(Path(options.calls).read_text(encoding="utf-8"))
    rows = [(messages(pair["made"]), messages(pair["expected"])) for pair in given["pairs"]]
    evaluate = create_trajectory_match_evaluator(trajectory_match_mode="strict", tool_args_match_mode="exact")
    best, right = float("inf"), 0
    for _ in range(options.passes):
        began = time.perf_counter()
        right = sum([evaluate(outputs=made, reference_outputs=expected)["score"] for made, expected in rows])
        best = min(best, time.perf_counter() - began)
    line = {
        "name": "agentevals",
        "version": metadata.version("agentevals"),
        "per_second": len(rows) / best,
        "right": right,
        "note": "create_trajectory_match_evaluator, strict, on messages of one call each; it decodes the argument strings itself",
    }
    print(json.dumps(line))


def messages(call: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": "", "tool_calls": [call]}]


if __name__ == "__main__":
    main()
