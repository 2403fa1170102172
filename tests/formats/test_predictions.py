"""Predictions of every shape are read, their case is named, errors are not predictions, and nothing is lost."""

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.shapes import read_call
from callmark.calls.strict import scrub
from callmark.errors import BadInput, BrokenRow
from callmark.formats.dataset import BadRow
from callmark.formats.prediction_lines import write_prediction
from callmark.formats.predictions import PredictionRow, Predictions, read_prediction
from callmark.types import Call, Prediction
from tests.formats.test_write_and_read import good_calls, ids, texts, words
from tests.rows import assistant, call, result, user, write_rows

CALL = call("f", {"a": 1})
FLAT = {"name": "f", "arguments": {"a": 1}}
TAGGED = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
MADE = ["f(a=1)"]
MESSAGE = assistant(CALL, text="let me see")
COMPLETION = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}]}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "error": None,
    "text": {"format": {"type": "text"}},
    "reasoning": {"effort": "low"},
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "let me see", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a": 1}'},
    ],
}
ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "text", "text": "let me see"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
    ],
}
HOSTED = {
    "object": "eval.run.output_item",
    "id": "outputitem_1",
    "run_id": "evalrun_1",
    "status": "fail",
    "datasource_item_id": 3,
    "datasource_item": {"id": "q1", "messages": [user("hi")]},
    "results": [{"name": "grader", "passed": False, "score": 0.0}],
    "sample": {"input": [user("hi")], "output": [MESSAGE], "finish_reason": "tool_calls", "error": None},
}


def read(row: Any, **options: Any) -> PredictionRow:
    return read_prediction(row.encode() if isinstance(row, str) else json.dumps(row).encode(), **options)


