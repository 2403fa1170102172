"""Restore order and type of enumerations in schemas: `Literal["b", "a"]` is `{"type": "string", "enum": ["b", "a"]}`.

msgspec sorts the values of a `Literal` or an `Enum` and omits the type. Both matter to a model.
"""

import enum
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from msgspec import Struct

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_Values = frozenset[tuple[type, Any]]


def restore_enumerations(schema: Any, hint: Any) -> Any:
    """Return the schema of a type hint with every `enum` in definition order and with its type.

    If two enumerations in a hint have the same values, both get the order of the first.
    """
    orders: dict[_Values, list[Any]] = {}
    for values in _enumerations(hint, set()):
        orders.setdefault(_key(values), values)
    return _restore(schema, orders)


def _restore(schema: Any, orders: dict[_Values, list[Any]]) -> Any:
    if isinstance(schema, list):
        return [_restore(item, orders) for item in schema]
    if not isinstance(schema, dict):
        return schema
    restored = {key: _restore(value, orders) for key, value in schema.items() if key not in ("enum", "default")}
    values = schema.get("enum")
    if isinstance(values, list):
        ordered = orders.get(_key(values), values)
        types = list(dict.fromkeys(_TYPES[type(value)] for value in ordered if type(value) in _TYPES))
        restored = {"type": types[0] if len(types) == 1 else types, "enum": ordered, **restored} if types else {"enum": ordered, **restored}
    if "default" in schema:
        restored["default"] = schema["default"]
    return restored


def _enumerations(hint: Any, seen: set[Any]) -> Iterator[list[Any]]:
    """Yield the values of each enumeration in a hint, including those in the fields of its classes."""
    if get_origin(hint) is Literal:
        yield list(_literal_values(hint))
        return
    if isinstance(hint, type):
        if hint in seen:
            return
        seen.add(hint)
        if issubclass(hint, enum.Enum):
            yield [member.value for member in hint]
        elif is_dataclass(hint) or is_typeddict(hint) or issubclass(hint, Struct):
            names = [field.name for field in fields(hint)] if is_dataclass(hint) else None
            for name, inner in get_type_hints(hint, include_extras=True).items():
                if names is None or name in names:
                    yield from _enumerations(inner, seen)
    for argument in get_args(hint):
        yield from _enumerations(argument, seen)


def _literal_values(hint: Any) -> Iterator[Any]:
    for value in get_args(hint):
        if get_origin(value) is Literal:
            yield from _literal_values(value)
        else:
            yield value


def _key(values: list[Any]) -> _Values:
    return frozenset((type(value), value) for value in values)
