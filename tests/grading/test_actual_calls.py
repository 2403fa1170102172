"""Everything that `grade` accepts as actual calls, and what it rejects."""

from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.grading.grade import grade
from callmark.types import Call, Message, Prediction, Tool

CALL = {"name": "get_order", "arguments": {"id": "W1"}}
OPENAI = {"id": "1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": "W1"}'}}
TOOLS = [Tool("get_order", "", {"type": "object", "properties": {"id": {"type": "string"}}})]


@pytest.mark.parametrize(
    "actual",
    [
        [CALL],
        (CALL,),
        CALL,
        OPENAI,
        [OPENAI],
        Call("get_order", {"id": "W1"}),
        [Call("get_order", {"id": "W1"})],
        {"type": "tool_use", "name": "get_order", "input": {"id": "W1"}},
        {"role": "assistant", "content": None, "tool_calls": [OPENAI]},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "get_order", "input": {"id": "W1"}}]},
        {"role": "assistant", "content": "", "function_call": {"name": "get_order", "arguments": '{"id": "W1"}'}},
        {"role": "assistant", "content": '<tool_call>{"name": "get_order", "arguments": {"id": "W1"}}</tool_call>'},
        [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "tool_calls": [OPENAI]}],
        {"choices": [{"message": {"role": "assistant", "tool_calls": [OPENAI]}}]},
        {"object": "response", "output": [{"type": "function_call", "call_id": "1", "name": "get_order", "arguments": '{"id": "W1"}'}]},
        [{"type": "reasoning", "summary": []}, {"type": "function_call", "name": "get_order", "arguments": '{"id": "W1"}'}],
        '<tool_call>{"name": "get_order", "arguments": {"id": "W1"}}</tool_call>',
        '[get_order(id="W1")]',
        '[{"name": "get_order", "arguments": {"id": "W1"}}]',
        Message("assistant", "", (Call("get_order", {"id": "W1"}),)),
        Message("assistant", '<tool_call>{"name": "get_order", "arguments": {"id": "W1"}}</tool_call>'),
        Prediction("c", calls=(Call("get_order", {"id": "W1"}),)),
    ],
)
def test_calls_are_read_from_any_form_of_response(actual: Any) -> None:
    assert grade([CALL], actual, tools=TOOLS).metrics["call.score"] == 1.0


@pytest.mark.parametrize(
    "actual",
    [
        None,
        [],
        "",
        "I cannot do that.",
        {"role": "assistant", "content": "I cannot do that."},
        {"choices": [{"message": {"role": "assistant", "content": "I cannot do that."}}]},
        Message("assistant", "Which order?"),
        Prediction("c", text="Which order?"),
    ],
)
def test_response_without_a_call_is_no_call(actual: Any) -> None:
    graded = grade([CALL], actual, tools=TOOLS)
    assert [fault.kind for fault in graded.faults] == ["no_call"]
    assert grade([], actual, tools=TOOLS).metrics["call.score"] == 1.0


@pytest.mark.parametrize(
    "actual, sentence",
    [
        (5, "actual: expected a list of calls, a message, a response or a string, got int"),
        (object(), "actual: expected a list of calls, a message, a response or a string, got object"),
        ({}, ""),
        ({"foo": 1}, ""),
        ({"role": "user", "content": "hello"}, "role: expected 'assistant', got 'user'"),
        (Prediction("c", error="HTTP 500"), "the prediction is an error and cannot be graded: HTTP 500"),
        ({"error": {"message": "overloaded"}}, "the prediction is an error and cannot be graded: overloaded"),
    ],
)
def test_unrecognized_input_is_rejected(actual: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        grade([CALL], actual)
    assert sentence in str(error.value)


@pytest.mark.parametrize("actual", [[5], [None], ["get_order"], [{"arguments": {}}], [{"name": "get_order", "arguments": "{"}]])
def test_malformed_call_never_raises(actual: Any) -> None:
    assert grade([CALL], actual).metrics["call.score"] == 0.0
