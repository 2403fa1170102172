"""When2Call: questions for which a model should call a tool, ask for information, decline or answer.

    test   {"uuid", "question", "tools", "correct_answer": "tool_call", "answers": {"direct", "tool_call", "request_for_info", …}}
    sft    {"messages", "tools"}: the last message is the right response

Tools are objects or JSON strings, with Python's types. A call in a response is `<TOOLCALL>[{"name", "arguments"}]</TOOLCALL>`, in an answer
its JSON. As a case, a row expects the call of the right response, or none; a test row also says what the reply should do instead.
Preference rows are read by `when2call_preference`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.calls.shapes import CALL_LEVELS, read_call
from callmark.calls.strict import DEEPEST, NotStrict, parse
from callmark.errors import BadInput
from callmark.formats.exchanges import Exchange, call_message, text_message
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.formats.python_schemas import json_schema_tools
from callmark.types import Behavior, Call, Case, Conversation, Place

_BEHAVIORS: dict[str, Behavior] = {"tool_call": "", "request_for_info": "ask", "cannot_answer": "decline", "direct": "answer"}
_ROLES = ("system", "user", "assistant")
_CALL = re.compile(r"<TOOLCALL>(.*?)(?:</TOOLCALL>|\Z)", re.DOTALL)
_ROW_KEYS = frozenset({"uuid", "id", "question", "tools", "correct_answer", "answers", "messages"})


class ChatMessage(Struct):
    """A message of plain text, which may contain calls."""

    role: str
    content: str


class _Row(Struct):
    uuid: str | None = None
    question: str | None = None
    correct_answer: str | None = None
    answers: dict[str, Any] | None = None
    messages: list[ChatMessage] | None = None
    tools: Any = None
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode
_LIST_OF_STRINGS = re.compile(rb'\s*\[\s*"')


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for test rows, and for messages whose tools are JSON strings or whose calls are tagged."""
    if fields.keys() >= {"question", "correct_answer", "answers", "tools"}:
        return 0.9
    if "messages" not in fields or "expected_output" in fields or "chosen_response" in fields:
        return 0.0
    return 0.7 if _LIST_OF_STRINGS.match(bytes(fields.get("tools", b""))) or b"<TOOLCALL>" in bytes(fields["messages"]) else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the question and the right response as a conversation."""
    return _read(row, place, context).conversation()


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the case that expects the right response."""
    return _read(row, place, context).case()


def _read(row: bytes, place: Place, context: ReadContext) -> Exchange:
    wire = _decode_row(row)
    name = wire.uuid or row_id(wire.id, place)
    tools = context.read_tools(json_schema_tools(wire.tools))
    if wire.correct_answer is not None:
        prompt = [text_message("user", wire.question or "")]
        return Exchange(name, prompt, [_answer(wire)], tools, place, row, "answers", _BEHAVIORS[wire.correct_answer])
    messages = wire.messages or []
    if not messages or messages[-1].role != "assistant":
        raise BadInput("messages: expected an assistant message at the end")
    *prompt, last = message_list(messages)
    return Exchange(name, prompt, [last], tools, place, row, f"messages[{len(messages) - 1}]")


def _decode_row(row: bytes) -> _Row:
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    if wire.correct_answer is not None and wire.correct_answer not in _BEHAVIORS:
        raise BadInput(f"correct_answer: expected one of {', '.join(_BEHAVIORS)}, got {wire.correct_answer[:40]!r}")
    return wire


def _answer(wire: _Row) -> bytes:
    """Return the right answer of a test row as a message."""
    kind = wire.correct_answer or ""
    answer = (wire.answers or {}).get(kind)
    if answer is None:
        raise BadInput(f"answers.{kind} is missing, but it is the correct answer")
    if kind == "tool_call":
        return call_message(_read_calls(answer))
    if not isinstance(answer, str):
        raise BadInput(f"answers.{kind}: expected a string")
    return text_message("assistant", answer)


def message_list(messages: Sequence[ChatMessage]) -> list[bytes]:
    """Return messages in the OpenAI format."""
    return [read_response(message, f"messages[{index}]") for index, message in enumerate(messages)]


def read_response(message: ChatMessage, field: str) -> bytes:
    """Return a message in the OpenAI format, with the calls in its text. An unknown role raises `BadInput`."""
    if message.role not in _ROLES:
        raise BadInput(f"{field}.role: unknown role {message.role[:40]!r}, expected {', '.join(_ROLES)}")
    found = _CALL.findall(message.content) if message.role == "assistant" else []
    calls = [call for text in found for call in _read_calls(text)]
    return call_message(calls, _CALL.sub("", message.content).strip()) if found else text_message(message.role, message.content)


def _read_calls(given: Any) -> list[Call]:
    """Return the calls of an object, of a list, or of the JSON of either; a text that is not JSON is a malformed call."""
    if isinstance(given, str):
        try:
            return _read_calls(parse(given, deepest=DEEPEST + CALL_LEVELS))
        except NotStrict:
            return [read_call({"name": "", "arguments": given})]
    if isinstance(given, list):
        return [call for item in given for call in (_read_calls(item) if isinstance(item, str) else [read_call(item)])]
    return [read_call(given)]


FORMAT = Format("when2call", "When2Call", detect, read, read_case=read_case, leftover_keys=leftover_keys(_ROW_KEYS))
