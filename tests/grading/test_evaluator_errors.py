"""An evaluator that fails on some cases, through the command line: nothing else is lost, and the exit status is 3."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callmark.runs.run import Run
from tests.conftest import Cli

EVALUATORS = """
from callmark.grading.evaluator import Metric, Result
from callmark.types import Note


class Picky:
    name = "picky"
    metrics = (
        Metric("share", "picky share"),
        Metric("points", "picky points", bounds=(-10.0, 10.0)),
        Metric("rare", "rare", kind="rate"),
    )

    def evaluate(self, attempt):
        if attempt.case.id == "c3":
            raise LookupError("no such row")
        number = int(attempt.case.id[1:])
        return Result(
            {"share": 0.5, "points": float(number), "rare": None if number % 2 else 1.0},
            reasons={"share": f"half of case {number}"},
            notes=(Note("picky_remark", "Hm."),) if number == 5 else (),
            pooled={"share": (number, 10)},
            category=("call" if attempt.expected else "no_call", "call" if attempt.actual else "no_call"),
        )
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    cases = [{"id": f"c{number}", "messages": [], "expected_output": {"tool_calls": [{"name": "f"}]}} for number in range(10)]
    predictions = [{"id": f"c{number}", "tool_calls": [{"name": "f"}] if number else []} for number in range(10)]
    for name, rows in (("eval.jsonl", cases), ("predictions.jsonl", predictions)):
        Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("picky_evaluators.py").write_text(EVALUATORS)
    yield
    sys.modules.pop("picky_evaluators", None)


def grade(cli: Cli, *evaluators: str, jobs: int = 1) -> tuple[int, dict[str, Any]]:
    options = [part for name in evaluators for part in ("-e", name)]
    result = cli("grade", "eval.jsonl", "-p", "predictions.jsonl", "--name", "r", "--jobs", str(jobs), "--json", *options)
    assert result.err == ""
    found: dict[str, Any] = json.loads(result.out)
    return result.status, found


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("jobs", [1, 2])
def test_one_of_ten_cases_fails(cli: Cli, jobs: int) -> None:
    status, found = grade(cli, "call", "picky_evaluators:Picky", jobs=jobs)
    summary = found["summary"]
    assert status == 3
    assert {name: estimate["n"] for name, estimate in summary["metrics"].items()} == {
        "call.score": 10,
        "call.pass": 10,
        "call.arguments": 9,
        "picky.share": 9,
        "picky.points": 9,
        "picky.rare": 5,
    }
    assert summary["evaluator_errors"] == {"picky": {"count": 1, "case": "c3", "error": "LookupError: no such row"}}
    assert (summary["scored"], summary["errors"], summary["graded"]) == (10, 0, 10)
    records = [json.loads(line) for line in Path("runs/r/grades.jsonl").read_text().splitlines()]
    assert records[3]["evaluator_errors"] == {"picky": "LookupError: no such row"}
    assert list(records[3]["metrics"]) == ["call.score", "call.pass", "call.arguments"]
    assert records[4]["reasons"] == {"picky.share": "half of case 4"}
    assert summary["notes"]["picky_remark"] == 1
    assert "picky_remark" in [note.kind for grade in Run("runs/r").grades() for note in grade.notes]


@pytest.mark.usefixtures("files")
def test_case_without_any_value_is_not_scored(cli: Cli) -> None:
    status, found = grade(cli, "picky_evaluators:Picky")
    summary = found["summary"]
    assert (status, summary["scored"], summary["graded"]) == (3, 9, 10)
    assert cli("grade", "runs/r", "-e", "picky_evaluators:Picky").status == 3
    assert cli("gate", "runs/r", "--min", "picky.points=-1").status == 0
    assert "picky.points: expected a number from -10 to 10, got 11" in cli("gate", "runs/r", "--min", "picky.points=11").err


@pytest.mark.usefixtures("files")
def test_pooled_values_and_categories_are_summed(cli: Cli) -> None:
    summary = grade(cli, "picky_evaluators:Picky")[1]["summary"]
    assert summary["pooled"] == {"picky.share": {"numerator": 42.0, "denominator": 90.0, "value": 42 / 90}}
    assert summary["categories"] == {"picky": {"call": {"call": 8, "no_call": 1}}}


@pytest.mark.usefixtures("files")
def test_run_stores_the_definitions_of_its_metrics(cli: Cli) -> None:
    info = grade(cli, "picky_evaluators:Picky")[1]["info"]
    assert info["metrics"]["picky.points"] == {"name": "points", "label": "picky points", "bounds": [-10.0, 10.0]}


@pytest.mark.usefixtures("files")
def test_terminal_shows_the_evaluator_error(cli: Cli) -> None:
    result = cli("grade", "eval.jsonl", "-p", "predictions.jsonl", "-e", "call", "-e", "picky_evaluators:Picky")
    assert result.status == 3
    assert "Evaluator picky: 1 error, excluded from its metrics; first: c3: LookupError: no such row" in " ".join(result.out.split())
