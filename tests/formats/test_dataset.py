import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput, BrokenRow
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

GOOD = row(user("hi"), assistant(call("get_weather", {"city": "Bonn"})), result("sunny"), tools=[WEATHER])


def only(path: Path, **options: Any) -> callmark.Conversation:
    (found,) = callmark.load(path, **options)
    return found


def test_a_conversation_is_read(tmp_path: Path) -> None:
    read = only(write_rows(tmp_path / "x.jsonl", GOOD))
    assert [message.role for message in read.messages] == ["user", "assistant", "tool"]
    assert [str(made) for made in read.calls] == ['get_weather(city="Bonn")']
    assert (read.messages[2].text, read.messages[2].tool_call_id) == ("sunny", "c1")
    assert [tool.name for tool in read.tools] == ["get_weather"]
    assert (read.id, str(read.place)) == ("1", f"{tmp_path / 'x.jsonl'}, line 1")


@pytest.mark.parametrize(
    "message, text, calls",
    [
        ({"role": "assistant", "tool_calls": None}, "", []),
        ({"role": "assistant"}, "", []),
        ({"role": "assistant", "content": None, "tool_calls": []}, "", []),
        ({"role": "developer", "content": "be kind"}, "be kind", []),
        (
            {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]},
            "see\n[image_url]",
            [],
        ),
        ({"role": "tool", "content": {"ok": True}}, '{"ok":true}', []),
        ({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}, "", ["f(a=1)"]),
        ({"role": "assistant", "function_call": None}, "", []),
        ({"role": "assistant", "tool_calls": [{"name": "f", "arguments": {"a": 1}}]}, "", ["f(a=1)"]),
        ({"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": None}}]}, "", ["f()"]),
        ({"role": "assistant", "tool_calls": [5]}, "", ["(‹malformed: 5›)"]),
        ({"role": "assistant", "tool_calls": [call("f", '{"a')]}, "", ['f(‹malformed: {"a›)']),
        ({"role": "assistant", "tool_calls": [call("", "{}")]}, "", ["(‹malformed: {}›)"]),
    ],
)
def test_messages_of_every_kind_are_read(tmp_path: Path, message: dict[str, Any], text: str, calls: list[str]) -> None:
    (read,) = only(write_rows(tmp_path / "x.jsonl", row(message))).messages
    assert (read.text, [str(made) for made in read.calls]) == (text, calls)


@pytest.mark.parametrize(
    "wrong, reason",
    [
        ('{"messages": [', "not valid JSON: the row ends at column 14, before it is complete"),
        ('{"messages": [{"role": "us', "not valid JSON: the row ends at column 26 inside a string"),
        ('{"messages": []} x', "not valid JSON: extra text 'x' at column 18, after the end of the value"),
        ('{"messages": [NaN]}', "NaN is not a JSON value"),
        ("{'messages': []}", "not valid JSON: expected a key in double quotes at column 2, got \"'messages': []}\""),
        ("null", "expected an object, got null"),
        ("[1]", "messages[0]: expected an object, got a number"),
        ("5", "expected an object, got a number"),
        ('{"messages": 5}', "messages: expected a list of messages, got a number"),
        ('{"messages": [5]}', "messages[0]: expected an object, got a number"),
        ('{"messages": [{"content": "x"}]}', "messages[0]: missing key 'role'"),
        ('{"messages": [{"role": 5}]}', "messages[0].role: expected a string, got a number"),
        (
            '{"messages": [{"role": "user"}, {"role": "assistant", "tool_calls": 5}]}',
            "messages[1].tool_calls: expected a list of calls, got a number",
        ),
        ('{"messages": [], "tools": 5}', "tools: expected a list of tools, got a number"),
        ('{"messages": [], "tools": [5]}', "tools[0]: expected an object with a name, got a number"),
        ('{"messages": [], "tools": [{"type": "function"}]}', "tools[0]: missing key 'name'"),
        ('{"nothing": 1}', "missing key 'messages'"),
        ('{"messages": [], "x": ' + "[" * 10_000 + "]" * 10_000 + "}", "nested too deeply to read"),
    ],
)
def test_a_row_that_cannot_be_read_names_file_line_and_reason(tmp_path: Path, wrong: str, reason: str) -> None:
    path = write_rows(tmp_path / "x.jsonl", GOOD, wrong, GOOD)
    with pytest.raises(BadInput) as raised:
        list(callmark.load(path))
    assert str(raised.value).startswith(f"{path}, line 2: ")
    assert reason in str(raised.value)
    assert isinstance(raised.value, BrokenRow)
    dataset = callmark.load(path, skip_bad=True)
    assert len(list(dataset)) == 2
    assert dataset.bad_rows == 1


