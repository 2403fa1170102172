"""Tools in the prompt, for models without tool calling: tools in the system message, calls and results as text.

`free`: the model may write anything, with calls in <tool_call> tags. `constrained`: the request constrains the output to one call, or
`{"reply": "…"}` for a response without a call; `parse_constrained` parses it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from callmark.calls.messages import RESULT_ROLES
from callmark.calls.strict import NotStrict, dump, parse, scrub
from callmark.calls.text import ParsedText, parse_calls
from callmark.calls.toolsets import read_tools
from callmark.errors import BadInput
from callmark.models.grammar import MAX_SCHEMA_PARTS, arguments_schema
from callmark.types import Call, Message, Tool

# The call comes last, because small models repeat what they saw last.
_FREE = """To call a tool, answer with its name and its arguments as JSON, one line for each call:
<tool_call>{"name": "the tool", "arguments": {"its parameter": "value"}}</tool_call>"""
_FREE_TEXT = "If no tool call is needed, reply in plain text."
_CONSTRAINED = """To call a tool, give its name and its arguments:
{"name": "the tool", "arguments": {"its parameter": "value"}}"""
_CONSTRAINED_ONLY = "Answer with one JSON object and nothing else."
_CONSTRAINED_TEXT = 'If no tool call is needed: {"reply": "what you say to the user"}'

_REPLY = re.compile(r'\s*+(?:```\w*+\s*+)?\{\s*+"reply"\s*+:\s*+(".*)', re.DOTALL)
_STRING_END = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def parse_constrained(text: str, tools: Sequence[Tool] = ()) -> ParsedText:
    """Return text and calls of a `constrained` model: `{"reply": "…"}`, even if cut off, is text; anything else is parsed for calls.

    `tools` are the known tools; they help if the server did not constrain the output.
    """
    if found := _REPLY.match(text):
        return ParsedText((), _unquote(found[1]))
    parsed = parse_calls(text, "hermes")
    if parsed.thinking and not parsed.calls and (found := _REPLY.match(parsed.text)):
        return ParsedText((), _unquote(found[1]), parsed.thinking)
    return parse_calls(text, "auto", tools=tools)


def _unquote(quoted: str) -> str:
    """Return the text of a JSON string that may be cut off."""
    whole = _STRING_END.match(quoted)
    text = whole[0] if whole else quoted.rstrip("\\") + '"'
    try:
        return str(parse(text))
    except NotStrict:
        return scrub(text[1:-1])


def messages_as_text(messages: Sequence[Message], instructions: str, *, constrained: bool) -> list[dict[str, str]]:
    """Convert messages to text-only messages. Consecutive messages of a role are merged; empty ones are dropped."""
    merged: list[tuple[str, list[str]]] = []
    for message in messages:
        role, text = _as_text(message, constrained=constrained)
        if not text:
            continue
        if not merged or merged[-1][0] != role:
            merged.append((role, []))
        merged[-1][1].append(text)
    if instructions:
        first = next((parts for role, parts in merged if role == "system"), None)
        if first is None:
            merged.insert(0, ("system", [instructions]))
        else:
            first.append(instructions)
    return [{"role": role, "content": "\n\n".join(parts)} for role, parts in merged] or [{"role": "user", "content": ""}]


def _as_text(message: Message, *, constrained: bool) -> tuple[str, str]:
    text = scrub(message.text)
    if message.role in RESULT_ROLES:
        return "user", f"<tool_response>\n{text}\n</tool_response>"
    if message.role != "assistant":
        return "system" if message.role in ("system", "developer") else "user", text
    calls = [_call_as_text(call) for call in message.calls]
    return "assistant", "\n".join(
        [*([text] if text else []), *(calls if constrained else [f"<tool_call>{call}</tool_call>" for call in calls])]
    )


def _call_as_text(call: Call) -> str:
    return scrub(call.text) if call.malformed else dump({"name": call.name, "arguments": call.arguments})


class ToolsPrompt(Struct, frozen=True):
    """Tools as instructions for the system message; `response_format` constrains the output and is empty in `free` mode."""

    instructions: str
    response_format: dict[str, Any]


def required_tool(choice: Any) -> str:
    """Return what a tool choice requires: nothing (""), any call ("required"), or a tool by name."""
    if isinstance(choice, dict):
        function = choice.get("function", choice)
        name = function.get("name") if isinstance(function, dict) else None
        return name if isinstance(name, str) else "required"
    return "required" if choice in ("required", "any") else ""


@lru_cache(maxsize=64)
def tools_prompt(tools_json: bytes, required: str, constrained: bool) -> ToolsPrompt:
    """Return the tools of a case as instructions and, for constrained output, as a JSON Schema."""
    try:
        tools = read_tools(parse(tools_json))
    except NotStrict as problem:
        raise BadInput(f"the tools cannot be put into the prompt: {problem}") from None
    tools = tuple(tool for tool in tools if tool.name == required) or tools
    budget = [MAX_SCHEMA_PARTS]
    schemas = [arguments_schema(tool.parameters, budget) for tool in tools]
    signatures = "\n".join(line for tool, schema in zip(tools, schemas, strict=True) for line in _signature_lines(tool, schema))
    no_call = [] if required else [_CONSTRAINED_TEXT if constrained else _FREE_TEXT]
    format_rules = " ".join([*([_CONSTRAINED_ONLY] if constrained else []), *no_call])
    instructions = f"# Tools\n\n{signatures}\n\n" + "\n".join(
        part for part in (format_rules, _CONSTRAINED if constrained else _FREE) if part
    )
    if not constrained:
        return ToolsPrompt(instructions, {})
    calls = [_closed_object(name={"const": tool.name}, arguments=schema) for tool, schema in zip(tools, schemas, strict=True)]
    output = {"anyOf": [*calls, *([] if required else [_closed_object(reply={"type": "string"})])]}
    return ToolsPrompt(instructions, {"type": "json_schema", "json_schema": {"name": "call", "schema": output}})


def _closed_object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _signature_lines(tool: Tool, schema: dict[str, Any]) -> Iterator[str]:
    """Yield `book(room: string, nights?: integer): Book a room` and a line for each parameter with a description."""
    description = " ".join(tool.description.split())
    yield f"- {tool.name}({_parameters(schema)})" + (f": {description}" if description else "")
    for path, inner in _descriptions(schema, ""):
        yield f"    {path}: {' '.join(inner.split())}"


def _parameters(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    return ", ".join(f"{key}{'' if key in required else '?'}: {_type_text(inner)}" for key, inner in schema.get("properties", {}).items())


def _descriptions(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for key, inner in schema.get("properties", {}).items():
        at = f"{path}{key}"
        if inner.get("description"):
            yield at, inner["description"]
        yield from _descriptions(inner, f"{at}.")
        yield from _descriptions(inner.get("items", {}), f"{at}[].")


def _type_text(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(dump(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type_text(inner) for inner in schema["anyOf"]))
    if isinstance(schema["type"], list):
        return "any"
    match schema["type"]:
        case "object" if schema.get("properties"):
            return f"{{{_parameters(schema)}}}"
        case "array":
            inner = _type_text(schema["items"]) if "items" in schema else "any"
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
    return str(schema.get("format", schema["type"]))
