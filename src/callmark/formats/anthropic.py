"""The Anthropic messages format: `{"system": "…", "messages": [{"role", "content"}], "tools": [{"name", "description", "input_schema"}]}`.

    content      text, or a list of blocks: text, tool_use {id, name, input}, tool_result {tool_use_id, content, is_error}, thinking, …
    a message    with several results and text becomes several messages in the OpenAI format, in order
    system       text, or text blocks: one message each

Thinking is kept as `thinking_blocks` of the message, `is_error` as a key of the result; other blocks remain parts of the content.
This module reads the format; `anthropic_writing` writes it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import call_text, explain_validation_error, read_messages
from callmark.calls.shapes import CALL_KEYS, read_call_text
from callmark.errors import BadInput
from callmark.formats.anthropic_blocks import GENERATED_ID, TEXT_BLOCK_KEYS, THINKING_TYPES, Fields, block_type
from callmark.formats.anthropic_tools import openai_tools
from callmark.formats.anthropic_writing import write
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.types import Conversation, Place, SourceRow

_ROW_KEYS = frozenset({"id", "messages", "tools", "system"})
_RENAMED_KEYS = {"tool_use_id": "tool_call_id"}
_CALL_BLOCK_KEYS = frozenset({"type", "id", "name", "input", GENERATED_ID})
_OTHER_CALL_KEYS = CALL_KEYS - _CALL_BLOCK_KEYS - {"function"}  # keys for names and arguments that Anthropic blocks do not use
_RESULT_BLOCK_KEYS = frozenset({"type", "tool_use_id", "content", GENERATED_ID})
_MESSAGE_KEYS = frozenset({"role", "content", "tool_calls", "function_call", "tool_call_id"})  # in the OpenAI format
_BLOCK = re.compile(rb'"type"\s*:\s*"(?:tool_use|tool_result|thinking|redacted_thinking)"')


class _Row(Struct):
    messages: list[dict[str, Raw]]
    system: str | list[dict[str, Raw]] | None = None
    tools: Raw = Raw(b"")
    id: Any = None


class _MessageSignature(Struct):
    """The fields that distinguish OpenAI messages from Anthropic messages."""

    role: Any = None
    content: Raw = Raw(b"")
    tool_calls: Raw = Raw(b"")
    function_call: Raw = Raw(b"")
    tool_call_id: Raw = Raw(b"")

    @property
    def is_openai(self) -> bool:
        """Whether the message can only be in the OpenAI format."""
        openai_fields = (self.tool_calls, self.function_call, self.tool_call_id)
        return self.role in ("tool", "function") or any(bytes(value) not in (b"", b"null") for value in openai_fields)


_decode = msgspec.json.Decoder(_Row).decode
_decode_signatures = msgspec.json.Decoder(list[_MessageSignature]).decode
_decode_blocks = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_encode = msgspec.json.Encoder().encode


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its messages converted to the OpenAI format."""
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    fields = [*_prompts(wire.system), *(message for index, turn in enumerate(wire.messages) for message in _read_turn(turn, index))]
    texts = [_encode(message) for message in fields]
    messages = read_messages(b"[" + b",".join(texts) + b"]")
    raw_tools, tools = context.read_tools(openai_tools(bytes(wire.tools)))
    return Conversation(row_id(wire.id, place), messages, tools, place, SourceRow(messages, tools, row, b"", texts, raw_tools))


def _prompts(system: str | list[dict[str, Raw]] | None) -> Iterator[Fields]:
    if isinstance(system, str):
        if system:
            yield {"role": "system", "content": system}
        return
    for index, block in enumerate(system or ()):
        where = f"system[{index}]"
        if block_type(block, where) != "text":
            yield {"role": "system", "content": [block]}
            continue
        part = {key: value for key, value in block.items() if key in TEXT_BLOCK_KEYS}
        yield {"role": block.get("role", "system"), "content": _content([part]), **_extra_keys(block, TEXT_BLOCK_KEYS | {"role"}, where)}


