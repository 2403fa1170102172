"""`callmark synth` with the retail store over its server, and with an OpenAPI file."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

import callmark
from callmark.types import Case
from tests.conftest import Cli
from tests.simulation.notes_case import lines
from tests.test_docs import ROOT

FILES = ("train.jsonl", "valid.jsonl", "rejected.jsonl", "plans.jsonl")
API = ROOT / "tests" / "synthesis" / "library_api.yaml"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_retail_synthesis_is_reproducible_and_plans_can_be_simulated(cli: Cli) -> None:
    completed = cli("synth", "-n", "12", "-o", "a", "--json")
    assert completed.status == 0, completed.err
    payload = json.loads(completed.out)
    rows = [row for name in FILES[:2] for row in callmark.load(f"a/{name}")]
    assert (payload["world"], payload["accepted"], payload["judged_by_calls"], len(rows)) == ("the retail store", 12, 0, 12)
    assert {finding.severity for finding in callmark.lint(rows).findings} <= {"info"}
    called = Counter(call.name for row in rows for call in row.calls)
    assert called == {name: count for name, count in payload["coverage"]["tools"].items() if count}
    plans = [row for row in callmark.load("a/plans.jsonl") if isinstance(row, Case)]
    assert {branch for plan in plans for branch in plan.data["plan"]["branches"]} >= {
        branch for branch, count in payload["coverage"]["branches"].items() if count
    }
    server = f"mcp:{sys.executable} -m callmark.worlds.retail"
    assert cli("synth", "-n", "12", "-o", "b", "--tools", server, "--scenarios", "a/plans.jsonl", "--concurrency", "2").status == 0
    for name in FILES:
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes(), name


def test_openapi_file_gives_mocked_results_marked_as_such(cli: Cli) -> None:
    for out in ("a", "b"):
        completed = cli("synth", "--tools", f"openapi:{API}", "-n", "8", "-o", out)
        assert completed.status == 0, completed.err
        assert "Tool results are mocked from schemas" in completed.out
    assert all(row["results"] == "mocked" for name in FILES[:2] for row in lines(f"a/{name}"))
    for name in FILES:
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes(), name


def test_store_with_other_customers_is_refused_first(cli: Cli, tmp_path: Path) -> None:
    completed = cli("synth", "--tools", f"mcp:{sys.executable} -m callmark.worlds.retail --seed 11", "-n", "2", "-o", tmp_path / "out")
    assert completed.status == 2
    assert "its customers, products and orders differ from those of the plans" in completed.err
    assert not (tmp_path / "out").exists()


def test_resuming_with_a_larger_number_works_repeatedly(cli: Cli, tmp_path: Path) -> None:
    for number in ("1", "2", "3"):
        completed = cli("synth", "-n", number, "-o", tmp_path / "out", "--resume")
        assert completed.status == 0, completed.out
    completed = cli("synth", "-n", "3", "-o", tmp_path / "out", "--resume", "--system", _policy(tmp_path))
    assert completed.status == 2
    assert completed.err.endswith("Resume with the same options as before, or start a new run with another -o.\n")


def _policy(folder: Path) -> Path:
    (folder / "policy.md").write_text("Be kind.")
    return folder / "policy.md"
