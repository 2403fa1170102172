"""Tool lists: OpenAI's form to Anthropic's and back, other keys of a tool (`strict`, `cache_control`) and all."""

from functools import lru_cache

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
    """Anthropic's tools in OpenAI's form, other keys of theirs (`strict`, `cache_control`) and all; any other list as it is."""
    try:
        tools = _decode(text)
    except msgspec.MsgspecError:
        return text
    if not all("input_schema" in tool for tool in tools):
        return text
    functions = []
    for tool in tools:
        if bytes(tool.get("type", b"")) == b'"custom"':
            del tool["type"]
        functions.append({"parameters" if key == "input_schema" else key: value for key, value in tool.items()})
    return _encode([{"type": "function", "function": function} for function in functions])


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
