"""Tools as Python methods with type hints and a docstring, from which transformers makes the schema that a chat template shows.

Arguments of the types string, integer, number, boolean, array and object keep their type, and enumerations their values; what a type hint
cannot say, such as the parts of an object, is in the description.
"""

import inspect
import types
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any, Literal, Optional

from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.types import Tool

_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}
_PLAIN = frozenset({"string", "integer", "number", "boolean"})


def tool_method(tool: Tool, call: Callable[[Any, Mapping[str, Any]], str]) -> types.FunctionType:
    """Return a method that passes its arguments to `call(self, arguments)`. Arguments that are left out are not passed.

    The method accepts any arguments: those that the tool does not know are the model's mistake, which the tool answers with an error. A
    parameter whose name is not a Python identifier raises `BadInput`.
    """
    properties = tool.parameters.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = tool.parameters.get("required")
    needed = frozenset(required) if isinstance(required, list) else frozenset()

    def method(self: Any, *given: Any, **named: Any) -> str:
        return call(self, {**dict(zip(properties, given, strict=False)), **named})

    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    annotations: dict[str, Any] = {}
    descriptions = []
    for name in sorted(properties, key=lambda name: name not in needed):  # Python wants those with a default last
        if not name.isidentifier() or iskeyword(name) or name in ("self", "return"):
            raise BadInput(
                f"tool {tool.name}: parameter {name!r} is not a valid Python identifier, so the tool cannot be a method of an environment"
            )
        schema = properties[name] if isinstance(properties[name], dict) else {}
        hint = _type_of(schema)
        annotations[name] = hint if name in needed or hint is Any else Optional[hint]  # noqa: UP045 - the hint is a value
        default = inspect.Parameter.empty if name in needed else None
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotations[name]))
        descriptions.append(f"    {name}: {_description(name, schema)}")
    method.__name__ = method.__qualname__ = tool.name
    method.__annotations__ = {**annotations, "return": str}
    method.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    method.__doc__ = _one_line(tool.description) or tool.name
    if descriptions:
        method.__doc__ += "\n\nArgs:\n" + "\n".join(descriptions)
    assert isinstance(method, types.FunctionType)
    return method


def _type_of(schema: Mapping[str, Any]) -> Any:
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(choice, str | int | bool) for choice in choices):
        return Literal[tuple(choices)]
    kind = schema.get("type")
    items = schema.get("items")
    if kind == "array" and isinstance(items, dict) and items.get("type") in _PLAIN:
        return types.GenericAlias(list, (_TYPES[items["type"]],))
    return _TYPES.get(kind, Any) if isinstance(kind, str) else Any


def _description(name: str, schema: Mapping[str, Any]) -> str:
    text = _one_line(schema.get("description")) or name
    inner = {key: schema[key] for key in ("properties", "items", "anyOf", "oneOf", "allOf", "required") if key in schema}
    is_plain = not inner or (set(inner) == {"items"} and isinstance(inner["items"], dict) and set(inner["items"]) <= {"type"})
    return text if is_plain else f"{text} (JSON Schema: {dump(inner)[:2000]})"


def _one_line(text: object) -> str:
    return " ".join(text.split()) if isinstance(text, str) else ""
