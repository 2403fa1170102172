"""How the spans of a conversation become its messages: histories, results, agents, what is missing, and hostile input."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.formats import joining
from callmark.formats.traces import conversations
from callmark.types import Conversation
from tests.formats.traces.spans import SpanRow, called, chat, requests, result, said, shuffled, span, tool, user
from tests.rows import write_rows


def load(spans: Sequence[SpanRow], *, skip_bad: bool = False) -> callmark.Dataset:
    return callmark.load(requests(spans), skip_bad=skip_bad)


def outline(conversation: Conversation) -> list[str]:
    """Return each message as its role's initial, with its text or calls."""
    return [f"{message.role[0]} {message.text or ', '.join(map(str, message.calls))}" for message in conversation.messages]


def outlines(spans: Sequence[SpanRow]) -> list[list[str]]:
    return [outline(conversation) for conversation in load(spans)]


ASK = user("Weather in Bonn?")
CALL = called("weather", {"city": "Bonn"}, "c1")
RAIN = result("rain", "c1")
BASIC = [
    chat("a", [ASK], [CALL], 1),
    tool("b", "weather", {"city": "Bonn"}, "rain", 2, gen_ai__tool__call__id="c1"),
    chat("c", [ASK, CALL, RAIN], [said("Rain.")], 3),
]
OUTLINE = ["u Weather in Bonn?", 'a weather(city="Bonn")', "t rain", "a Rain."]


@pytest.mark.parametrize(
    "spans",
    [
        pytest.param(BASIC, id="all spans"),
        pytest.param(shuffled(BASIC, 3), id="unordered"),
        pytest.param(BASIC[2:], id="only the last request"),
        pytest.param([BASIC[0], BASIC[2]], id="no tool span"),
        pytest.param([*BASIC, {**BASIC[2], "spanId": "again"}], id="a request recorded twice"),
        pytest.param([*BASIC, {**BASIC[0], "spanId": "again", "parentSpanId": "a"}], id="a request recorded by two instrumentations"),
        pytest.param([BASIC[0], BASIC[1], chat("c", [RAIN], [said("Rain.")], 3)], id="the server has the history"),
        pytest.param(
            [BASIC[0], BASIC[1], chat("c", [ASK, called("weather", {"city": "Bonn"}), result("rain")], [said("Rain.")], 3)],
            id="ids only where the call was made",
        ),
        pytest.param(
            [
                *BASIC,
                span("m", "b", 2, mcp__method__name="tools/call", gen_ai__tool__name="weather", gen_ai__tool__call__result="rain"),
                span("s", "m", 2, mcp__method__name="tools/call", gen_ai__tool__name="weather", gen_ai__tool__call__result="rain"),
            ],
            id="MCP spans inside the tool span",
        ),
    ],
)
def test_a_conversation_is_read_once_however_it_was_recorded(spans: list[SpanRow]) -> None:
    assert outlines(spans) == [OUTLINE]


def test_an_mcp_span_without_an_outer_tool_span_gives_the_result() -> None:
    inner = span("m", "", 2, mcp__method__name="tools/call", gen_ai__tool__name="weather", gen_ai__tool__call__result="rain")
    assert outlines([BASIC[0], inner]) == [OUTLINE[:3]]


def test_a_result_that_only_the_tool_span_has_belongs_to_its_call() -> None:
    calls = {"role": "assistant", "parts": [*CALL["parts"], *called("weather", {"city": "Kiel"}, "c2")["parts"]]}
    spans = [
        chat("a", [ASK], [calls], 1),
        tool("b", "weather", {"city": "Kiel"}, "sun", 2),
        tool("c", "weather", {"city": "Bonn"}, "rain", 3),
    ]
    [conversation] = load(spans)
    assert [(message.tool_call_id, message.text) for message in conversation.messages[2:]] == [("c2", "sun"), ("c1", "rain")]


def test_what_the_model_said_counts_where_the_history_tells_it_in_another_way() -> None:
    broken = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city": "Bonn'}]}
    repaired = called("weather", {}, "c1")
    [conversation] = load([chat("a", [ASK], [broken], 1), chat("b", [ASK, repaired, result("error", "c1")], [said("Sorry.")], 2)])
    assert [call.malformed != "" for call in conversation.calls] == [True]


def test_a_response_that_no_later_request_has_is_left_out_and_reported() -> None:
    dataset = load([chat("a", [ASK], [said("Hm.")], 1), chat("b", [ASK], [CALL], 2), chat("c", [ASK, CALL, RAIN], [said("Rain.")], 3)])
    assert [outline(conversation) for conversation in dataset] == [OUTLINE]
    assert dataset.not_captured == {"model responses that appear in no later request": 1}


