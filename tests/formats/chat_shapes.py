"""The shapes of the chat family: what the APIs and frameworks themselves write."""

import json
from collections.abc import Callable, Sequence
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


def _grouped(sample: Sample) -> list[tuple[str, list[SampleMessage]]]:
    """Return the turns by speaker, with the results of one message together."""
    groups: list[tuple[str, list[SampleMessage]]] = []
    for message in sample.turns:
        if message.role == "tool" and groups[-1][0] == "tool":
            groups[-1][1].append(message)
        else:
            groups.append((message.role, [message]))
    return groups


def _flat_tools(sample: Sample) -> list[Row]:
    return [{"type": "function", **tool} for tool in sample.tools]


def _items(sample: Sample) -> list[Row]:
    items: list[Row] = []
    for message in sample.turns:
        if message.role == "tool":
            items.append({"type": "function_call_output", "call_id": message.call_id, "output": message.text})
            continue
        if message.text:
            kind = "output_text" if message.role == "assistant" else "input_text"
            items.append({"type": "message", "role": message.role, "content": [{"type": kind, "text": message.text}]})
        items += [
            {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name, "arguments": arguments_text(call)}
            for call in message.calls
        ]
    return items


def responses(sample: Sample) -> Row:
    return {"id": sample.id, "input": _items(sample), "instructions": sample.system or None, "tools": _flat_tools(sample)}


def responses_body(sample: Sample) -> Row:
    """A request with the items of the response after it."""
    items = _items(sample)
    return {**responses(sample), "input": items[:1], "output": items[1:], "object": "response"}


def agents_list(sample: Sample) -> list[Row]:
    return [*([{"role": "system", "content": sample.system}] if sample.system else []), *_items(sample)]


def gemini(sample: Sample, *, camel: bool = True, with_ids: bool = True) -> Row:
    call_key, result_key, declarations = ("functionCall", "functionResponse", "functionDeclarations")
    if not camel:
        call_key, result_key, declarations = ("function_call", "function_response", "function_declarations")
    contents: list[Row] = []
    for role, group in _grouped(sample):
        parts: list[Row] = []
        for message in group:
            if role == "tool":
                result = {"name": message.name, "response": {"result": message.text}}
                parts.append({result_key: {"id": message.call_id, **result} if with_ids else result})
                continue
            parts += [{"text": message.text}] if message.text else []
            parts += [
                {call_key: {**({"id": call.id} if with_ids else {}), "name": call.name, "args": call.arguments}} for call in message.calls
            ]
        contents.append({"role": {"assistant": "model"}.get(role, "user"), "parts": parts})
    instruction = {"systemInstruction" if camel else "system_instruction": {"parts": [{"text": sample.system}]}} if sample.system else {}
    tools = [{declarations: [{**tool, "parameters": _upper_types(tool["parameters"])} for tool in sample.tools]}]
    return {"id": sample.id, **instruction, "contents": contents, "tools": tools}


def _upper_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_upper_types(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: inner.upper() if key == "type" and isinstance(inner, str) else _upper_types(inner) for key, inner in schema.items()}


def gemini_snake_case(sample: Sample) -> Row:
    return gemini(sample, camel=False)


def gemini_without_ids(sample: Sample) -> Row:
    return gemini(sample, with_ids=False)


def bedrock(sample: Sample) -> Row:
    messages: list[Row] = []
    for role, group in _grouped(sample):
        blocks: list[Row] = []
        for message in group:
            if role == "tool":
                blocks.append({"toolResult": {"toolUseId": message.call_id, "content": [{"text": message.text}], "status": "success"}})
                continue
            blocks += [{"text": message.text}] if message.text else []
            blocks += [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}} for call in message.calls]
        messages.append({"role": "user" if role == "tool" else role, "content": blocks})
    specs = [
        {"toolSpec": {"name": tool["name"], "description": tool["description"], "inputSchema": {"json": tool["parameters"]}}}
        for tool in sample.tools
    ]
    system = {"system": [{"text": sample.system}]} if sample.system else {}
    return {"id": sample.id, **system, "messages": messages, "toolConfig": {"tools": specs}}


_LANGCHAIN_TYPES = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}
_LANGCHAIN_CLASSES = {"user": "HumanMessage", "assistant": "AIMessage", "system": "SystemMessage", "tool": "ToolMessage"}


