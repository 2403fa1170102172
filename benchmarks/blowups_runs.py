"""Rows of `blowups.py`: run folders with pipes, devices and links in place of files, and a process that may open few files."""

import contextlib
import io
import json
import os
import resource
import shutil
import sys
from itertools import cycle, islice, product
from pathlib import Path

import callmark
from blowups import FOLDER, Run, blowup
from callmark.cli.main import run as run_command

sys.path.insert(0, str(Path(__file__).parents[1]))  # the chat server is in tests/

FILES = ("run.json", "predictions.jsonl", "grades.jsonl", "summary.json", "dataset")
TRICKS = ("pipe", "device", "link")
EVERY_TRICK = len(FILES) * len(TRICKS)
OPEN_FILES = 64
CALL = {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def hostile_runs(n: int) -> list[Path]:
    """Write n runs, each with a pipe, a device or a link out of the folder in place of one of its files, and return their folders."""
    case = {"id": "c", "messages": [{"role": "user", "content": "go"}], "expected_output": {"tool_calls": [CALL]}}
    cases, predictions = FOLDER / "cases.jsonl", FOLDER / "predictions.jsonl"
    cases.write_text(json.dumps(case) + "\n")
    predictions.write_text(json.dumps({"id": "c", "tool_calls": [CALL]}) + "\n")
    good = callmark.grade(cases, predictions=predictions, out=FOLDER / "runs", name="good").path
    os.mkfifo(FOLDER / "pipe")
    targets = {"pipe": FOLDER / "pipe", "device": Path("/dev/zero"), "link": Path("/etc/hostname")}
    folders = []
    for number, (name, trick) in enumerate(islice(cycle(product(FILES, TRICKS)), n)):
        folder = FOLDER / "runs" / f"run-{number}"
        shutil.copytree(good, folder)
        folders.append(folder)
        if name == "dataset":
            manifest = json.loads((folder / "run.json").read_bytes())
            manifest["dataset"]["path"] = str(targets[trick])
            (folder / "run.json").write_text(json.dumps(manifest))
            continue
        (folder / name).unlink()
        if trick == "pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to(targets[trick])
    return folders


def use_each(n: int, *command: str) -> Run:
    """Return a function that runs a command on n hostile runs. It ends with a result or with a sentence, never with an internal error."""
    folders = hostile_runs(n)

    def run() -> str | None:
        printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            statuses = [run_command([command[0], str(folder), *command[1:]]) for folder in folders]
        printed.seek(0)
        text = printed.read()
        assert "internal error" not in text, text
        assert statuses.count(2) >= n // 3, f"only {statuses.count(2)} of {n} runs were refused"
        return None

    return run


@blowup("report on runs with pipes, devices and links", n=EVERY_TRICK)
def _report(n: int) -> Run:
    return use_each(n, "report", "-o", str(FOLDER / "report.html"))


@blowup("gate on runs with pipes, devices and links", n=EVERY_TRICK)
def _gate(n: int) -> Run:
    return use_each(n, "gate", "--max-errors", "0")


@blowup("grade runs with pipes, devices and links", n=EVERY_TRICK)
def _grade(n: int) -> Run:
    return use_each(n, "grade")


@blowup("view runs with pipes, devices and links", n=EVERY_TRICK)
def _view(n: int) -> Run:
    from tests.fuzz.targets import view_run

    folders = hostile_runs(n)

    def run() -> str | None:
        for folder in folders:
            view_run(folder)
        return None

    return run


@blowup(f"run with {OPEN_FILES} file descriptors, concurrency 100", n=100)
def _few_files(n: int) -> Run:
    from tests.runs.kills import start_chat_server, write_cases

    cases = write_cases(FOLDER / "cases.jsonl", n)

    def run() -> str | None:
        with start_chat_server(FOLDER / "log", "--latency", "0.01") as server:
            resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            options = ("--concurrency", "100", "--retries", "0", "-o", str(FOLDER / "runs"), "--name", "mine")
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                assert run_command(["run", str(cases), "--model", f"{server.url}#m", *options]) == 0
        summary = callmark.Run(FOLDER / "runs" / "mine").summary()
        assert (summary.scored, summary.errors) == (n, 0), summary
        return None

    return run
