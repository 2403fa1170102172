"""Chat formats: what is not known is refused with a sentence, what the framework marks as broken is malformed, the rest stays."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.types import Conversation
from tests.conftest import Cli
from tests.formats.chat_shapes import inspect_sample
from tests.formats.samples import samples
from tests.rows import write_rows


def read(row: Any, format_name: str | None = None) -> Conversation:
    [found] = callmark.load([row], format_name=format_name)
    return found


def bedrock(*blocks: Any, role: str = "assistant") -> Any:
    return {"messages": [{"role": "user", "content": [{"text": "hi"}]}, {"role": role, "content": list(blocks)}]}


def gemini(*parts: Any, role: str = "model") -> Any:
    return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": role, "parts": list(parts)}]}


def items(*others: Any) -> Any:
    return {"input": [{"role": "user", "content": "hi"}, *others]}


def langchain(**fields: Any) -> Any:
    return {"messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "", **fields}]}


def vercel(*parts: Any, role: str = "assistant", key: str = "parts") -> Any:
    return {"messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}, {"role": role, key: list(parts)}]}


def inspect(**fields: Any) -> Any:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", **fields}]
    return {"id": 1, "epoch": 1, "input": "hi", "target": "", "messages": messages}


def pydantic_ai(*parts: Any, kind: str = "response") -> Any:
    request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]}
    return [request, {"kind": kind, "parts": list(parts)}]


@pytest.mark.parametrize(
    "row, sentence",
    [
        (bedrock({"text": "x"}, role="narrator"), "messages[1].role: unknown role 'narrator': expected user, assistant, system"),
        (bedrock({"toolUse2": {}}), "messages[1].content[0]: unknown key or type 'toolUse2', which may hold a tool call"),
        (bedrock({"text": "x", "toolCall": {}}), "messages[1].content[0]: unknown key or type 'toolCall', which may hold a tool call"),
        (bedrock({"toolUse": "f"}), "messages[1].content[0].toolUse: expected an object, got a string"),
        ({**bedrock(), "toolConfig": {"tools": {}}}, "toolConfig.tools: expected a list, got an object"),
        (gemini({"text": "x"}, role="narrator"), "contents[1].role: unknown role 'narrator': expected user, model, function, tool, system"),
        (gemini({"toolCall": {"toolType": "X"}}), "contents[1].parts[0]: unknown key or type 'toolCall', which may hold a tool call"),
        (gemini({"functionCall": []}), "contents[1].parts[0].functionCall: expected an object, got a list"),
        ({"contents": [{"parts": {}}]}, "contents[0].parts: expected a list, got an object"),
        (
            items({"role": "narrator", "content": "x"}),
            "input[1].role: unknown role 'narrator': expected user, assistant, system, developer",
        ),
        (items({"type": "computer_call", "action": {}}), "input[1]: unknown key or type 'computer_call', which may hold a tool call"),
        (items({"type": "item_reference", "id": "x"}), "input[1]: the item is stored on the server, and may be a tool call"),
        (items({"type": "reasoning", "summary": []}, {"content": "x"}), "input[2]: type is missing"),
        (
            items({"type": "reasoning"}, {"role": "assistant", "content": None, "tool_calls": []}),
            "input[2]: expected an item of the Responses API, got a chat message with tool_calls",
        ),
        (langchain(type="remove"), "messages[1].type: unknown role 'remove': expected human, user, ai"),
        (langchain(toolCalls=[]), "messages[1]: unknown key or type 'toolCalls', which may hold a tool call"),
        (
            langchain(additional_kwargs={"toolUses": []}),
            "messages[1].additional_kwargs: unknown key or type 'toolUses', which may hold a tool call",
        ),
        (langchain(content=[{"type": "tool_v2"}]), "messages[1].content[0]: unknown key or type 'tool_v2', which may hold a tool call"),
        (
            {"messages": [{"lc": 1, "type": "constructor", "id": ["langchain", "prompts", "PromptTemplate"], "kwargs": {}}]},
            "messages[0].id: expected a LangChain message, got 'PromptTemplate'",
        ),
        (
            {"run_type": "llm", "inputs": {"prompts": ["Human: hi"]}, "outputs": {}},
            "inputs: expected messages, got only text",
        ),
        (
            {"run_type": "llm", "inputs": {"messages": [[], []]}, "outputs": {}},
            "inputs.messages: expected the messages of one conversation, got 2 lists",
        ),
        (
            {"inputs": {"messages": []}, "outputs": {"a": 1, "b": 2}},
            "outputs: expected messages, message, generations or output, got a, b",
        ),
        (
            vercel({"type": "text", "text": "x"}, role="data"),
            "messages[1].role: unknown role 'data': expected system, user, assistant, tool",
        ),
        (vercel({"type": "function-call"}), "messages[1].parts[0]: unknown key or type 'function-call', which may hold a tool call"),
        (inspect(role="narrator"), "messages[1].role: unknown role 'narrator': expected system, user, assistant, tool"),
        (inspect(function_calls=[]), "messages[1]: unknown key or type 'function_calls', which may hold a tool call"),
        (inspect(tool_calls={}), "messages[1].tool_calls: expected a list, got an object"),
        (pydantic_ai(kind="narrator"), "messages[1].kind: expected request or response, got 'narrator'"),
        (
            pydantic_ai({"part_kind": "tool-call-v2"}),
            "messages[1].parts[0]: unknown key or type 'tool-call-v2', which may hold a tool call",
        ),
        (
            pydantic_ai({"part_kind": "function"}, kind="request"),
            "messages[1].parts[0]: unknown key or type 'function', which may hold a tool call",
        ),
    ],
)
def test_what_is_not_known_is_refused_with_its_place(row: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(row)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "row",
    [
        gemini({"functionCall": {"name": "f", "partialArgs": [{"jsonPath": "$.a"}]}}),
        gemini({"functionCall": {"name": "f", "inputs": {"a": 1}}}),
        bedrock({"toolUse": {"toolUseId": "1", "name": "f", "input": "a"}}),
        items({"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"a": '}),
        langchain(invalid_tool_calls=[{"name": "f", "args": '{"a": ', "id": "1", "error": "x"}]),
        langchain(invalid_tool_calls=[{"name": "f", "args": "{}", "id": "1", "error": "x"}]),
        langchain(invalid_tool_calls=[{"name": "f", "args": None, "id": "1", "error": "x"}]),
        vercel({"type": "tool-f", "toolCallId": "1", "state": "input-streaming", "input": {"a": 1}}),
        vercel({"type": "tool-f", "toolCallId": "1", "state": "output-error", "rawInput": "{a", "errorText": "x"}),
        vercel({"type": "tool-call", "toolCallId": "1", "toolName": "f", "input": "{a", "invalid": True}, key="content"),
        inspect(tool_calls=[{"id": "1", "function": "f", "arguments": {}, "parse_error": "not JSON"}]),
        pydantic_ai({"part_kind": "tool-call", "tool_name": "f", "args": "{a", "tool_call_id": "1"}),
    ],
)
def test_broken_calls_are_malformed_and_keep_their_names(row: Any) -> None:
    [call] = read(row).calls
    assert (call.name, call.arguments) == ("f", {})
    assert call.malformed


@pytest.mark.parametrize(
    "row, text",
    [
        (bedrock({"image": {"format": "png"}}), "[image]"),
        (bedrock({"cachePoint": {"type": "default"}}, {"text": "ho"}), "ho"),
        (gemini({"inlineData": {"mimeType": "image/png"}}), "[inlineData]"),
        (gemini({"executableCode": {"code": "1"}}), "[executableCode]"),
        (gemini({"text": "hm", "thought": True}, {"text": "ho"}), "ho"),
        (items({"type": "web_search_call", "id": "x"}, {"role": "assistant", "content": "ho"}), "[web_search_call]\nho"),
        (items({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}), "no"),
        (langchain(content=[{"type": "image_url", "image_url": {}}, "ho"]), "[image_url]\nho"),
        (langchain(content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ho"}]), "ho"),
        (vercel({"type": "file", "mediaType": "image/png"}, {"type": "data-x", "data": 1}), "[file]\n[data-x]"),
        (inspect(content=[{"type": "reasoning", "reasoning": "hm"}, {"type": "tool_use", "name": "web_search"}]), "[tool_use]"),
        (pydantic_ai({"part_kind": "thinking", "content": "hm"}, {"part_kind": "file", "content": {}}), "[file]"),
    ],
)
def test_parts_that_are_no_calls_stay_as_their_type(row: Any, text: str) -> None:
    found = read(row)
    assert (found.messages[-1].text, found.calls) == (text, ())


@pytest.mark.parametrize(
    "row",
    [
        langchain(
            content=[{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}],
            tool_calls=[{"name": "f", "args": {"a": 1}, "id": "1"}],
        ),
        langchain(content=[{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}], tool_calls=[]),
        langchain(additional_kwargs={"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]}),
        langchain(
            tool_calls=[{"name": "f", "args": {"a": 1}, "id": "1"}],
            additional_kwargs={"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
        ),
        {
            "inputs": {"messages": [{"role": "user", "content": "hi"}]},
            "outputs": {
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
                }
            },
        },
        vercel({"type": "tool-invocation", "toolInvocation": {"state": "call", "toolCallId": "1", "toolName": "f", "args": {"a": 1}}}),
        bedrock({"text": None, "toolUse": {"toolUseId": "1", "name": "f", "input": {"a": 1}}, "toolResult": None}),
    ],
)
def test_a_call_in_two_places_is_read_once_and_in_either_place(row: Any) -> None:
    assert [(str(call), call.id) for call in read(row).calls] == [("f(a=1)", "1")]


def test_custom_tool_calls_have_their_text_as_argument() -> None:
    row = items(
        {"type": "custom_tool_call", "call_id": "1", "name": "run", "input": "print(1)"},
        {"type": "custom_tool_call_output", "call_id": "1", "output": "1"},
    )
    found = read(row)
    assert [str(call) for call in found.calls] == ['run(input="print(1)")']
    assert [(message.role, message.text, message.tool_call_id) for message in found.messages[-1:]] == [("tool", "1", "1")]


def test_errors_of_tools_are_results_marked_as_errors(tmp_path: Path) -> None:
    call = {"type": "tool-f", "toolCallId": "1", "state": "output-error", "input": {}, "errorText": "no"}
    rows: list[Any] = [
        vercel(call),
        pydantic_ai({"part_kind": "retry-prompt", "tool_name": "f", "tool_call_id": "1", "content": "no"}, kind="request"),
        bedrock({"toolResult": {"toolUseId": "1", "content": [{"text": "no"}], "status": "error"}}, role="user"),
    ]
    for row in rows:
        found = read(row)
        assert (found.messages[-1].role, found.messages[-1].text) == ("tool", "no")
        assert b'"is_error":true' in bytes(found.original.texts[-1])


def test_epochs_of_a_sample_have_ids_of_their_own() -> None:
    sample = inspect_sample(samples()[0])
    assert [read({**sample, "epoch": epoch}).id for epoch in (1, 2)] == ["first", "first@2"]


def test_attachments_in_the_tools_of_a_log_are_resolved() -> None:
    tools = [{"name": "f", "description": "attachment://abc", "parameters": {"type": "object", "properties": {}}}]
    sample = {**inspect(), "events": [{"event": "model", "tools": tools}], "attachments": {"abc": "A long text."}}
    assert [tool.description for tool in read(sample).tools] == ["A long text."]


def archive(**members: Any) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return target.getvalue()


def test_samples_of_an_archive_come_in_the_order_of_epoch_and_id(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    names = ["samples/10_epoch_1.json", "samples/2_epoch_2.json", "samples/2_epoch_1.json", "samples/a_epoch_1.json", "header.json"]
    path.write_bytes(
        archive(**{name: {**inspect(), "id": name.split("_")[0][8:], "epoch": int(name[-6])} for name in names[:4]}, **{names[4]: {}})
    )
    assert [found.id for found in callmark.load(path)] == ["2", "10", "a", "2@2"]


@pytest.mark.parametrize(
    "content, sentence",
    [
        (archive(**{"header.json": {}}), "expected an inspect-ai log, got an archive without samples"),
        (archive(**{"samples/1_epoch_1.json": inspect()})[:60], "the archive is truncated or damaged"),
        (archive(**{"samples/1_epoch_1.json": b" " * (1 << 25) + b"{}"}), "the archive expands to a row of more than 32 MiB"),
    ],
    ids=["no samples", "truncated", "expands"],
)
def test_an_archive_that_cannot_be_read_is_refused(content: bytes, sentence: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "log.eval").write_bytes(content)
    done = cli("stats", tmp_path / "log.eval")
    assert (done.status, sentence in done.err) == (2, True), done.err


def test_split_and_convert_keep_the_samples_of_a_log_as_rows(cli: Cli, tmp_path: Path) -> None:
    log = {"version": 2, "eval": {}, "samples": [inspect_sample(sample) for sample in samples()]}
    path = write_rows(tmp_path / "log.json", log)
    done = cli("split", path, "--valid", "0.5", "-o", tmp_path / "parts")
    assert done.status == 0, done.err
    sizes = [len(list(callmark.load(tmp_path / "parts" / name))) for name in ("train.jsonl", "valid.jsonl")]
    assert sum(sizes) == len(samples())
    assert cli("convert", path, "-o", tmp_path / "out.jsonl", "--to", "openai").status == 0
    assert [found.id for found in callmark.load(tmp_path / "out.jsonl")] == ["first", "second", "third"]


def test_nulls_of_tables_are_no_arguments_unless_the_tool_requires_them() -> None:
    tool = {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": None, "b": {}}, "required": ["b"]}},
    }
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": None, "b": None, "c": {"d": None, "e": [None]}}}}
    messages = [
        {"role": "user", "content": "hi", "tool_calls": None},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    padded = read({"messages": messages, "tools": [tool]})
    assert (padded.calls[0].arguments, padded.tools[0].parameters["properties"]) == ({"b": None, "c": {"e": [None]}}, {"b": {}})
    plain = read({"messages": [{"role": "user", "content": "hi"}, messages[1]], "tools": [tool]})
    assert plain.calls[0].arguments == {"a": None, "b": None, "c": {"d": None, "e": [None]}}, "nothing shows that this row is from a table"
