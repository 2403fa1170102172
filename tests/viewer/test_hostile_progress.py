"""The viewer during a hostile run: files that are cut, replaced and filled with anything while it reads them. Every response is JSON."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from callmark.runs.run import Run
from tests.hostile_files import TEXT, name
from tests.rows import call
from tests.viewer.grading_helpers import case, edit_manifest, grade_run, predicted
from tests.viewer.test_server import SECRET, Viewer, viewing

Change = Callable[[Path], object]


@pytest.fixture
def running(tmp_path: Path) -> Run:
    """Write a run in progress whose cases and predictions are hostile."""
    cases = [case(f"{name('id')}{n}", [call(name("f"), {name("a"): TEXT})]) for n in range(5)]
    run = grade_run(tmp_path, cases, [predicted(cases[0]["id"], call(name("f"), {name("a"): "x"}), text=TEXT)])
    model_run = {"label": name("label"), "model": {"model": TEXT}, "trials": 2, "requests": 10, "stop_reason": TEXT}
    edit_manifest(run, status="running", model_run=model_run, metrics={}, cases=0)
    Path(run.folder.file("grades.jsonl")).unlink()
    return run


def append(*lines: bytes) -> Change:
    def change(folder: Path) -> None:
        with (folder / "predictions.jsonl").open("ab") as file:
            file.write(b"\n".join(lines) + b"\n")

    return change


def prediction(**fields: object) -> bytes:
    return json.dumps({"case": f"{name('id')}1", **fields}).encode()


def write(file: str, content: bytes) -> Change:
    return lambda folder: (folder / file).write_bytes(content)


def replace_by_folder(folder: Path) -> None:
    (folder / "predictions.jsonl").unlink()
    (folder / "predictions.jsonl").mkdir()


def replace_by_pipe(folder: Path) -> None:
    (folder / "predictions.jsonl").unlink()
    os.mkfifo(folder / "predictions.jsonl")


def replace_by_link(folder: Path) -> None:
    (folder.parent.parent / "secret.jsonl").write_bytes(prediction(text=SECRET) + b"\n")
    (folder / "predictions.jsonl").unlink()
    (folder / "predictions.jsonl").symlink_to(folder.parent.parent / "secret.jsonl")


CHANGES: dict[str, Change] = {
    "an error": append(prediction(error=TEXT)),
    "no JSON": append(b"\xff\xfe\x00", b"{", b"]", b"null", b"5", b'"text"'),
    "deep JSON": append(b"[" * 100_000, prediction(calls=[{"name": TEXT, "arguments": {"a": json.loads("[" * 150 + "]" * 150)}}])),
    "other types": append(prediction(calls=5), prediction(trial="x"), prediction(text=[]), prediction(trial=-1), prediction(trial=2**70)),
    "many trials": append(*(prediction(trial=number) for number in range(300))),
    "a long text": append(prediction(text=TEXT * 3000, trial=7)),
    "another case": append(json.dumps({"case": TEXT, "error": TEXT}).encode()),
    "a transcript": append(
        prediction(transcript=[{"role": name("role"), "text": TEXT}], ending=TEXT, states={"reached": {TEXT: {}}}, trial=8)
    ),
    "huge numbers": append(prediction(usage={"seconds": 1e308, "input_tokens": 2**63, "cost": -1e308}, trial=9)),
    "an incomplete line": lambda folder: (folder / "predictions.jsonl").open("ab").write(b'{"case": "'),
    "fewer predictions": write("predictions.jsonl", b""),
    "a line without end": lambda folder: (folder / "predictions.jsonl").open("ab").write(b"x" * 3_000_000),
    "a folder in the place of predictions": replace_by_folder,
    "a pipe in the place of predictions": replace_by_pipe,
    "a link in the place of predictions": replace_by_link,
    "broken run.json": write("run.json", b"{"),
    "run.json of another kind": write("run.json", b"[]"),
    "no run.json": lambda folder: (folder / "run.json").unlink(),
    "broken grades": write("grades.jsonl", b'{"case": 5}\n\xff\n'),
    "broken summary": write("summary.json", b'{"summary": 5}'),
}


def requests(viewer: Viewer) -> None:
    """Send every request that the page sends. Each has to be answered, with JSON."""
    ids = [f"{name('id')}{number}" for number in range(2)]
    queries: list[tuple[str, dict[str, Any]]] = [
        ("runs", {}),
        ("run", {"name": "base"}),
        ("rows", {"name": "base"}),
        ("compare", {"name": ["base", "base"]}),
    ]
    for what, query in [*queries, *(("case", {"name": "base", "id": one, "trial": trial}) for one in ids for trial in (0, 7, 8))]:
        status, headers, body = viewer.request(f"/api/{what}?{urlencode(query, doseq=True)}")
        assert status in (200, 400, 403, 404), (what, status, body[:300])
        assert headers["content-type"] == "application/json"
        json.loads(body)
        assert SECRET.encode() not in body


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("change", CHANGES)
def test_viewer_answers_while_a_run_changes_under_it(tmp_path: Path, running: Run, change: str) -> None:
    with viewing(tmp_path / "runs") as viewer:
        requests(viewer)
        CHANGES[change](running.folder.path)
        requests(viewer)
        assert viewer.request("/")[0] == 200
    with viewing(tmp_path / "runs") as viewer:  # from the start
        requests(viewer)
