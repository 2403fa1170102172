import json
import re
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.types import Call, Case, Conversation, Message
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

AGENT: dict[str, Any] = {  # as version 4.13 of it writes a row
    "messages": [
        user("Is it warm in Rome?"),
        {"role": "assistant", "content": "", "tool_calls": [call("get_weather", {"city": "Rome"}, "a1B2c3D4e")]},
        result("warm", "a1B2c3D4e"),
        assistant(text="It is."),
    ],
    "metadata": {"conversation_type": "cot", "react_steps": 1},
    "reasoning": {"style": "agent", "content": [{"step_number": 1, "thought": "look it up", "action": "get_weather"}]},
    "tool_context": {"executions": [{"function_name": "get_weather", "arguments": '{"city":"Rome"}', "reasoning": "r", "result": "warm"}]},
    "tools": [WEATHER],
    "agent_context": {"mode": "single_turn"},
    "question": "Is it warm in Rome?",
    "final_answer": "It is.",
}


def written(path: Path, *messages: Any, **more: Any) -> dict[str, Any]:
    """What an OpenAI row of these messages becomes."""
    (found,) = callmark.load(write_rows(path / "x.jsonl", row(*messages, **more)), format_name="openai")
    callmark.write([found], path / "y.jsonl", to="deepfabric")
    told: dict[str, Any] = json.loads((path / "y.jsonl").read_text())
    return told


def test_a_deepfabric_row_is_detected_and_read(tmp_path: Path) -> None:
    dataset = callmark.load(write_rows(tmp_path / "x.jsonl", AGENT))
    assert dataset.format.name == "deepfabric"
    (found,) = dataset
    assert found.calls == (Call("get_weather", {"city": "Rome"}, "a1B2c3D4e"),)
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "assistant"]
    assert (found.id, [tool.name for tool in found.tools]) == ("1", ["get_weather"])


def test_tools_are_read_from_the_tool_context_of_older_files(tmp_path: Path) -> None:
    older = [{"name": "f", "description": "d", "parameters": [{"name": "path", "type": "str", "required": True}], "returns": "text"}]
    bare = {**AGENT, "tools": None, "tool_context": {**AGENT["tool_context"], "available_tools": older}}
    (found,) = callmark.load(write_rows(tmp_path / "x.jsonl", bare))
    assert [(tool.name, tool.parameters["required"]) for tool in found.tools] == [("f", ["path"])]
    callmark.write([found], tmp_path / "y.jsonl")
    assert json.loads((tmp_path / "y.jsonl").read_text())["tools"][0]["function"]["name"] == "f"


def test_calls_outside_of_messages_are_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", {**AGENT, "messages": [user("x"), assistant(text="y")]})
    with pytest.raises(BadInput, match="line 1: tool_context.executions: found 1 call, but the messages contain none"):
        list(callmark.load(path))


@pytest.mark.parametrize(
    "metadata", [None, 5, [], {"callmark": 5}, {"callmark": {"ids": [["a1B2c3D4e"]]}}, {"callmark": {"messages": [{"message": 99}]}}]
)
def test_metadata_may_be_anything(tmp_path: Path, metadata: Any) -> None:
    (found,) = callmark.load(write_rows(tmp_path / "x.jsonl", {**AGENT, "metadata": metadata}))
    assert [made.id for made in found.calls] == ["a1B2c3D4e"]


def test_a_written_row_has_only_known_keys_and_valid_ids(tmp_path: Path) -> None:
    told = written(
        tmp_path,
        {"role": "developer", "content": "d"},
        user("x"),
        assistant(
            call("f", {"a": None}, "call_1"),
            call("g", "{", "abcDEF123"),
            {"type": "function", "function": {"name": "h", "arguments": "{}"}},
        ),
        result("r", "call_1", name="f", is_error=True),
        result("s", None),
        assistant(text="done"),
        id="r7",
        tools=[WEATHER],
    )
    assert told.keys() == {"messages", "metadata", "tools", "question", "final_answer"}
    assert (told["question"], told["final_answer"], told["tools"]) == ("x", "done", [WEATHER])
    assert all(message.keys() <= {"role", "content", "tool_calls", "tool_call_id"} for message in told["messages"])
    assert [message["role"] for message in told["messages"]] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    ids = [made["id"] for made in told["messages"][2]["tool_calls"]]
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", made) for made in ids)
    assert (len(set(ids)), ids[1], told["messages"][3]["tool_call_id"]) == (3, "abcDEF123", ids[0])
    assert told["messages"][2]["tool_calls"][1]["function"]["arguments"] == "{"
    assert told["metadata"] == {
        "id": "r7",
        "callmark": {
            "ids": [[ids[0], "call_1"], [ids[2], None]],
            "messages": [{"message": 0, "role": "developer"}, {"message": 3, "name": "f", "is_error": True}],
        },
    }


def test_a_call_without_an_id_has_none_when_it_comes_back(tmp_path: Path) -> None:
    bare = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    written(tmp_path, bare)
    callmark.write(callmark.load(tmp_path / "y.jsonl"), tmp_path / "z.jsonl")
    assert json.loads((tmp_path / "z.jsonl").read_text())["messages"] == [bare]


def test_generated_ids_do_not_collide(tmp_path: Path) -> None:
    told = written(tmp_path, assistant(call("f", {}, "c00000001"), call("f", {}, "call_1")), result("x", "c00000002"))
    assert [made["id"] for made in told["messages"][0]["tool_calls"]] == ["c00000001", "c00000003"]


def test_fields_the_format_cannot_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="c: a case cannot be written in the DeepFabric format"):
        callmark.write([Case("c", expected=(Call("f"),))], tmp_path / "x.jsonl", to="deepfabric")
    with pytest.raises(BadInput, match=r"c: messages\[0\].role: DeepFabric expects system, user, assistant or tool, got 'critic'"):
        callmark.write([Conversation("c", (Message("critic", "x"),))], tmp_path / "x.jsonl", to="deepfabric")
    with pytest.raises(BadInput, match=r"1: messages\[0\]: the key 'message' cannot be stored in metadata.callmark"):
        written(tmp_path, {**user("x"), "message": "y"})


def test_extra_fields_do_not_replace_the_message(tmp_path: Path) -> None:
    kept = {"messages": [{"message": 1, "role": "user", "tool_calls": [], "name": "n"}, {"message": 2, "role": "x", "tool_call_id": "y"}]}
    (found,) = callmark.load(write_rows(tmp_path / "x.jsonl", {**AGENT, "metadata": {"callmark": kept}}))
    assert [(message.role, message.name, message.tool_call_id) for message in found.messages[1:3]] == [
        ("assistant", "n", None),
        ("tool", None, "a1B2c3D4e"),
    ]
    assert [call.name for call in found.calls] == ["get_weather"]
