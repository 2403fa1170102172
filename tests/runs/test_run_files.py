"""Files of a run folder that are not regular files: refused with a sentence, never waited for, never followed, never written to."""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.formats.regular_files import open_regular
from callmark.runs import store
from callmark.runs.journal import Journal, is_open
from callmark.runs.store import RunFolder
from callmark.viewer.run_collection import RunCollection
from tests.conftest import Cli
from tests.rows import WEATHER, call, user, write_rows

SECRET = "what nobody else should see"


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    """End a test that waits for the other end of a pipe."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("waited for a pipe")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def run(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graded run of a scripted model in `runs/r`, and a file outside of it."""
    monkeypatch.chdir(tmp_path)
    expected = {"tool_calls": [call("get_weather", {"city": "Bonn"})]}
    cases = [{"id": f"c{n}", "messages": [user("Bonn?")], "tools": [WEATHER], "expected_output": expected} for n in range(3)]
    write_rows(Path("eval.jsonl"), *cases)
    assert cli("run", "eval.jsonl", "--model", "scripted:hasty", "--name", "r", "--no-cache").status == 0
    shutil.copytree("runs/r", "runs/other")
    Path("secret.txt").write_text(SECRET)
    return Path("runs/r")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link(path: Path) -> None:
    path.symlink_to(Path("secret.txt").resolve())


def loop(path: Path) -> None:
    path.symlink_to(path.name)


KINDS: dict[Callable[[Path], None], str] = {
    pipe: "expected a regular file, got a named pipe",
    folder: "expected a regular file, got a folder",
    device: "expected a regular file, got a link that points outside the folder",
    link: "expected a regular file, got a link that points outside the folder",
}
NEEDED = {
    "run.json": ("report", "gate", "grade", "compare", "run --resume", "export"),
    "grades.jsonl": ("report", "gate", "compare", "export"),
    "predictions.jsonl": ("grade", "run --resume"),
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "report": ("report", "runs/r", "-o", "report.html"),
    "gate": ("gate", "runs/r", "--min", "call.score=0"),
    "grade": ("grade", "runs/r"),
    "compare": ("compare", "runs/r", "runs/other"),
    "run --resume": ("run", "runs/r", "--resume", "--no-cache"),
    "export": ("export", "results", "runs/r", "--to", "csv", "-o", "out.csv"),
}


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("file, command", [(file, command) for file, commands in NEEDED.items() for command in commands])
def test_anything_but_a_regular_file_is_refused(cli: Cli, run: Path, make: Callable[[Path], None], file: str, command: str) -> None:
    (run / file).unlink()
    make(run / file)
    refused = cli(*COMMANDS[command])
    assert refused.status == 2
    assert f"runs/r/{file}: {KINDS[make]}" in refused.err
    assert SECRET not in refused.err + refused.out
    assert Path("secret.txt").read_text() == SECRET


@pytest.mark.parametrize("make", [*KINDS, loop], ids=lambda make: make.__name__)
def test_summary_that_is_not_a_regular_file_is_written_again(cli: Cli, run: Path, make: Callable[[Path], None]) -> None:
    if make is folder:
        pytest.skip("a folder is not replaced by a file")
    (run / "summary.json").unlink()
    make(run / "summary.json")
    assert cli("report", "runs/r", "-o", "report.html").status == 0
    assert cli("grade", "runs/r").status == 0
    assert (run / "summary.json").is_file()
    assert not (run / "summary.json").is_symlink()
    assert Path("secret.txt").read_text() == SECRET


@pytest.mark.parametrize("file", ["run.json", "grades.jsonl", "summary.json", "report.html", "evaluation_results.json"])
def test_links_in_a_run_folder_are_never_written_to(cli: Cli, run: Path, file: str) -> None:
    target = Path("secret.txt").resolve()
    if file == "run.json":
        (run / "inner.json").write_bytes((run / file).read_bytes())
        target = (run / "inner.json").resolve()  # a link inside the folder may be read
    before = target.read_bytes()
    (run / file).unlink(missing_ok=True)
    (run / file).symlink_to(target)
    (run / f"{file}.partial-{os.getpid()}").symlink_to(Path("secret.txt").resolve())
    cli("grade", "runs/r")
    cli("report", "runs/r")
    assert target.read_bytes() == before
    assert Path("secret.txt").read_text() == SECRET


