"""Convert the schemas of an OpenAPI 3 document to JSON Schema, with references inlined.

A schema that refers to itself, or grows too large, is cut to `{}`; where all schemas of a document together grow too large, `BadInput` is
raised. Request schemas leave out read-only properties, response schemas
write-only ones. Response schemas keep examples, store the name of a referenced schema under `NAMED`, and have `CUT` where they are cut.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from callmark.errors import BadInput

NAMED, CUT = "x-named", "x-cut"

_NOT_JSON_SCHEMA = frozenset({"xml", "discriminator", "externalDocs", "example", "nullable", "readOnly", "writeOnly"})
_KEYED_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})  # keys are names, not keywords
_VALUES = frozenset({"default", "const", "enum", "examples", "example"})
_MAX_PARTS = 5000  # of one tool's schema
MAX_TOTAL = 4_000_000  # values in all schemas of a document, with references inlined
_LONGEST_REFERENCE = 2000  # characters


class SchemaBudget:
    """Counts the values in all schemas of a document: many operations may refer to the same large schema."""

    def __init__(self) -> None:
        self._left = MAX_TOTAL
        self._sizes: dict[int, tuple[Any, int]] = {}  # by identity; the value is kept, so that its identity stays its own

    def take(self, values: int) -> None:
        """Count values. Too many raise `BadInput`."""
        self._left -= values
        if self._left < 0:
            raise BadInput(f"the schemas have more than {MAX_TOTAL:,} values, with references resolved", "Split the file.")

    def take_all(self, value: Any) -> None:
        """Count a value with everything in it."""
        if isinstance(value, dict | list):
            if id(value) not in self._sizes:
                before = self._left
                rest = [value]
                while rest:
                    item = rest.pop()
                    self.take(1)
                    rest.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
                self._sizes[id(value)] = (value, before - self._left)
            else:
                self.take(self._sizes[id(value)][1])


class ReferenceInliner:
    """Inlines references and translates OpenAPI 3.0 to JSON Schema for one tool."""

    def __init__(self, root: Mapping[str, Any], *, budget: SchemaBudget | None = None, for_responses: bool = False) -> None:
        self._root = root
        self._budget = budget or SchemaBudget()
        self._left = _MAX_PARTS
        self._for_responses = for_responses

    def schema(self, value: Any, inside: tuple[str, ...]) -> Any:
        """Return a schema with references inlined. `inside` are the references that led here; a repeated one is a cycle."""
        if isinstance(value, list):
            self._budget.take(len(value))
            return [self.schema(item, inside) for item in value]
        if not isinstance(value, dict):
            return value
        self._left -= 1
        if self._left < 0:
            return self._cut("")
        self._budget.take(1 + len(value))
        reference = value.get("$ref")
        if isinstance(reference, str):
            if reference in inside:
                return self._cut(reference)
            target = self.schema(look_up(reference, self._root), (*inside, reference))
            if self._for_responses and isinstance(target, dict):
                target = {NAMED: reference.rpartition("/")[2], **target}
            siblings = {key: item for key, item in value.items() if key != "$ref"}
            return {**target, **self.schema(siblings, inside)} if siblings and isinstance(target, dict) else target
        plain = _to_json_schema({key: self._item(key, item, inside) for key, item in value.items() if isinstance(key, str)})
        return {**plain, "example": value["example"]} if self._for_responses and "example" in value else plain

    def _item(self, key: str, item: Any, inside: tuple[str, ...]) -> Any:
        if key in _VALUES:
            self._budget.take_all(item)
            return item
        if key in _KEYED_BY_NAME and isinstance(item, dict):
            hidden = "writeOnly" if self._for_responses else "readOnly"
            return {str(name): self.schema(each, inside) for name, each in item.items() if not _is_marked(each, hidden)}
        return self.schema(item, inside)

    def _cut(self, reference: str) -> dict[str, Any]:
        return {NAMED: reference.rpartition("/")[2], CUT: True} if self._for_responses else {}


def _is_marked(schema: Any, mark: str) -> bool:
    return isinstance(schema, dict) and schema.get(mark) is True


def _to_json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI 3.0 schema as JSON Schema."""
    plain = {key: value for key, value in schema.items() if key not in _NOT_JSON_SCHEMA and not key.startswith("x-")}
    for limit, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(plain.get(limit), bool) and plain.pop(limit) and bound in plain:
            plain[limit] = plain.pop(bound)
    if isinstance(plain.get("required"), list) and isinstance(plain.get("properties"), dict):
        plain["required"] = [name for name in plain["required"] if isinstance(name, str) and name in plain["properties"]]
    if schema.get("nullable") is True:
        if isinstance(plain.get("type"), str):
            plain["type"] = [plain["type"], "null"]
            if isinstance(plain.get("enum"), list) and None not in plain["enum"]:
                plain["enum"] = [*plain["enum"], None]
        elif plain:
            plain = {"anyOf": [plain, {"type": "null"}]}
    return plain


def inline_references(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with every `$ref` inlined. A reference to another document, or to nothing, raises `BadInput`."""
    found = ReferenceInliner(root).schema(schema, ())
    return found if isinstance(found, dict) else {}


def resolve(value: Any, document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return an object, following references. Anything that is not an object raises `BadInput`."""
    for _ in range(10):
        if not isinstance(value, dict):
            raise BadInput(f"{where}: not an object")
        if not isinstance(value.get("$ref"), str):
            return value
        value = look_up(value["$ref"], document)
    raise BadInput(f"{where}: $ref refers to itself")


def look_up(reference: str, root: Mapping[str, Any]) -> Any:
    """Return the target of a reference inside the document; any other reference raises `BadInput`."""
    if len(reference) > _LONGEST_REFERENCE:
        raise BadInput(f"$ref: expected at most {_LONGEST_REFERENCE:,} characters, got {len(reference):,}")
    if not reference.startswith("#"):
        raise BadInput(f"$ref {reference!r} points outside the file", "Bundle the API into one file first.")
    target: Any = root
    for step in reference[1:].strip("/").split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if key and isinstance(target, list):
            target = target[int(key)] if key.isascii() and key.isdigit() and len(key) < 6 and int(key) < len(target) else None
        elif key:
            target = target.get(key) if isinstance(target, Mapping) else None
    if target is None:
        raise BadInput(f"$ref {reference!r} is not defined in the file")
    return target
