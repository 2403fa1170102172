"""Things as an answer tells them: the fields that its schema has, with what belongs inside."""

from typing import Any

from callmark.simulation.mock_api.kinds import Field
from callmark.simulation.mock_api.rows import Row, Things
from callmark.simulation.mock_api.shapes import properties, shape
from callmark.simulation.mock_api.values import About


def shown(things: Things, kind: str, row: Row, schema: Any, *, depth: int = 0) -> Row:
    """The row as an answer of that schema tells it."""
    own, told = things.kind(kind), {}
    key = row[own.key]
    for name, each in properties(shape(schema)).items():
        field = own.fields.get(name) or Field(name, each)
        if name in own.aliases:
            told[name] = key
        elif field.role in ("keys", "whole") and (things.family.is_derived(kind, field) or name in row):
            told[name] = _inside(things, kind, key, row, field, each, depth)
        elif name in row:
            told[name] = row[name]
        elif (name not in own.fields or name in own.needed) and not things.is_later(own, name):
            told[name] = things.values.made(each, name, About(kind, str(key)))
    return told


def _inside(things: Things, kind: str, key: Any, row: Row, field: Field, schema: Any, depth: int) -> Any:
    other = things.kind(field.kind)
    naming = things.family.naming(field.kind, kind) if things.family.is_derived(kind, field) else None
    if naming is not None:
        inside: Any = [{other.key: each[other.key]} for _, each in things.rows(field.kind) if str(each.get(naming.name)) == str(key)]
    else:
        inside = row[field.name]
    if field.role == "keys":
        return [each[other.key] if isinstance(each, dict) else each for each in inside]
    given = shape(schema)
    schema = given.get("items") if field.many else given
    if depth > 3 or not isinstance(inside, list | dict):
        return [] if field.many else {}
    told = [_one_inside(things, field.kind, each, schema, depth) for each in (inside if isinstance(inside, list) else [inside])]
    return told if field.many else told[0]


def _one_inside(things: Things, kind: str, part: Any, schema: Any, depth: int) -> Any:
    key = part.get(things.kind(kind).key) if isinstance(part, dict) else None
    row = things.found(kind, key) if key is not None else None
    return {**shown(things, kind, row, schema, depth=depth + 1), **part} if row is not None else part
