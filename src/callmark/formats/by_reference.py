"""Decision points that point into their conversations, each of which is in the file once:

    {"tools": {"id", "tools"}}
    {"conversation": {"id", "messages", "tools_ref"}}
    {"id", "source": {"conversation", "message", "call"}, "expected_output"}

Tools come before the conversations that use them, and conversations before their records; in the same file, an id means one thing. A record
is read as the decision point that `expand` cuts there: `call` is the index of the expected call in the message; null if all calls of the
message are expected, or if the message has none. A record that refers to anything else raises `BadInput` with the field.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.history import Histories
from callmark.calls.messages import explain_validation_error, message_texts
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats import openai
from callmark.formats.format import Format, ReadContext, check_utf8, row_id
from callmark.types import Case, Conversation, Place, Source, SourceRow
from callmark.wording import pluralize

T = TypeVar("T")

DEFINITION = re.compile(rb'\s*\{\s*"(?:tools|conversation)"\s*:')
_OWN_INPUT = ("messages", "tools", "functions", "item")  # keys of a row that has its input itself
MAX_SIZE = 100_000  # messages and calls of a conversation
_SHOWN_ID = 80  # characters


class _Tools(Struct):
    id: str
    tools: Raw


class _Conversation(Struct):
    id: str
    messages: Raw
    tools_ref: str | None = None


class _Source(Struct):
    conversation: str
    message: int
    call: int | None = None


class _Record(Struct):
    source: _Source
    expected_output: Raw
    id: Any = None
    group: Any = None


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_tools = msgspec.json.Decoder(_Tools).decode
_decode_conversation = msgspec.json.Decoder(_Conversation).decode
_decode_record = msgspec.json.Decoder(_Record).decode
_encode = msgspec.json.Encoder().encode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return a high confidence for a definition, and some for a record."""
    if len(fields) == 1 and (fields.keys() <= {"tools", "conversation"}):
        return 0.9 if bytes(*fields.values()).startswith(b"{") else 0.0
    is_record = "expected_output" in fields and bytes(fields.get("source", b"")).startswith(b"{")
    return 0.5 if is_record and not any(key in fields for key in _OWN_INPUT) else 0.0


def define(row: bytes, place: Place, context: ReadContext) -> bool:
    """Read a row that defines tools or a conversation; return False for any other row."""
    if DEFINITION.match(row) is None:
        return False
    check_utf8(row)
    fields = _decode_fields(row)
    if len(fields) > 1:
        raise BadInput(f"expected a row with only the key {next(iter(fields))}, but it also has {', '.join(list(fields)[1:4])}")
    if "tools" in fields:
        tools = _decode(_decode_tools, fields["tools"], "tools")
        context.references.add_tools(_read_id(tools.id, "tools"), bytes(tools.tools), place, context.read_tools(bytes(tools.tools)))
    else:
        text = bytes(fields["conversation"])
        histories = _read_conversation(text, place, context)
        context.references.add_conversation(histories.conversation.id, text, place, histories)
    return True


