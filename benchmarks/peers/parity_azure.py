"""Compute azure-ai-evaluation's task navigation efficiency. Run by benchmarks/parity.py in an environment with azure-ai-evaluation.

The ground truth is a list of names. With parameters it is names and one set of parameters for each name, which cannot express two expected
calls to one tool with different arguments.
"""

import logging
from typing import Any

from case_lines import Calls, Metric, answer

MODES = ("exact_match", "in_order_match", "any_order_match")
SCORES = ("precision_score", "recall_score", "f1_score")


def main() -> None:
    logging.disable()
    from azure.ai.evaluation._evaluators._task_navigation_efficiency import (  # type: ignore[import-not-found, unused-ignore]
        _TaskNavigationEfficiencyEvaluator,
    )

    def metric(mode: str, parameters: bool, score: str = "") -> Metric:
        evaluate = _TaskNavigationEfficiencyEvaluator(matching_mode=mode)

        def number(expected: Calls, actual: Calls) -> Any:
            truth: Any = [call["name"] for call in expected]
            if parameters:
                by_name = {call["name"]: call["arguments"] for call in expected}
                if any(by_name[call["name"]] != call["arguments"] for call in expected):
                    return None
                truth = truth, by_name
            result = evaluate(response=messages(actual), ground_truth=truth)
            return result["task_navigation_efficiency_properties"][score] if score else result["task_navigation_efficiency_score"]

        return number

    metrics: dict[str, Metric] = {}
    for parameters, suffix in ((False, ""), (True, ", parameters")):
        metrics |= {f"{mode}{suffix}": metric(mode, parameters) for mode in MODES}
        metrics |= {f"{score}{suffix}": metric(MODES[0], parameters, score) for score in SCORES}
    answer("azure-ai-evaluation", metrics)


def messages(calls: Calls) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": [_call(index, **call)]} for index, call in enumerate(calls)]


def _call(index: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "tool_call_id": f"call{index}", "name": name, "arguments": arguments}


if __name__ == "__main__":
    main()