def test_a_history_without_its_first_messages_is_joined_with_what_is_known() -> None:
    more, other = user("And Kiel?"), called("weather", {"city": "Kiel"}, "c2")
    dataset = load([*BASIC, chat("d", [said("Rain."), more], [other], 4)])
    assert [outline(conversation) for conversation in dataset] == [[*OUTLINE, "u And Kiel?", 'a weather(city="Kiel")']]
    assert dataset.not_captured == {"requests without the first messages of their conversation": 1}


def test_a_subagent_is_a_conversation_of_its_own() -> None:
    spans = [
        chat("a", [ASK], [called("expert", {"question": "Bonn?"}, "c1")], 1),
        tool("b", "expert", {"question": "Bonn?"}, "rain", 2, gen_ai__tool__call__id="c1"),
        chat("x", [user("Bonn?")], [called("radar", {}, "c9")], 3, parent="b"),
        tool("y", "radar", {}, "wet", 4, parent="b", gen_ai__tool__call__id="c9"),
    ]
    assert outlines(spans) == [
        ["u Weather in Bonn?", 'a expert(question="Bonn?")', "t rain"],
        ["u Bonn?", "a radar()", "t wet"],
    ]
    assert [conversation.id for conversation in load(spans)] == ["t", "t~2"]


def test_a_classifier_in_the_same_trace_is_a_conversation_of_its_own() -> None:
    classify = [{"type": "text", "content": "Classify."}]
    spans = [chat("z", [ASK], [said("weather")], 0, gen_ai__system_instructions=classify), *BASIC]
    assert outlines(spans) == [["s Classify.", "u Weather in Bonn?", "a weather"], OUTLINE]


def test_traces_of_one_conversation_are_joined_and_others_are_not() -> None:
    named = {"gen_ai__conversation__id": "chat-1"}
    more = chat("d", [ASK, CALL, RAIN, said("Rain."), user("Thanks.")], [said("Bye.")], 9, trace="t2", **named)
    first = [chat("a", [ASK], [CALL], 1, **named), *BASIC[1:]]
    other = chat("o", [ASK], [said("I do not know.")], 5, trace="t3", gen_ai__conversation__id="chat-2")
    assert outlines([other, more, *first]) == [["u Weather in Bonn?", "a I do not know."], [*OUTLINE, "u Thanks.", "a Bye."]]
    assert [conversation.id for conversation in load([other, more, *first])] == ["chat-2", "chat-1"]


def test_a_call_that_the_program_made_itself_is_not_the_agents() -> None:
    dataset = load([*BASIC, tool("w", "log_usage", {"n": 1}, "ok", 2)])
    assert [outline(conversation) for conversation in dataset] == [OUTLINE]
    assert list(dataset.not_captured) == ["messages with calls from tool spans, which the program may have made itself"]


def test_an_agent_whose_requests_are_missing_is_read_from_its_input_and_tool_spans() -> None:
    agent = span(
        "r", "", 1, gen_ai__operation__name="invoke_agent", gen_ai__input__messages=[ASK], gen_ai__output__messages=[said("Rain.")]
    )
    agent["endTimeUnixNano"] = str(9 * 10**9)
    dataset = load([agent, {**BASIC[1], "parentSpanId": "r"}])
    assert [outline(conversation) for conversation in dataset] == [OUTLINE]
    assert dataset.not_captured == {"responses with calls that appear only in tool spans": 1, "responses to model requests": 1}


