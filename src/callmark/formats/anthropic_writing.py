"""Write conversations in the Anthropic format without losing anything.

Missing ids are generated (`toolu_00001`). The `input` of a malformed call is its text. Keys unknown to the format are written to the block
of a result, to the message otherwise, and for the leading system prompts to their block (with `role` if the role is not system). Content
with parts that cannot be written as blocks raises `BadInput`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import RESULT_ROLES
from callmark.calls.strict import dump, scrub
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.anthropic_blocks import GENERATED_ID, TEXT_BLOCK_KEYS, THINKING_TYPES, Fields, block_type, is_block_type, text_block
from callmark.formats.anthropic_tools import anthropic_tools
from callmark.formats.call_ids import with_ids
from callmark.formats.extra_fields import ExtraFields, extra_fields
from callmark.types import Call, Case, Conversation, Message

_PROMPT_ROLES = frozenset({"system", "developer"})
_TEXT = frozenset({"text"})
_TEXT_TYPE = Raw(b'"text"')

_decode_blocks = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


class _SourceMessage(Struct, frozen=True):
    """A message as read, the same message with all ids, its content blocks (None if the content is plain text), and the keys that the
    Anthropic format has no place for.
    """

    original: Message
    message: Message
    parts: list[Fields] | None
    extra: Fields
    where: str


def write(conversation: Conversation) -> bytes:
    """Return one line in this format; no call, id or result is lost. A case raises `BadInput`: the format cannot hold expected calls."""
    if isinstance(conversation, Case):
        raise BadInput(f"{conversation.id}: a case cannot be written in the Anthropic format, which has no field for expected calls")
    found = with_ids(conversation.messages, "toolu_{:05d}")
    originals = conversation.messages if not found.unambiguous else found.messages
    sources = [
        _source_message(original, message, extra, f"{conversation.id}: messages[{index}]")
        for index, (original, message, extra) in enumerate(zip(originals, found.messages, extra_fields(conversation), strict=True))
    ]
    prompts = _leading_prompts(sources)
    turns: list[Fields] = []
    results: list[Fields] | None = None  # of the last turn, to which a result or user text can be appended
    for source in sources[len(prompts) :]:
        if source.message.role in RESULT_ROLES:
            if results is None:
                results = []
                turns.append({"role": "user", "content": results})
            results.append(_result_block(source))
            continue
        turn = _write_turn(source)
        if results is not None and turn.keys() == {"role", "content"} and source.message.role == "user" and not source.message.calls:
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


def _source_message(original: Message, message: Message, fields: ExtraFields, where: str) -> _SourceMessage:
    extra: Fields = {key: value for key, value in fields.items() if key != "content"}
    if "tool_use_id" in extra:
        raise BadInput(f"{where}: the key 'tool_use_id' is reserved in the Anthropic format")
    if message.name is not None:
        extra["name"] = message.name
    if message.tool_call_id is not None and message.role not in RESULT_ROLES:
        extra["tool_use_id"] = message.tool_call_id
    return _SourceMessage(original, message, _parts(bytes(fields.get("content", b"")), where), extra, where)


def _parts(content: bytes, where: str) -> list[Fields] | None:
    """Return a content list as blocks; None if the content is plain text. A part that cannot be a block raises `BadInput`."""
    if not content.startswith(b"["):
        return None
    blocks: list[Fields] = []
    for index, part in enumerate(_decode_list(content)):
        if bytes(part).startswith(b'"'):
            blocks.append({"type": _TEXT_TYPE, "text": part})
            continue
        if not bytes(part).startswith(b"{"):
            raise BadInput(f"{where}.content[{index}]: the Anthropic format expects a string or an object, got {bytes(part).decode()[:40]}")
        block: Fields = _decode_fields(part)
        if "type" not in block and bytes(block.get("text", b"")).startswith(b'"'):
            block = {"type": _TEXT_TYPE, **block}
        block_type(block, f"{where}.content[{index}]")
        blocks.append(block)
    return blocks


def _leading_prompts(sources: Sequence[_SourceMessage]) -> list[Fields]:
    """Return the blocks of the leading system prompts, up to the first message that is not a prompt with a single text."""
    blocks: list[Fields] = []
    for source in sources:
        message, parts = source.message, source.parts
        single = parts is None or (len(parts) == 1 and is_block_type(parts[0], _TEXT))
        if message.role not in _PROMPT_ROLES or message.calls or not single or source.extra.keys() & TEXT_BLOCK_KEYS:
            break
        block = text_block(scrub(message.text)) if parts is None else dict(parts[0])
        blocks.append(block | ({} if message.role == "system" else {"role": message.role}) | source.extra)
    return blocks


def _write_turn(source: _SourceMessage) -> Fields:
    """Return an Anthropic message with the text and calls."""
    message = source.message
    blocks: list[Any] = list(_thinking_blocks(source.extra))
    extra = {key: value for key, value in source.extra.items() if key != "thinking_blocks"} if blocks else source.extra
    if source.parts is not None:
        blocks += source.parts
    elif message.text and (message.calls or blocks):
        blocks.append(text_block(scrub(message.text)))
    blocks += [_use_block(call, generated=original.id is None) for call, original in zip(message.calls, source.original.calls, strict=True)]
    return {"role": message.role, "content": blocks if blocks or source.parts is not None else scrub(message.text), **extra}


def _thinking_blocks(extra: Mapping[str, Any]) -> list[dict[str, Raw]]:
    """Return `thinking_blocks` if it only holds thinking blocks; otherwise none, and it stays a key of the message."""
    if "thinking_blocks" not in extra:
        return []
    try:
        blocks = _decode_blocks(extra["thinking_blocks"])
    except msgspec.ValidationError:
        return []
    return blocks if all(is_block_type(block, THINKING_TYPES) for block in blocks) else []


def _use_block(call: Call, *, generated: bool) -> Fields:
    given = call.text if call.malformed else Raw(dump(call.arguments).encode())
    block: Fields = {"type": "tool_use", "id": call.id, "name": call.name, "input": given}
    return {**block, GENERATED_ID: True} if generated else block


def _result_block(source: _SourceMessage) -> Fields:
    message = source.message
    if message.calls:
        raise BadInput(f"{source.where}: a tool result with tool calls cannot be written in the Anthropic format")
    block: Fields = {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id,
        "content": source.parts if source.parts is not None else scrub(message.text),
    }
    if taken := source.extra.keys() & {*block, GENERATED_ID}:
        raise BadInput(f"{source.where}: the key {min(taken)!r} is reserved in the Anthropic format")
    return block | source.extra | ({GENERATED_ID: True} if source.original.tool_call_id is None else {})
