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


def test_data_built_in_python_is_written(tmp_path: Path) -> None:
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
        ({"instructions": None}, "missing key 'instructions'"),
        ({"instructions": ""}, "missing key 'instructions'"),
        ({"expected_function_calls": None}, "missing key 'expected_function_calls'"),
        ({"instructions": 5}, "instructions: expected a string, got a number"),
        ({"id": []}, "id: expected a string, got a list"),
        ({"group": 5}, "group: expected a string, got a number"),
        ({"scenarioType": {}}, "scenarioType: expected a string, got an object"),
        ({"expected_function_calls": {}}, "expected_function_calls: expected a list, got an object"),
        (
            {"expected_function_calls": [{"functionName": "f", "arguments": {"a": {"$regex": "("}}}]},
            r"f: a: \$regex: not a valid RE2 pattern",
        ),
        (
            {"expected_function_calls": [{"functionName": "f", "arguments": {"a": {"$globb": "x"}}}]},
            r"f: a: unknown matcher .* \$glob\?",
        ),
        ({"tools": 5}, "tools"),
        ({"data": 5}, "data: expected an object, got a number"),
        ({"data": {"stile": "plain"}}, "data: unknown field 'stile'. Did you mean style?"),
        ({"data": {"style": "rude"}}, "data.style: expected one of plain, terse, chatty, impatient, got 'rude'"),
        ({"data": {"turns": 0}}, "data.turns: expected an integer of at least 1, got 0"),
        ({"data": {"turns": 2.5}}, "data.turns: expected an integer of at least 1, got 2.5"),
        ({"data": {"turns": True}}, "data.turns: expected an integer of at least 1, got true"),
        ({"data": {"script": "hello"}}, "data.script: expected a list, got a string"),
        ({"data": {"script": ["a", 5]}}, r"data.script\[1\]: expected a string, got a number"),
        ({"data": {"closing": 5}}, "data.closing: expected a string, got a number"),
        ({"data": {"plan": [1]}}, "data.plan: expected an object, got a list"),
        ({"data": {"tasks": []}}, "data.tasks: expected at least one task, got an empty list"),
        ({"data": {"tasks": [{"words": ["x"]}]}}, r"data.tasks\[0\]: expected a goal, an opening or slots, got none of them"),
        ({"data": {"tasks": {}}}, "data.tasks: expected a list, got an object"),
        ({"data": {"tasks": [{}, 5]}}, r"data.tasks\[1\]: expected an object, got a number"),
        ({"data": {"tasks": [{}, {"slot": {}}]}}, r"data.tasks\[1\]: unknown field 'slot'. Did you mean slots?"),
        ({"data": {"tasks": [{"slots": {"a": 1}, "says": {"a": 1}}]}}, r"data.tasks\[0\].says.a: expected a string, got 1"),
        (
            {"data": {"tasks": [{"slots": {"title": 1}, "says": {"titel": "x"}}]}},
            r"says: unknown slot 'titel'. Did you mean title?",
        ),
        ({"data": {"tasks": [{"slots": {}, "changes": {"a": 1}}]}}, r"data.tasks\[0\].changes: unknown slot 'a'"),
    ],
    ids=str,
)
def test_a_bad_scenario_names_row_and_field(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    path = write_rows(tmp_path / "s.jsonl", GOOD, {**GOOD, **change})
    with pytest.raises(BadInput, match=f"s.jsonl, line 2: .*{sentence}"):
        list(callmark.load(path))


def test_scenario_without_an_id_gets_its_line_number(tmp_path: Path) -> None:
    assert loaded(write_rows(tmp_path / "s.jsonl", {**GOOD, "id": None})).id == "1"


def test_expected_calls_of_a_scenario_with_data_stay_unchanged(tmp_path: Path) -> None:
    expected = [{"functionName": "P-f", "arguments": {"id": "TKT-*"}, "note": "kept"}]
    read = loaded(write_rows(tmp_path / "s.jsonl", {**GOOD, "expected_function_calls": expected, "data": DATA}))
    assert read.expected == (Call("P-f", {"id": {"$glob": "TKT-*", "$case": False}}),)
    callmark.write([read], tmp_path / "copy.jsonl", to="scenarios")
    assert json.loads((tmp_path / "copy.jsonl").read_text())["expected_function_calls"] == expected