@pytest.mark.parametrize(
    "spans, message",
    [
        pytest.param([chat("a", None, None)], "no message was captured, only 1 model request", id="content off"),
        pytest.param([tool("b", "f", {}, "x", 1)], "no message was captured, only 1 tool span", id="only tools"),
        pytest.param(
            [chat("a", [ASK], [said("ok")], 1), tool("b", "f", None, "x", 2)],
            "the arguments of the call to 'f' were not captured",
            id="arguments off",
        ),
        pytest.param([{**chat("a", [ASK], [CALL]), "parentSpanId": "a"}], "span 'a' is its own ancestor", id="own parent"),
        pytest.param(
            [chat("a", [ASK], [CALL], parent="b"), chat("b", [ASK], [CALL], parent="a")], "is its own ancestor", id="cyclic parents"
        ),
        pytest.param(
            [span("a", gen_ai__operation__name="chat", gen_ai__input__messages='[{"role": "user", "parts": [{"type": "te')],
            "gen_ai.input.messages: expected JSON, got text that is not JSON",
            id="cut off",
        ),
        pytest.param(
            [chat("a", [{"role": "narrator", "parts": []}], [CALL])], "unknown role 'narrator'", id="unknown role"
        ),
        pytest.param(
            [chat("a", [{"role": "user", "parts": [{"type": "my_tool_use"}]}], [CALL])], "may hold a tool call", id="unknown part"
        ),
        pytest.param(
            [chat("a", [ASK, said("Hm."), RAIN], [said("Rain.")])],
            "a tool result refers to a call that appears in no message",
            id="lost call",
        ),
    ],
)  # fmt: skip
def test_a_conversation_that_cannot_be_joined_is_refused_and_the_others_are_not(spans: list[SpanRow], message: str) -> None:
    other = [{**one, "traceId": "other"} for one in BASIC]
    dataset = load([*spans, *other], skip_bad=True)
    assert [outline(conversation) for conversation in dataset] == [OUTLINE]
    assert dataset.bad_rows == 1
    with pytest.raises(callmark.BadInput) as error:
        list(load([*spans, *other]))
    assert message in str(error.value)
    assert str(error.value).startswith("conversation 1: ")


def test_a_failed_request_is_reported_and_its_retry_is_read() -> None:
    failed = chat("f", [ASK], None, 0) | {"status": {"code": 2, "message": "503"}}
    dataset = load([failed, *BASIC])
    assert [outline(conversation) for conversation in dataset] == [OUTLINE]
    assert dataset.not_captured == {"failed model requests": 1}


def test_spans_of_other_kinds_are_no_conversation() -> None:
    dataset = load([span("h", http__method="GET"), *[{**one, "traceId": "x"} for one in BASIC]])
    assert [outline(conversation) for conversation in dataset] == [OUTLINE]
    assert dataset.not_captured == {"traces without a model request, a tool call or an agent run": 1}


def nested_value(levels: int) -> Any:
    value: Any = {"stringValue": "x"}
    for _ in range(levels):
        value = {"arrayValue": {"values": [value]}}
    return value


def test_deeply_nested_attributes_refuse_their_conversation() -> None:
    deep = span("a", gen_ai__operation__name="chat")
    deep["attributes"].append({"key": "gen_ai.input.messages", "value": nested_value(300)})
    dataset = load([deep, *[{**one, "traceId": "x"} for one in BASIC]], skip_bad=True)
    assert (len(list(dataset)), dataset.bad_rows) == (1, 1)


def test_a_conversation_that_is_too_large_is_refused_with_what_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MAX_PIECES", 2)
    with pytest.raises(callmark.BadInput, match="conversation 1: a conversation of 3 spans") as error:
        list(load(BASIC))
    assert "Check that session or conversation IDs are not shared" in error.value.hint


def test_large_files_are_joined_from_a_temporary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_IN_MEMORY", 1)
    assert outlines(BASIC) == [OUTLINE]


def test_many_unrelated_requests_in_one_trace_are_not_compared_with_each_other() -> None:
    spans = [chat(f"s{index}", [user(f"Question {index}")], [said(f"Answer {index}")], index) for index in range(300)]
    assert len(outlines(spans)) == 300


def test_a_long_chain_of_spans_is_read_in_one_pass() -> None:
    chain = [span(f"s{index}", f"s{index - 1}", 1, note="x") for index in range(1, 4_000)]
    inner = {**BASIC[0], "parentSpanId": "s3999"}
    assert outlines([*chain, inner, *BASIC[1:]]) == [OUTLINE]


def test_too_many_requests_that_may_belong_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "_MAX_WORK", 1000)
    spans = [chat(f"s{index}", [user("Hi"), said(f"Answer {index}")], [said("Bye")], index) for index in range(50)]
    with pytest.raises(callmark.BadInput, match="too many requests without a common history"):
        outlines(spans)


def test_rows_in_any_of_the_forms_of_a_service_are_joined(tmp_path: Path) -> None:
    observation = {"id": "g", "traceId": "t", "parentObservationId": None, "type": "GENERATION", "input": "Hi", "output": "Hello"}
    forms: list[list[Any]] = [
        [observation],
        [{"data": [observation], "meta": {}}],
        [{"trace": {"id": "t", "sessionId": "s"}, "observations": [observation]}],
        [{"id": "t", "observations": [observation]}],
    ]
    for rows in forms:
        path = write_rows(tmp_path / "rows.jsonl", *rows)
        assert [outline(conversation) for conversation in callmark.load(path)] == [["u Hi", "a Hello"]]
        path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
        assert [outline(conversation) for conversation in callmark.load(path)] == [["u Hi", "a Hello"]]
