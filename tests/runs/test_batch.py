"""The batch file: what goes out, and that what comes back is read and graded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.formats.predictions import Predictions
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.models.specs import read_spec
from callmark.runs.batch import batch_lines
from callmark.types import Case, Message
from tests.rows import WEATHER, assistant, call, row, user, write_rows


def cases_in(folder: Path) -> list[Case]:
    cities = ("Oslo", "Rom", "Bern", "Paris")
    conversations = [row(user(city), assistant(call("get_weather", {"city": city})), tools=[WEATHER], id=city) for city in cities]
    return list(callmark.expand(callmark.load(str(write_rows(folder / "conversations.jsonl", *conversations)))))


def response_line(line: bytes, city: str) -> dict[str, Any]:
    """A row of the output file, as the service documents it."""
    message = assistant(call("get_weather", {"city": city}))
    body = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    response = {"status_code": 200, "request_id": "req_1", "body": body}
    return {"id": "batch_req_1", "custom_id": json.loads(line)["custom_id"], "response": response, "error": None}


def refused(line: bytes) -> dict[str, Any]:
    body = {
        "error": {"message": "Invalid schema for function 'get_weather'", "type": "invalid_request_error", "param": "tools", "code": None}
    }
    response = {"status_code": 400, "request_id": "req_2", "body": body}
    return {"id": "batch_req_2", "custom_id": json.loads(line)["custom_id"], "response": response, "error": None}


def expired(line: bytes) -> dict[str, Any]:
    error = {"code": "batch_expired", "message": "This request could not be executed before the completion window expired."}
    return {"id": "batch_req_3", "custom_id": json.loads(line)["custom_id"], "response": None, "error": error}


@pytest.mark.parametrize(
    ("spec", "url"),
    [
        ("openai:gpt", "/v1/chat/completions"),
        ("azure:gpt", "/chat/completions"),
        ("Azure:gpt", "/chat/completions"),
    ],
)
def test_each_case_becomes_one_request(tmp_path: Path, spec: str, url: str) -> None:
    cases = cases_in(tmp_path)
    path = read_spec(spec, Keys()).provider.capabilities.batch_path
    lines = [json.loads(line) for line in batch_lines(cases, "gpt", ModelSettings(temperature=0.0), path=path)]
    assert [line["custom_id"] for line in lines] == [case.id for case in cases]
    body = {"model": "gpt", "messages": [user("Oslo")], "tools": [WEATHER], "temperature": 0.0}
    assert lines[0] == {"custom_id": "Oslo:1", "method": "POST", "url": url, "body": body}


def test_a_case_from_a_file_with_line_breaks_is_still_one_line(tmp_path: Path) -> None:
    conversation = row(user("two\nlines"), assistant(call("get_weather")), tools=[WEATHER], id="t")
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([conversation], indent=2))
    [line] = batch_lines(callmark.expand(callmark.load(str(file))), "gpt", ModelSettings())
    assert b"\n" not in line
    assert json.loads(line)["body"]["messages"] == [user("two\nlines")]


def test_lines_are_generated_on_demand(tmp_path: Path) -> None:
    [first, *_] = cases_in(tmp_path)

    def endless() -> Iterator[Case]:
        yield first
        raise AssertionError("the second was taken before the first was used")

    assert json.loads(next(batch_lines(endless(), "gpt", ModelSettings())))["custom_id"] == first.id


def test_duplicate_case_ids_are_refused() -> None:
    case = Case("same", (Message("user", "hi"),))
    with pytest.raises(BadInput, match="duplicate case ID 'same'"):
        list(batch_lines([case, case], "gpt", ModelSettings()))


def test_batch_results_are_read_and_graded(tmp_path: Path) -> None:
    cases = cases_in(tmp_path)
    lines = list(batch_lines(cases, "gpt", ModelSettings(model="openai:gpt")))
    output = write_rows(tmp_path / "output.jsonl", response_line(lines[1], "Rom"), response_line(lines[0], "Paris"))  # in any order
    errors = write_rows(tmp_path / "errors.jsonl", refused(lines[2]), expired(lines[3]))
    found = {row.case: row.prediction for file in (output, errors) for _, row in Predictions(str(file))}
    assert found.keys() == {case.id for case in cases}
    grades = [callmark.grade(case.expected, found[case.id].calls, tools=case.tools) for case in cases[:2]]
    assert [grade.metrics["call.pass"] for grade in grades] == [0.0, 1.0]
    assert [bool(found[case.id].error) for case in cases] == [False, False, True, True]
    assert "400" in found["Bern:1"].error
    assert "Invalid schema" in found["Bern:1"].error
    assert "batch_expired" in found["Paris:1"].error