def _langchain_message(message: SampleMessage) -> Row:
    fields: Row = {
        "content": message.text,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": _LANGCHAIN_TYPES[message.role],
        "id": None,
    }
    if message.role == "tool":
        fields |= {"tool_call_id": message.call_id, "name": message.name, "status": "success", "artifact": None}
    if message.role == "assistant":
        calls = [{"name": call.name, "args": call.arguments, "id": call.id, "type": "tool_call"} for call in message.calls]
        fields |= {"tool_calls": calls, "invalid_tool_calls": [], "usage_metadata": None}
    return fields


def langchain(sample: Sample) -> Row:
    return {"id": sample.id, "messages": [_langchain_message(message) for message in sample.messages], "tools": openai_tools(sample)}


def langchain_dict(sample: Sample) -> Row:
    messages = [{"type": message["type"], "data": message} for message in langchain(sample)["messages"]]
    return {**langchain(sample), "messages": messages}


def _constructor(message: SampleMessage) -> Row:
    path = ["langchain", "schema", "messages", _LANGCHAIN_CLASSES[message.role]]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": _langchain_message(message)}


def langchain_lc(sample: Sample) -> Row:
    return {**langchain(sample), "messages": [_constructor(message) for message in sample.messages]}


def langsmith_run(sample: Sample) -> Row:
    *before, last = [_constructor(message) for message in sample.messages]
    outputs = {"generations": [[{"text": "", "message": last, "type": "ChatGeneration"}]]}
    extra = {"invocation_params": {"tools": openai_tools(sample)}}
    return {"id": sample.id, "run_type": "llm", "inputs": {"messages": [before]}, "outputs": outputs, "extra": extra}


def langsmith_state(sample: Sample) -> Row:
    """A run of a graph, whose output repeats its input."""
    messages = [_langchain_message(message) for message in sample.messages]
    return {"id": sample.id, "inputs": {"messages": messages[:1]}, "outputs": {"messages": messages}}


def vercel_model(sample: Sample) -> Row:
    messages: list[Row] = []
    for role, group in [("system", [message]) for message in sample.messages if message.role == "system"] + _grouped(sample):
        if role in ("system", "user"):
            messages.append({"role": role, "content": group[0].text})
            continue
        parts: list[Row] = []
        for message in group:
            if role == "tool":
                output = {"type": "text", "value": message.text}
                parts.append({"type": "tool-result", "toolCallId": message.call_id, "toolName": message.name, "output": output})
                continue
            parts += [{"type": "text", "text": message.text}] if message.text else []
            parts += [
                {"type": "tool-call", "toolCallId": call.id, "toolName": call.name, "input": call.arguments} for call in message.calls
            ]
        messages.append({"role": role, "content": parts})
    tools = {tool["name"]: {"description": tool["description"], "inputSchema": {"jsonSchema": tool["parameters"]}} for tool in sample.tools}
    return {"id": sample.id, "messages": messages, "tools": tools}


def vercel_ui(sample: Sample, *, dynamic: bool = False) -> Row:
    results = {message.call_id: message.text for message in sample.messages if message.role == "tool"}
    messages: list[Row] = []
    for message in sample.messages:
        if message.role == "tool":
            continue
        parts: list[Row] = [{"type": "step-start"}] if message.role == "assistant" else []
        parts += [{"type": "text", "text": message.text, "state": "done"}] if message.text else []
        for call in message.calls:
            kind: Row = {"type": "dynamic-tool", "toolName": call.name} if dynamic else {"type": f"tool-{call.name}"}
            state = {"toolCallId": call.id, "state": "output-available", "input": call.arguments, "output": results[str(call.id)]}
            parts.append({**kind, **state})
        if message.role == "assistant" and messages[-1]["role"] == "assistant":
            messages[-1]["parts"] += parts
        else:
            messages.append({"id": f"m{len(messages)}", "role": message.role, "parts": parts})
    return {"id": sample.id, "messages": messages}


def vercel_dynamic(sample: Sample) -> Row:
    return vercel_ui(sample, dynamic=True)


