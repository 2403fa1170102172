"""Validate arguments against a full JSON Schema, in bounded time.

Parts of a schema may refer to each other (`$ref`), so that a few lines take a validator exponential time, and every error quotes the value
that it is about. Therefore the steps are counted before a value is validated, which takes linear time: where the parts of a schema are
visited how often, and how much they would quote. Arguments that take too many steps are not validated, and the answer says so.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from callmark.calls.matchers import compile_regex
from callmark.calls.plain_schema import read_plain_schema

_MAX_BACKTRACKS = 100_000  # of a pattern with lookaround or backreferences
_MAX_PATTERN = 1 << 20  # bytes of such a pattern, compiled
_SHORT = 20_000  # bytes of a schema
_STEPS_PER_NODE = 50  # of the arguments
_MIN_STEPS = 20_000  # that arguments of any size may take
_MIN_ERROR_STEPS = 2000  # the same if the errors are listed, which takes longer
_MAX_QUOTED = 2_000_000  # characters in all errors together
_MAX_SIMPLE = 1000  # objects and lists of a schema whose steps need not be counted
_MANY = 1 << 60
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_UNKNOWN = object()  # a part of the schema that is not found, and may be any

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_PATTERNS = frozenset({"pattern", "patternProperties"})
_LISTED = frozenset({"enum", "const", "$ref", "anyOf", "oneOf", "allOf"})  # may exclude null even where the type admits it
_DATA = frozenset({"enum", "const", "default", "examples", "example"})  # keys whose values are not schemas
_SCHEMA_TABLES = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_SAME_VALUE = (*_REFERENCES, "not", "if", "then", "else")
_SAME_VALUE_LISTS = ("anyOf", "oneOf", "allOf")
_FIELD_TABLES = ("properties", "patternProperties")
_FIELDS = ("additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")


class Validator:
    """A compiled schema. The steps of a plain schema need not be counted: a value meets at most one part of it."""

    def __init__(self, schema: Any, validator: Any, *, is_short: bool) -> None:
        self._schema = _Schema(schema)
        self._validator = validator
        self._plain = read_plain_schema(schema)
        self._is_simple = is_short and self._schema.is_simple()

    def violations(self, arguments: Any) -> list[tuple[tuple[str | int, ...], str]]:
        """Return the path and the message of each violation."""
        if self._plain is not None:
            return [] if self._plain.plainly_fits(arguments) or self._validator.is_valid(arguments) else self._errors(arguments)
        steps = None if self._is_simple else _Steps(self._schema, arguments)
        if steps is not None and steps.visits > _MIN_STEPS + _STEPS_PER_NODE * steps.nodes:
            return [((), "not validated, because validating these arguments takes too many steps")]
        if self._validator.is_valid(arguments):
            return []
        steps = steps or _Steps(self._schema, arguments)
        if steps.visits > _MIN_ERROR_STEPS + _STEPS_PER_NODE * steps.nodes or steps.quoted > _MAX_QUOTED + _STEPS_PER_NODE * steps.size:
            return [((), "does not fit the schema; finding the place takes too many steps")]
        return self._errors(arguments)

    def _errors(self, arguments: Any) -> list[tuple[tuple[str | int, ...], str]]:
        return [(tuple(error.instance_path), error.message) for error in self._validator.iter_errors(arguments)]


def compile_schema(schema: bytes) -> Validator | str:
    """Return the compiled schema, or the reason why it is invalid."""
    return _compile_cached(schema) if len(schema) <= _SHORT else _compile(schema)


def _compile(schema: bytes) -> Validator | str:
    import jsonschema_rs

    problem = ""
    value = msgspec.json.decode(schema)
    if b'"nullable"' in schema:
        _admit_nulls(value)
    fancy = jsonschema_rs.FancyRegexOptions(backtrack_limit=_MAX_BACKTRACKS, size_limit=_MAX_PATTERN)
    for patterns in (jsonschema_rs.RegexOptions(), fancy):
        try:
            validator = jsonschema_rs.validator_for(value, offline=True, pattern_options=patterns)
            return Validator(value, validator, is_short=len(schema) <= _SHORT)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError, RecursionError) as error:
            problem = str(error).split("\n", 1)[0]
    return problem


def _admit_nulls(schema: Any) -> None:
    """Change every part with OpenAPI's `nullable: true` so that a JSON Schema validator accepts null there."""
    rest = [schema]
    while rest:
        node = rest.pop()
        if not isinstance(node, dict):
            continue
        for key, part in node.items():
            if key in _SCHEMA_TABLES:
                rest.extend(_fields(part).values())
            elif key not in _DATA:
                rest.extend(_items(part) or [part])
        if node.get("nullable") is not True:
            continue
        if isinstance(node.get("type"), str) and _LISTED.isdisjoint(node):
            node["type"] = [node["type"], "null"]
        else:
            part = dict(node)
            node.clear()
            node["anyOf"] = [{"type": "null"}, part]


