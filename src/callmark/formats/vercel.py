"""Messages of the Vercel AI SDK: model messages, and UI messages as an application stores them. `{"messages": […], "tools": …}`.

    model message   {"role", "content"}, with parts text, tool-call {toolCallId, toolName, input}, tool-result {toolCallId, output}, …
    UI message      {"role", "parts"}, with parts text, `tool-NAME` {toolCallId, state, input, output, errorText}, `dynamic-tool`
                    {toolName, …}; of version 4: tool-invocation {toolInvocation: {toolCallId, toolName, args, result}}
    tools           a list in any shape, or an object of tools by name

A call and its result are in one part of a UI message: they become two messages. A new step, or text after a call, starts a new message.
A call whose input is still streaming, or was not valid (`rawInput`), is malformed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.formats.chat_rows import (
    Fields,
    Members,
    Turn,
    any_text,
    build_conversation,
    find_role,
    known_part,
    malformed_call,
    optional_text,
    other_part,
    read_object,
    read_objects,
    read_part_call,
    read_row,
    refuse_calls,
    result_message,
    text_part,
)
from callmark.formats.format import Format, ReadContext
from callmark.formats.json_fields import json_kind, read_text, read_value
from callmark.types import Call, Conversation, Place

_ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_ROW_KEYS = frozenset({"id", "messages", "tools", "system"})
_TOOL_PREFIX = "tool-"
_APPROVALS = frozenset({"tool-approval-request", "tool-approval-response"})
_STREAMING = frozenset({"input-streaming", "partial-call"})
_UI_KEYS = frozenset(  # of a tool part, other than name, input and ids
    [
        "type",
        "state",
        "output",
        "errorText",
        "rawInput",
        "callProviderMetadata",
        "resultProviderMetadata",
        "toolMetadata",
        "title",
        "preliminary",
        "approval",
        "result",
        "step",
        "isError",
    ]
)
_CALL_KEYS = frozenset({"type", "title", "invalid", "error", "toolMetadata", "experimental_providerMetadata"})
_UI_DONE = frozenset({"output-available", "output-error", "output-denied", "result"})
_OUTPUT_TYPES = frozenset({"text", "json", "error-text", "error-json", "content", "execution-denied"})


class _Signature(Struct):
    role: Any = None
    content: Raw = Raw(b"")
    parts: Raw = Raw(b"")
    toolInvocations: Raw = Raw(b"")  # noqa: N815 - the name in the file
    kind: Any = None


class _PartSignature(Struct):
    type: Any = None


_decode_signatures = msgspec.json.Decoder(list[_Signature]).decode
_decode_parts = msgspec.json.Decoder(list[_PartSignature | str]).decode


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its messages converted to the OpenAI form."""
    fields = read_row(row)
    if "messages" not in fields:
        raise BadInput("missing key 'messages'")
    system = optional_text(fields, "system", "")
    messages: list[Fields] = [{"role": "system", "content": system}] if system else []
    for index, message in enumerate(read_objects(fields["messages"], "messages")):
        messages += _read_message(message, f"messages[{index}]")
    return build_conversation(messages, _openai_tools(fields), given_id=fields.get("id"), row=row, place=place, context=context)


def _read_message(message: Members, where: str) -> list[Fields]:
    role = find_role(optional_text(message, "role", where), _ROLES, f"{where}.role")
    refuse_calls(message.keys() - {"toolInvocations"}, where)
    turn = Turn("user" if role == "tool" else role)
    pending: list[Fields] = []  # results of the calls of a UI message, which follow its message

    def end_message() -> None:
        turn.finish_message()
        for result in pending:
            turn.add_result(result)
        pending.clear()

    key = "parts" if "parts" in message else "content"
    raw = message.get(key, Raw(b"[]"))
    if json_kind(raw) == '"':
        turn.parts.append(text_part(read_text(raw)))
        raw = Raw(b"[]")
    for number, part in enumerate(read_objects(raw, f"{where}.{key}")):
        at = f"{where}.{key}[{number}]"
        kind = optional_text(part, "type", at)
        if kind in ("text", "reasoning", "step-start") and turn.calls and key == "parts":
            end_message()
        if kind == "text":
            turn.parts.append(text_part(optional_text(part, "text", at)))
        elif kind == "reasoning":
            turn.thinking.append(optional_text(part, "text" if "text" in part else "reasoning", at))
        elif kind == "step-start":
            end_message()
        elif kind == "tool-call":
            turn.calls.append(_read_call(part, at))
        elif kind == "tool-result":
            turn.add_result(_read_result(part, at))
        elif kind in _APPROVALS:
            turn.parts.append(known_part(kind))
        elif key == "parts" and (kind.startswith(_TOOL_PREFIX) or kind == "dynamic-tool"):
            call, result = _read_tool_part(kind, part, at)
            turn.calls.append(call)
            pending += result
        else:
            turn.parts.append(other_part(kind or "part", part, at))
    if "toolInvocations" in message and not turn.calls:
        for number, invocation in enumerate(read_objects(message["toolInvocations"], f"{where}.toolInvocations")):
            call, result = _read_tool_part("", invocation, f"{where}.toolInvocations[{number}]")
            turn.calls.append(call)
            pending += result
    end_message()
    return turn.messages()


