import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.data.expand import as_cases
from callmark.errors import BadInput
from callmark.types import Case, Conversation, Message
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows


def cut(path: Path, *rows: Any, **options: Any) -> list[dict[str, Any]]:
    """The records, written out and read back as plain JSON."""
    out = path / "eval.jsonl"
    callmark.write(callmark.expand(callmark.load(write_rows(path / "x.jsonl", *rows)), **options), out)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_every_call_is_a_case(tmp_path: Path) -> None:
    talk = row(user("Bonn?"), assistant(call("f", {"a": 1}, "1")), result("x", "1"), assistant(call("g", {}, "2")), tools=[WEATHER], id="t")
    first, second = cut(tmp_path, talk)
    assert first == {
        "id": "t:1",
        "messages": talk["messages"][:1],
        "tools": [WEATHER],
        "expected_output": {"role": "assistant", "tool_calls": [call("f", {"a": 1}, "1")]},
        "source": {"conversation": "t", "message": 1, "call": 0},
    }
    assert second["messages"] == talk["messages"][:3]
    assert second["id"] == "t:3"


def test_text_of_the_same_message_stays_in_the_history(tmp_path: Path) -> None:
    (record,) = cut(tmp_path, row(user("Bonn?"), {**assistant(call("f"), text="Let me see."), "weight": 1}))
    assert record["messages"][-1] == {"role": "assistant", "content": "Let me see.", "weight": 1}


PARALLEL = row(
    user("Bonn?"),
    assistant(call("f", {}, "1"), call("g", {}, "2"), call("h", {}, "3"), text="All three."),
    result("two", "2"),
    result("one", "1"),
    result("three", "3"),
    id="t",
)


def test_parallel_calls_have_earlier_calls_and_results_in_their_history(tmp_path: Path) -> None:
    first, second, third = cut(tmp_path, PARALLEL)
    said = {"role": "assistant", "content": "All three."}
    assert first["messages"] == [PARALLEL["messages"][0], said]
    assert second["messages"] == [PARALLEL["messages"][0], {**said, "tool_calls": [call("f", {}, "1")]}, result("one", "1")]
    kept = {**said, "tool_calls": [call("f", {}, "1"), call("g", {}, "2")]}
    assert third["messages"] == [PARALLEL["messages"][0], kept, result("two", "2"), result("one", "1")]
    assert [one["expected_output"]["tool_calls"] for one in (first, second, third)] == [
        [call("f", {}, "1")],
        [call("g", {}, "2")],
        [call("h", {}, "3")],
    ]
    assert [one["id"] for one in (first, second, third)] == ["t:1.0", "t:1.1", "t:1.2"]


def test_together_makes_one_case_that_expects_all_calls(tmp_path: Path) -> None:
    (record,) = cut(tmp_path, PARALLEL, parallel="together")
    assert [one["id"] for one in record["expected_output"]["tool_calls"]] == ["1", "2", "3"]
    assert (record["id"], record["source"]) == ("t:1", {"conversation": "t", "message": 1, "call": None})


def test_abstain_adds_turns_without_calls(tmp_path: Path) -> None:
    talk = row(
        user("hi"),
        assistant(text="Hello"),  # 1: yes
        user("Bonn?"),
        assistant(text="One moment."),  # 3: no, the same turn calls
        assistant(call("f")),
        result("x"),
        assistant(text="Sunny."),  # 6: yes
        assistant(text="Anything else?"),  # 7: the same turn
        user("no"),
        assistant(text=""),  # 9: says nothing
        id="t",
    )
    records = cut(tmp_path, talk, abstain=True)
    assert [(one["id"], len(one["expected_output"]["tool_calls"])) for one in records] == [("t:1", 0), ("t:4", 1), ("t:6", 0)]
    assert records[0]["messages"] == talk["messages"][:1]


@pytest.mark.parametrize(
    "arguments, gold",
    [
        ({"a": {"$any": True}}, {"a": {"$literal": {"$any": True}}}),
        ({"a": [{"$set": [1]}, 2]}, {"a": [{"$literal": {"$set": [1]}}, 2]}),
        ({"a": {"b": {"$x": 1, "$y": 2}}}, {"a": {"b": {"$literal": {"$x": 1, "$y": 2}}}}),
        ({"$any": True}, {"$any": True}),  # the arguments object itself is never one
        ({"a": {"$x": 1, "y": 2}}, {"a": {"$x": 1, "y": 2}}),
        ({"a": {}}, {"a": {}}),
        ({"a": "$any"}, {"a": "$any"}),
    ],
)
def test_a_recorded_value_that_looks_like_a_matcher_is_wrapped(tmp_path: Path, arguments: Any, gold: Any) -> None:
    (record,) = cut(tmp_path, row(user("x"), assistant(call("f", arguments))))
    assert json.loads(record["expected_output"]["tool_calls"][0]["function"]["arguments"]) == gold


