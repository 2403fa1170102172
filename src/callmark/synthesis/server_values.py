"""Values in the results of a tool server, and which parameters of other tools they fit.

A result that is JSON shows rows; one that is text shows its lines of the form `Key: value`. A parameter refers to a value if its name or
its description names the resource and the field: `entityName`, and `The name of the entity`, are the field `name` of an entity.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from callmark.calls.strict import NotStrict, parse
from callmark.simulation.mock_api.names import singular, split_name

_LINE = re.compile(r"^[ \t]*([A-Za-z][\w ]{0,24}):[ \t]+['\"]?([^\s'\"][^'\"\n]{0,120})", re.MULTILINE)
_MAX_LINES = 50
_NAMING_FIELDS = frozenset({"name", "id", "key", "title", "type", "path", "number", "code", "uuid", "slug"})  # of any resource


class ResultValue(Struct, frozen=True):
    """A value that a result showed: its resource (empty if unknown), its field, and the row it is in."""

    kind: str
    field: str
    value: Any
    row: Mapping[str, Any]


class Parameter(Struct, frozen=True):
    """A place for a value in the arguments of a tool: its name, its description, and the resource that the tool works on."""

    name: str
    description: str
    noun: str = ""
    creates: bool = False  # the tool creates a resource: its own fields are new values
    many: bool = False  # it is a list


def observe(text: str, noun: str) -> list[ResultValue]:
    """Return the values in a result, in order. `noun` is the resource that the tool works on; a result without values gives none."""
    try:
        return list(_walk(parse(text), noun))
    except NotStrict:
        pairs = [(key.strip(), value.strip()) for key, value in _LINE.findall(text)[:_MAX_LINES]]
        return [ResultValue(noun, key, value, {key: value}) for key, value in pairs]


def _walk(value: Any, kind: str, depth: int = 0) -> Iterator[ResultValue]:
    if depth > 6:
        return
    if isinstance(value, list):
        for item in value:
            if isinstance(item, str | int) and not isinstance(item, bool):
                yield ResultValue(kind, "name", item, {"name": item})
            else:
                yield from _walk(item, kind, depth + 1)
    elif isinstance(value, dict):
        for field, item in value.items():
            if isinstance(item, str | int | float) and not isinstance(item, bool):
                yield ResultValue(kind, field, item, value)
            elif isinstance(item, list) and all(isinstance(each, str | int) for each in item):
                for each in item:
                    yield ResultValue(kind, field, each, value)
            else:
                yield from _walk(item, " ".join(map(singular, split_name(field))), depth + 1)


def refers_to(parameter: Parameter, kind: str, field: str) -> bool:
    """Return whether a parameter takes the value of a field of a resource."""
    if parameter.creates and kind == parameter.noun:
        return False
    words = tuple(map(singular, split_name(parameter.name)))
    field_words, kind_words = tuple(map(singular, split_name(field))), tuple(split_name(kind)[-1:])
    if not words or not field_words:
        return False
    if (kind_words and words[-len(field_words) - 1 :] == (*kind_words, *field_words)) or (
        words == field_words and not {*words} <= _NAMING_FIELDS
    ):
        return True
    is_new = parameter.creates and parameter.many  # `observations` of a new entity are new, too
    if kind_words and words[-1:] == kind_words and {*field_words} <= _NAMING_FIELDS and not is_new:
        return True  # `entity` takes the name of an entity
    if kind_words and set(words) < set(field_words) and words[-1] == field_words[-1]:  # `observation` takes an `addedObservation`
        return True
    return bool(kind_words) and _describes(parameter.description, " ".join(kind_words), " ".join(field_words))


def names_resource(parameter: Parameter, noun: str) -> bool:
    """Return whether a parameter takes something of a resource, judging by its name and description."""
    if not noun or (parameter.creates and noun == parameter.noun):
        return False
    words = set(map(singular, split_name(parameter.name)))
    in_name = noun.split()[-1] in words and not (parameter.creates and parameter.many and not words & _NAMING_FIELDS)
    return in_name or any(_describes(parameter.description, noun, field) for field in _NAMING_FIELDS)


def _describes(description: str, kind: str, field: str) -> bool:
    pattern = rf"\b{re.escape(field)}s? of (?:the|an?|each) {re.escape(kind)}\b|\b{re.escape(kind)}(?:'s)? {re.escape(field)}s?\b"
    return re.search(pattern, description[:500], re.IGNORECASE) is not None
