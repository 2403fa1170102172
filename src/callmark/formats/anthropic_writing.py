"""Conversations in Anthropic's form, so that nothing is lost.

Ids that are missing are made up (`toolu_00001`). A malformed call has its text for an `input`. A key that Anthropic's form does not know
stands where it can: in the result's block, else in the message; of the prompts that the row begins with, in their block, `role` too for
one that is not system's. Content that has parts which could be no blocks is refused.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import RESULT_ROLES
from callmark.calls.strict import dump, scrub
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.anthropic_blocks import MADE_UP, OF_TEXT, THOUGHTS, Fields, is_kind, kind_of, text_block
from callmark.formats.anthropic_tools import anthropic_tools
from callmark.formats.call_ids import with_ids
from callmark.formats.extra_fields import Besides, besides
from callmark.types import Call, Case, Conversation, Message

_PROMPTS = frozenset({"system", "developer"})
_TEXT = frozenset({"text"})

_decode_blocks = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


class _Said(Struct, frozen=True):
    """A message, as it stood and with every id; the blocks of content that is more than text (None where it is not), and the keys that
    stand beside what Anthropic's form has a place for.
    """

    stood: Message
    message: Message
    parts: list[Fields] | None
    more: Fields
    where: str


def write(conversation: Conversation) -> bytes:
    """One line in this dialect; no call, id or result is lost. A case, whose expected calls it could not hold, raises `BadInput`."""
    if isinstance(conversation, Case):
        raise BadInput(f"{conversation.id} is a case: Anthropic's form has no place for what is expected")
    found = with_ids(conversation.messages, "toolu_{:05d}")
    stood = conversation.messages if not found.told_apart else found.messages
    said = [
        _said(before, message, more, f"{conversation.id}: messages[{index}]")
        for index, (before, message, more) in enumerate(zip(stood, found.messages, besides(conversation), strict=True))
    ]
    prompts = _leading_prompts(said)
    turns: list[Fields] = []
    results: list[Fields] | None = None  # of the last turn, where a result or what the user says to it can be added
    for one in said[len(prompts) :]:
        if one.message.role in RESULT_ROLES:
            if results is None:
                results = []
                turns.append({"role": "user", "content": results})
            results.append(_result_block(one))
            continue
        turn = _turn(one)
        if results is not None and turn.keys() == {"role", "content"} and one.message.role == "user" and not one.message.calls:
            content = turn["content"]
            results += content if isinstance(content, list) else [text_block(content)]
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


def _said(stood: Message, message: Message, besides: Besides, where: str) -> _Said:
    more: Fields = {key: value for key, value in besides.items() if key != "content"}
    if "tool_use_id" in more:
        raise BadInput(f"{where} has a key 'tool_use_id' of its own, which Anthropic's form has for something else")
    if message.name is not None:
        more["name"] = message.name
    if message.tool_call_id is not None and message.role not in RESULT_ROLES:
        more["tool_use_id"] = message.tool_call_id
    return _Said(stood, message, _parts(bytes(besides.get("content", b"")), where), more, where)


def _parts(content: bytes, where: str) -> list[Fields] | None:
    """Content as blocks; None where it is no list: then the message's text is all there is. A part that can be no block is refused."""
    if not content.startswith(b"["):
        return None
    blocks: list[Fields] = []
    for index, part in enumerate(_decode_list(content)):
        if bytes(part).startswith(b'"'):
            blocks.append(text_block(part))
            continue
        if not bytes(part).startswith(b"{"):
            raise BadInput(f"{where}.content[{index}] is neither a text nor an object, which Anthropic's form has no place for")
        block: Fields = _decode_fields(part)
        if "type" not in block and bytes(block.get("text", b"")).startswith(b'"'):
            block = {"type": Raw(b'"text"'), **block}
        kind_of(block, f"{where}.content[{index}]")
        blocks.append(block)
    return blocks


def _leading_prompts(said: Sequence[_Said]) -> list[Fields]:
    """The blocks of the prompts that a conversation begins with, up to the first message that is none or is no single text."""
    blocks: list[Fields] = []
    for one in said:
        single = one.parts is None or (len(one.parts) == 1 and is_kind(one.parts[0], _TEXT))
        if one.message.role not in _PROMPTS or one.message.calls or not single or one.more.keys() & OF_TEXT:
            break
        block = text_block(scrub(one.message.text)) if one.parts is None else dict(one.parts[0])
        blocks.append(block | ({} if one.message.role == "system" else {"role": one.message.role}) | one.more)
    return blocks


def _turn(said: _Said) -> Fields:
    """What was said and called, as a message of Anthropic's."""
    message = said.message
    blocks: list[Any] = list(_thoughts(said.more))
    more = {key: value for key, value in said.more.items() if key != "thinking_blocks"} if blocks else said.more
    if said.parts is not None:
        blocks += said.parts
    elif message.text and (message.calls or blocks):
        blocks.append(text_block(scrub(message.text)))
    blocks += [_use_block(call, made_up=before.id is None) for call, before in zip(message.calls, said.stood.calls, strict=True)]
    return {"role": message.role, "content": blocks if blocks or said.parts is not None else scrub(message.text), **more}


def _thoughts(more: Mapping[str, Any]) -> list[dict[str, Raw]]:
    """The blocks of `thinking_blocks`, where it has nothing else in it; else none, and it stays a key of the message."""
    if "thinking_blocks" not in more:
        return []
    try:
        blocks = _decode_blocks(more["thinking_blocks"])
    except msgspec.ValidationError:
        return []
    return blocks if all(is_kind(block, THOUGHTS) for block in blocks) else []


def _use_block(call: Call, *, made_up: bool) -> Fields:
    given = call.text if call.malformed else Raw(dump(call.arguments).encode())
    block: Fields = {"type": "tool_use", "id": call.id, "name": call.name, "input": given}
    return {**block, MADE_UP: True} if made_up else block


def _result_block(said: _Said) -> Fields:
    message = said.message
    if message.calls:
        raise BadInput(f"{said.where} is a result that calls a tool, which Anthropic's form has no place for")
    block: Fields = {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id,
        "content": said.parts if said.parts is not None else scrub(message.text),
    }
    if taken := said.more.keys() & {*block, MADE_UP}:
        raise BadInput(f"{said.where} has a key {min(taken)!r} of its own, which Anthropic's form has for something else")
    return block | said.more | ({MADE_UP: True} if said.stood.tool_call_id is None else {})
