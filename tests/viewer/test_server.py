"""The viewer over a real socket: what it returns, what it rejects, and that no name leads out of its folder."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import uvicorn

from callmark.errors import BadInput
from callmark.grading.record import GradeRecord
from callmark.runs.run import Run
from callmark.runs.store import RunFolder
from callmark.runs.summary_file import store_summary
from callmark.types import Fault
from callmark.viewer import run_list
from callmark.viewer.opened_run import OpenedRun
from callmark.viewer.priority_gate import PriorityGate
from callmark.viewer.run_collection import RunCollection
from callmark.viewer.server import HOST, POLICY, application, listen, new_token
from tests.graded_runs import make_run, some
from tests.rows import call
from tests.summaries import summarize
from tests.viewer.grading_helpers import case, edit_manifest, grade_run, predicted, write_conversations

SECRET = "what nobody else should see"


class Viewer:
    """A running viewer, and requests to it."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token

    def request(
        self, path: str, headers: dict[str, str | None] | None = None, *, method: str = "GET", body: bytes = b""
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body. A header that is None is not sent."""
        sent: dict[str, str | None] = {"Host": f"{HOST}:{self.port}", "X-Callmark-Token": self.token, **(headers or {})}
        connection = HTTPConnection(HOST, self.port, timeout=10)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value.replace("PORT", str(self.port)))
        connection.endheaders(body or None)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, content

    def get(self, what: str, **query: Any) -> Any:
        """Return the data of an API path."""
        status, _, body = self.request(f"/api/{what}?{urlencode(query, doseq=True)}")
        assert status == 200, body
        return json.loads(body)

    def raw(self, text: bytes) -> bytes:
        """Return the status line of the response to raw bytes; b"" where the connection is closed."""
        with socket.create_connection((HOST, self.port), timeout=10) as line:
            line.sendall(text)
            return line.makefile("rb").readline()


@contextmanager
def viewing(folder: Path, *, read_only: bool = False) -> Iterator[Viewer]:
    listener, token = listen(0), new_token()
    port = listener.getsockname()[1]
    app: Any = application(RunCollection(str(folder), read_only=read_only), token=token, port=port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", server_header=False))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield Viewer(port, token)
    finally:
        server.should_exit = True
        thread.join()


def bonn(city: str = "Bonn") -> dict[str, Any]:
    return call("get_weather", {"city": city})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write two runs, and around them files that must not be reachable."""
    around = tmp_path_factory.mktemp("viewed")
    file = write_conversations(around / "conversations.jsonl")
    grade_run(around, file, [predicted("t0:1", bonn("Ulm")), predicted("t1:1", bonn("Bonn1"))])
    grade_run(around, file, [predicted("t0:1", bonn("Bonn0")), predicted("t1:1", bonn("Bonn1"))], "tuned")
    grade_run(around, [case("x", [bonn()])], [predicted("x", text=SECRET)], "outside")
    (around / "runs" / "outside").rename(around / "outside")
    (around / "secret.txt").write_text(SECRET)
    (around / "runs" / "link").symlink_to(around / "outside")
    (around / "runs" / "half").mkdir()
    for name in ("run.json", "grades.jsonl", "predictions.jsonl"):
        (around / "runs" / "half" / name).symlink_to(around / "outside" / name)
    (around / "runs" / "no run").mkdir()
    (around / "runs" / "broken").mkdir()
    (around / "runs" / "broken" / "run.json").write_text("{")
    return around / "runs"


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder) as up:
        yield up


def test_list_has_the_runs_only(viewer: Viewer) -> None:
    found = viewer.get("runs")
    assert [one["name"] for one in found["runs"]] == ["tuned", "base"]
    assert found["ready"] is True
    assert found["runs"][0]["headline"]["mean"] == 1.0
    assert found["runs"][1]["scored"] == 2


def test_run_rows_and_case_are_returned(viewer: Viewer) -> None:
    run = viewer.get("run", name="base")
    assert (run["ready"], run["status"], run["cases"], run["scored"]) == (True, "complete", 9, 2)
    rows = viewer.get("rows", name="base")
    assert (rows["start"], rows["next"], rows["total"], len(rows["id"])) == (0, None, 9, 9)
    found = viewer.get("case", name="base", id="t0:1", trial=0)
    assert found["faults"][0]["kind"] == "wrong_value"
    assert [message["role"] for message in found["messages"][: found["prompt_length"]]] == ["user"]
    assert len(found["messages"]) == 7  # including the messages after the decision point