_compile_cached = lru_cache(maxsize=4096)(_compile)


class _Schema:
    """A schema whose references can be resolved: JSON pointers and anchors, but not the `$id` of a part."""

    def __init__(self, root: Any) -> None:
        self.root = root
        nodes = list(_nodes(root))
        self._anchors = {f"#{node[key]}": node for node in nodes for key in ("$anchor", "$dynamicAnchor") if key in node}
        self._has_ids = any(node is not root and ("$id" in node or isinstance(node.get("id"), str)) for node in nodes)

    def resolve(self, reference: str) -> Any:
        """Return the part that is referred to; `_UNKNOWN` if it is not found."""
        place = self._anchors.get(reference)
        if place is None and reference.startswith("#") and not self._has_ids:
            place = self.root
            for step in _percent_decode(reference[1:]).split("/")[1:]:
                step = step.replace("~1", "/").replace("~0", "~")
                if isinstance(place, dict):
                    place = place.get(step)
                else:
                    place = place[int(step)] if isinstance(place, list) and _is_index(step, place) else None
        return _UNKNOWN if place is None else place

    def is_simple(self) -> bool:
        """Return whether the schema has no patterns, and would be short with every reference replaced by what it refers to. Then no value
        meets many parts of it, and the steps need not be counted.
        """
        sizes: dict[int, int] = {}

        def size(node: Any) -> int:
            if node is _UNKNOWN or (isinstance(node, dict) and not _PATTERNS.isdisjoint(node)):
                return _MANY
            if not isinstance(node, dict | list):
                return 0
            if id(node) not in sizes:
                sizes[id(node)] = _MANY  # for a part that refers to itself
                parts: list[Any] = list(node.values()) if isinstance(node, dict) else node
                referred = [self.resolve(node[key]) for key in _REFERENCES if isinstance(node, dict) and isinstance(node.get(key), str)]
                sizes[id(node)] = min(1 + sum(map(size, parts)) + sum(map(size, referred)), _MANY)
            return sizes[id(node)]

        try:
            return size(self.root) <= _MAX_SIMPLE
        except RecursionError:
            return False


