"""Plain schemas: an object whose parameters have one type each, as almost every tool has, without any other constraint.

Almost every call of a good model can be seen to fit such a schema by looking at the classes of its values, which takes a fraction of the
time of a full validation. A value meets at most one part of a plain schema, so its validation takes few steps, whatever the value.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

_ROOT_KEYS = frozenset({"type", "properties", "required", "additionalProperties", "title", "description"})
_PART_KEYS = frozenset({"type", "title", "description"})
_CLASSES: dict[str, type] = {"string": str, "integer": int, "boolean": bool}  # whose values fit the type, whatever they are
_OTHER_TYPES = frozenset({"number", "null"})


class PlainSchema(Struct, frozen=True, gc=False):
    """The class of each parameter, or of its items if it is a list, and the required names."""

    classes: dict[str, type]
    items: dict[str, type]
    required: frozenset[str]

    def plainly_fits(self, arguments: Any) -> bool:
        """Return True if a quick check shows that the arguments fit the schema. False requires a full validation."""
        if arguments.__class__ is not dict or not self.required <= arguments.keys():
            return False
        for key, value in arguments.items():
            kind = self.classes.get(key)
            if value.__class__ is not kind:
                kind = self.items.get(key)
                if kind is None or value.__class__ is not list or not all([item.__class__ is kind for item in value]):  # noqa: C419 - faster
                    return False
        return True


def read_plain_schema(schema: Any) -> PlainSchema | None:
    """Return the plain schema; None if the schema is not plain."""
    if not isinstance(schema, dict) or not _ROOT_KEYS.issuperset(schema) or schema.get("type") != "object":
        return None
    parts, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(parts, dict) or not isinstance(required, list) or not isinstance(schema.get("additionalProperties", False), bool):
        return None
    if not all(isinstance(name, str) for name in required) or not all(map(_is_plain, parts.values())):
        return None
    items = {name: part["items"] for name, part in parts.items() if part["type"] == "array"}
    return PlainSchema(_classes(parts), _classes(items), frozenset(required))


def _is_plain(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    if part.get("type") == "array":
        return part.keys() - _PART_KEYS == {"items"} and isinstance(part["items"], dict) and _has_plain_type(part["items"])
    return _has_plain_type(part)


def _has_plain_type(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return _PART_KEYS.issuperset(part) and isinstance(kind, str) and (kind in _CLASSES or kind in _OTHER_TYPES)


def _classes(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, type]:
    return {name: _CLASSES[part["type"]] for name, part in parts.items() if part["type"] in _CLASSES}
