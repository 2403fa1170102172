"""Tool lists: OpenAI's form to Anthropic's and back, other keys of a tool (`strict`, `cache_control`) and all."""

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.strict import dump
from callmark.calls.toolsets import read_tools

_REMEMBERED = 64  # lists: most files have one

_decode = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode


@lru_cache(_REMEMBERED)
def openai_tools(text: bytes) -> bytes:
    """Anthropic's tools in OpenAI's form, other keys of theirs (`strict`, `cache_control`) and all; any other list as it is. A tool of
    Anthropic's own, which has a type and no schema, keeps its keys."""
    try:
        tools = _decode(text)
    except msgspec.MsgspecError:
        return text
    if not any("input_schema" in tool for tool in tools):
        return text
    made: list[dict[str, Any]] = []
    for tool in tools:
        if "input_schema" not in tool and "function" in tool:  # one that is in OpenAI's form already
            made.append(tool)
            continue
        if bytes(tool.get("type", b"")) == b'"custom"':
            del tool["type"]
        function = {"parameters" if key == "input_schema" else key: value for key, value in tool.items()}
        made.append({"type": "function", "function": function})
    return _encode(made)


@lru_cache(_REMEMBERED)
def anthropic_tools(text: bytes) -> bytes:
    """Tools in OpenAI's form as Anthropic has them."""
    made = []
    for item, tool in zip(_decode(text), read_tools(msgspec.json.decode(text)), strict=True):
        function = _decode_fields(item["function"])
        given = bytes(function.get("parameters", b"{}"))
        schema = Raw(given) if given.startswith(b"{") else Raw(dump(tool.parameters).encode())
        more = {key: value for key, value in function.items() if key not in ("name", "description", "parameters")}
        made.append({"name": tool.name, "description": tool.description, "input_schema": schema, **more})
    return _encode(made)