class _Steps:
    """The steps that validating a value takes: how often a part of it meets a part of the schema, and the characters that errors quote.

    A reference that cannot be resolved counts as too many steps.
    """

    def __init__(self, schema: _Schema, value: Any) -> None:
        self._schema = schema
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        self._sizes: dict[int, int] = {}
        self.nodes = 0
        self.size = 0
        try:
            self.size = self._measure(value)
            self.visits, self.quoted = self._count(value, schema.root)
        except RecursionError:
            self.visits = self.quoted = _MANY

    def _measure(self, value: Any) -> int:
        """Return about how many characters a value has as JSON, and count its nodes."""
        self.nodes += 1
        if isinstance(value, dict):
            size = 2 + sum(len(key) + 4 + self._measure(item) for key, item in value.items())
        elif isinstance(value, list | tuple):
            size = 2 + sum(1 + self._measure(item) for item in value)
        else:
            return self._plain_size(value)
        self._sizes[id(value)] = size
        return size

    def _listed_size(self, schema: Mapping[str, Any]) -> int:
        """Return the number of characters of the values that an error about this part of the schema quotes."""
        if "enum" not in schema and "const" not in schema:
            return 0
        if id(schema) not in self._sizes:
            self._sizes[id(schema)] = sum(len(msgspec.json.encode(schema[key])) for key in ("enum", "const") if key in schema)
        return self._sizes[id(schema)]

    def _plain_size(self, value: Any) -> int:
        return len(value) + 2 if isinstance(value, str) else 8

    def _count(self, value: Any, schema: Any) -> tuple[int, int]:
        """Return the visits and the quoted characters."""
        if schema is _UNKNOWN:
            return _MANY, _MANY
        if not isinstance(schema, dict):
            return 1, 0
        question = id(value), id(schema)
        if question not in self._known:
            self._known[question] = 1, 0  # a part that refers to itself is visited once
            size = self._sizes.get(id(value)) or self._plain_size(value)
            visits = 1 + _pattern_steps(schema, value) + len(_items(schema.get("enum"))) // 10
            quoted = (size + self._listed_size(schema)) * len(schema)
            for child, part in self._parts(value, schema):
                more_visits, more_quoted = self._count(child, part)
                visits, quoted = min(visits + more_visits, _MANY), min(quoted + more_quoted, _MANY)
            self._known[question] = visits, quoted
        return self._known[question]

    def _parts(self, value: Any, schema: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
        """Yield every part of the value with every part of the schema that it may meet directly."""
        for key in _SAME_VALUE:
            if key in schema:
                yield value, self._schema.resolve(schema[key]) if isinstance(schema[key], str) else schema[key]
        for key in _SAME_VALUE_LISTS:
            yield from ((value, part) for part in _items(schema.get(key)))
        for key in ("dependentSchemas", "dependencies"):
            yield from ((value, part) for part in _fields(schema.get(key)).values())
        if isinstance(value, dict):
            yield from self._field_parts(value, schema)
        elif isinstance(value, list | tuple):
            lists = [part for key in (*_ITEMS, "prefixItems") for part in _items(schema.get(key))]
            every = [*lists, *(schema[key] for key in _ITEMS if isinstance(schema.get(key), dict))]
            yield from ((item, part) for part in every for item in value)

    def _field_parts(self, value: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
        fields, patterns = (_fields(schema.get(key)) for key in _FIELD_TABLES)
        if fields:
            yield from ((item, fields[key]) for key, item in value.items() if key in fields)
        yield from ((item, part) for part in patterns.values() for item in value.values())
        for name in _FIELDS:
            if isinstance(schema.get(name), dict):
                yield from ((item, schema[name]) for key, item in value.items() if key not in fields)
        if isinstance(schema.get("propertyNames"), dict):
            yield from ((key, schema["propertyNames"]) for key in value)


def _percent_decode(text: str) -> str:
    return _PERCENT.sub(lambda found: bytes([int(found[1], 16)]), text.encode("utf-8", "replace")).decode("utf-8", "replace")


def _is_index(step: str, place: list[Any]) -> bool:
    return step.isdecimal() and len(step) < 10 and int(step) < len(place)


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _fields(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _pattern_steps(schema: Mapping[str, Any], value: Any) -> int:
    """Return the steps for the pattern of a text, or for the patterns of the keys of an object."""
    if isinstance(value, str):
        pattern = schema.get("pattern")
        return _program_size(pattern) * len(value) // 100 if isinstance(pattern, str) else 0
    if isinstance(value, dict) and "patternProperties" in schema:
        return sum(map(_program_size, _fields(schema["patternProperties"]))) * sum(map(len, value)) // 100
    return 0


def _program_size(pattern: str) -> int:
    compiled = compile_regex(pattern)
    return len(pattern) if isinstance(compiled, str) else int(compiled.programsize)


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a schema."""
    rest = [schema]
    while rest:
        node = rest.pop()
        if isinstance(node, dict):
            yield node
            rest.extend(node.values())
        elif isinstance(node, list):
            rest.extend(node)
