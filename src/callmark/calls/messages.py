"""Messages in OpenAI's form: JSON text to `Message`, `Message` to JSON text, and replacing the calls of a message.

Accepted are `tool_calls` (null means none), the legacy `function_call`, and content that is a string, null, missing, a list of parts or
any other JSON. `tool_calls` that is not a list raises `BadInput`; an item of it that is not a call is a malformed call.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.shapes import named_call, read_call_text
from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.types import Call, Case, Conversation, Message, Text

RESULT_ROLES = frozenset({"tool", "function"})

_ANTHROPIC_PARTS = frozenset({"tool_use", "tool_result"})  # calls and results that would be lost if read as text
ABSENT = Raw(b"")  # a field that is missing


class _Function(Struct, gc=False, forbid_unknown_fields=True):
    name: str
    arguments: str


class _Call(Struct, gc=False, forbid_unknown_fields=True):
    """A call in the most common shape. `read_call_text` reads any other shape, and calls with other keys."""

    function: _Function
    id: str
    type: str | None = None
    index: int | None = None


class _Wire(Struct, gc=False):
    role: str
    content: Any = None
    refusal: Any = None
    function_call: Raw = ABSENT
    name: str | None = None


class CommonMessage(_Wire, gc=False):
    """A decoded message with calls in the most common shape."""

    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class AnyMessage(_Wire, gc=False):
    """A decoded message with calls of any shape."""

    tool_calls: list[Raw] | None = None
    tool_call_id: str | int | None = None


class _Calls(Struct):
    tool_calls: list[Raw] | None = None


class _OpenaiCall(Struct):
    function: Raw


class _Body(Struct):
    messages: list[Raw]


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_common = msgspec.json.Decoder(list[CommonMessage]).decode
_decode_any = msgspec.json.Decoder(list[AnyMessage]).decode
_decode_openai_call = msgspec.json.Decoder(_OpenaiCall).decode
_decode_calls = msgspec.json.Decoder(_Calls).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode
_EXPECTED = re.compile(r"Expected `([^`]*)`, got `([^`]*)`(?: - at `\$\.?([^`]*)`)?")
_MISSING = re.compile(r"missing required field `([^`]*)`(?: - at `\$\.?([^`]*)`)?")
_PLACED = re.compile(r"(.*) - at `\$\.?([^`]*)`")
_EXPECTED_TYPES = {
    "array | null": "a list",
    "array": "a list",
    "str": "a string",
    "object": "an object",
    "str | null": "a string",
    "float": "a number",
    "float | null": "a number",
    "int": "an integer",
    "int | null": "an integer",
    "object | null": "an object",
    "int | str | null": "a string",
}
_FOUND_TYPES = {
    "int": "a number",
    "float": "a number",
    "bool": "a boolean",
    "str": "a string",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


def read_messages(text: bytes | Raw) -> tuple[Message, ...]:
    """Return the messages of a JSON list. A field of the wrong type raises `BadInput` that names it."""
    try:
        return build_messages(_decode_common(text))
    except msgspec.ValidationError:
        pass
    try:
        return build_messages(_decode_any(text))
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), "messages")) from None


def build_messages(wires: Sequence[CommonMessage] | Sequence[AnyMessage]) -> tuple[Message, ...]:
    """Return the messages of decoded structs."""
    return tuple(
        [
            Message(wire.role, wire.content, (), wire.tool_call_id, wire.name)
            if wire.tool_calls is None
            and wire.content.__class__ is str
            and wire.function_call is ABSENT
            and wire.__class__ is CommonMessage
            else _build_message(wire)
            for wire in wires
        ]
    )


def _build_message(wire: CommonMessage | AnyMessage) -> Message:
    calls: tuple[Call, ...] = ()
    if wire.tool_calls:
        calls = tuple([_build_call(call) for call in wire.tool_calls])
    if wire.function_call is not ABSENT and (text := bytes(wire.function_call)) != b"null":
        calls = (*calls, read_call_text(text))
    content = wire.content if wire.content is not None else wire.refusal
    call_id = wire.tool_call_id
    return Message(
        wire.role,
        content if content.__class__ is str else content_text(content),
        calls,
        call_id if call_id is None or call_id.__class__ is str else str(call_id),
        wire.name,
    )


def _build_call(call: _Call | Raw) -> Call:
    if isinstance(call, _Call):
        return named_call(call.function.name, call.function.arguments, call.id)
    return read_call_text(bytes(call))


def message_texts(conversation: Conversation) -> Sequence[Text]:
    """Return the JSON of each message: the original text, or newly written if the messages were built in Python."""
    original = conversation.original
    if original.messages is conversation.messages:
        if original.texts:
            return original.texts
        if original.body:
            return _decode_body(original.body).messages
    return [message_text(message) for message in conversation.messages]


def expected_texts(case: Case, write_call: Callable[[Call], bytes]) -> Sequence[Text]:
    """Return the JSON of each expected call: the original text, or written by `write_call` if the calls were built in Python."""
    original = case.original
    if original.expected is case.expected:
        if original.expected_texts:
            return original.expected_texts
        if original.expected_body:
            return _decode_calls(original.expected_body).tool_calls or ()
    return [write_call(call) for call in case.expected]


def message_text(message: Message) -> bytes:
    """Write a message as JSON."""
    fields: dict[str, Any] = {"role": message.role, "content": scrub(message.text) if message.text or not message.calls else None}
    if message.calls:
        fields["tool_calls"] = [_call_fields(call) for call in message.calls]
    if message.tool_call_id is not None:
        fields["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        fields["name"] = message.name
    return dump(fields).encode()


def call_text(call: Call) -> bytes:
    """Write a call as JSON in OpenAI's form. A malformed call is read back with the same name and text."""
    return dump(_call_fields(call)).encode()


