"""`callmark run` against a server with every kind of failure: what is retried, reported, and never printed."""

import json
import os
import socket
from pathlib import Path

import pytest

from callmark.runs import limiter, worker
from tests.chat_server import Response, ResponsePlan, chat_server
from tests.conftest import Cli, Result
from tests.rows import assistant, call, user, write_rows

ORDER = {
    "type": "function",
    "function": {
        "name": "get_order",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
    },
}
CASES = 4
KEY = "sk-recognisable-4711-abcdefghij"


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with four decision points; backoff is short."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limiter, "FIRST_BACKOFF", 0.01)
    points = [
        {
            "id": f"c{number}",
            "messages": [user(f"order {number}")],
            "tools": [ORDER],
            "expected_output": assistant(call("get_order", {"order_id": str(number)})),
        }
        for number in range(CASES)
    ]
    write_rows(tmp_path / "eval.jsonl", *points)
    return


def run(cli: Cli, url: str, *more: str) -> Result:
    return cli("run", "eval.jsonl", "--model", f"{url}#m", "--name", "r", "--no-cache", "--timeout", "0.5", "--retries", "2", *more)


def fail_first_attempt(fault: str) -> ResponsePlan:
    """Return the fault on the first request of a case, an answer on the next."""
    return lambda number, request, attempt: fault if attempt == 0 else "answer"


def fail_one_case(fault: str | Response) -> ResponsePlan:
    """Return the fault on every request of one case of four."""
    return lambda number, request, attempt: fault if request["messages"][-1]["content"] == "order 2" else "answer"


TRANSIENT = ("429", "429 with Retry-After", "500", "503", "cut body", "invalid JSON", "HTML", "error object", "empty choices", "hang")


@pytest.mark.parametrize("fault", TRANSIENT)
def test_transient_failures_are_retried_without_effect_on_scores(cli: Cli, fault: str) -> None:
    with chat_server(fail_first_attempt(fault)) as server:
        completed = run(cli, server.url)
        assert completed.status == 0, completed.err + completed.out
        assert "scored 4" in completed.out
        assert f"{CASES} retries" in completed.out
        assert len(server.requests) == 2 * CASES


LASTING = [
    ("429", "rate limited (HTTP 429)", 3),
    ("429 with Retry-After", "rate limited (HTTP 429)", 3),
    ("500", "500", 3),
    ("503", "503", 3),
    ("hang", "did not respond within 0.5 s", 3),
    ("cut body", "closed the connection before the response was complete", 3),
    ("invalid JSON", "expected a JSON object, got text that starts with", 3),
    ("HTML", "expected a JSON object, got an HTML page titled 'Bad gateway'", 3),
    ("error object", "error", 3),
    ("empty choices", "no choices", 3),
    (Response(400, b'{"error": {"message": "context length exceeded"}}'), "context length exceeded", 1),
]


@pytest.mark.parametrize("fault, expected_text, tries", LASTING, ids=[str(expected_text) for _, expected_text, _ in LASTING])
def test_lasting_failures_are_errors_with_status_3(cli: Cli, fault: str | Response, expected_text: str, tries: int) -> None:
    with chat_server(fail_one_case(fault)) as server:
        completed = run(cli, server.url)
        assert completed.status == 3, completed.err + completed.out
        assert "scored 3 of 4, 1 error" in completed.out
        assert "call.score    1 " in completed.out
        shown = completed.out[completed.out.index("excluded from every metric") :]
        assert expected_text in shown, shown
        assert (f"({tries} attempts)" in shown) is (tries > 1)
        assert len(server.requests) == CASES - 1 + tries


def test_slow_server_is_waited_for(cli: Cli) -> None:
    with chat_server("slow headers", slow=0.2) as server:
        completed = run(cli, server.url)
    assert (completed.status, "scored 4" in completed.out) == (0, True)
    assert " per prediction (median), p95 " in completed.out


def test_unknown_finish_reason_is_kept_and_graded(cli: Cli) -> None:
    with chat_server("unknown finish reason") as server:
        completed = run(cli, server.url)
    assert (completed.status, "call.score    1 " in completed.out) == (0, True)
    line = json.loads(Path("runs/r/predictions.jsonl").read_text().splitlines()[0])
    assert line["finish_reason"] not in ("", "stop", "tool_calls")


def test_invalid_json_arguments_are_malformed_calls(cli: Cli) -> None:
    with chat_server(fail_one_case("arguments that are not JSON")) as server:
        completed = run(cli, server.url)
    assert completed.status == 0
    assert "scored 4" in completed.out
    assert "malformed call       1" in completed.out


def test_calls_with_the_same_id_are_both_counted(cli: Cli) -> None:
    with chat_server(fail_one_case("duplicate ids")) as server:
        completed = run(cli, server.url)
    assert completed.status == 0
    assert "repeated call       1" in completed.out