def test_bytes_that_are_not_utf8_are_a_bad_row_for_every_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"messages": []}\n{"messages": [{"role": "user", "content": "\xff"}]}\n')
    with pytest.raises(BadInput, match="line 2: not valid UTF-8: byte 0xff at column 44"):
        list(callmark.load(path))


def test_lone_surrogates_are_escaped_and_the_row_is_kept(tmp_path: Path) -> None:
    text = r'{"messages": [{"role": "user", "content": "a \ud800 \ud83d\ude00 \\ud800 \udc00"}]}'
    dataset = callmark.load(write_rows(tmp_path / "x.jsonl", text))
    (read,) = dataset
    assert read.messages[0].text == "a \\ud800 \U0001f600 \\ud800 \\udc00"
    assert dataset.repaired_rows == 1


def test_a_lone_surrogate_in_arguments_makes_a_malformed_call_not_a_bad_row(tmp_path: Path) -> None:
    text = r'{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": \"\ud800\"}"}}]}]}'
    read = only(write_rows(tmp_path / "x.jsonl", text))
    assert read.calls[0].name == "f"
    assert "lone surrogate" in read.calls[0].malformed


def test_a_megabyte_string_is_read(tmp_path: Path) -> None:
    read = only(write_rows(tmp_path / "x.jsonl", row(user("x" * 1_000_000), assistant(call("f", {"a": "y" * 1_000_000})))))
    assert len(read.messages[0].text) == 1_000_000
    assert len(read.calls[0].arguments["a"]) == 1_000_000


def test_the_last_value_of_a_repeated_key_wins(tmp_path: Path) -> None:
    text = '{"messages": [], "messages": [{"role": "user", "content": "last"}]}'
    assert only(write_rows(tmp_path / "x.jsonl", text)).messages[0].text == "last"


def test_tools_come_from_a_file_where_the_row_has_none(tmp_path: Path) -> None:
    side = tmp_path / "tools.json"
    side.write_text(json.dumps([WEATHER], indent=2))
    path = write_rows(tmp_path / "x.jsonl", row(user("hi")), row(user("hi"), tools=[{"name": "own"}]), row(user("hi"), tools=[]))
    assert [[tool.name for tool in read.tools] for read in callmark.load(path, tools=side)] == [["get_weather"], ["own"], ["get_weather"]]
    empty = tmp_path / "empty.json"
    empty.write_text("[]")
    with pytest.raises(BadInput, match="empty.json: expected a JSON list of tools, found no tools"):
        callmark.load(path, tools=empty)


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
        {"name": "f", "parameters": {"type": "object"}},
        {"name": "f", "input_schema": {"type": "object"}},
        {"name": "f", "inputSchema": {"type": "object"}},
    ],
)
def test_tools_of_every_shape_are_read(tmp_path: Path, tool: dict[str, Any]) -> None:
    for tools in ([tool], json.dumps([tool]), {"tools": [tool]}):
        read = only(write_rows(tmp_path / "x.jsonl", row(user("hi"), tools=tools)))
        assert read.tools == (callmark.Tool("f", "", {"type": "object"}),)
        assert json.loads(read.original.raw_tools)[0]