def test_calls_of_other_shapes_are_written_in_openais_form(tmp_path: Path) -> None:
    old = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}
    flat = {"role": "assistant", "tool_calls": [{"name": "g", "arguments": {"b": 2}}]}
    first, second = cut(tmp_path, row(user("x"), old, {"role": "function", "name": "f", "content": "ok"}, flat))
    assert first["expected_output"]["tool_calls"] == [{"type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}]
    assert second["expected_output"]["tool_calls"] == [{"type": "function", "function": {"name": "g", "arguments": '{"b":2}'}}]
    assert second["messages"][1] == old


def test_malformed_call_is_a_case(tmp_path: Path) -> None:
    (record,) = cut(tmp_path, row(user("x"), assistant(call("f", '{"a'))))
    assert record["expected_output"]["tool_calls"] == [call("f", '{"a')]


@pytest.mark.parametrize("message", [{"role": "assistant", "tool_calls": None}, {"role": "assistant"}, {"role": "user"}])
def test_null_calls_and_missing_content_and_tools_are_accepted(tmp_path: Path, message: dict[str, Any]) -> None:
    (record,) = cut(tmp_path, row(message, assistant(call("f"))))
    assert record["messages"] == [message]
    assert record["tools"] == []


def test_unknown_keys_and_number_spellings_stay_unchanged(tmp_path: Path) -> None:
    made = '{"id":"1","type":"function","function":{"name":"f","arguments":"{ }"}}'
    text = f'{{"messages":[{{"role":"user","content":"x","weight":1.50}},{{"role":"assistant","tool_calls":[{made}]}}]}}'
    path = write_rows(tmp_path / "x.jsonl", text)
    callmark.write(callmark.expand(callmark.load(path)), tmp_path / "eval.jsonl")
    assert '"weight":1.50' in (tmp_path / "eval.jsonl").read_text()


def test_duplicate_ids_get_a_suffix_and_missing_ids_a_number(tmp_path: Path) -> None:
    talk = row(user("x"), assistant(call("f")))
    records = cut(tmp_path, {**talk, "id": "t"}, {**talk, "id": "t"}, talk, {**talk, "id": 7})
    assert [one["id"] for one in records] == ["t:1", "t~2:1", "3:1", "7:1"]


def test_sharegpt_is_cut_in_openais_form(tmp_path: Path) -> None:
    talk = {
        "conversations": [
            {"from": "human", "value": "x"},
            {"from": "gpt", "value": 'So: <tool_call>{"name": "f", "arguments": {}}</tool_call>'},
        ]
    }
    (record,) = cut(tmp_path, talk)
    assert record["messages"] == [user("x"), {"role": "assistant", "content": "So:"}]
    assert record["expected_output"]["tool_calls"][0]["function"]["name"] == "f"


@pytest.mark.parametrize(
    "record, sentence",
    [
        ({"messages": [], "expected_output": {"tool_calls": []}}, "decision point '1'"),
        ({"instructions": "You are Ann.", "expected_function_calls": []}, "scenario '1'"),
    ],
)
def test_decision_points_cannot_be_expanded(tmp_path: Path, record: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=f"line 1: expected a conversation to cut into decision points, got the {sentence}"):
        cut(tmp_path, record)


def test_spacing_and_the_item_wrapper_do_not_matter(tmp_path: Path) -> None:
    talk = row(user("x"), assistant(text="a"), user("y"), assistant(call("f")), id="t", tools=[WEATHER])
    (plain,) = cut(tmp_path, talk)
    (spaced,) = cut(tmp_path, json.dumps(talk, separators=(" ,  ", "  :  ")))
    (wrapped,) = cut(tmp_path, {"item": talk})
    array = tmp_path / "x.json"
    array.write_text(json.dumps([talk], indent=4))
    callmark.write(callmark.expand(callmark.load(array)), tmp_path / "y.jsonl")
    assert plain == spaced == wrapped == json.loads((tmp_path / "y.jsonl").read_text())


TALK = Conversation("t", (Message("user", "Bonn?"), Message("assistant", "", (callmark.Call("f", {"a": 1}),))))
POINT, SCENARIO = Case("p", expected=(callmark.Call("f"),)), Case("s", instructions="Say hello.")


def test_decision_points_stay_unchanged_and_conversations_are_cut() -> None:
    assert [case.id for case in as_cases([POINT, POINT])] == ["p", "p"]
    assert [case.id for case in as_cases([TALK])] == ["t:1"]
    assert list(as_cases([])) == []


@pytest.mark.parametrize(
    "rows, sentence",
    [
        ([POINT, TALK], "^expected a decision point, got the conversation 't'"),
        ([POINT, SCENARIO], "^expected a decision point, got the scenario 's'"),
        ([SCENARIO], "^expected a decision point, got the scenario 's'"),
        ([TALK, POINT], "^expected a conversation to cut into decision points, got the decision point 'p'"),
    ],
)
def test_mixed_rows_are_rejected(rows: list[Conversation], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        list(as_cases(rows))
