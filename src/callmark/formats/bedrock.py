"""The format of Amazon Bedrock's Converse API: `{"system": [{"text"}], "messages": [{"role", "content"}], "toolConfig": {"tools": […]}}`.

    content      a list of blocks, each with one key: text, toolUse {toolUseId, name, input}, toolResult {toolUseId, content, status}, …
    toolConfig   tools [{"toolSpec": {"name", "description", "inputSchema": {"json"}}}]
    output       the message that the API returned, if it is recorded next to the request: `{"message": {…}}`

A message with several results becomes several messages. Reasoning is kept as `reasoning_content`, the status `error` as `is_error`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.formats.chat_rows import (
    Fields,
    Members,
    Turn,
    any_text,
    build_conversation,
    content_of,
    find_role,
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
from callmark.formats.json_fields import json_kind, read_value
from callmark.types import Conversation, Place

_ROLES = {"user": "user", "assistant": "assistant", "system": "system"}
_ROW_KEYS = frozenset({"id", "messages", "system", "toolConfig", "output"})
_BLOCK_KEYS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "cachePoint", "image", "document", "video", "guardContent"})
_SILENT_BLOCKS = frozenset({"cachePoint"})  # say how to cache, not what was said
_SCHEMA_VERSION = "bedrock-conversation"

_decode_signatures = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_blocks = msgspec.json.Decoder(list[dict[str, Raw]]).decode


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its messages converted to the OpenAI form."""
    fields = read_row(row)
    if "messages" not in fields:
        raise BadInput("missing key 'messages'")
    messages = list(_prompts(fields))
    for index, message in enumerate(read_objects(fields["messages"], "messages")):
        messages += _read_message(message, f"messages[{index}]")
    if "output" in fields:
        output = read_object(fields["output"], "output")
        messages += _read_message(read_object(output["message"], "output.message"), "output.message") if "message" in output else []
    return build_conversation(messages, _tools(fields), given_id=fields.get("id"), row=row, place=place, context=context)


def _prompts(fields: Members) -> Iterator[Fields]:
    if "system" in fields:
        for index, block in enumerate(read_objects(fields["system"], "system")):
            parts = _text_parts(block, f"system[{index}]")
            if parts:
                yield {"role": "system", "content": content_of(parts)}


def _read_message(message: Members, where: str) -> list[Fields]:
    role = find_role(optional_text(message, "role", where), _ROLES, f"{where}.role")
    refuse_calls(message, where)
    content = message.get("content", Raw(b"[]"))
    if json_kind(content) == '"':
        return [{"role": role, "content": content}]
    turn = Turn(role)
    for number, block in enumerate(read_objects(content, f"{where}.content")):
        at = f"{where}.content[{number}]"
        if "toolUse" in block:
            use = read_object(block["toolUse"], f"{at}.toolUse")
            turn.calls.append(read_part_call(use, call_id=optional_text(use, "toolUseId", f"{at}.toolUse")))
        elif "toolResult" in block:
            turn.add_result(_read_result(read_object(block["toolResult"], f"{at}.toolResult"), f"{at}.toolResult"))
        elif "reasoningContent" in block:
            turn.thinking.append(_reasoning(block["reasoningContent"]))
        else:
            turn.parts += _text_parts(block, at)
    return turn.messages()


def _text_parts(block: Members, where: str) -> list[Fields]:
    """Return the parts of a block without calls: its text, or the block itself under its key."""
    if "text" in block:
        refuse_calls(block.keys() - _BLOCK_KEYS, where)
        return [text_part(optional_text(block, "text", where))]
    kind = next((key for key in block if key in _BLOCK_KEYS), next(iter(block), "block"))
    return [] if kind in _SILENT_BLOCKS else [other_part(kind, block, where)]


def _read_result(result: Members, where: str) -> Fields:
    parts: list[Fields] = []
    for number, block in enumerate(read_objects(result["content"], f"{where}.content") if "content" in result else []):
        parts += [text_part(any_text(block["json"]))] if "json" in block else _text_parts(block, f"{where}.content[{number}]")
    is_error = optional_text(result, "status", where) == "error"
    return result_message(content_of(parts) or "", optional_text(result, "toolUseId", where), is_error=is_error)


def _reasoning(raw: Raw) -> str:
    """Return the text of a reasoning block; empty if it is encrypted."""
    value = read_value(raw)
    inner = value.get("reasoningText") if isinstance(value, dict) else None
    text = inner.get("text") if isinstance(inner, dict) else None
    return text if isinstance(text, str) else ""


def _tools(fields: Members) -> bytes:
    """Return the tools in the OpenAI form; cache points and tools of the server are left out."""
    if "toolConfig" not in fields:
        return b""
    config = read_object(fields["toolConfig"], "toolConfig")
    tools: list[Any] = []
    for index, tool in enumerate(read_objects(config["tools"], "toolConfig.tools") if "tools" in config else []):
        if "toolSpec" not in tool:  # a cache point, or a tool of the server
            continue
        where = f"toolConfig.tools[{index}].toolSpec"
        spec = read_object(tool["toolSpec"], where)
        schema = read_object(spec["inputSchema"], f"{where}.inputSchema") if "inputSchema" in spec else {}
        parameters = read_value(schema["json"]) if "json" in schema else {}
        others = {key: read_value(value) for key, value in spec.items() if key != "inputSchema"}
        tools.append({"type": "function", "function": {**others, "parameters": parameters}})
    return dump(tools).encode()


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for messages with blocks that have no type but one of Bedrock's keys, or with `toolConfig`."""
    if "messages" not in fields or "expected_output" in fields:
        return 0.0
    try:
        messages = _decode_signatures(fields["messages"])
    except msgspec.MsgspecError:
        return 0.0
    if "toolConfig" in fields or _SCHEMA_VERSION in bytes(fields.get("schemaVersion", b"")).decode("utf-8", "replace"):
        return 0.9
    contents = [bytes(message["content"]) for message in messages if "content" in message]
    return 0.9 if any(_has_blocks(content) for content in contents) else 0.0


def _has_blocks(content: bytes) -> bool:
    if not content.startswith(b"["):
        return False
    try:
        blocks = _decode_blocks(content)
    except msgspec.MsgspecError:
        return False
    return any("type" not in block and not _BLOCK_KEYS.isdisjoint(block) for block in blocks)


def _leftover_keys(row: bytes) -> Iterable[str]:
    return (key for key in read_row(row) if key not in _ROW_KEYS)


FORMAT = Format("bedrock", "Bedrock Converse", detect, read, leftover_keys=_leftover_keys)
