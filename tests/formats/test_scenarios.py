"""Scenarios keep their fields, and fields that no simulated user or grader could use are refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.types import Call, Case
from tests.rows import write_rows

TASK = {
    "goal": "open a ticket",
    "opening": "Hi.",
    "slots": {"priority": "High", "days": 3, "urgent": True},
    "says": {"priority": "quite urgent"},
    "changes": {"days": 4},
    "words": ["ticket"],
}
DATA = {"style": "terse", "turns": 4, "script": ["a", "b"], "closing": "bye", "tasks": [TASK], "plan": {"branches": ["a"], "x": [1]}}
GOOD: dict[str, Any] = {"id": "s1", "instructions": "You are Ann.", "expected_function_calls": []}


def loaded(path: Path) -> Case:
    (read,) = callmark.load(path)
    assert isinstance(read, Case)
    return read


def test_data_is_read_and_written_unchanged(tmp_path: Path) -> None:
    read = loaded(write_rows(tmp_path / "s.jsonl", {**GOOD, "data": DATA}))
    assert read.data == DATA
    callmark.write([read], tmp_path / "copy.jsonl", to="scenarios")
    assert json.loads((tmp_path / "copy.jsonl").read_text())["data"] == DATA
    assert loaded(tmp_path / "copy.jsonl").data == DATA


def test_data_made_in_python_is_written_too(tmp_path: Path) -> None:
    callmark.write([Case("s", instructions="x", data={"style": "chatty"})], tmp_path / "s.jsonl", to="scenarios")
    assert loaded(tmp_path / "s.jsonl").data == {"style": "chatty"}


@pytest.mark.parametrize("data", [None, {}])
def test_missing_data_is_empty_and_not_written(tmp_path: Path, data: Any) -> None:
    read = loaded(write_rows(tmp_path / "s.jsonl", {**GOOD, "data": data}))
    assert read.data == {}
    callmark.write([read], tmp_path / "copy.jsonl", to="scenarios")
    assert "data" not in json.loads((tmp_path / "copy.jsonl").read_text())


def test_a_lone_surrogate_in_data_is_escaped(tmp_path: Path) -> None:
    read = loaded(write_rows(tmp_path / "s.jsonl", {**GOOD, "data": {"closing": "\ud800"}}))
    assert read.data == {"closing": "\\ud800"}


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"instructions": None}, "the scenario has no instructions"),
        ({"instructions": ""}, "the scenario has no instructions"),
        ({"expected_function_calls": None}, "the scenario has no expected_function_calls"),
        ({"instructions": 5}, "instructions is a number, text was expected"),
        ({"id": []}, "id is a list, text was expected"),
        ({"group": 5}, "group is a number, text was expected"),
        ({"scenarioType": {}}, "scenarioType is an object, text was expected"),
        ({"expected_function_calls": {}}, "expected_function_calls is an object, a list was expected"),
        ({"expected_function_calls": [{"functionName": "f", "arguments": {"a": {"$regex": "("}}}]}, r"f: a: \$regex does not compile"),
        (
            {"expected_function_calls": [{"functionName": "f", "arguments": {"a": {"$globb": "x"}}}]},
            r"f: a: there is no matcher .* \$glob\?",
        ),
        ({"tools": 5}, "tools"),
        ({"data": 5}, "data is a number, an object was expected"),
        ({"data": {"stile": "plain"}}, "data: there is no field called 'stile'. Did you mean style?"),
        ({"data": {"style": "rude"}}, "data.style is 'rude', one of plain, terse, chatty, impatient was expected"),
        ({"data": {"turns": 0}}, "data.turns is 0, a whole number from 1 on was expected"),
        ({"data": {"turns": 2.5}}, "data.turns is 2.5, a whole number"),
        ({"data": {"turns": True}}, "data.turns is true, a whole number"),
        ({"data": {"script": "hello"}}, "data.script is text, a list was expected"),
        ({"data": {"script": ["a", 5]}}, r"data.script\[1\] is a number, text was expected"),
        ({"data": {"closing": 5}}, "data.closing is a number, text was expected"),
        ({"data": {"plan": [1]}}, "data.plan is a list, an object was expected"),
        ({"data": {"tasks": []}}, "data.tasks is an empty list, at least one task was expected"),
        ({"data": {"tasks": [{"words": ["x"]}]}}, r"data.tasks\[0\] has no goal, no opening and no slots"),
        ({"data": {"tasks": {}}}, "data.tasks is an object, a list was expected"),
        ({"data": {"tasks": [{}, 5]}}, r"data.tasks\[1\] is a number, an object was expected"),
        ({"data": {"tasks": [{}, {"slot": {}}]}}, r"data.tasks\[1\]: there is no field called 'slot'. Did you mean slots?"),
        ({"data": {"tasks": [{"slots": {"a": 1}, "says": {"a": 1}}]}}, r"data.tasks\[0\].says.a is 1, text was expected"),
        (
            {"data": {"tasks": [{"slots": {"title": 1}, "says": {"titel": "x"}}]}},
            r"says: there is no slot called 'titel'. Did you mean title?",
        ),
        ({"data": {"tasks": [{"slots": {}, "changes": {"a": 1}}]}}, r"data.tasks\[0\].changes: there is no slot called 'a'"),
    ],
    ids=str,
)
def test_a_bad_scenario_names_row_and_field(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    path = write_rows(tmp_path / "s.jsonl", GOOD, {**GOOD, **change})
    with pytest.raises(BadInput, match=f"s.jsonl, line 2: .*{sentence}"):
        list(callmark.load(path))


def test_a_scenario_without_an_id_is_called_by_its_line(tmp_path: Path) -> None:
    assert loaded(write_rows(tmp_path / "s.jsonl", {**GOOD, "id": None})).id == "1"


def test_expected_calls_beside_data_stay_unchanged(tmp_path: Path) -> None:
    expected = [{"functionName": "P-f", "arguments": {"id": "TKT-*"}, "note": "kept"}]
    read = loaded(write_rows(tmp_path / "s.jsonl", {**GOOD, "expected_function_calls": expected, "data": DATA}))
    assert read.expected == (Call("P-f", {"id": {"$glob": "TKT-*", "$case": False}}),)
    callmark.write([read], tmp_path / "copy.jsonl", to="scenarios")
    assert json.loads((tmp_path / "copy.jsonl").read_text())["expected_function_calls"] == expected
