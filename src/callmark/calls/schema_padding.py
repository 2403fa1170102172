"""Remove the nulls with which tables pad JSON Schemas: in a column of tools, every schema has the keys of all schemas.

`{"properties": {"city": {"type": "string", "enum": null}, "days": null}}` is the schema of a tool with one parameter, `city`. A null is
valid only as a value (`default`, `const`, in `enum`), so any other null shows that a schema is padded; then a null `default` is too.
"""

from typing import Any

from callmark.calls.strict import DEEPEST

_SCHEMA_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUE_KEYS = frozenset({"default", "const", "example"})
_DATA_KEYS = frozenset({"enum", "examples", "required", *_VALUE_KEYS})  # hold data, not schemas


def is_padded(schema: Any) -> bool:
    """Return whether a schema has a null that is not a value. A schema that is nested more deeply than any table is not padded."""
    rest = [(schema, 0)]
    padded = False
    while rest:
        part, depth = rest.pop()
        if depth > DEEPEST:
            return False
        if isinstance(part, list):
            rest += [(one, depth + 1) for one in part]
        elif isinstance(part, dict):
            for key, inner in part.items():
                if inner is None:
                    padded = padded or key not in _VALUE_KEYS
                elif key in _SCHEMA_MAPS and isinstance(inner, dict):
                    padded = padded or None in inner.values()
                    rest += [(one, depth + 1) for one in inner.values()]
                elif key not in _DATA_KEYS:
                    rest.append((inner, depth + 1))
    return padded


def without_padding(schema: Any) -> Any:
    """Return a padded schema without its nulls; data such as the members of `enum` stay."""
    if isinstance(schema, list):
        return [without_padding(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    cleaned: dict[str, Any] = {}
    for key, inner in schema.items():
        if inner is None:
            continue
        if key in _SCHEMA_MAPS and isinstance(inner, dict):
            cleaned[key] = {name: without_padding(one) for name, one in inner.items() if one is not None}
        else:
            cleaned[key] = inner if key in _DATA_KEYS else without_padding(inner)
    return cleaned
