"""The viewer, asked over a real socket: what it tells, whom it refuses, and that no name leads out of its folder."""

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
from callmark.runs.run import Run, store_summary
from callmark.runs.store import RunFolder
from callmark.types import Fault
from callmark.viewer import run_collection
from callmark.viewer.opened_run import OpenedRun
from callmark.viewer.priority_gate import PriorityGate
from callmark.viewer.run_collection import RunCollection
from callmark.viewer.server import HOST, POLICY, application, listen, new_token
from tests.graded_runs import make_run, some
from tests.rows import call
from tests.summaries import summarize
from tests.viewer.grading_helpers import answer, case, changed, graded, talks

SECRET = "what nobody else should see"


class Viewer:
    """A viewer that is up, and how to ask it."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token

    def ask(self, path: str, headers: dict[str, str | None] | None = None, *, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body. A header that is None is not sent."""
        sent: dict[str, str | None] = {"Host": f"{HOST}:{self.port}", "X-Callmark-Token": self.token, **(headers or {})}
        connection = HTTPConnection(HOST, self.port, timeout=10)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value.replace("PORT", str(self.port)))
        connection.endheaders()
        answered = connection.getresponse()
        body = answered.read()
        connection.close()
        return answered.status, {name.lower(): value for name, value in answered.getheaders()}, body

    def get(self, what: str, **query: Any) -> Any:
        """What the API says."""
        status, _, body = self.ask(f"/api/{what}?{urlencode(query, doseq=True)}")
        assert status == 200, body
        return json.loads(body)

    def raw(self, text: bytes) -> bytes:
        """The status line that a request which no library would send is answered by; b"" where the line is cut."""
        with socket.create_connection((HOST, self.port), timeout=10) as line:
            line.sendall(text)
            return line.makefile("rb").readline()


@contextmanager
def viewing(folder: Path) -> Iterator[Viewer]:
    listener, token = listen(0), new_token()
    port = listener.getsockname()[1]
    app: Any = application(RunCollection(str(folder)), token=token, port=port)
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
    """Two runs, and around them what must not be reached."""
    around = tmp_path_factory.mktemp("viewed")
    file = talks(around / "talks.jsonl")
    graded(around, file, [answer("t0:1", bonn("Ulm")), answer("t1:1", bonn("Bonn1"))])
    graded(around, file, [answer("t0:1", bonn("Bonn0")), answer("t1:1", bonn("Bonn1"))], "tuned")
    graded(around, [case("x", [bonn()])], [answer("x", text=SECRET)], "outside")
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


def test_runs_are_listed_and_what_is_none_is_not(viewer: Viewer) -> None:
    found = viewer.get("runs")
    assert [one["name"] for one in found["runs"]] == ["tuned", "base"]
    assert found["ready"] is True
    assert found["runs"][0]["headline"]["mean"] == 1.0
    assert found["runs"][1]["scored"] == 2


def test_a_run_its_rows_and_its_cases_are_told(viewer: Viewer) -> None:
    run = viewer.get("run", name="base")
    assert (run["ready"], run["status"], run["cases"], run["scored"]) == (True, "complete", 9, 2)
    rows = viewer.get("rows", name="base")
    assert (rows["from"], rows["next"], rows["total"], len(rows["id"])) == (0, None, 9, 9)
    found = viewer.get("case", name="base", id="t0:1", trial=0)
    assert found["faults"][0]["kind"] == "wrong_value"
    assert [message["role"] for message in found["messages"][: found["upto"]]] == ["user"]
    assert len(found["messages"]) == 7  # how it went on is there too


def test_rows_come_in_chunks(viewer: Viewer) -> None:
    ids: list[str] = []
    following: int | None = 0
    while following is not None:
        chunk = viewer.get("rows", **{"name": "tuned", "from": following, "most": 4})
        assert chunk["from"] == following
        ids += chunk["id"]
        following = chunk["next"]
    assert ids == viewer.get("rows", name="tuned")["id"]
    assert viewer.get("rows", **{"name": "tuned", "from": 100})["id"] == []


def test_runs_are_compared(viewer: Viewer) -> None:
    found = viewer.get("compare", name=["base", "tuned"])
    assert (found["runs"], found["fixed"], found["cases"]) == (["base", "tuned"], {"tuned": 1}, 2)
    assert viewer.get("compare", name=["base", "tuned"]) == found


ASKED = ["/", "/page/main.js", "/api/runs", "/api/run?name=base", "/nowhere"]


@pytest.mark.parametrize("path", ASKED)
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
def test_another_host_or_origin_is_refused_whatever_it_asks(viewer: Viewer, path: str, headers: dict[str, str | None]) -> None:
    assert viewer.ask(path, headers)[0] == 403


