"""Replies out of what an agent returned or wrote: every shape that is one, and a sentence for what is none."""

import json
from math import nan
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.models.model import ModelError, Reply
from callmark.models.replies import read_reply, reply_of
from callmark.types import Call

OSLO = Call("get_weather", {"city": "Oslo"})
OPENAI = {"id": "x1", "type": "function", "function": {"name": "get_weather", "arguments": json.dumps(OSLO.arguments)}}


class Pydantic:
    """As the objects of most SDKs are."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


class Other:
    """As those of some others are."""

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

# shapes that an agent may return, and write as well
WRITTEN: list[tuple[Any, Reply]] = [
    ({"role": "assistant", "content": None, "tool_calls": [OPENAI]}, Reply((Call("get_weather", {"city": "Oslo"}, "x1"),))),
    ({"role": "assistant", "content": "Hello"}, Reply((), "Hello")),
    ({"role": "assistant", "content": None}, Reply()),
    ({"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}, Reply((Call("f", {"a": 1}),))),
    ({"text": '<tool_call>{"name": "f"}</tool_call>'}, Reply((Call("f"),))),
    (
        {
            "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3},
        },
        Reply((), "Hi", "", "stop", 12, 3),
    ),
    (
        {
            "choices": [{"message": {"content": "Hi"}, "finish_reason": 7}],
            "usage": {"prompt_tokens": "12", "completion_tokens": -3},
        },
        Reply((), "Hi"),
    ),
    ({"choices": [{"message": {"content": "Hi"}}], "usage": 5}, Reply((), "Hi")),
    (
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "So"}, {"type": "tool_use", "id": "t", "name": "get_weather", "input": {"city": "Oslo"}}],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 5, "output_tokens": 2},
        },
        Reply((Call("get_weather", {"city": "Oslo"}, "t"),), "So", "", "tool_use", 5, 2),
    ),
    ("It rains.", Reply((), "It rains.")),
    ("", Reply()),
]


@pytest.mark.parametrize("value, reply", WRITTEN)
def test_every_shape_that_is_written_is_read(value: Any, reply: Reply) -> None:
    assert read_reply(json.dumps(value).encode()) == reply


@pytest.mark.parametrize(
    "value, reply",
    [
        *WRITTEN,
        ([OPENAI], Reply((Call("get_weather", {"city": "Oslo"}, "x1"),))),
        ([{"name": "get_weather", "arguments": {"city": "Oslo"}}], Reply((OSLO,))),
        ([{"functionName": "get_weather", "arguments": {"city": "Oslo"}}, {"tool": {"name": "f"}}], Reply((OSLO, Call("f")))),
        ({"name": "get_weather", "arguments": {"city": "Oslo"}}, Reply((OSLO,))),
        ({"type": "tool_use", "name": "get_weather", "input": {"city": "Oslo"}}, Reply((OSLO,))),
        (OPENAI, Reply((Call("get_weather", {"city": "Oslo"}, "x1"),))),
        (Call("get_weather", {"city": "Oslo"}), Reply((OSLO,))),
        ([Call("get_weather", {"city": "Oslo"}), {"name": "f"}], Reply((OSLO, Call("f")))),
        ((Call("f"),), Reply((Call("f"),))),
        ([], Reply()),
        (None, Reply()),
        ('<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', Reply((OSLO,))),
        ('Let me see: get_weather(city="Oslo")', Reply((OSLO,), "Let me see:")),
        (Pydantic({"role": "assistant", "content": "Hi", "tool_calls": [Pydantic({"name": "f"})]}), Reply((Call("f"),), "Hi")),
        ([Other({"name": "f", "arguments": "{}"})], Reply((Call("f"),))),
    ],
)
def test_every_shape_that_is_returned_is_read(value: Any, reply: Reply) -> None:
    assert reply_of(value, names=["get_weather"]) == reply


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
def test_a_call_that_cannot_be_is_malformed_and_keeps_its_name(value: Any) -> None:
    assert [(call.name, bool(call.malformed)) for call in reply_of(value, names=["f"]).calls] == [("f", True)]


@pytest.mark.parametrize(
    "value, sentence",
    [
        (5, "it is an int; a message, calls, a text or None was expected"),
        ({1, 2}, "it is a set"),
        (True, "it is a bool"),
        (print, "it is a builtin_function_or_method"),
        (Pydantic, "it is a type"),
        ({}, "no answer is recognised in the row: its keys are none"),
        ({"role": "user", "content": "x"}, "the message has the role 'user', an assistant's was expected"),
        ({"tool_calls": 5}, "tool_calls is a number, a list of calls was expected"),
        (iter([]), "it is a list_iterator"),
        (ENDLESS_LIST, "it is nested deeper than 20"),
    ],
)
def test_what_is_returned_and_is_no_answer_is_named(value: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        reply_of(value, names=[])
    assert sentence in str(error.value)


@pytest.mark.parametrize("row", [b"", b"{", b"{}", b"5", b'{"tool_calls": 5}', b"\xff"])
def test_what_is_written_and_is_no_answer_is_refused(row: bytes) -> None:
    with pytest.raises(BadInput):
        read_reply(row)


def test_an_error_is_no_reply() -> None:
    value = {"error": {"code": "rate_limit", "message": "slow down"}}
    with pytest.raises(ModelError, match="^rate_limit: slow down$"):
        reply_of(value, names=[])
    with pytest.raises(ModelError, match="^rate_limit: slow down$"):
        read_reply(json.dumps(value).encode())


def test_an_object_that_cannot_be_taken_apart_raises_what_it_raises() -> None:
    with pytest.raises(ArithmeticError):
        reply_of([Broken()], names=[])


@pytest.mark.parametrize("count", [True, -1, 10**30, "12", 1.5, None, [3]])
def test_token_counts_that_are_none_count_nothing(count: Any) -> None:
    said = {"choices": [{"message": {"role": "assistant", "content": "hi"}}], "usage": {"prompt_tokens": count, "completion_tokens": 7}}
    reply = reply_of(said, names=[])
    assert (reply.input_tokens, reply.output_tokens) == (0, 7)
