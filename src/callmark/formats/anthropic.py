"""Anthropic's messages: `{"system": "…", "messages": [{"role", "content"}], "tools": [{"name", "description", "input_schema"}]}`.

    content      text, or a list of blocks: text, tool_use {id, name, input}, tool_result {tool_use_id, content, is_error}, thinking, …
    a message    of several results and a text becomes several messages in OpenAI's form, in their order
    system       text, or text blocks: a message each

Thinking is kept as `thinking_blocks` of the message, `is_error` as a key of the result; other blocks stay parts of the content.

Written so that nothing is lost. Ids that are missing are made up (`toolu_00001`). A malformed call has its text for an `input`. A key that
Anthropic's form does not know stands where it can: in the result's block, else in the message; of the prompts that the row begins with, in
their block, `role` too for one that is not system's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import RESULT_ROLES, call_text, field_problem, read_messages
from callmark.calls.shapes import read_call_text
from callmark.calls.strict import dump, scrub
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.anthropic_tools import anthropic_tools, openai_tools
from callmark.formats.besides import Besides, besides
from callmark.formats.call_ids import with_ids
from callmark.formats.dialect import Dialect, Reading, check_text, row_id
from callmark.types import Call, Case, Conversation, Message, Original, Place

Fields = dict[str, Any]

_MADE_UP = "id_made_up"  # of a block whose id would join a result to another call than its own: it is no id when it is read
_KEYS = {"tool_use_id": "tool_call_id"}
_PROMPTS = frozenset({"system", "developer"})
_OF_TEXT = frozenset({"type", "text", "cache_control", "citations"})
_BLOCK = re.compile(rb'"type"\s*:\s*"(?:tool_use|tool_result|thinking|redacted_thinking)"')


class _Row(Struct):
    messages: list[dict[str, Raw]]
    system: str | list[dict[str, Raw]] | None = None
    tools: Raw = Raw(b"")
    id: Any = None


class _Look(Struct):
    """What tells a message of OpenAI's from one of Anthropic's."""

    role: Any = None
    content: Raw = Raw(b"")
    tool_calls: Raw = Raw(b"")
    function_call: Raw = Raw(b"")
    tool_call_id: Raw = Raw(b"")

    @property
    def is_openai(self) -> bool:
        return self.role in ("tool", "function") or any(map(bytes, (self.tool_calls, self.function_call, self.tool_call_id)))


_decode = msgspec.json.Decoder(_Row).decode
_decode_look = msgspec.json.Decoder(list[_Look]).decode
_decode_blocks = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


def read(row: bytes, place: Place, reading: Reading) -> Conversation:
    """The conversation of a row, its messages turned into OpenAI's form."""
    check_text(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(field_problem(str(error))) from None
    fields = [*_prompts(wire.system), *(message for index, turn in enumerate(wire.messages) for message in _messages(turn, index))]
    texts = [_encode(message) for message in fields]
    messages = read_messages(b"[" + b",".join(texts) + b"]")
    raw_tools, tools = reading.tools(openai_tools(bytes(wire.tools)))
    return Conversation(row_id(wire.id, place), messages, tools, place, Original(messages, tools, row, b"", texts, raw_tools))


def write(conversation: Conversation) -> bytes:
    """One line in this dialect; no call, id or result is lost. A case, whose expected calls it could not hold, raises `BadInput`."""
    if isinstance(conversation, Case):
        raise BadInput(f"{conversation.id} is a case: Anthropic's form has no place for what is expected")
    found = with_ids(conversation.messages, "toolu_{:05d}")
    said = list(zip(conversation.messages, found.messages, besides(conversation), strict=True))
    prompts = _leading_prompts(conversation.messages, [more for _, _, more in said])
    turns: list[Fields] = []
    results: list[Fields] | None = None  # of the last turn, where a result or what the user says to it can be added
    for index, (stood, message, more) in enumerate(said[len(prompts) :], len(prompts)):
        made_up = stood if not found.told_apart else message
        if message.role in RESULT_ROLES:
            block = _result_block(message, more, made_up=made_up.tool_call_id is None, where=f"{conversation.id}: messages[{index}]")
            if results is None:
                results = []
                turns.append({"role": "user", "content": results})
            results.append(block)
        else:
            turn = _turn(message, more, made_up)
            if results is not None and turn.keys() == {"role", "content"} and message.role == "user" and not message.calls:
                content = turn["content"]
                results += content if isinstance(content, list) else [{"type": "text", "text": content}]
            else:
                turns.append(turn)
            results = None
    fields: Fields = {"id": conversation.id}
    if prompts:
        plain = len(prompts) == 1 and prompts[0].keys() == {"type", "text"} and prompts[0]["text"].__class__ is str and prompts[0]["text"]
        fields["system"] = plain or prompts
    fields["messages"] = turns
    if conversation.tools:
        fields["tools"] = Raw(anthropic_tools(tools_text(conversation)))
    return _encode(fields)


def _prompts(system: str | list[dict[str, Raw]] | None) -> Iterator[Fields]:
    if isinstance(system, str):
        if system:
            yield {"role": "system", "content": system}
        return
    for index, block in enumerate(system or ()):
        if _kind(block, f"system[{index}]") != "text":
            yield {"role": "system", "content": [block]}
            continue
        part = {key: value for key, value in block.items() if key in _OF_TEXT}
        more = {key: value for key, value in block.items() if key not in _OF_TEXT}
        yield {"role": "system", "content": _content([part]), **more}


def _messages(turn: dict[str, Raw], index: int) -> list[Fields]:
    """The messages that one of Anthropic's stands for: its results, and what stands before, between and after them."""
    where = f"messages[{index}]"
    role = turn.get("role")
    if role is None:
        raise BadInput(f"{where} has no role")
    if "tool_calls" in turn or "function_call" in turn or bytes(role) in (b'"tool"', b'"function"'):
        raise BadInput(f"{where} is in OpenAI's form, Anthropic's was expected", "--from openai reads it.")
    content = bytes(turn.get("content", b"null"))
    made: list[Fields] = []
    if content.startswith(b"["):
        try:
            blocks = _decode_blocks(content)
        except msgspec.ValidationError as error:
            raise BadInput(field_problem(str(error), f"{where}.content")) from None
        run: list[tuple[str, dict[str, Raw]]] = []
        for number, block in enumerate(blocks):
            kind = _kind(block, f"{where}.content[{number}]")
            if kind != "tool_result":
                run.append((kind, block))
                continue
            if run:
                made.append(_said(role, run))
                run = []
            made.append(_result(block))
        if run or not made:
            made.append(_said(role, run))
    else:
        made.append({"role": role, "content": turn.get("content")})
    made[0] |= {_KEYS.get(key, key): value for key, value in turn.items() if key not in ("role", "content")}
    return made


def _said(role: Raw, run: Sequence[tuple[str, dict[str, Raw]]]) -> Fields:
    """What was said and called between two results."""
    calls = [_call(block) for kind, block in run if kind == "tool_use"]
    thinking = [block for kind, block in run if kind in ("thinking", "redacted_thinking")]
    parts = [block for kind, block in run if kind not in ("tool_use", "thinking", "redacted_thinking")]
    fields: Fields = {"role": role, "content": _content(parts) if parts else None if calls else ""}
    if calls:
        fields["tool_calls"] = calls
    if thinking:
        fields["thinking_blocks"] = thinking
    return fields


def _content(parts: Sequence[Mapping[str, Raw]]) -> Any:
    """The content that these blocks are: its text where it is nothing else, else the blocks as they stand."""
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts


def _call(block: dict[str, Raw]) -> Any:
    name, given = block.get("name"), bytes(block.get("input", b"null"))
    if name is None or not bytes(name).startswith(b'"'):
        return Raw(call_text(read_call_text(_encode(block))))
    arguments = "{}" if given == b"null" else Raw(given) if given.startswith(b'"') else given.decode()
    fields: Fields = {"type": "function", "function": {"name": name, "arguments": arguments}}
    if "id" in block and _MADE_UP not in block:
        fields = {"id": block["id"], **fields}
    return fields | {key: value for key, value in block.items() if key not in ("type", "id", "name", "input", _MADE_UP)}


def _result(block: dict[str, Raw]) -> Fields:
    content = block.get("content", Raw(b'""'))
    fields: Fields = {"role": "tool", "content": content if bytes(content) != b"null" else ""}
    if "tool_use_id" in block and _MADE_UP not in block:
        fields["tool_call_id"] = block["tool_use_id"]
    return fields | {key: value for key, value in block.items() if key not in ("type", "tool_use_id", "content", _MADE_UP)}


def _kind(block: Mapping[str, Raw], where: str) -> str:
    try:
        kind = _decode_text(block["type"])
    except (KeyError, msgspec.ValidationError):
        raise BadInput(f"{where} has no type") from None
    if kind == "text" and not bytes(block.get("text", b"")).startswith(b'"'):
        raise BadInput(f"{where} has no text")
    return kind


def _leading_prompts(messages: Sequence[Message], more: Sequence[Besides]) -> list[Fields]:
    """The blocks of the prompts that a conversation begins with, up to the first message that is none or is no single text."""
    blocks: list[Fields] = []
    for message, others in zip(messages, more, strict=True):
        parts = _parts(others)
        single = parts is None or (len(parts) == 1 and _is_text(parts[0]))
        if message.role not in _PROMPTS or message.calls or not single or others.keys() & _OF_TEXT:
            break
        block: Fields = {"type": "text", "text": scrub(message.text)} if parts is None else dict(parts[0])
        block |= {} if message.role == "system" else {"role": message.role}
        blocks.append(block | _beside(message, others))
    return blocks


def _turn(message: Message, more: Besides, stood: Message) -> Fields:
    """What was said and called, as a message of Anthropic's; `stood` is the message with the ids that it had."""
    parts = _parts(more)
    blocks: list[Any] = _decode_list(more["thinking_blocks"]) if bytes(more.get("thinking_blocks", b"")).startswith(b"[") else []
    thinks = bool(blocks)
    if parts is not None:
        blocks += parts
    elif message.text and (message.calls or thinks):
        blocks.append({"type": "text", "text": scrub(message.text)})
    blocks += [_use_block(call, made_up=before.id is None) for call, before in zip(message.calls, stood.calls, strict=True)]
    fields: Fields = {"role": message.role, "content": blocks if blocks or parts is not None else scrub(message.text)}
    beside = _beside(message, more)
    if thinks:
        del beside["thinking_blocks"]
    return fields | beside


def _use_block(call: Call, *, made_up: bool) -> Fields:
    given = call.text if call.malformed else Raw(dump(call.arguments).encode())
    block: Fields = {"type": "tool_use", "id": call.id, "name": call.name, "input": given}
    return {**block, _MADE_UP: True} if made_up else block


def _result_block(message: Message, more: Besides, *, made_up: bool, where: str) -> Fields:
    if message.calls:
        raise BadInput(f"{where} is a result that calls a tool, which Anthropic's form has no place for")
    parts = _parts(more)
    block: Fields = {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id,
        "content": parts if parts is not None else scrub(message.text),
    }
    beside = {key: value for key, value in _beside(message, more).items() if key != "tool_use_id"}
    if taken := beside.keys() & block.keys():
        raise BadInput(f"{where} has a key {min(taken)!r} of its own, which Anthropic's form has for something else")
    return block | beside | ({_MADE_UP: True} if made_up else {})


def _beside(message: Message, more: Besides) -> Fields:
    """The keys that stand beside what Anthropic's form has a place for."""
    fields: Fields = {key: value for key, value in more.items() if key != "content"}
    if message.name is not None:
        fields["name"] = message.name
    if message.tool_call_id is not None:
        fields["tool_use_id"] = message.tool_call_id
    return fields


def _parts(more: Besides) -> list[dict[str, Raw]] | None:
    """The parts of content that is more than text; None where it is text, or no list of parts."""
    if "content" not in more:
        return None
    try:
        return _decode_blocks(more["content"])
    except msgspec.ValidationError:
        return None


def _is_text(part: Mapping[str, Raw]) -> bool:
    return bytes(part.get("type", b"")) == b'"text"' and bytes(part.get("text", b"")).startswith(b'"')


def _recognises(fields: Mapping[str, Raw]) -> bool:
    """Rows of plain text without a system prompt are the same in OpenAI's form, and taken for it."""
    if "messages" not in fields or "expected_output" in fields:
        return False
    try:
        messages = _decode_look(fields["messages"])
    except msgspec.ValidationError:
        return False
    if any(message.is_openai for message in messages):
        return False
    if "system" in fields or b'"input_schema"' in bytes(fields.get("tools", b"")):
        return True
    return any(bytes(message.content).startswith(b"[") and _BLOCK.search(bytes(message.content)) for message in messages)


DIALECT = Dialect("anthropic", "Anthropic messages", _recognises, read, write)
