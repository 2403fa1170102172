"""Tools in the prompt, for a model without tool calling: the tools described in the system message, calls and results told as text.

`free`: the model may say what it likes, and calls in <tool_call> tags. `constrained`: the server is asked to let it say nothing but one
call, or `{"reply": "…"}` where none is due; `read_constrained` reads that.
"""

import re
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from callmark.calls.messages import RESULT_ROLES
from callmark.calls.parsing import Parsed, parse_calls
from callmark.calls.strict import NotStrict, dump, parse, scrub
from callmark.calls.toolsets import read_tools
from callmark.errors import BadInput
from callmark.models.grammar import LARGEST_SCHEMA, arguments_schema
from callmark.types import Call, Message, Tool

# The call comes last, and words of the talk stay words: a small model says what it saw last, and most often.
_FREE = """To call a tool, answer with its name and its arguments as JSON, one line for each call:
<tool_call>{"name": "the tool", "arguments": {"its parameter": "value"}}</tool_call>"""
_FREE_WORDS = "When no call is due, answer in plain words."
_BARE = """To call a tool, give its name and its arguments:
{"name": "the tool", "arguments": {"its parameter": "value"}}"""
_BARE_ONLY = "Answer with one JSON object and nothing else."
_BARE_WORDS = 'When no call is due: {"reply": "what you say to the user"}'

_REPLY = re.compile(r'\s*+(?:```\w*+\s*+)?\{\s*+"reply"\s*+:\s*+(".*)', re.DOTALL)
_STRING_END = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def read_constrained(text: str, names: Container[str] = ()) -> Parsed:
    """What a `constrained` model said: `{"reply": "…"}` is text without calls, also where it was cut off; all else is read for calls.

    `names`, the tools that are known, help where the server let it say anything.
    """
    if found := _REPLY.match(text):
        return Parsed((), _reply(found[1]))
    thought = parse_calls(text, "hermes")
    if thought.thinking and not thought.calls and (found := _REPLY.match(thought.text)):
        return Parsed((), _reply(found[1]), thought.thinking)
    return parse_calls(text, "auto", names=names)


def _reply(quoted: str) -> str:
    """The text of a JSON string; of one that was cut off as much as there is."""
    whole = _STRING_END.match(quoted)
    text = whole[0] if whole else quoted.rstrip("\\") + '"'
    try:
        return str(parse(text))
    except NotStrict:
        return scrub(text[1:-1])


def told(messages: Sequence[Message], instructions: str, *, bare: bool) -> list[dict[str, str]]:
    """Messages of system, user and assistant with nothing but text; neighbours of one role are one message, empty ones are none."""
    told: list[tuple[str, list[str]]] = []
    for message in messages:
        role, text = _as_text(message, bare=bare)
        if not text:
            continue
        if not told or told[-1][0] != role:
            told.append((role, []))
        told[-1][1].append(text)
    if instructions:
        first = next((parts for role, parts in told if role == "system"), None)
        if first is None:
            told.insert(0, ("system", [instructions]))
        else:
            first.append(instructions)
    return [{"role": role, "content": "\n\n".join(parts)} for role, parts in told] or [{"role": "user", "content": ""}]


def _as_text(message: Message, *, bare: bool) -> tuple[str, str]:
    text = scrub(message.text)
    if message.role in RESULT_ROLES:
        return "user", f"<tool_response>\n{text}\n</tool_response>"
    if message.role != "assistant":
        return "system" if message.role in ("system", "developer") else "user", text
    calls = [_call_as_text(call) for call in message.calls]
    return "assistant", "\n".join([*([text] if text else []), *(calls if bare else [f"<tool_call>{call}</tool_call>" for call in calls])])


def _call_as_text(call: Call) -> str:
    return scrub(call.text) if call.malformed else dump({"name": call.name, "arguments": call.arguments})


class Offer(Struct, frozen=True):
    instructions: str
    schema: dict[str, Any]  # the response format; empty where none is asked for


def demanded(choice: Any) -> str:
    """What a tool choice demands: nothing (""), any call ("required"), or a call of the tool of that name."""
    if isinstance(choice, dict):
        function = choice.get("function", choice)
        name = function.get("name") if isinstance(function, dict) else None
        return name if isinstance(name, str) else "required"
    return "required" if choice in ("required", "any") else ""


@lru_cache(maxsize=64)
def offer(tools_json: bytes, chosen: str, bare: bool) -> Offer:
    """The tools of a case as instructions and, where the answer is to be bare JSON, as its schema."""
    try:
        tools = read_tools(parse(tools_json))
    except NotStrict as problem:
        raise BadInput(f"the tools cannot be written into the prompt: {problem}") from None
    tools = tuple(tool for tool in tools if tool.name == chosen) or tools
    left = [LARGEST_SCHEMA]
    schemas = [arguments_schema(tool.parameters, left) for tool in tools]
    listed = "\n".join(line for tool, schema in zip(tools, schemas, strict=True) for line in _lines(tool, schema))
    words = [] if chosen else [_BARE_WORDS if bare else _FREE_WORDS]
    how = " ".join([*([_BARE_ONLY] if bare else []), *words])
    instructions = f"# Tools\n\n{listed}\n\n" + "\n".join(part for part in (how, _BARE if bare else _FREE) if part)
    if not bare:
        return Offer(instructions, {})
    calls = [_exactly(name={"const": tool.name}, arguments=schema) for tool, schema in zip(tools, schemas, strict=True)]
    answer = {"anyOf": [*calls, *([] if chosen else [_exactly(reply={"type": "string"})])]}
    return Offer(instructions, {"type": "json_schema", "json_schema": {"name": "call", "schema": answer}})


def _exactly(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _lines(tool: Tool, schema: dict[str, Any]) -> Iterator[str]:
    """`book(room: string, nights?: integer): Book a room` and a line for each parameter that is described."""
    said = " ".join(tool.description.split())
    yield f"- {tool.name}({_parts(schema)})" + (f": {said}" if said else "")
    for path, inner in _described(schema, ""):
        yield f"    {path}: {' '.join(inner.split())}"


def _parts(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    return ", ".join(f"{key}{'' if key in required else '?'}: {_type(inner)}" for key, inner in schema.get("properties", {}).items())


def _described(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for key, inner in schema.get("properties", {}).items():
        at = f"{path}{key}"
        if inner.get("description"):
            yield at, inner["description"]
        yield from _described(inner, f"{at}.")
        yield from _described(inner.get("items", {}), f"{at}[].")


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(dump(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(inner) for inner in schema["anyOf"]))
    if isinstance(schema["type"], list):
        return "any"
    match schema["type"]:
        case "object" if schema.get("properties"):
            return f"{{{_parts(schema)}}}"
        case "array":
            inner = _type(schema["items"]) if "items" in schema else "any"
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
    return str(schema.get("format", schema["type"]))