@pytest.mark.parametrize("path", [path for path in ASKED if path.startswith("/api")] + ["/api", "/api/", "/API/runs", "//api/runs"])
@pytest.mark.parametrize("token", [None, "", "x", "{0}x", "x{0}", "{0},{0}", "{1}", "*", "é"])
def test_without_its_token_no_data_is_given(viewer: Viewer, path: str, token: str | None) -> None:
    given = token.format(viewer.token, viewer.token[:-1]) if token is not None else None
    status, _, body = viewer.ask(path, {"X-Callmark-Token": given})
    assert (status, b"base" in body) == (403, False)
    assert viewer.ask(f"{path}?token={viewer.token}", {"X-Callmark-Token": None})[0] == 403  # an address may be seen by others


@pytest.mark.parametrize("headers", [{}, {"Host": "localhost:PORT"}, {"Host": "LOCALHOST:PORT"}, {"Origin": f"http://{HOST}:PORT"}])
def test_whoever_is_on_this_machine_and_has_the_token_is_answered(viewer: Viewer, headers: dict[str, str | None]) -> None:
    assert viewer.ask("/api/runs", headers)[0] == 200


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
def test_requests_that_no_browser_sends_get_nothing(viewer: Viewer, text: bytes) -> None:
    said = viewer.raw(text.replace(b"PORT", str(viewer.port).encode()).replace(b"TOKEN", viewer.token.encode()))
    assert said == b"" or said.split()[1] in (b"400", b"403"), said


TRICKS = [
    "..", ".", "", "/", "../outside", "../runs/base", "base/..", "./base", "base/", "/base", "base/../../outside", "..\\outside",
    "..%2foutside", "%2e%2e/outside", "..%252foutside", "..;/outside", "....//outside", "base\0", "base\0/../../outside", "link", "half",
    "link/../outside", "no run", "/etc", "/etc/passwd", "file:///etc/passwd", "~", "~root", "$HOME", "C:\\Windows", "\\\\host\\x",
    "base\n", " base", "BASE", "ｂase", "‮base", "..／outside", "．．/outside", "a" * 5000, "base" + "/." * 1000, "*", "ba?e", "[b]ase",
    "base#x", "nul", "base:$DATA", "-", "--help",
]  # fmt: skip


LEAD_NOWHERE = ("BASE", " base", "nul", "-", "--help", "ｂase")  # plain names of no run


@pytest.mark.parametrize("name", TRICKS, ids=lambda name: repr(name)[:40])
def test_no_name_leads_out_of_the_folder(viewer: Viewer, folder: Path, name: str) -> None:
    asked = [
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
    for path in asked:
        status, _, body = viewer.ask(path)
        nowhere = name in LEAD_NOWHERE and path.endswith((f"name={quote(name, safe='')}", "&id=x"))
        assert status == (404 if nowhere else 403), path
        assert SECRET.encode() not in body
        assert str(folder.parent).encode() not in body


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/page/../../secret.txt", "/page/..%2f..%2fsecret.txt", "/page/%2e%2e/server.py", "/page//"]
)
def test_no_path_does_either(viewer: Viewer, path: str) -> None:
    status, _, body = viewer.ask(path)
    assert status == 403
    assert SECRET.encode() not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/run?name=base"])
def test_nothing_can_be_changed(viewer: Viewer, method: str, path: str) -> None:
    assert viewer.ask(path, method=method)[0] == 405


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/page/page.css", "/api/runs", "/api/run?name=nothing", "/page/nothing.js"])
def test_every_answer_says_what_a_browser_may_do_with_it(viewer: Viewer, path: str) -> None:
    _, headers, _ = viewer.ask(path)
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_the_page_and_its_parts_have_their_kinds(viewer: Viewer) -> None:
    kinds = {path: viewer.ask(path)[1]["content-type"].partition(";")[0] for path in ("/", "/page/main.js", "/page/page.css", "/api/runs")}
    assert kinds == {"/": "text/html", "/page/main.js": "text/javascript", "/page/page.css": "text/css", "/api/runs": "application/json"}


