"""A Python function as a tool: derive the JSON Schema of its parameters from signature and docstring, and convert arguments.

Types with a JSON Schema are described and converted: plain types, `Optional`, `Literal`, enums, lists, dicts, dates, `TypedDict`s,
dataclasses and combinations of them. A parameter of any other type accepts any value.
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from callmark.calls.messages import explain_validation_error
from callmark.calls.strict import is_strict
from callmark.errors import BadInput
from callmark.simulation.openapi_schemas import inline_references
from callmark.simulation.toolboxes.docstrings import read_docstring
from callmark.simulation.toolboxes.enumerations import restore_enumerations
from callmark.types import Tool
from callmark.wording import did_you_mean

_KINDS = inspect.Parameter


class Parameter(Struct, frozen=True):
    """A named parameter of a function."""

    name: str
    kind: Any
    type: Any
    schema: dict[str, Any]
    required: bool


class Signature:
    """The signature of a function as a tool. A function that cannot be inspected accepts any arguments."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        docstring = read_docstring(inspect.getdoc(function))
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # a built-in function without a signature
            parameters = [_KINDS("arguments", _KINDS.VAR_KEYWORD)]
        hints = _type_hints(function)
        self._open = any(parameter.kind is _KINDS.VAR_KEYWORD for parameter in parameters)
        named = [each for each in parameters if each.kind not in (_KINDS.VAR_KEYWORD, _KINDS.VAR_POSITIONAL)]
        self._parameters = {
            each.name: _parameter(each, hints.get(each.name, Any), docstring.parameters.get(each.name, "")) for each in named
        }
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {each.name: each.schema for each in self._parameters.values()},
            "required": [each.name for each in self._parameters.values() if each.required],
        }
        self.tool = Tool(name, docstring.text, schema if self._open else {**schema, "additionalProperties": False})

    def bind(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[[], Any]:
        """Return the function with these arguments bound. Arguments that it does not accept raise `BadInput`."""
        for name in arguments:
            if name not in self._parameters and not self._open:
                raise BadInput(f"{self.tool.name}: unknown argument {name!r}{did_you_mean(name, self._parameters)}")
        missing = [each.name for each in self._parameters.values() if each.required and each.name not in arguments]
        if missing:
            raise BadInput(f"{self.tool.name}: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        positional: list[Any] = []
        named: dict[str, Any] = {name: value for name, value in arguments.items() if name not in self._parameters}
        for each in self._parameters.values():
            if each.name not in arguments:
                continue
            try:
                value = _convert(arguments[each.name], each.type)
            except msgspec.ValidationError as error:
                raise BadInput(explain_validation_error(str(error), each.name)) from None
            if each.kind is _KINDS.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[each.name] = value
        return lambda: function(*positional, **named)


def _convert(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return msgspec.convert(_with_integers(value), kind)


def _with_integers(value: Any) -> Any:
    """Return a value with 5 instead of 5.0, because JSON does not distinguish them."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_with_integers(item) for item in value]
        case dict():
            return {key: _with_integers(item) for key, item in value.items()}
        case _:
            return value


def _type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:  # names that exist only for a type checker
        return {}


def _parameter(parameter: inspect.Parameter, hint: Any, description: str) -> Parameter:
    default = parameter.default
    if hint is Any and default.__class__ in (str, int, float, bool):  # without an annotation, the default tells the type
        hint = default.__class__
    if default is None:
        hint = hint | None if hint is not Any else Any
    description = description or _annotation_text(hint)
    try:
        schema = _schema(hint)
    except (TypeError, ValueError, RecursionError):  # a type without a JSON Schema
        hint, schema = Any, {}
    if description:
        schema["description"] = description
    if default is not _KINDS.empty:
        with suppress(TypeError, ValueError):  # a default that JSON cannot express
            plain = msgspec.to_builtins(default)
            schema |= {"default": plain} if is_strict(plain) else {}
    return Parameter(parameter.name, parameter.kind, hint, schema, default is _KINDS.empty)


def _schema(hint: Any) -> dict[str, Any]:
    """Return the schema of a type, with references inlined and without titles, which would only repeat class names."""
    found = msgspec.json.schema(hint)
    schema = inline_references({key: value for key, value in found.items() if key != "$defs"}, found)
    return dict(restore_enumerations(_without_titles(schema), hint))


def _without_titles(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    named = schema.get("properties")
    rest = {key: _without_titles(value) for key, value in schema.items() if key not in ("title", "properties")}
    return rest if named is None else {**rest, "properties": {name: _without_titles(value) for name, value in named.items()}}


def _annotation_text(hint: Any) -> str:
    """Return the text of `Annotated[str, "the city"]`; empty if there is none."""
    return next((text for text in get_args(hint)[1:] if isinstance(text, str)), "") if get_origin(hint) is Annotated else ""
