"""What a file names runs, imports and sends nothing, unless the user allows it."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from callmark.cli.main import run as run_command
from callmark.viewer.run_collection import RunCollection
from tests.chat_server import ChatServer, chat_server
from tests.conftest import Cli
from tests.hostile_folders import (
    ADDRESSES,
    COMMANDS,
    HOSTILE,
    KEYS,
    OWN_MODELS,
    RUN,
    SECRET,
    TALK,
    Hostile,
    write_evil_files,
    write_hostile_files,
    write_own_files,
)

MARKS = {"ran": "RAN", "imported": "IMPORTED"}
MODULES = ("evil", "evil_package", "evil_package.inner", "friend")
_PROCESSES = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn")
_watched: list[str] | None = None  # what happened in this process, while it is watched


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched is None:
        return
    if event == "subprocess.Popen" and _is_guarded_git(arguments[1]):
        return
    if event in _PROCESSES or event in ("socket.connect", "socket.getaddrinfo"):
        _watched.append(f"{event} {arguments}")
    elif event == "import" and str(arguments[0]).startswith("evil"):
        _watched.append(f"import {arguments[0]}")


def _is_guarded_git(command: Any) -> bool:
    """Return whether a command asks Git for the state of this folder; tests/runs/test_git_state.py shows that it runs nothing else."""
    asked = {"config", "status", "check-attr"}
    return command[:4] == [shutil.which("git"), "-C", ".", "--no-pager"] and not asked.isdisjoint(command)


sys.addaudithook(_watch)


@pytest.fixture
def watched() -> Iterator[list[str]]:
    """The processes, connections and evil imports of this process during the test."""
    global _watched
    _watched = []
    yield _watched
    _watched = None


@pytest.fixture(scope="session")
def server() -> Iterator[ChatServer]:
    with chat_server() as listening:
        yield listening


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, two runs on decision points and a simulation, none of which acts."""
    folder = tmp_path_factory.mktemp("own")
    write_own_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("theirs", "other"):
            assert run_command(["run", "data.jsonl", "--model", "scripted:perfect", "--name", name]) == 0
        _simulate("recorded:data.jsonl")
    _forget_modules()
    return folder


