"""Whether a call could run: the quick check by a table agrees with the schema."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.schema import Schemas, types_fit
from callmark.types import Call, Tool

parts = st.sampled_from(
    [{"type": "string"}, {"type": "integer", "default": 1}, {"type": "array", "items": {"type": "string"}}, {"type": "array"}, {}, True]
)
schemas = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "string", ["object", "null"]]),
        "properties": st.dictionaries(st.sampled_from("abc"), parts) | st.just([]),
        "required": st.lists(st.sampled_from("abc")) | st.just("a") | st.just([1]),
        "anyOf": st.just([{"required": ["a"]}, {"required": ["b"]}]),
        "nullable": st.booleans(),
    },
)
arguments = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["x", 1, 1.0, True, None, ["x"], ["x", 1], []]))


@pytest.mark.laws
@given(schemas, arguments)
def test_call_could_run_if_its_types_fit(schema: dict[str, Any], given_arguments: dict[str, Any]) -> None:
    found = Schemas([Tool("f", "", schema)])
    assert found.could_run(Call("f", given_arguments)) is types_fit(given_arguments, schema, schema)


@pytest.mark.laws
@given(schemas, arguments)
def test_call_found_correct_by_the_quick_check_could_run(schema: dict[str, Any], given_arguments: dict[str, Any]) -> None:
    found = Schemas([Tool("f", "", schema)])
    call = Call("f", given_arguments)
    if found.fast_correct(call, call):
        assert types_fit(given_arguments, schema, schema)


@pytest.mark.parametrize("made", [[True], [1.0]])
def test_items_of_another_type_need_a_full_comparison(made: list[Any]) -> None:
    found = Schemas([Tool("f", "", {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}})])
    assert not found.fast_correct(Call("f", {"a": [1]}), Call("f", {"a": made}))
    assert found.fast_correct(Call("f", {"a": [1]}), Call("f", {"a": [1]}))


@pytest.mark.parametrize("call", [Call("g"), Call("f", {}, None, "truncated JSON", "{")])
def test_an_unknown_tool_and_a_malformed_call_could_not_run(call: Call) -> None:
    assert not Schemas([Tool("f")]).could_run(call)