def _read_turn(turn: dict[str, Raw], index: int) -> list[Fields]:
    """Convert one Anthropic message: its results, and the text and calls before, between and after them."""
    where = f"messages[{index}]"
    role = turn.get("role")
    if role is None:
        raise BadInput(f"{where}: missing key 'role'")
    turn = _without_nulls(turn)
    if "tool_calls" in turn or "function_call" in turn or bytes(role) in (b'"tool"', b'"function"'):
        raise BadInput(f"{where}: expected an Anthropic message, got an OpenAI message", "Read the file with --from openai.")
    content = bytes(turn.get("content", b""))
    messages: list[Fields] = []
    if content.startswith(b"["):
        try:
            blocks = _decode_blocks(content)
        except msgspec.ValidationError as error:
            raise BadInput(explain_validation_error(str(error), f"{where}.content")) from None
        run: list[tuple[str, Any]] = []
        for number, block in enumerate(blocks):
            at = f"{where}.content[{number}]"
            kind = block_type(block, at)
            if kind != "tool_result":
                run.append((kind, _read_call(block, at) if kind == "tool_use" else block))
                continue
            if run:
                messages.append(_text_and_calls(role, run))
                run = []
            messages.append(_read_result(block, at))
        if run or not messages:
            messages.append(_text_and_calls(role, run))
    else:
        messages.append({"role": role, "content": turn.get("content")})
    extra = {_RENAMED_KEYS.get(key, key): value for key, value in turn.items() if key not in ("role", "content")}
    if repeated := messages[0].keys() & extra.keys():
        raise BadInput(f"{where}: {min(repeated)!r} appears both in the content and next to it")
    messages[0] |= extra
    return messages


def _text_and_calls(role: Raw, run: Sequence[tuple[str, Any]]) -> Fields:
    """Return one message with the text and calls between two results."""
    calls = [call for kind, call in run if kind == "tool_use"]
    thinking = [block for kind, block in run if kind in THINKING_TYPES]
    parts = [block for kind, block in run if kind != "tool_use" and kind not in THINKING_TYPES]
    fields: Fields = {"role": role, "content": _content(parts) if parts else None if calls else ""}
    if calls:
        fields["tool_calls"] = calls
    if thinking:
        fields["thinking_blocks"] = thinking
    return fields


def _content(parts: Sequence[Mapping[str, Raw]]) -> Any:
    """Return the content of these blocks: a string for a single plain text block, otherwise the blocks unchanged."""
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts


def _read_call(block: dict[str, Raw], where: str) -> Any:
    name, given = block.get("name"), bytes(block.get("input", b"null"))
    if name is None or not bytes(name).startswith(b'"') or "input" not in block or not _OTHER_CALL_KEYS.isdisjoint(block):
        call = read_call_text(_encode({key: value for key, value in block.items() if key != GENERATED_ID}))
        if call.malformed or not _OTHER_CALL_KEYS.isdisjoint(block):
            return Raw(call_text(call))
    arguments = "{}" if given == b"null" else Raw(given) if given.startswith(b'"') else given.decode()
    fields: Fields = {"type": "function", "function": {"name": name, "arguments": arguments}}
    if "id" in block and GENERATED_ID not in block:
        fields = {"id": block["id"], **fields}
    return fields | _extra_keys(block, _CALL_BLOCK_KEYS, where, taken=frozenset({"function"}))


def _read_result(block: dict[str, Raw], where: str) -> Fields:
    content = block.get("content", Raw(b'""'))
    fields: Fields = {"role": "tool", "content": content if bytes(content) != b"null" else ""}
    if "tool_use_id" in block and GENERATED_ID not in block:
        fields["tool_call_id"] = block["tool_use_id"]
    return fields | _extra_keys(block, _RESULT_BLOCK_KEYS, where)


def _extra_keys(block: Mapping[str, Raw], known: frozenset[str], where: str, *, taken: frozenset[str] = _MESSAGE_KEYS) -> Fields:
    """Return the other keys of a block. A key that would overwrite a key of the OpenAI message raises `BadInput`."""
    extra = _without_nulls({key: value for key, value in block.items() if key not in known})
    if both := extra.keys() & taken:
        raise BadInput(f"{where}: unexpected key {min(both)!r} for this type of block")
    return {_RENAMED_KEYS.get(key, key): value for key, value in extra.items()}


def _without_nulls(fields: dict[str, Raw]) -> dict[str, Raw]:
    """Return the fields that are not null: in files exported from tables, every block has the keys of all blocks."""
    return {key: value for key, value in fields.items() if bytes(value) != b"null"}


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with a system prompt, Anthropic tools or blocks, and no OpenAI fields.

    Plain-text rows without a system prompt look the same in both formats and are detected as OpenAI.
    """
    if "messages" not in fields or "expected_output" in fields:
        return 0.0
    try:
        messages = _decode_signatures(fields["messages"])
    except msgspec.ValidationError:
        return 0.0
    if any(message.is_openai for message in messages):
        return 0.0
    if "system" in fields or b'"input_schema"' in bytes(fields.get("tools", b"")):
        return 0.8
    has_blocks = any(bytes(message.content).startswith(b"[") and _BLOCK.search(bytes(message.content)) for message in messages)
    return 0.8 if has_blocks else 0.0


FORMAT = Format(
    "anthropic",
    "Anthropic messages",
    detect,
    read,
    write,
    leftover_keys=leftover_keys(_ROW_KEYS),
    needs_call_ids=True,
    needs_result_ids=True,
)
