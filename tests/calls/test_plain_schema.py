"""Schemas whose fit can be seen from the classes of the values."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.plain_schema import read_plain_schema
from callmark.calls.validation import Validator, compile_schema

TYPES = ["string", "integer", "boolean", "number", "null"]
NAMES = st.sampled_from(["a", "b", "c"])
SCALAR = st.fixed_dictionaries({"type": st.sampled_from(TYPES)}, optional={"description": st.just("text")})
LIST = st.fixed_dictionaries({"type": st.just("array"), "items": SCALAR})
SCHEMA = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(NAMES, SCALAR | LIST, max_size=3)},
    optional={"required": st.lists(NAMES, unique=True), "additionalProperties": st.booleans(), "title": st.just("t")},
)
PLAIN = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
ARGUMENTS = st.dictionaries(NAMES, PLAIN | st.lists(PLAIN, max_size=3) | st.dictionaries(NAMES, PLAIN, max_size=1), max_size=3)


@given(SCHEMA, ARGUMENTS)
def test_what_plainly_fits_has_no_violation_and_what_does_not_has_those_of_a_full_validation(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    plain = read_plain_schema(schema)
    validator = compile_schema(msgspec.json.encode(schema))
    assert plain is not None
    assert isinstance(validator, Validator)
    found = validator.violations(arguments)
    assert not (plain.plainly_fits(arguments) and found)
    validator._plain = None
    assert validator.violations(arguments) == found


@pytest.mark.parametrize("value, fits", [("x", True), (["x"], False), (1, False), (None, False)])
def test_text_plainly_fits_only_a_string(value: Any, fits: bool) -> None:
    plain = read_plain_schema({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    assert plain is not None
    assert plain.plainly_fits({"a": value}) is fits
    assert not plain.plainly_fits({})
    assert not plain.plainly_fits({"a": "x", "b": "x"})
    assert not plain.plainly_fits("a")


def test_list_of_texts_plainly_fits_only_a_list_of_strings() -> None:
    plain = read_plain_schema({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}})
    assert plain is not None
    assert [plain.plainly_fits({"a": value}) for value in ([], ["x"], ["x", 1], "x")] == [True, True, False, False]


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object", "$ref": "#"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "required": [5]},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        {"type": "object", "properties": {"a": {"type": "strange"}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "minItems": 1}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}}},
    ],
)
def test_schema_with_any_other_constraint_is_not_plain(schema: Any) -> None:
    assert read_plain_schema(schema) is None
