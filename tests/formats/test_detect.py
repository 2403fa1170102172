"""Formats are found by name, by extension and by confidence; those of installed packages too."""

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

import callmark
from callmark import registry
from callmark.errors import BadInput
from callmark.formats import detect
from callmark.formats.bare_lists import wrap_list
from callmark.formats.detect import detect_format, find_format, split_container
from callmark.formats.format import Format, ReadContext
from callmark.formats.json_fields import decode_fields
from callmark.formats.predictions import read_prediction
from callmark.types import Call, Conversation, Message, Place, Prediction
from tests.conftest import Cli
from tests.formats.exchange_shapes import EXCHANGE_SHAPES
from tests.formats.samples import CALLS, samples
from tests.formats.shapes import ExchangeShape, Shape
from tests.formats.test_conformance import SHAPES
from tests.rows import assistant, call, result, row, user, write_rows


def read_lines(line: bytes, place: Place, context: ReadContext) -> Conversation:
    texts = msgspec.json.decode(line)["lines"]
    return Conversation(str(place.number), tuple(Message("user", text) for text in texts))


def write_lines(conversation: Conversation) -> bytes:
    return msgspec.json.encode({"lines": [message.text for message in conversation.messages]})


def detect_lines(fields: Mapping[str, Raw]) -> float:
    return 1.0 if "lines" in fields else 0.0


def read_lines_prediction(line: bytes) -> Prediction:
    return Prediction("1", 0, (Call("f"),))


