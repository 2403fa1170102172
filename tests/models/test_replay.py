"""Recorded answers, asked for again: by case and trial or in order, and what is said where there is none."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.models.model import ModelError, Question, Reply
from callmark.models.replay import ReplayModel
from callmark.types import Call, Case
from tests.rows import call, write_rows


def said(name: str, **more: Any) -> dict[str, Any]:
    return {**more, "tool_calls": [call(name)]}


def asked(path: Path | str, *questions: tuple[str, int, int], **options: Any) -> list[str]:
    """For each question (case, trial, ordinal) the first tool called, or why there is no reply."""

    async def run() -> list[str]:
        found = []
        async with ReplayModel(str(path), **options) as model:
            for case, trial, ordinal in questions:
                try:
                    reply = await model.ask(Question(Case(case), trial, ordinal))
                except ModelError as error:
                    found.append(str(error))
                else:
                    found.append(reply.calls[0].name if reply.calls else reply.text)
        return found

    return asyncio.run(run())


def replies(path: Path, case: str) -> Reply:
    async def run() -> Reply:
        async with ReplayModel(str(path)) as model:
            return await model.ask(Question(Case(case)))

    return asyncio.run(run())


NONE = "no answer is recorded for case "


@pytest.mark.parametrize(
    "rows, questions, expected",
    [
        ([said("f", id="b"), said("g", id="a")], [("a", 0, 0), ("b", 0, 1), ("c", 0, 2)], ["g", "f", f"{NONE}c"]),
        ([said("f", id="a", trial=1), said("g", id="a")], [("a", 0, 0), ("a", 1, 0), ("a", 2, 0)], ["g", "f", f"{NONE}a, trial 2"]),
        ([said("f"), said("g")], [("y", 0, 1), ("x", 0, 0), ("z", 0, 2)], ["g", "f", f"{NONE}z"]),
        ([said("f"), said("g")], [("x", 1, 0)], [f"{NONE}x, trial 1"]),
        ([said("f", datasource_item_id=1), said("g", datasource_item_id=0)], [("x", 0, 0), ("y", 0, 1)], ["g", "f"]),
        ([said("f", datasource_item_id=2), said("g", datasource_item_id=1)], [("x", 0, 0), ("y", 0, 1)], ["g", "f"]),
        ([said("f", datasource_item_id=3), said("g", datasource_item_id=2)], [("x", 0, 2), ("y", 0, 1)], ["g", f"{NONE}y"]),
        ([said("f", id="1"), said("g", id="2")], [("1", 0, 0), ("2", 0, 1)], ["f", "g"]),
        ([{"id": "a", "error": "time-out"}, said("b", id="b")], [("a", 0, 0), ("b", 0, 1)], ["time-out", "b"]),
    ],
    ids=[
        "by id",
        "by trial",
        "in order",
        "in order, one trial",
        "places",
        "places from 1",
        "later places",
        "ids that are numbers",
        "an error",
    ],
)
def test_the_answer_of_each_case_is_found(
    tmp_path: Path, rows: list[Any], questions: list[tuple[str, int, int]], expected: list[str]
) -> None:
    assert asked(write_rows(tmp_path / "p.jsonl", *rows), *questions) == expected


@pytest.mark.parametrize(
    "rows, kept",
    [
        ([said("f"), said("g")], "f"),
        ([{"error": "late"}, said("g"), said("h")], "g"),
        ([{"error": "late"}, {"error": "later"}], "late"),
        ([said("f"), {"error": "late"}], "f"),
    ],
)
def test_of_repeated_answers_the_first_that_is_no_error_counts(tmp_path: Path, rows: list[Any], kept: str) -> None:
    path = write_rows(tmp_path / "p.jsonl", *[{**row, "id": "a"} for row in rows])
    assert asked(path, ("a", 0, 0)) == [kept]


def test_everything_that_was_recorded_is_in_the_reply(tmp_path: Path) -> None:
    broken = {"name": "g", "malformed": "cut off", "text": "{"}
    row = {
        "case": "a",
        "calls": [{"name": "f", "id": "c1", "arguments": {"x": 1}}, broken],
        "text": "t",
        "thinking": "th",
        "finish": "stop",
        "usage": {"seconds": 1.5, "input_tokens": 7, "output_tokens": 3},
    }
    calls = (Call("f", {"x": 1}, "c1"), Call("g", {}, None, "cut off", "{"))
    assert replies(write_rows(tmp_path / "p.jsonl", row), "a") == Reply(calls, "t", "th", "stop", 7, 3)


def test_calls_in_raw_text_are_read_by_the_dialect_that_was_given(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "p.jsonl", {"id": "a", "message": {"role": "assistant", "content": "[f(a=1)]"}})
    assert asked(path, ("a", 0, 0)) == ["[f(a=1)]"]
    assert asked(path, ("a", 0, 0), parse="pythonic") == ["f"]


@pytest.mark.parametrize(
    "rows, sentence",
    [
        ([said("f", id="a"), said("g")], "p.jsonl, line 2: the row does not say which case it is for, those before it do"),
        ([said("f"), said("g", id="a")], "p.jsonl, line 2: the row says which case it is for, those before it do not"),
        ([said("f", id="a"), "{"], "p.jsonl, line 2: the row is not JSON"),
        ([], "p.jsonl is empty"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_on_entering(tmp_path: Path, rows: list[Any], sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        asked(write_rows(tmp_path / "p.jsonl", *rows))
    assert sentence in str(error.value)


def test_a_file_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    for path, sentence in ((str(tmp_path / "no.jsonl"), "there is no file"), (str(tmp_path), "is a directory"), ("", "names no file")):
        with pytest.raises(BadInput, match=sentence):
            ReplayModel(path)


def test_a_model_can_be_entered_again(tmp_path: Path) -> None:
    async def run() -> None:
        model = ReplayModel(str(write_rows(tmp_path / "p.jsonl", said("f"), said("g"))))
        for _ in range(2):
            async with model:
                assert (await model.ask(Question(Case("x"), 0, 1))).calls[0].name == "g"

    asyncio.run(run())


@pytest.mark.parametrize(
    "path, label", [("answers/gpt.jsonl", "replay-gpt"), ("runs/base/predictions.jsonl", "replay-base"), ("-", "replay-standard-input")]
)
def test_the_label_tells_recordings_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, label: str) -> None:
    monkeypatch.chdir(tmp_path)
    if path != "-":
        Path(path).parent.mkdir(parents=True)
        write_rows(Path(path), said("f", id="a"))
    model = ReplayModel(path)
    assert (model.label, model.fingerprint(Question(Case("a")))) == (label, None)
