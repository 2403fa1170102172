import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
import callmark.compat.foundry
from callmark.calls.expected import read_expected_call_text
from callmark.calls.messages import call_text
from callmark.calls.shapes import read_call, read_call_text, read_calls
from callmark.formats import load
from callmark.formats.predictions import read_prediction
from callmark.types import Call

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["name", "arguments", "function", "id", "x"]) | st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "value",
    [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}},
        {"id": "1", "tool": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "1", "name": "f", "arguments": {"a": 1}},
        {"id": "1", "functionName": "f", "arguments": '{"a": 1}'},
        {"id": "1", "type": "tool_use", "name": "f", "input": {"a": 1}},
        {"id": "1", "name": "f", "kwargs": {"a": 1}},
        {"id": "1", "name": "f", "args": {"a": 1}},
        {"id": "1", "name": "f", "parameters": {"a": 1}},
        {"id": "1", "name": "f", "params": '{"a": 1}'},
        {"id": "1", "tool_name": "f", "tool_input": {"a": 1}},
        {"id": "1", "action": "f", "action_input": {"a": 1}},
        {"id": "1", "type": "function", "function": "f", "arguments": {"a": 1}},
        {"id": "1", "tool": "f", "args": {"a": 1}},
        {"id": "1", "toolName": "f", "args": {"a": 1}},
        {"id": "1", "function_name": "f", "arguments": {"a": 1}},
        {"id": "1", "function": {"name": "f", "args": {"a": 1}}},
        {"id": "1", "tool": {"name": "f", "input": '{"a": 1}'}},
        {"id": "1", "function": {"name": "f"}, "arguments": {"a": 1}},
        {"id": "1", "name": "f", "arguments": None, "args": {"a": 1}},
        {"id": "1", "name": "f", "arguments": '{"a": 1.0}', "args": {"a": 1}, "input": {"a": "1"}},
        {"id": "1", "name": "f", "functionName": "f", "function": {"name": "f", "arguments": {"a": 1}}},
    ],
)
def test_every_shape_is_read(value: dict[str, Any]) -> None:
    assert read_call(value) == Call("f", {"a": 1}, "1")


MALFORMED_SHAPES: list[tuple[dict[str, Any], str, str]] = [
    ({"name": "f", "arguments": {"a": 1}, "args": {"a": 2}}, "two different arguments", '"arguments":{"a":1},"args":{"a":2}'),
    ({"name": "f", "arguments": {}, "input": "Bonn?"}, "two different arguments", '"arguments":{},"input":"Bonn?"'),
    (
        {"function": {"name": "f", "arguments": "{}"}, "arguments": {"a": 1}},
        "two different arguments",
        '"arguments":"{}","arguments":{"a":1}',
    ),
    (
        {"id": "1", "function": {"name": "f", "arguments": "{}", "args": {"a": 1}}},
        "two different arguments",
        '"arguments":"{}","args":{"a":1}',
    ),
    ({"name": "f", "tool_name": "g", "args": {}}, "two different names", '"name":"f","tool_name":"g","args":{}'),
    (
        {"name": "f", "function": {"name": "g", "arguments": "{}"}},
        "two different names",
        '"name":"f","function":{"name":"g","arguments":"{}"}',
    ),
    ({"name": "f", "city": "Bonn"}, "unknown keys: city", '"city":"Bonn"'),
    ({"function": {"name": "f", "city": "Bonn"}, "id": "1", "unit": 1}, "unknown keys: city, unit", '"city":"Bonn","unit":1'),
    ({"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}, "a tool definition", '"parameters":{'),
    ({"name": "f", "parameters": {"type": "object"}}, "a tool definition", '"parameters":{"type":"object"}'),
    ({"name": "f", "description": "d", "parameters": '{"properties": {"a": {}}}'}, "a tool definition", '"parameters":"{'),
    ({"name": "f", "parameters": [{"name": "a", "type": "str", "required": True}]}, "a tool definition", '"parameters":[{'),
]


@pytest.mark.parametrize("value, reason, text", MALFORMED_SHAPES)
def test_conflicting_and_unknown_shapes_are_malformed(value: dict[str, Any], reason: str, text: str) -> None:
    name = "g" if value.get("name") == "f" and isinstance(value.get("function"), dict) else "f"
    for call in (read_call(value), read_call_text(json.dumps(value).encode())):
        assert (call.name, call.arguments) == (name, {})
        assert reason in call.malformed
        assert call.text.startswith(text)


@pytest.mark.parametrize("value, reason, text", MALFORMED_SHAPES)
def test_malformed_shapes_stay_malformed_when_written_and_read_back(value: dict[str, Any], reason: str, text: str) -> None:
    call = read_call(value)
    read_back = read_call_text(call_text(call))
    assert (read_back.name, read_back.text, bool(read_back.malformed)) == (call.name, call.text, True)


@pytest.mark.parametrize("value, reason, text", MALFORMED_SHAPES)
def test_fast_paths_find_malformed_shapes_too(value: dict[str, Any], reason: str, text: str) -> None:
    given = json.dumps({"messages": [{"role": "assistant", "tool_calls": [value]}]}).encode()
    (message,) = next(iter(load([json.loads(given)]))).messages
    assert read_prediction(json.dumps({"id": "1", "tool_calls": [value]}).encode()).prediction.calls == message.calls
    assert read_expected_call_text(json.dumps(value).encode()) == message.calls[0] == read_call(value)


@pytest.mark.parametrize("more", [{}, {"id": 1}, {"type": "function", "index": 0}, {"_meta": 1, "x-trace": 2}, {"compare_args": []}])
def test_metadata_does_not_make_a_call_without_arguments_malformed(more: dict[str, Any]) -> None:
    assert not read_call({"name": "f", **more}).malformed


@pytest.mark.parametrize("key", ["arguments", "args", "input", "parameters", "params", "kwargs", "tool_input", "action_input"])
@pytest.mark.parametrize("side", ["expected", "actual"])
@pytest.mark.parametrize("city, score", [("Bonn", 1.0), ("Kiel", 0.5), (None, 0.5)])
def test_arguments_count_whatever_their_key(key: str, side: str, city: str | None, score: float) -> None:
    plain = [{"name": "get_weather", "arguments": {"city": "Bonn"}}]
    other = [{"name": "get_weather", key: {} if city is None else {"city": city}}]
    expected, actual = (other, plain) if side == "expected" else (plain, other)
    assert callmark.grade(expected, actual).metrics["call.score"] == score
    item = {"expected_output": {"tool_calls": expected}}
    assert callmark.compat.foundry.grade({"output_tools": actual}, item) == score


@pytest.mark.parametrize("arguments", [None, "", "  \n", "{}", {}, "null"])
def test_missing_null_or_blank_arguments_are_empty(arguments: Any) -> None:
    call = read_call({"name": "f", "arguments": arguments})
    assert call.arguments == {}
    assert bool(call.malformed) == (arguments == "null"), "the text null is JSON, but not an object"


def test_missing_arguments_are_empty() -> None:
    assert read_call({"name": "f"}) == Call("f")


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ("[1]", "expected an object, got a list"),
        ("5", "a number"),
        ('"{}"', "a string"),
        ("true", "a boolean"),
        (5, "a number"),
        ([1], "expected an object, got a list"),
        (True, "a boolean"),
        ('{"a": NaN}', "NaN is not valid JSON"),
        ('{"a": Infinity}', "Infinity is not valid JSON"),
        ('{"a": 1} and more', "invalid JSON at character 10"),
        ('{"a": 1', "truncated JSON"),
        ('{"a": "x', "truncated JSON"),
        ("{'a': 1}", "invalid JSON at character 2"),
        ('{"a": 1e999}', "outside the double range"),
        ('{"a": -1e999}', "outside the double range"),
        ('{"a": ' + "9" * 400 + "}", "outside the double range"),
        ('{"a": ' + "9" * 5000 + "}", "outside the double range"),
        ('{"a": "\\ud800"}', "lone surrogate"),
        ('{"a": "\ud800"}', "lone surrogate"),
        ({"a": "\ud800"}, "lone surrogate"),
        ({"a": float("nan")}, "outside the double range"),
        ({"a": 16**9000}, "outside the double range"),
        ('{"a":' * 201 + "1" + "}" * 201, "nesting deeper than 200"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "nesting deeper than 200"),
        ('{"a":' + "[" * 200 + "]" * 200 + "}", "nesting deeper than 200"),
    ],
)
def test_a_malformed_call_keeps_its_name_its_id_and_its_text(arguments: Any, reason: str) -> None:
    call = read_call({"id": "7", "name": "f", "arguments": arguments})
    assert call.malformed.startswith("arguments: ")
    assert reason in call.malformed
    assert (call.name, call.id, call.arguments) == ("f", "7", {})
    assert call.text
    call.text.encode()  # it can be written


