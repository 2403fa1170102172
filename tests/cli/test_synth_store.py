"""`callmark synth` as it comes: the retail store over its real server, and an API known by its file. And what the page about it says."""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

import callmark
from callmark.types import Case
from tests.conftest import Cli
from tests.simulation.notes_case import lines
from tests.test_docs import ROOT, check, commands

FILES = ("train.jsonl", "valid.jsonl", "rejected.jsonl", "plans.jsonl")
API = ROOT / "tests" / "simulation" / "synthesis" / "library_api.yaml"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_the_store_makes_the_same_bytes_and_its_plans_can_be_played_again(cli: Cli) -> None:
    done = cli("synth", "-n", "12", "-o", "a", "--json")
    assert done.status == 0, done.err
    told = json.loads(done.out)
    rows = [row for name in FILES[:2] for row in callmark.load(f"a/{name}")]
    assert (told["world"], told["accepted"], told["judged_by_calls"], len(rows)) == ("the retail store", 12, 0, 12)
    assert {finding.severity for finding in callmark.lint(rows).findings} <= {"info"}
    called = Counter(call.name for row in rows for call in row.calls)
    assert called == {name: count for name, count in told["coverage"]["tools"].items() if count}
    plans = [row for row in callmark.load("a/plans.jsonl") if isinstance(row, Case)]
    assert {branch for plan in plans for branch in plan.data["plan"]["branches"]} >= {
        branch for branch, count in told["coverage"]["branches"].items() if count
    }
    server = f"mcp:{sys.executable} -m callmark.worlds.retail"
    assert cli("synth", "-n", "12", "-o", "b", "--tools", server, "--scenarios", "a/plans.jsonl", "--concurrency", "2").status == 0
    for name in FILES:
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes(), name


def test_an_api_that_is_known_by_its_file_has_results_that_are_made_up_and_say_so(cli: Cli) -> None:
    for out in ("a", "b"):
        done = cli("synth", "--tools", f"openapi:{API}", "-n", "8", "-o", out)
        assert done.status == 0, done.err
        assert "their results are made up from schemas, and every row says so" in done.out
    assert all(row["results"] == "mocked" for name in FILES[:2] for row in lines(f"a/{name}"))
    for name in FILES:
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes(), name


def test_the_page_about_it_does_what_it_says(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for command, quoted in commands((ROOT / "docs" / "synthetic.md").read_text(encoding="utf-8")):
        check(cli, command, quoted)


def test_a_store_with_other_customers_is_refused_before_anything_is_held(cli: Cli, tmp_path: Path) -> None:
    done = cli("synth", "--tools", f"mcp:{sys.executable} -m callmark.worlds.retail --seed 11", "-n", "2", "-o", tmp_path / "out")
    assert done.status == 2
    assert "its customers, products and orders are not those that plans are made of" in done.err
    assert not (tmp_path / "out").exists()


def test_a_larger_order_may_be_gone_on_with_as_often_as_one_likes(cli: Cli, tmp_path: Path) -> None:
    for number in ("2", "3", "4", "5", "6"):
        done = cli("synth", "-n", number, "-o", tmp_path / "out", "--resume")
        assert done.status == 0, done.out
    done = cli("synth", "-n", "6", "-o", tmp_path / "out", "--resume", "--policy", _policy(tmp_path))
    assert done.status == 2
    assert done.err.endswith("Leave it as it was, or choose another -o.\n")


def _policy(folder: Path) -> Path:
    (folder / "policy.md").write_text("Be kind.")
    return folder / "policy.md"