def test_refused_connection_is_reported_with_the_resume_command(cli: Cli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        completed = run(cli, url)
    assert completed.status == 2
    assert f"cannot connect to {url}/chat/completions: connection refused" in completed.err
    assert "callmark run runs/r --resume" in completed.err


@pytest.mark.parametrize("status, expected_text", [(401, "401"), (403, "403"), (404, "404")])
def test_authentication_failure_stops_at_once(cli: Cli, status: int, expected_text: str) -> None:
    with chat_server(lambda *_: Response(status, b'{"error": {"message": "no"}}')) as server:
        completed = run(cli, server.url, "--concurrency", "1")
        assert len(server.requests) == 3
    assert completed.status == 2
    assert expected_text in completed.err


def test_predictions_before_a_server_failure_are_kept(cli: Cli) -> None:
    with chat_server() as server:
        run(cli, server.url, "--limit", "2")
        Path("runs/r").rename("runs/two")
        completed = cli("run", "eval.jsonl", "--model", f"{server.url}#m", "--name", "r", "--no-cache")
    assert completed.status == 0
    completed = cli("run", "runs/r", "--resume")
    assert completed.status == 0  # nothing was left to ask


def test_failing_model_does_not_stop_the_other(cli: Cli) -> None:
    with chat_server() as server:
        completed = cli(
            "run", "eval.jsonl", "--model", f"{server.url}#good", "--model", "http://127.0.0.1:9/v1#gone", "--name", "r", "--no-cache"
        )  # fmt: skip
    assert completed.status == 3
    assert "cannot connect to http://127.0.0.1:9/v1/chat/completions" in completed.out
    assert "scored" in cli("grade", "runs/r-good").out


def test_token_budget_stops_the_run_and_it_can_be_resumed(cli: Cli) -> None:
    with chat_server() as server:
        completed = run(cli, server.url, "--max-tokens-total", "1", "--concurrency", "1")
        assert completed.status == 3
        assert "Stopped: --max-tokens-total 1 was reached" in completed.out
        assert "scored 1 of 4, 3 errors" in completed.out
        assert json.loads(Path("runs/r/run.json").read_text())["status"] == "stopped"
        again = cli("run", "runs/r", "--resume", "--no-cache")
        assert (again.status, "scored 4" in again.out) == (0, True), again.out
        assert len(server.requests) == CASES


def test_repeated_run_is_served_from_the_cache(cli: Cli) -> None:
    with chat_server() as server:
        for name in ("one", "two"):
            completed = cli("run", "eval.jsonl", "--model", f"{server.url}#m", "--name", name)
        assert len(server.requests) == CASES
        assert f"{CASES} cache hits (--no-cache ignores the cache)" in completed.out
        cli("run", "eval.jsonl", "--model", f"{server.url}#m", "--name", "three", "--trials", "2")
        assert len(server.requests) == 2 * CASES
        cli("run", "eval.jsonl", "--model", f"{server.url}#m", "--name", "four", "--temperature", "1")
        assert len(server.requests) == 3 * CASES
    one, two = (sorted(Path(f"runs/{name}/predictions.jsonl").read_text().splitlines()) for name in ("one", "two"))
    assert one == two


def test_unusable_cache_gives_a_warning(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLMARK_CACHE", "eval.jsonl")
    with chat_server() as server:
        completed = cli("run", "eval.jsonl", "--model", f"{server.url}#m", "--name", "r")
    assert completed.status == 0
    assert "response cache disabled" in completed.err


def folder_content(folder: Path) -> bytes:
    """Return the content and the name of every file below a folder."""
    found = b""
    for parent, _, files in os.walk(folder):
        found += parent.encode()
        for name in files:
            found += name.encode() + Path(parent, name).read_bytes()
    return found


ECHO = ["echo headers", *TRANSIENT, "arguments that are not JSON"]


@pytest.mark.parametrize("where", ["environment", "file", "user of the URL", "query of the URL"])
@pytest.mark.parametrize("fault", ECHO)
def test_key_is_in_no_file_and_no_output(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, where: str) -> None:
    monkeypatch.setattr(worker, "backoff", lambda attempt: 0.0)
    monkeypatch.setenv("CALLMARK_CACHE", str(tmp_path / "cache" / "predictions.sqlite"))
    monkeypatch.delenv("CALLMARK_API_KEY", raising=False)
    if where == "environment":
        monkeypatch.setenv("CALLMARK_API_KEY", KEY)
    with chat_server(fail_one_case(fault)) as server:
        url = server.url
        if where == "file":
            Path(".env").write_text(f"CALLMARK_API_KEY={KEY}\n")
        elif where == "user of the URL":
            url = url.replace("http://", f"http://me:{KEY}@")
        elif where == "query of the URL":
            url = f"{url}?api-key={KEY}"
        completed = cli("run", "eval.jsonl", "--model", f"{url}#m", "--name", "r", "--timeout", "0.2", "--retries", "1")
        again = cli("run", "runs/r", "--resume", "--timeout", "0.2", "--retries", "0")
        if where in ("environment", "file"):
            assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in server.requests)
        elif where == "query of the URL":
            assert all(KEY in request.path for request in server.requests)
    assert completed.status in (0, 3), completed.err
    if "URL" in where:
        assert again.status == 2
        assert "Pass it again with --model" in again.err
    Path(".env").unlink(missing_ok=True)
    assert KEY not in completed.out + completed.err + again.out + again.err
    assert KEY.encode() not in folder_content(tmp_path)