@pytest.mark.parametrize(
    "query, status",
    [
        ("rows?name=base&from=-1", 400),
        ("rows?name=base&from=x", 400),
        ("rows?name=base&from=99999999999999999999", 400),
        ("rows?name=base&most=0", 200),
        ("rows?name=base&most=²", 400),
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
def test_what_makes_no_sense_is_told_in_a_sentence(viewer: Viewer, query: str, status: int) -> None:
    found, _, body = viewer.ask(f"/api/{quote(query, safe='?&=:')}")
    assert found == status
    if status != 200:
        assert set(json.loads(body)) == {"error", "hint"}


def test_a_folder_that_is_a_run_shows_that_one(folder: Path) -> None:
    assert list(RunCollection(str(folder / "base")).runs()) == ["base"]
    with pytest.raises(BadInput, match="there is no folder"):
        RunCollection(str(folder / "nothing"))


def test_a_run_that_is_graded_again_is_read_again(tmp_path: Path) -> None:
    make_run(tmp_path / "a", some(1, of=4))
    with viewing(tmp_path) as viewer:
        assert viewer.get("rows", name="a")["total"] == 4
        assert viewer.get("runs")["runs"][0]["headline"]["mean"] == 0.25
        os.rename(tmp_path / "a", tmp_path / "b")
        make_run(tmp_path / "a", some(5, of=5))
        assert viewer.get("rows", name="a")["total"] == 5
        assert {one["name"]: one["headline"]["mean"] for one in viewer.get("runs")["runs"]} == {"a": 1.0, "b": 0.25}


def test_grades_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (make_run(tmp_path / "a", some(1, of=4)) / "grades.jsonl").write_text("{broken\n")
    with viewing(tmp_path) as viewer:
        status, _, body = viewer.ask("/api/run?name=a")
        assert (status, "line 1 cannot be read" in json.loads(body)["error"]) == (400, True)
        assert viewer.ask("/api/rows?name=a")[0] == 400
        assert viewer.ask("/api/case?name=a&id=c0")[0] == 400
        assert viewer.get("runs")["runs"][0]["headline"] is None


def test_grades_that_make_no_sense_keep_nobody_waiting(tmp_path: Path) -> None:
    odd = GradeRecord("a", expected=("f",), metrics={"call.score": 0.0, "call.pass": 0.0}, faults=(Fault("no_call", expected_index=-9),))
    make_run(tmp_path / "a", [odd])
    with viewing(tmp_path) as viewer:
        status, _, body = viewer.ask("/api/run?name=a")
        assert (status, "line 1 has a fault" in json.loads(body)["error"]) == (400, True)


def kept(folder: Path, grades: list[GradeRecord], *, of: list[GradeRecord] | None = None) -> Path:
    """A run whose numbers were kept: its own, or those of other grades."""
    run = Run(make_run(folder, grades))
    store_summary(run.folder, run.info, summarize(grades if of is None else of))
    return folder


def test_numbers_that_were_kept_are_told_before_anything_is_counted(tmp_path: Path) -> None:
    path = kept(tmp_path / "large", some(4500, of=6000))
    precedence = PriorityGate()
    with precedence:
        run = OpenedRun("large", str(path), precedence)
        found = run.run_data()
        assert (found["ready"], found["scored"], found["metrics"][0]["mean"], found["readings"]) == (False, 6000, 0.75, [])
        assert found["metrics"][0]["low"] < 0.75
        assert run.rows_data(0, 100)["total"] == 6000
        assert run.run_data()["ready"] is False  # something else goes first
    found = ready(run)
    assert (found["metrics"][0]["mean"], bool(found["readings"])) == (0.75, True)


def test_in_the_end_the_grades_count_whatever_was_kept(tmp_path: Path) -> None:
    run = OpenedRun("large", str(kept(tmp_path / "large", some(4500, of=6000), of=some(6000, of=6000))))
    assert ready(run)["metrics"][0]["mean"] == 0.75


def ready(run: OpenedRun) -> dict[str, Any]:
    for _ in range(100):
        found = run.run_data()
        if found["ready"]:
            return found
        time.sleep(0.05)
    raise AssertionError("it is never ready")


def test_a_long_list_is_told_what_was_kept_and_waits_for_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_collection, "_SMALL", 0)
    kept(tmp_path / "a", some(2, of=8))
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


def test_many_rows_are_there_before_all_numbers_are(tmp_path: Path) -> None:
    make_run(tmp_path / "large", some(9000, of=12_000))
    with viewing(tmp_path) as viewer:
        rows = viewer.get("rows", name="large", most=1000)
        assert (len(rows["id"]), rows["next"], rows["total"]) == (1000, 1000, 12_000)
        for _ in range(100):
            run = viewer.get("run", name="large")
            if run["ready"]:
                break
        assert run["metrics"][0]["mean"] == 0.75
        assert run["metrics"][0]["low"] < 0.75 < run["metrics"][0]["high"]


def test_whoever_waits_for_rows_of_a_run_that_goes_is_told(tmp_path: Path) -> None:
    run = OpenedRun("large", str(make_run(tmp_path / "large", some(1, of=30_000))))
    run.close()
    with pytest.raises(BadInput, match="has changed"):
        run.rows_data(0, 50_000)


def append(run: Run, *rows: dict[str, Any], end: str = "\n") -> None:
    with Path(run.folder.file("predictions.jsonl")).open("a") as file:
        file.write("".join(json.dumps(row) + end for row in rows))


@pytest.fixture
def running(tmp_path: Path) -> Run:
    """A run of which two of six answers are there, one of them an error."""
    cases = [case(f"c{n}", [bonn(f"Bonn{n}")]) for n in range(3)]
    run = graded(tmp_path, cases, [answer("c0", bonn("Bonn0"))])
    asked = {"label": "some model", "model": {"model": "x"}, "trials": 2, "questions": 6}
    changed(run, status="running", asked=asked, metrics=[], cases=0)
    Path(run.folder.file("grades.jsonl")).unlink()
    append(run, {"case": "c1", "error": "HTTP 503"})
    return run


def test_a_run_in_progress_is_followed(tmp_path: Path, running: Run) -> None:
    with viewing(tmp_path / "runs") as viewer:
        run = viewer.get("run", name="base")
        assert (run["status"], run["answers"], run["questions"], run["errors"], run["model"]) == ("running", 2, 6, 1, "some model")
        assert viewer.get("rows", name="base")["id"] == ["c0", "c1"]
        assert viewer.get("runs")["runs"][0]["answers"] == 2
        append(running, answer("c2", bonn("Ulm")))
        append(running, answer("c0", bonn("Bonn0"), trial=1), end="")  # still being written
        chunk = viewer.get("rows", **{"name": "base", "from": 2})
        assert (chunk["id"], chunk["score"], chunk["total"], chunk["next"]) == (["c2"], [0.5], 3, None)
        assert viewer.get("run", name="base")["metrics"][0]["mean"] == 0.75
        found = viewer.get("case", name="base", id="c2")
        assert (found["faults"][0]["kind"], found["messages"][0]["text"]) == ("wrong_value", "How is Bonn?")
        with Path(running.folder.file("predictions.jsonl")).open("a") as file:
            file.write("\nnot json\n")
        assert viewer.get("rows", **{"name": "base", "from": 3})["id"] == ["c0"]
        assert viewer.ask("/api/compare?name=base&name=base")[0] == 400


def test_nobody_is_kept_from_writing_and_nothing_is_written(tmp_path: Path, running: Run) -> None:
    from callmark.runs.journal import Journal

    with Journal(running.folder.file("predictions.jsonl")), viewing(tmp_path / "runs") as viewer:
        before = {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}
        for path in ("runs", "run?name=base", "rows?name=base", "case?name=base&id=c0"):
            assert viewer.ask(f"/api/{path}")[0] == 200
        assert {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))} == before
    with viewing(tmp_path / "runs") as viewer:
        viewer.get("run", name="base")
        Journal(running.folder.file("predictions.jsonl")).close()  # it could be taken


