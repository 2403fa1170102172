import json
from pathlib import Path
from typing import Any, cast

import pytest

import callmark
from callmark.errors import BadInput
from callmark.types import Call, Case, Conversation, Message
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

SCHEMA: Any = cast("Any", WEATHER)["function"]["parameters"]
TOOL: dict[str, Any] = {"name": "get_weather", "description": "The weather of a city", "input_schema": SCHEMA}


def use(name: str, given: Any, call_id: str | None = "t1") -> dict[str, Any]:
    return {"type": "tool_use", **({"id": call_id} if call_id else {}), "name": name, "input": given}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def answer(content: Any, call_id: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def read(path: Path, *messages: dict[str, Any], **more: Any) -> Conversation:
    (found,) = callmark.load(write_rows(path / "x.jsonl", {"messages": list(messages), **more}))
    return found


def written(path: Path, *messages: Any, format_name: str = "anthropic", **more: Any) -> dict[str, Any]:
    """What an OpenAI row of these messages becomes."""
    (found,) = callmark.load(write_rows(path / "x.jsonl", row(*messages, **more)), format_name="openai")
    callmark.write([found], path / "y.jsonl", to=format_name)
    told: dict[str, Any] = json.loads((path / "y.jsonl").read_text())
    return told


def test_several_results_and_a_text_in_one_message_become_messages_in_their_order(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        user("Rome and Oslo?"),
        {"role": "assistant", "content": [said("Let me look."), use("f", {"city": "Rome"}, "a"), use("f", {"city": "Oslo"}, "b")]},
        {"role": "user", "content": [answer("cold", "b"), answer([said("warm"), said("dry")], "a", is_error=False), said("well?")]},
        system="Be brief.",
        tools=[TOOL],
    )
    assert [(message.role, message.text, message.tool_call_id) for message in found.messages] == [
        ("system", "Be brief.", None),
        ("user", "Rome and Oslo?", None),
        ("assistant", "Let me look.", None),
        ("tool", "cold", "b"),
        ("tool", "warm\ndry", "a"),
        ("user", "well?", None),
    ]
    assert found.calls == (Call("f", {"city": "Rome"}, "a"), Call("f", {"city": "Oslo"}, "b"))
    assert found.tools == (callmark.Tool(TOOL["name"], TOOL["description"], TOOL["input_schema"]),)


@pytest.mark.parametrize(
    "block, expected",
    [
        (use("f", {}), Call("f", {}, "t1")),
        (use("f", None), Call("f", {}, "t1")),
        (use("f", {"n": 2**70}, None), Call("f", {"n": 2**70})),
        (use("f", '{"a": '), Call("f", {}, "t1", "arguments: truncated JSON", '{"a": ')),
        (use("f", [1]), Call("f", {}, "t1", "arguments: expected an object, got a list", "[1]")),
        ({"type": "tool_use", "id": "t1", "input": {"a": 1}}, Call("", {}, "t1", "no name", '{"a":1}')),
    ],
)
def test_calls_are_read_including_malformed_ones(tmp_path: Path, block: dict[str, Any], expected: Call) -> None:
    assert read(tmp_path, user("x"), {"role": "assistant", "content": [block]}).calls == (expected,)


def test_thinking_and_errors_are_kept_in_the_openai_format(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    read_row = {
        "messages": [
            {"role": "assistant", "content": [thought, said("a"), use("f", {})]},
            {"role": "user", "content": [answer("no", is_error=True)]},
        ]
    }
    (found,) = callmark.load(write_rows(tmp_path / "x.jsonl", read_row))
    callmark.write([found], tmp_path / "y.jsonl")
    first, second = json.loads((tmp_path / "y.jsonl").read_text())["messages"]
    assert (first["content"], first["thinking_blocks"]) == ("a", [thought])
    assert second == {"role": "tool", "content": "no", "tool_call_id": "t1", "is_error": True}
    callmark.write([found], tmp_path / "z.jsonl", to="anthropic")
    assert json.loads((tmp_path / "z.jsonl").read_text())["messages"] == read_row["messages"]


@pytest.mark.parametrize(
    "system, prompts",
    [
        ("", []),
        (None, []),
        ("a", [("system", "a")]),
        ([said("a"), {**said("b"), "cache_control": {"type": "ephemeral"}}], [("system", "a"), ("system", "b")]),
        ([said(""), {**said("d"), "role": "developer"}], [("system", ""), ("developer", "d")]),
    ],
)
def test_a_system_prompt_is_a_message_for_each_of_its_texts(tmp_path: Path, system: Any, prompts: list[tuple[str, str]]) -> None:
    found = read(tmp_path, user("x"), system=system)
    assert [(message.role, message.text) for message in found.messages] == [*prompts, ("user", "x")]
    callmark.write([found], tmp_path / "y.jsonl", to="anthropic")
    assert json.loads((tmp_path / "y.jsonl").read_text()).get("system") == (system or None)


def test_prompts_are_separate_and_results_share_a_message_with_text(tmp_path: Path) -> None:
    told = written(
        tmp_path,
        {"role": "system", "content": "s"},
        {"role": "developer", "content": "d"},
        user("x"),
        assistant(call("f", {"a": 1}, "1"), call("g", "{", "2"), text="ok"),
        result("r1", "1", is_error=True, name="f"),
        result("r2", "2"),
        user("and?"),
        user("hello?"),
        {"role": "system", "content": "later"},
        tools=[WEATHER],
    )
    assert told["system"] == [said("s"), {**said("d"), "role": "developer"}]
    assert told["messages"] == [
        user("x"),
        {"role": "assistant", "content": [said("ok"), use("f", {"a": 1}, "1"), use("g", "{", "2")]},
        {"role": "user", "content": [answer("r1", "1", is_error=True, name="f"), answer("r2", "2"), said("and?")]},
        user("hello?"),
        {"role": "system", "content": "later"},
    ]
    assert told["tools"] == [TOOL]


def test_missing_ids_are_generated_and_join_results_to_their_calls(tmp_path: Path) -> None:
    nameless = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    results = [result("a", None), result("b", "x"), result("c", None), result("orphan", None)]
    calls, answers = written(tmp_path, assistant(nameless, nameless, call("f", {}, "toolu_00001")), *results)["messages"]
    assert [block["id"] for block in calls["content"]] == ["toolu_00002", "x", "toolu_00001"]
    assert [block["tool_use_id"] for block in answers["content"]] == ["toolu_00002", "x", "toolu_00001", "toolu_00003"]


def test_case_and_result_with_calls_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="c: a case cannot be written in the Anthropic format"):
        callmark.write([Case("c", expected=(Call("f"),))], tmp_path / "x.jsonl", to="anthropic")
    odd = Conversation("c", (Message("tool", "", (Call("f"),)),))
    with pytest.raises(BadInput, match=r"c: messages\[0\]: a tool result with tool calls cannot be written"):
        callmark.write([odd], tmp_path / "x.jsonl", to="anthropic")
    with pytest.raises(BadInput, match=r"1: messages\[0\]: the key 'type' is reserved in the Anthropic format"):
        written(tmp_path, result("x", type="text"))


@pytest.mark.parametrize(
    "message, sentence",
    [
        ({"content": "x"}, r"messages\[0\]: missing key 'role'"),
        ({"role": "user", "content": ["x"]}, r"messages\[0\].content\[0\]: expected an object, got a string"),
        ({"role": "user", "content": [{}]}, r"messages\[0\].content\[0\]: missing key 'type'"),
        ({"role": "user", "content": [{"type": "text"}]}, r"messages\[0\].content\[0\]: missing key 'text'"),
        (result("x"), r"messages\[0\]: expected an Anthropic message, got an OpenAI message"),
        (assistant(call("f")), r"messages\[0\]: expected an Anthropic message, got an OpenAI message"),
        (
            {"role": "user", "content": [answer("x", role="user")]},
            r"messages\[0\].content\[0\]: unexpected key 'role' for this type of block",
        ),
        ({"role": "user", "content": [answer("x", tool_call_id="t2")]}, r"messages\[0\].content\[0\]: unexpected key 'tool_call_id'"),
        ({"role": "assistant", "content": [{**use("f", {}), "function": {}}]}, r"messages\[0\].content\[0\]: unexpected key 'function'"),
        (
            {"role": "user", "content": [answer("x")], "tool_use_id": "t2"},
            r"messages\[0\]: 'tool_call_id' appears both in the content and next to it",
        ),
    ],
)
def test_a_broken_message_is_refused(tmp_path: Path, message: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=f"line 1: {sentence}"):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", {"messages": [message]}), format_name="anthropic"))


@pytest.mark.parametrize(
    "given, format_name",
    [
        ({"messages": [user("x")]}, "openai"),
        ({"messages": [user("x")], "system": "s"}, "anthropic"),
        ({"messages": [user("x")], "tools": [TOOL]}, "anthropic"),
        ({"messages": [assistant(call("f"))], "tools": [TOOL]}, "openai"),
        ({"messages": [result("x")], "system": "s"}, "openai"),
        ({"messages": [{"role": "assistant", "content": [use("f", {"role": "tool", "tool_calls": []})]}]}, "anthropic"),
        ({"messages": [user('say {"type": "tool_use"}')]}, "openai"),
        ({"messages": [user("x")], "system": "s", "expected_output": {"tool_calls": []}}, "openai"),
        ({"messages": [{"role": "user", "content": [answer("x")], "tool_calls": None, "tool_call_id": None}]}, "anthropic"),
    ],
)
def test_row_is_distinguished_from_the_openai_format(tmp_path: Path, given: dict[str, Any], format_name: str) -> None:
    assert callmark.load(write_rows(tmp_path / "x.jsonl", given)).format.name == format_name


def test_a_prompt_does_not_lose_its_text_to_another_key(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"line 1: system\[0\]: unexpected key 'content' for this type of block"):
        read(tmp_path, user("x"), system=[{**said("a"), "content": "b"}])


def test_null_keys_of_exported_tables_are_ignored(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("type", "id", "name", "input", "text", "content", "tool_use_id", "role", "function", "tool_call_id"))
    found = read(
        tmp_path,
        {"role": "assistant", "content": [nothing | said("a"), nothing | use("f", {"a": 1})], "tool_calls": None},
        {"role": "user", "content": [nothing | answer("b")], "tool_calls": None},
    )
    assert found.calls == (Call("f", {"a": 1}, "t1"),)
    assert [(message.role, message.text, message.tool_call_id) for message in found.messages] == [
        ("assistant", "a", None),
        ("tool", "b", "t1"),
    ]


@pytest.mark.parametrize(
    "content, blocks",
    [
        (["a", {"type": "image", "source": {}}], [said("a"), {"type": "image", "source": {}}]),
        ([{"text": "a", "k": 1}], [{**said("a"), "k": 1}]),
        ([], ""),
    ],
)
def test_parts_become_blocks(tmp_path: Path, content: list[Any], blocks: Any) -> None:
    (turn,) = written(tmp_path, {"role": "user", "content": content, "weight": 1})["messages"]
    assert turn == {"role": "user", "content": blocks, "weight": 1}


@pytest.mark.parametrize(
    "message, sentence",
    [
        ({"role": "user", "content": [{"image": "x"}]}, r"messages\[0\].content\[0\]: missing key 'type'"),
        ({"role": "user", "content": [{"type": "text", "text": 3}]}, r"messages\[0\].content\[0\]: missing key 'text'"),
        ({"role": "user", "content": ["a", 1]}, r"messages\[0\].content\[1\]: the Anthropic format expects a string or an object, got 1"),
        (user("x") | {"tool_use_id": "t"}, r"messages\[0\]: the key 'tool_use_id' is reserved"),
        (result("x", generated_id=True), r"messages\[0\]: the key 'generated_id' is reserved"),
    ],
)
def test_messages_that_could_not_be_read_back_are_refused(tmp_path: Path, message: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=f"1: {sentence}"):
        written(tmp_path, message)


def test_other_blocks_among_thinking_stay_a_key(tmp_path: Path) -> None:
    blocks = [{"type": "thinking", "thinking": "t"}, use("f", {})]
    told = written(tmp_path, {**assistant(text="a"), "thinking_blocks": blocks})
    assert told["messages"] == [{"role": "assistant", "content": "a", "thinking_blocks": blocks}]


def test_server_tools_leave_other_tools_unchanged(tmp_path: Path) -> None:
    own = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    custom = {"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
    talk = {"system": "s", "messages": [{"role": "user", "content": "hi"}], "tools": [own, custom]}
    (read,) = callmark.load(write_rows(tmp_path / "x.jsonl", talk), format_name="anthropic")
    assert [tool.name for tool in read.tools] == ["web_search", "f"]
    callmark.write([callmark.Conversation(read.id, read.messages, read.tools, None, read.original)], tmp_path / "y.jsonl")
    assert [one["function"] for one in json.loads((tmp_path / "y.jsonl").read_text())["tools"]] == [
        own,
        {"name": "f", "parameters": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
    ]


def test_prompt_of_one_string_in_a_list_is_written(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": ["Be kind."]}, {"role": "user", "content": ["hi"]}]
    path = write_rows(tmp_path / "x.jsonl", {"messages": messages})
    callmark.convert(callmark.load(path), to="anthropic", out=tmp_path / "y.jsonl")
    written = json.loads((tmp_path / "y.jsonl").read_text())
    assert written["system"] == [{"type": "text", "text": "Be kind."}]
    assert written["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
