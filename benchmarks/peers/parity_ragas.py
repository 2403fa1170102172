"""Compute ragas' tool call metrics. Run by benchmarks/parity.py in an environment with ragas.

`ToolCallAccuracy` gives partial credit by argument once the names are in sequence. What is compared is whether it is 1.
"""

import asyncio
import os
import warnings
from typing import Any

from case_lines import Calls, Metric, answer

os.environ["RAGAS_DO_NOT_TRACK"] = "true"


def main() -> None:
    warnings.simplefilter("ignore")
    from ragas.messages import AIMessage, ToolCall  # type: ignore[import-not-found, unused-ignore]
    from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1  # type: ignore[import-not-found, unused-ignore]

    loop = asyncio.new_event_loop()

    def tool_calls(calls: Calls) -> list[Any]:
        return [ToolCall(name=call["name"], args=call["arguments"]) for call in calls]

    def value(metric: Any, expected: Calls, actual: Calls) -> Any:
        message = AIMessage(content="", tool_calls=tool_calls(actual))
        return loop.run_until_complete(metric.ascore(user_input=[message], reference_tool_calls=tool_calls(expected))).value

    def all_correct(strict_order: bool) -> Metric:
        accuracy = ToolCallAccuracy(strict_order=strict_order)
        return lambda expected, actual: value(accuracy, expected, actual) > 1 - 1e-9

    f1 = ToolCallF1()
    metrics = {"ToolCallAccuracy is 1": all_correct(True), "ToolCallAccuracy is 1, any order": all_correct(False)}
    answer("ragas", {"ToolCallF1": lambda expected, actual: value(f1, expected, actual), **metrics})


if __name__ == "__main__":
    main()
