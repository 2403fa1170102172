"""Measure the speed of google-adk's trajectory evaluator. Run by benchmarks/grading.py in an environment with google-adk.

The evaluator takes invocations, objects with decoded arguments. It is timed on objects created beforehand, with all pairs in one call,
which is the fastest way, and again including the creation of the objects from argument strings. Prints one JSON line.

    python benchmarks/peers/adk_trajectory.py CALLS.json [--passes 5]
"""

import argparse
import json
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any


def main() -> None:
    from google.adk.evaluation.eval_case import IntermediateData, Invocation  # type: ignore[import-not-found, unused-ignore]
    from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator  # type: ignore[import-not-found, unused-ignore]
    from google.genai import types  # type: ignore[import-not-found, unused-ignore]

    parser = argparse.ArgumentParser()
    parser.add_argument("calls")
    parser.add_argument("--passes", type=int, default=5)
    options = parser.parse_args()
    pairs = json.loads(Path(options.calls).read_text(encoding="utf-8"))["pairs"]
    asked = types.Content(role="user", parts=[types.Part(text="")])
    evaluator = TrajectoryEvaluator(threshold=1.0)

    def invocation(call: dict[str, Any]) -> Any:
        function = call["function"]
        use = types.FunctionCall(name=function["name"], args=json.loads(function["arguments"]))
        return Invocation(user_content=asked, intermediate_data=IntermediateData(tool_uses=[use]))

    def evaluate(made: list[Any], expected: list[Any]) -> int:
        return sum([one.score == 1 for one in evaluator.evaluate_invocations(made, expected).per_invocation_results])

    made, expected = [invocation(pair["made"]) for pair in pairs], [invocation(pair["expected"]) for pair in pairs]
    best, right = best_of(lambda: evaluate(made, expected), options.passes)
    best_from_strings, _ = best_of(
        lambda: evaluate([invocation(pair["made"]) for pair in pairs], [invocation(pair["expected"]) for pair in pairs]), options.passes
    )
    line = {
        "name": "google-adk",
        "version": metadata.version("google-adk"),
        "per_second": len(pairs) / best,
        "from_strings": len(pairs) / best_from_strings,
        "right": right,
        "note": "TrajectoryEvaluator, exact, all pairs in one call, on objects created beforehand; from strings: including their creation",
    }
    print(json.dumps(line))


def best_of(way: Callable[[], int], passes: int) -> tuple[float, int]:
    best, right = float("inf"), 0
    for _ in range(passes):
        began = time.perf_counter()
        right = way()
        best = min(best, time.perf_counter() - began)
    return best, right


if __name__ == "__main__":
    main()
