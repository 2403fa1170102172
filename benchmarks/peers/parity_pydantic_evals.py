"""Compute pydantic-evals' trajectory metrics. Run by benchmarks/parity.py in an environment with pydantic-evals.

Its evaluators read tool calls from spans, so each call becomes a span as pydantic-ai records it. They compare names only.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from case_lines import Calls, Metric, answer


def main() -> None:
    from pydantic_evals.evaluators import (  # type: ignore[import-not-found, unused-ignore]
        EvaluatorContext,
        ToolCorrectness,
        TrajectoryMatch,
    )
    from pydantic_evals.otel.span_tree import SpanNode, SpanTree  # type: ignore[import-not-found, unused-ignore]

    began = datetime(2025, 1, 1, tzinfo=UTC)

    def context(calls: Calls) -> Any:
        tree = SpanTree()
        tree.add_spans(
            [
                SpanNode(
                    name=f"execute_tool {call['name']}",
                    trace_id=1,
                    span_id=index + 1,
                    parent_span_id=None,
                    start_timestamp=began + timedelta(seconds=index),
                    end_timestamp=began + timedelta(seconds=index + 1),
                    attributes={"gen_ai.tool.name": call["name"]},
                )
                for index, call in enumerate(calls)
            ]
        )
        return EvaluatorContext(
            name=None, inputs=None, metadata=None, expected_output=None, output=None, duration=0, _span_tree=tree, attributes={}, metrics={}
        )

    def names(calls: Calls) -> list[str]:
        return [call["name"] for call in calls]

    def trajectory(order: str) -> Metric:
        return lambda expected, actual: TrajectoryMatch(names(expected), order=order).evaluate(context(actual)).value

    def tools(allow_extra: bool) -> Metric:
        return lambda expected, actual: ToolCorrectness(names(expected), allow_extra=allow_extra).evaluate(context(actual)).value

    metrics = {f"TrajectoryMatch {order}": trajectory(order) for order in ("exact", "in_order", "any_order")}
    answer("pydantic-evals", {**metrics, "ToolCorrectness": tools(False), "ToolCorrectness, extra allowed": tools(True)})


if __name__ == "__main__":
    main()
