"""The shapes of the chat family: what the APIs and frameworks themselves write."""

import json
from collections.abc import Callable
from typing import Any

from callmark.types import Call
from tests.formats.samples import Sample, SampleMessage, arguments_text, openai_tools
from tests.formats.shapes import Shape

Row = dict[str, Any]


def _each(row: Callable[[Sample], Any]) -> Callable[[Any], list[Any]]:
    return lambda conversations: [row(sample) for sample in conversations]


def _call(call: Call, *, as_object: bool = False) -> Row:
    arguments = call.arguments if as_object else arguments_text(call)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _message(message: SampleMessage, *, as_object: bool = False) -> Row:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.calls:
        return {
            "role": "assistant",
            "content": message.text or None,
            "tool_calls": [_call(call, as_object=as_object) for call in message.calls],
        }
    return {"role": message.role, "content": message.text}


def openai(sample: Sample) -> Row:
    return {"id": sample.id, "messages": [_message(message) for message in sample.messages], "tools": openai_tools(sample)}


def openai_objects(sample: Sample) -> Row:
    return {**openai(sample), "messages": [_message(message, as_object=True) for message in sample.messages]}


def openai_tools_text(sample: Sample) -> Row:
    return {**openai(sample), "tools": json.dumps(openai_tools(sample))}


def openai_padded(sample: Sample) -> Row:
    """A row as `datasets` returns it: every message and every schema has the keys of all others, null where they do not apply."""
    keys = {"role": None, "content": None, "tool_calls": None, "tool_call_id": None, "name": None}
    properties: dict[str, None] = {key: None for tool in sample.tools for key in tool["parameters"]["properties"]}
    tools = []
    for tool in sample.tools:
        schema = tool["parameters"]
        given = properties | schema["properties"]
        padded = {key: None if one is None else {"enum": None, "items": None, **one} for key, one in given.items()}
        tools.append({"type": "function", "function": {**tool, "strict": None, "parameters": {**schema, "properties": padded}}})
    return {**openai(sample), "messages": [{**keys, **_message(message)} for message in sample.messages], "tools": tools}


def openai_padded_objects(sample: Sample) -> Row:
    """The same with arguments as objects: every call has the arguments of all tools."""
    row = openai_padded(sample)
    arguments: dict[str, None] = {key: None for tool in sample.tools for key in tool["parameters"]["properties"]}
    for message in row["messages"]:
        for call in message["tool_calls"] or ():
            call["function"]["arguments"] = arguments | json.loads(call["function"]["arguments"])
    return row


def anthropic(sample: Sample) -> Row:
    messages: list[Row] = []
    for message in sample.turns:
        if message.role == "tool":
            block = {"type": "tool_result", "tool_use_id": message.call_id, "content": message.text}
            if messages[-1]["role"] == "user":
                messages[-1]["content"].append(block)
            else:
                messages.append({"role": "user", "content": [block]})
            continue
        text = [{"type": "text", "text": message.text}] if message.text else []
        calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.calls]
        messages.append({"role": message.role, "content": [*text, *calls]})
    tools = [{"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]} for tool in sample.tools]
    return {"id": sample.id, **({"system": sample.system} if sample.system else {}), "messages": messages, "tools": tools}


CHAT_SHAPES = (
    Shape("OpenAI chat", "openai", _each(openai), call_part="tool_calls"),
    Shape("OpenAI chat, arguments as objects", "openai", _each(openai_objects), call_part="tool_calls"),
    Shape("OpenAI chat, tools as a JSON string", "openai", _each(openai_tools_text), call_part="tool_calls"),
    Shape("OpenAI chat, padded with nulls", "openai", _each(openai_padded), call_part="tool_calls"),
    Shape(
        "OpenAI chat, padded with nulls, arguments as objects",
        "openai",
        _each(openai_padded_objects),
        call_part="tool_calls",
        keeps_nulls=False,
    ),
    Shape("Anthropic", "anthropic", _each(anthropic), arguments_key="input", call_part="tool_use"),
)
