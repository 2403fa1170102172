"""Compute agentevals' trajectory matches. Run by benchmarks/parity.py in an environment with agentevals.

A trajectory is one assistant message per call; no messages without calls. Tracing is off.
"""

import json
import os
from typing import Any

from case_lines import Calls, Metric, answer

os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"
MODES = ("strict", "unordered", "subset", "superset")
ARGUMENT_MODES = ("exact", "ignore", "subset", "superset")


def main() -> None:
    from agentevals.trajectory.match import create_trajectory_match_evaluator  # type: ignore[import-not-found, unused-ignore]

    def metric(mode: str, arguments: str) -> Metric:
        evaluate = create_trajectory_match_evaluator(trajectory_match_mode=mode, tool_args_match_mode=arguments)
        return lambda expected, actual: evaluate(outputs=messages(actual), reference_outputs=messages(expected))["score"]

    answer("agentevals", {f"{mode}, {arguments}": metric(mode, arguments) for mode in MODES for arguments in ARGUMENT_MODES})


def messages(calls: Calls) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": "", "tool_calls": [_call(index, **call)]} for index, call in enumerate(calls)]


def _call(index: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"call{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


if __name__ == "__main__":
    main()
