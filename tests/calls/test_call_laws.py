"""Every shape of a call, in every container of a prediction: a changed argument is never graded as correct, and nothing is overlooked."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
import callmark.compat.foundry
from callmark.calls.shapes import read_calls
from callmark.calls.values import exact
from callmark.formats.predictions import read_prediction
from callmark.grading.standalone import export_source
from callmark.types import Call

Shape = Callable[[str, dict[str, Any]], dict[str, Any]]

SHAPES: dict[str, Shape] = {
    "OpenAI": lambda name, given: {"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}},
    "OpenAI with an object": lambda name, given: {"id": "c", "type": "function", "function": {"name": name, "arguments": given}},
    "Ollama": lambda name, given: {"function": {"index": 0, "name": name, "arguments": given}},
    "Responses": lambda name, given: {
        "type": "function_call", "id": "fc", "call_id": "c", "name": name, "arguments": json.dumps(given), "status": "completed",
    },
    "Anthropic": lambda name, given: {"type": "tool_use", "id": "c", "name": name, "input": given},
    "Gemini": lambda name, given: {"functionCall": {"id": "c", "name": name, "args": given}, "thoughtSignature": "x"},
    "google-genai dump": lambda name, given: {"function_call": {"id": "c", "name": name, "args": given}, "thought_signature": None},
    "Bedrock": lambda name, given: {"toolUse": {"toolUseId": "c", "name": name, "input": given}},
    "Vercel AI": lambda name, given: {"type": "tool-call", "toolCallId": "c", "toolName": name, "input": given},
    "Vercel AI 4": lambda name, given: {"type": "tool-call", "toolCallId": "c", "toolName": name, "args": given},
    "LangChain": lambda name, given: {"name": name, "args": given, "id": "c", "type": "tool_call"},
    "inspect-ai": lambda name, given: {"id": "c", "function": name, "arguments": given, "type": "function", "parse_error": None},
    "scenario": lambda name, given: {"functionName": name, "arguments": given},
    "agent": lambda name, given: {"tool": name, "tool_input": given},
    "parallel": lambda name, given: {
        "id": "c", "function": {"name": "multi_tool_use.parallel", "arguments": json.dumps(
            {"tool_uses": [{"recipient_name": f"functions.{name}", "parameters": given}]}
        )},
    },
}  # fmt: skip

CONTAINERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "tool_calls": lambda made: {"id": "q", "tool_calls": [made]},
    "calls": lambda made: {"case": "q", "calls": [made]},
    "output_tools": lambda made: {"id": "q", "sample": {"output_tools": [made]}},
    "function_calls": lambda made: {"id": "q", "function_calls": json.dumps([made])},
    "toolCalls": lambda made: {"id": "q", "text": "", "toolCalls": [made]},
    "message": lambda made: {"id": "q", "message": {"role": "assistant", "content": None, "tool_calls": [made]}},
    "choices": lambda made: {
        "custom_id": "q",
        "response": {"status_code": 200, "body": {"choices": [{"message": {"tool_calls": [made]}}]}},
    },
    "content": lambda made: {"id": "q", "role": "assistant", "content": [{"type": "text", "text": "so"}, made]},
    "output": lambda made: {"id": "q", "output": [made]},
    "step file": lambda made: {"item": {"id": "q"}, "sample": {"outputs": [{"role": "assistant", "tool_calls": [made]}]}},
    "candidates": lambda made: {"id": "q", "candidates": [{"content": {"role": "model", "parts": [{"text": "so"}, made]}}]},
    "LangChain dump": lambda made: {
        "lc": 1,
        "type": "constructor",
        "id": ["a", "AIMessage"],
        "kwargs": {"content": "", "tool_calls": [made]},
    },
}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abç"), inner, max_size=2),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["city", "名前", "days", "größe"]), VALUES, min_size=1, max_size=3)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=list(CONTAINERS))
def test_every_shape_is_read_in_every_container(shape: Shape, container: Callable[[Any], dict[str, Any]]) -> None:
    arguments = {"city": "Zürich", "days": [1, 2.5, {"a": None}], "now": True}
    (found,) = read_prediction(json.dumps(container(shape("f", arguments))).encode()).prediction.calls
    assert (found.name, found.arguments, found.malformed) == ("f", arguments, "")
    assert found.id in ("c", None)


@pytest.mark.laws
@given(arguments=ARGUMENTS, other=VALUES, data=st.data())
@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_a_changed_argument_is_never_correct(shape: Shape, arguments: dict[str, Any], other: Any, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(arguments)))
    container = data.draw(st.sampled_from(list(CONTAINERS.values())))
    expected = [Call("f", arguments)]
    made = [shape("f", {**arguments, key: other})]
    actual = read_prediction(json.dumps(container(made[0])).encode()).prediction.calls
    literal = [{"name": "f", "arguments": {name: {"$literal": value} for name, value in arguments.items()}}]
    score = callmark.grade(literal, list(actual), evaluators=["call"]).metrics["call.score"]
    assert score == (1.0 if exact(expected[0].arguments, {**arguments, key: other}) else 0.5)
    assert callmark.compat.foundry.grade({"output_tools": made}, {"expected_output": {"tool_calls": literal}}) == score


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
@pytest.mark.parametrize("key", ["arguments", "args", "input", "tool_input", "parameters"])
def test_a_renamed_arguments_key_is_malformed(shape: Shape, key: str) -> None:
    text = json.dumps(shape("f", {"a": 1})).replace('\\"', '"')
    if f'"{key}":' not in text or "tool_uses" in text:
        return
    renamed = json.loads(json.dumps(shape("f", {"a": 1})).replace(f'"{key}"', '"payload"'))
    (found,) = read_calls([renamed])
    assert (found.name, found.malformed) == ("f", "unknown keys: payload")


STANDALONE: dict[str, Any] = {}
exec(export_source(), STANDALONE)  # as a service runs it


@pytest.mark.parametrize(
    "made, names, malformed",
    [
        ({"tool_uses": [{"recipient_name": "functions.f", "parameters": {"a": 1}}, {"recipient_name": "g"}]}, ["f", "g"], 0),
        ({"tool_uses": [{"recipient_name": "functions.f", "parameters": "x"}, {"recipient_name": "g"}]}, ["f", "g"], 1),
        ({"tool_uses": [{"recipient_name": "functions.f", "args": {}}]}, ["f"], 1),
        ({"tool_uses": [{"parameters": {}}, 5]}, ["", ""], 2),
        ({"tool_uses": []}, ["multi_tool_use.parallel"], 1),
        ({"tool_uses": {}}, ["multi_tool_use.parallel"], 1),
        ({}, ["multi_tool_use.parallel"], 1),
        ("{", ["multi_tool_use.parallel"], 1),
    ],
)
def test_parallel_calls_are_unwrapped(made: Any, names: list[str], malformed: int) -> None:
    wrapped = {"id": "c", "function": {"name": "multi_tool_use.parallel", "arguments": made}}
    found = read_calls([wrapped])
    assert ([call.name for call in found], sum(bool(call.malformed) for call in found)) == (names, malformed)
    assert [call.id for call in found] == ["c", *([None] * (len(found) - 1))]
    (message,) = next(iter(callmark.load([{"messages": [{"role": "assistant", "tool_calls": [wrapped]}]}]))).messages
    assert message.calls == found
    read = STANDALONE["unwrap"]([STANDALONE["read_call"](wrapped)])
    assert [(name, arguments is None) for name, arguments in read] == [(call.name, bool(call.malformed)) for call in found]


def test_expected_parallel_calls_are_unwrapped() -> None:
    uses = [{"recipient_name": "functions.f", "parameters": {"a": {"$any": True}}}, {"recipient_name": "functions.g", "parameters": {}}]
    wrapped = [{"name": "multi_tool_use.parallel", "arguments": {"tool_uses": uses}}]
    made = [{"name": "g", "arguments": {}}, {"name": "f", "arguments": {"a": 5}}]
    item = {"expected_output": {"tool_calls": wrapped}}
    assert callmark.grade(wrapped, made).metrics["call.score"] == 1.0
    assert STANDALONE["grade"]({"output_tools": made}, item) == callmark.compat.foundry.grade({"output_tools": made}, item) == 1.0
    (case,) = callmark.load([{"messages": [{"role": "user", "content": "x"}], **item}])
    assert [call.name for call in case.expected] == ["f", "g"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "value, call",
    [
        ({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "ls -l"}, Call("f", {"input": "ls -l"}, "c")),
        ({"type": "custom", "id": "c", "custom": {"name": "f", "input": '{"a": 1}'}}, Call("f", {"input": '{"a": 1}'}, "c")),
    ],
)
def test_free_text_of_a_custom_tool_is_its_argument(value: dict[str, Any], call: Call) -> None:
    assert read_calls([value]) == (call,)
    assert STANDALONE["read_call"](value) == (call.name, call.arguments)


def test_call_that_its_recorder_could_not_parse_is_malformed() -> None:
    value = {"id": "c", "function": "f", "arguments": {}, "parse_error": "Error parsing: {"}
    (call,) = read_calls([value])
    assert (call.name, call.malformed) == ("f", "parse_error: Error parsing: {")
    assert STANDALONE["read_call"](value) == ("f", None)
