"""Tool lists whose parameters have Python types, as open datasets write them, as tool lists with JSON Schemas.

    {"name", "parameters": {"city": {"type": "str, optional", "description", "default"}}}                parameters by name (xLAM)
    {"name", "parameters": {"type": "dict", "properties": {…: {"type": "List[int]"}}}, "required": […]}  types of Python (ToolACE)
    a tool, or the whole list, as a JSON string

A parameter is required if it says so, or if it is neither optional nor has a default. The default of a parameter that is not optional is an
example value in these datasets: an argument with that value does not equal being left out. A type that JSON Schema has no word for is
dropped, so that every value fits.
"""

import re
from collections.abc import Mapping
from typing import Any

from callmark.calls.shapes import type_name
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput

_TYPES = {
    "str": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "list": "array",
    "array": "array",
    "tuple": "array",
    "set": "array",
    "dict": "object",
    "object": "object",
    "null": "null",
    "none": "null",
}
_GENERIC = re.compile(r"(\w+)\[(.*)\]")
_OPTIONAL = re.compile(r",\s*optional\b", re.IGNORECASE)
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "string": (str,),
}
_MAX_DEPTH = 20  # of nested schemas and types


def json_schema_tools(value: Any, *, where: str = "tools") -> bytes:
    """Return a tool list as JSON, with JSON Schemas as parameters. Anything but a list of tools, or its JSON, raises `BadInput`."""
    value = _decoded(value, where)
    if value is None:
        return b"[]"
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise BadInput(f"{where}: expected a list of tools, got {type_name(value)}")
    return dump([_read_tool(_decoded(tool, f"{where}[{index}]"), f"{where}[{index}]") for index, tool in enumerate(value)]).encode()


def _decoded(value: Any, where: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse(value) if value.strip() else None
    except NotStrict as problem:
        raise BadInput(f"{where}: expected a tool, got a string that is not JSON ({problem})") from None


def _read_tool(tool: Any, where: str) -> Any:
    if not isinstance(tool, dict):
        raise BadInput(f"{where}: expected an object with a name, got {type_name(tool)}")
    if isinstance(tool.get("function"), dict):
        return {**tool, "function": _read_tool(tool["function"], f"{where}.function")}
    parameters = tool.get("parameters")
    if not isinstance(parameters, dict):
        return tool
    fields = {key: value for key, value in tool.items() if key != "required"}
    if not isinstance(parameters.get("properties"), dict):
        return {**fields, "parameters": _schema_by_name(parameters)}
    schema = _schema(parameters, 0)
    required = tool.get("required")
    if "required" not in schema and isinstance(required, list):
        schema = {**schema, "required": required}
    return {**fields, "parameters": schema}


def _schema_by_name(parameters: Mapping[str, Any]) -> Any:
    """Return the schema of parameters that are listed by name; an object that is a schema itself is only given JSON's types."""
    if not parameters or not all(isinstance(value, dict) for value in parameters.values()):
        return _schema(parameters, 0)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, given in parameters.items():
        words = given.get("type")
        optional = given.get("required") is False or (isinstance(words, str) and _OPTIONAL.search(words) is not None)
        schema = _schema({key: value for key, value in given.items() if key != "required"}, 1)
        if "default" in schema and (not optional or not _fits(schema["default"], schema.get("type"))):
            del schema["default"]
        properties[name] = schema
        if given.get("required") is True or (not optional and "default" not in given and "required" not in given):
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _fits(value: Any, word: Any) -> bool:
    expected = _PYTHON_TYPES.get(word) if isinstance(word, str) else None
    return expected is None or (isinstance(value, expected) and (word == "boolean" or not isinstance(value, bool)))


def _schema(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Return a schema with the types of JSON Schema at any depth."""
    found = dict(schema)
    if depth > _MAX_DEPTH:
        return found
    if isinstance(found.get("type"), str):
        found |= _typed(found.pop("type"), depth)
    if isinstance(found.get("properties"), dict):
        found["properties"] = {
            name: _schema(inner, depth + 1) if isinstance(inner, dict) else inner for name, inner in found["properties"].items()
        }
    if isinstance(found.get("items"), dict):
        found["items"] = _schema(found["items"], depth + 1)
    if "required" in found and not isinstance(found["required"], list):
        del found["required"]
    return found


def _typed(words: str, depth: int) -> dict[str, Any]:
    """Return the type, and the type of the items, that a Python type has in JSON Schema; nothing for an unknown one."""
    word = _OPTIONAL.sub("", words).strip()
    generic = _GENERIC.fullmatch(word)
    name = (generic[1] if generic else word).lower()
    found = _TYPES.get(name)
    if found is None:
        return {}
    if generic and name in ("list", "set") and depth <= _MAX_DEPTH and (items := _typed(generic[2], depth + 1)):
        return {"type": found, "items": items}
    return {"type": found}
