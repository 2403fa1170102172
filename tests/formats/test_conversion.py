"""Conversion from any format to any other and back loses no call, id, result or text, nor which result belongs to which call."""

import json
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.results import match_results
from callmark.calls.shapes import read_call
from callmark.formats.detect import detect_format, find_format
from callmark.formats.format import ReadContext
from callmark.types import Call, Conversation, Message, Place, SourceRow, Tool

FORMATS = ["openai", "sharegpt", "anthropic", "deepfabric"]
PAIRS = list(permutations(FORMATS, 2))
TRICKY = [
    "</tool_call>",
    "<tool_call>",
    "</tool_response>",
    "<",
    "\\",
    '"',
    "\n",
    " ",
    "{}",
    "null",
    "\u2028",
    "é",
    "\x1b",
    "[1]",
    "𝄞",
    "\\ud800",
]
LIMITS = [0, -1, 2**53, 2**63 - 1, 2**64, -(2**70), 1e308, -1.7976931348623157e308, 5e-324, 0.1, -0.0, 10**300]

texts = st.lists(st.sampled_from(TRICKY) | st.text(st.characters(codec="utf-8"), max_size=8), max_size=4).map("".join)
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
ids = st.none() | st.sampled_from(["call_1", "call_2", "abcDEF123", "c00000001", "toolu_00001", ""]) | words
scalars = st.none() | st.booleans() | st.sampled_from(LIMITS) | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6)
good_calls = st.builds(Call, words, st.dictionaries(words, values, max_size=3), ids)
odd_calls = st.builds(
    lambda name, text, call_id: read_call({"name": name, "arguments": text, "id": call_id}),
    st.sampled_from(["f", "g", "", " "]) | words,
    texts,
    ids,
)
assistants = st.builds(
    lambda text, calls: {"role": "assistant", "content": text, "calls": calls}, texts, st.lists(good_calls | odd_calls, max_size=3)
)
results = st.fixed_dictionaries(
    {"role": st.just("tool"), "content": texts}, optional={"tool_call_id": ids, "name": words, "is_error": st.booleans()}
)
parts = st.lists(
    st.fixed_dictionaries({"type": st.just("image"), "source": values}) | st.builds(lambda text: {"type": "text", "text": text}, texts),
    max_size=3,
)
others = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "system", "developer", "assistant"]), "content": texts | parts},
    optional={
        "name": words,
        "weight": st.sampled_from([0, 1]),
        "thinking_blocks": st.just([{"type": "thinking", "thinking": "?", "signature": "s"}]),
    },
)
rows = st.lists(assistants | results | others, max_size=6)


def conversation_of(fields: list[dict[str, Any]]) -> Conversation:
    """The conversation that an OpenAI file has these messages in."""
    messages = []
    for message in fields:
        message = {key: value for key, value in message.items() if value is not None}
        calls = [
            {"type": "function", "function": {"name": call.name, "arguments": call.text if call.malformed else json.dumps(call.arguments)}}
            | ({"id": call.id} if call.id is not None else {})
            for call in message.pop("calls", [])
        ]
        messages.append({**message, **({"tool_calls": calls} if calls else {})})
    return read("openai", json.dumps({"id": "r", "messages": messages}, ensure_ascii=False).encode())


def read(format_name: str, line: bytes) -> Conversation:
    return find_format(format_name).read(line, Place("x", 1), ReadContext())


def write(format_name: str, conversation: Conversation) -> bytes:
    write_row = find_format(format_name).write
    assert write_row is not None
    return write_row(conversation)


def through(conversation: Conversation, *format_names: str) -> Conversation:
    for format_name in format_names:
        line = write(format_name, conversation)
        assert b"\n" not in line
        conversation = read(format_name, line)
    return conversation


def essence(conversation: Conversation, like: Conversation | None = None) -> list[Any]:
    """Everything that must come back. An id that `like` does not have may have been made up."""
    kept: list[Any] = []
    stood = (like or conversation).messages
    for index, message in enumerate(conversation.messages):
        before = stood[index] if index < len(stood) else Message("")
        calls = [
            (call.name, json.dumps(call.arguments), bool(call.malformed), call.text, _unless_made(call.id, before.calls, place))
            for place, call in enumerate(message.calls)
        ]
        result_id = message.tool_call_id if before.tool_call_id is not None else None
        kept.append((message.role, message.text, calls, result_id, message.name))
    found = match_results(conversation.messages)
    return [*kept, sorted(found.by_call.items()), found.orphans]


