"""The JSON Schema of a tool: its parameters, type checks and full validation.

Schemas come from files and may contain anything: unknown parts are ignored, and `Schemas.problem` returns why a schema is invalid. Nothing
is fetched: a `$ref` outside the schema does not resolve. `callmark.calls.validation` validates, in bounded time.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callmark.calls.validation import Validator, compile_schema
from callmark.types import Call, Tool

COMBINED = ("anyOf", "oneOf", "allOf")
_NOT_FLAT = frozenset({*COMBINED, "$ref", "nullable"})
_LONGEST_PATH = 400  # characters
_SAME_BY_TYPE = frozenset({str, int, bool})  # values of one of these types fit the same schemas
_MAX_QUESTIONS = 1_000_000  # whether a part of a value fits a part of a schema, for one value
_CLASSES = {"string": str, "integer": int, "number": float, "boolean": bool}  # the Python class of almost every value of that type


def properties(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of each parameter by name; `{}` if there are none."""
    found = parameters.get("properties")
    return found if isinstance(found, dict) else {}


def required(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the required parameters."""
    found = parameters.get("required")
    return frozenset(name for name in found if isinstance(name, str)) if isinstance(found, list) else frozenset()


def admits_null(schema: Any, root: Mapping[str, Any]) -> bool:
    """Return whether the schema allows null. A schema without a type allows everything."""
    try:
        return _fits(None, schema, root, {}, check_listed=True)
    except RecursionError:
        return True


def variants(schema: Any, root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schema itself and every schema reached through `anyOf`, `oneOf`, `allOf` and local `$ref`, each once."""
    yield from _variants([schema], root)


def _variants(schemas: Sequence[Any], root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the variants of several schemas. They are compared by identity, so that recursive schemas terminate in linear time."""
    seen: set[int] = set()
    rest = deque(schemas)
    while rest:
        part = rest.popleft()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        rest.extend(item for key in COMBINED if isinstance(part.get(key), list) for item in part[key])
        if isinstance(part.get("$ref"), str):
            rest.append(resolve(part["$ref"], root))


def child_schemas(schemas: Sequence[Any], key: str | int, root: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas of a field of an object, or of an item of an array, that any of `schemas` describes."""
    children: list[Any] = []
    for part in _variants(schemas, root):
        if isinstance(key, str):
            children.append(properties(part).get(key, part.get("additionalProperties")))
        else:
            prefix = part.get("prefixItems")
            children.append(prefix[key] if isinstance(prefix, list) and key < len(prefix) else part.get("items"))
    return list(_variants(children, root))


def types_fit(value: Any, schema: Any, root: Mapping[str, Any]) -> bool:
    """Return whether all required fields are present and all types match, at every level (docs/reference/metrics.md, section 7).

    Enums, patterns and other constraints on values are ignored; unknown keys and unknown type names pass.
    """
    try:
        return fast_fits(value, schema) or _fits(value, schema, root, {}, check_listed=False)
    except RecursionError:  # nested more deeply than any real schema, or more parts that meet than in any real call
        return False


def fast_fits(value: Any, schema: Any) -> bool:
    """Return True if a value fits a flat schema, which almost every tool has. False requires a full check by `types_fit`."""
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
            if items is None or not all([_has_plain_type(item, items) for item in child]):  # noqa: C419
                return False
    names = schema.get("required")
    return names is None or (names.__class__ is list and all([name.__class__ is str and name in value for name in names]))  # noqa: C419 - faster


def _has_plain_type(value: Any, schema: Any) -> bool:
    """Return whether a plain value has the single type that the schema names."""
    if schema.__class__ is not dict or not _NOT_FLAT.isdisjoint(schema):
        return False
    kind = schema.get("type")
    return kind.__class__ is str and _CLASSES.get(kind) is value.__class__


_Known = dict[tuple[int, int], bool]  # whether a part of the value fits a schema, by their ids


def _fits(value: Any, schema: Any, root: Mapping[str, Any], known: _Known, *, check_listed: bool) -> bool:
    """Return whether a value fits a schema. With `check_listed`, it must be in the enum or equal the const, if there is one.

    `known` has the answers so far, and True for the questions that are still open: recursive schemas terminate, and schemas that refer to
    others many times do not take exponential time. Too many questions raise `RecursionError`.
    """
    if not isinstance(schema, dict):
        return schema is not False
    question = id(value.__class__ if value.__class__ in _SAME_BY_TYPE and not check_listed else value), id(schema)
    if question not in known:
        if len(known) >= _MAX_QUESTIONS:
            raise RecursionError
        known[question] = True
        known[question] = _fits_parts(value, schema, root, known, check_listed=check_listed)
    return known[question]


def _fits_parts(value: Any, schema: dict[str, Any], root: Mapping[str, Any], known: _Known, *, check_listed: bool) -> bool:
    if value is None and schema.get("nullable") is True:
        return True
    if check_listed and ((isinstance(schema.get("enum"), list) and value not in schema["enum"]) or schema.get("const", value) != value):
        return False
    if isinstance(schema.get("$ref"), str) and not _fits(value, resolve(schema["$ref"], root), root, known, check_listed=check_listed):
        return False
    for key in COMBINED:
        parts = schema.get(key)
        if isinstance(parts, list) and parts:
            fitting = (_fits(value, part, root, known, check_listed=check_listed) for part in parts)
            if not (all(fitting) if key == "allOf" else any(fitting)):
                return False
    kinds = schema.get("type")
    if kinds is not None and not any(has_type(value, kind) for kind in (kinds if isinstance(kinds, list) else [kinds])):
        return False
    if isinstance(value, dict):
        fields = properties(schema)
        if not required(schema) <= value.keys():
            return False
        return all(_fits(child, fields[key], root, known, check_listed=check_listed) for key, child in value.items() if key in fields)
    if isinstance(value, list | tuple) and isinstance(schema.get("items"), dict):
        return all(_fits(child, schema["items"], root, known, check_listed=check_listed) for child in value)
    return True


def has_type(value: Any, kind: Any) -> bool:
    """Return whether a value has the type of a type word. Any other word fits everything; `integer` takes 1.0."""
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


class _FlatSchema:
    """A flat schema as a table: the class of each parameter with one plain type and no default, or of its items if it is a list of those,
    and the required names. The table of any other schema fits nothing.
    """

    __slots__ = ("classes", "is_flat", "items", "required")

    def __init__(self, schema: Any) -> None:
        self.is_flat = False
        self.classes: dict[str, type] = {}
        self.items: dict[str, type] = {}
        self.required = frozenset({""})
        names = schema.get("required", [])
        flat = schema.get("type") == "object" and _NOT_FLAT.isdisjoint(schema) and isinstance(names, list)
        if flat and all(isinstance(name, str) for name in names):
            self.is_flat = True
            self.required = frozenset(names)
            for name, part in properties(schema).items():
                if not _is_flat(part) or "default" in part:
                    continue
                if part["type"] == "array" and _is_flat(part.get("items")):
                    self.classes[name] = list
                    self.items[name] = _CLASSES.get(part["items"]["type"], _FlatSchema)
                else:
                    self.classes[name] = _CLASSES.get(part["type"], _FlatSchema)

    def has_items(self, key: str, values: list[Any]) -> bool:
        """Return whether all values have the class of the items of that parameter."""
        kind = self.items[key]
        return all([value.__class__ is kind for value in values])  # noqa: C419 - faster


def _is_flat(schema: Any) -> bool:
    """Return whether a schema names one type and does not combine schemas."""
    return isinstance(schema, dict) and _NOT_FLAT.isdisjoint(schema) and isinstance(schema.get("type"), str)


class Schemas:
    """Tools by name (the last one, if two have the same name), with cached validators."""

    __slots__ = ("_flat", "_folded", "_validators", "by_name")

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.by_name = {tool.name: tool for tool in tools}
        self._validators: dict[str, Validator | str] = {}
        self._flat: dict[str, _FlatSchema] = {}
        self._folded: dict[str, Tool] | None = None

    def find(self, name: str) -> Tool | None:
        """Return the tool of that name, ignoring case if there is no exact match; None for an unknown tool."""
        tool = self.by_name.get(name)
        if tool is None:
            if self._folded is None:
                self._folded = {}
                for each in self.by_name.values():
                    self._folded.setdefault(each.name.casefold(), each)
            tool = self._folded.get(name.casefold())
        return tool

    def fast_correct(self, expected: Call, actual: Call) -> bool:
        """Return True if a quick check shows that the actual call of a known tool is the expected one and could run: plain values, each of
        the class of its parameter, none of which could be equivalent to omitting it. False requires a full comparison.
        """
        arguments, given = expected.arguments, actual.arguments
        if arguments != given:
            return False
        flat = self._flat_schema(expected.name)
        for key, value in arguments.items():
            kind = flat.classes.get(key)
            if value.__class__ is not kind or given[key].__class__ is not kind:
                return False
            if kind is list and not flat.has_items(key, arguments[key] + given[key]):
                return False
        return flat.required <= given.keys()

    def could_run(self, call: Call) -> bool:
        """Return whether all required arguments are present and all types match. Unknown tools and malformed calls could not run."""
        tool = self.by_name.get(call.name)
        if tool is None or call.malformed:
            return False
        flat = self._flat_schema(call.name)
        if flat.is_flat and not flat.required <= call.arguments.keys():
            return False
        return types_fit(call.arguments, tool.parameters, tool.parameters)

    def _flat_schema(self, name: str) -> _FlatSchema:
        if name not in self._flat:
            self._flat[name] = _FlatSchema(self.by_name[name].parameters)
        return self._flat[name]

    def violations(self, call: Call) -> list[tuple[str, str]]:
        """Return `(argument path, message)` for each violation of the called tool's schema (full JSON Schema).

        None if the tool is unknown or the call is malformed. An invalid schema allows everything; `problem` returns why it is invalid.
        """
        validator = self._validator(call.name) if not call.malformed else ""
        if isinstance(validator, str):
            return []
        found = validator.violations(call.arguments)
        return [(format_path(path), message) for path, message in found] if found else []

    def problem(self, name: str) -> str:
        """Return why the schema of a tool is invalid; empty if it is valid, or the tool is unknown."""
        validator = self._validator(name)
        return validator if isinstance(validator, str) else ""

    def _validator(self, name: str) -> Validator | str:
        tool = self.by_name.get(name)
        if tool is None or not tool.parameters:
            return ""
        if name not in self._validators:
            self._validators[name] = compile_schema(msgspec.json.encode(tool.parameters))
        return self._validators[name]


def format_path(path: Sequence[str | int]) -> str:
    """Return `items[0].id` for `["items", 0, "id"]`. A long path is shortened in the middle, because thousands of values may share it."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{_shorten(step)}" if text else _shorten(step)
    return _shorten(text)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_PATH else f"{text[: _LONGEST_PATH // 2]}…{text[-_LONGEST_PATH // 2 :]}"


def resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """Return the part of a schema that a local `$ref` names; None if there is none."""
    if not reference.startswith("#"):
        return None
    place: Any = root
    for step in reference[1:].strip("/").split("/"):
        if step:
            place = place.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place