def read(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the decision point that a record refers to."""
    point, histories = read_record(row, place, context)
    return histories.complete(point)


def read_record(row: bytes, place: Place, context: ReadContext) -> tuple[Case, Histories]:
    """Return a decision point without its messages and tools, and the histories of its conversation, which have them."""
    check_utf8(row)
    try:
        wire = _decode_record(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    own = [key for key in _OWN_INPUT if key in _decode_fields(row)]
    if own:
        raise BadInput(f"{own[0]}: a record cannot have its own messages or tools, because it takes them from its conversation")
    if bytes(wire.expected_output) == b"null":
        raise BadInput("expected_output: expected an object, got null")
    source = Source(wire.source.conversation, wire.source.message, wire.source.call)
    histories = context.references.histories(source.conversation, lambda text, at: _read_conversation(text, at, context))
    _check_source(source, histories.conversation)
    output = openai.read_expected_output(wire.expected_output)
    original = SourceRow(
        row=row, expected=output.calls, expected_texts=output.texts, expected_body=output.body, conversation=histories.conversation
    )  # fmt: skip
    group = wire.group if isinstance(wire.group, str) else None
    name = row_id(wire.id, place)
    return Case(
        name, place=place, original=original, expected=output.calls, alternatives=output.alternatives, behavior=output.behavior,
        reply=output.reply, dependencies=output.dependencies, source=source, group=group, states_expectation=output.is_stated,
    ), histories  # fmt: skip


class ReferenceWriter:
    """Writes decision points by reference: each list of tools and each conversation once, before the first record that uses it."""

    def __init__(self) -> None:
        self._tools: set[str] = set()
        self._conversations: dict[str, str] = {}  # digest of each that was written, by id
        self._last: tuple[Conversation, str] | None = None

    def lines(self, case: Conversation, record: bytes = b"") -> Iterator[bytes]:
        """Yield the definitions that are still missing, and the record: `record`, or a new one. The case may be without its messages.

        A row that is not a case, or whose conversation is not known, raises `BadInput`; so does a second conversation with the same id.
        """
        conversation, source = case.original.conversation, case.source if isinstance(case, Case) else None
        if conversation is None or source is None or not isinstance(case, Case):
            raise BadInput(
                f"{case.id[:_SHOWN_ID]}: cannot be written by reference, because the conversation that it was cut from is not known",
                "Cut the conversations again: callmark expand --by-reference.",
            )
        if self._last is None or self._last[0] is not conversation or self._last[1] != source.conversation:
            yield from self._definitions(conversation, source.conversation)
            self._last = (conversation, source.conversation)
        yield record or _record_text(case, source)

    def _definitions(self, conversation: Conversation, name: str) -> Iterator[bytes]:
        tools = tools_text(conversation)
        tools_id = f"tools-{_digest(tools)}"
        messages = b",".join(message_texts(conversation))
        digest = _digest(tools_id.encode() + messages)
        written = self._conversations.setdefault(name, "")
        if written == digest:
            return
        _refuse_long_conversation(conversation, name)
        if written:
            raise BadInput(f"two conversations have the ID {name[:_SHOWN_ID]!r}, so their records could not be told apart")
        self._conversations[name] = digest
        if tools_id not in self._tools:
            self._tools.add(tools_id)
            yield b'{"tools":{"id":%b,"tools":%b}}' % (_encode(tools_id), tools)
        yield b'{"conversation":{"id":%b,"messages":[%b],"tools_ref":%b}}' % (_encode(name), messages, _encode(tools_id))


def inline_size(histories: Histories, points: Iterable[Case]) -> int:
    """Return the number of bytes, line breaks included, of decision points of one conversation as `expand` writes them inline.

    They are neither built nor written: `points` are without their messages and tools.
    """
    tools = len(tools_text(histories.conversation)) - len(tools_text(Conversation("")))
    total, last = 0, -1
    sizes: list[int] = []
    for point in points:
        assert point.source is not None
        if point.source.message != last:
            last = point.source.message
            sizes = list(histories.sizes(last))
        total += len(openai.write(point)) + sizes[point.source.call or 0] + tools + 1
    return total


def _record_text(case: Case, source: Source) -> bytes:
    group = b"" if case.group is None else b',"group":' + _encode(case.group)
    expected = openai.expected_output_text(case)
    return b'{"id":%b,"source":%b,"expected_output":%b%b}' % (_encode(case.id), _encode(source), expected, group)


def _read_conversation(text: bytes, place: Place, context: ReadContext) -> Histories:
    """Return the conversation in the value of a `conversation` key, with the tools that it refers to."""
    wire = _decode(_decode_conversation, text, "conversation")
    for key in ("tools", "functions"):
        if key in _decode_fields(text):
            raise BadInput(f"conversation.{key}: expected tools_ref, the ID of a list of tools in an earlier row")
    body = b'{"messages":%b}' % bytes(wire.messages)
    try:
        found = openai.read(body, place, ReadContext())
    except BadInput as error:
        raise BadInput(f"conversation.{error}", error.hint) from None
    name = _read_id(wire.id, "conversation")
    _refuse_long_conversation(found, name)
    raw_tools, tools = context.default_tools if wire.tools_ref is None else context.references.tools(wire.tools_ref)
    original = structs.replace(found.original, tools=tools, raw_tools=raw_tools)
    return Histories(structs.replace(found, id=name, tools=tools, original=original))


def _refuse_long_conversation(conversation: Conversation, name: str) -> None:
    """Raise `BadInput` for a conversation that is too long: each of its records is read with all messages and calls before it."""
    size = len(conversation.messages) + sum(len(message.calls) for message in conversation.messages)
    if size > MAX_SIZE:
        raise BadInput(
            f"conversation {name[:_SHOWN_ID]!r}: expected at most {MAX_SIZE:,} messages and calls, got {size:,}",
            "Split the conversation into several.",
        )


def _check_source(source: Source, conversation: Conversation) -> None:
    """Raise `BadInput` for a message or call that the conversation does not have."""
    name, count = repr(source.conversation[:_SHOWN_ID]), len(conversation.messages)
    if not 0 <= source.message < count:
        raise BadInput(f"source.message: there is no message {source.message:,}: conversation {name} has {pluralize(count, 'message')}")
    message = conversation.messages[source.message]
    if not message.calls and message.role != "assistant":
        raise BadInput(f"source.message: expected an assistant message, but message {source.message:,} of conversation {name} is not one")
    if source.call is not None and not 0 <= source.call < len(message.calls):
        calls = pluralize(len(message.calls), "call")
        raise BadInput(f"source.call: there is no call {source.call:,}: message {source.message:,} of conversation {name} has {calls}")


def _read_id(name: str, where: str) -> str:
    if not name:
        raise BadInput(f"{where}.id: expected a non-empty string")
    return name


def _decode(decode: Callable[[bytes | Raw], T], text: bytes | Raw, where: str) -> T:
    try:
        return decode(text)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), where)) from None


def _digest(text: bytes) -> str:
    import xxhash

    return xxhash.xxh3_64_hexdigest(text)


FORMAT = Format("by-reference", "decision points by reference", detect, read, define=define)
