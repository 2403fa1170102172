"""What a schema asks for, in one piece: `allOf` merged, one of `anyOf` and `oneOf` chosen, one type."""

from collections.abc import Mapping
from typing import Any

from callmark.simulation.openapi_schemas import CUT

_DEEPEST = 40
_SHAPED = "x-shaped"


def shape(schema: Any, *, depth: int = 0) -> dict[str, Any]:
    """The schema as one without combinations; `{}` for what is no schema. Of several alternatives the first that is not null."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {}
    if _SHAPED in schema:
        return schema
    found: dict[str, Any] = {}
    for part in schema["allOf"] if isinstance(schema.get("allOf"), list) else ():
        found = _both(found, shape(part, depth=depth + 1))
    found = _both(found, {key: value for key, value in schema.items() if key not in ("allOf", "anyOf", "oneOf")})
    for word in ("anyOf", "oneOf"):
        others = schema.get(word)
        if isinstance(others, list) and others:
            fit = [part for part in others if not _is_null(part)] or others
            found = _both(shape(fit[0], depth=depth + 1), found)
    if isinstance(found.get("type"), list):
        found["type"] = next((kind for kind in found["type"] if kind != "null"), "null")
    if isinstance(found.get("enum"), list) and len(found["enum"]) > 1:
        found["enum"] = [value for value in found["enum"] if value is not None] or found["enum"]
    if "type" not in found:
        kind = "object" if properties(found) else "array" if isinstance(found.get("items"), dict) else None
        found |= {"type": kind} if kind else {}
    return found


def shaped(schema: Any, *, depth: int = 0) -> dict[str, Any]:
    """The schema with all that is in it in shape, so that `shape` need not be asked for it again and again."""
    found = {**shape(schema), _SHAPED: True}
    if isinstance(found.get("properties"), dict) and depth < _DEEPEST:
        inside = found["properties"].items()
        found["properties"] = {name: each if is_cut(each) else shaped(each, depth=depth + 1) for name, each in inside}
    for word in ("items", "additionalProperties"):
        if isinstance(found.get(word), dict) and not is_cut(found[word]) and depth < _DEEPEST:
            found[word] = shaped(found[word], depth=depth + 1)
    return found


def properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object, those that were cut left out; of anything else none."""
    found = schema.get("properties")
    return {name: each for name, each in found.items() if not is_cut(each)} if isinstance(found, dict) else {}


def required(schema: Mapping[str, Any]) -> list[str]:
    found = schema.get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def is_cut(schema: Any) -> bool:
    """Whether it, or what it is a list of, came back to itself."""
    if not isinstance(schema, dict):
        return False
    return CUT in schema or (isinstance(schema.get("items"), dict) and CUT in schema["items"])


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two schemas that both hold; where they say different things of one field, the other's word counts."""
    merged = {**one, **other}
    if isinstance(one.get("properties"), dict) and isinstance(other.get("properties"), dict):
        merged["properties"] = one["properties"] | other["properties"]
    if required(one) or required(other):
        merged["required"] = list(dict.fromkeys([*required(one), *required(other)]))
    return merged
