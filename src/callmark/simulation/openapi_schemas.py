"""Schemas of an OpenAPI 3 document: what they refer to in its place, said in JSON Schema's words.

A schema that comes back to itself, or would grow without measure, is cut to `{}`. Of an answer, what a caller may not send is there, what
is only ever sent is not, examples stay, and every schema that has a name in the document keeps it under `NAMED`; one that is cut has `CUT`.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from callmark.errors import BadInput

NAMED, CUT = "x-named", "x-cut"

_NO_SCHEMA = frozenset({"xml", "discriminator", "externalDocs", "example", "nullable", "readOnly", "writeOnly"})
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})  # the keys in these are names, not words of a schema
_AS_IT_IS = frozenset({"default", "const", "enum", "examples", "example"})
_MOST_PARTS = 5000  # of the schema of one tool


class Inlining:
    """Puts what is referred to in its place, and says it in JSON Schema's words. For the schemas of one tool."""

    def __init__(self, root: Mapping[str, Any], *, of_answers: bool = False) -> None:
        self._root = root
        self._left = _MOST_PARTS
        self._of_answers = of_answers

    def schema(self, value: Any, inside: tuple[str, ...]) -> Any:
        """`inside` are the references that led here; one of them again is a cycle."""
        if isinstance(value, list):
            return [self.schema(item, inside) for item in value]
        if not isinstance(value, dict):
            return value
        self._left -= 1
        if self._left < 0:
            return self._cut("")
        reference = value.get("$ref")
        if isinstance(reference, str):
            if reference in inside:
                return self._cut(reference)
            target = self.schema(found(reference, self._root), (*inside, reference))
            if self._of_answers and isinstance(target, dict):
                target = {NAMED: reference.rpartition("/")[2], **target}
            beside = {key: item for key, item in value.items() if key != "$ref"}
            return {**target, **self.schema(beside, inside)} if beside and isinstance(target, dict) else target
        plain = _plain({key: self._item(key, item, inside) for key, item in value.items() if isinstance(key, str)})
        return {**plain, "example": value["example"]} if self._of_answers and "example" in value else plain

    def _item(self, key: str, item: Any, inside: tuple[str, ...]) -> Any:
        if key in _AS_IT_IS:
            return item
        if key in _BY_NAME and isinstance(item, dict):
            unseen = "writeOnly" if self._of_answers else "readOnly"
            return {str(name): self.schema(each, inside) for name, each in item.items() if not _is_marked(each, unseen)}
        return self.schema(item, inside)

    def _cut(self, reference: str) -> dict[str, Any]:
        return {NAMED: reference.rpartition("/")[2], CUT: True} if self._of_answers else {}


def _is_marked(schema: Any, mark: str) -> bool:
    return isinstance(schema, dict) and schema.get(mark) is True


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of OpenAPI 3.0 in the words of JSON Schema."""
    plain = {key: value for key, value in schema.items() if key not in _NO_SCHEMA and not key.startswith("x-")}
    for limit, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(plain.get(limit), bool) and plain.pop(limit) and bound in plain:
            plain[limit] = plain.pop(bound)
    if isinstance(plain.get("required"), list) and isinstance(plain.get("properties"), dict):
        plain["required"] = [name for name in plain["required"] if name in plain["properties"]]
    if schema.get("nullable") is True:
        if isinstance(plain.get("type"), str):
            plain["type"] = [plain["type"], "null"]
            if isinstance(plain.get("enum"), list) and None not in plain["enum"]:
                plain["enum"] = [*plain["enum"], None]
        elif plain:
            plain = {"anyOf": [plain, {"type": "null"}]}
    return plain


def resolved(value: Any, document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The object that stands there, or that is referred to from there."""
    for _ in range(10):
        if not isinstance(value, dict):
            raise BadInput(f"{where} is not an object")
        if not isinstance(value.get("$ref"), str):
            return value
        value = found(value["$ref"], document)
    raise BadInput(f"{where} refers to itself")


def found(reference: str, root: Mapping[str, Any]) -> Any:
    if not reference.startswith("#"):
        raise BadInput(f"it refers to {reference!r}, which is outside of the file", "Bundle it into one file first.")
    place: Any = root
    for step in reference[1:].strip("/").split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if key:
            place = place.get(key) if isinstance(place, Mapping) else None
    if place is None:
        raise BadInput(f"it refers to {reference!r}, which is not there")
    return place