def test_rows_are_returned_in_chunks(viewer: Viewer) -> None:
    ids: list[str] = []
    following: int | None = 0
    while following is not None:
        chunk = viewer.get("rows", name="tuned", start=following, limit=4)
        assert chunk["start"] == following
        ids += chunk["id"]
        following = chunk["next"]
    assert ids == viewer.get("rows", name="tuned")["id"]
    assert viewer.get("rows", name="tuned", start=100)["id"] == []


def test_runs_are_compared(viewer: Viewer) -> None:
    found = viewer.get("compare", name=["base", "tuned"])
    assert (found["runs"], found["fixed"], found["cases"]) == (["base", "tuned"], {"tuned": 1}, 2)
    assert viewer.get("compare", name=["base", "tuned"]) == found


PATHS = ["/", "/page/main.js", "/api/runs", "/api/run?name=base", "/nowhere"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.org"},
        {"Host": "example.org:PORT"},
        {"Host": f"{HOST}"},
        {"Host": f"{HOST}:1"},
        {"Host": "localhost"},
        {"Host": f"{HOST}:PORT.example.org"},
        {"Host": f"{HOST}.nip.io:PORT"},
        {"Host": f"example.org@{HOST}:PORT"},
        {"Host": f"{HOST}:PORT, example.org"},
        {"Host": "[::1]:PORT"},
        {"Host": "0.0.0.0:PORT"},
        {"Host": "0x7f000001:PORT"},
        {"Origin": "http://example.org"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": f"https://{HOST}:PORT"},
        {"Origin": f"http://{HOST}:1"},
        {"Origin": f"http://{HOST}"},
        {"Origin": f"http://{HOST}:PORT.example.org"},
    ],
)
def test_other_hosts_and_origins_are_refused(viewer: Viewer, path: str, headers: dict[str, str | None]) -> None:
    assert viewer.request(path, headers)[0] == 403


@pytest.mark.parametrize("path", [path for path in PATHS if path.startswith("/api")] + ["/api", "/api/", "/API/runs", "//api/runs"])
@pytest.mark.parametrize("token", [None, "", "x", "{0}x", "x{0}", "{0},{0}", "{1}", "*", "é"])
def test_without_the_token_no_data_is_returned(viewer: Viewer, path: str, token: str | None) -> None:
    given = token.format(viewer.token, viewer.token[:-1]) if token is not None else None
    status, _, body = viewer.request(path, {"X-Callmark-Token": given})
    assert (status, b"base" in body) == (403, False)
    assert viewer.request(f"{path}?token={viewer.token}", {"X-Callmark-Token": None})[0] == 403  # addresses may be visible to others


@pytest.mark.parametrize("headers", [{}, {"Host": "localhost:PORT"}, {"Host": "LOCALHOST:PORT"}, {"Origin": f"http://{HOST}:PORT"}])
def test_local_request_with_the_token_is_allowed(viewer: Viewer, headers: dict[str, str | None]) -> None:
    assert viewer.request("/api/runs", headers)[0] == 200