@pytest.fixture
def folder(own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder elsewhere, with evil modules and programs in it, as the current folder; keys are set."""
    target = tmp_path / "folder"
    shutil.copytree(own_folder, target)
    write_evil_files(target)
    monkeypatch.chdir(target)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    for name in ADDRESSES:
        monkeypatch.delenv(name, raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    (target / "out").mkdir()
    return target


def _simulate(tools: str) -> None:
    """Make the run `talk`. Its agent is a function, so that resuming it elsewhere is never allowed."""
    command = ["simulate", "scenarios.jsonl", "--agent", "python:friend:predict", "--user", "script", "--tools", tools, "--name", "talk"]
    assert run_command(command) == 0


def _forget_modules() -> None:
    for name in MODULES:
        sys.modules.pop(name, None)


def _prepare(folder: Path, hostile: Hostile, url: str) -> None:
    """Write the hostile files. A simulation with tools of its own is made elsewhere first, by its sender."""
    if hostile.talk_tools:
        sender = folder.parent / "sender"
        shutil.copytree(folder, sender)
        shutil.rmtree(sender / TALK)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(sender)
            _simulate(hostile.talk_tools)
        shutil.rmtree(folder / TALK)
        shutil.move(sender / TALK, folder / TALK)
    write_hostile_files(folder, hostile, url)
    _forget_modules()


def _fill(hostile: Hostile, command: str) -> list[str]:
    return [hostile.model or OWN_MODELS[command] if part == "MODEL" else part for part in COMMANDS[command]]


def _view() -> str:
    """Look at every run as the viewer does."""
    runs = RunCollection("runs")
    shown: list[Any] = [runs.list_data()]
    for name in runs.runs():
        opened = runs.open_run(name)
        rows = opened.rows_data(0, 100)
        shown += [opened.run_data(), rows, *(opened.case_data(case, 0) for case in rows["id"])]
    return json.dumps(shown, default=str)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_table_works_in_an_ordinary_folder(command: str, folder: Path, cli: Cli) -> None:
    """Otherwise the table would prove nothing about it."""
    completed = cli(*_fill(Hostile({}), command), *(["--trust"] if command == "simulate --resume" else []))
    assert completed.status in ((0, 3) if command == "synth" else (0,)), completed.err  # no conversation of this agent is good enough


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_folder_runs_imports_and_sends_nothing(name: str, folder: Path, cli: Cli, server: ChatServer, watched: list[str]) -> None:
    hostile = HOSTILE[name]
    _prepare(folder, hostile, server.url)
    received = len(server.requests)
    watched.clear()
    host = server.url.removeprefix("http://").removesuffix("/v1")
    printed = ""
    for command in COMMANDS:
        completed = cli(*_fill(hostile, command))
        assert "internal error" not in completed.err, command
        if sentence := hostile.refusals.get(command, ""):
            expected = sentence.replace("<URL>", server.url).replace("<HOST>", host)
            assert (completed.status, expected in completed.err) == (2, True), f"{command}: {completed.err}"
            assert "not trusted" not in sentence or "pass --trust" in completed.err
        printed += completed.out + completed.err
    printed += _view() + "".join(file.read_text(encoding="utf-8") for file in Path().rglob("*") if _is_written(file))
    assert watched == []
    assert len(server.requests) == received
    assert not [mark for mark in MARKS.values() if Path(mark).exists()]
    assert SECRET not in printed
    assert not [key for key in KEYS.values() if key in printed]


@pytest.mark.parametrize("name", [name for name, hostile in HOSTILE.items() if hostile.proof])
def test_hostile_folder_works_once_it_is_trusted(name: str, folder: Path, cli: Cli, server: ChatServer) -> None:
    hostile = HOSTILE[name]
    _prepare(folder, hostile, server.url)
    for command in hostile.refusals:
        _forget_modules()
        received = len(server.requests)
        for mark in MARKS.values():
            Path(mark).unlink(missing_ok=True)
        completed = cli(*_fill(hostile, command), "--trust")
        assert "not trusted" not in completed.err
        acted = len(server.requests) > received if hostile.proof == "received" else Path(MARKS[hostile.proof]).exists()
        assert acted, f"{command}: {completed.err}{completed.out}"


def _is_written(file: Path) -> bool:
    return file.is_file() and file.parts[0] in ("runs", "out") and file.suffix in (".json", ".jsonl", ".html", ".csv")


@pytest.mark.parametrize(
    "name, command",
    [
        ("command", "run --resume"),
        ("tool server", "simulate --resume"),
        ("evaluator", "grade talk"),
        ("model function in callmark.toml", "run"),
        ("address of OpenAI in .env", "run"),
    ],
)
def test_hostile_folder_does_nothing_in_a_process_of_its_own(name: str, command: str, folder: Path, server: ChatServer) -> None:
    hostile = HOSTILE[name]
    _prepare(folder, hostile, server.url)
    received = len(server.requests)
    completed = _run_process(*_fill(hostile, command))
    assert (completed.returncode, "is not trusted: it" in completed.stderr) == (2, True), completed.stderr
    assert len(server.requests) == received
    assert not [mark for mark in MARKS.values() if Path(mark).exists()]


def test_viewer_says_which_metrics_it_does_not_compute(folder: Path, server: ChatServer) -> None:
    _prepare(folder, HOSTILE["evaluator of a run in progress"], server.url)
    for run in (RUN, TALK):
        (Path(run) / "grades.jsonl").unlink()
    runs = RunCollection("runs")
    for name, metric in (("theirs", "call.score"), ("talk", "process.reliability")):
        data = runs.open_run(name).run_data()
        assert data["problem"] == "The metrics of evil:score appear when the run is graded, because the viewer imports no code."
        assert metric in [found["name"] for found in data["metrics"]]


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("evaluator in callmark.toml", "callmark.toml is not trusted: it imports score from evil"),
        ("model in callmark.toml with the name of a demo", "callmark.toml is not trusted: it runs the command `./evil-agent`"),
        ("address of OpenAI in .env", ""),
    ],
)
def test_demo_in_a_hostile_folder_runs_nothing_of_it(
    name: str, sentence: str, folder: Path, cli: Cli, server: ChatServer, watched: list[str]
) -> None:
    _prepare(folder, HOSTILE[name], server.url)
    watched.clear()
    completed = cli("demo", "hotel", "-o", "out/demo")
    assert (completed.status, sentence in completed.err) == (2 if sentence else 0, True), completed.err
    assert watched == []
    assert not [mark for mark in MARKS.values() if Path(mark).exists()]


@pytest.mark.parametrize("name", ["everything", "evaluator of a run in progress", "evaluator in callmark.toml"])
def test_notebooks_of_a_hostile_folder_run_nothing_of_it(name: str, folder: Path, server: ChatServer) -> None:
    """Kernels are processes of their own, so what they would do is seen by what it leaves behind."""
    _prepare(folder, HOSTILE[name], server.url)
    received = len(server.requests)
    completed = _run_process("export", "notebook", RUN, "-o", "out")
    assert completed.returncode == 0, completed.stderr
    assert Path("out/evaluation.ipynb").stat().st_size > 10_000
    assert len(server.requests) == received
    assert not [mark for mark in MARKS.values() if Path(mark).exists()]


@pytest.mark.parametrize("name", ["everything", "evaluator of a run in progress", "evaluator in callmark.toml"])
def test_view_of_a_hostile_folder_runs_nothing_of_it(name: str, folder: Path, server: ChatServer) -> None:
    _prepare(folder, HOSTILE[name], server.url)
    received = len(server.requests)
    _write_shadows()
    arguments = [sys.executable, "-m", "callmark", "view", "runs", "--no-browser"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address, _, token = process.stdout.readline().strip().partition("/?token=")
        try:
            for path in ("runs", *(f"{what}?name={run}" for what in ("run", "rows") for run in ("theirs", "talk", "other"))):
                with urlopen(Request(f"{address}/api/{path}", headers={"X-Callmark-Token": token}), timeout=10) as response:
                    assert json.loads(response.read())
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=10)
    assert process.returncode == 0
    assert len(server.requests) == received
    assert not [mark for mark in MARKS.values() if Path(mark).exists()]


def _write_shadows() -> None:
    """Write modules next to the data, where `python -m` looks first."""
    for module in ("click", "msgspec", "numpy", "rich", "aiohttp", "starlette", "uvicorn", "pandas", "altair", "sitecustomize"):
        Path(f"{module}.py").write_text('open("IMPORTED", "w").close()\n', encoding="utf-8")


def _run_process(*arguments: str) -> "subprocess.CompletedProcess[str]":
    for mark in MARKS.values():
        Path(mark).unlink(missing_ok=True)
    _write_shadows()
    return subprocess.run(
        [sys.executable, "-m", "callmark", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
