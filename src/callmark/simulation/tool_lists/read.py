"""Read a file with tool definitions: a JSON list in OpenAI's, Anthropic's or MCP's form, or `{"tools": […]}`."""

import os
from typing import Any

from msgspec import structs

from callmark.calls.strict import NotStrict, parse, scrub
from callmark.calls.toolsets import read_tool
from callmark.errors import BadInput
from callmark.formats.rows import Rows
from callmark.simulation.openapi_schemas import inline_references
from callmark.simulation.operations import Api
from callmark.simulation.tool_lists.infer import ToolDefinition, infer_api
from callmark.types import Tool


def is_tool_list(path: str) -> bool:
    """Return whether a JSON file is a list of tool definitions, judging by the first one; False for any other file, and for a pipe."""
    if not path.endswith(".json") or not os.path.isfile(path):
        return False
    try:
        value: Any = parse(Rows(path).read_all())
        listed = value.get("tools") if isinstance(value, dict) and "messages" not in value else value
        read_tool(listed[0] if isinstance(listed, list) and listed else None)
    except (NotStrict, BadInput):
        return False
    return True


def read_tool_definitions(path: str) -> tuple[Tool, ...]:
    """Return the tools of a file. Raises `BadInput` like `read_tool_list`."""
    return tuple(definition.tool for definition in _read_definitions(path))


def read_tool_list(path: str) -> Api:
    """Return the operations of a file. A file that is not a list of tools, is empty, or names a tool twice raises `BadInput`."""
    return infer_api(_read_definitions(path))


def _read_definitions(path: str) -> tuple[ToolDefinition, ...]:
    name = scrub(path)
    try:
        value: Any = parse(Rows(path).read_all())
    except NotStrict as problem:
        raise BadInput(f"{name}: expected a JSON list of tools, got text that is not JSON ({problem})") from None
    listed = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise BadInput(f"{name}: expected a list of tools, or an object with a key 'tools'", "callmark tools SOURCE prints such a list.")
    if not listed:
        raise BadInput(f"{name}: the list has no tools")
    found: dict[str, ToolDefinition] = {}
    for index, item in enumerate(listed):
        try:
            tool = read_tool(item, where=f"tools[{index}]")
            if tool.name in found:
                raise BadInput(f"tools[{index}]: duplicate tool name {tool.name!r}")
            found[tool.name] = ToolDefinition(_inlined(tool), _output_schema(item))
        except BadInput as error:
            raise BadInput(f"{name}: {error}", error.hint) from None
    return tuple(found.values())


def _inlined(tool: Tool) -> Tool:
    """Return the tool with references in its parameters inlined."""
    return structs.replace(tool, parameters=inline_references(tool.parameters, tool.parameters))


def _output_schema(item: dict[str, Any]) -> dict[str, Any]:
    inner = item.get("function")
    body = inner if isinstance(inner, dict) else item
    schema: dict[str, Any] = next(
        (body[key] for key in ("outputSchema", "output_schema", "response", "returns") if isinstance(body.get(key), dict)), {}
    )
    return inline_references(schema, schema)
