"""Spans by the OpenInference conventions (`openinference.span.kind`, `llm.input_messages`, …) as steps.

Attributes may be flattened (`llm.input_messages.0.message.role`), nested, or lists of objects with dotted keys, as Phoenix exports them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from callmark.calls.shapes import read_call
from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.formats.traces.message_lists import json_text, read_message_list
from callmark.formats.traces.span import Span, lookup, nested
from callmark.formats.traces.steps import AgentStep, ModelStep, Step, Texts, ToolStep

_REDACTED = "__REDACTED__"  # what instrumentations write in place of hidden content
_encode = msgspec.json.Encoder().encode


def kind_of(span: Span) -> str:
    """Return the kind of a span, such as `LLM`; empty if it is not by these conventions."""
    found = lookup(span.attributes, "openinference.span.kind")
    return found.upper() if isinstance(found, str) else ""


def read_step(span: Span, /, **common: Any) -> Step | None:
    """Return the step of a span; None if it is none of a conversation. Content that cannot be read raises `BadInput`."""
    attributes = span.attributes
    match kind_of(span):
        case "LLM":
            return ModelStep(
                **common,
                input=_messages(attributes, "llm.input_messages"),
                output=_messages(attributes, "llm.output_messages"),
                tools=_tools(attributes),
                failed=bool(span.failed),
                continues="previous_response_id" in str(attributes.get("llm.invocation_parameters", "")),
            )
        case "TOOL":
            return _tool_step(span, common)
        case "AGENT":
            return AgentStep(**common)
    return None


def _messages(attributes: Mapping[str, Any], prefix: str) -> Texts | None:
    found = nested(attributes, prefix)
    if isinstance(found, str):
        found = msgspec.json.decode(json_text(found, prefix)) if found != _REDACTED else None
    if not isinstance(found, list) or any(_is_hidden(message) for message in found):
        return None
    return read_message_list(dump(found).encode(), prefix)


def _is_hidden(message: Any) -> bool:
    inner = message.get("message") if isinstance(message, Mapping) else None
    return isinstance(inner, Mapping) and inner.get("content") == _REDACTED


def _tools(attributes: Mapping[str, Any]) -> bytes:
    found = nested(attributes, "llm.tools")
    tools: list[Any] = []
    for item in found if isinstance(found, list) else ():
        schema = nested(item, "tool.json_schema") if isinstance(item, Mapping) else item
        if isinstance(schema, str):
            try:
                schema = msgspec.json.decode(schema)
            except (ValueError, RecursionError):
                raise BadInput(
                    "llm.tools: expected JSON as tool.json_schema, got text that is not JSON: it may have been cut off"
                ) from None
        if isinstance(schema, dict) and ("function" in schema or "name" in schema):
            tools.append(schema)
    return _encode(tools) if tools else b""


def _tool_step(span: Span, common: dict[str, Any]) -> ToolStep:
    name = lookup(span.attributes, "tool.name") or lookup(span.attributes, "tool_call.function.name") or span.name
    given = _value(span.attributes, "input.value", "tool_call.function.arguments")
    result = _value(span.attributes, "output.value")
    call_id = lookup(span.attributes, "tool_call.id") or lookup(span.attributes, "tool.id")
    call_id = call_id if isinstance(call_id, str) else ""
    call = None
    if isinstance(given, dict) or (isinstance(given, str) and given.lstrip().startswith("{")):
        call = read_call({"name": str(name), "arguments": given, **({"id": call_id} if call_id else {})})
        call = None if call.malformed else call  # the input of a function may be written in other ways than as JSON
    text = result if isinstance(result, str) or result is None else dump(result)
    return ToolStep(
        **common, name=str(name), call_id=call_id, call=call, result=span.failed or text if text is None else text, failed=bool(span.failed)
    )


def _value(attributes: Mapping[str, Any], *keys: str) -> Any:
    for key in keys:
        found = lookup(attributes, key)
        if found is not None and found != _REDACTED:
            return found
    return None
