"""The run folder: written whole or not at all, found again wherever it is moved to."""

import os
from pathlib import Path

import pytest

from callmark.errors import BadInput, StorageError
from callmark.formats.matching import PredictionsInfo, TextCounts
from callmark.grading.evaluator import Metric
from callmark.grading.settings import GradingSettings
from callmark.runs.manifest import DatasetInfo, Manifest
from callmark.runs.store import CASES, RUN, RunFolder, create_run_folder, discard_run, is_run


def manifest() -> Manifest:
    dataset = DatasetInfo(
        "eval.jsonl", "../eval.jsonl", digest="xxh3:0", format="openai", kind="scenarios", expanded=True, tools="tools.json"
    )
    predictions = PredictionsInfo("p.jsonl", rows=9, unmatched=1, repeated=2, first_unmatched="zebra", texts=TextCounts(3, 1, {"<x>": 2}))
    grading = GradingSettings(("call",), {"call": {"threshold": 0.5}}, {"*.a": {"$any": True}})
    metrics = {"call.score": Metric("score", "call score", headline=True)}
    return Manifest("p", "0.1.0", "2026-01-02T03-04", dataset, predictions, grading, metrics=metrics, cases=7, match_counts={"*.a": 3})


def test_a_written_manifest_is_read_back(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write(manifest())
    assert folder.read() == manifest()
    first = (tmp_path / RUN).read_bytes()
    folder.write(folder.read())
    assert (tmp_path / RUN).read_bytes() == first
    assert first.startswith(b'{\n  "name": "p",\n')


@pytest.mark.parametrize(
    "content, sentence",
    [
        (None, "not a run folder: run.json is missing"),
        (b"", "run.json: not valid JSON: "),
        (b"{", "run.json: not valid JSON: "),
        (b"[]", "run.json: expected an object, got a list"),
        (b"{}", "run.json: version: expected 1, got no version"),
        (b'{"version": 2}', "run.json: version: expected 1, got 2"),
        (b'{"version": 1}', "run.json: missing key 'name'"),
        (b"\xff", "run.json: not valid JSON: "),
        (b"[" * 100_000, "run.json: expected an object, got a list"),
        (b'{"name": "\\ud800"}', "run.json: not valid JSON: "),
        (
            b'{"version": 1, "name": "p", "callmark": "", "created": "", "dataset": {"name": "", "path": ""}, "predictions": 5}',
            "run.json: predictions: expected an object, got a number",
        ),
    ],
)
def test_a_broken_manifest_raises(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / RUN).write_bytes(content)
    with pytest.raises(BadInput) as error:
        RunFolder(tmp_path).read()
    assert str(error.value).startswith(str(tmp_path))
    assert sentence in str(error.value)


def test_a_manifest_that_is_a_folder_raises(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir()
    with pytest.raises(BadInput, match="run.json: expected a regular file, got a folder"):
        RunFolder(tmp_path).read()


def test_a_folder_of_runs_is_not_a_run_and_its_runs_are_named(tmp_path: Path) -> None:
    for name in "gfedcba":
        (tmp_path / name).mkdir()
        (tmp_path / name / RUN).touch()
    with pytest.raises(BadInput) as error:
        RunFolder(tmp_path).read()
    assert error.value.hint == "Runs in this folder: a, b, c, d, e … and 2 more."


def test_an_unknown_key_is_ignored(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write(manifest())
    text = (tmp_path / RUN).read_text()
    (tmp_path / RUN).write_text(text.replace('"name": "p"', '"name": "p", "model": "m"', 1))
    assert folder.read() == manifest()


def test_paths_are_relative_to_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = create_run_folder("runs", "p", default="")
    assert folder.relative_path("data/eval.jsonl") == "../../data/eval.jsonl"
    assert folder.resolve_path("../../data/eval.jsonl") == "data/eval.jsonl"
    assert folder.resolve_path(str(tmp_path / "x")) == "x"
    Path("link").symlink_to("runs/p")
    assert RunFolder("link").resolve_path("../../data/eval.jsonl") == "data/eval.jsonl"
    monkeypatch.chdir("runs")
    assert RunFolder("p").resolve_path("../../data/eval.jsonl") == "../data/eval.jsonl"


def test_generated_names_have_no_unsafe_characters(tmp_path: Path) -> None:
    names = [
        create_run_folder(str(tmp_path), None, default=name).path.name for name in ("a b/c", "-.x.-", "…", "", "ä_1.2", "a b/c", "a b/c")
    ]
    assert names == ["a-b-c", "x", "run", "run-2", "ä_1.2", "a-b-c-2", "a-b-c-3"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0b", "/"])
def test_a_name_with_a_path_in_it_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="--name: expected the name of a single folder"):
        create_run_folder(str(tmp_path), name, default="x")
    assert not list(tmp_path.iterdir())


def test_a_given_name_is_refused_where_its_folder_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert create_run_folder(str(tmp_path), "empty", default="x").path == tmp_path / "empty"
    (tmp_path / "empty" / "file").touch()
    (tmp_path / "a-file").touch()
    for name in ("empty", "a-file"):
        with pytest.raises(BadInput, match=f"{tmp_path}/{name}: already exists") as error:
            create_run_folder(str(tmp_path), name, default="x")
        assert "Choose another --name" in error.value.hint


@pytest.mark.parametrize("parent, reason", [("file", "Not a directory"), ("x" * 300, "the name is too long"), ("/proc/nowhere", "")])
def test_a_folder_that_cannot_be_created_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parent: str, reason: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    for name in (None, "p"):
        with pytest.raises(StorageError, match=f"cannot be created: {reason}"):
            create_run_folder(parent, name, default="x")


def test_only_files_of_the_run_are_discarded(tmp_path: Path) -> None:
    folder = create_run_folder(str(tmp_path), "p", default="")
    folder.path.joinpath(CASES).touch()
    discard_run(folder)
    assert not folder.path.exists()
    discard_run(folder)
    other = create_run_folder(str(tmp_path), "q", default="")
    other.path.joinpath("mine").touch()
    discard_run(other)
    assert os.listdir(other.path) == ["mine"]


def test_a_run_is_a_folder_with_a_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("run", "-"):
        Path(folder).mkdir()
        Path(folder, "run.json").touch()
    Path("data").mkdir()
    Path("file").touch()
    assert [is_run(path) for path in ("run", "data", "file", "nowhere", "-")] == [True, False, False, False, False]


def test_leftovers_of_a_killed_process_are_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".grading-x1").mkdir()
    (tmp_path / ".grading-x1" / "grades.jsonl").write_text("{")
    for name in ("run.json.partial-17", "run.json", "predictions.jsonl", "notes.partial-1"):
        (tmp_path / name).write_text("{}")
    RunFolder(tmp_path).remove_leftovers()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["notes.partial-1", "predictions.jsonl", "run.json"]
