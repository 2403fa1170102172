"""Read a tool list in any shape: OpenAI, flat, Anthropic, MCP, or DeepFabric's list form.

    {"type": "function", "function": {"name", "description", "parameters"}}
    {"name", "description", "parameters" | "input_schema" | "inputSchema"}
    parameters as a list: [{"name": "path", "type": "str", "required": true}]
    annotations of MCP: {"readOnlyHint": true}

Also a JSON string of a list, and schemas that a table has padded with nulls. Missing and null mean no tools. A tool without a name and a
value that is not a list of tools raise `BadInput`.
"""

from collections.abc import Sequence
from typing import Any

from callmark.calls.schema_padding import is_padded, without_padding
from callmark.calls.shapes import type_name
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.types import Conversation, Tool

READ_ONLY = {"annotations": {"readOnlyHint": True}}  # of an MCP tool that changes nothing
_MAX_CACHED = 1000  # tool lists
_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


def read_tool(value: Any, *, where: str = "the tool") -> Tool:
    """Return one tool. `where` names it in error messages."""
    if not isinstance(value, dict):
        raise BadInput(f"{where}: expected an object with a name, got {type_name(value)}")
    inner = value.get("function")
    body = inner if isinstance(inner, dict) else value
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise BadInput(f"{where}: missing key 'name'")
    schema: Any = next((body[key] for key in ("parameters", "input_schema", "inputSchema") if body.get(key) is not None), {})
    if isinstance(schema, list):
        schema = _schema_from_list(schema)
    if not isinstance(schema, dict):
        raise BadInput(f"{where} ({name}): parameters: expected a JSON Schema or a list of parameters, got {type_name(schema)}")
    if is_padded(schema):
        schema = without_padding(schema)
    description = body.get("description")
    annotations = body.get("annotations") or value.get("annotations")
    read_only = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
    return Tool(name, description if isinstance(description, str) else "", schema, read_only)


def read_tools(value: Any, *, where: str = "tools") -> tuple[Tool, ...]:
    """Return the tools of a list, of an object `{"tools": […]}`, or of a JSON string of either."""
    if isinstance(value, str):
        try:
            value = parse(value) if value.strip() else None
        except NotStrict as problem:
            raise BadInput(f"{where}: expected a list of tools, got a string that is not JSON ({problem})") from None
    if isinstance(value, dict) and "tools" in value:
        value = value["tools"]
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadInput(f"{where}: expected a list of tools, got {type_name(value)}")
    return tuple(read_tool(item, where=f"{where}[{index}]") for index, item in enumerate(value))


class ToolListCache:
    """Reads tool lists from JSON text and caches them.

    Most files repeat one list in every row, and comparing it with the last one is far cheaper than reading it again. The text is returned
    as well, as one object for equal texts.
    """

    def __init__(self) -> None:
        self._last: tuple[bytes, tuple[Tool, ...]] = (b"[]", ())
        self._cache: dict[bytes, tuple[bytes, tuple[Tool, ...]]] = {}

    def read(self, text: bytes) -> tuple[bytes, tuple[Tool, ...]]:
        """Return `(text, tools)`. Empty text and null mean no tools."""
        if text == self._last[0]:
            return self._last
        if text not in self._cache:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[text] = self._parse(text)
        self._last = self._cache[text]
        return self._last

    def _parse(self, text: bytes) -> tuple[bytes, tuple[Tool, ...]]:
        if not text or text == b"null":
            return b"[]", ()
        try:
            value = parse(text)
        except NotStrict as problem:
            raise BadInput(f"tools: {problem}") from None
        if isinstance(value, str):
            text = value.strip().encode()
            return self._parse(text) if text.startswith(b"[") else _written(read_tools(value))
        tools = read_tools(value)
        openai = isinstance(value, list) and all(isinstance(item.get("function"), dict) for item in value)
        return text if openai and not is_padded(value) else tools_json(tools), tools


def _written(tools: tuple[Tool, ...]) -> tuple[bytes, tuple[Tool, ...]]:
    return tools_json(tools), tools


def tools_text(conversation: Conversation) -> bytes:
    """Return the JSON of a conversation's tools: the original text, or newly written if the tools were built in Python."""
    original = conversation.original
    if original.tools is conversation.tools and original.raw_tools:
        return original.raw_tools
    return tools_json(conversation.tools)


def tools_json(tools: Sequence[Tool], *, annotations: bool = False) -> bytes:
    """Write tools as JSON in OpenAI's form. `annotations` adds the MCP annotation of read-only tools, which is not part of that form."""
    return dump([{**tool_fields(tool), **(READ_ONLY if annotations and tool.read_only else {})} for tool in tools]).encode()


def tool_fields(tool: Tool) -> dict[str, Any]:
    """Return a tool in OpenAI's form."""
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}


def _schema_from_list(parameters: list[Any]) -> dict[str, Any]:
    named = [item for item in parameters if isinstance(item, dict) and isinstance(item.get("name"), str)]
    properties = {}
    for item in named:
        schema = {key: value for key, value in item.items() if key not in ("name", "required")}
        if isinstance(schema.get("type"), str):
            schema["type"] = _TYPES.get(schema["type"], schema["type"])
        properties[item["name"]] = schema
    required = [item["name"] for item in named if item.get("required") is True]
    return {"type": "object", "properties": properties, "required": required}
