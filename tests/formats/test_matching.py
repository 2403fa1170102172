"""Predictions matched to cases: by id or in order, trials, repeated and unmatched predictions."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.errors import BadInput, BrokenRow
from callmark.formats import matching
from callmark.formats.matching import MatchedPredictions, TextCounts, match_predictions
from callmark.formats.prediction_lines import decode_prediction, encode_prediction
from callmark.formats.predictions import Predictions, read_prediction
from callmark.types import Call, Case, Prediction
from tests.formats.test_write_and_read import good_calls
from tests.rows import call, write_rows


def match(folder: Path, *rows: Any, **options: Any) -> MatchedPredictions:
    return match_predictions(Predictions(str(write_rows(folder / "p.jsonl", *rows)), **options))


def names(found: MatchedPredictions) -> dict[str, list[str]]:
    """By case, the first tool (or the error) of each trial."""
    return {
        key: [prediction.error or prediction.calls[0].name for prediction in found.of_case(Case(key), int(key) if found.in_order else 0)]
        for key in found.by_case
    }


def row(name: str, **more: Any) -> dict[str, Any]:
    return {**more, "tool_calls": [call(name)]}


def error_row(text: str, **more: Any) -> dict[str, Any]:
    return {**more, "error": text}


@pytest.mark.parametrize(
    "rows, expected",
    [
        ([row("f", id="b"), row("g", id="a")], {"b": ["f"], "a": ["g"]}),
        ([row("f", id="a", trial=2), row("g", id="a", trial=0)], {"a": ["g", "f"]}),
        ([row("f", id=1), row("g", case="2")], {"1": ["f"], "2": ["g"]}),
        ([row("f"), row("g")], {"0": ["f"], "1": ["g"]}),
        ([row("f", datasource_item_id=1), row("g", datasource_item_id=0)], {"1": ["f"], "0": ["g"]}),
        ([row("f", datasource_item_id=2), row("g", datasource_item_id=1)], {"1": ["f"], "0": ["g"]}),
        ([row("f", datasource_item_id=3), row("g", datasource_item_id=1)], {"3": ["f"], "1": ["g"]}),
        ([row("f", datasource_item_id=3), row("g", datasource_item_id=2)], {"3": ["f"], "2": ["g"]}),
        ([row("f", trial=1), row("g", trial=1)], {"0": ["f"], "1": ["g"]}),
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
def test_each_case_has_its_predictions_in_the_order_of_trials(tmp_path: Path, rows: list[Any], expected: dict[str, list[str]]) -> None:
    found = match(tmp_path, *rows)
    assert names(found) == expected
    assert found.in_order is not any("id" in row or "case" in row for row in rows)
    assert (found.info.rows, found.info.repeated) == (2, 0)


@pytest.mark.parametrize(
    "rows, expected",
    [
        ([row("f"), row("g")], ["f"]),
        ([error_row("late"), row("g"), row("h")], ["g"]),
        ([error_row("late"), error_row("later")], ["late"]),
        ([row("f"), error_row("late")], ["f"]),
        ([error_row("late"), error_row("later"), row("h")], ["h"]),
    ],
    ids=["first", "result after an error", "first error", "error after a result", "result after two errors"],
)
def test_the_first_of_repeated_predictions_counts_unless_it_is_an_error(tmp_path: Path, rows: list[Any], expected: list[str]) -> None:
    found = match(tmp_path, *[{**row, "id": "a"} for row in rows], row("z", id="b"))
    assert names(found) == {"a": expected, "b": ["z"]}
    assert (found.info.rows, found.info.repeated) == (len(rows) + 1, len(rows) - 1)


@pytest.mark.parametrize(
    "rows, sentence",
    [
        ([row("f", id="a"), row("g")], "line 2: the row has no case ID, but earlier rows do"),
        ([row("f"), row("g"), row("h", id="a")], "line 3: the row has a case ID, but earlier rows do not"),
        ([row("f", id="a"), row("g", datasource_item_id=1)], "line 2: the row has no case ID"),
    ],
)
def test_rows_with_and_without_an_id_do_not_mix(tmp_path: Path, rows: list[Any], sentence: str) -> None:
    with pytest.raises(BadInput, match="p.jsonl, ") as error:
        match(tmp_path, *rows)
    assert sentence in str(error.value)
    assert error.value.hint == "Add a case ID to every row, or remove it from every row to match predictions in order."


def test_bad_rows_stop_or_count_in_order(tmp_path: Path) -> None:
    rows = [row("f"), "{", row("h")]
    with pytest.raises(BrokenRow, match="p.jsonl, line 2: not valid JSON"):
        match(tmp_path, *rows)
    bad: list[Any] = []
    found = match(tmp_path, *rows, on_bad=bad.append)
    assert names(found) == {"0": ["f"], "2": ["h"]}
    assert (found.info.rows, len(bad)) == (2, 1)


def test_a_bad_first_row_counts_in_order(tmp_path: Path) -> None:
    assert names(match(tmp_path, "{", row("g"), row("h"), on_bad=lambda row: None)) == {"1": ["g"], "2": ["h"]}


def test_a_file_without_a_prediction_raises(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="p.jsonl is empty"):
        match(tmp_path)
    with pytest.raises(BadInput, match="no valid rows. The first problem: not valid JSON"):
        match(tmp_path, "{", "{", on_bad=lambda row: None)


def test_calls_parsed_from_text_are_counted(tmp_path: Path) -> None:
    found = match(tmp_path, {"id": "a", "text": '<tool_call>{"name": "f"}</tool_call>'}, {"id": "b", "text": "no"}, row("f", id="c"))
    counts = [found.count_texts(Case(key), 0, found.of_case(Case(key), 0)) for key in "abc"]
    assert counts == [TextCounts(1, 1), TextCounts(1, 0), None]


@pytest.mark.parametrize(
    "cases, unmatched, first",
    [(["a", "b", "c"], 0, ""), (["c", "b"], 2, "a"), ([], 4, "b"), (["a", "b", "x"], 1, "c")],
)
def test_unmatched_predictions_are_counted(tmp_path: Path, cases: list[str], unmatched: int, first: str) -> None:
    found = match(tmp_path, row("f", id="b"), row("f", id="a"), row("f", id="a", trial=1), row("f", id="c"))
    found.count_unmatched(cases)
    assert (found.info.unmatched, found.info.first_unmatched) == (unmatched, first)


texts = st.text(st.characters(exclude_categories=["Cs"]))  # what was read has no lone surrogates
predictions = st.builds(
    Prediction,
    case=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    trial=st.integers(0, 3),
    calls=st.lists(st.one_of(good_calls, st.builds(lambda text: Call("f", {}, None, "invalid JSON", text), texts)), max_size=3).map(tuple),
    text=texts,
    thinking=texts,
    error=st.one_of(st.just(""), st.just("time-out")),
)


@pytest.mark.laws
@given(predictions)
def test_a_decoded_line_is_the_prediction(prediction: Prediction) -> None:
    assert decode_prediction(encode_prediction(prediction)) == prediction


@pytest.mark.laws
@given(predictions)
def test_a_line_is_read_like_any_row(prediction: Prediction) -> None:
    read = read_prediction(encode_prediction(prediction))
    assert (read.case, read.text) == (prediction.case, "read")
    assert read.prediction == prediction


@pytest.mark.parametrize(
    "value",
    [2**63, 2**64, -(2**64), 10**99, 10**308, 1e308, 5e-324, 0.1, "é\U0001f600", "\u2028", "\0", [[[]]], {"": {"$any": True}}, None, True],
    ids=repr,
)
def test_every_value_survives_encoding(value: Any) -> None:
    prediction = Prediction("q", 0, (Call("f", {"a": value}),))
    (decoded,) = decode_prediction(encode_prediction(prediction)).calls
    assert (decoded.arguments, type(decoded.arguments["a"])) == ({"a": value}, type(value))
    assert read_prediction(encode_prediction(prediction)).prediction == prediction
    json.loads(encode_prediction(prediction))


def test_several_files_are_matched_as_one_if_every_row_has_a_case_id(tmp_path: Path) -> None:
    output = write_rows(tmp_path / "output.jsonl", {"id": "a", "tool_calls": [{"name": "f", "arguments": "{}"}]})
    errors = write_rows(tmp_path / "errors.jsonl", {"custom_id": "b", "response": None, "error": {"message": "expired"}})
    found = match_predictions(Predictions(str(output)), Predictions(str(errors)))
    assert list(found.by_case) == ["a", "b"]
    assert found.info.name == f"{output} and {errors}"
    no_id = write_rows(tmp_path / "none.jsonl", {"tool_calls": []})
    with pytest.raises(BadInput, match="the row has no case ID"):
        match_predictions(Predictions(str(no_id)), Predictions(str(no_id)))


def test_predictions_stored_as_lines_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(f"f{number}", id=f"c{number % 7}", trial=number // 7) for number in range(30)]
    decoded = match(tmp_path, *rows)
    monkeypatch.setattr(matching, "_MAX_DECODED", 4)
    encoded = match(tmp_path, *rows)
    assert any(isinstance(item, bytes) for items in encoded.by_case.values() for item in items)
    for case in decoded.by_case:
        predictions = decoded.of_case(Case(case), 0)
        assert encoded.of_case(Case(case), 0) == predictions
        assert encoded.lines_of_case(Case(case), 0, predictions) == decoded.lines_of_case(Case(case), 0, predictions)


def test_the_prediction_of_a_trial_is_found_by_id_or_index(tmp_path: Path) -> None:
    by_id = match(tmp_path, row("f", id="a"), row("g", id="a", trial=2))
    found = by_id.find(Case("a", index=7), 2)
    assert found is not None
    assert found.calls[0].name == "g"
    assert (by_id.find(Case("a"), 1), by_id.find(Case("b"), 0)) == (None, None)
    in_order = match(tmp_path, row("f"), row("g"))
    found = in_order.find(Case("anything", index=1), 0)
    assert found is not None
    assert (found.case, found.calls[0].name) == ("anything", "g")
