"""Render rows as responses: the fields of the schema, with nested resources."""

from typing import Any

from callmark.simulation.mock_api.resource_kinds import Field
from callmark.simulation.mock_api.resource_store import ResourceStore, Row
from callmark.simulation.mock_api.schemas import properties, simplify_schema
from callmark.simulation.mock_api.values import ValueContext


def render_row(store: ResourceStore, kind: str, row: Row, schema: Any, *, depth: int = 0) -> Row:
    """Return the row as a response with this schema."""
    own_kind, rendered = store.kind(kind), {}
    key = row[own_kind.key]
    for name, item in properties(simplify_schema(schema)).items():
        field = own_kind.fields.get(name) or Field(name, item)
        if name in own_kind.aliases:
            rendered[name] = key
        elif field.role in ("keys", "whole") and (store.relations.is_derived(kind, field) or name in row):
            rendered[name] = _render_nested(store, kind, key, row, field, item, depth)
        elif name in row:
            rendered[name] = row[name]
        elif (name not in own_kind.fields or name in own_kind.required_fields) and not store.is_later_event(own_kind, name):
            rendered[name] = store.values.generate(item, name, ValueContext(kind, str(key)))
    return rendered


def _render_nested(store: ResourceStore, kind: str, key: Any, row: Row, field: Field, schema: Any, depth: int) -> Any:
    other = store.kind(field.kind)
    reference = store.relations.reference_field(field.kind, kind) if store.relations.is_derived(kind, field) else None
    if reference is not None:
        nested: Any = [{other.key: item[other.key]} for _, item in store.rows(field.kind) if str(item.get(reference.name)) == str(key)]
    else:
        nested = row[field.name]
    if field.role == "keys":
        return [item[other.key] if isinstance(item, dict) else item for item in nested]
    simplified = simplify_schema(schema)
    schema = simplified.get("items") if field.many else simplified
    if depth > 3 or not isinstance(nested, list | dict):
        return [] if field.many else {}
    rendered = [_render_part(store, field.kind, item, schema, depth) for item in (nested if isinstance(nested, list) else [nested])]
    return rendered if field.many else rendered[0]


def _render_part(store: ResourceStore, kind: str, part: Any, schema: Any, depth: int) -> Any:
    key = part.get(store.kind(kind).key) if isinstance(part, dict) else None
    row = store.get(kind, key) if key is not None else None
    return {**render_row(store, kind, row, schema, depth=depth + 1), **part} if row is not None else part