def _read_call(part: Members, where: str) -> Call:
    call_id = optional_text(part, "toolCallId", where)
    if bytes(part.get("invalid", b"")) == b"true":
        text = any_text(part.get("input", Raw(b"null")))
        return malformed_call(optional_text(part, "toolName", where), text, "invalid tool call", call_id)
    return read_part_call(part, call_id=call_id, ignore=_CALL_KEYS)


def _read_tool_part(kind: str, part: Members, where: str) -> tuple[Call, list[Fields]]:
    """Return the call in a part of a UI message, and its result, if it has one."""
    if kind == "tool-invocation" and "toolInvocation" in part:
        part = read_object(part["toolInvocation"], f"{where}.toolInvocation")
        kind = ""
    name = kind.removeprefix(_TOOL_PREFIX) if kind.startswith(_TOOL_PREFIX) else optional_text(part, "toolName", where)
    state, call_id = optional_text(part, "state", where), optional_text(part, "toolCallId", where)
    if state in _STREAMING:
        call = malformed_call(name, any_text(part.get("input", part.get("args", Raw(b"null")))), f"incomplete ({state})", call_id)
    elif "rawInput" in part and "input" not in part:
        call = malformed_call(name, any_text(part["rawInput"]), "invalid input", call_id)
    else:
        replaced = {"toolName": name} if name else {}
        call = read_part_call(part, call_id=call_id, ignore=_UI_KEYS, **replaced)
    if state and state not in _UI_DONE and not ({"output", "result", "errorText"} & part.keys()):
        return call, []
    if "errorText" in part:
        return call, [result_message(any_text(part["errorText"]), call_id, name, is_error=True)]
    output = part.get("output", part.get("result"))
    return call, [] if output is None else [result_message(any_text(output), call_id, name)]


def _read_result(part: Members, where: str) -> Fields:
    name, call_id = optional_text(part, "toolName", where), optional_text(part, "toolCallId", where)
    value = read_value(part["output"]) if "output" in part else read_value(part["result"]) if "result" in part else ""
    is_error = bytes(part.get("isError", b"")) == b"true"
    if isinstance(value, dict) and value.get("type") in _OUTPUT_TYPES and ("value" in value or value["type"] == "execution-denied"):
        is_error = is_error or value["type"] not in ("text", "json", "content")
        value = _output_text(value["value"]) if "value" in value else str(value.get("reason") or "execution denied")
    return result_message(value if isinstance(value, str) else dump(value), call_id, name, is_error=is_error)


def _output_text(value: Any) -> Any:
    """Return the text of content parts; any other value unchanged."""
    if isinstance(value, list) and value and all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in value):
        return "\n".join(part["text"] if isinstance(part.get("text"), str) else f"[{part['type']}]" for part in value)
    return value


def _openai_tools(fields: Members) -> bytes:
    """Return a list of tools; an object of tools by name becomes one."""
    if "tools" not in fields:
        return b""
    value = read_value(fields["tools"])
    if not isinstance(value, dict) or "tools" in value:
        return bytes(fields["tools"])
    tools: list[Any] = []
    for name, tool in value.items():
        if not isinstance(tool, dict):
            raise BadInput(f"tools.{name[:40]}: expected an object")
        schema: Any = next((tool[key] for key in ("inputSchema", "parameters") if tool.get(key) is not None), {})
        schema = schema["jsonSchema"] if isinstance(schema, dict) and isinstance(schema.get("jsonSchema"), dict) else schema
        tools.append({"type": "function", "function": {"name": name, "description": tool.get("description"), "parameters": schema}})
    return dump(tools).encode()


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for parts of type tool-call or tool-result, and for messages with typed `parts`."""
    if "expected_output" in fields or not bytes(fields.get("messages", b"")).startswith(b"["):
        return 0.0
    try:
        messages = _decode_signatures(fields["messages"])
    except msgspec.MsgspecError:
        return 0.0
    if any(message.kind is not None or message.role is None for message in messages):
        return 0.0
    return 0.9 if any(_is_vercel(message) for message in messages) else 0.0


def _is_vercel(message: _Signature) -> bool:
    if bytes(message.toolInvocations).startswith(b"["):
        return True
    if types := _part_types(bytes(message.parts)):
        return all(isinstance(kind, str) for kind in types)
    return any(kind in ("tool-call", "tool-result") for kind in _part_types(bytes(message.content)))


def _part_types(text: bytes) -> list[Any]:
    if not text.startswith(b"["):
        return []
    try:
        parts = _decode_parts(text)
    except msgspec.MsgspecError:
        return []
    return [None if isinstance(part, str) else part.type for part in parts]


def _leftover_keys(row: bytes) -> Iterable[str]:
    return (key for key in read_row(row) if key not in _ROW_KEYS)


FORMAT = Format("vercel-ai", "Vercel AI messages", detect, read, leftover_keys=_leftover_keys)
