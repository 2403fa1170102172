"""Writing through the viewer: only with the token, from its own page, as JSON, of a limited size, and not if it is read-only."""

import json
from pathlib import Path
from typing import Any

import pytest

from callmark.runs.labels import LABELS, Label, read_labels
from callmark.runs.patch import PATCH
from callmark.viewer.run_collection import NotFound, RunCollection
from callmark.viewer.triage import MAX_REQUEST, LabelRequest
from tests.graded_runs import make_run, some
from tests.viewer.test_server import Viewer, viewing

LABEL = {"run": "run", "case": "c1", "label": "model", "note": "why"}
OWN: dict[str, str | None] = {"Origin": "http://127.0.0.1:PORT", "Content-Type": "application/json"}


def post(viewer: Viewer, path: str, body: Any, headers: dict[str, str | None]) -> tuple[int, str]:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Length": str(len(text)), **headers}
    status, _, answer = viewer.request(f"/api/{path}", sent, method="POST", body=text)
    return status, answer.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_run(tmp_path / "run", some(2, of=4))
    return tmp_path


def test_label_is_written_with_token_and_origin(folder: Path) -> None:
    with viewing(folder) as viewer:
        status, answer = post(viewer, "label", LABEL, OWN)
        assert status == 200
        assert json.loads(answer)["labels"]["c1"][0]["label"] == "model"
        assert viewer.get("labels", name="run")["labels"] == json.loads(answer)["labels"]
    (event,) = read_labels(str(folder / LABELS)).events
    assert (event.dataset, event.case, event.label, event.note) == ("one", "c1", "model", "why")


REFUSED: list[tuple[dict[str, str | None], int, str]] = [
    ({"X-Callmark-Token": None}, 403, "The token is missing or wrong"),
    ({"X-Callmark-Token": "guess"}, 403, "The token is missing or wrong"),
    ({"Origin": None}, 403, "Only the viewer's own page can write"),
    ({"Origin": "null"}, 403, "does not serve other sites"),
    ({"Origin": "https://evil.example"}, 403, "does not serve other sites"),
    ({"Origin": "http://127.0.0.1:1"}, 403, "does not serve other sites"),
    ({"Host": "evil.example"}, 403, "serves only this machine"),
    ({"Content-Type": "text/plain"}, 415, "expected a JSON request"),
    ({"Content-Type": None}, 415, "expected a JSON request"),
]


@pytest.mark.parametrize("headers, status, sentence", REFUSED)
def test_writing_is_refused_from_elsewhere(folder: Path, headers: dict[str, str | None], status: int, sentence: str) -> None:
    with viewing(folder) as viewer:
        for path in ("label", "correct"):
            found, answer = post(viewer, path, LABEL, {**OWN, **headers})
            assert (found, sentence in answer) == (status, True)
    assert not (folder / LABELS).exists()
    assert not (folder / PATCH).exists()


@pytest.mark.parametrize(
    "body, status, sentence",
    [
        (b"{", 400, "the request is not valid"),
        (b"[" * 100_000, 400, "the request is not valid"),
        ({"run": "run"}, 400, "missing required field"),
        ({**LABEL, "author": "somebody else"}, 400, "unknown field"),
        ({**LABEL, "label": "<b>"}, 400, "label: expected up to 40 letters"),
        ({**LABEL, "note": "x" * 5000}, 400, "note: expected at most 4,000"),
        ({**LABEL, "case": "gone"}, 404, "No such case in this run"),
        ({**LABEL, "run": "../run"}, 403, "No such run"),
        (b" " * (MAX_REQUEST + 1), 413, "expected at most 1,048,576 bytes"),
    ],
)
def test_invalid_label_is_refused_with_a_sentence(folder: Path, body: Any, status: int, sentence: str) -> None:
    with viewing(folder) as viewer:
        found, answer = post(viewer, "label", body, OWN)
    assert (found, sentence in answer) == (status, True), answer
    assert not (folder / LABELS).exists()


def test_get_writes_nothing_and_post_reads_nothing(folder: Path) -> None:
    with viewing(folder) as viewer:
        assert viewer.request("/api/label")[0] == 403  # without the Origin that only POST has
        assert post(viewer, "runs", {}, OWN)[0] == 405
    assert not (folder / LABELS).exists()


def test_read_only_viewer_refuses_writing(folder: Path) -> None:
    with viewing(folder, read_only=True) as viewer:
        status, answer = post(viewer, "label", LABEL, OWN)
        assert (status, "--read-only" in answer) == (403, True)
        assert viewer.get("labels", name="run")["writable"] is False
    assert not (folder / LABELS).exists()


def test_case_whose_dataset_is_missing_cannot_be_corrected(folder: Path) -> None:
    with viewing(folder) as viewer:
        status, answer = post(viewer, "correct", {"run": "run", "case": "c1", "calls": "[]"}, OWN)
    assert (status, "This case cannot be corrected" in answer) == (404, True)


def test_labels_beside_a_single_run_are_those_of_its_folder(folder: Path) -> None:
    collection = RunCollection(str(folder / "run"), author="ann")
    collection.add_label(LabelRequest("run", "c1", label="unclear"))
    assert read_labels(str(folder / LABELS)).events == [
        Label("one", "c1", "unclear", author="ann", time=read_labels(str(folder / LABELS)).events[0].time)
    ]
    assert list(RunCollection(str(folder)).labels_data("run")["labels"]) == ["c1"]
    with pytest.raises(NotFound):
        collection.add_label(LabelRequest("run", "c9", label="unclear"))
