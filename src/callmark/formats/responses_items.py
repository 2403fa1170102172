"""Items of the OpenAI Responses API, which the OpenAI Agents SDK uses too: `{"instructions", "input": […], "output": […], "tools": […]}`.

    input, items    a string, or a list of items; `output` follows them. A bare list of items is a row as well (`to_input_list()`)
    message         {"role", "content"}, with or without `"type": "message"`; parts input_text, output_text, refusal, input_image, …
    function_call   {"call_id", "name", "arguments"}; function_call_output {"call_id", "output"}
    custom_tool_call {"call_id", "name", "input"}: its text is the argument `input`; custom_tool_call_output
    reasoning       kept as `reasoning_content` of the message that follows

Calls belong to the text before them, in one message. What the server ran itself (a search, an MCP call) is shown as `[web_search_call]`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.formats.chat_rows import (
    Fields,
    Members,
    Turn,
    any_text,
    build_conversation,
    content_of,
    find_role,
    known_part,
    optional_text,
    other_part,
    read_list,
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

_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "developer"}
_ROW_KEYS = frozenset({"id", "input", "items", "output", "messages", "instructions", "tools"})
_TEXT_TYPES = frozenset({"input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text"})
_CALLS = frozenset({"function_call", "custom_tool_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_SERVER_ITEMS = frozenset(
    [
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "tool_search_call",
        "tool_search_output",
    ]
)
_ITEM_TYPES = _CALLS | _OUTPUTS | _SERVER_ITEMS | {"reasoning", "item_reference"}
_CALL_METADATA = frozenset({"provider_data", "execution"})


class _Signature(Struct):
    type: Any = None
    role: Any = None
    content: Raw = Raw(b"")
    tool_calls: Raw = Raw(b"")


_decode_signatures = msgspec.json.Decoder(list[_Signature]).decode


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its items converted to messages in the OpenAI form."""
    fields = read_row(row)
    reader = _ItemReader()
    if instructions := optional_text(fields, "instructions", ""):
        reader.messages.append({"role": "system", "content": instructions})
    for key in ("input", "items", "messages", "output"):
        if key not in fields:
            continue
        if json_kind(fields[key]) == '"' and key != "items":
            role = "assistant" if key == "output" else "user"
            reader.messages.append({"role": role, "content": read_text(fields[key])})
            continue
        for index, item in enumerate(read_objects(fields[key], key)):
            reader.add(item, f"{key}[{index}]")
    messages = reader.finish()
    return build_conversation(messages, _openai_tools(fields), given_id=fields.get("id"), row=row, place=place, context=context)


class _ItemReader:
    """Collects items into messages: the assistant's text, the calls after it and the thinking before it become one message."""

    def __init__(self) -> None:
        self.messages: list[Fields] = []
        self._turn: Turn | None = None
        self._has_text = False

    def add(self, item: Members, where: str) -> None:
        kind = optional_text(item, "type", where) or ("message" if "role" in item else "")
        if kind in _CALLS:
            self._open().calls.append(_read_call(kind, item, where))
        elif kind in _OUTPUTS:
            self.finish()
            self.messages.append(result_message(_output(item, where), optional_text(item, "call_id", where)))
        elif kind == "reasoning":
            self._open().thinking.append(_reasoning(item, where))
        elif kind == "message":
            self._add_message(item, where)
        elif kind in _SERVER_ITEMS:
            self._open().parts.append(known_part(kind))
        elif kind == "item_reference":
            raise BadInput(
                f"{where}: the item is stored on the server, and may be a tool call", "Save the full items instead of references to them."
            )
        elif not kind:
            raise BadInput(f"{where}: type is missing")
        else:
            refuse_calls((kind, *item), where)
            self._open().parts.append(other_part(kind, item, where))

    def finish(self) -> list[Fields]:
        """End the message of the assistant, and return all messages."""
        if self._turn is not None:
            self.messages += self._turn.messages()
        self._turn, self._has_text = None, False
        return self.messages

    def _open(self) -> Turn:
        self._turn = self._turn or Turn("assistant")
        return self._turn

    def _add_message(self, item: Members, where: str) -> None:
        if "tool_calls" in item:
            raise BadInput(f"{where}: expected an item of the Responses API, got a chat message with tool_calls", "Pass --from openai.")
        role = find_role(optional_text(item, "role", where), _ROLES, f"{where}.role")
        refuse_calls(item, where)
        parts = _parts(item, where)
        if role != "assistant":
            self.finish()
            self.messages.append({"role": role, "content": content_of(parts) or ""})
            return
        if self._has_text and not self._open().calls:  # the next of several messages
            self.finish()
        self._open().parts += parts
        self._has_text = True