def _call_fields(call: Call) -> dict[str, Any]:
    arguments = call.text if call.malformed else dump(call.arguments)
    fields: dict[str, Any] = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
    return fields if call.id is None else {"id": call.id, **fields}


def call_texts(message: Message, text: Text, *, openai: bool = False) -> list[bytes]:
    """Return the JSON of each call of a message whose JSON is `text`, in OpenAI's form. Calls already in that form stay unchanged.

    `openai` means that all of them are known to be.
    """
    raw_calls = _decode_calls(text).tool_calls
    if not raw_calls or len(raw_calls) != len(message.calls):  # the legacy function_call
        return [call_text(call) for call in message.calls]
    return [bytes(raw) if openai or _is_openai(raw) else call_text(call) for call, raw in zip(message.calls, raw_calls, strict=True)]


def _is_openai(call: Raw) -> bool:
    try:
        _decode_openai_call(call)
    except msgspec.MsgspecError:
        return False
    return True


def replace_calls(text: Text, calls: Sequence[Text]) -> bytes:
    """Return the JSON of a message with these calls instead of its own. Without calls, it has no `tool_calls` key."""
    fields = _decode_fields(text)
    fields.pop("function_call", None)
    fields.pop("tool_calls", None)
    if calls:
        fields["tool_calls"] = Raw(b"[" + b",".join(calls) + b"]")
    return _encode(fields)


def content_text(content: Any) -> str:
    """Return the content of a message as text. Parts are joined by line breaks; a part without text is shown as `[image_url]`."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part_text(part) for part in content)
    return dump(content)


def explain_validation_error(error: str, prefix: str = "") -> str:
    """Return msgspec's message about a field as `FIELD: expected X, got Y` or `FIELD: KEY is missing`.

    Without a prefix, a message about the value as a whole has no field.
    """
    if found := _EXPECTED.search(error):
        expected, got, path = found.groups()
        field = _field_name(prefix, path)
        of = " of calls" if field.endswith("tool_calls") else " of messages" if field.endswith("messages") else ""
        problem = f"expected {_EXPECTED_TYPES.get(expected, expected)}{of}, got {_FOUND_TYPES.get(got, got)}"
    elif missing := _MISSING.search(error):
        field, problem = _field_name(prefix, missing[2]), f"{missing[1]} is missing"
    elif placed := _PLACED.fullmatch(error):
        field, problem = _field_name(prefix, placed[2]), placed[1].lower()
    else:
        field, problem = prefix, error
    return f"{field}: {problem}" if field else problem


def _field_name(prefix: str, path: str | None) -> str:
    return f"{prefix}{path}" if path and path.startswith("[") else ".".join(part for part in (prefix, path or "") if part)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        if isinstance(part.get("type"), str) and part["type"] in _ANTHROPIC_PARTS:
            raise BadInput(f"a message has a content part of type {part['type']!r}, which is Anthropic's format", "Pass --from anthropic.")
        for key in ("text", "content", "refusal"):
            if isinstance(part.get(key), str):
                return str(part[key])
        return f"[{part.get('type', 'part')}]"
    return dump(part)
