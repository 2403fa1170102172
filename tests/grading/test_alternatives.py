"""Alternatives: further lists of correct calls, of which the best one counts (docs/reference/metrics.md, section 4)."""

from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.compat import foundry
from callmark.types import Call, Case
from tests.rows import call, tool_call, user, write_rows


@pytest.mark.parametrize(
    "expected, alternatives, actual, score, which",
    [
        ([tool_call("f")], [[tool_call("g")]], [tool_call("f")], 1.0, 0),
        ([tool_call("f")], [[tool_call("g")]], [tool_call("g")], 1.0, 1),
        ([tool_call("f")], [[tool_call("g")], [tool_call("h"), tool_call("i")]], [tool_call("i"), tool_call("h")], 1.0, 2),
        ([tool_call("f", a=1)], [[tool_call("f", a=2)]], [tool_call("f", a=3)], 0.5, 0),  # ties to the first
        ([tool_call("f")], [[]], [], 1.0, 1),
        ([], [[tool_call("f")]], [tool_call("f")], 1.0, 1),
        ([tool_call("f")], [[tool_call("g")]], [tool_call("h")], 0.0, 0),
    ],
)
def test_best_alternative_counts(
    expected: list[Call], alternatives: list[list[Call]], actual: list[Call], score: float, which: int
) -> None:
    graded = callmark.grade(expected, actual, alternatives=alternatives)
    assert (graded.metrics["call.score"], graded.alternative) == (score, which)
    assert bool(graded.faults) is (score < 1)


def test_every_evaluator_uses_the_alternative_that_counts() -> None:
    graded = callmark.grade([tool_call("f")], [tool_call("g", a=1)], alternatives=[[tool_call("g", a=1)]])
    assert set(graded.metrics.values()) == {1.0}
    assert "(matched alternative 1)" in repr(graded)


def record(**expected: Any) -> dict[str, Any]:
    return {"id": "c", "messages": [user("hi")], "expected_output": {"role": "assistant", **expected}}


def test_alternatives_survive_reading_and_writing(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "e.jsonl", record(tool_calls=[call("f")], alternatives=[[call("g", {"a": {"$any": True}})], []]))
    (case,) = callmark.load(path)
    assert isinstance(case, Case)
    assert case.alternatives == ((Call("g", {"a": {"$any": True}}, "c1"),), ())
    callmark.write([case], tmp_path / "again.jsonl")
    (again,) = callmark.load(tmp_path / "again.jsonl")
    assert isinstance(again, Case)
    assert again.alternatives == case.alternatives


@pytest.mark.parametrize(
    "alternatives, sentence",
    [
        ([call("g")], r"expected_output.alternatives\[0\]: expected a list, got an object"),
        ("g", "expected_output.alternatives: expected a list, got a string"),
        ([[call("g", {"a": {"$regex": "("}})]], "g: a: .regex: not a valid RE2 pattern"),
    ],
)
def test_invalid_alternatives_are_rejected(tmp_path: Path, alternatives: Any, sentence: str) -> None:
    path = write_rows(tmp_path / "e.jsonl", record(tool_calls=[], alternatives=alternatives))
    with pytest.raises(callmark.BadInput, match=sentence):
        list(callmark.load(path))


def test_foundry_grader_uses_alternatives() -> None:
    item = record(tool_calls=[call("f")], alternatives=[[call("g")]])
    assert foundry.grade({"output_tools": [call("g")]}, item) == 1.0
