"""The input and the output of a request to a model, as a program has recorded them: in any shape that callmark reads elsewhere.

An input is a list of messages, an object with them (and tools), or a text of the user. An output is a message, a list of them, the body of
a response, or the text of the assistant. What none of the formats recognizes raises `BadInput`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from callmark.calls.messages import ROLES, call_text, message_texts
from callmark.calls.shapes import read_call
from callmark.calls.strict import NotStrict, dump, parse
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.chat_rows import read_object, refuse_calls
from callmark.formats.detect import detect_format
from callmark.formats.format import ReadContext
from callmark.formats.json_fields import decode_fields
from callmark.formats.responses import Response, read_response
from callmark.formats.traces.message_lists import is_typed, read_message_list
from callmark.formats.traces.steps import Texts
from callmark.types import Case, Place

_PLACE = Place("", 1)
_PROMPTS = ("prompt", "input", "question", "query", "text")
_SYSTEMS = ("system", "instructions", "system_prompt")
_SHAPE_KEYS = frozenset(
    [
        "role",
        "choices",
        "candidates",
        "message",
        "messages",
        "parts",
        "tool_calls",
        "function_call",
        "lc",
        "output",
        "content",
        "generations",
    ]
)
_PART_TYPES = frozenset(["text", "output_text", "tool_use", "tool-call", "tool_call", "function_call", "message", "reasoning", "thinking"])
_encode = msgspec.json.Encoder().encode


class Request(NamedTuple):
    """The messages of a request, and its tools as JSON; empty if it names none."""

    messages: Texts
    tools: bytes = b""


def read_request(value: Any, where: str) -> Request:
    """Return the messages and tools of a request."""
    value = decoded(value)
    if isinstance(value, str):
        return Request((_encode({"role": "user", "content": value}),))
    if isinstance(value, list):
        inner = value[0] if len(value) == 1 and isinstance(value[0], list) else value  # a batch of one
        return _read_list(inner, where)
    if not isinstance(value, dict):
        raise BadInput(f"{where}: expected messages, got {dump(value)[:40]}")
    if isinstance(value.get("messages"), list):
        tools = next((value[key] for key in ("tools", "functions") if value.get(key)), None)
        found = read_request(value["messages"], f"{where}.messages")
        return Request(found.messages, dump(tools).encode() if tools else found.tools)
    if "role" in value:
        return _read_list([value], where)
    if any(key in value for key in ("contents", "conversations", "items")) or isinstance(value.get("input"), list):
        return _read_row(value, where)
    for key in _PROMPTS:
        if isinstance(value.get(key), str):
            system = next((value[each] for each in _SYSTEMS if isinstance(value.get(each), str)), "")
            prompt = (_encode({"role": "system", "content": system}),) if system else ()
            return Request((*prompt, _encode({"role": "user", "content": value[key]})))
    raise BadInput(f"{where}: expected messages, got the keys {', '.join(map(str, value))[:80]}")


def read_reply(value: Any, where: str) -> Texts:
    """Return the messages of a response; none for null. JSON in no known shape is the text of the assistant, unless it may be a call."""
    found = decoded(value)
    if found is None:
        return ()
    if isinstance(found, str | int | float):
        return (_encode({"role": "assistant", "content": found if isinstance(found, str) else dump(found)}),)
    if isinstance(found, dict) and isinstance(found.get("message"), dict) and "parts" in found["message"]:
        found = found["message"]
    items = found if isinstance(found, list) else [found]
    text = value if isinstance(value, str) else dump(value)
    if items and all(isinstance(item, dict) for item in items):
        if is_typed([read_object(_encode(item), where) for item in items]):
            return read_message_list(_encode(items), where)
        items = [_lifted(item) for item in items]
    if not _is_known(items):
        refuse_calls((key for item in items if isinstance(item, dict) for key in item), where)
        return (_encode({"role": "assistant", "content": text}),)
    try:
        response = read_response(
            {"output": Raw(dump(items).encode())} if isinstance(found, list) else decode_fields(dump(items[0]).encode())
        )
    except BadInput as error:
        raise BadInput(f"{where}: {error}", error.hint) from None
    return (_encode({"role": "assistant", "content": text}),) if response is None else (_assistant(response),)


def _is_known(items: list[Any]) -> bool:
    """Return whether these are messages, parts, or bodies of responses, or all of them calls."""
    if not items or not all(isinstance(item, dict) for item in items):
        return False
    if any(not _SHAPE_KEYS.isdisjoint(item) or item.get("type") in _PART_TYPES for item in items):
        return True
    return all(not read_call(item).malformed and ("arguments" in item or "function" in item or "toolName" in item) for item in items)


def _lifted(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with the calls that LangChain keeps in `additional_kwargs`."""
    extra = message.get("additional_kwargs")
    if isinstance(extra, dict) and extra.get("tool_calls") and not message.get("tool_calls") and "role" in message:
        return {**message, "tool_calls": extra["tool_calls"], "additional_kwargs": {}}
    return message


