import json
import re
from pathlib import Path

import pytest

import callmark
from callmark.cli import demo
from callmark.data.lint import CODES
from tests.conftest import Cli


def test_demo_runs_every_step_and_writes_a_report(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("demo", "hotel")
    assert done.status == 0
    for step in ("stats", "show", "lint", "filter", "expand"):
        assert f"$ callmark {step} callmark-demo/" in done.out
    assert "callmark-demo/report.html   " in done.out.rstrip().splitlines()[-1]
    page = Path("callmark-demo/report.html").read_text()
    assert "default-src 'none'" in page
    assert all(name in page for name in ("scripted-hasty", "scripted-forgetful", "scripted-perfect"))
    assert len([json.loads(line) for line in Path("callmark-demo/eval.jsonl").read_text().splitlines()]) > 50


def shrink_demo(monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str) -> None:
    """Replace a number in the steps of a demo: `make demo` runs them as they are."""
    steps = tuple((title, command.replace(old, new)) for title, command in demo.DEMOS[name].steps)
    assert steps != demo.DEMOS[name].steps
    monkeypatch.setitem(demo.DEMOS, name, demo.DEMOS[name]._replace(steps=steps))


def test_store_demo_runs_the_whole_workflow(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shrink_demo(monkeypatch, "store", "-n 120 ", "-n 60 ")
    done = cli("demo")
    assert done.status == 0
    steps = re.findall(r"^\$ callmark (\w+) ", done.out, re.MULTILINE)
    assert steps == ["synth", "stats", "show", "lint", "lint", "filter", "expand", "show", "run", "compare", "gate", "report"]
    assert "60 conversations → callmark-demo/data" in done.out
    assert "✓ call.score" in done.out
    assert "callmark-demo/report.html   " in done.out.rstrip().splitlines()[-1]
    train, valid = (callmark.stats(callmark.load(f"callmark-demo/data/{name}.jsonl")) for name in ("train", "valid"))
    assert train.conversations + valid.conversations == 60
    assert len(train.tools) == 15
    assert callmark.lint(callmark.load("callmark-demo/data/train.jsonl")).findings == []


def test_demo_does_not_overwrite_existing_data(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a{b} c"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "synth.json").write_text("{}")
    monkeypatch.setattr(
        demo, "DEMOS", {"store": demo.DEMOS["store"]._replace(steps=(("What?", "stats {folder}/hotel.jsonl --charts {data}"),))}
    )
    assert cli("demo", "-o", folder).status == 0
    assert [path.name for path in (folder / "data").iterdir()] == ["synth.json"]
    assert (folder / "data-2" / "tools.svg").exists()


def test_demo_reports_an_unwritable_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = cli("demo", "-o", tmp_path / "taken")
    assert done.status == 2
    assert "cannot be written" in done.err


def test_hotel_dataset_has_one_planted_flaw_of_each_kind() -> None:
    path = Path(callmark.__file__).parent / "worlds" / "hotel" / "hotel.jsonl"
    report = callmark.lint(callmark.load(path))
    assert set(report.summary.values()) == {1}
    assert CODES.keys() - report.summary.keys() == {
        "broken_row",
        "bad_schema",
        "orphan_result",
        "repeated_key",
        "duplicate_id",
        "near_duplicate",
        "leak",
        "tools_change",
    }


def test_chatbot_demo_writes_a_report(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shrink_demo(monkeypatch, "chatbot", "--trials 3 ", "--trials 1 ")
    done = cli("demo", "chatbot")
    assert done.status == 0
    assert "sloppy against careful" in done.out
    assert "callmark-demo/chatbot.html   " in done.out.rstrip().splitlines()[-1]
    (careful,) = Path("callmark-demo/runs").glob("careful-*")
    assert {file.name for file in careful.iterdir()} >= {"evaluation_results.json", "evaluation_metrics.json", "predictions.jsonl"}
