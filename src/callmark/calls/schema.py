"""A tool's JSON Schema: its parameters, what a value may be at a place in it, and full validation.

Schemas come from files and may be anything: what is not understood is left alone, and why one does not compile is for
`schema_problem` to say. Nothing is fetched: a `$ref` outside the schema does not resolve. Patterns run in linear time; those
that need looking around or back, in a bounded number of steps.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from callmark.types import Call, Tool

_COMBINED = ("anyOf", "oneOf", "allOf")
_NOT_FLAT = frozenset({*_COMBINED, "$ref", "nullable"})
_CLASSES = {"string": str, "integer": int, "number": float, "boolean": bool}  # what nearly every value of that type is
_MOST_STEPS = 100_000  # of a pattern that needs looking back


def properties(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of each named parameter; `{}` where there is none."""
    found = parameters.get("properties")
    return found if isinstance(found, dict) else {}


def required(parameters: Mapping[str, Any]) -> frozenset[str]:
    """The names of the parameters that must be given."""
    found = parameters.get("required")
    return frozenset(name for name in found if isinstance(name, str)) if isinstance(found, list) else frozenset()


def admits_null(schema: Any, root: Mapping[str, Any]) -> bool:
    """Whether null is among what the schema takes. A schema without any type takes everything."""
    try:
        return _fits(None, schema, root, frozenset(), listed=True)
    except RecursionError:
        return True