ALL_SHAPES: tuple[Shape | ExchangeShape, ...] = (*SHAPES, *EXCHANGE_SHAPES)
LINES = Format("lines", "Lines of text", detect_lines, read_lines, write_lines, extensions=(".lines",))
RECORDED = Format("recorded-lines", "Recorded lines", detect_lines, read_lines, read_prediction=read_lines_prediction)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The formats above, as if a package had installed them."""
    points = {
        "lines": EntryPoint("lines", f"{__name__}:LINES", "callmark.formats"),
        "recorded-lines": EntryPoint("recorded-lines", f"{__name__}:RECORDED", "callmark.formats"),
        "openai": EntryPoint("openai", f"{__name__}:LINES", "callmark.formats"),
    }
    monkeypatch.setattr(registry, "_entry_points", lambda kind: points if kind == "formats" else {})
    for function in (detect.find_format, detect.installed_formats):
        function.cache_clear()
    yield
    for function in (detect.find_format, detect.installed_formats):
        function.cache_clear()


@pytest.mark.parametrize(
    "line, name",
    [
        (b'{"messages": []}', "openai"),
        (b'{"item": {}}', "openai"),
        (b'{"messages": [], "expected_output": {}}', "openai"),
        (b'{"messages": [], "conversations": []}', "sharegpt"),
        (b'{"conversations": [], "expected_function_calls": []}', "scenarios"),
        (b'{"expected_function_calls": [], "task_id": 1, "traj": []}', "tau-bench"),
        (b'{"messages": [], "system": "x", "task_id": 1, "traj": []}', "anthropic"),
        (b'{"messages": [], "system": "x", "tool_context": {}}', "deepfabric"),
        (b'{"messages": [], "question": "", "final_answer": ""}', "deepfabric"),
        (b'{"user_scenario": {}, "evaluation_criteria": {}}', "tau2-tasks"),
        (b'{"prompt": "", "completion": "", "label": true}', "prompt-completion"),
        (b'{"prompt": "", "completion": "", "messages": []}', "openai"),
        (b'{"messages": [], "chosen": [], "rejected": []}', "preference"),
        (b'{"messages": [], "tools": ["{}"]}', "when2call"),
        (b'{"item": {"messages": []}, "sample": {}}', "hosted-evaluation"),
        (b'{"item": {"messages": [], "reference_answer": []}}', "reference-answers"),
        (b'{"messages": [], "reference_answer": "42"}', "openai"),
        (b'{"messages": [], "expected_output": {}, "reference_answer": []}', "openai"),
        (b'{"system": "x", "conversations": []}', "sharegpt"),
        (b'{"messages": [{"role": ["human"]}]}', "openai"),
    ],
)
def test_the_most_confident_format_wins(line: bytes, name: str) -> None:
    assert detect_format(line).name == name


@pytest.mark.usefixtures("installed")
def test_a_format_of_an_installed_package_is_found_and_detected() -> None:
    assert find_format("lines") is LINES
    assert detect_format(b'{"lines": []}') is LINES
    assert find_format("openai").title == "OpenAI chat", "an installed package cannot replace a built-in format"
    assert detect_format(b'{"lines": [], "messages": []}').name == "openai", "built-in formats come first"
    with pytest.raises(BadInput, match="unknown format 'linse'. Did you mean lines?"):
        find_format("linse")


@pytest.mark.usefixtures("installed")
def test_a_file_extension_decides_before_the_rows_do(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.lines", {"lines": ["a"], "messages": []})
    assert callmark.load(path).format is LINES
    assert callmark.load(write_rows(tmp_path / "x.jsonl", {"lines": ["a"], "messages": []})).format.name == "openai"


@pytest.mark.usefixtures("installed")
def test_commands_read_and_write_a_format_of_an_installed_package(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", {"lines": ["a", "b"]})
    assert "Lines of text" in cli("stats", path).out
    assert cli("convert", path, "-o", tmp_path / "y.jsonl", "--to", "openai").status == 0
    assert cli("convert", tmp_path / "y.jsonl", "-o", tmp_path / "z.jsonl", "--to", "lines").status == 0
    assert (tmp_path / "z.jsonl").read_text() == '{"lines":["a","b"]}\n'
    both = write_rows(tmp_path / "b.jsonl", {"lines": ["c"], "messages": [user("hi"), assistant(text="ho")]})
    assert cli("convert", both, "--from", "lines", "-o", tmp_path / "c.jsonl", "--to", "lines").status == 0
    refused = cli("convert", path, "-o", tmp_path / "d.jsonl", "--to", "recorded-lines")
    assert (refused.status, "the format recorded-lines (Recorded lines) can only be read, not written" in refused.err) == (2, True)


@pytest.mark.usefixtures("installed")
def test_a_recording_of_an_installed_package_is_a_prediction() -> None:
    assert read_prediction(b'{"lines": []}').prediction.calls == (Call("f"),)


def test_rows_of_other_formats_are_not_taken_for_recordings() -> None:
    with pytest.raises(BadInput, match="no prediction found"):
        read_prediction(b'{"lines": []}')


@pytest.mark.parametrize("shape", [pytest.param(shape, id=shape.name) for shape in ALL_SHAPES])
def test_exactly_one_format_is_most_confident_about_every_shape(shape: Shape | ExchangeShape) -> None:
    """A tie would let the order of the registry decide how a file is read."""
    for item in shape.rows(samples()) if isinstance(shape, Shape) else [shape.row("hi", [made]) for made in CALLS]:
        text = json.dumps(item).encode()
        for one in split_container(text) or [text]:
            fields = decode_fields(wrap_list(bytes(one)))
            confidences = {candidate.name: candidate.detect(fields) for candidate in detect.built_in_formats()}
            possible = {candidate.name for candidate in detect.possible_formats(frozenset(fields))}
            assert {name for name, found in confidences.items() if found} <= possible, "a format would not be imported for its row"
            assert [name for name, found in confidences.items() if found == max(confidences.values())] == [shape.format_name]


def test_no_format_recognizes_a_row_without_its_keys() -> None:
    """Otherwise a row would be detected as another format, because its own is not imported."""
    rows = [item for shape in ALL_SHAPES for item in (shape.rows(samples()) if isinstance(shape, Shape) else [shape.row("hi", CALLS[:1])])]
    fields: dict[str, list[msgspec.Raw]] = {}
    for item in rows:
        for one in split_container(text := json.dumps(item).encode()) or [text]:
            for key, value in decode_fields(wrap_list(bytes(one))).items():
                fields.setdefault(key, []).append(value)
    for candidate in detect.built_in_formats():
        own = {key for key in fields if candidate in detect.possible_formats(frozenset({key, "id"}))}
        for turn in range(20):
            others = {key: values[turn % len(values)] for key, values in fields.items() if key not in own}
            assert candidate.detect(others) == 0, f"{candidate.name} recognizes a row without {sorted(own)}"


def test_an_ordinary_row_imports_only_the_formats_that_it_may_be_in() -> None:
    possible = {candidate.name for candidate in detect.possible_formats(frozenset({"id", "messages", "tools"}))}
    assert {"openai", "anthropic", "langchain"} <= possible
    assert not possible & {"otlp", "langfuse", "agents-traces", "bfcl", "glaive"}


@pytest.mark.parametrize(
    "given, name",
    [
        ([user("hi"), assistant(text="ho")], "openai"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}, "openai"),
        ({"messages": [{"role": "user", "content": [{"text": "hi"}]}]}, "bedrock"),
        ({"messages": [{"role": "user", "content": "hi"}], "system": "x"}, "anthropic"),
        ({"messages": [{"role": "user", "content": "hi"}], "system": [{"text": "x"}], "toolConfig": {"tools": []}}, "bedrock"),
        ({"messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}]}, "vercel-ai"),
        ({"messages": [{"type": "human", "content": "hi"}]}, "langchain"),
        ({"messages": [{"type": "message", "role": "user", "content": "hi"}]}, "responses"),
        ({"messages": [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]}]}, "pydantic-ai"),
        ({"messages": [user("hi")], "epoch": 1, "input": "hi", "target": "x"}, "inspect-ai"),
        ({"input": [user("hi")], "instructions": "x"}, "responses"),
        ({"contents": "hi"}, "gemini"),
        ({"inputs": {"messages": [user("hi")]}, "outputs": {"message": assistant(text="ho")}}, "langchain"),
    ],
)
def test_a_row_without_calls_is_detected_by_the_form_of_its_messages(given: Any, name: str) -> None:
    assert detect_format(wrap_list(json.dumps(given).encode())).name == name
    assert [message.text for message in next(iter(callmark.load([given]))).messages][-1] in ("hi", "ho")


def test_an_array_of_messages_is_one_conversation_and_an_array_of_rows_is_many(tmp_path: Path) -> None:
    messages = [user("hi"), assistant(call("f")), result("1"), assistant(text="ho")]
    for name, content in {"one.json": messages, "one-indented.json": messages, "rows.json": [row(*messages), row(*messages)]}.items():
        (tmp_path / name).write_text(json.dumps(content, indent=2 if "indented" in name else None))
    assert [len(found.messages) for found in callmark.load(tmp_path / "one.json")] == [4]
    assert [len(found.messages) for found in callmark.load(tmp_path / "one-indented.json")] == [4]
    assert [len(found.messages) for found in callmark.load(tmp_path / "rows.json")] == [4, 4]
    lists = write_rows(tmp_path / "lists.jsonl", messages, messages)
    assert [[str(one) for one in found.calls] for found in callmark.load(lists)] == [["f()"], ["f()"]]


def test_row_with_bytes_that_are_not_utf8_is_no_container() -> None:
    assert split_container(b'{"messages": [{"role": "\x97", "content": "Hi"}]}') is None
