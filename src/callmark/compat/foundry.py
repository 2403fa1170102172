"""The Foundry grader: one score for an item and a model's output."""

from typing import Any

from callmark.calls.expected import read_expected_calls
from callmark.calls.shapes import read_calls
from callmark.calls.toolsets import read_tools
from callmark.errors import BadInput
from callmark.grading.evaluators.call import CallEvaluator
from callmark.grading.grade import best_attempt
from callmark.types import Tool


def grade(sample: dict[str, Any], item: dict[str, Any]) -> float:
    """Return `call.score` of `sample["output_tools"]` against `item["expected_output"]["tool_calls"]`.

    An `{"item": …}` wrapper is removed. `item["tools"]` has the schemas; it is ignored if it is invalid. With `alternatives`, the best
    score is returned. A missing list of calls is an empty one. An invalid matcher raises `BadInput`.
    """
    inner = item.get("item")
    record = inner if isinstance(inner, dict) else item
    expected = record.get("expected_output") or {}
    if not isinstance(expected, dict):
        raise BadInput(f"expected_output: expected an object with tool_calls, got {type(expected).__name__}")
    alternatives = expected.get("alternatives") or []
    if not isinstance(alternatives, list):
        raise BadInput(f"expected_output.alternatives: expected a list of lists of calls, got {type(alternatives).__name__}")
    actual = read_calls(sample.get("output_tools"))
    tools = _tools(record.get("tools"))
    accepted = [read_expected_calls(calls) for calls in (expected.get("tool_calls"), *alternatives)]
    return CallEvaluator.score(best_attempt(accepted, actual, tools=tools)[0])


def _tools(tools: Any) -> tuple[Tool, ...]:
    try:
        return read_tools(tools)
    except BadInput:
        return ()
