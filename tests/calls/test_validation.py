"""Arguments validated against a full JSON Schema."""

from typing import Any

import msgspec
import pytest

from callmark.calls.schema import types_fit
from callmark.calls.validation import Validator, compile_schema

NULLABLE = {"type": "string", "nullable": True}


@pytest.mark.parametrize(
    "part, value, fits",
    [
        (NULLABLE, None, True),
        (NULLABLE, "a", True),
        (NULLABLE, 1, False),
        ({"type": "string", "nullable": False}, None, False),
        ({"type": "string", "enum": ["a"], "nullable": True}, None, True),
        ({"type": "string", "enum": ["a"], "nullable": True}, "b", False),
        ({"$ref": "#/$defs/name", "nullable": True}, None, True),
        ({"$ref": "#/$defs/name"}, None, False),
        ({"type": "array", "items": NULLABLE}, ["a", None], True),
        ({"type": "object", "properties": {"nullable": {"type": "boolean"}}}, {"nullable": None}, False),
        ({"type": "object", "properties": {"default": NULLABLE}}, {"default": None}, True),
        ({"enum": [{"nullable": True}]}, {"nullable": True}, True),
        ({"enum": [{"nullable": True}]}, None, False),
    ],
)
def test_nullable_admits_null(part: dict[str, Any], value: Any, fits: bool) -> None:
    schema = {"type": "object", "properties": {"x": part}, "$defs": {"name": {"type": "string"}}}
    validator = compile_schema(msgspec.json.encode(schema))
    assert isinstance(validator, Validator)
    assert (validator.violations({"x": value}) == []) is fits
    if value is None and "enum" not in part:
        assert types_fit({"x": value}, schema, schema) is fits
