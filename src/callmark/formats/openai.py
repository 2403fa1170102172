"""The OpenAI chat format: `{"messages": […], "tools": […]}`, and decision points, which add `expected_output`.

Accepts `tools` or the legacy `functions`, as a list or a JSON string, missing or null; the `{"item": …}` wrapper; ids of any type; rows of
tables, padded with nulls. Messages are written as they were read, including unknown keys.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from callmark.calls.call_containers import refuse_row_containers, unknown_container, unread_containers
from callmark.calls.content_parts import counting
from callmark.calls.dependencies import stated_dependencies
from callmark.calls.expected import read_common_expected, read_expected_call_text
from callmark.calls.messages import (
    ABSENT,
    CommonMessage,
    build_messages,
    call_text,
    expected_texts,
    explain_validation_error,
    message_texts,
    plain_texts,
    read_any_messages,
)
from callmark.calls.reply_checks import read_reply_checks
from callmark.calls.shapes import unwrap
from callmark.calls.strict import NotStrict, dump, parse
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.argument_padding import unpad_messages
from callmark.formats.format import Format, ReadContext, check_utf8, row_id
from callmark.types import Behavior, Call, Case, Conversation, Edges, Message, Place, ReplyChecks, Source, SourceRow, Text


class _Fields(Struct, gc=False):
    tools: Raw = ABSENT
    functions: Raw = ABSENT
    id: Any = None
    item: Raw = ABSENT
    expected_output: Raw = ABSENT
    group: Any = None


class _CommonRow(_Fields, gc=False):
    messages: list[CommonMessage] | None = None
    source: Source | str | int | float | bool | None = None


class _OwnSource(Struct, gc=False, forbid_unknown_fields=True):
    conversation: str
    message: int
    call: int | None = None


class _OwnRow(Struct, gc=False, forbid_unknown_fields=True):
    """A decision point as `expand` writes it, without its tools. It has no other keys, so the tools that were cut out were its own."""

    id: str
    messages: list[CommonMessage]
    expected_output: Raw
    source: _OwnSource | None = None
    group: str | None = None


class _AnyRow(_Fields, gc=False):
    messages: Raw = ABSENT
    source: Any = None


class _Expected(Struct):
    tool_calls: list[Raw] | None = None
    function_call: Raw = ABSENT
    alternatives: list[list[Raw]] | None = None


_decode_common = msgspec.json.Decoder(_CommonRow).decode
_decode_any = msgspec.json.Decoder(_AnyRow).decode
_decode_own = msgspec.json.Decoder(_OwnRow).decode
_decode_expected = msgspec.json.Decoder(_Expected).decode
_decode_value = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_BEHAVIORS: dict[str, Behavior] = {"": "", "ask": "ask", "answer": "answer", "decline": "decline"}
_ROW_KEYS = frozenset({"id", "messages", "tools", "functions", "item"})
_TEXT_CALL = re.compile(r"""(?<!`)<tool_call>\s*+\[?\s*+\{\s*+["'](?:name|arguments|function|tool)["']""")
_ONCE = (b'"expected_output"', b'"messages"')  # keys that occur once in a decision point written by `expand`


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, or the case if it has an `expected_output`.

    What the row shares with the previous one is not decoded again, if it can be cut out safely.
    """
    body: bytes | Raw = row
    wire: _OwnRow | _CommonRow | _AnyRow | None = None
    shortened = context.delta.shorten(row)
    if shortened is not None:
        try:
            wire = (_decode_own if shortened.from_middle else _decode_common)(shortened.body)
        except (msgspec.MsgspecError, RecursionError):
            wire = None  # decoded completely below, which raises with the reason if the row is broken
    if shortened is None or not (shortened.body.isascii() or _is_utf8(shortened.body)):  # what was cut out was valid in the previous row
        check_utf8(row)
    if shortened is not None and shortened.from_middle and (shortened.body.count(_ONCE[0]) > 1 or shortened.body.count(_ONCE[1]) > 1):
        wire = None  # the cut may have been inside `expected_output`, or in a duplicate key
    texts: Sequence[Text] = ()
    if wire is not None and shortened is not None and isinstance(wire.messages, list):
        raw_tools, tools = context.delta.tools
        messages = build_messages(wire.messages)
        if shortened.from_middle:
            messages = (*shortened.messages, *messages)
            if not counting.counter:  # otherwise parts of shared messages would be counted only once
                context.delta.store_messages(row, shortened, messages)
        else:
            body = shortened.body
    else:
        wire = _decode(row)
        outer = wire
        if wire.messages in (None, ABSENT) and wire.item is not ABSENT:
            body = wire.item
            wire = _decode(body, "item")
        found = next((raw for raw in (wire.tools, wire.functions, outer.tools, outer.functions) if raw is not ABSENT), ABSENT)
        raw_tools, tools = context.read_tools(bytes(found))
        if isinstance(wire, _AnyRow):
            unpadded = unpad_messages(bytes(wire.messages), tools) if b"null" in row and bytes(wire.messages).startswith(b"[") else None
            if unpadded is None:
                messages, texts = _read_any(wire.messages)
            else:
                messages, texts = _read_any(Raw(b"[" + b",".join(unpadded) + b"]"))
                texts, body = texts or unpadded, b""
        elif wire.messages is None:
            raise BadInput("missing key 'messages'")
        else:
            messages = build_messages(wire.messages)
        if body is row and wire.tools is not ABSENT:
            context.delta.store_tools(row, (raw_tools, tools))
    has_calls = False
    for message in messages:  # any() takes twice as long
        if message.calls:
            has_calls = True
            break
    if not has_calls:
        _refuse_text_calls(messages)
    conversation_id = row_id(wire.id, place)
    openai_calls = wire.__class__ is not _AnyRow
    if wire.expected_output is ABSENT or bytes(wire.expected_output) == b"null":
        if not has_calls:  # otherwise its calls were found
            refuse_row_containers(_decode_fields(row), _ROW_KEYS)
        return Conversation(conversation_id, messages, tools, place, SourceRow(messages, tools, row, body, texts, raw_tools, openai_calls))
    output = read_expected_output(wire.expected_output)
    return Case(
        conversation_id,
        messages,
        tools,
        place,
        SourceRow(messages, tools, row, body, texts, raw_tools, openai_calls, output.calls, output.texts, output.body),
        expected=output.calls,
        alternatives=output.alternatives,
        behavior=output.behavior,
        reply=output.reply,
        dependencies=output.dependencies,
        source=_read_source(wire.source),
        group=wire.group if isinstance(wire.group, str) else None,
        states_expectation=output.is_stated,
    )


def _is_utf8(text: bytes) -> bool:
    try:
        check_utf8(text)
    except UnicodeDecodeError:
        return False
    return True


def _refuse_text_calls(messages: Sequence[Message]) -> None:
    """Raise `BadInput` if the assistant's text in a row without calls has calls, which would be overlooked."""
    for index, message in enumerate(messages):
        if message.role == "assistant" and "<tool_call>" in message.text and _TEXT_CALL.search(message.text):
            raise BadInput(f"messages[{index}].content: calls in the text (<tool_call>), expected tool_calls", "Pass --from hermes.")


class ExpectedOutput(NamedTuple):
    """The expected calls of a case, the JSON of each or the object that still has it, the alternatives, the behavior, the dependencies and
    the checks of the reply.

    `is_stated` is False if there are no calls, and nothing says that none is expected.
    """

    calls: tuple[Call, ...]
    texts: Sequence[Text] = ()
    body: Text = b""
    alternatives: tuple[tuple[Call, ...], ...] = ()
    is_stated: bool = True
    behavior: Behavior = ""
    dependencies: tuple[Edges, ...] = ()
    reply: ReplyChecks | None = None


def read_expected_output(text: Raw) -> ExpectedOutput:
    """Return what an `expected_output` holds. A key that may hold calls, but is not known, an unknown behavior and an invalid check
    of the reply raise `BadInput`.
    """
    expected = read_common_expected(text)
    if expected is not None:
        return ExpectedOutput(expected, [], text)
    texts, alternatives, fields = _decode_expected_output(text)
    calls = tuple([read_expected_call_text(bytes(call)) for call in texts])
    unwrapped = unwrap(calls)
    is_stated = bool(
        calls or alternatives or "behavior" in fields or "reply" in fields or bytes(fields.get("tool_calls", b"")).startswith(b"[")
    )
    read = [tuple([read_expected_call_text(bytes(call)) for call in given]) for given in alternatives]
    others = tuple([unwrap(alternative) for alternative in read])
    is_wrapped = unwrapped is not calls or any(one is not other for one, other in zip(others, read, strict=True))
    dependencies = _read_order(texts, calls, alternatives, others) if b'"after"' in bytes(text) and not is_wrapped else ()
    behavior, reply = _read_behavior(fields), read_reply(fields)
    return ExpectedOutput(unwrapped, texts if unwrapped is calls else (), b"", others, is_stated, behavior, dependencies, reply)


def _read_behavior(fields: Mapping[str, Raw]) -> Behavior:
    given = _decode_value(fields["behavior"]) if "behavior" in fields else None
    if given is None or given in _BEHAVIORS:
        return _BEHAVIORS[given or ""]
    raise BadInput(f"expected_output.behavior: expected ask, answer or decline, got {dump(given)[:40]}")


def read_reply(fields: Mapping[str, Raw]) -> ReplyChecks | None:
    """Return the checks of the reply in the fields of an `expected_output`; None if it has none. Invalid ones raise `BadInput`."""
    if "reply" not in fields:
        return None
    try:
        return read_reply_checks(parse(bytes(fields["reply"])), "expected_output.reply")
    except NotStrict as problem:
        raise BadInput(f"expected_output.reply: {problem}") from None


def _read_order(
    texts: Sequence[Raw], calls: Sequence[Call], alternatives: Sequence[Sequence[Raw]], others: Sequence[Sequence[Call]]
) -> tuple[Edges, ...]:
    """Return the dependencies that calls state (`after`), for the calls and for each alternative; empty if there are none."""
    found = [stated_dependencies(texts, calls, "expected_output.tool_calls")]
    for index, (given, alternative) in enumerate(zip(alternatives, others, strict=True)):
        found.append(stated_dependencies(given, alternative, f"expected_output.alternatives[{index}]"))
    return tuple(found) if any(found) else ()


def write(conversation: Conversation) -> bytes:
    """Return one line: `messages` and `tools`; for a decision point also `expected_output` and its source.

    A scenario raises `BadInput`, because it has no messages.
    """
    if isinstance(conversation, Case) and conversation.is_scenario:
        raise BadInput(f"{conversation.id}: a scenario cannot be written in the openai format")
    pieces: list[Text] = [b'{"id":', _encode(conversation.id), b',"messages":[', b",".join(message_texts(conversation))]
    pieces += (b'],"tools":', tools_text(conversation))
    if isinstance(conversation, Case):
        pieces += (b',"expected_output":', expected_output_text(conversation))
        if conversation.source is not None:
            pieces += (b',"source":', _encode(conversation.source))
        if conversation.group is not None:
            pieces += (b',"group":', _encode(conversation.group))
    pieces.append(b"}")
    return b"".join(pieces)


def expected_output_text(case: Case) -> bytes:
    """Return the expected calls, the alternatives, the behavior and the checks of the reply of a case, as an assistant message."""
    calls = b",".join(expected_texts(case, call_text))
    others = b',"alternatives":[' + b",".join(map(_calls_text, case.alternatives)) + b"]" if case.alternatives else b""
    others += b',"behavior":' + _encode(case.behavior) if case.behavior else b""
    others += b',"reply":' + _encode(case.reply) if case.reply else b""
    return b'{"role":"assistant","tool_calls":[' + calls + b"]" + others + b"}"


def _calls_text(calls: tuple[Call, ...]) -> bytes:
    return b"[" + b",".join(map(call_text, calls)) + b"]"


def _decode(row: bytes | Raw, where: str = "") -> _CommonRow | _AnyRow:
    try:
        return _decode_common(row)
    except msgspec.ValidationError:  # a call in another shape, or an invalid field
        pass
    try:
        return _decode_any(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), where)) from None


def _read_any(raw: Raw) -> tuple[tuple[Message, ...], Sequence[Text]]:
    """Return the messages of a row in another shape, and their JSON if it has to be rewritten."""
    if raw is ABSENT or bytes(raw) == b"null":
        raise BadInput("missing key 'messages'")
    messages = read_any_messages(raw)
    return messages, plain_texts(raw, messages)


def _decode_expected_output(text: Raw) -> tuple[list[Raw], list[list[Raw]], Mapping[str, Raw]]:
    """Return the JSON of the expected calls and of the calls in each alternative, and all fields."""
    try:
        wire = _decode_expected(text)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), "expected_output")) from None
    fields = _decode_fields(text)
    if keys := unread_containers(fields):
        raise unknown_container(f"expected_output.{keys[0]}")
    legacy = [wire.function_call] if wire.function_call is not ABSENT and bytes(wire.function_call) != b"null" else []
    return [*(wire.tool_calls or []), *legacy], wire.alternatives or [], fields


def _read_source(given: Any) -> Source | None:
    """Return the source of a decision point; None for a `source` that another program wrote."""
    if isinstance(given, Source):
        return given
    if isinstance(given, _OwnSource):
        return Source(given.conversation, given.message, given.call)
    try:
        return msgspec.convert(given, Source)
    except msgspec.ValidationError:
        return None


def detect(fields: Mapping[str, Raw]) -> float:
    """Return a low confidence for every row with messages or an item: other formats have messages too."""
    return 0.2 if "messages" in fields or "item" in fields else 0.0


def _leftover_keys(row: bytes) -> Iterable[str]:
    fields = _decode_fields(row)
    item = bytes(fields["item"]) if "item" in fields else b""
    if item.startswith(b"{"):  # a wrapper around the row
        fields = {**{key: value for key, value in fields.items() if key != "item"}, **_decode_fields(item)}
    return (key for key, value in fields.items() if key not in _ROW_KEYS and bytes(value) != b"null")


FORMAT = Format("openai", "OpenAI chat", detect, read, write, leftover_keys=_leftover_keys, keeps_source_messages=True)
