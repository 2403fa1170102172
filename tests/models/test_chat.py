"""Models over HTTP: what they said is a reply, whatever it is; for everything else there is a sentence, and no key in it."""

import asyncio
import gc
import gzip
import json
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from callmark.errors import BadInput
from callmark.models import posting
from callmark.models.chat import ChatModel, read_body
from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings, Question, Reply
from callmark.models.specs import read_spec
from callmark.types import Call, Case, Message, Tool
from tests.chat_server import FAULTS, REPLIES, Answer, Plan, chat_server, fault_of, faulty
from tests.rows import assistant, call

KEY = "sk-zebra/0123456789+quick"
TOOL = Tool("get_order", "An order", {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]})
RIGHT = Call("get_order", {"order_id": "17"}, "call_1")


def question(text: str = "order 17") -> Question:
    return Question(Case("c1", (Message("user", text),), (TOOL,)))


def ask(spec: str, *, keys: Keys | None = None, asked: Question | None = None, **settings: Any) -> Reply:
    keys = keys or Keys()

    async def once() -> Reply:
        async with ChatModel(read_spec(spec, keys), ModelSettings(**settings), keys) as model:
            return await model.ask(asked or question())

    return asyncio.run(once())


def refused(spec: str, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(spec, **more)
    return caught.value


def flags(problem: ModelError) -> str:
    return " ".join(name for name in ("again", "crowded", "hopeless") if getattr(problem, name))


def completion(message: Any, finish: str = "stop", **more: Any) -> bytes:
    return json.dumps({"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}).encode()


def test_a_question_is_asked_once_and_answered() -> None:
    with chat_server() as server:
        reply = ask(f"{server.url}#some-model", keys=Keys({"CALLMARK_API_KEY": KEY}), temperature=0.5, params={"seed": 7})
    assert reply == Reply((RIGHT,), "", "", "tool_calls", reply.input_tokens, 12)
    assert reply.input_tokens > 20
    (asked,) = server.requests
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"
    assert asked.body["model"] == "some-model"
    assert asked.body["messages"] == [{"role": "user", "content": "order 17"}]
    assert asked.body["tools"][0]["function"]["name"] == "get_order"
    assert (asked.body["temperature"], asked.body["seed"]) == (0.5, 7)


SAID = {
    "429": ("answered 429 Too Many Requests: rate_limit_exceeded: Rate limit reached", "again crowded", None),
    "429 with Retry-After": ("answered 429 Too Many Requests: rate_limit_exceeded: Rate limit reached", "again crowded", 1.0),
    "500": ("answered 500 Internal Server Error: server_error: The server had an error", "again", None),
    "503": ("answered 503 Service Unavailable: upstream connect error", "again crowded", None),
    "cut body": ("broke off in the middle of its answer", "again", None),
    "HTML": ("answered with an HTML page, 'Bad gateway', a JSON object was expected", "again", None),
    "error object": ("answered with an error: engine_error: The engine is busy", "again", None),
    "empty choices": ("gave no answer: the response has no choices", "again", None),
    "hang": ("did not answer within 0.2 seconds", "again", None),
    "slow headers": ("did not answer within 0.2 seconds", "again", None),
}


@pytest.mark.parametrize("fault", SAID)
def test_a_fault_is_a_sentence_and_says_whether_to_ask_again(fault: str) -> None:
    said, flagged, wait = SAID[fault]
    with chat_server(fault) as server:
        problem = refused(f"{server.url}#m", timeout=0.2 if fault in ("hang", "slow headers") else 10)
    assert str(problem) == f"{server.url}/chat/completions {said}"
    assert (flags(problem), problem.wait) == (flagged, wait)
    assert len(server.requests) == 1


def test_an_answer_that_is_no_json_is_told_by_how_it_begins() -> None:
    with chat_server("invalid JSON") as server:
        problem = refused(f"{server.url}#m")
    assert str(problem).startswith(f'{server.url}/chat/completions answered with a text that begins with \'{{"id":"chatcmpl-1"')
    assert str(problem).endswith(", a JSON object was expected")
    assert flags(problem) == "again"


@pytest.mark.parametrize(
    "fault, reply",
    [
        ("slow headers", Reply((RIGHT,), finish="tool_calls")),
        ("unknown finish reason", Reply((RIGHT,), finish="eos_token")),
        (
            "arguments that are not JSON",
            Reply((Call("get_order", {}, "call_1", "arguments: the JSON text is cut off", '{"order_id": '),), finish="tool_calls"),
        ),
        ("duplicate ids", Reply((RIGHT, RIGHT), finish="tool_calls")),
    ],
)
def test_what_a_model_did_is_a_reply_however_wrong(fault: str, reply: Reply) -> None:
    with chat_server(fault, slow=0.05) as server:
        found = ask(f"{server.url}#m")
    assert (found.calls, found.text, found.finish) == (reply.calls, reply.text, reply.finish)


def test_every_fault_of_the_server_is_in_one_table_or_the_other() -> None:
    assert set(FAULTS) == {*SAID, *REPLIES, "invalid JSON"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    "address, said, flagged",
    [
        ("http://127.0.0.1:PORT", "nobody answers at http://127.0.0.1:PORT/chat/completions: the connection was refused", "again hopeless"),
        ("http://nobody.invalid", "the host of http://nobody.invalid/chat/completions is not known", "again hopeless"),
        ("http://a..b", "http://a..b/chat/completions is no address that can be asked", "hopeless"),
        (f"http://{'x' * 70}.com", f"http://{'x' * 70}.com/chat/completions is no address that can be asked", "hopeless"),
    ],
)
def test_nobody_there_is_hopeless(address: str, said: str, flagged: str) -> None:
    port = str(free_port())
    problem = refused(f"{address.replace('PORT', port)}#m")
    assert str(problem) == said.replace("PORT", port)
    assert flags(problem) == flagged


@contextmanager
def blurting_server(said: bytes) -> Iterator[str]:
    """A server that says the same to whatever it hears first, and hangs up."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(said)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join(5)


def test_a_server_without_tls_cannot_be_asked_safely() -> None:
    with blurting_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as host:
        problem = refused(f"https://{host}#m")
    assert str(problem).startswith(f"no safe connection to https://{host}/chat/completions can be made: ")
    assert flags(problem) == "hopeless"


@pytest.mark.parametrize("cut", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-"])
def test_a_connection_that_ends_early_is_worth_another_try(cut: bytes) -> None:
    with blurting_server(cut) as host:
        problem = refused(f"http://{host}#m")
    assert str(problem) == f"http://{host}/chat/completions closed the connection, or does not speak HTTP"
    assert flags(problem) == "again"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_who_is_not_let_in_is_told_which_key_was_used(status: int) -> None:
    no = Answer(status, b'{"error": {"message": "No.", "code": "no"}}')
    with chat_server(lambda number, request, attempt: no) as server:
        with_key = refused(f"{server.url}#m", keys=Keys({"CALLMARK_API_KEY": KEY}))
        without = refused(f"{server.url}#m")
        ours = refused("openai:m", keys=Keys({"MINE": KEY}), base_url=server.url, api_key_env="MINE")
        basic = refused(f"{server.url.replace('//', '//me:pw@')}#m")
        local = refused("ollama:m", base_url=server.url)
    if status == 404:
        assert str(with_key).endswith("answered 404 Not Found: no: No.; the model m or the address is not known there")
    else:
        assert str(with_key).endswith("no: No.; it was sent the key from CALLMARK_API_KEY")
        assert str(without).endswith("no: No.; it was sent no key, as CALLMARK_API_KEY is not set")
        assert str(ours).endswith("no: No.; it was sent the key from MINE")
        assert str(basic).endswith("no: No.; it was sent the user and password in the address")
        assert str(local).endswith("no: No.; it was sent no key; api_key_env can name one")
    assert {flags(each) for each in (with_key, without, ours, basic, local)} == {"hopeless"}


def error(message: str = "", code: Any = None, kind: Any = None) -> bytes:
    return json.dumps({"error": {"message": message, "code": code, "type": kind}}).encode()


@pytest.mark.parametrize(
    "status, body, said, flagged",
    [
        (400, error("messages: too long", "context_length_exceeded"), "400 Bad Request: context_length_exceeded: messages: too long", ""),
        (413, b"", "413", ""),
        (422, b'{"detail": [{"loc": ["body"], "msg": "field required"}]}', '"msg":"field required"', ""),
        (418, b"short and stout", "418 I'm a Teapot: short and stout", ""),
        (408, b"", "408 Request Timeout", "again"),
        (409, b"", "409 Conflict", "again"),
        (425, b"", "425 Too Early", "again"),
        (429, error("You have no money", "insufficient_quota"), "insufficient_quota: You have no money", "hopeless"),
        (402, error("Insufficient balance"), "402 Payment Required: Insufficient balance", "hopeless"),
        (502, b"<html><title>Bad\n gateway</title>", "502 Bad Gateway: an HTML page, 'Bad gateway'", "again"),
        (504, b"", "504 Gateway Timeout", "again"),
        (520, b"", "520", "again"),
        (529, error("Overloaded", None, "overloaded_error"), "529 Overloaded: overloaded_error: Overloaded", "again crowded"),
        (500, b"\xff\xfe[[", "500 Internal Server Error", "again"),
        (500, b"[" * 100_000, "500 Internal Server Error", "again"),
        (400, error("x" * 1000), f"{'x' * 300}…", ""),
        (200, error("slow down", "rate_limit_exceeded"), "answered with an error: rate_limit_exceeded: slow down", "again crowded"),
        (200, error("slow down", 429), "answered with an error: 429: slow down", "again crowded"),
        (200, error("slow down", "429"), "answered with an error: 429: slow down", "again crowded"),
        (200, error("no", None, "invalid_request_error"), "answered with an error: invalid_request_error: no", ""),
        (200, error("no", "invalid_api_key"), "answered with an error: invalid_api_key: no", "hopeless"),
        (200, error("gone", 503), "answered with an error: 503: gone", "again crowded"),
        (200, b'{"error": "something"}', "answered with an error: something", "again"),
        (200, b'{"error": {"message": null}, "id": "1"}', "gave an answer without choices: its keys are error, id", "again"),
        (200, b"{}", "gave an answer without choices: its keys are none", "again"),
        (200, b'{"message": "loading"}', "gave an answer without choices: its keys are message", "again"),
        (200, b'{"choices": null}', "gave no answer: the response has no choices", "again"),
        (200, b'{"choices": [7]}', "gave an answer that cannot be read: choices[0] is a number, an object was expected", "again"),
        (200, b'{"choices": [{}]}', "gave an answer that cannot be read: choices[0] holds no answer: its keys are none", "again"),
        (200, completion({"role": "user", "content": "hi"}), "the message has the role 'user', an assistant's was expected", "again"),
        (200, b"", "answered with nothing at all, a JSON object was expected", "again"),
        (200, b"[]", "answered with a text that begins with '[]', a JSON object was expected", "again"),
        (200, b"data: {}", "answered with a text that begins with 'data: {}', a JSON object was expected", "again"),
        (200, b'{"choices": [{"message": {"role": "assistant", "content": "\xff"}}]}', "answered with a text that begins", "again"),
    ],
)
def test_whatever_is_no_reply_says_why(status: int, body: bytes, said: str, flagged: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_body(body, status, {}, ModelSettings())
    assert said in str(caught.value)
    assert flags(caught.value) == flagged
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "headers, wait",
    [
        ({}, None),
        ({"Retry-After": "20"}, 20.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"Retry-After": "20", "retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "9" * 40}, None),
        ({"Retry-After": "Wed, 99 Oct 99999 07:28:00 GMT"}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_the_other_side_says_how_long_to_wait(status: int, headers: dict[str, str], wait: float | None) -> None:
    with pytest.raises(ModelError) as caught:
        read_body(b"", status, headers, ModelSettings())
    assert caught.value.wait == wait


def test_a_redirect_is_not_followed_and_its_secrets_not_told() -> None:
    away = Answer(307, b"", {"Location": "https://me:secret@elsewhere/v1?token=secret"})
    with chat_server(lambda number, request, attempt: away) as server:
        problem = refused(f"{server.url}#m")
    assert str(problem) == (
        f"{server.url}/chat/completions answered 307 Temporary Redirect and sends on to https://…@elsewhere/v1?…,"
        " which is not followed; give the address itself"
    )
    assert flags(problem) == "hopeless"
    assert len(server.requests) == 1


CALL = call("f", {"a": 1})
TAGGED = '<think>hm</think>so: <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
MADE = (Call("f", {"a": 1}, "c1"),)
FOUND = (Call("f", {"a": 1}),)
MALFORMED = (Call("f", {}, "c1", "arguments: a lone surrogate", '{"a":"\\\\ud800"}'),)


@pytest.mark.parametrize(
    "body, settings, reply",
    [
        (completion(assistant(CALL, text="let me see")), {}, Reply(MADE, "let me see", "", "stop")),
        (completion(assistant(text="hello"), "length"), {}, Reply((), "hello", "", "length")),
        (completion(assistant(text=None)), {}, Reply(finish="stop")),
        (completion({**assistant(CALL), "reasoning_content": "hm"}), {}, Reply(MADE, "", "hm", "stop")),
        (completion({"role": "assistant", "content": None, "refusal": "I won't"}), {}, Reply((), "I won't", "", "stop")),
        (completion(None, "content_filter"), {}, Reply(finish="content_filter")),
        (completion({}, "content_filter"), {}, Reply(finish="content_filter")),
        (completion({"content": None}, "content_filter"), {}, Reply(finish="content_filter")),
        (completion({"role": "assistant"}, "content_filter"), {}, Reply(finish="content_filter")),
        (completion(assistant(text=TAGGED)), {}, Reply((), TAGGED, "", "stop")),
        (completion(assistant(text=TAGGED)), {"parse": "hermes"}, Reply(FOUND, "so:", "hm", "stop")),
        (completion(assistant(text=TAGGED)), {"parse": "mistral"}, Reply((), TAGGED.removeprefix("<think>hm</think>"), "hm", "stop")),
        (completion(assistant(text=TAGGED)), {"tools_in_prompt": "free"}, Reply(FOUND, "so:", "hm", "stop")),
        (completion(assistant(text="so it is f(a=1), then")), {"tools_in_prompt": "free"}, Reply(FOUND, "so it is\n, then", "", "stop")),
        (completion(assistant(text="nothing to call")), {"tools_in_prompt": "free"}, Reply((), "nothing to call", "", "stop")),
        (
            completion(assistant(text='{"name": "f", "arguments": {"a": 1}}')),
            {"tools_in_prompt": "constrained"},
            Reply(FOUND, finish="stop"),
        ),
        (completion(assistant(text='{"reply": "hello"}')), {"tools_in_prompt": "constrained"}, Reply((), "hello", "", "stop")),
        (completion(assistant(CALL, text=TAGGED)), {"parse": "hermes"}, Reply(MADE, TAGGED, "", "stop")),
        (completion(assistant(CALL), usage={"prompt_tokens": 9, "completion_tokens": 3}), {}, Reply(MADE, "", "", "stop", 9, 3)),
        (completion(assistant(CALL), usage={"prompt_tokens": -1, "completion_tokens": "3"}), {}, Reply(MADE, finish="stop")),
        (completion(assistant(CALL), usage=None), {}, Reply(MADE, finish="stop")),
        (completion(assistant(CALL), usage=[]), {}, Reply(MADE, finish="stop")),
        (completion(assistant(CALL), finish=7), {}, Reply(MADE)),  # type: ignore[arg-type]
        (completion(assistant(text="\ud800")), {}, Reply((), "\\ud800", "", "stop")),
        (completion(assistant({"id": "c1", "function": {"name": "f", "arguments": {"a": "\ud800"}}})), {}, Reply(MALFORMED, finish="stop")),
        (completion(assistant(CALL), error=None), {}, Reply(MADE, finish="stop")),
    ],
)
def test_what_a_model_said_is_read(body: bytes, settings: dict[str, Any], reply: Reply) -> None:
    assert read_body(body, 200, {}, ModelSettings(**settings), names=("f",)) == reply


def test_a_compressed_answer_is_read_uninvited() -> None:
    packed = Answer(200, gzip.compress(completion(assistant(CALL))), {"Content-Encoding": "gzip"})
    with chat_server(lambda number, request, attempt: packed) as server:
        assert ask(f"{server.url}#m").calls == MADE


def test_an_answer_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "LARGEST_BODY", 1 << 20)
    bomb = Answer(200, gzip.compress(b" " * (8 << 20)), {"Content-Encoding": "gzip"})
    for endless in (bomb, Answer(200, b" " * (2 << 20))):
        with chat_server(lambda number, request, attempt, endless=endless: endless) as server:  # type: ignore[misc]
            problem = refused(f"{server.url}#m")
        assert str(problem) == f"{server.url}/chat/completions answered with more than 1 MB, which is not read"
        assert flags(problem) == ""


def test_a_question_of_megabytes_is_asked_without_a_warning() -> None:
    with chat_server() as server:
        assert ask(f"{server.url}#m", asked=question("order 17 " + "x" * (3 << 20))).calls == (RIGHT,)


def test_what_cannot_be_asked_is_no_reply() -> None:
    with chat_server() as server:
        problem = refused(f"{server.url}#m", asked=Question(Case("c1", instructions="be rude")))
    assert "c1" in str(problem)
    assert flags(problem) == ""
    assert not server.requests


def test_a_cancelled_question_leaves_nothing_open() -> None:
    async def once() -> None:
        async with ChatModel(read_spec(f"{server.url}#m", Keys()), ModelSettings(), Keys()) as model:
            pending = [asyncio.create_task(model.ask(question(f"order {number}"))) for number in range(5)]
            while len(server.requests) < len(pending):
                await asyncio.sleep(0.01)
            for task in pending:
                task.cancel()
            ended = await asyncio.gather(*pending, return_exceptions=True)
            assert all(isinstance(each, asyncio.CancelledError) for each in ended)

    with chat_server("hang") as server:
        asyncio.run(once())
        deadline = time.monotonic() + 5
        while server.connections and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not server.connections
    gc.collect()  # an unclosed session would warn, and a warning is an error


def test_a_model_that_fails_inside_is_left_cleanly() -> None:
    async def once() -> None:
        async with ChatModel(read_spec(f"{server.url}#m", Keys()), ModelSettings(), Keys()) as model:
            await model.ask(question())
            raise LookupError

    with chat_server() as server, pytest.raises(LookupError):
        asyncio.run(once())
    gc.collect()


def test_connections_are_kept() -> None:
    async def many() -> int:
        async with ChatModel(read_spec(f"{server.url}#m", Keys()), ModelSettings(), Keys()) as model:
            for _ in range(20):
                await model.ask(question())
            return len(server.connections)

    with chat_server() as server:
        assert asyncio.run(many()) == 1


def test_a_missing_key_is_known_before_anything_is_asked() -> None:
    with pytest.raises(BadInput, match="^OPENAI_API_KEY is not set, and openai:m needs a key$"):
        ChatModel(read_spec("openai:m", Keys()), ModelSettings(), Keys())


def test_the_fingerprint_is_all_that_shapes_the_answer_and_nothing_secret() -> None:
    def of(spec: str, asked: Question | None = None, **settings: Any) -> bytes:
        keys = Keys({"CALLMARK_API_KEY": KEY})
        return ChatModel(read_spec(spec, keys), ModelSettings(**settings), keys).fingerprint(asked or question()) or b""

    one = of("http://h/v1#m")
    assert one == of("http://h/v1#m")
    assert one == of("http://h/v1#m", Question(question().case, trial=3))
    assert one.startswith(b"http://h/v1/chat/completions\n")
    assert of("http://h/v1#m", Question(Case("c1", instructions="be rude"))) == b""
    others = [
        of("http://h/v1#other"),
        of("http://other/v1#m"),
        of("http://h/v1#m", question("order 18")),
        of("http://h/v1#m", temperature=1.0),
        of("http://h/v1#m", parse="hermes"),
        of("http://h/v1#m", tools_in_prompt="free"),
        of(f"http://h/v1?tenant={quote(KEY)}#m"),
        of("http://h/v1?tenant=somebody-else#m"),
    ]
    assert len({one, *others}) == len(others) + 1
    assert not any(b"zebra" in each or b"somebody" in each for each in others)
    assert one == of("http://h/v1#m", timeout=1.0, concurrency=3)


def test_the_server_of_the_tests_writes_down_each_request_before_it_answers(tmp_path: Path) -> None:
    log = tmp_path / "asked.jsonl"
    command = [sys.executable, "-m", "tests.chat_server", "--log", str(log), "--faults", "1", "--latency", "0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            problem = refused(f"{url}#m")
            assert [json.loads(line)["attempt"] for line in log.read_text().splitlines()] == [0]
            assert ask(f"{url}#m").calls == (RIGHT,)
        finally:
            process.kill()
    assert str(problem).endswith("Rate limit reached")  # a share of 1 leaves room for the first fault only
    assert [(line["user"], line["attempt"]) for line in map(json.loads, log.read_text().splitlines())] == [("order 17", 0), ("order 17", 1)]


def test_faults_befall_their_share_of_the_requests_and_the_same_ones_every_time() -> None:
    requests = [{"messages": [{"role": "user", "content": f"order {number}"}]} for number in range(4000)]
    befell = Counter(fault_of(request, 0.05) for request in requests)
    assert set(befell) == {*FAULTS, "answer"}
    assert all(150 < befell[fault] < 250 for fault in FAULTS)
    assert befell == Counter(fault_of(request, 0.05) for request in reversed(requests))
    plan = faulty(0.05)
    assert [plan(0, request, 0) for request in requests] == [fault_of(request, 0.05) for request in requests]
    assert {plan(0, request, 1) for request in requests} == {"answer"}


LEAKS: dict[str, Plan] = {
    **{fault: (lambda number, request, attempt, fault=fault: fault) for fault in (*FAULTS, "echo headers", "answer")},  # type: ignore[misc]
    "key in a redirect": lambda number, request, attempt: Answer(302, b"", {"Location": f"http://me:{KEY}@h/{KEY}?k={KEY}"}),
    "key in the page": lambda number, request, attempt: Answer(200, f"<html><title>{KEY}</title>".encode()),
    "key in the text": lambda number, request, attempt: Answer(200, f"not for {KEY}".encode()),
    "key in JSON": lambda number, request, attempt: Answer(401, error(f"bad key {KEY}").replace(b"/", b"\\/")),
    "key cut in two by the limit": lambda number, request, attempt: Answer(400, error("x" * 290 + KEY)),
    "key in the answer": lambda number, request, attempt: Answer(200, completion(assistant(call("f", {"k": KEY}), text=KEY), KEY)),
    "key in a field": lambda number, request, attempt: Answer(200, json.dumps({KEY: 1, "status": "error"}).encode()),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "CALLMARK_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize("plan", LEAKS)
def test_a_key_is_in_nothing_that_comes_back(
    plan: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = quote(KEY, safe="")
    with chat_server(LEAKS[plan], slow=0.5) as server:
        monkeypatch.setenv("CALLMARK_API_KEY", KEY)
        specs = [f"{server.url}#m", f"{server.url.replace('//', f'//me:{secret}@')}#m", f"{server.url}?token={secret}#m"]
        (folder / ".env").write_text(f"OPENAI_API_KEY='{KEY}'\nOPENAI_BASE_URL={server.url}\n", encoding="utf-8")
        for text in (*specs, "openai:m"):
            said = told(text)
            assert "zebra" not in said
            assert "0123456789" not in said
            assert "emVicmE" not in said  # zebra, as Basic has it
    for asked in server.requests:
        assert KEY in asked.headers.get("authorization", "") or "Basic" in asked.headers["authorization"]
    assert "zebra" not in "".join(capfd.readouterr())


def told(text: str) -> str:
    """Everything that a model tells of itself and of its answer."""
    keys = Keys.here()
    spec = read_spec(text, keys)
    model = ChatModel(spec, ModelSettings(timeout=0.1), keys)

    async def once() -> str:
        async with model:
            try:
                return repr(await model.ask(question()))
            except ModelError as problem:
                return f"{problem} {problem!r} {problem.args}"

    said = asyncio.run(once())
    return f"{said} {model!r} {model.label} {spec} {spec.shown} {keys} {model.fingerprint(question())!r}"


IDENTITY = """
from collections import namedtuple
Token = namedtuple("Token", "token expires_on")
class DefaultAzureCredential:
    fetched = 0
    def get_token(self, scope):
        assert scope == "https://cognitiveservices.azure.com/.default"
        DefaultAzureCredential.fetched += 1
        if SIGNED_IN:
            return Token("entra-zebra-0123456789", 4e9)
        raise RuntimeError("nobody is\\n signed in with entra-zebra-0123456789")
    def close(self): pass
"""


@pytest.mark.parametrize("signed_in", [True, False])
def test_azure_is_asked_with_a_token_of_whoever_is_signed_in(signed_in: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "azure" / "identity").mkdir(parents=True)
    (tmp_path / "azure" / "identity" / "__init__.py").write_text(f"SIGNED_IN = {signed_in}\n{IDENTITY}", encoding="utf-8")
    for name in [name for name in sys.modules if name.split(".")[0] == "azure"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        with chat_server("echo headers") as server:
            keys = Keys({"AZURE_OPENAI_ENDPOINT": server.url.removesuffix("/v1"), "OTHER_TOKEN": "entra-zebra-0123456789"})
            problem = refused("azure:d", keys=keys)
        if signed_in:
            assert server.requests[0].path == "/openai/deployments/d/chat/completions?api-version=2024-10-21"
            assert server.requests[0].headers["authorization"] == "Bearer entra-zebra-0123456789"
        else:
            assert str(problem) == "azure-identity gives no token for Azure: nobody is signed in with …"
            assert flags(problem) == "hopeless"
        assert "zebra" not in str(problem)
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "azure"]:
            del sys.modules[name]
