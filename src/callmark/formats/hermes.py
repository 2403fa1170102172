"""Messages whose calls are in the text: `{"messages": [{"role", "content"}], "tools"}` with Hermes tags or ShareGPT's roles.

    assistant  text and any number of <tool_call>{"name", "arguments"}</tool_call>
    tool       any number of <tool_response>{"name", "content"}</tool_response>, or plain text
    system     may contain <tools>…</tools>, which is used if the row has no `tools` (a list, or a JSON string of one)

Roles may also be ShareGPT's: human, gpt, function_call (content is the JSON of a call), observation. Messages that have `tool_calls` stay
as they are. Everything else is read as in `sharegpt`; an unknown role raises `BadInput`.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.errors import BadInput
from callmark.formats.exchanges import build_conversation
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.formats.sharegpt import read_system_tools, read_turn
from callmark.types import Conversation, Place, Text

_SHAREGPT_ROLES = frozenset({"human", "gpt", "chatgpt", "model", "function_call", "observation", "ipython"})
_CALL_KEYS = ("tool_calls", "function_call")
_TAG = re.compile(r"(?<!`)<tool_call>\s*+[\[{<]")  # prose about the tag has no call after it, or is in a code span
_ROW_KEYS = frozenset({"id", "messages", "tools"})


class _Row(Struct):
    messages: list[dict[str, Raw]]
    tools: Raw = Raw(b"")
    id: Any = None


class _Signature(Struct):
    role: Any = None
    content: Any = None
    tool_calls: Any = None


_decode = msgspec.json.Decoder(_Row).decode
_decode_signatures = msgspec.json.Decoder(list[_Signature]).decode
_decode_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for messages with calls in the assistant's text, tools in the system prompt, or ShareGPT's roles."""
    if "messages" not in fields or "expected_output" in fields:
        return 0.0
    try:
        messages = _decode_signatures(fields["messages"])
    except (ValueError, RecursionError):  # reading it says why
        return 0.0
    if any(message.tool_calls for message in messages):
        return 0.0
    return 0.85 if any(_is_hermes(message, has_tools="tools" in fields) for message in messages) else 0.0


def _is_hermes(message: _Signature, *, has_tools: bool) -> bool:
    content = message.content if isinstance(message.content, str) else ""
    if message.role == "assistant":
        return _TAG.search(content) is not None
    if message.role == "system":
        return not has_tools and "<tools>" in content and "</tools>" in content
    return isinstance(message.role, str) and message.role in _SHAREGPT_ROLES


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with the calls and results in its texts."""
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    texts: list[Text] = []
    for index, fields in enumerate(wire.messages):
        texts += _read_message(fields, f"messages[{index}]")
    tools = context.read_tools(bytes(wire.tools))
    conversation = build_conversation(row_id(wire.id, place), texts, tools, place, row)
    if not tools[1] and (found := read_system_tools(conversation.messages, context))[1]:
        return build_conversation(conversation.id, texts, found, place, row)
    return conversation


def _read_message(fields: dict[str, Raw], where: str) -> list[Text]:
    """Return the messages that a message becomes: several for several results."""
    role, content = (_decode_any(fields[key]) if key in fields else None for key in ("role", "content"))
    if not isinstance(role, str):
        raise BadInput(f"{where}: missing key 'role'")
    has_calls = any(bytes(fields.get(key, b"null")) not in (b"null", b"[]") for key in _CALL_KEYS)
    if has_calls or not isinstance(content, str):
        return [_encode(fields)]
    found = read_turn(role, content, f"{where}.role")
    extra = {key: value for key, value in fields.items() if key not in ("role", "content", *_CALL_KEYS)}
    return [_encode(message | (extra if index == 0 else {})) for index, message in enumerate(found)]


FORMAT = Format("hermes", "messages with Hermes tool calls", detect, read, leftover_keys=leftover_keys(_ROW_KEYS))
