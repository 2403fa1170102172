"""A Python function as a tool: the JSON Schema of its arguments from its signature and docstring, and arguments as it takes them.

Types that JSON has a word for are described and converted: plain ones, `Optional`, `Literal`, enums, lists, dicts, dates, `TypedDict`s,
dataclasses and what is made of them. A parameter of any other type takes whatever it is given.
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from callmark.calls.messages import field_problem
from callmark.calls.strict import is_strict
from callmark.errors import BadInput
from callmark.simulation.openapi import inlined
from callmark.simulation.toolboxes.docstrings import read_docstring
from callmark.types import Tool
from callmark.wording import nearest

_KINDS = inspect.Parameter


class Parameter(Struct, frozen=True):
    name: str
    kind: Any
    type: Any
    schema: dict[str, Any]
    required: bool


class Signature:
    """How a function is called. One that cannot be looked into takes any arguments; `called` is its name as a tool."""

    def __init__(self, function: Callable[..., Any], called: str) -> None:
        said = read_docstring(inspect.getdoc(function))
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # built in, says nothing of itself
            parameters = [_KINDS("arguments", _KINDS.VAR_KEYWORD)]
        hints = _hints(function)
        self._open = any(parameter.kind is _KINDS.VAR_KEYWORD for parameter in parameters)
        named = [each for each in parameters if each.kind not in (_KINDS.VAR_KEYWORD, _KINDS.VAR_POSITIONAL)]
        self._parameters = {each.name: _parameter(each, hints.get(each.name, Any), said.parameters.get(each.name, "")) for each in named}
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {each.name: each.schema for each in self._parameters.values()},
            "required": [each.name for each in self._parameters.values() if each.required],
        }
        self.tool = Tool(called, said.text, schema if self._open else {**schema, "additionalProperties": False})

    def bound(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[[], Any]:
        """The function with these arguments, ready to be called. Raises `BadInput` for those that it does not take."""
        for name in arguments:
            if name not in self._parameters and not self._open:
                raise BadInput(f"{self.tool.name} has no argument called {name!r}{nearest(name, self._parameters)}")
        missing = [each.name for each in self._parameters.values() if each.required and each.name not in arguments]
        if missing:
            raise BadInput(f"{self.tool.name} needs {' and '.join(missing)}")
        positional: list[Any] = []
        named: dict[str, Any] = {name: value for name, value in arguments.items() if name not in self._parameters}
        for each in self._parameters.values():
            if each.name not in arguments:
                continue
            try:
                value = _converted(arguments[each.name], each.type)
            except msgspec.ValidationError as error:
                raise BadInput(field_problem(str(error), each.name)) from None
            if each.kind is _KINDS.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[each.name] = value
        return lambda: function(*positional, **named)


def _converted(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return msgspec.convert(_whole(value), kind)


def _whole(value: Any) -> Any:
    """With 5 for 5.0, which in JSON is a whole number."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {key: _whole(item) for key, item in value.items()}
        case _:
            return value


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:  # names that are known to a type checker only
        return {}


def _parameter(parameter: inspect.Parameter, hint: Any, said: str) -> Parameter:
    default = parameter.default
    if hint is Any and default.__class__ in (str, int, float, bool):  # nobody said, but it is plain
        hint = default.__class__
    if default is None:
        hint = hint | None if hint is not Any else Any
    said = said or _annotated(hint)
    try:
        schema = _described(hint)
    except (TypeError, ValueError, RecursionError):  # nothing that JSON has a word for
        hint, schema = Any, {}
    if said:
        schema["description"] = said
    if default is not _KINDS.empty:
        with suppress(TypeError, ValueError):  # an object of theirs
            plain = msgspec.to_builtins(default)
            schema |= {"default": plain} if is_strict(plain) else {}
    return Parameter(parameter.name, parameter.kind, hint, schema, default is _KINDS.empty)


def _described(hint: Any) -> dict[str, Any]:
    """The schema of a type, with everything that it refers to in its place and no titles, which are but the names of classes."""
    found = msgspec.json.schema(hint)
    schema = inlined({key: value for key, value in found.items() if key != "$defs"}, found)
    return dict(_untitled(schema))


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    named = schema.get("properties")
    rest = {key: _untitled(value) for key, value in schema.items() if key not in ("title", "properties")}
    return rest if named is None else {**rest, "properties": {name: _untitled(value) for name, value in named.items()}}


def _annotated(hint: Any) -> str:
    """What `Annotated[str, "the city"]` says."""
    return next((said for said in get_args(hint)[1:] if isinstance(said, str)), "") if get_origin(hint) is Annotated else ""
