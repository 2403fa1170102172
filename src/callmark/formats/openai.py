"""The OpenAI chat format: `{"messages": […], "tools": […]}`, and decision points, which add `expected_output`.

Accepts `tools` or the legacy `functions`, missing or null; the `{"item": …}` wrapper; ids of any type. Messages are written as they were
read, including unknown keys.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.dependencies import stated_dependencies
from callmark.calls.expected import read_common_expected, read_expected_call_text
from callmark.calls.messages import (
    ABSENT,
    AnyMessage,
    CommonMessage,
    build_messages,
    call_text,
    expected_texts,
    explain_validation_error,
    message_texts,
)
from callmark.calls.strict import dump
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.format import Format, ReadContext, check_utf8, row_id
from callmark.types import Behavior, Call, Case, Conversation, Edges, Place, Source, SourceRow, Text


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
    messages: list[AnyMessage] | None = None
    source: Any = None


class _Expected(Struct):
    tool_calls: list[Raw] | None = None
    function_call: Raw = ABSENT
    alternatives: list[list[Raw]] | None = None


class _Behavior(Struct):
    behavior: Any = None


_decode_common = msgspec.json.Decoder(_CommonRow).decode
_decode_any = msgspec.json.Decoder(_AnyRow).decode
_decode_own = msgspec.json.Decoder(_OwnRow).decode
_decode_expected = msgspec.json.Decoder(_Expected).decode
_decode_behavior = msgspec.json.Decoder(_Behavior).decode
_encode = msgspec.json.Encoder().encode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_BEHAVIORS: dict[str, Behavior] = {"": "", "ask": "ask", "answer": "answer", "decline": "decline"}
_ROW_KEYS = frozenset({"id", "messages", "tools", "functions", "item"})
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
    if shortened is None or not shortened.body.isascii():
        check_utf8(row)
    if shortened is not None and shortened.from_middle and (shortened.body.count(_ONCE[0]) > 1 or shortened.body.count(_ONCE[1]) > 1):
        wire = None  # the cut may have been inside `expected_output`, or in a duplicate key
    if wire is not None and shortened is not None and wire.messages is not None:
        raw_tools, tools = context.delta.tools
        messages = build_messages(wire.messages)
        if shortened.from_middle:
            messages = (*shortened.messages, *messages)
            context.delta.store_messages(row, shortened, messages)
        else:
            body = shortened.body
    else:
        wire = _decode(row)
        outer = wire
        if wire.messages is None and wire.item is not ABSENT:
            body = wire.item
            wire = _decode(body, "item")
        found = next((raw for raw in (wire.tools, wire.functions, outer.tools, outer.functions) if raw is not ABSENT), ABSENT)
        raw_tools, tools = context.read_tools(bytes(found))
        if wire.messages is None:
            raise BadInput("messages is missing")
        messages = build_messages(wire.messages)
        if body is row and wire.tools is not ABSENT:
            context.delta.store_tools(row, (raw_tools, tools))
    conversation_id = row_id(wire.id, place)
    openai_calls = wire.__class__ is not _AnyRow
    if wire.expected_output is ABSENT or bytes(wire.expected_output) == b"null":
        return Conversation(conversation_id, messages, tools, place, SourceRow(messages, tools, row, body, (), raw_tools, openai_calls))
    expected, texts, expected_body, alternatives = read_expected_output(wire.expected_output)
    return Case(
        conversation_id,
        messages,
        tools,
        place,
        SourceRow(messages, tools, row, body, (), raw_tools, openai_calls, expected, texts, expected_body),
        expected=expected,
        alternatives=alternatives,
        behavior=read_behavior(wire.expected_output),
        dependencies=read_order(wire.expected_output, expected, alternatives),
        source=_read_source(wire.source),
        group=wire.group if isinstance(wire.group, str) else None,
    )


def read_expected_output(text: Raw) -> tuple[tuple[Call, ...], list[Raw], Text, tuple[tuple[Call, ...], ...]]:
    """Return the expected calls, the JSON of each or the object that still has it, and the alternatives."""
    expected = read_common_expected(text)
    if expected is not None:
        return expected, [], text, ()
    texts, alternatives = _decode_expected_output(text)
    expected = tuple([read_expected_call_text(bytes(call)) for call in texts])
    return expected, texts, b"", tuple([tuple([read_expected_call_text(bytes(call)) for call in calls]) for calls in alternatives])


def read_behavior(text: Raw) -> Behavior:
    """Return the behavior that an expected output states; an unknown one raises `BadInput`."""
    if b'"behavior"' not in bytes(text):
        return ""
    given = _decode_behavior(text).behavior
    if given is None or given in _BEHAVIORS:
        return _BEHAVIORS[given or ""]
    raise BadInput(f"expected_output.behavior: expected ask, answer or decline, got {dump(given)[:40]}")


def read_order(text: Raw, expected: Sequence[Call], alternatives: Sequence[Sequence[Call]]) -> tuple[Edges, ...]:
    """Return the dependencies that an expected output states (`after`), for its calls and for each alternative; empty if there are none."""
    if b'"after"' not in bytes(text):
        return ()
    texts, others = _decode_expected_output(text)
    found = [stated_dependencies(texts, expected, "expected_output.tool_calls")]
    for index, (given, calls) in enumerate(zip(others, alternatives, strict=True)):
        found.append(stated_dependencies(given, calls, f"expected_output.alternatives[{index}]"))
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
    """Return the expected calls, the alternatives and the behavior of a case, as an assistant message."""
    calls = b",".join(expected_texts(case, call_text))
    others = b',"alternatives":[' + b",".join(map(_calls_text, case.alternatives)) + b"]" if case.alternatives else b""
    others += b',"behavior":' + _encode(case.behavior) if case.behavior else b""
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


def _decode_expected_output(text: Raw) -> tuple[list[Raw], list[list[Raw]]]:
    """Return the JSON of the expected calls and of the calls in each alternative."""
    try:
        wire = _decode_expected(text)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), "expected_output")) from None
    legacy = [wire.function_call] if wire.function_call is not ABSENT and bytes(wire.function_call) != b"null" else []
    return [*(wire.tool_calls or []), *legacy], wire.alternatives or []


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
