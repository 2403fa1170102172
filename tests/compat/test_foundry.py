from typing import Any

import pytest

from callmark.compat.foundry import grade

ITEM = {
    "messages": [],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"n": {"default": 10}}}}}],
    "expected_output": {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
}


@pytest.mark.parametrize(
    "made, score",
    [
        ([{"function": {"name": "f", "arguments": '{"a": 1}'}}], 1.0),
        ([{"function": {"name": "f", "arguments": '{"a": 1, "n": 10}'}}], 1.0),
        ([{"function": {"name": "f", "arguments": '{"a": 2}'}}], 0.5),
        ([{"function": {"name": "f", "arguments": '{"a": '}}], 0.0),
        ([{"function": {"name": "f", "arguments": '{"a": 1}'}}] * 2, 0.666667),
        ([{"function": {"name": "g", "arguments": "{}"}}], 0.0),
        ([], 0.0),
        (None, 0.0),
    ],
)
def test_score_of_the_foundry_grader(made: Any, score: float) -> None:
    assert grade({"output_tools": made}, ITEM) == score
    assert grade({"output_tools": made}, {"item": ITEM}) == score


def test_no_expected_and_no_actual_call_is_correct() -> None:
    assert grade({}, {"expected_output": {"tool_calls": []}}) == 1.0
    assert grade({}, {"expected_output": {}}) == 1.0


def test_best_alternative_counts_and_odd_tools_are_ignored() -> None:
    item = {"tools": 5, "expected_output": {"tool_calls": [{"name": "f"}], "alternatives": [[{"name": "g"}], [{"name": "h"}]]}}
    assert grade({"output_tools": [{"name": "h"}]}, item) == 1.0
