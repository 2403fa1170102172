"""Simplify schemas: merge `allOf`, choose one of `anyOf` and `oneOf`, and one type."""

from collections.abc import Mapping
from typing import Any

from callmark.simulation.openapi_schemas import CUT

_MAX_DEPTH = 40
_SIMPLIFIED = "x-simplified"


def simplify_schema(schema: Any, *, depth: int = 0) -> dict[str, Any]:
    """Return a schema without combinations, with the first alternative that is not null; `{}` for anything that is not a schema."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return {}
    if _SIMPLIFIED in schema:
        return schema
    found: dict[str, Any] = {}
    for part in schema["allOf"] if isinstance(schema.get("allOf"), list) else ():
        found = _merge(found, simplify_schema(part, depth=depth + 1))
    found = _merge(found, {key: value for key, value in schema.items() if key not in ("allOf", "anyOf", "oneOf")})
    for keyword in ("anyOf", "oneOf"):
        alternatives = schema.get(keyword)
        if isinstance(alternatives, list) and alternatives:
            candidates = [part for part in alternatives if not _is_null(part)] or alternatives
            found = _merge(simplify_schema(candidates[0], depth=depth + 1), found)
    if isinstance(found.get("type"), list):
        found["type"] = next((kind for kind in found["type"] if kind != "null"), "null")
    if isinstance(found.get("enum"), list) and len(found["enum"]) > 1:
        found["enum"] = [value for value in found["enum"] if value is not None] or found["enum"]
    if "type" not in found:
        kind = "object" if properties(found) else "array" if isinstance(found.get("items"), dict) else None
        found |= {"type": kind} if kind else {}
    return found


def simplify_all(schema: Any, *, depth: int = 0) -> dict[str, Any]:
    """Return a schema with all nested schemas simplified, so that `simplify_schema` returns it unchanged."""
    found = {**simplify_schema(schema), _SIMPLIFIED: True}
    if isinstance(found.get("properties"), dict) and depth < _MAX_DEPTH:
        members = found["properties"].items()
        found["properties"] = {name: member if is_cut(member) else simplify_all(member, depth=depth + 1) for name, member in members}
    for keyword in ("items", "additionalProperties"):
        if isinstance(found.get(keyword), dict) and not is_cut(found[keyword]) and depth < _MAX_DEPTH:
            found[keyword] = simplify_all(found[keyword], depth=depth + 1)
    return found


def properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of an object schema without those that were cut; empty for any other schema."""
    found = schema.get("properties")
    return {name: member for name, member in found.items() if not is_cut(member)} if isinstance(found, dict) else {}


def required(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of required properties."""
    found = schema.get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def is_cut(schema: Any) -> bool:
    """Return whether a schema, or the schema of its items, was cut because it refers to itself."""
    if not isinstance(schema, dict):
        return False
    return CUT in schema or (isinstance(schema.get("items"), dict) and CUT in schema["items"])


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _merge(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema for values that fit both; for a property in both, the second wins."""
    merged = {**first, **second}
    if isinstance(first.get("properties"), dict) and isinstance(second.get("properties"), dict):
        merged["properties"] = first["properties"] | second["properties"]
    if required(first) or required(second):
        merged["required"] = list(dict.fromkeys([*required(first), *required(second)]))
    return merged