def test_parameters_in_list_form_become_a_schema(tmp_path: Path) -> None:
    tools = [{"name": "f", "parameters": [{"name": "a", "type": "str", "required": True}, {"name": "b", "type": "list"}]}]
    (tool,) = only(write_rows(tmp_path / "x.jsonl", row(user("hi"), tools=tools))).tools
    assert tool.parameters == {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array"}}, "required": ["a"]}


def test_legacy_functions_are_tools(tmp_path: Path) -> None:
    read = only(write_rows(tmp_path / "x.jsonl", row(user("hi"), functions=[{"name": "f"}])))
    assert [tool.name for tool in read.tools] == ["f"]


def test_the_item_wrapper_is_unwrapped(tmp_path: Path) -> None:
    read = only(write_rows(tmp_path / "x.jsonl", {"item": {**GOOD, "id": "w"}}))
    assert (read.id, len(read.messages), len(read.tools)) == ("w", 3, 1)


def test_an_eval_record_is_a_case(tmp_path: Path) -> None:
    record = {**GOOD, "id": "1:1", "expected_output": {"role": "assistant", "tool_calls": [call("f", {"a": 1})]}, "source": "the web"}
    read = only(write_rows(tmp_path / "x.jsonl", record))
    assert isinstance(read, callmark.Case)
    assert [str(made) for made in read.expected] == ["f(a=1)"]


def test_a_scenario_is_a_case(tmp_path: Path) -> None:
    scenario = {
        "id": "s1",
        "description": "d",
        "scenarioType": "create",
        "task_completion_condition": "done",
        "instructions": "You are Ann.",
        "expected_function_calls": [{"functionName": "P-create", "arguments": {"title": "t", "id": "TKT-*"}}],
        "group": "g",
    }
    path = tmp_path / "scenarios.json"
    path.write_text(json.dumps([scenario]))
    dataset = callmark.load(path)
    (read,) = dataset
    assert dataset.format.name == "scenarios"
    assert isinstance(read, callmark.Case)
    assert read.is_scenario
    assert (read.scenario_type, read.completion, read.group) == ("create", "done", "g")
    assert read.expected[0].arguments == {"title": "t", "id": {"$glob": "TKT-*", "$case": False}}
    assert str(read.place).endswith("item 1")
    copy = tmp_path / "copy.jsonl"
    callmark.write([read], copy, to="scenarios")
    assert json.loads(copy.read_text()) == scenario


@pytest.mark.parametrize("missing", ["instructions", "expected_function_calls"])
def test_a_scenario_without_its_parts_is_a_bad_row(tmp_path: Path, missing: str) -> None:
    scenario = {"id": "s1", "instructions": "You are Ann.", "expected_function_calls": []}
    path = write_rows(tmp_path / "x.jsonl", scenario, {key: value for key, value in scenario.items() if key != missing})
    with pytest.raises(BadInput, match=f"line 2: missing key '{missing}'"):
        list(callmark.load(path))


def test_invalid_matcher_is_a_bad_row_and_names_the_argument(tmp_path: Path) -> None:
    record = {**GOOD, "expected_output": {"tool_calls": [call("f", {"a": {"b": {"$regex": "("}}})]}}
    with pytest.raises(BadInput, match=r"line 1: f: a.b: \$regex: not a valid RE2 pattern"):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", record)))


def test_an_unknown_format_is_refused_with_the_keys_that_were_found(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", {"text": 1, "label": 2})
    with pytest.raises(
        BadInput,
        match="unknown format: expected the key messages, conversations or expected_function_calls, got the keys text, label",
    ) as raised:
        callmark.load(path)
    assert "openai, sharegpt, scenarios" in raised.value.hint
    with pytest.raises(BadInput, match="unknown format 'opnai'. Did you mean openai?"):
        callmark.load(path, format_name="opnai")


@pytest.mark.parametrize("text", ["", "\n\n  \n", "[]"])
def test_an_empty_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text(text)
    with pytest.raises(BadInput, match="empty.jsonl is empty"):
        list(callmark.load(path))


def test_a_file_without_readable_rows_is_refused_even_when_bad_rows_are_skipped(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", "{", "{")
    with pytest.raises(BadInput, match="no valid rows. The first problem: not valid JSON: the row ends at column 1"):
        callmark.load(path, skip_bad=True)


def test_a_row_that_ends_in_the_same_tools_is_read_as_any_other(tmp_path: Path) -> None:
    """Rows after the first are read without their tools; what they hold must not depend on that."""
    ending = f', "tools": {json.dumps([WEATHER])}}}'
    texts = [
        '{"messages": [{"role": "user", "content": "one"}]' + ending,
        '{"messages": [{"role": "user", "content": "two"}]' + ending,
        '{"messages": [{"role": "user", "content": "three"}], "tools": [{"name": "other"}]' + ending,
        '{"messages": [{"role": "user", "content": "four"}], "tools": [{"name": "other"}]}',
        '{"messages": [{"role": "user", "content": "five"}]' + ending,
        '{"item": {"messages": [{"role": "user", "content": "six"}]' + ending + "}",
    ]
    read = list(callmark.load(write_rows(tmp_path / "x.jsonl", *texts)))
    assert [one.messages[0].text for one in read] == ["one", "two", "three", "four", "five", "six"]
    assert [one.tools[0].name for one in read] == ["get_weather"] * 3 + ["other"] + ["get_weather"] * 2
    assert [one.original.row.strip().decode() for one in read] == texts


def test_a_string_that_looks_like_the_ending_is_still_a_bad_row(tmp_path: Path) -> None:
    ending = f', "tools": {json.dumps([WEATHER])}}}'
    path = write_rows(tmp_path / "x.jsonl", '{"messages": []' + ending, '{"messages": [], "note": "cut' + ending)
    with pytest.raises(BadInput, match="line 2"):
        list(callmark.load(path))


def test_a_dataset_can_be_read_again_and_has_a_repr(tmp_path: Path) -> None:
    dataset = callmark.load(write_rows(tmp_path / "x.jsonl", row(user("<script>"), assistant(call("f", {"a": "<b>"})))))
    assert len(list(dataset)) == len(list(dataset)) == 1
    assert "OpenAI chat" in repr(dataset)
    for shown in (dataset._repr_html_(), next(iter(dataset))._repr_html_()):
        assert "<script>" not in shown
        assert "<b>&lt;b&gt;" not in shown
        assert "&lt;b&gt;" in shown