@pytest.mark.parametrize(
    "text",
    [
        b"GET /api/runs HTTP/1.1\r\n\r\n",
        b"GET /api/runs HTTP/1.0\r\n\r\n",
        b"GET http://example.org/api/runs HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nHost: example.org\r\nX-Callmark-Token: TOKEN\r\n\r\n",
        b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX-Callmark-Token: TOKEN\r\nX-Callmark-Token: x\r\n\r\n",
        b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT\r\nOrigin: null\r\n"
        b"X-Callmark-Token: TOKEN\r\n\r\n",
        b"GET ws://127.0.0.1:PORT/api/runs HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    ],
)
def test_malformed_requests_are_refused(viewer: Viewer, text: bytes) -> None:
    status_line = viewer.raw(text.replace(b"PORT", str(viewer.port).encode()).replace(b"TOKEN", viewer.token.encode()))
    assert status_line == b"" or status_line.split()[1] in (b"400", b"403"), status_line


TRICKS = [
    "..", ".", "", "/", "../outside", "../runs/base", "base/..", "./base", "base/", "/base", "base/../../outside", "..\\outside",
    "..%2foutside", "%2e%2e/outside", "..%252foutside", "..;/outside", "....//outside", "base\0", "base\0/../../outside", "link", "half",
    "link/../outside", "no run", "/etc", "/etc/passwd", "file:///etc/passwd", "~", "~root", "$HOME", "C:\\Windows", "\\\\host\\x",
    "base\n", " base", "BASE", "ｂase", "‮base", "..／outside", "．．/outside", "a" * 5000, "base" + "/." * 1000, "*", "ba?e", "[b]ase",
    "base#x", "nul", "base:$DATA", "-", "--help",
]  # fmt: skip


LEAD_NOWHERE = ("BASE", " base", "nul", "-", "--help", "ｂase")  # plain names that are not runs


@pytest.mark.parametrize("name", TRICKS, ids=lambda name: repr(name)[:40])
def test_no_name_leads_out_of_the_folder(viewer: Viewer, folder: Path, name: str) -> None:
    paths = [
        f"/api/run?name={quote(name, safe='')}",
        f"/api/rows?name={quote(name, safe='')}",
        f"/api/case?name={quote(name, safe='')}&id=x",
        f"/api/compare?name=base&name={quote(name, safe='')}",
        f"/page/{quote(name, safe='')}",
        f"/page/{quote(name, safe='/')}",
        f"/api/{quote(name, safe='/')}",
        f"/{quote(name, safe='/')}secret.txt",
        str(folder.parent / "outside" / "run.json"),
        f"/api/run?name={quote(str(folder.parent / 'outside'), safe='')}",
    ]
    for path in paths:
        status, _, body = viewer.request(path)
        nowhere = name in LEAD_NOWHERE and path.endswith((f"name={quote(name, safe='')}", "&id=x"))
        assert status == (404 if nowhere else 403), path
        assert SECRET.encode() not in body
        assert str(folder.parent).encode() not in body


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/page/../../secret.txt", "/page/..%2f..%2fsecret.txt", "/page/%2e%2e/server.py", "/page//"]
)
def test_no_path_leads_out_of_the_folder(viewer: Viewer, path: str) -> None:
    status, _, body = viewer.request(path)
    assert status == 403
    assert SECRET.encode() not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/run?name=base"])
def test_only_get_is_allowed(viewer: Viewer, method: str, path: str) -> None:
    assert viewer.request(path, method=method)[0] == 405


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/page/page.css", "/api/runs", "/api/run?name=nothing", "/page/nothing.js"])
def test_every_response_has_the_security_headers(viewer: Viewer, path: str) -> None:
    _, headers, _ = viewer.request(path)
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_responses_have_their_content_types(viewer: Viewer) -> None:
    kinds = {
        path: viewer.request(path)[1]["content-type"].partition(";")[0] for path in ("/", "/page/main.js", "/page/page.css", "/api/runs")
    }
    assert kinds == {"/": "text/html", "/page/main.js": "text/javascript", "/page/page.css": "text/css", "/api/runs": "application/json"}


@pytest.mark.parametrize(
    "query, status",
    [
        ("rows?name=base&start=-1", 400),
        ("rows?name=base&start=x", 400),
        ("rows?name=base&start=99999999999999999999", 400),
        ("rows?name=base&limit=0", 200),
        ("rows?name=base&limit=²", 400),
        ("rows", 400),
        ("run", 400),
        ("run?name=nothing", 404),
        ("case?name=base&id=nothing", 404),
        ("case?name=base&id=t0:1&trial=7", 404),
        ("compare", 400),
        ("compare?name=base", 400),
        ("compare?name=base&name=base", 400),
        ("compare?name=base&name=nothing", 404),
    ],
)
def test_invalid_request_returns_an_error_sentence(viewer: Viewer, query: str, status: int) -> None:
    found, _, body = viewer.request(f"/api/{quote(query, safe='?&=:')}")
    assert found == status
    if status != 200:
        assert set(json.loads(body)) == {"error", "hint"}


def test_folder_that_is_a_run_shows_that_run(folder: Path) -> None:
    assert list(RunCollection(str(folder / "base")).runs()) == ["base"]
    with pytest.raises(BadInput, match="no such folder"):
        RunCollection(str(folder / "nothing"))


def test_regraded_run_is_read_again(tmp_path: Path) -> None:
    make_run(tmp_path / "a", some(1, of=4))
    with viewing(tmp_path) as viewer:
        assert viewer.get("rows", name="a")["total"] == 4
        assert viewer.get("runs")["runs"][0]["headline"]["mean"] == 0.25
        os.rename(tmp_path / "a", tmp_path / "b")
        make_run(tmp_path / "a", some(5, of=5))
        assert viewer.get("rows", name="a")["total"] == 5
        assert {one["name"]: one["headline"]["mean"] for one in viewer.get("runs")["runs"]} == {"a": 1.0, "b": 0.25}