def variants(schema: Any, root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema itself and everything that `anyOf`, `oneOf`, `allOf` and local `$ref` make of it, each once."""
    yield from _variants([schema], root)


def _variants(schemas: Sequence[Any], root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """By identity, so that a schema that refers to itself ends, and a large one takes no longer than its size."""
    seen: set[int] = set()
    rest = deque(schemas)
    while rest:
        part = rest.popleft()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        rest.extend(item for key in _COMBINED if isinstance(part.get(key), list) for item in part[key])
        if isinstance(part.get("$ref"), str):
            rest.append(_resolve(part["$ref"], root))


def child_schemas(schemas: Sequence[Any], key: str | int, root: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The schemas that apply to an object's field, or to an array's item, of a value that any of `schemas` applies to."""
    children: list[Any] = []
    for part in _variants(schemas, root):
        if isinstance(key, str):
            children.append(properties(part).get(key, part.get("additionalProperties")))
        else:
            prefix = part.get("prefixItems")
            children.append(prefix[key] if isinstance(prefix, list) and key < len(prefix) else part.get("items"))
    return list(_variants(children, root))


def types_fit(value: Any, schema: Any, root: Mapping[str, Any]) -> bool:
    """Whether everything required is there and every type fits, through arrays and objects (docs/metrics.md, section 7).

    Values, enums and patterns are not looked at; unknown keys and unknown type words are let through.
    """
    try:
        return fast_fits(value, schema) or _fits(value, schema, root, frozenset(), listed=False)
    except RecursionError:  # a schema deeper than any that people write
        return False


def fast_fits(value: Any, schema: Any) -> bool:
    """Whether everything fits that can be told at a glance: the flat schema that nearly every tool has. False says nothing."""
    if value.__class__ is not dict or schema.__class__ is not dict or not _NOT_FLAT.isdisjoint(schema):
        return False
    known = schema.get("properties")
    if schema.get("type") != "object" or known.__class__ is not dict:
        return False
    for key, child in value.items():
        part = known.get(key)
        if part is None:
            continue
        if part.__class__ is not dict or not _NOT_FLAT.isdisjoint(part):
            return False
        kind = part.get("type")
        if kind.__class__ is not str or _CLASSES.get(kind) is not child.__class__:
            items = part.get("items") if child.__class__ is list and kind == "array" else None
            if items is None or not all([_is_plainly(item, items) for item in child]):  # noqa: C419
                return False
    needed = schema.get("required")
    return needed is None or (needed.__class__ is list and all([name.__class__ is str and name in value for name in needed]))  # noqa: C419 - faster


def _is_plainly(value: Any, schema: Any) -> bool:
    """Whether a plain value is of the one type that the schema names."""
    if schema.__class__ is not dict or not _NOT_FLAT.isdisjoint(schema):
        return False
    kind = schema.get("type")
    return kind.__class__ is str and _CLASSES.get(kind) is value.__class__


def _fits(value: Any, schema: Any, root: Mapping[str, Any], seen: frozenset[int], *, listed: bool) -> bool:
    """`seen` holds the schemas that were entered for this same value, so that one that refers to itself ends. With `listed` an enum or a
    const that does not have the value refuses it.
    """
    if not isinstance(schema, dict) or id(schema) in seen:
        return schema is not False
    if value is None and schema.get("nullable") is True:
        return True
    if listed and ((isinstance(schema.get("enum"), list) and value not in schema["enum"]) or schema.get("const", value) != value):
        return False
    inside = seen | {id(schema)}
    if isinstance(schema.get("$ref"), str) and not _fits(value, _resolve(schema["$ref"], root), root, inside, listed=listed):
        return False
    for key in _COMBINED:
        parts = schema.get(key)
        if isinstance(parts, list) and parts:
            fitting = (_fits(value, part, root, inside, listed=listed) for part in parts)
            if not (all(fitting) if key == "allOf" else any(fitting)):
                return False
    kinds = schema.get("type")
    if kinds is not None and not any(_is_kind(value, kind) for kind in (kinds if isinstance(kinds, list) else [kinds])):
        return False
    if isinstance(value, dict):
        known = properties(schema)
        if not required(schema) <= value.keys():
            return False
        return all(_fits(child, known[key], root, frozenset(), listed=listed) for key, child in value.items() if key in known)
    if isinstance(value, list | tuple) and isinstance(schema.get("items"), dict):
        return all(_fits(child, schema["items"], root, frozenset(), listed=listed) for child in value)
    return True


def _is_kind(value: Any, kind: Any) -> bool:
    match kind:
        case "string" | "str":
            return isinstance(value, str)
        case "integer" | "int":
            return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
        case "number" | "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean" | "bool":
            return isinstance(value, bool)
        case "array" | "list":
            return isinstance(value, list | tuple)
        case "object" | "dict":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:
            return True


def violations(arguments: dict[str, Any], tool: Tool) -> list[tuple[str, str]]:
    """`(argument path, sentence)` for everything in the arguments that the tool's schema does not allow; full JSON Schema.

    A schema that does not compile allows everything; `schema_problem` says so.
    """
    return _violations(arguments, _validator(msgspec.json.encode(tool.parameters)) if tool.parameters else "")


def _violations(arguments: dict[str, Any], validator: Any) -> list[tuple[str, str]]:
    if validator.__class__ is str or validator.is_valid(arguments):
        return []
    return [(format_path(error.instance_path), error.message) for error in validator.iter_errors(arguments)]


class _Flat:
    """A flat schema as a table: the class of each parameter of one plain type without a default, of the items of each that is a list of
    such, and what must be given. A schema of any other kind has a table that nothing fits.
    """

    __slots__ = ("classes", "is_flat", "items", "needed")

    def __init__(self, schema: Any) -> None:
        self.is_flat = False
        self.classes: dict[str, type] = {}
        self.items: dict[str, type] = {}
        self.needed = frozenset({""})
        needed = schema.get("required", [])
        flat = schema.get("type") == "object" and _NOT_FLAT.isdisjoint(schema) and isinstance(needed, list)
        if flat and all(isinstance(name, str) for name in needed):
            self.is_flat = True
            self.needed = frozenset(needed)
            for name, part in properties(schema).items():
                if not _is_flat(part) or "default" in part:
                    continue
                if part["type"] == "array" and _is_flat(part.get("items")):
                    self.classes[name] = list
                    self.items[name] = _CLASSES.get(part["items"]["type"], _Flat)
                else:
                    self.classes[name] = _CLASSES.get(part["type"], _Flat)

    def has_items(self, key: str, values: list[Any]) -> bool:
        """Whether the values are all of the class that the items of that parameter have."""
        kind = self.items[key]
        return all([value.__class__ is kind for value in values])  # noqa: C419 - faster


def _is_flat(schema: Any) -> bool:
    """Whether a schema says of one type, and nothing but that type, what a value is."""
    return isinstance(schema, dict) and _NOT_FLAT.isdisjoint(schema) and isinstance(schema.get("type"), str)


class Schemas:
    """Tools by name (of two of one name the last), with their compiled validators, which are kept for as long as this is."""

    __slots__ = ("_flat", "_validators", "by_name")

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.by_name = {tool.name: tool for tool in tools}
        self._validators: dict[str, Any] = {}
        self._flat: dict[str, _Flat] = {}

    def fast_correct(self, wanted: Call, made: Call) -> bool:
        """Whether it takes no more than a glance to tell that a call of a known tool is the wanted one and could run: plain values, each
        of the class that its parameter asks for, none of which could equal being left out. False says nothing.
        """
        arguments, given = wanted.arguments, made.arguments
        if arguments != given:
            return False
        flat = self._flat_of(wanted.name)
        for key, value in arguments.items():
            kind = flat.classes.get(key)
            if value.__class__ is not kind or given[key].__class__ is not kind:
                return False
            if kind is list and not flat.has_items(key, arguments[key] + given[key]):
                return False
        return flat.needed <= given.keys()

    def could_run(self, call: Call) -> bool:
        """Whether everything required is there and every type fits; a call of an unknown tool, and one that is malformed, could not run."""
        tool = self.by_name.get(call.name)
        if tool is None or call.malformed:
            return False
        flat = self._flat_of(call.name)
        if flat.is_flat and not flat.needed <= call.arguments.keys():
            return False
        return types_fit(call.arguments, tool.parameters, tool.parameters)

    def _flat_of(self, name: str) -> _Flat:
        if name not in self._flat:
            self._flat[name] = _Flat(self.by_name[name].parameters)
        return self._flat[name]

    def violations(self, call: Call) -> list[tuple[str, str]]:
        """What the schema of the called tool does not allow in a call; nothing where the tool is not known or the call is malformed."""
        tool = self.by_name.get(call.name)
        if tool is None or call.malformed or not tool.parameters:
            return []
        if call.name not in self._validators:
            self._validators[call.name] = _validator(msgspec.json.encode(tool.parameters))
        return _violations(call.arguments, self._validators[call.name])


def schema_problem(tool: Tool) -> str:
    """Why the tool's schema does not compile; empty where it does."""
    validator = _validator(msgspec.json.encode(tool.parameters)) if tool.parameters else ""
    return validator if isinstance(validator, str) else ""


def format_path(path: Sequence[str | int]) -> str:
    """`items[0].id` for `["items", 0, "id"]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


@lru_cache(maxsize=4096)
def _validator(schema: bytes) -> Any:
    """The compiled schema, or the reason why there is none."""
    import jsonschema_rs

    problem = ""
    for patterns in (jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions(backtrack_limit=_MOST_STEPS)):
        try:
            return jsonschema_rs.validator_for(msgspec.json.decode(schema), offline=True, pattern_options=patterns)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError, RecursionError) as error:
            problem = str(error).split("\n", 1)[0]
    return problem


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    if not reference.startswith("#"):
        return None
    place: Any = root
    for step in reference[1:].strip("/").split("/"):
        if step:
            place = place.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place