def without(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


def batch(body: Any, status: int = 200, **more: Any) -> dict[str, Any]:
    return {"id": "batch_req_1", "custom_id": "q1", "response": {"status_code": status, "body": body}, "error": None, **more}


SHAPES: dict[str, tuple[Any, str | None, str]] = {
    "own": ({"case": "q1", "trial": 0, "calls": [FLAT], "text": "let me see"}, "q1", "let me see"),
    "own, by hand": ({"case": "q1", "calls": [CALL]}, "q1", ""),
    "output_tools": ({"id": "q1", "output_tools": [CALL]}, "q1", ""),
    "tool_calls, a number for id": ({"id": 7, "tool_calls": [CALL], "content": "let me see"}, "7", "let me see"),
    "function_calls": ({"case_id": "q1", "function_calls": [{"functionName": "f", "arguments": {"a": 1}}]}, "q1", ""),
    "calls without an id": ({"calls": [{"tool": FLAT}], "output_text": "let me see"}, None, "let me see"),
    "one call instead of a list": ({"id": "q1", "tool_calls": CALL}, "q1", ""),
    "calls as a JSON string": ({"id": "q1", "output_tools": json.dumps([CALL])}, "q1", ""),
    "the first list that is not empty": ({"id": "q1", "tool_calls": [], "output_tools": [CALL]}, "q1", ""),
    "a lone surrogate elsewhere": ('{"id": "q1", "tool_calls": [{"name": "f", "arguments": {"a": 1}}], "x": "\\ud800"}', "q1", ""),
    "older function_call": ({"id": "q1", "function_call": FLAT}, "q1", ""),
    "a text beside that is none": ({"id": "q1", "tool_calls": [CALL], "answer": 5, "prediction": {"gold": 1}}, "q1", ""),
    "an object beside that is no answer": ({"id": "q1", "response": {"latency": 3}, "message": {"x": 1}, "text": TAGGED}, "q1", ""),
    "rows beside": ({"id": "q1", "tool_calls": [CALL], "rows": [1]}, "q1", ""),
    "an item that is not the case": ({"id": "q1", "item": {"id": "sku-9"}, "tool_calls": [CALL]}, "q1", ""),
    "a sample": ({"id": "q1", "sample": {"output_tools": [CALL], "output_text": "let me see"}}, "q1", "let me see"),
    "a sample with its item": ({"item": {"id": "q1"}, "sample": {"output_tools": [CALL]}}, "q1", ""),
    "a sample with its wrapped item": ({"id": "outputitem_1", "item": {"item": {"id": 4}}, "sample": {"output_tools": [CALL]}}, "4", ""),
    "hosted": (HOSTED, "q1", "let me see"),
    "hosted, wrapped item": ({**HOSTED, "datasource_item": {"item": {"id": "q1"}}}, "q1", "let me see"),
    "hosted, sample in the grader's form": (
        {**HOSTED, "sample": {"output_tools": [], "output": [MESSAGE], "error": {"code": "", "message": ""}}},
        "q1",
        "let me see",
    ),
    "a batch of chats": (batch(COMPLETION), "q1", "let me see"),
    "a batch of responses": (batch(RESPONSE), "q1", "let me see"),
    "a completion": (COMPLETION, None, "let me see"),
    "a completion that names its case": ({**COMPLETION, "custom_id": "q1"}, "q1", "let me see"),
    "a completion of several choices": ({**COMPLETION, "choices": [{"message": MESSAGE}, {"message": assistant()}]}, None, "let me see"),
    "a Responses body": (RESPONSE, None, "let me see"),
    "a Responses body that names its case": ({**RESPONSE, "case": "q1"}, "q1", "let me see"),
    "a message": (MESSAGE, None, "let me see"),
    "a message with an id": ({"id": "q1", **MESSAGE}, "q1", "let me see"),
    "a message inside": ({"id": "q1", "message": MESSAGE}, "q1", "let me see"),
    "an Anthropic message": (ANTHROPIC, None, "let me see"),
    "an Anthropic message inside": ({"id": "q1", "response": ANTHROPIC}, "q1", "let me see"),
    "parts beside calls": ({"id": "q1", **MESSAGE, "content": [{"type": "text", "text": "let me see"}]}, "q1", "let me see"),
    "a completion inside": ({"id": "q1", "response": COMPLETION}, "q1", "let me see"),
    "calls under a text's key": ({"id": "q1", "prediction": [FLAT]}, "q1", ""),
    "a call under a text's key": ({"id": "q1", "output": {"tool_calls": [FLAT]}}, "q1", ""),
    "evaluation results": (
        {"inputs.id": "q1", "inputs.instructions": "x", "outputs.function_calls": [FLAT], "outputs.error_message": None},
        "q1",
        "",
    ),
}


@pytest.mark.parametrize("row, case, text", SHAPES.values(), ids=SHAPES)
def test_structured_rows_of_every_shape_are_read(row: Any, case: str | None, text: str) -> None:
    found = read(row)
    assert [str(made) for made in found.prediction.calls] == MADE
    assert (found.case, found.prediction.case, found.prediction.text) == (case, case or "", text)
    assert (found.prediction.error, found.position, found.text == "raw") == ("", None, TAGGED in str(row))


@pytest.mark.parametrize(
    "key", ["text", "output", "completion", "response", "prediction", "generated_text", "content", "answer", "message"]
)
def test_calls_are_parsed_from_text(key: str) -> None:
    found = read({"id": "q1", key: f"<think>hm</think>so {TAGGED}"})
    assert [str(made) for made in found.prediction.calls] == MADE
    assert (found.case, found.prediction.text, found.prediction.thinking, found.text) == ("q1", "so", "hm", "raw")


def test_row_can_be_a_bare_string() -> None:
    found = read(json.dumps(TAGGED))
    assert ([str(made) for made in found.prediction.calls], found.case, found.text) == (MADE, None, "raw")
    assert read('"I do not know."\n').prediction == Prediction("", text="I do not know.")
    assert read({"id": "q1", "choices": [{"text": TAGGED}]}).text == "raw"


@pytest.mark.parametrize("row", [{"text": "[f(a=1)]"}, {"tool_calls": None, "content": "[f(a=1)]"}, assistant(text="[f(a=1)]")])
def test_a_named_text_format_is_used(row: dict[str, Any]) -> None:
    assert [str(made) for made in read(row, parse="pythonic").prediction.calls] == MADE
    assert read(row, parse="hermes").prediction.calls == ()


@pytest.mark.parametrize(
    "row",
    [
        {"id": "q1", "tool_calls": [], "text": TAGGED},
        {"id": "q1", "tool_calls": None, "content": TAGGED},
        {"id": "q1", "output_tools": "", "output_text": TAGGED},
        {"id": "q1", "tool_calls": [], "text": TAGGED, "answer": [1, 2], "prediction": {"gold": 1}, "message": {"x": 1}},
        {"id": "q1", **assistant(text=TAGGED)},
        {"id": "q1", "message": assistant(text=TAGGED)},
        {"id": "q1", "sample": {"output": [assistant(text=TAGGED)]}},
        {"id": "q1", "response": {**ANTHROPIC, "content": [{"type": "text", "text": TAGGED}]}},
        batch({"choices": [{"message": assistant(text=TAGGED)}]}),
    ],
)
def test_text_with_empty_calls_is_parsed_only_on_request(row: dict[str, Any]) -> None:
    kept = read(row)
    assert (kept.prediction.calls, kept.prediction.text, kept.text) == ((), TAGGED, "response")
    asked = read(row, parse="auto")
    assert ([str(made) for made in asked.prediction.calls], asked.prediction.text) == (MADE, "")


def test_structured_calls_win_over_a_named_text_format() -> None:
    found = read({"id": "q1", "tool_calls": [call("g")], "text": TAGGED}, parse="auto")
    assert ([made.name for made in found.prediction.calls], found.prediction.text, found.text != "raw") == (["g"], TAGGED, True)


@pytest.mark.parametrize(
    "row, thinking",
    [
        (RESPONSE, "hm"),
        (ANTHROPIC, "hm"),
        ({"id": "q1", "message": {**MESSAGE, "reasoning_content": "hm"}}, "hm"),
        ({"id": "q1", "reasoning": "first", "text": "<think>then</think>so"}, "first\nthen"),
    ],
)
def test_thinking_is_separated_from_text(row: dict[str, Any], thinking: str) -> None:
    assert read(row).prediction.thinking == thinking


@pytest.mark.parametrize(
    "row, case, position",
    [
        (without(HOSTED, "datasource_item"), None, 3),
        ({**HOSTED, "datasource_item": {"messages": []}}, None, 3),
        ({**HOSTED, "datasource_item": None, "datasource_item_id": 0}, None, 0),
        (without(HOSTED, "datasource_item", "datasource_item_id"), None, None),
        ({"id": "", "tool_calls": []}, None, None),
        ({"id": None, "tool_calls": []}, None, None),
        ({"id": 2.5, "tool_calls": []}, "2.5", None),
        ({"id": "row-1", "case": "q1", "tool_calls": []}, "q1", None),
        ({"id": "row-1", "datasource_item_id": 3, "tool_calls": []}, None, 3),
    ],
)
def test_case_id_or_position_is_read(row: dict[str, Any], case: str | None, position: int | None) -> None:
    found = read(row)
    assert (found.case, found.position) == (case, position)


ERRORS: dict[str, tuple[Any, str]] = {
    "text": ({"id": "q1", "error": "timed\n out "}, "timed out"),
    "an object": ({"id": "q1", "error": {"code": "rate_limit", "message": "slow down"}}, "rate_limit: slow down"),
    "a code alone": ({"id": "q1", "error": {"code": 7, "message": None}}, "7"),
    "any other object": ({"id": "q1", "error": {"why": "no"}}, '{"why":"no"}'),
    "nested": (
        {"id": "q1", "error": {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}},
        "overloaded_error: Busy",
    ),
    "error_message": ({"id": "q1", "tool_calls": [], "error_message": "refused"}, "refused"),
    "lone surrogate": ('{"id": "q1", "error": "\\ud800"}', "\\ud800"),
    "of a sample": ({**HOSTED, "sample": {"output": [], "error": {"code": "server_error", "message": "oops"}}}, "server_error: oops"),
    "a status": ({**HOSTED, "sample": None, "status": "errored"}, "status 'errored'"),
    "of a batch": (batch(None, error={"code": "batch_expired", "message": "too late"}), "batch_expired: too late"),
    "of a batch without response": ({**batch(None), "response": None, "error": {"message": "too late"}}, "too late"),
    "of HTTP": (batch({"error": {"message": "slow\ndown", "code": "429"}}, 429), "HTTP 429: slow down"),
    "of HTTP, without words": (batch(None, 500), "HTTP 500"),
    "of HTTP, in text": (batch("Bad gateway", 502), "HTTP 502: Bad gateway"),
    "no body": (batch(None), "the response has no body"),
    "an error for a body": (batch({"error": {"message": "oops"}}), "oops"),
    "no choices": ({**COMPLETION, "choices": []}, "the response has no choices"),
    "no choices in a batch": (batch({**COMPLETION, "choices": None}), "the response has no choices"),
    "a cancelled response": ({**RESPONSE, "status": "cancelled", "output": []}, "status 'cancelled'"),
    "null for a message": ({"id": "q1", "message": None}, "empty response: message is null"),
    "null for an answer": ({"id": "q1", "prediction": None}, "empty response: prediction is null"),
    "evaluation results": ({"inputs.id": "q1", "outputs.function_calls": [], "outputs.error_message": "oops"}, "oops"),
}


@pytest.mark.parametrize("row, error", ERRORS.values(), ids=ERRORS)
def test_an_error_is_one_line(row: Any, error: str) -> None:
    found = read(row)
    assert (found.prediction.error, found.prediction.calls, found.text != "raw") == (error, (), True)


def test_a_long_error_is_cut() -> None:
    said = read({"id": "q1", "error": "x" * 1_000_000}).prediction.error
    assert (len(said), said[-1]) == (501, "…")


@pytest.mark.parametrize("nothing", [None, "", " ", {}, [], False, {"code": None, "message": ""}])
def test_an_empty_error_is_not_an_error(nothing: Any) -> None:
    assert read({"id": "q1", "tool_calls": [CALL], "error": nothing}).prediction.error == ""


@pytest.mark.parametrize("status", ["fail", "pass", "completed", "incomplete", 5, None])
def test_a_graded_failure_is_not_an_error(status: Any) -> None:
    assert read({**HOSTED, "status": status}).prediction.error == ""


@pytest.mark.parametrize("key", ["trial", "repeat"])
def test_the_trial_is_read(key: str) -> None:
    assert read({"id": "q1", key: 3, "tool_calls": []}).prediction.trial == 3
    assert read({"id": "q1", key: None, "tool_calls": []}).prediction.trial == 0
    wrongs: list[Any] = [-1, 1.5, 1.0, "1", True, [], 10**30]
    for wrong in wrongs:
        with pytest.raises(BadInput, match=f"{key}: expected an integer of at least 0"):
            read({"id": "q1", key: wrong, "tool_calls": []})


CONVERSATION = {"id": "s1", "messages": [user("hi"), MESSAGE, result("ok"), assistant(call("g"), text="so"), result("ok"), assistant(CALL)]}


def test_a_whole_conversation_is_a_prediction_for_a_scenario_only() -> None:
    found = read(CONVERSATION, whole=True)
    assert [str(made) for made in found.prediction.calls] == ["f(a=1)", "g()", "f(a=1)"]
    assert (found.case, found.prediction.text, found.text != "raw") == ("s1", "so", True)
    with pytest.raises(BadInput, match="messages: expected a prediction for one decision point, got a conversation or test case"):
        read(CONVERSATION)
    assert [made.name for made in read({**CONVERSATION, "tool_calls": [call("h")]}, whole=True).prediction.calls] == ["h"]
    assert len(read({**CONVERSATION, "text": "so"}, whole=True).prediction.calls) == 3
    anthropic = {"id": "s1", "messages": [user("hi"), ANTHROPIC, {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]}
    assert [str(made) for made in read(anthropic, whole=True).prediction.calls] == MADE


@pytest.mark.parametrize(
    "row, sentence",
    [
        ({"id": "q1", "tool_calls": 5}, "tool_calls: expected a list of calls, got a number"),
        ({"id": "q1", "calls": True}, "calls: expected a list of calls, got a boolean"),
        ({"id": "q1", "output_tools": "f(x)"}, "output_tools: expected a list of calls, got a string that is not a JSON list"),
        ({"id": "q1", "output_tools": '"[]"'}, "output_tools: expected a list of calls, got a string that is not a JSON list"),
        ({"id": "q1", "output_tools": "[" * 100_000}, "output_tools: expected a list of calls, got a string that is not a JSON list"),
        ({"id": "q1", "foo": 1}, "no prediction found: expected calls, tool_calls, output_tools"),
        ({}, "got no keys"),
        ({"id": "q1", "answer": 5}, "answer: expected a string, got a number"),
        ({"id": "q1", "output": {"foo": 1}}, "output: no prediction found, got the key foo"),
        ({"id": "q1", "choices": {}}, "choices: no prediction found, got no keys"),
        ({"id": "q1", "choices": 5}, "choices: expected a list, got a number"),
        ({"id": "q1", "message": {"x": 1}}, "message: no prediction found, got the key x"),
        ({"id": "q1", "choices": [5]}, "choices[0]: expected an object, got a number"),
        ({"id": "q1", "choices": [{"index": 0}]}, "choices[0]: no prediction found, got the key index"),
        (user("hi"), "role: expected 'assistant', got 'user'"),
        ({"id": {}, "tool_calls": []}, "id: expected a string or a number, got an object"),
        ({**HOSTED, "datasource_item": {"id": [1]}}, "datasource_item.id: expected a string or a number, got a list"),
        ({**HOSTED, "datasource_item": {}, "datasource_item_id": -1}, "datasource_item_id: expected an integer of at least 0, got -1"),
        (batch([1]), "response.body: expected an object, got a list"),
        (batch({"foo": 1}), "response.body: no prediction found, got the key foo"),
        (
            {"custom_id": "q1", "response": {"status_code": "200", "body": {}}},
            "response.status_code: expected an integer, got a string",
        ),
        ("5", "expected an object, got a number"),
        ("[]", "expected an object, got a list"),
        ("null", "expected an object, got null"),
        ('{"id": "q1", "tool_calls": [', "not valid JSON: the row ends at column 28, before it is complete"),
        ('{"id": "q1", "tool_calls": NaN}', "NaN is not a JSON value"),
        ('"cut', "not valid JSON: the row ends at column 4 inside a string"),
        ('{"id": "q1", "tool_calls": ' + "[" * 10_000 + "]" * 10_000 + "}", "nested too deeply to read"),
        ('{"id": "q1", "tool_calls": [], "x": ' + '{"a":' * 10_000 + "1" + "}" * 10_001, "nested too deeply to read"),
        ('{"output": ' * 20 + '""' + "}" * 20, "the prediction is nested too deeply to read"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused_with_a_sentence(tmp_path: Path, row: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as raised:
        read(row)
    assert sentence in str(raised.value)
    path = write_rows(tmp_path / "x.jsonl", {"id": "q0", "text": "x"}, row)
    with pytest.raises(BrokenRow) as broken:
        list(Predictions(str(path)))
    assert str(broken.value).startswith(f"{path}, line 2: ")
    assert sentence in str(broken.value)


@pytest.mark.parametrize(
    "messages, sentence",
    [
        (5, "messages: expected a list of messages, got a number"),
        ([5], "messages[0]: expected an object, got a number"),
        ([{}], "messages[0]: missing key 'role'"),
    ],
)
def test_a_broken_conversation_is_refused(messages: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as raised:
        read({"id": "s1", "messages": messages}, whole=True)
    assert sentence in str(raised.value)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(BadInput, match="not valid UTF-8: byte 0xff at column 25"):
        read_prediction(b'{"id": "q1", "output": "\xff"}')


@pytest.mark.parametrize("key", ["calls", "tool_calls", "output_tools", "function_calls", "output", "prediction"])
def test_items_that_are_not_calls_are_malformed_calls(key: str) -> None:
    made = [5, {"name": {"x": 1}}, call("f", "{'a"), {"arguments": {}}, {"function": {"name": "g", "arguments": [1]}}, FLAT]
    found = read({"id": "q1", key: made}).prediction.calls
    assert [(one.name, bool(one.malformed)) for one in found] == [
        ("", True),
        ("", True),
        ("f", True),
        ("", True),
        ("g", True),
        ("f", False),
    ]


@pytest.mark.parametrize("key", ["calls", "tool_calls"])
@pytest.mark.parametrize(
    "text, reason",
    [
        ('{"name": "f", "arguments": {"a": "\\ud800"}}', "lone surrogate"),
        ('{"name": "f", "arguments": "{\\"a\\": \\"\\\\ud800\\"}"}', "lone surrogate"),
        ('{"id": "1", "function": {"name": "f", "arguments": "\\ud800"}}', "invalid JSON"),
        ('{"name": "f", "arguments": {"a": 1e999}}', "number outside the double range"),
        ('{"name": "f", "arguments": ' + '{"a":' * 201 + "1" + "}" * 202, "nesting deeper than 200"),
    ],
)
def test_arguments_that_are_not_strict_make_a_malformed_call_not_a_bad_row(key: str, text: str, reason: str) -> None:
    (found,) = read(f'{{"id": "q1", "{key}": [{text}]}}').prediction.calls
    assert found.name == "f"
    assert reason in found.malformed
    assert read_prediction(write_prediction(Prediction("q1", calls=(found,)))).prediction.calls == (found,)


def test_a_lone_surrogate_in_a_json_string_of_calls_is_a_malformed_call() -> None:
    made = [{"name": "f", "arguments": {"a": "\ud800"}}, {"name": "g"}]
    found = read({"id": "q1", "output_tools": json.dumps(made)}).prediction.calls
    assert [(one.name, bool(one.malformed)) for one in found] == [("f", True), ("g", False)]


def test_a_responses_call_has_its_call_id() -> None:
    assert [read(row).prediction.calls[0].id for row in (RESPONSE, ANTHROPIC, COMPLETION)] == ["call_1", "toolu_1", "c1"]


def test_only_callmarks_own_rows_declare_malformed_calls() -> None:
    claimed = {"name": "f", "arguments": {"a": 1}, "malformed": "so it says", "text": "x"}
    assert [str(made) for made in read({"id": "q1", "tool_calls": [claimed]}).prediction.calls] == MADE
    assert read({"case": "q1", "calls": [claimed, CALL]}).prediction.calls[0] == Call("f", {}, None, "so it says", "x")
    assert read({"case": "q1", "calls": [claimed, 5]}).prediction.calls[0] == Call("f", {}, None, "so it says", "x")


def test_the_last_value_of_a_repeated_key_wins() -> None:
    found = read('{"id": "no", "id": "q1", "tool_calls": 5, "tool_calls": [{"name": "g", "name": "f"}]}')
    assert (found.case, [str(made) for made in found.prediction.calls]) == ("q1", ["f()"])


@pytest.mark.parametrize(
    "row, calls",
    [
        ({"id": "q1", "tool_calls": [CALL] * 10_000}, 10_000),
        ({"id": "q1", "tool_calls": [FLAT] * 10_000}, 10_000),
        ({"id": "q1", "output": [FLAT, 5] * 5_000}, 10_000),
        ({"case": "q1", "calls": [FLAT] * 10_000}, 10_000),
        ({"id": "q1", "tool_calls": [call("f", {"a": "x" * 3_000_000})]}, 1),
        ({"id": "q1", "tool_calls": [call("f", "{" * 1_000_000)]}, 1),
        ({"id": "q1", "text": "<tool_call>" * 50_000}, 50_000),
        ({**HOSTED, "datasource_item": {"id": "q1", "messages": [user("x" * 1000)] * 5_000}}, 1),
        ({"id": "q1", "output": [{"type": "reasoning", "summary": [5, {"text": 5}]}] * 10_000}, 0),
    ],
)
def test_large_inputs_take_linear_time(row: dict[str, Any], calls: int) -> None:
    text = json.dumps(row).encode()
    begun = time.process_time()
    assert len(read_prediction(text).prediction.calls) == calls
    assert time.process_time() - begun < 5


malformed_calls = st.builds(
    lambda name, call_id, reason, text: Call(name, {}, call_id, reason, text), words | st.just(""), ids, words, words
)
odd_calls = st.builds(
    lambda name, text, call_id: read_call({"name": name, "arguments": text, "id": call_id}), words | st.just(""), texts, ids
)
said = texts.map(scrub)
predictions = st.builds(
    lambda case, trial, calls, text, thinking, error: Prediction(case, trial, tuple(calls), text, thinking, error),
    said,
    st.integers(0, 1000),
    st.lists(good_calls | odd_calls | malformed_calls, max_size=4),
    said,
    said,
    said,
)


@pytest.mark.laws
@given(predictions)
def test_every_prediction_comes_back_as_it_was_written(prediction: Prediction) -> None:
    line = write_prediction(prediction)
    assert b"\n" not in line
    found = read_prediction(line)
    assert found.prediction == prediction
    assert (found.case, found.text != "raw") == (prediction.case or None, True)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "function", "content", "type", "id"]), inner),
    max_leaves=5,
)
KEYS = sorted(
    {key for row, _, _ in SHAPES.values() if isinstance(row, dict) for key in row} | {"messages", "trial", "repeat", "completion"}
)


@pytest.mark.laws
@given(st.sampled_from([row for row, *_ in [*SHAPES.values(), *ERRORS.values()] if isinstance(row, dict)]), st.data())
def test_any_row_is_read_or_refused(row: dict[str, Any], data: st.DataObject) -> None:
    hostile = {**row, **data.draw(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=4))}
    text = json.dumps(hostile).encode()
    for whole in (False, True):
        try:
            found = read_prediction(text, whole=whole).prediction
        except BadInput:
            continue
        assert read_prediction(write_prediction(found)).prediction == found


def test_hostile_text_is_escaped_and_calls_made_in_python_are_checked() -> None:
    hostile = Prediction(
        "\ud800", 0, (Call("\ud800", {}, "\ud800"), Call("f", {"a": float("nan"), "b": "\ud800"})), "\ud800", "\ud800", "\ud800"
    )
    found = read_prediction(write_prediction(hostile)).prediction
    assert (found.case, found.text, found.thinking, found.error) == ("\\ud800",) * 4
    assert [(one.name, one.id, bool(one.malformed)) for one in found.calls] == [("\\ud800", "\\ud800", False), ("f", None, True)]


def test_a_file_is_streamed_with_the_place_of_every_row(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", {"id": 1, "tool_calls": [CALL]}, "", {"id": 2, "text": "x"})
    rows = Predictions(str(path))
    for _ in range(2):
        assert [(str(place), answer.case) for place, answer in rows] == [(f"{path}, line 1", "1"), (f"{path}, line 3", "2")]
        assert (rows.good_rows, rows.bad_rows) == (2, 0)
    array = tmp_path / "x.json.gz"
    array.write_bytes(gzip.compress(json.dumps([{"id": 1, "text": "x"}, TAGGED], indent=1).encode()))
    assert [(place.number, place.unit, answer.case) for place, answer in Predictions(str(array))] == [(1, "item", "1"), (2, "item", None)]


def test_rows_key_of_a_prediction_is_not_a_list_of_rows(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", {"id": 1, "tool_calls": [CALL], "rows": [1, 2]}, {"rows": 5, "text": "x"})
    assert [answer.case for _, answer in Predictions(str(path))] == ["1", None]


def test_options_apply_to_every_row(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", CONVERSATION, {"id": "q1", "text": "[f(a=1)]"})
    counts = [len(answer.prediction.calls) for _, answer in Predictions(str(path), parse="hermes", whole=True)]
    assert counts == [3, 0]


def test_bad_rows_are_reported_and_counted(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", "{", {"id": 1, "text": "x"}, {"id": 2}, {"id": 3, "text": "x"})
    bad: list[BadRow] = []
    rows = Predictions(str(path), on_bad=bad.append)
    assert [answer.case for _, answer in rows] == ["1", "3"]
    assert (rows.good_rows, rows.bad_rows) == (2, 2)
    assert [row.place.number for row in bad] == [1, 3]
    assert bad[1].reason.startswith("no prediction found: expected calls")
    assert bad[1].row.strip() == b'{"id": 2}'


def test_a_file_without_readable_rows_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    for text in ("", "\n \n", "[]"):
        empty.write_text(text)
        with pytest.raises(BadInput, match="empty.jsonl is empty"):
            list(Predictions(str(empty)))
    bad = write_rows(tmp_path / "bad.jsonl", {"id": 1}, {"id": 2})
    with pytest.raises(BadInput, match="no valid rows. The first problem: no prediction found"):
        list(Predictions(str(bad), on_bad=lambda row: None))
    with pytest.raises(BadInput, match="no such file"):
        list(Predictions(str(tmp_path / "nowhere.jsonl")))


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("indent", [None, 2])
def test_rows_of_evaluation_results_are_read(tmp_path: Path, wrapped: bool, indent: int | None) -> None:
    results = {"rows": [{"inputs.id": name, "outputs.function_calls": [FLAT]} for name in "ab"], "Precision_fn.score": 1.0}
    path = tmp_path / "evaluation_results.json"
    path.write_text(json.dumps([results] if wrapped else results, indent=indent))
    assert [(answer.case, len(answer.prediction.calls)) for _, answer in Predictions(str(path))] == [("a", 1), ("b", 1)]


def test_a_pipe_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", {"id": 1, "text": "x"})
    with path.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        rows = Predictions("-")
        assert [str(place) for place, _ in rows] == ["standard input, line 1"]
        with pytest.raises(BadInput, match="standard input: already read; a pipe can only be read once"):
            list(rows)
