"""A disk that is full or read-only, and a clock that jumps: nothing is lost, and the message says what happened."""

import itertools
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import chat_server
from tests.conftest import Cli
from tests.hostile_folders import write_own_files
from tests.rows import WEATHER, call, user, write_rows

CASES = 300


def write_cases(path: Path, count: int = CASES) -> Path:
    expected = {"tool_calls": [call("get_weather", {"city": "Bonn"})]}
    return write_rows(
        path, *({"id": f"c{n}", "messages": [user(f"{n}?")], "tools": [WEATHER], "expected_output": expected} for n in range(count))
    )


def limited(size: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run callmark in a process that can write files of at most `size` bytes; compiled modules would be cut off too, for all processes."""
    limit = (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    return subprocess.run(
        [sys.executable, "-B", "-m", "callmark", *arguments],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )


def predictions(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "predictions.jsonl").read_bytes().splitlines()]


def test_a_run_on_a_full_disk_is_resumed_with_nothing_lost(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_cases(Path("eval.jsonl"))
    full = limited(5000, "run", "eval.jsonl", "--model", "scripted:hasty", "--name", "r", "--no-cache")
    assert full.returncode == 2
    assert full.stderr.startswith("callmark: runs/r/predictions.jsonl: cannot be written: File too large.\nEarlier predictions are saved.")
    manifest = json.loads(Path("runs/r/run.json").read_bytes())
    before = predictions(Path("runs/r"))
    assert manifest["status"] == "interrupted"
    assert 0 < len(before) == manifest["model_run"]["predictions"] < CASES
    resumed = cli("run", "runs/r", "--resume", "--no-cache")
    assert resumed.status == 0, resumed.err
    after = predictions(Path("runs/r"))
    assert after[: len(before)] == before
    assert sorted(one["case"] for one in after) == sorted(f"c{n}" for n in range(CASES))


def test_a_simulation_on_a_full_disk_is_resumed_with_nothing_lost(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_own_files(tmp_path)
    scenario = json.loads(Path("scenarios.jsonl").read_text().splitlines()[0])
    write_rows(Path("scenarios.jsonl"), *({**scenario, "id": f"s{n}"} for n in range(20)))
    command = ("simulate", "scenarios.jsonl", "--agent", "python:friend:predict", "--user", "script", "--tools", "recorded:data.jsonl")
    full = limited(5000, *command, "--name", "talk", "--concurrency", "1", "--no-cache")
    assert (full.returncode, "predictions.jsonl: cannot be written: File too large." in full.stderr) == (2, True), full.stderr
    before = predictions(Path("runs/talk"))
    assert 0 < len(before) < 20
    resumed = cli("simulate", "runs/talk", "--resume", "--no-cache", "--trust")
    assert resumed.status == 0, resumed.err
    after = predictions(Path("runs/talk"))
    assert after[: len(before)] == before
    assert sorted(one["case"] for one in after) == sorted(f"s{n}" for n in range(20))


def test_full_response_cache_is_reported_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALLMARK_CACHE", str(tmp_path / "cache.sqlite"))
    write_cases(Path("eval.jsonl"), 20)
    with chat_server() as server:
        full = limited(30_000, "run", "eval.jsonl", "--model", f"{server.url}#m", "--name", "r")
    assert full.returncode == 0, full.stderr
    assert "callmark: warning: response cache disabled: " in full.stderr
    assert sorted(one["case"] for one in predictions(Path("runs/r"))) == sorted(f"c{n}" for n in range(20))


def test_grading_on_a_full_disk_leaves_the_run_as_it_was(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_cases(Path("eval.jsonl"))
    assert cli("run", "eval.jsonl", "--model", "scripted:hasty", "--name", "r", "--no-cache").status == 0
    before = {file.name: file.read_bytes() for file in Path("runs/r").iterdir()}
    full = limited(5000, "grade", "runs/r")
    assert full.returncode == 2
    saved = "The predictions are saved. To grade them: callmark grade runs/r\n"
    assert full.stderr == f"callmark: runs/r/grades.jsonl: cannot be written: File too large.\n{saved}"
    assert {file.name: file.read_bytes() for file in Path("runs/r").iterdir()} == before
    for command, name in ((("report", "runs/r"), "runs/r/report.html"), (("export", "results", "runs/r", "--to", "csv"), "runs/r.csv")):
        full = limited(1000, *command)
        assert (full.returncode, full.stderr) == (2, f"callmark: {name}: cannot be written: File too large.\n")
    assert {file.name: file.read_bytes() for file in Path("runs/r").iterdir()} == before
    write_rows(Path("p.jsonl"), *({"id": f"c{n}", "tool_calls": []} for n in range(CASES)))
    full = limited(5000, "grade", "eval.jsonl", "-p", "p.jsonl", "--name", "new")
    assert (full.returncode, os.path.exists("runs/new")) == (2, False)
    assert full.stderr == "callmark: runs/new/grades.jsonl: cannot be written: File too large.\n"


@pytest.mark.parametrize(
    "command, out",
    [
        (("expand", "conversations.jsonl", "-o", "out.jsonl"), "out.jsonl"),
        (("expand", "conversations.jsonl", "-o", "out.jsonl", "--by-reference"), "out.jsonl"),
        (("convert", "eval.jsonl", "--to", "openai", "-o", "out.jsonl.gz"), "out.jsonl.gz"),
        (("filter", "eval.jsonl", "--min-calls", "0", "-o", "out.jsonl"), "out.jsonl"),
        (("split", "eval.jsonl", "-o", "parts"), "parts/valid.jsonl"),
    ],
)
def test_output_that_does_not_fit_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_cases(Path("eval.jsonl"))
    talk = {
        "messages": [
            user("x" * 3000),
            {"role": "assistant", "tool_calls": [call("f", {})]},
            {"role": "assistant", "tool_calls": [call("g", {})]},
        ]
    }
    write_rows(Path("conversations.jsonl"), talk)
    Path(out).parent.mkdir(exist_ok=True)
    Path(out).write_text("old")
    full = limited(1000, *command)
    assert full.returncode == 2
    assert f"callmark: {out}: cannot be written: File too large." in full.stderr
    assert Path(out).read_text() == "old"
    assert not list(tmp_path.rglob("*.partial-*"))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_device_is_reported(cli: Cli, tmp_path: Path) -> None:
    refused = cli("convert", write_cases(tmp_path / "eval.jsonl"), "--to", "openai", "-o", "/dev/full")
    assert (refused.status, refused.err.splitlines()[0]) == (2, "callmark: /dev/full: cannot be written: No space left on device.")


READ_ONLY = """
import errno, os, sys
from callmark.cli.main import run
target, refused = os.path.realpath(sys.argv[1]), OSError(errno.EROFS, "Read-only file system")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGING = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.chmod")

def refuse(event, arguments):
    if event == "open":
        path, _, flags = arguments
        changes = isinstance(path, str) and flags & WRITING
    else:
        path, changes = arguments and arguments[0], event in CHANGING
    if changes and isinstance(path, str) and os.path.realpath(path).startswith(target):
        raise refused

sys.addaudithook(refuse)
sys.exit(run(sys.argv[2:]))
"""


def read_only(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run callmark with a folder in which nothing can be changed: permissions would not stop root."""
    return subprocess.run([sys.executable, "-B", "-c", READ_ONLY, str(folder), *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "command, sentence",
    [
        (
            ("run", "eval.jsonl", "--model", "scripted:hasty", "--name", "new", "--no-cache"),
            "runs/new: cannot be created: Read-only file system.",
        ),
        (("run", "runs/r", "--resume", "--no-cache"), "runs/r/predictions.jsonl: cannot be written: Read-only file system."),
        (("grade", "runs/r"), "runs/r: cannot be written: Read-only file system."),
        (("grade", "eval.jsonl", "-p", "p.jsonl"), "cannot be created: Read-only file system."),
        (("report", "runs/r"), "runs/r/report.html: cannot be written: Read-only file system."),
        (("expand", "conversations.jsonl", "-o", "runs/out.jsonl"), "runs/out.jsonl: cannot be written: Read-only file system."),
        (("filter", "eval.jsonl", "--min-calls", "0", "-o", "runs/f.jsonl"), "runs/f.jsonl: cannot be written: Read-only file system."),
        (("split", "eval.jsonl", "-o", "runs/parts"), "runs/parts/train.jsonl: cannot be written: Read-only file system."),
        (("export", "results", "runs/r", "--to", "csv"), "runs/r.csv: cannot be written: Read-only file system."),
        (("export", "grader", "-o", "runs/grader.py"), "runs/grader.py: cannot be written: Read-only file system."),
        (("gate", "runs/r", "--min", "call.score=0", "--junit", "runs/j.xml"), "runs/j.xml: cannot be written: Read-only file system."),
        (("gate", "runs/r", "--min", "call.score=0", "--summary", "runs/s.md"), "runs/s.md: cannot be written: Read-only file system."),
        (
            (
                "simulate",
                "scenarios.jsonl",
                "--agent",
                "python:friend:predict",
                "--user",
                "script",
                "--tools",
                "recorded:conversations.jsonl",
            ),
            "cannot be created: Read-only file system.",
        ),
        (
            ("synth", "--tools", "openapi:api.yaml", "-n", "1", "-o", "runs/made"),
            "runs/made/runs/round-1.jsonl: cannot be written: Read-only file system.",
        ),
        (("convert", "eval.jsonl", "--to", "openai", "-o", "runs/out.jsonl"), "runs/out.jsonl: cannot be written: Read-only file system."),
    ],
)
def test_a_read_only_folder_is_reported_and_unchanged(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_own_files(tmp_path)
    Path("data.jsonl").rename("conversations.jsonl")
    write_cases(Path("eval.jsonl"), 5)
    write_rows(Path("p.jsonl"), {"id": "c0", "tool_calls": []})
    assert cli("run", "eval.jsonl", "--model", "scripted:hasty", "--name", "r", "--no-cache").status == 0
    before = {file: file.read_bytes() for file in Path("runs").rglob("*") if file.is_file()}
    refused = read_only(Path("runs"), *command)
    assert refused.returncode == 2, refused.stderr
    assert sentence in refused.stderr
    assert "internal error" not in refused.stderr
    assert {file: file.read_bytes() for file in Path("runs").rglob("*") if file.is_file()} == before


def test_reading_a_read_only_run_works(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_cases(Path("eval.jsonl"), 5)
    assert cli("run", "eval.jsonl", "--model", "scripted:hasty", "--name", "r", "--no-cache").status == 0
    assert read_only(Path("runs"), "report", "runs/r", "-o", "report.html").returncode == 0
    assert read_only(Path("runs"), "gate", "runs/r", "--min", "call.score=0").returncode == 0


def test_a_clock_that_jumps_an_hour_changes_nothing(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_cases(Path("eval.jsonl"), 30)
    jumps = itertools.cycle((0, 3600, -3600))
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + next(jumps))
    with chat_server(lambda number, body, attempt: "429" if number % 7 == 3 and not attempt else "answer") as server:
        done = cli("run", "eval.jsonl", "--model", f"{server.url}#m", "--name", "r", "--no-cache", "--concurrency", "4")
    assert done.status == 0, done.err
    found = predictions(Path("runs/r"))
    assert sorted(one["case"] for one in found) == sorted(f"c{n}" for n in range(30))
    assert all(0 <= one["usage"]["seconds"] < 60 for one in found)
    assert cli("run", "runs/r", "--resume", "--no-cache").status == 0
    assert predictions(Path("runs/r")) == found
