"""Tool schemas that a grammar can be made of: what servers that hold a reply to a JSON schema understand, and nothing else.

References are followed, patterns and lengths left out. What cannot be understood is anything at all: a schema here admits all that the
tool's own admits, apart from arguments that it does not name.
"""

from typing import Any

LARGEST_SCHEMA = 5_000  # parts of all tools together, after every reference has been followed

_KNOWN_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_ANY = {"type": ["string", "number", "boolean", "object", "array", "null"]}  # an empty schema is an object to some grammars
_FORMATS = frozenset({"date", "time", "date-time", "uuid"})
_DEEPEST_SCHEMA = 12
_MOST_ITEMS = 64
_LONGEST_NUMBER = 1 << 53


def arguments_schema(parameters: dict[str, Any], left: list[int]) -> dict[str, Any]:
    """The schema of a tool's arguments, which are an object whatever the tool says."""
    simple = _simple(parameters, parameters, left)
    return simple if simple.get("type") == "object" else {"type": "object"}


def _simple(schema: Any, root: dict[str, Any], left: list[int], within: tuple[str, ...] = ()) -> dict[str, Any]:
    """A JSON Schema with nothing in it but what every grammar knows: references followed, patterns and lengths left out.

    It admits all that the schema admits, apart from arguments that the schema does not name. What cannot be understood, refers to
    elsewhere or to what it stands in, nests too deep or is too large is anything at all. `within` are the references followed so far, a
    blank for each level without one.
    """
    left[0] -= 1
    if not isinstance(schema, dict) or len(within) > _DEEPEST_SCHEMA or left[0] < 0:
        return _ANY
    schema, followed = _merged(schema, root, within)
    within = (*within, *followed) if followed else (*within, "")
    simple: dict[str, Any] = {}
    if isinstance(schema.get("description"), str):
        simple["description"] = schema["description"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return {**simple, "enum": schema["enum"]}
    if "const" in schema:
        return {**simple, "enum": [schema["const"]]}
    kinds = _kinds(schema)
    options = next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list) and schema[key]), None)
    if options and "properties" not in schema:
        return {**simple, "anyOf": [_simple(option, root, left, within) for option in options]}
    if len(kinds) > 1:
        return {**simple, "anyOf": [_simple({**schema, "type": kind, "description": None}, root, left, within) for kind in kinds]}
    if not kinds:
        return {**simple, **_ANY}
    simple["type"] = kinds[0]
    match kinds[0]:
        case "object":
            simple.update(_object(schema, root, left, within))
        case "array":
            if isinstance(schema.get("items"), dict):
                simple["items"] = _simple(schema["items"], root, left, within)
            simple.update({key: schema[key] for key in ("minItems", "maxItems") if _whole(schema.get(key), 0, _MOST_ITEMS)})
        case "string" if isinstance(schema.get("format"), str) and schema["format"] in _FORMATS:
            simple["format"] = schema["format"]
        case "integer":
            limits = ("minimum", "maximum")
            simple.update({key: schema[key] for key in limits if _whole(schema.get(key), -_LONGEST_NUMBER, _LONGEST_NUMBER)})
    return simple


def _object(schema: dict[str, Any], root: dict[str, Any], left: list[int], within: tuple[str, ...]) -> dict[str, Any]:
    properties, more = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(properties, dict) or (not properties and more):
        return {}
    required = schema.get("required")
    return {
        "properties": {key: _simple(inner, root, left, within) for key, inner in properties.items()},
        "required": [key for key in properties if isinstance(required, list) and key in required],
        "additionalProperties": bool(more),
    }


def _kinds(schema: dict[str, Any]) -> list[str]:
    """The types that a schema says or shows; none where it does not."""
    said = schema.get("type")
    kinds = [kind for kind in _KNOWN_TYPES if kind == said or (isinstance(said, list) and kind in said)]
    if kinds or said is not None:
        return kinds
    return ["object"] if isinstance(schema.get("properties"), dict) else ["array"] if isinstance(schema.get("items"), dict) else []


def _merged(schema: dict[str, Any], root: dict[str, Any], within: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    """The schema with what it refers to, and all that it must be at once, in one; and the references that were followed for it."""
    followed: list[str] = []
    parts: list[dict[str, Any]] = []
    rest: list[Any] = [schema]
    while rest and len(parts) < _DEEPEST_SCHEMA:
        part = rest.pop(0)
        if not isinstance(part, dict):
            continue
        parts.append(part)
        reference = part.get("$ref")
        if isinstance(reference, str) and reference not in within and reference not in followed:
            followed.append(reference)
            rest.append(_referred(reference, root))
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


def _referred(reference: str, root: dict[str, Any]) -> Any:
    """What `#/$defs/name` stands for; None where there is no such place in the tool's own schema."""
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


def _whole(value: Any, least: int, most: int) -> bool:
    return value.__class__ is int and least <= value <= most