def test_nesting_of_exactly_200_is_well_formed() -> None:
    assert not read_call({"name": "f", "arguments": '{"a":' * 200 + "1" + "}" * 200}).malformed


def test_digits_in_a_string_are_not_a_number() -> None:
    assert not read_call({"name": "f", "arguments": '{"a": "' + "9" * 400 + '"}'}).malformed


@pytest.mark.parametrize(
    "value", [5, "f", None, True, [], {}, {"name": ""}, {"name": " "}, {"name": {"f": 1}}, {"name": 5}, {"function": 5}]
)
def test_a_call_without_a_name_is_malformed(value: Any) -> None:
    call = read_call(value)
    assert call.malformed
    assert call.name == ""


def test_unrecognized_call_keeps_its_whole_text() -> None:
    assert read_call(5).text == "5"
    assert read_call({"x": 1}).text == '{"x":1}'


def test_call_that_is_not_strict_json_keeps_its_name() -> None:
    call = read_call_text(b'{"id": "1", "name": "f", "arguments": {"a": 1e999}}')
    assert (call.name, call.id) == ("f", "1")
    assert "double range" in call.malformed
    assert "1e999" in call.text


def test_a_single_call_is_a_list_of_one_and_null_is_empty() -> None:
    assert read_calls({"name": "f"}) == (Call("f"),)
    assert read_calls(None) == ()
    assert [call.name for call in read_calls([{"name": "f"}, 5])] == ["f", ""]


def test_call_is_shown_as_code() -> None:
    assert (
        str(Call("get_order", {"id": "#W1", "n": 2, "deep": {"a": [True, None]}})) == 'get_order(id="#W1", n=2, deep={"a": [true, null]})'
    )
    assert str(Call("f", {}, None, "truncated JSON", '{"a')) == 'f(‹malformed: {"a›)'


@pytest.mark.laws
@given(ANY_JSON)
def test_reading_any_json_never_raises_and_never_loses_the_call(value: Any) -> None:
    call = read_call(value)
    assert call.malformed or call.name
    (call.name + call.text + (call.id or "")).encode()


def test_a_call_with_an_integer_of_too_many_digits_keeps_its_name() -> None:
    call = read_call_text(b'{"name": "f", "arguments": {"a": ' + b"9" * 5000 + b"}}")
    assert (call.name, bool(call.malformed)) == ("f", True)
