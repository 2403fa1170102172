"""Agent output as predictions: every supported shape, and an error message for anything else."""

import json
from math import nan
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.models.agent_output import convert_output, read_output
from callmark.models.model import ModelError
from callmark.types import Call, Prediction, Tool, Usage

OSLO = Call("get_weather", {"city": "Oslo"})
OPENAI = {"id": "x1", "type": "function", "function": {"name": "get_weather", "arguments": json.dumps(OSLO.arguments)}}


class Pydantic:
    """An object like those of most SDKs."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


class Other:
    """An object like those of some other SDKs."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def to_dict(self) -> dict[str, Any]:
        return self.fields


class Broken:
    def to_dict(self) -> dict[str, Any]:
        raise ArithmeticError("no")


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


ENDLESS_LIST: list[Any] = []
ENDLESS_LIST.append(ENDLESS_LIST)
ENDLESS: dict[str, Any] = {}
ENDLESS["a"] = ENDLESS

# Shapes that an agent may both return and write.
WRITTEN: list[tuple[Any, Prediction]] = [
    ({"role": "assistant", "content": None, "tool_calls": [OPENAI]}, Prediction("", 0, (Call("get_weather", {"city": "Oslo"}, "x1"),))),
    ({"role": "assistant", "content": "Hello"}, Prediction("", 0, (), "Hello")),
    ({"role": "assistant", "content": None}, Prediction("")),
    ({"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}, Prediction("", 0, (Call("f", {"a": 1}),))),
    ({"text": '<tool_call>{"name": "f"}</tool_call>'}, Prediction("", 0, (Call("f"),))),
    (
        {
            "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3},
        },
        Prediction("", 0, (), "Hi", finish_reason="stop", usage=Usage(0.0, 12, 3)),
    ),
    (
        {
            "choices": [{"message": {"content": "Hi"}, "finish_reason": 7}],
            "usage": {"prompt_tokens": "12", "completion_tokens": -3},
        },
        Prediction("", 0, (), "Hi"),
    ),
    ({"choices": [{"message": {"content": "Hi"}}], "usage": 5}, Prediction("", 0, (), "Hi")),
    (
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "So"}, {"type": "tool_use", "id": "t", "name": "get_weather", "input": {"city": "Oslo"}}],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 5, "output_tokens": 2},
        },
        Prediction("", 0, (Call("get_weather", {"city": "Oslo"}, "t"),), "So", finish_reason="tool_use", usage=Usage(0.0, 5, 2)),
    ),
    ("It rains.", Prediction("", 0, (), "It rains.")),
    ("", Prediction("")),
]


@pytest.mark.parametrize("value, prediction", WRITTEN)
def test_every_written_shape_is_read(value: Any, prediction: Prediction) -> None:
    assert read_output(json.dumps(value).encode()) == prediction


@pytest.mark.parametrize(
    "value, prediction",
    [
        *WRITTEN,
        ([OPENAI], Prediction("", 0, (Call("get_weather", {"city": "Oslo"}, "x1"),))),
        ([{"name": "get_weather", "arguments": {"city": "Oslo"}}], Prediction("", 0, (OSLO,))),
        ([{"functionName": "get_weather", "arguments": {"city": "Oslo"}}, {"tool": {"name": "f"}}], Prediction("", 0, (OSLO, Call("f")))),
        ({"name": "get_weather", "arguments": {"city": "Oslo"}}, Prediction("", 0, (OSLO,))),
        ({"type": "tool_use", "name": "get_weather", "input": {"city": "Oslo"}}, Prediction("", 0, (OSLO,))),
        (OPENAI, Prediction("", 0, (Call("get_weather", {"city": "Oslo"}, "x1"),))),
        (Call("get_weather", {"city": "Oslo"}), Prediction("", 0, (OSLO,))),
        ([Call("get_weather", {"city": "Oslo"}), {"name": "f"}], Prediction("", 0, (OSLO, Call("f")))),
        ((Call("f"),), Prediction("", 0, (Call("f"),))),
        ([], Prediction("")),
        (None, Prediction("")),
        ('<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', Prediction("", 0, (OSLO,))),
        ('Let me see: get_weather(city="Oslo")', Prediction("", 0, (OSLO,), "Let me see:")),
        (Pydantic({"role": "assistant", "content": "Hi", "tool_calls": [Pydantic({"name": "f"})]}), Prediction("", 0, (Call("f"),), "Hi")),
        ([Other({"name": "f", "arguments": "{}"})], Prediction("", 0, (Call("f"),))),
    ],
)
def test_every_returned_shape_is_converted(value: Any, prediction: Prediction) -> None:
    assert convert_output(value, tools=[Tool("get_weather")]) == prediction


@pytest.mark.parametrize(
    "value",
    [
        [{"name": "f", "arguments": {"a": nan}}],
        {"role": "assistant", "tool_calls": [{"name": "f", "arguments": {"a": [nan]}}]},
        Call("f", {"a": nan}),
        [{"name": "f", "arguments": "{"}],
        [{"name": "f", "arguments": 5}],
        [{"name": "f", "arguments": ENDLESS}],
        [{"name": "f", "arguments": nested(300)}],
    ],
    ids=["not a number", "not a number in a message", "not a number in a Call", "cut off", "a number", "endless", "deep"],
)
def test_invalid_call_is_malformed_and_keeps_its_name(value: Any) -> None:
    assert [(call.name, bool(call.malformed)) for call in convert_output(value, tools=[Tool("f")]).calls] == [("f", True)]


@pytest.mark.parametrize(
    "value, sentence",
    [
        (5, "expected a message, calls, text or None, got an int"),
        ({1, 2}, "got a set"),
        (True, "got a bool"),
        (print, "got a builtin_function_or_method"),
        (Pydantic, "got a type"),
        ({}, "text or error, got no keys"),
        ({"role": "user", "content": "x"}, "role: expected 'assistant', got 'user'"),
        ({"tool_calls": 5}, "tool_calls: expected a list of calls, got a number"),
        (iter([]), "got a list_iterator"),
        (ENDLESS_LIST, "nested more than 20 levels deep"),
    ],
)
def test_returned_value_of_another_type_is_named(value: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        convert_output(value)
    assert sentence in str(error.value)


@pytest.mark.parametrize("row", [b"", b"{", b"{}", b"5", b'{"tool_calls": 5}', b"\xff"])
def test_written_line_of_another_shape_is_rejected(row: bytes) -> None:
    with pytest.raises(BadInput):
        read_output(row)


def test_error_object_raises_model_error() -> None:
    value = {"error": {"code": "rate_limit", "message": "slow down"}}
    with pytest.raises(ModelError, match="^rate_limit: slow down$"):
        convert_output(value)
    with pytest.raises(ModelError, match="^rate_limit: slow down$"):
        read_output(json.dumps(value).encode())


def test_exception_of_an_sdk_object_passes_through() -> None:
    with pytest.raises(ArithmeticError):
        convert_output([Broken()])


@pytest.mark.parametrize("count", [True, -1, 10**30, "12", 1.5, None, [3]])
def test_invalid_token_counts_are_zero(count: Any) -> None:
    completion = {
        "choices": [{"message": {"role": "assistant", "content": "hi"}}],
        "usage": {"prompt_tokens": count, "completion_tokens": 7},
    }
    prediction = convert_output(completion)
    assert prediction.usage == Usage(0.0, 0, 7)
