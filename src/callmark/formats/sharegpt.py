"""The ShareGPT format with Hermes tool calls: `{"conversations": [{"from", "value"}], "tools": …}`.

    gpt     text and any number of <tool_call>{"name", "arguments"}</tool_call>; function_call turns contain only the JSON
    tool    any number of <tool_response>{"name", "content"}</tool_response>, or plain text (`observation`, `function`)
    system  may contain <tools>…</tools>, which is used if the row has no `tools` (a list, or a JSON string of one)

Invalid content of <tool_call> is a malformed call, and so is an unclosed tag. Other keys of a turn become keys of the message.
Writing loses nothing: ids are written next to name and arguments, `<` inside the JSON is escaped, and tags in the assistant's text get a
backslash. Extra fields of a message (`is_error` of a result, the name of a user, `content` that is more than text) are written next to
`from` and `value`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import RESULT_ROLES, call_text, read_messages
from callmark.calls.shapes import CALL_LEVELS, read_call
from callmark.calls.strict import DEEPEST, NotStrict, dump, parse, scrub
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.extra_fields import ExtraFields, extra_fields
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.types import Call, Case, Conversation, Message, Place, SourceRow, Tool

_ROLES = {
    "human": "user",
    "user": "user",
    "system": "system",
    "developer": "developer",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
    "function_call": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
    "ipython": "tool",
}
_SPEAKERS = {"user": "human", "assistant": "gpt", "function": "tool"}
_OPEN = re.compile(r"<tool_call>\s*+")
_CLOSED = re.compile(r"\s*+</tool_call>")
_CLOSE = re.compile(r"</tool_call>")
_raw_decode = json.JSONDecoder(strict=False, parse_int=str, parse_float=str).raw_decode  # used only to find where a value ends
_RESPONSE = re.compile(r"<tool_response>(.*?)(?:</tool_response>|\Z)", re.DOTALL)
_NAME = re.compile(r"""["']name["']\s*:\s*["']([^"'\\]+)["']""")
_TAG = re.compile(r"<(\\*)(/?tool_call>)")
_LONGEST_LITERAL = 100_000
_ROW_KEYS = frozenset({"id", "conversations", "tools", "system"})
_OWN_KEYS = frozenset({"from", "value", "role", "content"})
_CALL_KEYS = frozenset({"tool_calls", "function_call"})


class _Turn(Struct):
    speaker: str | None = msgspec.field(name="from", default=None)
    value: Any = None
    role: str | None = None
    content: Any = None


class _PlainTurn(_Turn, forbid_unknown_fields=True):
    """A turn without extra fields, the common case."""


class _Row(Struct):
    conversations: Raw
    tools: Raw = Raw(b"")
    system: str | None = None
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode
_decode_plain = msgspec.json.Decoder(list[_PlainTurn]).decode
_decode_turns = msgspec.json.Decoder(list[_Turn]).decode
_decode_fields = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_encode = msgspec.json.Encoder().encode


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its messages converted to the OpenAI format."""
    check_utf8(row)
    wire = _decode(row)
    turns, extra = _decode_all_turns(wire.conversations)
    if turns and all(turn.role is not None and turn.speaker is None for turn in turns):
        return _read_openai_turns(wire, place, row, context)
    fields: list[dict[str, Any]] = [{"role": "system", "content": wire.system}] if wire.system else []
    for index, (turn, extra_of_turn) in enumerate(zip(turns, extra, strict=True)):
        speaker = turn.speaker or turn.role
        if speaker is None:
            raise BadInput(f"conversations[{index}]: missing key 'from'")
        value = turn.value if turn.value is not None else turn.content
        text = value if isinstance(value, str) else "" if value is None else dump(value)
        messages = read_turn(speaker, text, f"conversations[{index}].{'from' if turn.speaker else 'role'}")
        if extra_of_turn.keys() & _CALL_KEYS and any("tool_calls" in message for message in messages):
            raise BadInput(
                f"conversations[{index}]: calls in both the text and {min(extra_of_turn.keys() & _CALL_KEYS)}, expected only one of them"
            )
        messages[0] |= extra_of_turn
        if turn.value is not None and isinstance(turn.content, list):
            messages[0]["content"] = turn.content
        fields += messages
    texts = [_encode(message) for message in fields]
    messages_read = read_messages(b"[" + b",".join(texts) + b"]")
    raw_tools, tools = context.read_tools(bytes(wire.tools))
    if not tools:
        raw_tools, tools = read_system_tools(messages_read, context)
    return Conversation(row_id(wire.id, place), messages_read, tools, place, SourceRow(messages_read, tools, row, b"", texts, raw_tools))


def _decode_all_turns(text: Raw) -> tuple[Sequence[_Turn], Sequence[ExtraFields]]:
    """Return the turns and the extra fields of each."""
    try:
        plain = _decode_plain(text)
        return plain, [{}] * len(plain)
    except msgspec.ValidationError:
        pass
    extra_fields = [{key: value for key, value in turn.items() if key not in _OWN_KEYS} for turn in _decode_fields(text)]
    return _decode_turns(text), extra_fields


def _read_openai_turns(wire: _Row, place: Place, row: bytes, context: ReadContext) -> Conversation:
    """Return the conversation if the turns are OpenAI messages."""
    messages = read_messages(wire.conversations)
    raw_tools, tools = context.read_tools(bytes(wire.tools))
    body = b'{"messages":' + bytes(wire.conversations) + b"}"
    return Conversation(row_id(wire.id, place), messages, tools, place, SourceRow(messages, tools, row, body, (), raw_tools))


def write(conversation: Conversation) -> bytes:
    """Return one line in this format; no call, id or result is lost. A case raises `BadInput`: the format cannot hold expected calls."""
    if isinstance(conversation, Case):
        raise BadInput(f"{conversation.id}: a case cannot be written in the ShareGPT format, which has no field for expected calls")
    for index, message in enumerate(conversation.messages):
        if message.calls and message.role != "assistant":
            raise BadInput(
                f"{conversation.id}: messages[{index}]: tool calls in a {message.role} message;"
                " ShareGPT allows them only in assistant messages"
            )
        if message.role not in _SPEAKERS and _ROLES.get(message.role.lower(), message.role or None) != message.role:
            raise BadInput(f"{conversation.id}: messages[{index}].role: {message.role!r} has a different meaning in ShareGPT")
    turns: list[dict[str, Any]] = []
    for index, (message, extra_of_turn) in enumerate(zip(conversation.messages, extra_fields(conversation), strict=True)):
        extra = _turn_extra(message, extra_of_turn)
        if taken := extra.keys() & {"from", "value"}:
            raise BadInput(f"{conversation.id}: messages[{index}]: the key {min(taken)!r} is reserved in the ShareGPT format")
        turns.append({"from": _SPEAKERS.get(message.role, message.role), "value": _message_value(message), **extra})
    fields: dict[str, Any] = {"id": conversation.id, "conversations": turns}
    if conversation.tools:
        fields["tools"] = Raw(tools_text(conversation))
    return _encode(fields)


def read_turn(speaker: str, value: str, field: str) -> list[dict[str, Any]]:
    """Return the messages of a turn: several for several results. An unknown speaker raises `BadInput` that names the field."""
    role = _ROLES.get(speaker.lower())
    if role is None:
        raise BadInput(f"{field}: unknown speaker {scrub(speaker[:40])!r}, expected one of {', '.join(_ROLES)}")
    if speaker.lower() == "function_call":
        return [{"role": role, "content": None, "tool_calls": _read_calls(value)}]
    if role == "assistant" and "<tool_call>" in value:
        insides, outside = _split_tags(value)
        calls = [call for inside in insides for call in _read_calls(inside)]
        text = _TAG.sub(_unescape_tag, outside.strip())
        return [{"role": role, "content": text or None, "tool_calls": calls}]
    if role == "assistant":
        return [{"role": role, "content": _TAG.sub(_unescape_tag, value)}]
    if role in RESULT_ROLES:
        inside = _RESPONSE.findall(value)
        if not inside or _RESPONSE.sub("", value).strip():  # with text outside the tags, the whole value is the result
            return [{"role": "tool", "content": value}]
        return [_read_result(text) for text in inside]
    return [{"role": role, "content": value}]


def _split_tags(value: str) -> tuple[list[str], str]:
    """Return what is inside each pair of <tool_call> tags, and the text outside of them. A tag in a string of a call's JSON is not one."""
    insides: list[str] = []
    outside: list[str] = []
    at = 0
    while opening := _OPEN.search(value, at):
        outside.append(value[at : opening.start()])
        start = opening.end()
        end = _json_end(value, start)
        closing = _CLOSED.match(value, end) if end is not None else None
        closing = closing or _CLOSE.search(value, start)
        stop = closing.start() if closing else len(value)
        insides.append(value[start:stop])
        at = closing.end() if closing else len(value)
    return insides, "".join([*outside, value[at:]])


def _json_end(text: str, start: int) -> int | None:
    """Return where the JSON value at `start` ends; None if there is none."""
    try:
        return int(_raw_decode(text, start)[1])
    except (ValueError, RecursionError):
        return None


def _read_calls(text: str) -> list[Raw]:
    """Return the calls between the tags in the OpenAI format; text that is not a call becomes a malformed call."""
    value = _parse_literal(text, deepest=DEEPEST + CALL_LEVELS)
    if value is None:
        name = _NAME.search(text)
        return [Raw(call_text(read_call({"name": name[1] if name else "", "arguments": text.strip()})))]
    return [Raw(call_text(read_call(item))) for item in (value if isinstance(value, list) and value else [value])]


def _parse_literal(text: str, *, deepest: int = DEEPEST) -> Any:
    """Parse JSON, or a Python literal, which some files contain instead; None if it is neither."""
    try:
        return parse(text, deepest=deepest)
    except NotStrict:
        pass
    if len(text) > _LONGEST_LITERAL:
        return None
    import ast

    try:
        value = ast.literal_eval(text.strip())
        return value if parse(dump(value)) == value else None  # JSON has no infinity, bytes or sets
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _read_result(inside: str) -> dict[str, Any]:
    value = _parse_literal(inside)
    if not isinstance(value, dict) or "content" not in value:
        return {"role": "tool", "content": inside.strip()}
    content = value["content"]
    message = {"role": "tool", "content": content if isinstance(content, str) else dump(content)}
    message |= {key: value[key] for key in ("tool_call_id", "name") if isinstance(value.get(key), str)}
    return message


def read_system_tools(messages: tuple[Message, ...], context: ReadContext) -> tuple[bytes, tuple[Tool, ...]]:
    """Return the tools in the first <tools> tags of a system prompt that contain any; a prompt may merely mention the tags."""
    for message in messages:
        if message.role == "system":
            start = message.text.find("<tools>")
            while start >= 0 and (end := message.text.find("</tools>", start)) >= 0:
                inside = message.text[start + len("<tools>") : end]
                value = _parse_literal(inside)
                if value is None:  # one per line
                    value = [_parse_literal(line) for line in inside.splitlines() if line.strip()]
                try:
                    raw_tools, tools = context.read_tools(_encode(value if isinstance(value, list) else [value]))
                    if value:
                        return raw_tools, tools
                except BadInput:
                    pass
                start = message.text.find("<tools>", end)
    return context.default_tools


def _message_value(message: Message) -> str:
    if message.role in RESULT_ROLES:
        fields = {"tool_call_id": message.tool_call_id, "name": message.name, "content": scrub(message.text)}
        return f"<tool_response>\n{_tag_json({key: value for key, value in fields.items() if value is not None})}\n</tool_response>"
    if message.role != "assistant":
        return scrub(message.text)
    blocks = [f"<tool_call>\n{_tag_json(_call_fields(call))}\n</tool_call>" for call in message.calls]
    text = _TAG.sub(r"<\\\1\2", scrub(message.text))
    return "\n".join([text, *blocks] if text else blocks)


def _turn_extra(message: Message, extra_of_turn: ExtraFields) -> dict[str, Any]:
    """Return the fields to write next to the value: those it cannot hold, and text that would lose its surrounding whitespace."""
    fields: dict[str, Any] = dict(extra_of_turn)
    if message.role not in RESULT_ROLES:
        given = {"name": message.name, "tool_call_id": message.tool_call_id}
        fields |= {key: value for key, value in given.items() if value is not None}
    if message.calls and message.text != message.text.strip() and "content" not in fields:
        fields["content"] = [{"type": "text", "text": scrub(message.text)}]
    return fields


def _call_fields(call: Call) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": call.name, "arguments": call.text if call.malformed else call.arguments}
    return fields if call.id is None else {"id": call.id, **fields}


def _tag_json(fields: dict[str, Any]) -> str:
    return dump(fields).replace("<", "\\u003c")


def _unescape_tag(tag: re.Match[str]) -> str:
    return f"<{tag[1][1:]}{tag[2]}"


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: medium for rows with `conversations`."""
    return 0.5 if "conversations" in fields else 0.0


FORMAT = Format("sharegpt", "ShareGPT", detect, read, write, leftover_keys=leftover_keys(_ROW_KEYS))
