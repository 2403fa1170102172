"""Tags of runs, the state of the repository in run.json, and the baseline that a tag finds."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import callmark
from callmark.errors import BadInput
from callmark.runs.store import RunFolder
from callmark.runs.tags import has_tag, read_tags
from tests.conftest import Cli
from tests.graded_runs import make_run, some
from tests.rows import WEATHER, assistant, call, user, write_rows


@pytest.mark.parametrize(
    "given, tags",
    [
        ([], {}),
        ("main", {"main": ""}),
        (["main", "model=gpt=4", "pr/12=", "a.b-c_d= x y "], {"main": "", "model": "gpt=4", "pr/12": "", "a.b-c_d": "x y"}),
        ({"main": "", "branch": "topic"}, {"main": "", "branch": "topic"}),
    ],
)
def test_tags_are_keys_with_or_without_a_value(given: Any, tags: dict[str, str]) -> None:
    assert read_tags(given) == tags


@pytest.mark.parametrize(
    "given, problem",
    [
        (["=x"], "--tag: expected KEY or KEY=VALUE, got "),
        ([""], "--tag: expected KEY or KEY=VALUE, got "),
        (["a b"], "--tag: expected KEY or KEY=VALUE, got 'a b'"),
        (["x" * 101], "--tag: expected KEY or KEY=VALUE, got "),
        ({"a": 5}, "--tag: expected KEY or KEY=VALUE, got "),
        (["a=1", "a=2"], "--tag: a is given twice"),
        (["a=\x1b[2J"], "--tag: a: expected at most 200 printable characters, got "),
        (["a=" + "x" * 201], "--tag: a: expected at most 200 printable characters, got "),
    ],
)
def test_invalid_tags_are_refused(given: Any, problem: str) -> None:
    with pytest.raises(BadInput) as error:
        read_tags(given)
    assert str(error.value).startswith(problem)


@pytest.mark.parametrize("tag, has", [("a", True), ("a=1", True), ("a=2", False), ("b", True), ("b=", True), ("c", False), ("a=", False)])
def test_tag_is_found_by_its_key_or_by_key_and_value(tag: str, has: bool) -> None:
    assert has_tag({"a": "1", "b": ""}, tag) is has


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a file of one decision point, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    rows = {"id": "a", "messages": [user("Bonn?"), assistant(call("get_weather", {"city": "Bonn"}))], "tools": [WEATHER]}
    path = write_rows(tmp_path / "eval.jsonl", rows)
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], check=True)
    return path


def test_run_stores_tags_and_the_state_of_the_repository(cases: Path, cli: Cli) -> None:
    assert cli("run", cases, "--model", "scripted:perfect", "--name", "one", "--tag", "nightly", "--tag", "pr=12").status == 0
    run = callmark.Run("runs/one")
    assert run.tags == {"nightly": "", "pr": "12"}
    assert isinstance(run.git, callmark.GitState)
    assert (len(run.git.commit), run.git.branch, run.git.dirty) == (40, "main", False)
    assert cli("run", "runs/one", "--resume", "--tag", "pr=13", "--tag", "again").status == 0
    assert callmark.Run("runs/one").tags == {"nightly": "", "pr": "13", "again": ""}
    assert cli("grade", "runs/one", "--tag", "graded").status == 0
    assert callmark.Run("runs/one").tags == {"nightly": "", "pr": "13", "again": "", "graded": ""}
    assert callmark.Run("runs/one").git == run.git
    assert cli("run", cases, "--model", "scripted:perfect", "--tag", "a b").err.startswith("callmark: --tag: expected KEY or KEY=VALUE")


def test_graded_predictions_have_tags_and_the_state_of_the_repository(cases: Path) -> None:
    run = callmark.grade("eval.jsonl", predictions=[{"case": "a#1", "calls": []}], in_order=True, name="graded", tags={"main": ""})
    assert run.tags == callmark.Run("runs/graded").tags == {"main": ""}
    assert run.git is not None


def tagged(path: Path, score: int, *, created: str = "2026-01-01T00-00", **changes: Any) -> None:
    folder = RunFolder(make_run(path, some(score), digest=changes.pop("digest", "one")))
    folder.write(structs.replace(folder.read(), created=created, **{"tags": {"main": ""}, **changes}))


def test_latest_baseline_is_the_newest_finished_run_with_the_tag_and_the_same_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = tmp_path / "runs"
    tagged(runs / "older", 30, created="2026-01-01T00-00")
    tagged(runs / "newest", 38, created="2026-01-02T00-00", tags={"main": "abc"})
    tagged(runs / "unfinished", 10, created="2026-01-03T00-00", status="interrupted")
    tagged(runs / "other-data", 10, created="2026-01-03T00-00", digest="two")
    tagged(runs / "other-tag", 10, created="2026-01-03T00-00", tags={"dev": ""})
    tagged(runs / "new", 36, created="2026-01-04T00-00")  # itself has the tag, too
    result = cli("gate", "runs/new", "--baseline", "latest:main", "--max-drop", "call.score=0.1")
    assert (result.status, result.err) == (0, "")
    assert result.out == (
        "Gate passed: 1 of 1 threshold met\n  ✓ call.score   .9, baseline .95: drop .05 ≤ .1\nBaseline: runs/newest\n"
    )  # fmt: skip
    found = callmark.gate("runs/new", baseline="latest:main=abc", max_drop={"call.score": 0.01})
    assert (found.baseline, found.passed, found.broken) == ("runs/newest", False, ["c36", "c37"])
    assert callmark.gate("runs/new", baseline="latest:dev", max_drop={"call.score": 0.01}).baseline == "runs/other-tag"


def test_link_to_the_run_itself_is_no_baseline(tmp_path: Path) -> None:
    tagged(tmp_path / "new", 30)
    (tmp_path / "last").symlink_to(tmp_path / "new")
    with pytest.raises(BadInput, match="has no other finished run"):
        callmark.gate(tmp_path / "new", baseline="latest:main", max_drop={"call.score": 0})


def test_of_runs_started_in_the_same_minute_the_one_written_last_is_the_newest(tmp_path: Path) -> None:
    for name, time in (("a", 200), ("b", 300), ("c", 100)):
        tagged(tmp_path / name, 30)
        os.utime(tmp_path / name / "run.json", (time, time))
    tagged(tmp_path / "new", 30, tags={})
    assert callmark.gate(tmp_path / "new", baseline="latest:main", max_drop={"call.score": 0}).baseline.endswith("b")


def test_missing_baseline_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.chdir(tmp_path)
    tagged(tmp_path / "runs" / "new", 36)
    tagged(tmp_path / "runs" / "a", 36, digest="two")
    tagged(tmp_path / "runs" / "b", 36, status="interrupted")
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "run.json").write_text("{", encoding="utf-8")
    result = cli("gate", "runs/new", "--baseline", "latest:main", "--max-drop", "call.score=0.1")
    assert result.status == 2
    expected = "runs has no other finished run on one.jsonl with the tag main, only 1 run with different cases and 1 unfinished run"
    assert f"--baseline: {expected}" in result.err
    assert "callmark run one.jsonl --model MODEL --tag main" in result.err
    tagged(tmp_path / "runs" / "c", 36)
    result = cli("gate", "runs/new", "--baseline", "latest:main", "--max-drop", "call.score=0.1")
    assert result.status == 0
    assert "skipped while looking for latest:main: runs/broken/run.json: " in result.err
    result = cli("gate", "runs/new", "--baseline", "latest:", "--max-drop", "call.score=0.1")
    assert (result.status, "expected latest:TAG" in result.err) == (2, True)


def test_tag_of_the_baseline_can_be_configured(tmp_path: Path) -> None:
    tagged(tmp_path / "old", 38)
    tagged(tmp_path / "new", 36)
    config = tmp_path / "my.toml"
    config.write_text('[gate]\nbaseline = "latest:main"\nmax_drop = {call.score = 0.1}\n', encoding="utf-8")
    assert callmark.gate(tmp_path / "new", config=str(config)).baseline.endswith("old")