def _unless_made(call_id: str | None, before: tuple[Call, ...], place: int) -> str | None:
    return call_id if place < len(before) and before[place].id is not None else None


def besides(conversation: Conversation) -> list[Any]:
    """What the messages say besides: whether a result is an error, thoughts, weights, parts that are no text."""
    told = json.loads(write("openai", conversation))["messages"]
    return [
        (
            message.get("is_error"),
            message.get("weight"),
            message.get("thinking_blocks"),
            [part for part in _parts(message) if part["type"] != "text"],
        )
        for message in told
    ]


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message.get("content"), list) else []


@pytest.mark.laws
@pytest.mark.parametrize("there, back", PAIRS)
@given(fields=rows)
def test_round_trip_loses_nothing(there: str, back: str, fields: list[dict[str, Any]]) -> None:
    stood = conversation_of(fields)
    found = through(stood, back, there, back)
    assert essence(found, stood) == essence(stood)
    assert besides(found) == besides(stood)


@pytest.mark.laws
@given(fields=rows, path=st.lists(st.sampled_from(FORMATS), min_size=3, max_size=8))
def test_chained_conversions_lose_nothing(fields: list[dict[str, Any]], path: list[str]) -> None:
    stood = conversation_of(fields)
    found = through(stood, *path, "openai")
    assert essence(found, stood) == essence(stood)
    assert besides(found) == besides(stood)


@pytest.mark.laws
@pytest.mark.parametrize("format_name", FORMATS)
@given(fields=rows)
def test_messages_built_in_python_are_written_completely(format_name: str, fields: list[dict[str, Any]]) -> None:
    made = msgspec.structs.replace(conversation_of(fields), original=SourceRow())
    assert essence(through(made, format_name), made) == essence(made)


@pytest.mark.laws
@pytest.mark.parametrize("format_name", FORMATS)
@given(fields=rows)
def test_the_same_conversation_is_written_to_the_same_bytes(format_name: str, fields: list[dict[str, Any]]) -> None:
    conversation = conversation_of(fields)
    once = through(conversation, format_name)
    assert write(format_name, once) == write(format_name, through(once, format_name))


@pytest.mark.laws
@pytest.mark.parametrize("format_name", FORMATS)
@given(fields=st.lists(assistants.filter(lambda message: bool(message["calls"])) | results, min_size=1, max_size=4))
def test_a_written_row_is_detected(format_name: str, fields: list[dict[str, Any]]) -> None:
    assert detect_format(write(format_name, conversation_of(fields))).name == format_name


@pytest.mark.parametrize("there, back", PAIRS)
def test_tools_come_back_with_all_their_keys(there: str, back: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "maximum": 2**64}},
        "required": ["a"],
        "additionalProperties": False,
    }
    tools = [
        {"type": "function", "function": {"name": "f", "description": "does", "parameters": schema, "strict": True}},
        {"type": "function", "function": {"name": "g", "description": "", "parameters": {}}},
    ]
    stood = read("openai", json.dumps({"messages": [{"role": "user", "content": "x"}], "tools": tools}).encode())
    found = through(stood, back, there, back)
    assert found.tools == stood.tools == (Tool("f", "does", schema), Tool("g", "", {}))
    assert json.loads(write("openai", found))["tools"] == tools


@pytest.mark.parametrize("there", FORMATS)
def test_arguments_may_nest_up_to_the_limit(there: str) -> None:
    arguments: dict[str, Any] = {}
    for _ in range(199):
        arguments = {"a": arguments}
    call = Call("f", arguments, "1")
    assert through(Conversation("c", (Message("assistant", "", (call,)),)), there).calls == (call,)


def test_a_result_without_an_id_stays_with_its_call_despite_repeated_ids() -> None:
    calls = (Call("f", {}, "1"), Call("g", {}, "1"), Call("h"))
    stood = Conversation("c", (Message("assistant", "", calls), Message("tool", "of g", name="g"), Message("tool", "of f", name="f")))
    assert match_results(stood.messages).by_call == {(0, 1): 1, (0, 0): 2}
    for format_name in FORMATS:
        assert through(stood, format_name, "openai", format_name).messages == stood.messages