def test_an_error_that_was_answered_when_the_run_went_on_is_none(tmp_path: Path, running: Run) -> None:
    append(running, answer("c1", bonn("Bonn1")))
    with viewing(tmp_path / "runs") as viewer:
        rows = viewer.get("rows", name="base")
        assert (rows["id"], rows["error"]) == (["c0", "c1"], ["", ""])


def test_when_it_is_graded_the_grades_count(tmp_path: Path, running: Run) -> None:
    from callmark.runs.grade import regrade

    with viewing(tmp_path / "runs") as viewer:
        assert viewer.get("run", name="base")["status"] == "running"
        changed(running, status="complete")
        assert viewer.get("run", name="base")["status"] == "running"  # it is being graded
        regrade(RunFolder(running.folder.path), running.info.grading)
        run = viewer.get("run", name="base")
        assert (run["status"], run["ready"]) == ("complete", True)
        assert viewer.get("rows", name="base")["id"] == ["c0", "c1", "c2"]


def test_cases_that_are_gone_are_told_of(tmp_path: Path, running: Run) -> None:
    (tmp_path / "base-cases.jsonl").unlink()
    with viewing(tmp_path / "runs") as viewer:
        run = viewer.get("run", name="base")
        assert "gone" in run["problem"]
        assert viewer.get("rows", name="base")["id"] == []


def test_a_dataset_elsewhere_is_only_shown_if_it_is_the_one_of_the_run(tmp_path: Path) -> None:
    run = graded(tmp_path, [case("a", [bonn()])], [answer("a", bonn())])
    other = tmp_path / "private.jsonl"
    other.write_text(json.dumps(case("a", [bonn()], messages=[{"role": "user", "content": SECRET}])) + "\n")
    info = json.loads(Path(run.folder.file("run.json")).read_text())
    changed(run, dataset={**info["dataset"], "path": str(other)})
    with viewing(tmp_path / "runs") as viewer:
        assert "has changed" in viewer.get("run", name="base")["problem"]
        _, _, body = viewer.ask("/api/case?name=base&id=a")
        assert SECRET.encode() not in body
        assert "has changed" in json.loads(body)["problem"]
        assert json.loads(body)["messages"] is None
