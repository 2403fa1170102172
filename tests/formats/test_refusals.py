"""What is not known is refused with a sentence that names it, never ignored."""

import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from tests.rows import assistant, call, row, user, write_rows

CALL = call("f", {"a": 1})


@pytest.mark.parametrize(
    "given, sentence",
    [
        (
            row(user("hi"), {"role": "observer", "content": "x"}),
            "messages[1].role: unknown role 'observer', expected system, developer, user, assistant, tool or function",
        ),
        (row({"role": "model", "content": "x"}), "messages[0].role: unknown role 'model'"),
        (
            row({"role": "assistant", "tool_callz": [CALL]}),
            "messages[0].tool_callz: unknown key, which may hold tool calls (expected tool_calls)",
        ),
        (row({"role": "assistant", "functions_used": "f(a=1)"}), "messages[0].functions_used: unknown key, which may hold tool calls"),
        (row({"role": "assistant", "tool_call": "f(a=1)"}), "messages[0].tool_call: unknown key, which may hold tool calls"),
        (row({"role": "assistant", "calls": [1, 2]}), "messages[0].calls: unknown key, which may hold tool calls"),
        (row({"role": "assistant", "tool_calls": [CALL], "toolCalls": [call("g")]}), "messages[0].toolCalls: two different lists of calls"),
        (
            row(user("hi"), {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "tool_invocation", "x": 1}]}),
            "messages[1].content[1]: unknown content part of type 'tool_invocation', which may hold a tool call",
        ),
        (
            row(
                {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}], "tool_calls": None, "tool_call_id": "x"}
            ),
            "messages[0].content[0]: unknown content part of type 'tool_use', which may hold a tool call",
        ),
        (
            row({"role": "assistant", "content": [{"type": "step", "functionCall": {"name": "f"}}]}),
            "messages[0].content[0]: unknown content part with the key 'functionCall', which may hold a tool call",
        ),
        (
            row({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "output": 1}]}),
            "messages[0].content[0]: unknown content part of type 'tool-result', which may hold a tool call",
        ),
        (row(user("hi"), tool_calls=[CALL]), "tool_calls: unknown key, which may hold tool calls"),
        (row(user("hi"), model_tool_calls=json.dumps([CALL])), "model_tool_calls: unknown key, which may hold tool calls"),
        (row(user("hi"), expected_output={"calls": [CALL]}), "expected_output.calls: unknown key, which may hold tool calls"),
    ],
)
def test_a_row_that_may_hold_unread_calls_is_refused(tmp_path: Path, given: dict[str, Any], sentence: str) -> None:
    path = write_rows(tmp_path / "x.jsonl", row(user("a"), assistant(CALL)), given)
    with pytest.raises(BadInput) as refused:
        list(callmark.load(path, format_name="openai"))
    assert f"{path}, line 2: {sentence}" in str(refused.value)
    skipping = callmark.load(path, format_name="openai", skip_bad=True)
    assert (len(list(skipping)), skipping.bad_rows) == (1, 1)


@pytest.mark.parametrize("key", ["toolCalls", "tool_call", "function_calls", "functionCalls", "calls", "tool_uses", "invalid_tool_calls"])
@pytest.mark.parametrize("as_text", [False, True])
def test_calls_under_the_keys_of_other_programs_are_read(key: str, as_text: bool) -> None:
    calls = [CALL, {"name": "g", "args": {}}]
    given = row(
        user("hi"), {"role": "assistant", "content": None, key: json.dumps(calls) if as_text else calls}, user("b"), assistant(CALL)
    )
    (read,) = callmark.load([given])
    assert [made.name for made in read.messages[1].calls] == ["f", "g"]
    points = list(callmark.expand([given]))
    assert [str(point.expected[0]) for point in points] == ["f(a=1)", "g()", "f(a=1)"]
    assert not any(made.name == "g" for message in points[1].messages for made in message.calls)
    assert f'"{key}"' not in json.dumps([json.loads(line) for line in _lines(points)])


def _lines(points: list[Any]) -> list[bytes]:
    from callmark.formats.openai import write

    return [write(point) for point in points]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "x", "tool_calls": None, "function_call": None, "parallel_tool_calls": True, "tool_plan": "so"},
        {"role": "assistant", "content": "x", "toolCalls": [], "calls": None, "call_count": 3, "is_tool_call": False},
        {"role": "tool", "content": [{"tool": "hammer", "calls": 1}, {"type": "function", "x": 1}], "tool_name": "f"},
        {"role": "tool", "content": {"function": "x"}, "function": "f"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}, {"text": "a"}]},
    ],
)
def test_what_holds_no_calls_is_not_refused(message: dict[str, Any]) -> None:
    (read,) = callmark.load([row(user("hi"), message, assistant(CALL))], format_name="openai")
    assert not read.messages[1].calls


def test_unknown_parts_are_kept_and_counted() -> None:
    parts = [{"type": "sticker", "id": "s"}, {"type": "poll", "text": "yes?"}, {"type": "sticker"}]
    given = row({"role": "user", "content": parts}, assistant(CALL))
    dataset = callmark.load([given, given])
    assert [read.messages[0].text for read in dataset] == ["[sticker]\nyes?\n[sticker]"] * 2
    assert dataset.unknown_parts == {"sticker": 4, "poll": 2}
    cases = [json.loads(line) for line in _lines(list(callmark.expand([row({"role": "user", "content": parts}, *[assistant(CALL)] * 9)])))]
    read_cases = callmark.load(cases)
    assert len(list(read_cases)) == 9
    assert read_cases.unknown_parts == {"sticker": 18, "poll": 9}, "also where rows share their messages"


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"id": "q", "text": "ok", "model_tool_calls": [CALL]}, "model_tool_calls: unknown key, which may hold tool calls"),
        ({"id": "q", "content": [{"type": "tool_invocation", "x": 1}]}, "[0]: unknown content part of type 'tool_invocation'"),
        ({"id": "q", "output": [{"role": "observer", "content": "x"}]}, "[0].role: unknown role 'observer', expected assistant"),
        ({"id": "q", "role": "user", "content": "x"}, "role: expected 'assistant', got 'user'"),
    ],
)
def test_a_prediction_that_may_hold_unread_calls_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_prediction(json.dumps(given).encode())
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {"id": "q", "role": "assistant", "content": '<tool_call>{"name": "f", "arguments": {}}</tool_call>'},
        {"id": "q", "choices": [{"message": {"role": "assistant", "content": '[TOOL_CALLS][{"name": "f", "arguments": {}}]'}}]},
    ],
)
def test_calls_in_the_text_of_a_response_are_an_error_until_they_are_parsed(given: dict[str, Any]) -> None:
    found = read_prediction(json.dumps(given).encode()).prediction
    assert found.error.startswith('unrecognized tool-call format: "')
    assert found.error.endswith(" in the text of a response without calls (--parse auto parses it)")
    assert [made.name for made in read_prediction(json.dumps(given).encode(), parse="auto").prediction.calls] == ["f"]


@pytest.mark.parametrize("actual", ["<|plugin_call|>f{a}", {"role": "assistant", "content": "<|plugin_call|>f{a}"}])
def test_calls_in_an_unrecognized_format_cannot_be_graded_in_memory(actual: Any) -> None:
    with pytest.raises(BadInput, match=r'unrecognized tool-call format: "<\|plugin_call\|>"'):
        callmark.grade([CALL], actual)