def _parts(item: Members, where: str) -> list[Fields]:
    content = item.get("content", Raw(b"[]"))
    if json_kind(content) == '"':
        return [text_part(read_text(content))]
    found: list[Fields] = []
    for number, part in enumerate(read_objects(content, f"{where}.content")):
        at = f"{where}.content[{number}]"
        kind = optional_text(part, "type", at) or "part"
        known = kind in _TEXT_TYPES and ("text" in part or "refusal" in part)
        found.append(text_part(optional_text(part, "text" if "text" in part else "refusal", at)) if known else other_part(kind, part, at))
    return found


def _read_call(kind: str, item: Members, where: str) -> Call:
    call_id = optional_text(item, "call_id", where)
    if kind == "custom_tool_call" and "input" in item:
        return Call(scrub(optional_text(item, "name", where)), {"input": any_text(item["input"])}, call_id or None)
    return read_part_call(item, call_id=call_id, ignore=_CALL_METADATA)


def _output(item: Members, where: str) -> Any:
    """Return the output of a call: text, or the parts of it."""
    raw = item.get("output", Raw(b'""'))
    if json_kind(raw) != "[" or not all(json_kind(part) == "{" for part in read_list(raw, f"{where}.output")):
        return any_text(raw)
    if not all("type" in read_object(part, where) for part in read_list(raw, where)):
        return any_text(raw)
    return content_of(_parts({"content": raw}, f"{where}.output")) or ""


def _reasoning(item: Members, where: str) -> str:
    """Return the summary and the text of a reasoning item; empty if it is encrypted."""
    lists = [read_objects(item[key], f"{where}.{key}") for key in ("summary", "content") if key in item and json_kind(item[key]) == "["]
    return "\n".join(optional_text(part, "text", where) for parts in lists for part in parts if "text" in part)


def _openai_tools(fields: Members) -> bytes:
    """Return the function tools in the OpenAI form; tools of the server are left out."""
    if "tools" not in fields or json_kind(fields["tools"]) != "[":
        return bytes(fields.get("tools", b""))
    tools: list[Any] = []
    for raw in read_list(fields["tools"], "tools"):
        tool = read_value(raw)
        if isinstance(tool, dict) and tool.get("type") == "function" and "function" not in tool:
            tools.append({"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}})
        elif not isinstance(tool, dict) or "function" in tool or "name" in tool:
            tools.append(tool)
    return dump(tools).encode()


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for lists with items of the Responses API; lower for other input, which may be plain messages."""
    if "expected_output" in fields:
        return 0.0
    for key in ("messages", "items", "input", "output"):
        if key not in fields or not bytes(fields[key]).startswith(b"["):
            continue
        try:
            items = _decode_signatures(fields[key])
        except msgspec.MsgspecError:
            continue
        if any(isinstance(item.type, str) and item.type in _ITEM_TYPES for item in items):
            return 0.9
        if key != "messages" and items and any(item.type == "message" or item.role in _ROLES for item in items) and not _is_chat(items):
            return 0.6
        if any(item.type == "message" for item in items) and not _is_chat(items):
            return 0.6
    return 0.0


def _is_chat(items: Iterable[_Signature]) -> bool:
    return any(item.role in ("tool", "function") or bytes(item.tool_calls) not in (b"", b"null") for item in items)


def _leftover_keys(row: bytes) -> Iterable[str]:
    return (key for key in read_row(row) if key not in _ROW_KEYS)


FORMAT = Format("responses", "OpenAI Responses items", detect, read, leftover_keys=_leftover_keys)
