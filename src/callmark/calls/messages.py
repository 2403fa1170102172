"""Messages in OpenAI's form: JSON text to `Message`, `Message` to JSON text, and replacing the calls of a message.

Accepted are `tool_calls` (null means none), the legacy `function_call`, the keys that other programs use for calls, and content that is a
string, null, missing, a list of parts or any other JSON. `tool_calls` that is not a list raises `BadInput`, and so do an unknown role and
anything else that may hold calls; an item of `tool_calls` that is not a call is a malformed call.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec
from msgspec import Raw, Struct

from callmark.calls.call_containers import OTHER_CALL_KEYS, unknown_container, unread_containers
from callmark.calls.content_parts import content_text
from callmark.calls.shapes import PARALLEL, named_call, read_call_text, unwrap
from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.types import Call, Case, Conversation, Message, Text

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
ROLES: tuple[str, ...] = get_args(Role)
RESULT_ROLES = frozenset({"tool", "function"})

_ROLE_LIST = f"{', '.join(ROLES[:-1])} or {ROLES[-1]}"
_MAX_SHOWN = 60  # characters of a role or key in a message
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


class CommonMessage(Struct, gc=False, forbid_unknown_fields=True):
    """A decoded message with a known role, known keys, and calls in the most common shape."""

    role: Role
    content: Any = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    refusal: Any = None
    function_call: Raw = ABSENT
    weight: Raw = ABSENT
    audio: Raw = ABSENT
    annotations: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    reasoning: Raw = ABSENT
    thinking: Raw = ABSENT
    thinking_blocks: Raw = ABSENT
    is_error: Raw = ABSENT


class _AnyMessage(Struct, gc=False):
    """A decoded message with calls of any shape."""

    role: str
    content: Any = None
    tool_calls: list[Raw] | None = None
    tool_call_id: str | int | None = None
    name: str | None = None
    refusal: Any = None
    function_call: Raw = ABSENT


class _Calls(Struct):
    tool_calls: list[Raw] | None = None


class _OpenaiCall(Struct):
    function: Raw


class _Body(Struct):
    messages: list[Raw]


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_common = msgspec.json.Decoder(list[CommonMessage]).decode
_decode_any = msgspec.json.Decoder(list[_AnyMessage]).decode
_decode_all_fields = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_openai_call = msgspec.json.Decoder(_OpenaiCall).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
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


def read_messages(text: bytes | Raw, field: str = "messages") -> tuple[Message, ...]:
    """Return the messages of a JSON list. A field of the wrong type, an unknown role, and a key or content part that may hold calls but is
    not known raise `BadInput` that names it; `field` is the name of the list.
    """
    try:
        return build_messages(_decode_common(text), field)
    except msgspec.ValidationError:
        return read_any_messages(text, field)


def build_messages(wires: Sequence[CommonMessage], field: str = "messages") -> tuple[Message, ...]:
    """Return the messages of decoded structs."""
    try:
        return tuple(
            [
                Message(wire.role, wire.content, (), wire.tool_call_id, wire.name)
                if wire.tool_calls is None and wire.content.__class__ is str and wire.function_call is ABSENT
                else _build_message(wire)
                for wire in wires
            ]
        )
    except BadInput:  # a content part: named in the second attempt, so that the first need not count
        return tuple([_build_located(wire, f"{field}[{index}]") for index, wire in enumerate(wires)])


def read_any_messages(text: bytes | Raw, field: str = "messages") -> tuple[Message, ...]:
    """Return the messages of a JSON list like `read_messages`, which is faster for the most common shape."""
    try:
        wires = _decode_any(text)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), field)) from None
    messages: list[Message] = []
    for index, (wire, fields) in enumerate(zip(wires, _decode_all_fields(text), strict=True)):
        where = f"{field}[{index}]"
        if wire.role not in ROLES:
            raise BadInput(
                f"{where}.role: unknown role {scrub(wire.role)[:_MAX_SHOWN]!r}, expected {_ROLE_LIST}",
                "If the file is in another format, pass --from FORMAT.",
            )
        message = _build_located(wire, where)
        if wire.role not in RESULT_ROLES and (keys := unread_containers(fields)):
            message = _with_calls(message, fields, keys, where)
        messages.append(message)
    return tuple(messages)


def _build_located(wire: CommonMessage | _AnyMessage, where: str) -> Message:
    try:
        return _build_message(wire)
    except BadInput as error:
        raise BadInput(f"{where}.content{error}", error.hint) from None


def _with_calls(message: Message, fields: Mapping[str, Raw], keys: Sequence[str], where: str) -> Message:
    """Return the message with the calls under keys that other programs use. Anything that is not a list of calls raises `BadInput`."""
    calls = message.calls
    for key in keys:
        found = _read_container(fields[key]) if key in OTHER_CALL_KEYS else ()
        if not found or (key != "invalid_tool_calls" and all(call.malformed for call in found)):
            raise unknown_container(f"{where}.{scrub(key)[:_MAX_SHOWN]}")
        if key == "invalid_tool_calls":
            calls = (*calls, *found)
        elif not calls:
            calls = found
        elif [(call.name, call.arguments) for call in calls] != [(call.name, call.arguments) for call in found]:
            raise BadInput(f"{where}.{key}: two different lists of calls", "Keep one of them, under tool_calls.")
    return Message(message.role, message.text, calls, message.tool_call_id, message.name)


def _read_container(raw: Raw) -> tuple[Call, ...]:
    """Return the calls of a list, an object or a JSON string of one; none for anything else."""
    text = bytes(raw)
    if text.startswith(b'"'):
        try:
            text = msgspec.json.decode(text, type=str).strip().encode()
            items = _decode_items(text if text.startswith(b"[") else b"[" + text + b"]")
        except (ValueError, RecursionError):
            return ()
    else:
        items = _decode_items(text) if text.startswith(b"[") else [raw]
    return unwrap(tuple([read_call_text(bytes(item)) for item in items]))


def _build_message(wire: CommonMessage | _AnyMessage) -> Message:
    calls: tuple[Call, ...] = ()
    given = wire.tool_calls
    if given:
        first = given[0]
        if len(given) == 1 and isinstance(first, _Call):  # almost always
            calls = (named_call(first.function.name, first.function.arguments, first.id),)
            if calls[0].name == PARALLEL:
                calls = unwrap(calls)
        else:
            calls = unwrap(tuple([_build_call(call) for call in given]))
    if wire.function_call is not ABSENT and (text := bytes(wire.function_call)) != b"null":
        calls = (*calls, *unwrap((read_call_text(text),)))
    content = wire.content if wire.content is not None else wire.refusal
    if content.__class__ is not str:
        content = "" if content is None else content_text(content, is_result=wire.role in RESULT_ROLES)
    call_id = wire.tool_call_id
    return Message(
        wire.role,
        content,
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


def plain_texts(text: bytes | Raw, messages: Sequence[Message]) -> Sequence[Text]:
    """Return the JSON of each message of a list, with calls under `tool_calls` only; empty if that is how all of them are written."""
    if not any(key.encode() in bytes(text) for key in OTHER_CALL_KEYS):
        return ()
    found = _decode_all_fields(text)
    if not any(unread_containers(fields) for fields, message in zip(found, messages, strict=True) if message.calls):
        return ()
    return [
        replace_calls(_encode(fields), [call_text(call) for call in message.calls]) if message.calls else _encode(fields)
        for fields, message in zip(found, messages, strict=True)
    ]


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
    for key in ("function_call", "tool_calls", *OTHER_CALL_KEYS):
        fields.pop(key, None)
    if calls:
        fields["tool_calls"] = Raw(b"[" + b",".join(calls) + b"]")
    return _encode(fields)


def explain_validation_error(error: str, prefix: str = "") -> str:
    """Return msgspec's message about a field as `FIELD: expected X, got Y` or `FIELD: missing key 'KEY'`.

    Without a prefix, a message about the value as a whole has no field.
    """
    if found := _EXPECTED.search(error):
        expected, got, path = found.groups()
        field = _field_name(prefix, path)
        of = " of calls" if field.endswith("tool_calls") else " of messages" if field.endswith("messages") else ""
        problem = f"expected {_EXPECTED_TYPES.get(expected, expected)}{of}, got {_FOUND_TYPES.get(got, got)}"
    elif missing := _MISSING.search(error):
        field, problem = _field_name(prefix, missing[2]), f"missing key {missing[1]!r}"
    elif placed := _PLACED.fullmatch(error):
        field, problem = _field_name(prefix, placed[2]), placed[1].lower()
    else:
        field, problem = prefix, error
    return f"{field}: {problem}" if field else problem


def _field_name(prefix: str, path: str | None) -> str:
    return f"{prefix}{path}" if path and path.startswith("[") else ".".join(part for part in (prefix, path or "") if part)
