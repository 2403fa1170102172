"""Rows that hold an exchange: messages, and the output that follows them. Read as a conversation, or as the case that expects the output.

Messages are JSON in the OpenAI format. The output of a case is one turn of the assistant; calls after it raise `BadInput`, because a
decision point has only the next calls. Recorded values that look like matchers are wrapped in `$literal`.
"""

from collections.abc import Sequence
from itertools import takewhile

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.matchers import wrap_literal
from callmark.calls.messages import call_text, plain_texts, read_messages, replace_calls
from callmark.calls.text import parse_calls
from callmark.errors import BadInput
from callmark.formats.format import ToolList, row_id
from callmark.formats.json_fields import wrong_type
from callmark.types import Behavior, Call, Case, Conversation, Message, Place, Prediction, SourceRow, Text, Tool

_EXPAND_HINT = "callmark expand FILE cuts the whole conversation into one decision point for each call."
_NO_PLACE = Place("", 0)
_encode = msgspec.json.Encoder().encode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


class Exchange(Struct, frozen=True):
    """Messages and the output that follows them, as JSON, with the tools, the id and the source of the row.

    `field` names the output in error messages. `behavior` is what an output without calls does, if the row says so.
    """

    id: str
    prompt: Sequence[Text]
    output: Sequence[Text]
    tools: ToolList
    place: Place
    row: bytes
    field: str = "output"
    behavior: Behavior = ""

    def conversation(self) -> Conversation:
        """Return the messages and the output as one conversation."""
        return build_conversation(self.id, [*self.prompt, *self.output], self.tools, self.place, self.row)

    def case(self) -> Case:
        """Return the case that expects the calls of the output."""
        raw_tools, tools = self.tools
        text = _list(self.prompt)
        messages = read_messages(text)
        expected = tuple(map(literal_call, output_calls(read_messages(_list(self.output), self.field), self.field)))
        original = SourceRow(messages, tools, self.row, b"", plain_texts(text, messages) or self.prompt, raw_tools, expected=expected)
        return Case(self.id, messages, tools, self.place, original, expected=expected, behavior=self.behavior)


def build_conversation(name: str, texts: Sequence[Text], tools: ToolList, place: Place, row: bytes) -> Conversation:
    """Return a conversation of messages that are JSON in the OpenAI format."""
    text = _list(texts)
    messages = read_messages(text)
    return Conversation(
        name, messages, tools[1], place, SourceRow(messages, tools[1], row, b"", plain_texts(text, messages) or texts, tools[0])
    )


class _UnrecognizedFormat(BadInput):
    """A text with calls in a format that is not known."""


def output_prediction(case: str, texts: Sequence[Text], tools: Sequence[Tool], field: str) -> Prediction:
    """Return the prediction that an output is: the calls and the text of one turn. Text in an unrecognized tool-call format is an error."""
    try:
        messages = read_messages(_list(read_output(texts, tools, field)), field)
    except _UnrecognizedFormat as error:
        return Prediction(case, error=str(error))
    calls = output_calls(messages, field)
    return Prediction(case, 0, calls, "\n".join(message.text for message in _first_turn(messages) if message.text))


def output_calls(messages: Sequence[Message], field: str) -> tuple[Call, ...]:
    """Return the calls of the assistant's turn that an output is. An output of another role, and calls after the turn, raise `BadInput`."""
    turn = _first_turn(messages)
    if not turn:
        found = f"a message with the role {messages[0].role[:40]!r}" if messages else "an empty list"
        raise BadInput(f"{field}: expected an assistant message, got {found}")
    if any(message.calls for message in messages[len(turn) :]):
        raise BadInput(f"{field}: expected one assistant turn, got calls in several turns", _EXPAND_HINT)
    return tuple(call for message in turn for call in message.calls)


def literal_call(call: Call) -> Call:
    """Return a recorded call as an expected call."""
    return call if call.malformed else structs.replace(call, arguments={key: wrap_literal(value) for key, value in call.arguments.items()})


def text_message(role: str, text: str) -> bytes:
    """Return a message with this text."""
    return _encode({"role": role, "content": text})


def call_message(calls: Sequence[Call], text: str | None = None) -> bytes:
    """Return a message of the assistant with these calls."""
    return b'{"role":"assistant","content":%b,"tool_calls":[%b]}' % (_encode(text or None), b",".join(map(call_text, calls)))


def message_texts_of(value: Raw, field: str, role: str) -> list[Text]:
    """Return the JSON of each message of a list, of one message, or of a text, which is a message of this role.

    Anything else raises `BadInput` that names the field.
    """
    match bytes(value)[:1]:
        case b"[":
            return [*_decode_list(value)]
        case b"{":
            return [value]
        case b'"':
            return [_encode({"role": role, "content": value})]
        case _:
            raise wrong_type(value, field, "a list of messages or a string")


def read_output(texts: Sequence[Text], tools: Sequence[Tool], field: str) -> list[Text]:
    """Return the messages of an output, with the calls that the assistant's text contains as `tool_calls`.

    Text in an unrecognized tool-call format raises `BadInput`: as text, it would be an output without a call.
    """
    messages = read_messages(_list(texts), field)
    return [
        _with_text_calls(text, message, tools, f"{field}[{index}]")
        for index, (text, message) in enumerate(zip(texts, messages, strict=True))
    ]


def given_id(value: object) -> str:
    """Return the id of a row; empty if it has none, so that its prediction belongs to the row itself."""
    return row_id(value, _NO_PLACE) if value not in (None, "") and not isinstance(value, bool | float | list | dict) else ""


def _with_text_calls(text: Text, message: Message, tools: Sequence[Tool], field: str) -> Text:
    if message.role != "assistant" or message.calls or not message.text:
        return text
    parsed = parse_calls(message.text, tools=tools)
    if parsed.unrecognized:
        raise _UnrecognizedFormat(f"{field}: unrecognized tool-call format: {parsed.unrecognized}")
    if not parsed.calls:
        return text
    content = _encode(_decode_fields(text) | {"content": parsed.text or None})
    return replace_calls(content, [call_text(call) for call in parsed.calls])


def _first_turn(messages: Sequence[Message]) -> list[Message]:
    return list(takewhile(lambda message: message.role == "assistant", messages))


def _list(texts: Sequence[Text]) -> bytes:
    return b"[" + b",".join(map(bytes, texts)) + b"]"