def inspect_sample(sample: Sample) -> Row:
    messages: list[Row] = []
    for message in sample.messages:
        fields: Row = {"id": "x", "role": message.role, "content": message.text}
        if message.role == "tool":
            fields |= {"tool_call_id": message.call_id, "function": message.name}
        if message.calls:
            fields["tool_calls"] = [
                {"id": call.id, "function": call.name, "arguments": call.arguments, "type": "function"} for call in message.calls
            ]
        messages.append(fields)
    event = {"event": "model", "tools": [dict(tool) for tool in sample.tools], "input": []}
    return {"id": sample.id, "epoch": 1, "input": "…", "target": "…", "messages": messages, "scores": {}, "events": [event]}


def inspect_log(conversations: Sequence[Sample]) -> list[Row]:
    return [{"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [inspect_sample(sample) for sample in conversations]}]


def pydantic_ai(sample: Sample) -> list[Row]:
    messages: list[Row] = []
    for message in sample.messages:
        match message.role:
            case "system":
                part: Row = {"part_kind": "system-prompt", "content": message.text}
            case "user":
                part = {"part_kind": "user-prompt", "content": message.text}
            case "tool":
                part = {"part_kind": "tool-return", "tool_name": message.name, "content": message.text, "tool_call_id": message.call_id}
            case _:
                texts: list[Row] = [{"part_kind": "text", "content": message.text}] if message.text else []
                calls: list[Row] = [
                    {"part_kind": "tool-call", "tool_name": call.name, "args": arguments_text(call), "tool_call_id": call.id}
                    for call in message.calls
                ]
                messages.append({"kind": "response", "parts": [*texts, *calls], "model_name": "m"})
                continue
        if messages and messages[-1]["kind"] == "request":
            messages[-1]["parts"].append(part)
        else:
            messages.append({"kind": "request", "parts": [part]})
    return messages


def pydantic_ai_objects(sample: Sample) -> Row:
    messages = pydantic_ai(sample)
    for message in messages:
        for part in message["parts"]:
            if "args" in part:
                part["args"] = json.loads(part["args"])
    return {"id": sample.id, "messages": messages, "tools": openai_tools(sample)}


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
    Shape("Responses input", "responses", _each(responses), call_part="function_call"),
    Shape("Responses input and output", "responses", _each(responses_body), call_part="function_call"),
    Shape("OpenAI Agents SDK items", "responses", _each(agents_list), call_part="function_call"),
    Shape("Gemini", "gemini", _each(gemini), arguments_key="args", role="model", call_part="functionCall"),
    Shape("Gemini, snake case", "gemini", _each(gemini_snake_case), arguments_key="args", role="model", call_part="function_call"),
    Shape(
        "Gemini without ids",
        "gemini",
        _each(gemini_without_ids),
        arguments_key="args",
        role="model",
        call_part="functionCall",
        keeps_ids=False,
    ),
    Shape("Bedrock Converse", "bedrock", _each(bedrock), arguments_key="input", call_part="toolUse"),
    Shape("LangChain", "langchain", _each(langchain), arguments_key="args", role="ai", call_part="tool_calls"),
    Shape("LangChain, messages_to_dict", "langchain", _each(langchain_dict), arguments_key="args", role="ai", call_part="tool_calls"),
    Shape("LangChain, dumpd", "langchain", _each(langchain_lc), arguments_key="args", role="AIMessage", call_part="tool_calls"),
    Shape("LangSmith run", "langchain", _each(langsmith_run), arguments_key="args", role="AIMessage", call_part="tool_calls"),
    Shape("LangSmith run of a graph", "langchain", _each(langsmith_state), arguments_key="args", role="ai", call_part="tool_calls"),
    Shape("Vercel AI model messages", "vercel-ai", _each(vercel_model), arguments_key="input", call_part="tool-call"),
    Shape("Vercel AI UI messages", "vercel-ai", _each(vercel_ui), arguments_key="input"),
    Shape("Vercel AI UI messages, dynamic tools", "vercel-ai", _each(vercel_dynamic), arguments_key="input", call_part="dynamic-tool"),
    Shape("inspect-ai samples", "inspect-ai", _each(inspect_sample), call_part="tool_calls"),
    Shape("inspect-ai log", "inspect-ai", inspect_log, call_part="tool_calls"),
    Shape("pydantic-ai", "pydantic-ai", _each(pydantic_ai), arguments_key="args", role="response", call_part="tool-call"),
    Shape(
        "pydantic-ai, args as objects",
        "pydantic-ai",
        _each(pydantic_ai_objects),
        arguments_key="args",
        role="response",
        call_part="tool-call",
    ),
)
