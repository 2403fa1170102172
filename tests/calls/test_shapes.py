from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.shapes import read_call, read_call_text, read_calls
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
    ],
)
def test_every_shape_is_read(value: dict[str, Any]) -> None:
    assert read_call(value) == Call("f", {"a": 1}, "1")


@pytest.mark.parametrize("arguments", [None, "", "  \n", "{}", {}, "null"])
def test_missing_null_or_blank_arguments_are_none_given(arguments: Any) -> None:
    call = read_call({"name": "f", "arguments": arguments})
    assert call.arguments == {}
    assert bool(call.malformed) == (arguments == "null"), "the text null is JSON, but no object"


def test_arguments_that_are_not_there_are_none_given() -> None:
    assert read_call({"name": "f"}) == Call("f")


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ("[1]", "an array"),
        ("5", "a number"),
        ('"{}"', "a string"),
        ("true", "a boolean"),
        (5, "a number"),
        ([1], "an array"),
        (True, "a boolean"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": Infinity}', "not JSON"),
        ('{"a": 1} and more', "not JSON at character 10"),
        ('{"a": 1', "cut off"),
        ('{"a": "x', "cut off"),
        ("{'a': 1}", "not JSON at character 2"),
        ('{"a": 1e999}', "outside double range"),
        ('{"a": -1e999}', "outside double range"),
        ('{"a": ' + "9" * 400 + "}", "outside double range"),
        ('{"a": ' + "9" * 5000 + "}", "outside double range"),
        ('{"a": "\\ud800"}', "lone surrogate"),
        ('{"a": "\ud800"}', "lone surrogate"),
        ({"a": "\ud800"}, "lone surrogate"),
        ({"a": float("nan")}, "outside double range"),
        ({"a": 16**9000}, "outside double range"),
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


def test_digits_in_a_string_are_no_number() -> None:
    assert not read_call({"name": "f", "arguments": '{"a": "' + "9" * 400 + '"}'}).malformed


@pytest.mark.parametrize(
    "value", [5, "f", None, True, [], {}, {"name": ""}, {"name": " "}, {"name": {"f": 1}}, {"name": 5}, {"function": 5}]
)
def test_what_has_no_name_is_malformed(value: Any) -> None:
    call = read_call(value)
    assert call.malformed
    assert call.name == ""


def test_the_whole_text_is_kept_where_nothing_was_recognised() -> None:
    assert read_call(5).text == "5"
    assert read_call({"x": 1}).text == '{"x":1}'


def test_json_text_that_a_strict_reader_refuses_still_gives_the_name() -> None:
    call = read_call_text(b'{"id": "1", "name": "f", "arguments": {"a": 1e999}}')
    assert (call.name, call.id) == ("f", "1")
    assert "double range" in call.malformed
    assert "1e999" in call.text


def test_one_call_is_a_list_of_one_and_none_is_none() -> None:
    assert read_calls({"name": "f"}) == (Call("f"),)
    assert read_calls(None) == ()
    assert [call.name for call in read_calls([{"name": "f"}, 5])] == ["f", ""]


def test_a_call_reads_as_code() -> None:
    assert (
        str(Call("get_order", {"id": "#W1", "n": 2, "deep": {"a": [True, None]}})) == 'get_order(id="#W1", n=2, deep={"a": [true, null]})'
    )
    assert str(Call("f", {}, None, "cut off", '{"a')) == 'f(‹malformed: {"a›)'


@pytest.mark.laws
@given(ANY_JSON)
def test_reading_any_json_never_raises_and_never_loses_the_call(value: Any) -> None:
    call = read_call(value)
    assert call.malformed or call.name
    (call.name + call.text + (call.id or "")).encode()


def test_a_call_with_an_integer_of_too_many_digits_keeps_its_name() -> None:
    call = read_call_text(b'{"name": "f", "arguments": {"a": ' + b"9" * 5000 + b"}}")
    assert (call.name, bool(call.malformed)) == ("f", True)
