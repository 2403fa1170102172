import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from tests.rows import write_rows


def read(path: Path, *turns: tuple[str, str], **more: Any) -> callmark.Conversation:
    row = {"conversations": [{"from": speaker, "value": value} for speaker, value in turns], **more}
    (found,) = callmark.load(write_rows(path / "x.jsonl", row))
    return found


def test_speakers_become_roles(tmp_path: Path) -> None:
    found = read(tmp_path, ("system", "s"), ("human", "h"), ("gpt", "g"), ("tool", "t"), ("observation", "o"), ("user", "u"))
    assert [message.role for message in found.messages] == ["system", "user", "assistant", "tool", "tool", "user"]


@pytest.mark.parametrize(
    "value, text, calls",
    [
        ('<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>', "", ["f(a=1)"]),
        ('Let me see.\n<tool_call>{"name": "f", "arguments": "{}"}</tool_call>', "Let me see.", ["f()"]),
        ('<tool_call>{"name": "f"}</tool_call><tool_call>{"name": "g"}</tool_call>', "", ["f()", "g()"]),
        ('<tool_call>[{"name": "f"}, {"name": "g"}]</tool_call>', "", ["f()", "g()"]),
        ("<tool_call>{'name': 'f', 'arguments': {'a': True}}</tool_call>", "", ["f(a=true)"]),
        ('<tool_call>{"name": "f", "argum', "", ['f(‹malformed: {"name": "f", "argum›)']),
        ("<tool_call>what?</tool_call>", "", ["(‹malformed: what?›)"]),
        ("<tool_call></tool_call>", "", None),
        ("plain", "plain", []),
    ],
)
def test_calls_in_the_text_are_read(tmp_path: Path, value: str, text: str, calls: list[str] | None) -> None:
    (message,) = read(tmp_path, ("gpt", value)).messages
    assert message.text == text
    if calls is None:
        assert message.calls[0].malformed
    else:
        assert [str(call) for call in message.calls] == calls


def test_function_call_turns_contain_only_json(tmp_path: Path) -> None:
    (message,) = read(tmp_path, ("function_call", '{"name": "f", "arguments": {"a": 1}}')).messages
    assert [str(call) for call in message.calls] == ["f(a=1)"]


@pytest.mark.parametrize(
    "value, results",
    [
        ('<tool_response>\n{"name": "f", "content": {"ok": 1}}\n</tool_response>', [("f", '{"ok":1}')]),
        ("<tool_response>sunny</tool_response>", [(None, "sunny")]),
        ("<tool_response>a</tool_response>\n<tool_response>b</tool_response>", [(None, "a"), (None, "b")]),
        ("sunny", [(None, "sunny")]),
    ],
)
def test_results_are_read(tmp_path: Path, value: str, results: list[tuple[str | None, str]]) -> None:
    assert [(message.name, message.text) for message in read(tmp_path, ("tool", value)).messages] == results


@pytest.mark.parametrize("tools", [[{"name": "f"}], json.dumps([{"name": "f"}])])
def test_tools_are_read_from_the_row(tmp_path: Path, tools: Any) -> None:
    assert [tool.name for tool in read(tmp_path, ("human", "h"), tools=tools).tools] == ["f"]


@pytest.mark.parametrize("tools", ['[{"name": "f"}, {"name": "g"}]', '{"name": "f"}\n{"name": "g"}'])
def test_tools_are_read_from_the_system_text(tmp_path: Path, tools: str) -> None:
    assert [tool.name for tool in read(tmp_path, ("system", f"You may call <tools>{tools}</tools>.")).tools] == ["f", "g"]


def test_a_turn_without_a_speaker_is_a_bad_row(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"line 1: conversations\[0\]: missing key 'from'"):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", {"conversations": [{"value": "x"}]})))


def test_a_tag_in_prose_stays_text(tmp_path: Path) -> None:
    said = "Write <tool_call> and </tool_call>, or <\\tool_call>."
    path = tmp_path / "y.jsonl"
    callmark.write([callmark.Conversation("1", (callmark.Message("assistant", said),))], path, to="sharegpt")
    (found,) = callmark.load(path)
    assert found.messages[0].text == said
    assert found.calls == ()


def test_calls_in_two_places_are_refused(tmp_path: Path) -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    turns: list[dict[str, Any]] = [
        {"from": "human", "value": "x"},
        {"from": "gpt", "value": call, "tool_calls": [{"name": "g", "arguments": {}}]},
    ]
    with pytest.raises(BadInput, match=r"line 1: conversations\[1\]: calls in both the text and tool_calls"):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", {"conversations": turns})))
    turns[1]["value"] = "no call"
    (found,) = callmark.load(write_rows(tmp_path / "x.jsonl", {"conversations": turns}))
    assert [call.name for call in found.calls] == ["g"]


@pytest.mark.parametrize("role", ["human", "gpt", "Model", "observation", ""])
def test_a_role_that_would_be_read_as_another_is_not_written(tmp_path: Path, role: str) -> None:
    odd = callmark.Conversation("c", (callmark.Message(role, "x"),))
    with pytest.raises(BadInput, match=rf"c: messages\[0\].role: '{role}' has a different meaning in ShareGPT"):
        callmark.write([odd], tmp_path / "x.jsonl", to="sharegpt")
