"""Corrected expectations: they apply to the case as it was, wherever it is, and never change the dataset."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import callmark
from callmark.cli.main import run as command
from callmark.errors import BadInput
from callmark.runs.patch import PATCH, add_correction, case_digest, read_patch
from callmark.viewer.run_cases import RunCases
from tests.viewer.example_runs import base_predictions, shop
from tests.viewer.grading_helpers import grade_run

NEW = {"tool_calls": [{"name": "get_order", "arguments": {"order_id": "#W2000"}}]}  # what `base` called in s0:1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = shop(tmp_path / "shop.jsonl")
    grade_run(tmp_path, data, base_predictions(), "base")
    return tmp_path


def correct(folder: Path, case: str = "s0:1", output: dict[str, Any] = NEW) -> Path:
    cases = {each.id: each for each in callmark.expand(folder / "shop.jsonl")}
    path = folder / "runs" / PATCH
    add_correction(str(path), cases[case], output, dataset="d", author="ann")
    return path


def test_corrected_case_is_fixed_and_the_dataset_unchanged(folder: Path) -> None:
    before = (folder / "shop.jsonl").read_bytes()
    run = callmark.grade(folder / "runs" / "base", patch=correct(folder))
    grades = {grade.case: grade for grade in run.grades()}
    assert grades["s0:1"].metrics["call.pass"] == 1
    assert sum(grade.metrics.get("call.pass", 0) for grade in grades.values()) == 17
    assert (folder / "shop.jsonl").read_bytes() == before
    assert callmark.graded_case(run, "s0:1").case.expected[0].arguments == {"order_id": "#W2000"}  # type: ignore[union-attr]
    again = callmark.grade(run, options=callmark.GradeOptions(jobs=2))
    assert {grade.case: grade.metrics for grade in again.grades()} == {case: grade.metrics for case, grade in grades.items()}
    (folder / "runs" / "base" / PATCH).write_text("")
    assert RunCases(again.folder, again.info).problem == "The corrections of the run are missing or have changed."
    with pytest.raises(BadInput, match="corrections"):
        callmark.grade(again)


def test_expand_applies_the_same_patch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch, data = str(correct(folder)), str(folder / "shop.jsonl")
    for name, options in (("inline", []), ("reference", ["--by-reference"])):
        assert command(["expand", data, "-o", str(folder / f"{name}.jsonl"), "--patch", patch, *options]) == 0
        assert "1 has corrected expected calls" in capsys.readouterr().out
        found = {row.id: row for row in callmark.load(folder / f"{name}.jsonl")}
        assert len(found) == 36
        assert found["s0:1"].expected[0].arguments == {"order_id": "#W2000"}  # type: ignore[attr-defined]
        assert found["s0:3"].expected[0].name == "get_user"  # type: ignore[attr-defined]
    assert next(iter(callmark.expand(data, patch=patch))).expected[0].arguments == {"order_id": "#W2000"}
    # The decision points have other rows than the conversations, and the patch fits both.
    assert command(["expand", data, "-o", str(folder / "eval.jsonl")]) == 0
    run = callmark.grade(
        folder / "eval.jsonl", predictions=folder / "runs" / "base" / "predictions.jsonl", out=folder / "more", patch=patch
    )
    assert run.summary().correct == 17


def test_last_correction_of_a_case_counts_and_alternatives_are_accepted(folder: Path) -> None:
    correct(folder)
    patch = correct(folder, output={"tool_calls": [], "alternatives": [NEW["tool_calls"], [{"name": "get_user", "arguments": {}}]]})
    case = next(iter(callmark.expand(folder / "shop.jsonl", patch=patch)))
    assert (case.expected, len(case.alternatives)) == ((), 2)
    run = callmark.grade(folder / "runs" / "base", patch=patch)
    assert next(run.grades()).metrics["call.pass"] == 1


def test_correction_of_a_case_that_changed_does_not_apply(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch = correct(folder)
    correct(folder, "s1:1")
    data = folder / "shop.jsonl"
    data.write_text(data.read_text().replace("Cancel my order #W1000", "Please cancel my order #W1000"))
    assert command(["expand", str(data), "-o", str(folder / "eval.jsonl"), "--patch", str(patch)]) == 0
    assert "1 correction does not apply ('s0:1'): there is no such case, or it has changed." in capsys.readouterr().err
    data.write_text(data.read_text().replace("Cancel my order", "Please cancel my order"))
    (folder / "eval.jsonl").unlink()
    assert command(["expand", str(data), "-o", str(folder / "eval.jsonl"), "--patch", str(patch)]) == 2
    assert "none of its corrections applies to these cases" in capsys.readouterr().err
    assert not (folder / "eval.jsonl").exists()


@pytest.mark.parametrize(
    "line, problem",
    [
        ("{", "not a valid correction"),
        ('{"case":"c","case_digest":"d","expected_output":{"tool_calls":[]},"version":2}', "unknown version 2"),
        ('{"case":"c","case_digest":"d","expected_output":{}}', "expected tool_calls"),
        ('{"case":"c","case_digest":"d","expected_output":{"tool_calls":[{"name":"f","foo":1}]}}', "malformed call 'f'"),
        ('{"case":"c","case_digest":"d","expected_output":{"tool_calls":[{"name":"f","arguments":{"a":{"$nope":1}}}]}}', "nope"),
    ],
)
def test_invalid_correction_is_refused_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"case":"c","case_digest":"d","expected_output":{{"tool_calls":[]}}}}\n{line}')
    with pytest.raises(BadInput, match="line 2: not a valid correction") as refused:
        read_patch(str(path))
    assert problem in str(refused.value)
    assert list(read_patch(str(path), incomplete=True).corrections) == ["c"]  # the viewer may be writing the last line


def test_missing_patch_is_refused(folder: Path) -> None:
    with pytest.raises(BadInput, match="but the file is missing or empty"):
        callmark.grade(folder / "runs" / "base", patch=folder / "gone.jsonl")


def test_runs_with_other_corrections_are_compared_with_a_caveat(folder: Path) -> None:
    patch = correct(folder)
    grade_run(folder, folder / "shop.jsonl", base_predictions(), "again")
    callmark.grade(folder / "runs" / "again", patch=patch)
    (against,) = callmark.compare(folder / "runs" / "base", folder / "runs" / "again")
    assert against.differing_settings == ["patch"]


def test_digest_depends_on_prompt_and_expectation(folder: Path) -> None:
    case, other = list(callmark.expand(folder / "shop.jsonl"))[:2]
    assert case_digest(case) == case_digest(structs.replace(case, id="x", place=None))
    changed = [
        structs.replace(case, expected=other.expected),
        structs.replace(case, messages=()),
        structs.replace(case, alternatives=((),)),
    ]
    assert len({case_digest(each) for each in [case, *changed]}) == 4