def decoded(value: Any) -> Any:
    """Return the object or list that a text has as JSON; any other value unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return parse(value)
    except NotStrict:
        return value


def tools_of(holder: Any, *keys: str) -> bytes:
    """Return the JSON of the tools under the first of these keys; empty if there are none."""
    for key in keys:
        found = holder.get(key) if isinstance(holder, Mapping) else None
        if isinstance(found, list) and found:
            return dump(found).encode()
    return b""


def _read_list(value: list[Any], where: str) -> Request:
    if not value:
        return Request(())
    tools: list[Any] = []
    rest: list[Any] = []
    called: set[str] = set()
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise BadInput(f"{where}[{index}]: expected a message")
        if item.get("role") == "tool" and _is_definition(item):
            tools.append(item["content"])
            continue
        if item.get("role") == "tool" and _holds_calls(item.get("content")):
            raise BadInput(f"{where}[{index}]: tool calls in the text of a message with the role tool")
        message = _lifted(item)
        if message.get("role") in called and "tool_calls" not in message:  # of LangChain's handler for Langfuse in JavaScript
            message = {**message, "role": "tool", "name": message["role"]}
        calls = message.get("tool_calls")
        called |= {name for call in calls if (name := read_call(call).name) not in ROLES} if isinstance(calls, list) else set()
        rest.append(message)
    return Request(read_message_list(dump(rest).encode(), where), dump(tools).encode() if tools else b"")


def _holds_calls(content: Any) -> bool:
    found = decoded(content) if isinstance(content, str) else content
    return (
        isinstance(found, list) and bool(found) and all(isinstance(item, dict) and isinstance(item.get("function"), dict) for item in found)
    )


def _is_definition(message: Mapping[str, Any]) -> bool:
    """Return whether a message is the definition of a tool, which LangChain's handler for Langfuse puts among the messages."""
    content = message.get("content")
    return isinstance(content, dict) and content.get("type") == "function" and isinstance(content.get("function"), dict)


def _read_row(value: Mapping[str, Any], where: str) -> Request:
    row = dump(value).encode()
    try:
        found = detect_format(row)
        conversation = found.read(row, _PLACE, ReadContext())
    except BadInput as error:
        raise BadInput(f"{where}: {error}", error.hint) from None
    if isinstance(conversation, Case):
        raise BadInput(f"{where}: expected messages, got a test case")
    return Request(tuple(message_texts(conversation)), tools_text(conversation) if conversation.tools else b"")


def _assistant(response: Response) -> bytes:
    found = response.prediction
    fields: dict[str, Any] = {"role": "assistant", "content": found.text if found.text or not found.calls else None}
    if found.calls:
        fields["tool_calls"] = [Raw(call_text(call)) for call in found.calls]
    if found.thinking:
        fields["reasoning_content"] = found.thinking
    return _encode(fields)