def test_unreadable_grades_return_an_error(tmp_path: Path) -> None:
    (make_run(tmp_path / "a", some(1, of=4)) / "grades.jsonl").write_text("{broken\n")
    with viewing(tmp_path) as viewer:
        status, _, body = viewer.request("/api/run?name=a")
        assert (status, "line 1: not a valid grade" in json.loads(body)["error"]) == (400, True)
        assert viewer.request("/api/rows?name=a")[0] == 400
        assert viewer.request("/api/case?name=a&id=c0")[0] == 400
        assert viewer.get("runs")["runs"][0]["headline"] is None


def test_invalid_grades_do_not_block_requests(tmp_path: Path) -> None:
    odd = GradeRecord("a", expected=("f",), metrics={"call.score": 0.0, "call.pass": 0.0}, faults=(Fault("no_call", expected_index=-9),))
    make_run(tmp_path / "a", [odd])
    with viewing(tmp_path) as viewer:
        status, _, body = viewer.request("/api/run?name=a")
        assert (status, "line 1: a fault or pair refers to a call that does not exist" in json.loads(body)["error"]) == (400, True)


def make_run_with_summary(folder: Path, grades: list[GradeRecord], *, of: list[GradeRecord] | None = None) -> Path:
    """Write a run with a stored summary: of its own grades, or of others."""
    run = Run(make_run(folder, grades))
    store_summary(run.folder, run.info, summarize(grades if of is None else of))
    return folder


def test_stored_summary_is_returned_before_anything_is_counted(tmp_path: Path) -> None:
    path = make_run_with_summary(tmp_path / "large", some(4500, of=6000))
    priority = PriorityGate()
    with priority:
        run = OpenedRun("large", str(path), priority)
        found = run.run_data()
        assert (found["ready"], found["scored"], found["metrics"][0]["mean"], found["interpretations"]) == (False, 6000, 0.75, [])
        assert found["metrics"][0]["low"] < 0.75
        assert run.rows_data(0, 100)["total"] == 6000
        assert run.run_data()["ready"] is False  # urgent work goes first
    found = ready(run)
    assert (found["metrics"][0]["mean"], bool(found["interpretations"])) == (0.75, True)


def test_grades_replace_a_wrong_stored_summary(tmp_path: Path) -> None:
    run = OpenedRun("large", str(make_run_with_summary(tmp_path / "large", some(4500, of=6000), of=some(6000, of=6000))))
    assert ready(run)["metrics"][0]["mean"] == 0.75


def ready(run: OpenedRun) -> dict[str, Any]:
    for _ in range(100):
        found = run.run_data()
        if found["ready"]:
            return found
        time.sleep(0.05)
    raise AssertionError("the run is never ready")


def test_list_shows_stored_summaries_first_and_counts_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_list, "_SMALL_GRADES", 0)
    make_run_with_summary(tmp_path / "a", some(2, of=8))
    make_run(tmp_path / "b", some(4, of=8))
    runs = RunCollection(str(tmp_path))
    found = {one["name"]: one["headline"] for one in runs.list_data()["runs"]}
    assert (found["a"]["mean"], found["b"]) == (0.25, None)
    for _ in range(100):
        listed = runs.list_data()
        if listed["ready"]:
            break
        time.sleep(0.02)
    assert {one["name"]: one["headline"]["mean"] for one in listed["runs"]} == {"a": 0.25, "b": 0.5}


def test_rows_are_available_before_all_numbers(tmp_path: Path) -> None:
    make_run(tmp_path / "large", some(9000, of=12_000))
    with viewing(tmp_path) as viewer:
        rows = viewer.get("rows", name="large", limit=1000)
        assert (len(rows["id"]), rows["next"], rows["total"]) == (1000, 1000, 12_000)
        for _ in range(100):
            run = viewer.get("run", name="large")
            if run["ready"]:
                break
        assert run["metrics"][0]["mean"] == 0.75
        assert run["metrics"][0]["low"] < 0.75 < run["metrics"][0]["high"]


def test_waiting_for_rows_of_a_closed_run_raises(tmp_path: Path) -> None:
    run = OpenedRun("large", str(make_run(tmp_path / "large", some(1, of=30_000))))
    run.close()
    with pytest.raises(BadInput, match="has changed"):
        run.rows_data(0, 50_000)


def append(run: Run, *rows: dict[str, Any], end: str = "\n") -> None:
    with Path(run.folder.file("predictions.jsonl")).open("a") as file:
        file.write("".join(json.dumps(row) + end for row in rows))


