"""Convert tool lists between the OpenAI and Anthropic formats, including other keys of a tool (`strict`, `cache_control`)."""

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.strict import dump
from callmark.calls.toolsets import read_tools

_CACHED_LISTS = 64  # most files have a single list

_decode = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode


@lru_cache(_CACHED_LISTS)
def openai_tools(text: bytes) -> bytes:
    """Convert Anthropic tools to the OpenAI format, with their other keys (`strict`, `cache_control`); return any other list unchanged.

    A server tool, which has a type but no schema, keeps its keys.
    """
    try:
        tools = _decode(text)
    except msgspec.MsgspecError:
        return text
    if not any("input_schema" in tool for tool in tools):
        return text
    converted: list[dict[str, Any]] = []
    for tool in tools:
        if "input_schema" not in tool and "function" in tool:  # already in the OpenAI format
            converted.append(tool)
            continue
        if bytes(tool.get("type", b"")) == b'"custom"':
            del tool["type"]
        function = {"parameters" if key == "input_schema" else key: value for key, value in tool.items()}
        converted.append({"type": "function", "function": function})
    return _encode(converted)


@lru_cache(_CACHED_LISTS)
def anthropic_tools(text: bytes) -> bytes:
    """Convert tools in the OpenAI format to the Anthropic format."""
    converted = []
    for item, tool in zip(_decode(text), read_tools(msgspec.json.decode(text)), strict=True):
        function = _decode_fields(item["function"])
        given = bytes(function.get("parameters", b"{}"))
        schema = Raw(given) if given.startswith(b"{") else Raw(dump(tool.parameters).encode())
        extra = {key: value for key, value in function.items() if key not in ("name", "description", "parameters")}
        converted.append({"name": tool.name, "description": tool.description, "input_schema": schema, **extra})
    return _encode(converted)
