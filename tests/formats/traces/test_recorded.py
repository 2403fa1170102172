"""Fifty conversations that the OpenTelemetry SDK recorded: as written, unordered, interleaved, and with spans missing."""

import json
from pathlib import Path

import pytest

import callmark
from callmark.calls.results import match_results
from callmark.types import Call, Conversation
from tests.formats.package_fixtures import check_fixture
from tests.formats.trace_samples import COUNT, trace_samples
from tests.formats.traces.spans import RECORDED, SpanRow, recorded_spans, requests, shuffled
from tests.rows import write_rows

MADE = {sample.id: sample.calls for sample in trace_samples()}


def results_of(conversation: Conversation) -> dict[str | None, str]:
    messages = conversation.messages
    matched = match_results(messages)
    assert matched.orphans == []
    return {messages[at].calls[place].id: messages[result].text for (at, place), result in matched.by_call.items()}


def is_subsequence(calls: list[Call], of: list[Call]) -> bool:
    rest = iter(of)
    return all(call in rest for call in calls)


def test_fifty_recorded_conversations_have_the_calls_and_results_that_were_made() -> None:
    dataset = callmark.load(RECORDED)
    conversations = list(dataset)
    assert [conversation.id for conversation in conversations] == [sample.id for sample in trace_samples()]
    assert check_fixture(RECORDED, [call for calls in MADE.values() for call in calls]) == ""
    for conversation, sample in zip(conversations, trace_samples(), strict=True):
        texts = [(message.role, message.text) for message in conversation.messages if message.text]
        assert texts == [(message.role, message.text) for message in sample.messages if message.text]
        assert [tool.name for tool in conversation.tools] == [tool["name"] for tool in sample.tools]
    assert dataset.not_captured == {}


def test_unordered_and_interleaved_spans_give_the_same_conversations(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "shuffled.jsonl", *requests(shuffled(recorded_spans(), 1)))
    found = {conversation.id: conversation for conversation in callmark.load(path)}
    assert len(found) == COUNT
    for recorded in callmark.load(RECORDED):
        assert found[recorded.id].messages == recorded.messages
        assert found[recorded.id].tools == recorded.tools


def without_content(span: SpanRow) -> SpanRow:
    return {**span, "attributes": [one for one in span["attributes"] if "messages" not in one["key"]]}


@pytest.mark.parametrize("seed", range(2))
def test_with_spans_missing_every_conversation_is_joined_or_refused(seed: int, tmp_path: Path) -> None:
    spans = [span for index, span in enumerate(shuffled(recorded_spans(), seed)) if index % 3]
    path = write_rows(tmp_path / "missing.jsonl", *requests(spans))
    dataset = callmark.load(path, skip_bad=True)
    seen: set[str] = set()
    for conversation in dataset:
        if conversation.id not in MADE:  # a trace whose spans with the conversation's id are missing
            continue
        assert conversation.id not in seen
        seen.add(conversation.id)
        assert is_subsequence(list(conversation.calls), MADE[conversation.id]), "calls are those that were made, in their order"
        assert all(text == f"result of {call_id}" for call_id, text in results_of(conversation).items())
    assert len(seen) + dataset.bad_rows >= COUNT - 5
    assert dataset.not_captured["spans whose parent is missing"] > 0


def test_a_call_that_is_missing_everywhere_but_in_its_tool_span_is_added_and_reported(tmp_path: Path) -> None:
    spans = recorded_spans()
    last_chat: dict[str, str] = {}
    for span in spans:
        names = {one["key"]: one["value"].get("stringValue", "") for one in span["attributes"]}
        if names.get("gen_ai.operation.name") == "chat" and "tool_call" in names["gen_ai.output.messages"]:
            last_chat[names["gen_ai.conversation.id"]] = span["spanId"]
    lost = {"conversation-00", "conversation-07", "conversation-30"} & last_chat.keys()
    kept = [span for span in spans if span["spanId"] not in {last_chat[name] for name in lost}]
    dataset = callmark.load(write_rows(tmp_path / "lost.jsonl", *requests(kept)), skip_bad=True)
    found = {conversation.id: list(conversation.calls) for conversation in dataset}
    assert len(lost) > 1
    assert all(found[name] == MADE[name] for name in lost)


def test_where_content_was_not_captured_each_conversation_is_refused_with_what_to_do(tmp_path: Path) -> None:
    hidden = {"conversation-03", "conversation-04"}
    spans = [
        without_content(span) if any(one["value"].get("stringValue") in hidden for one in span["attributes"]) else span
        for span in recorded_spans()
    ]
    path = write_rows(tmp_path / "hidden.jsonl", *requests(spans))
    dataset = callmark.load(path, skip_bad=True)
    assert {conversation.id for conversation in dataset} == MADE.keys() - hidden
    assert dataset.bad_rows == len(hidden)
    with pytest.raises(callmark.BadInput, match="conversation 4: no message was captured, only") as error:
        list(callmark.load(path))
    assert "Turn on the capture of message content" in error.value.hint


def test_a_broken_row_does_not_keep_the_others_from_being_joined(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    lines = [json.dumps(request) for request in requests(recorded_spans(), size=40)]
    path.write_text("\n".join([lines[0], '{"resourceSpans": [{', *lines[1:]]), encoding="utf-8")
    with pytest.raises(callmark.BadInput, match=r"broken.jsonl, line 2: not valid JSON"):
        list(callmark.load(path))
    dataset = callmark.load(path, skip_bad=True)
    assert (len(list(dataset)), dataset.bad_rows) == (COUNT, 1)