@pytest.fixture
def running(tmp_path: Path) -> Run:
    """Write a run with two of six predictions, one of them an error."""
    cases = [case(f"c{n}", [bonn(f"Bonn{n}")]) for n in range(3)]
    run = grade_run(tmp_path, cases, [predicted("c0", bonn("Bonn0"))])
    model_run = {"label": "some model", "model": {"model": "x"}, "trials": 2, "requests": 6}
    edit_manifest(run, status="running", model_run=model_run, metrics={}, cases=0)
    Path(run.folder.file("grades.jsonl")).unlink()
    append(run, {"case": "c1", "error": "HTTP 503"})
    return run


def test_run_in_progress_is_followed(tmp_path: Path, running: Run) -> None:
    with viewing(tmp_path / "runs") as viewer:
        run = viewer.get("run", name="base")
        assert (run["status"], run["predictions"], run["requests"], run["errors"], run["model"]) == ("running", 2, 6, 1, "some model")
        assert viewer.get("rows", name="base")["id"] == ["c0", "c1"]
        assert viewer.get("runs")["runs"][0]["predictions"] == 2
        append(running, predicted("c2", bonn("Ulm")))
        append(running, predicted("c0", bonn("Bonn0"), trial=1), end="")  # still being written
        chunk = viewer.get("rows", name="base", start=2)
        assert (chunk["id"], chunk["score"], chunk["total"], chunk["next"]) == (["c2"], [0.5], 3, None)
        assert viewer.get("run", name="base")["metrics"][0]["mean"] == 0.75
        found = viewer.get("case", name="base", id="c2")
        assert (found["faults"][0]["kind"], found["messages"][0]["text"]) == ("wrong_value", "How is Bonn?")
        with Path(running.folder.file("predictions.jsonl")).open("a") as file:
            file.write("\nnot json\n")
        assert viewer.get("rows", name="base", start=3)["id"] == ["c0"]
        assert viewer.request("/api/compare?name=base&name=base")[0] == 400


def test_viewer_neither_locks_nor_writes(tmp_path: Path, running: Run) -> None:
    from callmark.runs.journal import Journal

    with Journal(running.folder.file("predictions.jsonl")), viewing(tmp_path / "runs") as viewer:
        before = {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}
        for path in ("runs", "run?name=base", "rows?name=base", "case?name=base&id=c0"):
            assert viewer.request(f"/api/{path}")[0] == 200
        assert {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))} == before
    with viewing(tmp_path / "runs") as viewer:
        viewer.get("run", name="base")
        Journal(running.folder.file("predictions.jsonl")).close()  # the lock is free


def test_result_of_a_resumed_run_supersedes_its_error(tmp_path: Path, running: Run) -> None:
    append(running, predicted("c1", bonn("Bonn1")))
    with viewing(tmp_path / "runs") as viewer:
        rows = viewer.get("rows", name="base")
        assert (rows["id"], rows["error"]) == (["c0", "c1"], ["", ""])


def test_grades_replace_a_run_in_progress(tmp_path: Path, running: Run) -> None:
    from callmark.runs.grade import regrade

    with viewing(tmp_path / "runs") as viewer:
        assert viewer.get("run", name="base")["status"] == "running"
        edit_manifest(running, status="complete")
        assert viewer.get("run", name="base")["status"] == "running"  # it is being graded
        regrade(RunFolder(running.folder.path), running.info.grading)
        run = viewer.get("run", name="base")
        assert (run["status"], run["ready"]) == ("complete", True)
        assert viewer.get("rows", name="base")["id"] == ["c0", "c1", "c2"]


def test_missing_cases_are_a_problem_of_the_run(tmp_path: Path, running: Run) -> None:
    (tmp_path / "base-cases.jsonl").unlink()
    with viewing(tmp_path / "runs") as viewer:
        run = viewer.get("run", name="base")
        assert "is missing" in run["problem"]
        assert viewer.get("rows", name="base")["id"] == []


def test_dataset_with_another_digest_is_not_shown(tmp_path: Path) -> None:
    run = grade_run(tmp_path, [case("a", [bonn()])], [predicted("a", bonn())])
    other = tmp_path / "private.jsonl"
    other.write_text(json.dumps(case("a", [bonn()], messages=[{"role": "user", "content": SECRET}])) + "\n")
    info = json.loads(Path(run.folder.file("run.json")).read_text())
    edit_manifest(run, dataset={**info["dataset"], "path": str(other)})
    with viewing(tmp_path / "runs") as viewer:
        assert "has changed" in viewer.get("run", name="base")["problem"]
        _, _, body = viewer.request("/api/case?name=base&id=a")
        assert SECRET.encode() not in body
        assert "has changed" in json.loads(body)["problem"]
        assert json.loads(body)["messages"] is None
