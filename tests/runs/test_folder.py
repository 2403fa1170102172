"""The folder of a run: made whole or not at all, found again wherever it is moved to."""

import os
from pathlib import Path

import pytest

from callmark.errors import BadInput
from callmark.grading.evaluator import Settings
from callmark.runs.store import CASES, RUN, DatasetInfo, PredictionsInfo, RunFolder, RunInfo, discard, is_run, new_folder


def info() -> RunInfo:
    read = DatasetInfo("eval.jsonl", "../eval.jsonl", digest="xxh3:0", dialect="openai", what="scenarios", cut=True, tools="tools.json")
    told = PredictionsInfo("p.jsonl", rows=9, unused=1, repeated=2, parsed=3, unparsed=4, first_unused="zebra")
    settings = Settings(("call",), 0.5, {"tool_selection": 1.0}, ("x-*",), "macro", {"*.a": {"$any": True}})
    return RunInfo("p", "0.1.0", "2026-01-02T03-04", read, told, settings, metrics=("call.score",), cases=7, match={"*.a": 3})


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write(info())
    assert folder.read() == info()
    first = (tmp_path / RUN).read_bytes()
    folder.write(folder.read())
    assert (tmp_path / RUN).read_bytes() == first
    assert first.startswith(b'{\n  "name": "p",\n')


@pytest.mark.parametrize(
    "content, sentence",
    [
        (None, "is no run: there is no run.json in it"),
        (b"", "run.json cannot be read: "),
        (b"{", "run.json cannot be read: "),
        (b"[]", "run.json cannot be read: Expected `object`, got `array`"),
        (b"{}", "run.json cannot be read: Object missing required field `name`"),
        (b"\xff", "run.json cannot be read: "),
        (b"[" * 100_000, "run.json cannot be read: "),
        (b'{"name": "\\ud800"}', "run.json cannot be read: "),
        (
            b'{"name": "p", "callmark": "", "made": "", "dataset": {"name": "", "path": ""}, "predictions": 5}',
            "cannot be read: ",
        ),
    ],
)
def test_a_folder_that_says_something_else(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / RUN).write_bytes(content)
    with pytest.raises(BadInput) as error:
        RunFolder(tmp_path).read()
    assert str(error.value).startswith(str(tmp_path))
    assert sentence in str(error.value)


def test_a_run_that_is_a_folder_itself(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir()
    with pytest.raises(BadInput, match="run.json cannot be read: Is a directory"):
        RunFolder(tmp_path).read()


def test_a_folder_of_runs_names_them(tmp_path: Path) -> None:
    for name in "gfedcba":
        (tmp_path / name).mkdir()
        (tmp_path / name / RUN).touch()
    with pytest.raises(BadInput) as error:
        RunFolder(tmp_path).read()
    assert error.value.hint == "It holds the runs a, b, c, d, e."


def test_a_newer_key_is_passed_over(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write(info())
    text = (tmp_path / RUN).read_text()
    (tmp_path / RUN).write_text(text.replace('"name": "p"', '"name": "p", "model": "m"', 1))
    assert folder.read() == info()


def test_a_path_is_kept_as_seen_from_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = new_folder("runs", "p", default="")
    assert folder.from_here("data/eval.jsonl") == "../../data/eval.jsonl"
    assert folder.to_here("../../data/eval.jsonl") == "data/eval.jsonl"
    assert folder.to_here(str(tmp_path / "x")) == "x"
    Path("link").symlink_to("runs/p")
    assert RunFolder("link").to_here("../../data/eval.jsonl") == "data/eval.jsonl"
    monkeypatch.chdir("runs")
    assert RunFolder("p").to_here("../../data/eval.jsonl") == "../data/eval.jsonl"


def test_names_are_made_of_what_a_folder_may_be_called(tmp_path: Path) -> None:
    made = [new_folder(str(tmp_path), None, default=name).path.name for name in ("a b/c", "-.x.-", "…", "", "ä_1.2", "a b/c", "a b/c")]
    assert made == ["a-b-c", "x", "run", "run-2", "ä_1.2", "a-b-c-2", "a-b-c-3"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0b", "/"])
def test_a_name_is_that_of_one_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="cannot be the name of a run: it is the name of one folder"):
        new_folder(str(tmp_path), name, default="x")
    assert not list(tmp_path.iterdir())


def test_a_given_name_is_taken_where_something_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert new_folder(str(tmp_path), "empty", default="x").path == tmp_path / "empty"
    (tmp_path / "empty" / "file").touch()
    (tmp_path / "a-file").touch()
    for name in ("empty", "a-file"):
        with pytest.raises(BadInput, match=f"there is a run in {tmp_path}/{name} already") as error:
            new_folder(str(tmp_path), name, default="x")
        assert "Choose another --name" in error.value.hint


@pytest.mark.parametrize("parent, reason", [("file", "Not a directory"), ("x" * 300, "File name too long"), ("/proc/nowhere", "")])
def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parent: str, reason: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    for name in (None, "p"):
        with pytest.raises(BadInput, match=f"cannot be made: {reason}"):
            new_folder(parent, name, default="x")


def test_only_an_empty_folder_is_discarded(tmp_path: Path) -> None:
    folder = new_folder(str(tmp_path), "p", default="")
    folder.path.joinpath(CASES).touch()
    discard(folder)
    assert not folder.path.exists()
    discard(folder)
    other = new_folder(str(tmp_path), "q", default="")
    other.path.joinpath("mine").touch()
    discard(other)
    assert os.listdir(other.path) == ["mine"]


def test_a_run_is_a_folder_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("run", "-"):
        Path(folder).mkdir()
        Path(folder, "run.json").touch()
    Path("data").mkdir()
    Path("file").touch()
    assert [is_run(path) for path in ("run", "data", "file", "nowhere", "-")] == [True, False, False, False, False]


def test_what_a_killed_process_left_half_done_is_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".grading-x1").mkdir()
    (tmp_path / ".grading-x1" / "grades.jsonl").write_text("{")
    for name in ("run.json.partial-17", "run.json", "predictions.jsonl", "notes.partial-1"):
        (tmp_path / name).write_text("{}")
    RunFolder(tmp_path).tidy()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["notes.partial-1", "predictions.jsonl", "run.json"]
