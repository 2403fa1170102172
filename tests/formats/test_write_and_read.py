"""Writing and reading back any conversation loses no call, id or result."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
from callmark.calls.shapes import read_call
from callmark.types import Call, Case, Conversation, Message

TRICKY = ["</tool_call>", "<tool_call>", "</tool_response>", "<", "\\", '"', "\n", "```", "{}", "null", "\u2028", "é", "\x1b", "\ud800"]
texts = st.lists(st.sampled_from(TRICKY) | st.text(max_size=8), max_size=4).map("".join)
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
ids = st.none() | words
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from(TRICKY[:-1])
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6)
good_calls = st.builds(
    lambda name, arguments, call_id: Call(name, arguments, call_id), words, st.dictionaries(words, values, max_size=3), ids
)
odd_calls = st.builds(
    lambda name, text, call_id: read_call({"name": name, "arguments": text, "id": call_id}), words | st.just(""), texts, ids
)
assistants = st.builds(lambda text, calls: Message("assistant", text, tuple(calls)), texts, st.lists(good_calls | odd_calls, max_size=3))
results = st.builds(lambda text, call_id, name: Message("tool", text, (), call_id, name), texts, ids, ids)
others = st.builds(Message, st.sampled_from(["user", "system", "developer"]), texts)
conversations = st.builds(lambda messages: Conversation("c", tuple(messages)), st.lists(assistants | results | others, max_size=6))


def through(conversation: Conversation, format_name: str) -> Conversation:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.jsonl")
        assert callmark.write([conversation], path, to=format_name) == 1
        (found,) = callmark.load(path)
    return found


def essence(conversation: Conversation) -> list[Any]:
    """Every call and every result, as it must come back."""
    kept: list[Any] = []
    for message in conversation.messages:
        kept += [
            (call.name, json.dumps(call.arguments, sort_keys=True), call.id, bool(call.malformed), call.text) for call in message.calls
        ]
        if message.role == "tool":
            kept.append((message.text.encode("utf-8", "backslashreplace").decode(), message.tool_call_id, message.name))
    return kept


@pytest.mark.laws
@pytest.mark.parametrize("format_name", ["openai", "sharegpt"])
@given(conversations)
def test_no_call_id_or_result_is_lost(format_name: str, conversation: Conversation) -> None:
    assert essence(through(conversation, format_name)) == essence(conversation)


@pytest.mark.laws
@given(conversations)
def test_nothing_is_lost_from_one_format_to_another_and_back(conversation: Conversation) -> None:
    there = through(through(conversation, "openai"), "sharegpt")
    assert essence(through(there, "openai")) == essence(conversation)


def test_a_literal_star_stays_literal_in_a_scenario(tmp_path: Path) -> None:
    case = Case("s", instructions="list them", expected=(Call("ls", {"pattern": "*.py"}),))
    callmark.write([case], tmp_path / "s.jsonl", to="scenarios")
    (read,) = callmark.load(tmp_path / "s.jsonl")
    assert isinstance(read, Case)
    assert callmark.grade(read.expected, [Call("ls", {"pattern": "setup.py"})]).metrics["call.score"] == 0.5
    assert callmark.grade(read.expected, [Call("ls", {"pattern": "*.py"})]).metrics["call.score"] == 1.0