@pytest.mark.parametrize(
    "path, sentence",
    [
        ("../../pipe", "runs/r/run.json: dataset.path: pipe: expected a regular file, got a named pipe"),
        ("/dev/zero", "expected a regular file, got a device"),
        ("..", "got a folder"),
        ("a\0b", "runs/r"),
    ],
)
@pytest.mark.parametrize("field", ["path", "tools"])
@pytest.mark.parametrize("command", [("grade", "runs/r"), ("run", "runs/r", "--resume", "--no-cache")])
def test_inputs_that_a_run_names_are_regular_files(
    cli: Cli, run: Path, command: tuple[str, ...], field: str, path: str, sentence: str
) -> None:
    os.mkfifo("pipe")
    edit(run, dataset={**manifest(run)["dataset"], field: path})
    refused = cli(*command)
    assert refused.status == 2
    assert sentence.replace("dataset.path", f"dataset.{field}") in refused.err
    assert "internal error" not in refused.err


def test_view_shows_what_it_can(run: Path) -> None:
    for number, (file, make) in enumerate((file, make) for file in (*NEEDED, "summary.json") for make in (*KINDS, loop)):
        copy = run.parent / f"bad{number}"
        copy.mkdir()
        for each in run.iterdir():
            (copy / each.name).write_bytes(each.read_bytes())
        if file == "predictions.jsonl":
            edit(copy, status="running")
        (copy / file).unlink()
        make(copy / file)
    os.mkfifo("pipe")
    edit(run, dataset={**manifest(run)["dataset"], "path": "../../pipe"})
    runs = RunCollection("runs")
    listed = runs.list_data()
    assert "r" in {one["name"] for one in listed["runs"]}
    shown = json.dumps(listed)
    for name in os.listdir("runs"):
        try:
            opened = runs.open_run(name)
            shown += repr((opened.run_data(), opened.rows_data(0, 10), opened.case_data("c0", 0)))
        except BadInput as error:
            shown += str(error)
    assert SECRET not in shown


def test_a_link_inside_the_folder_is_read(cli: Cli, run: Path) -> None:
    (run / "grades.jsonl").rename(run / "other.jsonl")
    (run / "grades.jsonl").symlink_to("other.jsonl")
    assert cli("report", "runs/r", "-o", "report.html").status == 0


def test_a_dataset_on_the_command_line_may_be_a_pipe(cli: Cli, run: Path) -> None:
    import threading

    os.mkfifo("cases")
    writer = threading.Thread(target=lambda: Path("cases").write_bytes(Path("eval.jsonl").read_bytes()))
    writer.start()
    shown = cli("stats", "cases", "--json")
    writer.join()
    assert json.loads(shown.out)["conversations"] == 3


def test_a_large_manifest_is_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_MAX_MANIFEST", 1 << 20)
    with (run / "run.json").open("ab") as file:
        file.truncate(1 << 40)  # without using the disk
    with pytest.raises(BadInput, match="runs/r/run.json: expected at most 1 MiB, got 1,099,511,627,776 bytes"):
        RunFolder(run).read()


def test_a_manifest_that_changes_while_it_is_read_is_read_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_regular
    texts = [b'{"version": 1', (run / "run.json").read_bytes()]

    class Changing:
        def __init__(self, file: Any, text: bytes) -> None:
            self._file, self._text = file, text

        def __enter__(self) -> "Changing":
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()

        def fileno(self) -> int:
            return int(self._file.fileno())

        def read(self, size: int) -> bytes:
            found: bytes = self._file.read(size)
            (run / "run.json").write_bytes(self._text)
            return found

    def changing(path: str, name: str) -> Any:
        file = opened(path, name)
        return Changing(file, texts.pop(0)) if texts else file

    monkeypatch.setattr(store, "open_regular", changing)
    assert RunFolder(run).read().name == "r"
    texts[:] = [b'{"version": 1, "x": %d' % n for n in range(10)]
    with pytest.raises(BadInput, match="runs/r/run.json: it changed while it was being read"):
        RunFolder(run).read()


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_predictions_are_not_written_to_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("secret.txt").write_text(SECRET)
    Path("run").mkdir()
    make(Path("run/predictions.jsonl"))
    with pytest.raises(BadInput, match=KINDS[make]):
        Journal("run/predictions.jsonl")
    with pytest.raises(BadInput, match=KINDS[make]):
        is_open("run/predictions.jsonl")
    assert Path("secret.txt").read_text() == SECRET


def manifest(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "run.json").read_bytes())
    return found


def edit(run: Path, **fields: Any) -> None:
    (run / "run.json").write_text(json.dumps({**manifest(run), **fields}))
