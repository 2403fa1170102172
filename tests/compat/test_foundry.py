from typing import Any

import pytest

from callmark.compat.foundry import grade
from callmark.errors import BadInput

ITEM = {
    "messages": [],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"n": {"default": 10}}}}}],
    "expected_output": {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
}


@pytest.mark.parametrize(
    "actual, score",
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
def test_score_of_the_foundry_grader(actual: Any, score: float) -> None:
    assert grade({"output_tools": actual}, ITEM) == score
    assert grade({"output_tools": actual}, {"item": ITEM}) == score


def test_no_expected_and_no_actual_call_is_correct() -> None:
    assert grade({}, {"expected_output": {"tool_calls": []}}) == 1.0
    assert grade({}, {"expected_output": {}}) == 1.0


@pytest.mark.parametrize(
    "item, sentence",
    [
        ({"expected_output": 5}, "expected_output: expected an object with tool_calls, got int"),
        ({"expected_output": {"alternatives": 5}}, "expected_output.alternatives: expected a list of lists of calls, got int"),
    ],
)
def test_invalid_item_is_rejected(item: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        grade({}, item)
    assert str(caught.value) == sentence


def test_best_alternative_counts_and_invalid_tools_are_ignored() -> None:
    item = {"tools": 5, "expected_output": {"tool_calls": [{"name": "f"}], "alternatives": [[{"name": "g"}], [{"name": "h"}]]}}
    assert grade({"output_tools": [{"name": "h"}]}, item) == 1.0
