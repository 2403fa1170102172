"""Spans by OpenTelemetry's conventions for generative AI (`gen_ai.*`), and MCP spans, as steps.

Messages are read from the first place that has them: the attributes `gen_ai.input.messages` and `gen_ai.output.messages` of the span or of
its event `gen_ai.client.inference.operation.details`; events for each message (`gen_ai.user.message`, …, `gen_ai.choice`); the events
`gen_ai.content.prompt` and `gen_ai.content.completion`; the attributes `gen_ai.prompt.0.role`, ….
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from callmark.calls.shapes import read_call
from callmark.calls.strict import dump
from callmark.formats.traces.message_lists import json_text, read_message_list
from callmark.formats.traces.payloads import read_reply
from callmark.formats.traces.span import Event, Span, nested
from callmark.formats.traces.steps import AgentStep, ModelStep, Step, Texts, ToolStep

CONVERSATION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "thread.id")
_AGENTS = frozenset({"invoke_agent", "create_agent", "invoke_workflow"})
_MODELS = frozenset({"chat", "text_completion", "generate_content"})
_OTHERS = frozenset({"embeddings", "retrieval", "execute_code"})
_DETAILS = "gen_ai.client.inference.operation.details"
_TOOL_CALL = "tools/call"  # the method of MCP
_MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
_encode = msgspec.json.Encoder().encode


def is_known(span: Span) -> bool:
    """Return whether a span is by these conventions."""
    return "gen_ai.operation.name" in span.attributes or is_mcp(span) or any(key.startswith("gen_ai.") for key in span.attributes)


def is_mcp(span: Span) -> bool:
    """Return whether a span is a call of a tool over MCP."""
    return span.attributes.get("mcp.method.name") == _TOOL_CALL


def read_step(span: Span, /, **common: Any) -> Step | None:
    """Return the step of a span; None if it is none of a conversation. Content that cannot be read raises `BadInput`."""
    attributes = _with_details(span)
    operation = attributes.get("gen_ai.operation.name")
    if operation == "execute_tool" or is_mcp(span):
        return _tool_step(span, attributes, common)
    if operation in _OTHERS:
        return None
    input_texts, output = _messages(attributes, span.events)
    tools = _tools(attributes)
    if operation in _AGENTS:
        return AgentStep(**common, input=input_texts, output=output, tools=tools)
    if operation not in _MODELS and input_texts is None and output is None and "gen_ai.request.model" not in attributes:
        return None
    return ModelStep(
        **common,
        input=input_texts,
        output=output,
        tools=tools,
        failed=bool(span.failed),
        continues=bool(attributes.get("gen_ai.request.previous_response_id") or attributes.get("openai.request.previous_response_id")),
    )


def _with_details(span: Span) -> Mapping[str, Any]:
    """Return the attributes, with those of the event that has the details of the request."""
    for event in span.events:
        if event.name == _DETAILS:
            body = event.body if isinstance(event.body, dict) else {}
            return {**body, **event.attributes, **span.attributes}
    return span.attributes


def _tool_step(span: Span, attributes: Mapping[str, Any], common: dict[str, Any]) -> ToolStep:
    name = attributes.get("gen_ai.tool.name") or attributes.get("mcp.tool.name") or span.name.rpartition(" ")[2]
    arguments = _first(attributes, "gen_ai.tool.call.arguments", "tool_arguments")
    result = _first(attributes, "gen_ai.tool.call.result", "tool_response")
    call_id = attributes.get("gen_ai.tool.call.id")
    call_id = call_id if isinstance(call_id, str) else ""
    call = None
    if arguments is not None:
        call = read_call({"name": str(name), "arguments": arguments, **({"id": call_id} if call_id else {})})
    text = result if isinstance(result, str) or result is None else dump(result)
    if text is None and span.failed:
        text = span.failed
    return ToolStep(**common, name=str(name), call_id=call_id, call=call, result=text, failed=bool(span.failed))


def _messages(attributes: Mapping[str, Any], events: Iterable[Event]) -> tuple[Texts | None, Texts | None]:
    """Return the input and the output; None for each that was not captured."""
    given, returned = attributes.get("gen_ai.input.messages"), attributes.get("gen_ai.output.messages")
    instructions = attributes.get("gen_ai.system_instructions")
    system = _system(instructions) if instructions is not None else ()
    if given is not None or returned is not None:
        return (
            None if given is None else (*system, *_read_list(given, "gen_ai.input.messages")),
            None if returned is None else _read_response(returned, "gen_ai.output.messages"),
        )
    for found in (_event_messages(events), _content_events(events), _indexed(attributes)):
        if found != (None, None):
            return found[0] if found[0] is None else (*system, *found[0]), found[1]
    return None, None


def _system(instructions: Any) -> Texts:
    raw = json_text(instructions, "gen_ai.system_instructions") if _looks_like_json(instructions) else _encode(instructions)
    value = msgspec.json.decode(raw)
    parts = value if isinstance(value, list) else [value]
    texts = [
        part if isinstance(part, str) else str(part.get("content", part.get("text", ""))) for part in parts if isinstance(part, str | dict)
    ]
    return (_encode({"role": "system", "content": "\n".join(texts)}),) if any(texts) else ()


def _looks_like_json(value: Any) -> bool:
    return not isinstance(value, str) or value.lstrip()[:1] in ("[", "{", '"')


def _read_list(value: Any, where: str) -> Texts:
    return read_message_list(json_text(value, where), where)


def _read_response(value: Any, where: str) -> Texts:
    return read_reply(msgspec.json.decode(json_text(value, where)), where)


def _event_messages(events: Iterable[Event]) -> tuple[Texts | None, Texts | None]:
    given: list[bytes] = []
    returned: list[bytes] = []
    known = False
    for event in events:
        role = _MESSAGE_EVENTS.get(event.name)
        if role is None and event.name != _CHOICE:
            continue
        known = True
        fields = _event_fields(event)
        if event.name == _CHOICE:
            inner = fields.get("message")
            message = inner if isinstance(inner, dict) else _decoded(inner)
            if isinstance(message, dict) and message and not returned:  # of several choices, the first
                returned.append(_encode({"role": "assistant", **message}))
            continue
        if "content" not in fields and "tool_calls" not in fields:
            return None, None  # the content was not captured
        if role == "tool" and "id" in fields:
            fields["tool_call_id"] = fields.pop("id")
        given.append(_encode({"role": role, **fields}))
    if not known:
        return None, None
    return (
        read_message_list(b"[" + b",".join(given) + b"]", "the events of the span"),
        read_message_list(b"[" + returned[0] + b"]", _CHOICE) if returned else None,
    )


def _event_fields(event: Event) -> dict[str, Any]:
    """Return the fields of a message in an event: its body, its attributes, or the JSON in one of them."""
    if isinstance(event.body, dict):
        fields = dict(event.body)
    elif isinstance(content := event.attributes.get("gen_ai.event.content"), str):
        found = msgspec.json.decode(json_text(content, f"{event.name}: gen_ai.event.content"))
        fields = dict(found) if isinstance(found, dict) else {}
    else:
        fields = {key: value for key, value in event.attributes.items() if not key.startswith(("gen_ai.", "event."))}
    if isinstance(fields.get("tool_calls"), str):
        fields["tool_calls"] = _decoded(fields["tool_calls"])
    return {
        key: value for key, value in fields.items() if key in ("role", "content", "tool_calls", "id", "name", "message", "tool_call_id")
    }


def _decoded(value: Any) -> Any:
    return msgspec.json.decode(json_text(value, "an event of the span")) if isinstance(value, str) else value


def _content_events(events: Iterable[Event]) -> tuple[Texts | None, Texts | None]:
    given = returned = None
    for event in events:
        if event.name == "gen_ai.content.prompt" and (prompt := event.attributes.get("gen_ai.prompt")) is not None:
            given = _read_list(prompt, "gen_ai.prompt")
        elif event.name == "gen_ai.content.completion" and (text := event.attributes.get("gen_ai.completion")) is not None:
            returned = _read_response(text, "gen_ai.completion")
    return given, returned


def _indexed(attributes: Mapping[str, Any]) -> tuple[Texts | None, Texts | None]:
    """Return the messages in attributes like `gen_ai.prompt.0.role`."""
    return _indexed_list(attributes, "gen_ai.prompt"), _indexed_list(attributes, "gen_ai.completion")


def _indexed_list(attributes: Mapping[str, Any], prefix: str) -> Texts | None:
    if not any(key.startswith(f"{prefix}.") for key in attributes):
        return None
    found = nested({key: value for key, value in attributes.items() if key.startswith(f"{prefix}.")}, prefix)
    messages = [dict(item) for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    if not any("content" in message or "tool_calls" in message for message in messages):
        return None  # the content was not captured
    for message in messages:
        message.pop("finish_reason", None)
        content = message.get("content")
        if isinstance(content, str) and content.startswith("[{") and isinstance(parts := _json_or_none(content), list):
            message["content"] = parts
    return read_message_list(_encode(messages), prefix)


def _json_or_none(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None


def _tools(attributes: Mapping[str, Any]) -> bytes:
    given = _first(attributes, "gen_ai.tool.definitions", "gen_ai.request.tools", "model_request_parameters")
    if given is not None:
        value = msgspec.json.decode(json_text(given, "gen_ai.tool.definitions"))
        if isinstance(value, dict):  # of pydantic-ai
            value = [
                {"name": tool.get("name"), "description": tool.get("description"), "parameters": tool.get("parameters_json_schema")}
                for tool in value.get("function_tools") or ()
                if isinstance(tool, dict)
            ]
        return _encode([tool for tool in _tool_values(value) if _is_function(tool)])
    if any(key.startswith("llm.request.functions.") for key in attributes):
        found = nested(attributes, "llm.request.functions")
        return _encode([_indexed_tool(tool) for tool in found if isinstance(tool, dict)] if isinstance(found, list) else [])
    return b""


def _tool_values(value: Any) -> Iterator[Any]:
    for tool in value if isinstance(value, list) else ():
        yield _json_or_none(tool) if isinstance(tool, str) else tool


def _is_function(tool: Any) -> bool:
    """Return whether a definition is of a tool that the client runs; those of the server, such as a web search, have no schema."""
    return isinstance(tool, dict) and ("function" in tool or tool.get("type", "function") in ("function", "extension", "datastore"))


def _indexed_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    parameters = tool.get("parameters")
    return {**tool, "parameters": _json_or_none(parameters) if isinstance(parameters, str) else parameters}


def _first(attributes: Mapping[str, Any], *keys: str) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)
