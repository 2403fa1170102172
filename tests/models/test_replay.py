"""Recorded predictions: by case and trial or in order, and an error if there is none."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.models.replay import ReplayModel
from callmark.types import Call, Case, Prediction, Usage
from tests.rows import call, write_rows


def row(name: str, **more: Any) -> dict[str, Any]:
    return {**more, "tool_calls": [call(name)]}


def first_tools(path: Path | str, *requests: tuple[str, int, int], **options: Any) -> list[str]:
    """Return for each request (case, trial, index) the first tool called, or the error."""

    async def run() -> list[str]:
        names = []
        async with ReplayModel(str(path), **options) as model:
            for case, trial, index in requests:
                try:
                    prediction = await model.predict(Case(case, index=index), trial=trial)
                except ModelError as error:
                    names.append(str(error))
                else:
                    names.append(prediction.calls[0].name if prediction.calls else prediction.text)
        return names

    return asyncio.run(run())


def predict(path: Path, case: str) -> Prediction:
    async def run() -> Prediction:
        async with ReplayModel(str(path)) as model:
            return await model.predict(Case(case))

    return asyncio.run(run())


NONE = "no recorded prediction for case "


@pytest.mark.parametrize(
    "rows, requests, expected",
    [
        ([row("f", id="b"), row("g", id="a")], [("a", 0, 0), ("b", 0, 1), ("c", 0, 2)], ["g", "f", f"{NONE}c"]),
        ([row("f", id="a", trial=1), row("g", id="a")], [("a", 0, 0), ("a", 1, 0), ("a", 2, 0)], ["g", "f", f"{NONE}a, trial 2"]),
        ([row("f"), row("g")], [("y", 0, 1), ("x", 0, 0), ("z", 0, 2)], ["g", "f", f"{NONE}z"]),
        ([row("f"), row("g")], [("x", 1, 0)], [f"{NONE}x, trial 1"]),
        ([row("f", datasource_item_id=1), row("g", datasource_item_id=0)], [("x", 0, 0), ("y", 0, 1)], ["g", "f"]),
        ([row("f", datasource_item_id=2), row("g", datasource_item_id=1)], [("x", 0, 0), ("y", 0, 1)], ["g", "f"]),
        ([row("f", datasource_item_id=3), row("g", datasource_item_id=2)], [("x", 0, 2), ("y", 0, 1)], ["g", f"{NONE}y"]),
        ([row("f", id="1"), row("g", id="2")], [("1", 0, 0), ("2", 0, 1)], ["f", "g"]),
        ([{"id": "a", "error": "time-out"}, row("b", id="b")], [("a", 0, 0), ("b", 0, 1)], ["time-out", "b"]),
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
def test_prediction_of_each_case_is_found(
    tmp_path: Path, rows: list[Any], requests: list[tuple[str, int, int]], expected: list[str]
) -> None:
    assert first_tools(write_rows(tmp_path / "p.jsonl", *rows), *requests) == expected


@pytest.mark.parametrize(
    "rows, expected",
    [
        ([row("f"), row("g")], "f"),
        ([{"error": "late"}, row("g"), row("h")], "g"),
        ([{"error": "late"}, {"error": "later"}], "late"),
        ([row("f"), {"error": "late"}], "f"),
    ],
)
def test_first_prediction_without_error_counts(tmp_path: Path, rows: list[Any], expected: str) -> None:
    path = write_rows(tmp_path / "p.jsonl", *[{**row, "id": "a"} for row in rows])
    assert first_tools(path, ("a", 0, 0)) == [expected]


def test_recorded_fields_are_in_the_prediction(tmp_path: Path) -> None:
    broken = {"name": "g", "malformed": "cut off", "text": "{"}
    row = {
        "case": "a",
        "calls": [{"name": "f", "id": "c1", "arguments": {"x": 1}}, broken],
        "text": "t",
        "thinking": "th",
        "finish_reason": "stop",
        "usage": {"seconds": 1.5, "input_tokens": 7, "output_tokens": 3},
    }
    calls = (Call("f", {"x": 1}, "c1"), Call("g", {}, None, "cut off", "{"))
    assert predict(write_rows(tmp_path / "p.jsonl", row), "a") == Prediction(
        "a", 0, calls, "t", "th", finish_reason="stop", usage=Usage(0.0, 7, 3)
    )


def test_calls_in_raw_text_are_parsed_by_the_given_format(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "p.jsonl", {"id": "a", "message": {"role": "assistant", "content": "[f(a=1)]"}})
    assert first_tools(path, ("a", 0, 0)) == ["[f(a=1)]"]
    assert first_tools(path, ("a", 0, 0), parse="pythonic") == ["f"]


@pytest.mark.parametrize(
    "rows, sentence",
    [
        ([row("f", id="a"), row("g")], "p.jsonl, line 2: the row has no case ID, but earlier rows do"),
        ([row("f"), row("g", id="a")], "p.jsonl, line 2: the row has a case ID, but earlier rows do not"),
        ([row("f", id="a"), "{"], "p.jsonl, line 2: not valid JSON"),
        ([], "p.jsonl is empty"),
    ],
)
def test_invalid_file_is_rejected_on_entry(tmp_path: Path, rows: list[Any], sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        first_tools(write_rows(tmp_path / "p.jsonl", *rows))
    assert sentence in str(error.value)


def test_missing_file_is_rejected_at_once(tmp_path: Path) -> None:
    for path, sentence in (
        (str(tmp_path / "no.jsonl"), "no such file"),
        (str(tmp_path), "expected a file, or a folder of data files"),
        ("", "replay: the file is missing"),
    ):
        with pytest.raises(BadInput, match=sentence):
            ReplayModel(path)


def test_model_can_be_entered_again(tmp_path: Path) -> None:
    async def run() -> None:
        model = ReplayModel(str(write_rows(tmp_path / "p.jsonl", row("f"), row("g"))))
        for _ in range(2):
            async with model:
                assert (await model.predict(Case("x", index=1))).calls[0].name == "g"

    asyncio.run(run())


@pytest.mark.parametrize(
    "path, label", [("predictions/gpt.jsonl", "replay-gpt"), ("runs/base/predictions.jsonl", "replay-base"), ("-", "replay-standard-input")]
)
def test_label_contains_the_name_of_the_file_or_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, label: str) -> None:
    monkeypatch.chdir(tmp_path)
    if path != "-":
        Path(path).parent.mkdir(parents=True)
        write_rows(Path(path), row("f", id="a"))
    model = ReplayModel(path)
    assert (model.label, model.fingerprint(Case("a"), 0)) == (label, None)
