"""Predictions sorted by case: by id or in order, trials, repeats, and what is for no case."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.errors import BadInput, BrokenRow
from callmark.formats.predictions import Predictions, read_prediction
from callmark.runs.prediction_file import Answers, answers, packed, unpacked
from callmark.types import Call, Prediction
from tests.formats.test_round_trip import good_calls
from tests.rows import call, write_rows


def answered(folder: Path, *rows: Any, **options: Any) -> Answers:
    return answers(Predictions(str(write_rows(folder / "p.jsonl", *rows)), **options))


def names(found: Answers) -> dict[str, list[str]]:
    """By case, the first tool (or the error) of each trial."""
    told = {case: [unpacked(line) for line in lines] for case, lines in found.by_case.items()}
    return {case: [one.error or one.calls[0].name for one in trials] for case, trials in told.items()}


def said(name: str, **more: Any) -> dict[str, Any]:
    return {**more, "tool_calls": [call(name)]}


def failed(text: str, **more: Any) -> dict[str, Any]:
    return {**more, "error": text}


@pytest.mark.parametrize(
    "rows, expected",
    [
        ([said("f", id="b"), said("g", id="a")], {"b": ["f"], "a": ["g"]}),
        ([said("f", id="a", trial=2), said("g", id="a", trial=0)], {"a": ["g", "f"]}),
        ([said("f", id=1), said("g", case="2")], {"1": ["f"], "2": ["g"]}),
        ([said("f"), said("g")], {"0": ["f"], "1": ["g"]}),
        ([said("f", datasource_item_id=1), said("g", datasource_item_id=0)], {"1": ["f"], "0": ["g"]}),
        ([said("f", datasource_item_id=2), said("g", datasource_item_id=1)], {"1": ["f"], "0": ["g"]}),
        ([said("f", datasource_item_id=3), said("g", datasource_item_id=1)], {"3": ["f"], "1": ["g"]}),
        ([said("f", datasource_item_id=3), said("g", datasource_item_id=2)], {"3": ["f"], "2": ["g"]}),
        ([said("f", trial=1), said("g", trial=1)], {"0": ["f"], "1": ["g"]}),
    ],
    ids=[
        "ids",
        "trials",
        "numbers for ids",
        "in order",
        "places",
        "places from 1",
        "places with gaps",
        "later places",
        "in order, a trial",
    ],
)
def test_each_case_has_its_answers_in_the_order_of_trials(tmp_path: Path, rows: list[Any], expected: dict[str, list[str]]) -> None:
    found = answered(tmp_path, *rows)
    assert names(found) == expected
    assert found.in_order is not any("id" in row or "case" in row for row in rows)
    assert (found.info.rows, found.info.repeated, found.info.parsed) == (2, 0, 0)


@pytest.mark.parametrize(
    "rows, kept",
    [
        ([said("f"), said("g")], ["f"]),
        ([failed("late"), said("g"), said("h")], ["g"]),
        ([failed("late"), failed("later")], ["late"]),
        ([said("f"), failed("late")], ["f"]),
        ([failed("late"), failed("later"), said("h")], ["h"]),
    ],
    ids=["the first", "an error gives way", "the first error", "an answer does not", "however late"],
)
def test_of_several_answers_the_first_counts_unless_it_is_an_error(tmp_path: Path, rows: list[Any], kept: list[str]) -> None:
    found = answered(tmp_path, *[{**row, "id": "a"} for row in rows], said("z", id="b"))
    assert names(found) == {"a": kept, "b": ["z"]}
    assert (found.info.rows, found.info.repeated) == (len(rows) + 1, len(rows) - 1)


@pytest.mark.parametrize(
    "rows, sentence",
    [
        ([said("f", id="a"), said("g")], "line 2: the row does not say which case it is for, those before it do"),
        ([said("f"), said("g"), said("h", id="a")], "line 3: the row says which case it is for, those before it do not"),
        ([said("f", id="a"), said("g", datasource_item_id=1)], "line 2: the row does not say which case it is for"),
    ],
)
def test_rows_with_and_without_an_id_do_not_mix(tmp_path: Path, rows: list[Any], sentence: str) -> None:
    with pytest.raises(BadInput, match="p.jsonl, ") as error:
        answered(tmp_path, *rows)
    assert sentence in str(error.value)
    assert error.value.hint == "Either every row has the id of its case, or none: then they are taken in order."


def test_bad_rows_stop_or_count_in_order(tmp_path: Path) -> None:
    rows = [said("f"), "{", said("h")]
    with pytest.raises(BrokenRow, match="p.jsonl, line 2: the row is not JSON"):
        answered(tmp_path, *rows)
    bad: list[Any] = []
    found = answered(tmp_path, *rows, on_bad=bad.append)
    assert names(found) == {"0": ["f"], "2": ["h"]}
    assert (found.info.rows, len(bad)) == (2, 1)


def test_a_bad_first_row_is_counted_too(tmp_path: Path) -> None:
    assert names(answered(tmp_path, "{", said("g"), said("h"), on_bad=lambda row: None)) == {"1": ["g"], "2": ["h"]}


def test_a_file_without_an_answer_raises(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="p.jsonl is empty: there is no row in it"):
        answered(tmp_path)
    with pytest.raises(BadInput, match="none of its rows can be read; the first: the row is not JSON"):
        answered(tmp_path, "{", "{", on_bad=lambda row: None)


def test_calls_read_out_of_text_are_counted(tmp_path: Path) -> None:
    found = answered(tmp_path, {"id": "a", "text": '<tool_call>{"name": "f"}</tool_call>'}, {"id": "b", "text": "no"}, said("f", id="c"))
    assert found.info.parsed == 2


@pytest.mark.parametrize(
    "cases, unused, first",
    [(["a", "b", "c"], 0, ""), (["c", "b"], 2, "a"), ([], 4, "b"), (["a", "b", "x"], 1, "c")],
)
def test_what_is_for_no_case_is_counted_by_answers(tmp_path: Path, cases: list[str], unused: int, first: str) -> None:
    found = answered(tmp_path, said("f", id="b"), said("f", id="a"), said("f", id="a", trial=1), said("f", id="c"))
    found.unused(cases)
    assert (found.info.unused, found.info.first_unused) == (unused, first)


texts = st.text(st.characters(exclude_categories=["Cs"]))  # what was read has no lone surrogates
predictions = st.builds(
    Prediction,
    case=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    trial=st.integers(0, 3),
    calls=st.lists(st.one_of(good_calls, st.builds(lambda text: Call("f", {}, None, "not JSON", text), texts)), max_size=3).map(tuple),
    text=texts,
    thinking=texts,
    error=st.one_of(st.just(""), st.just("time-out")),
)


@pytest.mark.laws
@given(predictions)
def test_a_line_is_the_prediction_again(prediction: Prediction) -> None:
    assert unpacked(packed(prediction)) == prediction


@pytest.mark.laws
@given(predictions)
def test_a_line_reads_as_any_row_does(prediction: Prediction) -> None:
    read = read_prediction(packed(prediction))
    assert (read.case, read.parsed) == (prediction.case, False)
    assert read.prediction == prediction


@pytest.mark.parametrize(
    "value",
    [2**63, 2**64, -(2**64), 10**99, 10**308, 1e308, 5e-324, 0.1, "é\U0001f600", "\u2028", "\0", [[[]]], {"": {"$any": True}}, None, True],
    ids=repr,
)
def test_every_value_survives_its_line(value: Any) -> None:
    prediction = Prediction("q", 0, (Call("f", {"a": value}),))
    (made,) = unpacked(packed(prediction)).calls
    assert (made.arguments, type(made.arguments["a"])) == ({"a": value}, type(value))
    assert read_prediction(packed(prediction)).prediction == prediction
    json.loads(packed(prediction))


def test_several_files_are_one_where_every_row_says_its_case(tmp_path: Path) -> None:
    output = write_rows(tmp_path / "output.jsonl", {"id": "a", "tool_calls": [{"name": "f", "arguments": "{}"}]})
    errors = write_rows(tmp_path / "errors.jsonl", {"custom_id": "b", "response": None, "error": {"message": "expired"}})
    found = answers(Predictions(str(output)), Predictions(str(errors)))
    assert list(found.by_case) == ["a", "b"]
    assert found.info.name == f"{output} and {errors}"
    no_id = write_rows(tmp_path / "none.jsonl", {"tool_calls": []})
    with pytest.raises(BadInput, match="In order|does not say which case"):
        answers(Predictions(str(no_id)), Predictions(str(no_id)))
