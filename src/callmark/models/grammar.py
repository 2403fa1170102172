"""Simplified tool schemas for constrained decoding: only the JSON Schema keywords that servers support for constrained output.

References are resolved; patterns and lengths are left out. Unsupported parts allow any value: a simplified schema accepts everything that
the tool's own schema accepts, except arguments that it does not list.
"""

from typing import Any

MAX_SCHEMA_PARTS = 5_000  # in all tools together, with references resolved

_KNOWN_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_ANY = {"type": ["string", "number", "boolean", "object", "array", "null"]}  # some servers read an empty schema as an object
_FORMATS = frozenset({"date", "time", "date-time", "uuid"})
_MAX_DEPTH = 12
_MAX_ITEMS = 64
_MAX_NUMBER = 1 << 53


def arguments_schema(parameters: dict[str, Any], budget: list[int]) -> dict[str, Any]:
    """Return the simplified schema of a tool's arguments, always an object. `budget` counts down the schema parts that are left."""
    simplified = _simplify(parameters, parameters, budget)
    return simplified if simplified.get("type") == "object" else {"type": "object"}


def _simplify(schema: Any, root: dict[str, Any], budget: list[int], within: tuple[str, ...] = ()) -> dict[str, Any]:
    """Reduce a JSON Schema to what every server supports: references resolved, patterns and lengths left out.

    The result accepts everything that the schema accepts, except arguments that the schema does not list. Parts that are invalid, external,
    recursive, nested too deeply or too large allow any value. `within` holds the references followed so far, with an empty string for each
    level without one.
    """
    budget[0] -= 1
    if not isinstance(schema, dict) or len(within) > _MAX_DEPTH or budget[0] < 0:
        return _ANY
    schema, followed = _merge(schema, root, within)
    within = (*within, *followed) if followed else (*within, "")
    simplified: dict[str, Any] = {}
    if isinstance(schema.get("description"), str):
        simplified["description"] = schema["description"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return {**simplified, "enum": schema["enum"]}
    if "const" in schema:
        return {**simplified, "enum": [schema["const"]]}
    types = _types(schema)
    options = next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list) and schema[key]), None)
    if options and "properties" not in schema:
        return {**simplified, "anyOf": [_simplify(option, root, budget, within) for option in options]}
    if len(types) > 1:
        return {**simplified, "anyOf": [_simplify({**schema, "type": name, "description": None}, root, budget, within) for name in types]}
    if not types:
        return {**simplified, **_ANY}
    simplified["type"] = types[0]
    match types[0]:
        case "object":
            simplified.update(_object(schema, root, budget, within))
        case "array":
            if isinstance(schema.get("items"), dict):
                simplified["items"] = _simplify(schema["items"], root, budget, within)
            simplified.update({key: schema[key] for key in ("minItems", "maxItems") if _is_whole(schema.get(key), 0, _MAX_ITEMS)})
        case "string" if isinstance(schema.get("format"), str) and schema["format"] in _FORMATS:
            simplified["format"] = schema["format"]
        case "integer":
            limits = ("minimum", "maximum")
            simplified.update({key: schema[key] for key in limits if _is_whole(schema.get(key), -_MAX_NUMBER, _MAX_NUMBER)})
    return simplified


def _object(schema: dict[str, Any], root: dict[str, Any], budget: list[int], within: tuple[str, ...]) -> dict[str, Any]:
    properties, more = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(properties, dict) or (not properties and more):
        return {}
    required = schema.get("required")
    return {
        "properties": {key: _simplify(inner, root, budget, within) for key, inner in properties.items()},
        "required": [key for key in properties if isinstance(required, list) and key in required],
        "additionalProperties": bool(more),
    }


def _types(schema: dict[str, Any]) -> list[str]:
    """Return the types that a schema declares or implies; empty if there are none."""
    declared = schema.get("type")
    types = [name for name in _KNOWN_TYPES if name == declared or (isinstance(declared, list) and name in declared)]
    if types or declared is not None:
        return types
    return ["object"] if isinstance(schema.get("properties"), dict) else ["array"] if isinstance(schema.get("items"), dict) else []


def _merge(schema: dict[str, Any], root: dict[str, Any], within: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    """Return the schema merged with its `$ref` target and its `allOf`, and the references that were followed."""
    followed: list[str] = []
    parts: list[dict[str, Any]] = []
    rest: list[Any] = [schema]
    while rest and len(parts) < _MAX_DEPTH:
        part = rest.pop(0)
        if not isinstance(part, dict):
            continue
        parts.append(part)
        reference = part.get("$ref")
        if isinstance(reference, str) and reference not in within and reference not in followed:
            followed.append(reference)
            rest.append(_resolve(reference, root))
        if isinstance(part.get("allOf"), list):
            rest.extend(part["allOf"])
    if len(parts) == 1:
        return schema, followed
    merged: dict[str, Any] = {}
    for part in reversed(parts):
        properties = {**_dict(merged, "properties"), **_dict(part, "properties")}
        required = [*_list(merged, "required"), *_list(part, "required")]
        merged = {**merged, **part, **({"properties": properties} if properties else {}), **({"required": required} if required else {})}
    return merged, followed


def _resolve(reference: str, root: dict[str, Any]) -> Any:
    """Return the target of `#/$defs/name`; None if the tool's own schema does not contain it."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference[1:].split("/")[1:]:
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found


def _dict(schema: dict[str, Any], key: str) -> dict[str, Any]:
    return schema[key] if isinstance(schema.get(key), dict) else {}


def _list(schema: dict[str, Any], key: str) -> list[Any]:
    return schema[key] if isinstance(schema.get(key), list) else []


def _is_whole(value: Any, least: int, most: int) -> bool:
    return value.__class__ is int and least <= value <= most
