"""Models over HTTP: whatever the model did is a prediction; everything else is an error message without secrets."""

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
from callmark.models import http_client
from callmark.models.chat import ChatModel
from callmark.models.chat_provider import ChatProvider
from callmark.models.chat_response import read_completion
from callmark.models.http_response import HttpResponse
from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings
from callmark.models.provider import Spec
from callmark.models.specs import read_spec
from callmark.types import Call, Case, Message, Prediction, Tool, Usage
from tests.chat_server import FAULTS, SCORED_FAULTS, Response, ResponsePlan, chat_server, fault_of, faulty
from tests.rows import assistant, call

KEY = "sk-zebra/0123456789+quick"
TOOL = Tool("get_order", "An order", {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]})
CORRECT = Call("get_order", {"order_id": "17"}, "call_1")


def case(text: str = "order 17") -> Case:
    return Case("c1", (Message("user", text),), (TOOL,))


def chat_model(spec: Spec, settings: ModelSettings, keys: Keys) -> ChatModel:
    assert isinstance(spec.provider, ChatProvider)
    return ChatModel(spec.provider, spec, settings, keys)


def predict(spec: str, *, keys: Keys | None = None, asked: Case | None = None, **settings: Any) -> Prediction:
    keys = keys or Keys()

    async def once() -> Prediction:
        async with chat_model(read_spec(spec, keys), ModelSettings(**settings), keys) as model:
            return await model.predict(asked or case())

    return asyncio.run(once())


def model_error(spec: str, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        predict(spec, **more)
    return caught.value


def flags(problem: ModelError) -> str:
    return " ".join(name for name in ("retryable", "rate_limited", "fatal") if getattr(problem, name))


def completion(message: Any, finish_reason: str = "stop", **more: Any) -> bytes:
    return json.dumps({"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}], **more}).encode()


def test_one_request_gives_one_prediction() -> None:
    with chat_server() as server:
        prediction = predict(f"{server.url}#some-model", keys=Keys({"CALLMARK_API_KEY": KEY}), temperature=0.5, params={"seed": 7})
    assert prediction.usage is not None
    assert prediction == Prediction("c1", 0, (CORRECT,), finish_reason="tool_calls", usage=Usage(0.0, prediction.usage.input_tokens, 12))
    assert prediction.usage.input_tokens > 20
    (asked,) = server.requests
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"
    assert asked.body["model"] == "some-model"
    assert asked.body["messages"] == [{"role": "user", "content": "order 17"}]
    assert asked.body["tools"][0]["function"]["name"] == "get_order"
    assert (asked.body["temperature"], asked.body["seed"]) == (0.5, 7)


SENTENCES = {
    "429": (": rate limited (HTTP 429): rate_limit_exceeded: Rate limit reached", "retryable rate_limited", None),
    "429 with Retry-After": (": rate limited (HTTP 429): rate_limit_exceeded: Rate limit reached", "retryable rate_limited", 1.0),
    "500": (" returned HTTP 500 Internal Server Error: server_error: The server had an error", "retryable", None),
    "503": (" returned HTTP 503 Service Unavailable: upstream connect error", "retryable rate_limited", None),
    "cut body": (" closed the connection before the response was complete", "retryable", None),
    "HTML": (": expected a JSON object, got an HTML page titled 'Bad gateway'", "retryable", None),
    "error object": (" returned an error: engine_error: The engine is busy", "retryable", None),
    "empty choices": (" returned no prediction: the response has no choices", "retryable", None),
    "hang": (" did not respond within 0.2 s", "retryable", None),
    "slow headers": (" did not respond within 0.2 s", "retryable", None),
}


@pytest.mark.parametrize("fault", SENTENCES)
def test_server_fault_has_a_message_and_retry_flags(fault: str) -> None:
    sentence, expected_flags, retry_after = SENTENCES[fault]
    with chat_server(fault) as server:
        problem = model_error(f"{server.url}#m", timeout=0.2 if fault in ("hang", "slow headers") else 10)
    assert str(problem) == f"{server.url}/chat/completions{sentence}"
    assert (flags(problem), problem.retry_after) == (expected_flags, retry_after)
    assert len(server.requests) == 1


def test_response_that_is_not_json_is_quoted() -> None:
    with chat_server("invalid JSON") as server:
        problem = model_error(f"{server.url}#m")
    got = 'text that starts with \'{"id":"chatcmpl-1"'
    assert str(problem).startswith(f"{server.url}/chat/completions: expected a JSON object, got {got}")
    assert flags(problem) == "retryable"


@pytest.mark.parametrize(
    "fault, prediction",
    [
        ("slow headers", Prediction("c1", 0, (CORRECT,), finish_reason="tool_calls")),
        ("unknown finish reason", Prediction("c1", 0, (CORRECT,), finish_reason="eos_token")),
        (
            "arguments that are not JSON",
            Prediction(
                "c1",
                0,
                (Call("get_order", {}, "call_1", "arguments: truncated JSON", '{"order_id": '),),
                finish_reason="tool_calls",
            ),
        ),
        ("duplicate ids", Prediction("c1", 0, (CORRECT, CORRECT), finish_reason="tool_calls")),
    ],
)
def test_wrong_output_is_a_prediction(fault: str, prediction: Prediction) -> None:
    with chat_server(fault, slow=0.05) as server:
        found = predict(f"{server.url}#m")
    assert (found.calls, found.text, found.finish_reason) == (prediction.calls, prediction.text, prediction.finish_reason)


def test_every_server_fault_is_in_one_table() -> None:
    assert set(FAULTS) == {*SENTENCES, *SCORED_FAULTS, "invalid JSON"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    "address, sentence, expected_flags",
    [
        (
            "http://127.0.0.1:PORT",
            "cannot connect to http://127.0.0.1:PORT/chat/completions: connection refused",
            "retryable fatal",
        ),
        ("http://nobody.invalid", "cannot connect to http://nobody.invalid/chat/completions: unknown host", "retryable fatal"),
        ("http://a..b", "http://a..b/chat/completions is not a valid URL", "fatal"),
        (f"http://{'x' * 70}.com", f"http://{'x' * 70}.com/chat/completions is not a valid URL", "fatal"),
    ],
)
def test_unreachable_address_is_fatal(address: str, sentence: str, expected_flags: str) -> None:
    port = str(free_port())
    problem = model_error(f"{address.replace('PORT', port)}#m")
    assert str(problem) == sentence.replace("PORT", port)
    assert flags(problem) == expected_flags


@contextmanager
def blurting_server(sentence: bytes) -> Iterator[str]:
    """Run a server that sends the same bytes to every client and closes the connection."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(sentence)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join(5)


def test_server_without_tls_fails_over_https() -> None:
    with blurting_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as host:
        problem = model_error(f"https://{host}#m")
    assert str(problem).startswith(f"cannot connect to https://{host}/chat/completions: TLS error: ")
    assert flags(problem) == "fatal"


@pytest.mark.parametrize("cut", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-"])
def test_connection_that_ends_early_is_retryable(cut: bytes) -> None:
    with blurting_server(cut) as host:
        problem = model_error(f"http://{host}#m")
    assert str(problem) == f"http://{host}/chat/completions closed the connection, or is not an HTTP server"
    assert flags(problem) == "retryable"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_unauthorized_error_names_the_key_that_was_sent(status: int) -> None:
    no = Response(status, b'{"error": {"message": "No.", "code": "no"}}')
    with chat_server(lambda number, request, attempt: no) as server:
        with_key = model_error(f"{server.url}#m", keys=Keys({"CALLMARK_API_KEY": KEY}))
        without = model_error(f"{server.url}#m")
        ours = model_error("openai:m", keys=Keys({"MINE": KEY}), base_url=server.url, api_key_env="MINE")
        basic = model_error(f"{server.url.replace('//', '//me:pw@')}#m")
        local = model_error("ollama:m", base_url=server.url)
    if status == 404:
        assert str(with_key).endswith(" returned HTTP 404 Not Found: no: No.; check that the model m exists at this URL")
    else:
        assert str(with_key).endswith("no: No.; the request was sent with the key from CALLMARK_API_KEY")
        assert str(without).endswith("no: No.; the request was sent without a key: CALLMARK_API_KEY is not set")
        assert str(ours).endswith("no: No.; the request was sent with the key from MINE")
        assert str(basic).endswith("no: No.; the request was sent with the user and password in the URL")
        assert str(local).endswith("no: No.; the request was sent without a key: set api_key_env")
    assert {flags(each) for each in (with_key, without, ours, basic, local)} == {"fatal"}


def error(message: str = "", code: Any = None, kind: Any = None) -> bytes:
    return json.dumps({"error": {"message": message, "code": code, "type": kind}}).encode()


@pytest.mark.parametrize(
    "status, body, sentence, expected_flags",
    [
        (400, error("messages: too long", "context_length_exceeded"), "400 Bad Request: context_length_exceeded: messages: too long", ""),
        (413, b"", "413", ""),
        (422, b'{"detail": [{"loc": ["body"], "msg": "field required"}]}', '"msg":"field required"', ""),
        (418, b"short and stout", "418 I'm a Teapot: short and stout", ""),
        (408, b"", "408 Request Timeout", "retryable"),
        (409, b"", "409 Conflict", "retryable"),
        (425, b"", "425 Too Early", "retryable"),
        (429, error("You have no money", "insufficient_quota"), "insufficient_quota: You have no money", "fatal"),
        (402, error("Insufficient balance"), "402 Payment Required: Insufficient balance", "fatal"),
        (502, b"<html><title>Bad\n gateway</title>", "502 Bad Gateway: an HTML page titled 'Bad gateway'", "retryable"),
        (504, b"", "504 Gateway Timeout", "retryable"),
        (520, b"", "520", "retryable"),
        (529, error("Overloaded", None, "overloaded_error"), "529 Overloaded: overloaded_error: Overloaded", "retryable rate_limited"),
        (500, b"\xff\xfe[[", "500 Internal Server Error", "retryable"),
        (500, b"[" * 100_000, "500 Internal Server Error", "retryable"),
        (400, error("x" * 1000), f"{'x' * 300}…", ""),
        (
            200,
            error("slow down", "rate_limit_exceeded"),
            "returned an error: rate_limit_exceeded: slow down",
            "retryable rate_limited",
        ),
        (200, error("slow down", 429), "returned an error: 429: slow down", "retryable rate_limited"),
        (200, error("slow down", "429"), "returned an error: 429: slow down", "retryable rate_limited"),
        (200, error("no", None, "invalid_request_error"), "returned an error: invalid_request_error: no", ""),
        (200, error("no", "invalid_api_key"), "returned an error: invalid_api_key: no", "fatal"),
        (200, error("gone", 503), "returned an error: 503: gone", "retryable rate_limited"),
        (200, b'{"error": "something"}', "returned an error: something", "retryable"),
        (200, b'{"error": {"message": null}, "id": "1"}', "returned a response without choices, with the keys error, id", "retryable"),
        (200, b"{}", "returned a response without choices, with no keys", "retryable"),
        (200, b'{"message": "loading"}', "returned a response without choices, with the key message", "retryable"),
        (200, b'{"choices": null}', "returned no prediction: the response has no choices", "retryable"),
        (200, b'{"choices": [7]}', "returned an invalid response: choices[0]: expected an object, got a number", "retryable"),
        (200, b'{"choices": [{}]}', "returned an invalid response: choices[0]: no prediction found, got no keys", "retryable"),
        (200, completion({"role": "user", "content": "hi"}), "role: expected 'assistant', got 'user'", "retryable"),
        (200, b"", "expected a JSON object, got an empty response", "retryable"),
        (200, b"[]", "expected a JSON object, got text that starts with '[]'", "retryable"),
        (200, b"data: {}", "expected a JSON object, got text that starts with 'data: {}'", "retryable"),
        (200, b'{"choices": [{"message": {"role": "assistant", "content": "\xff"}}]}', "got text that starts with", "retryable"),
    ],
)
def test_error_response_says_why(status: int, body: bytes, sentence: str, expected_flags: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_completion(HttpResponse(status, {}, body), ModelSettings())
    assert sentence in str(caught.value)
    assert flags(caught.value) == expected_flags
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "headers, retry_after",
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
def test_retry_after_header_is_read(status: int, headers: dict[str, str], retry_after: float | None) -> None:
    with pytest.raises(ModelError) as caught:
        read_completion(HttpResponse(status, headers, b""), ModelSettings())
    assert caught.value.retry_after == retry_after


def test_redirect_is_not_followed_and_its_secrets_are_hidden() -> None:
    away = Response(307, b"", {"Location": "https://me:secret@elsewhere/v1?token=secret"})
    with chat_server(lambda number, request, attempt: away) as server:
        problem = model_error(f"{server.url}#m")
    assert str(problem) == (
        f"{server.url}/chat/completions returned HTTP 307 Temporary Redirect, a redirect to https://…@elsewhere/v1?…;"
        " redirects are not followed, so use the final URL"
    )
    assert flags(problem) == "fatal"
    assert len(server.requests) == 1


CALL = call("f", {"a": 1})
TAGGED = '<think>hm</think>so: <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
CALLS = (Call("f", {"a": 1}, "c1"),)
PARSED = (Call("f", {"a": 1}),)
MALFORMED = (Call("f", {}, "c1", "arguments: lone surrogate", '{"a":"\\\\ud800"}'),)


@pytest.mark.parametrize(
    "body, settings, prediction",
    [
        (completion(assistant(CALL, text="let me see")), {}, Prediction("", 0, CALLS, "let me see", finish_reason="stop")),
        (completion(assistant(text="hello"), "length"), {}, Prediction("", 0, (), "hello", finish_reason="length")),
        (completion(assistant(text=None)), {}, Prediction("", finish_reason="stop")),
        (completion({**assistant(CALL), "reasoning_content": "hm"}), {}, Prediction("", 0, CALLS, "", "hm", finish_reason="stop")),
        (
            completion({"role": "assistant", "content": None, "refusal": "I won't"}),
            {},
            Prediction("", 0, (), "I won't", finish_reason="stop"),
        ),
        (completion(None, "content_filter"), {}, Prediction("", finish_reason="content_filter")),
        (completion({}, "content_filter"), {}, Prediction("", finish_reason="content_filter")),
        (completion({"content": None}, "content_filter"), {}, Prediction("", finish_reason="content_filter")),
        (completion({"role": "assistant"}, "content_filter"), {}, Prediction("", finish_reason="content_filter")),
        (completion(assistant(text=TAGGED)), {"parse": "hermes"}, Prediction("", 0, PARSED, "so:", "hm", finish_reason="stop")),
        (completion(assistant(text=TAGGED)), {"tools_in_prompt": "free"}, Prediction("", 0, PARSED, "so:", "hm", finish_reason="stop")),
        (
            completion(assistant(text="so it is f(a=1), then")),
            {"tools_in_prompt": "free"},
            Prediction("", 0, (), "so it is f(a=1), then", finish_reason="stop"),
        ),
        (
            completion(assistant(text="nothing to call")),
            {"tools_in_prompt": "free"},
            Prediction("", 0, (), "nothing to call", finish_reason="stop"),
        ),
        (
            completion(assistant(text='{"name": "f", "arguments": {"a": 1}}')),
            {"tools_in_prompt": "constrained"},
            Prediction("", 0, PARSED, finish_reason="stop"),
        ),
        (
            completion(assistant(text='{"reply": "hello"}')),
            {"tools_in_prompt": "constrained"},
            Prediction("", 0, (), "hello", finish_reason="stop"),
        ),
        (completion(assistant(CALL, text=TAGGED)), {"parse": "hermes"}, Prediction("", 0, CALLS, TAGGED, finish_reason="stop")),
        (
            completion(assistant(CALL), usage={"prompt_tokens": 9, "completion_tokens": 3}),
            {},
            Prediction("", 0, CALLS, finish_reason="stop", usage=Usage(0.0, 9, 3)),
        ),
        (
            completion(assistant(CALL), usage={"prompt_tokens": -1, "completion_tokens": "3"}),
            {},
            Prediction("", 0, CALLS, finish_reason="stop"),
        ),
        (completion(assistant(CALL), usage=None), {}, Prediction("", 0, CALLS, finish_reason="stop")),
        (completion(assistant(CALL), usage=[]), {}, Prediction("", 0, CALLS, finish_reason="stop")),
        (completion(assistant(CALL), finish_reason=7), {}, Prediction("", 0, CALLS)),  # type: ignore[arg-type]
        (completion(assistant(text="\ud800")), {}, Prediction("", 0, (), "\\ud800", finish_reason="stop")),
        (
            completion(assistant({"id": "c1", "function": {"name": "f", "arguments": {"a": "\ud800"}}})),
            {},
            Prediction("", 0, MALFORMED, finish_reason="stop"),
        ),
        (completion(assistant(CALL), error=None), {}, Prediction("", 0, CALLS, finish_reason="stop")),
    ],
)
def test_completion_is_read(body: bytes, settings: dict[str, Any], prediction: Prediction) -> None:
    assert read_completion(HttpResponse(200, {}, body), ModelSettings(**settings), tools=(Tool("f"),)) == prediction


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({}, '"<tool_call>" (Hermes, Qwen) in the text of a response without calls (--parse auto parses it)'),
        ({"parse": "mistral"}, '"<tool_call>" (Hermes, Qwen)'),
    ],
)
def test_calls_that_are_not_parsed_are_an_error(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ModelError) as raised:
        read_completion(HttpResponse(200, {}, completion(assistant(text=TAGGED))), ModelSettings(**settings), tools=(Tool("f"),))
    assert str(raised.value) == f"unrecognized tool-call format: {reason}"


def test_compressed_response_is_read() -> None:
    packed = Response(200, gzip.compress(completion(assistant(CALL))), {"Content-Encoding": "gzip"})
    with chat_server(lambda number, request, attempt: packed) as server:
        assert predict(f"{server.url}#m").calls == CALLS


def test_response_beyond_the_size_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "MAX_RESPONSE_BYTES", 1 << 20)
    bomb = Response(200, gzip.compress(b" " * (8 << 20)), {"Content-Encoding": "gzip"})
    for endless in (bomb, Response(200, b" " * (2 << 20))):
        with chat_server(lambda number, request, attempt, endless=endless: endless) as server:  # type: ignore[misc]
            problem = model_error(f"{server.url}#m")
        assert str(problem) == f"{server.url}/chat/completions returned more than 1 MB, which is the limit"
        assert flags(problem) == ""


def test_request_of_megabytes_is_sent_without_a_warning() -> None:
    with chat_server() as server:
        assert predict(f"{server.url}#m", asked=case("order 17 " + "x" * (3 << 20))).calls == (CORRECT,)


def test_case_without_messages_raises_model_error() -> None:
    with chat_server() as server:
        problem = model_error(f"{server.url}#m", asked=Case("c1", instructions="be rude"))
    assert "c1" in str(problem)
    assert flags(problem) == ""
    assert not server.requests


def test_canceled_prediction_leaves_no_connection_open() -> None:
    async def once() -> None:
        async with chat_model(read_spec(f"{server.url}#m", Keys()), ModelSettings(), Keys()) as model:
            pending = [asyncio.create_task(model.predict(case(f"order {number}"))) for number in range(5)]
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


def test_exception_inside_the_context_closes_connections() -> None:
    async def once() -> None:
        async with chat_model(read_spec(f"{server.url}#m", Keys()), ModelSettings(), Keys()) as model:
            await model.predict(case())
            raise LookupError

    with chat_server() as server, pytest.raises(LookupError):
        asyncio.run(once())
    gc.collect()


def test_connections_are_reused() -> None:
    async def many() -> int:
        async with chat_model(read_spec(f"{server.url}#m", Keys()), ModelSettings(), Keys()) as model:
            for _ in range(20):
                await model.predict(case())
            return len(server.connections)

    with chat_server() as server:
        assert asyncio.run(many()) == 1


def test_missing_key_is_found_before_any_request() -> None:
    with pytest.raises(BadInput, match="^openai:m: OPENAI_API_KEY is not set$"):
        chat_model(read_spec("openai:m", Keys()), ModelSettings(), Keys())


def test_fingerprint_has_all_that_affects_the_prediction_and_no_secret() -> None:
    def of(spec: str, asked: Case | None = None, trial: int = 0, **settings: Any) -> bytes:
        keys = Keys({"CALLMARK_API_KEY": KEY})
        return chat_model(read_spec(spec, keys), ModelSettings(**settings), keys).fingerprint(asked or case(), trial) or b""

    one = of("http://h/v1#m")
    assert one == of("http://h/v1#m")
    assert one == of("http://h/v1#m", case(), trial=3)
    assert one.startswith(b"http://h/v1/chat/completions\n")
    assert of("http://h/v1#m", Case("c1", instructions="be rude")) == b""
    others = [
        of("http://h/v1#other"),
        of("http://other/v1#m"),
        of("http://h/v1#m", case("order 18")),
        of("http://h/v1#m", temperature=1.0),
        of("http://h/v1#m", parse="hermes"),
        of("http://h/v1#m", tools_in_prompt="free"),
        of(f"http://h/v1?tenant={quote(KEY)}#m"),
        of("http://h/v1?tenant=somebody-else#m"),
    ]
    assert len({one, *others}) == len(others) + 1
    assert not any(b"zebra" in each or b"somebody" in each for each in others)
    assert one == of("http://h/v1#m", timeout=1.0, concurrency=3)


def test_test_server_logs_each_request_before_it_responds(tmp_path: Path) -> None:
    log = tmp_path / "asked.jsonl"
    command = [sys.executable, "-m", "tests.chat_server", "--log", str(log), "--faults", "1", "--latency", "0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            problem = model_error(f"{url}#m")
            assert [json.loads(line)["attempt"] for line in log.read_text().splitlines()] == [0]
            assert predict(f"{url}#m").calls == (CORRECT,)
        finally:
            process.kill()
    assert str(problem).endswith("Rate limit reached")  # with a share of 1, only the first fault occurs
    assert [(line["user"], line["attempt"]) for line in map(json.loads, log.read_text().splitlines())] == [("order 17", 0), ("order 17", 1)]


def test_faults_hit_their_share_of_requests_reproducibly() -> None:
    requests = [{"messages": [{"role": "user", "content": f"order {number}"}]} for number in range(4000)]
    befell = Counter(fault_of(request, 0.05) for request in requests)
    assert set(befell) == {*FAULTS, "answer"}
    assert all(150 < befell[fault] < 250 for fault in FAULTS)
    assert befell == Counter(fault_of(request, 0.05) for request in reversed(requests))
    plan = faulty(0.05)
    assert [plan(0, request, 0) for request in requests] == [fault_of(request, 0.05) for request in requests]
    assert {plan(0, request, 1) for request in requests} == {"answer"}


LEAKS: dict[str, ResponsePlan] = {
    **{fault: (lambda number, request, attempt, fault=fault: fault) for fault in (*FAULTS, "echo headers", "answer")},  # type: ignore[misc]
    "key in a redirect": lambda number, request, attempt: Response(302, b"", {"Location": f"http://me:{KEY}@h/{KEY}?k={KEY}"}),
    "key in the page": lambda number, request, attempt: Response(200, f"<html><title>{KEY}</title>".encode()),
    "key in the text": lambda number, request, attempt: Response(200, f"not for {KEY}".encode()),
    "key in JSON": lambda number, request, attempt: Response(401, error(f"bad key {KEY}").replace(b"/", b"\\/")),
    "key cut in two by the limit": lambda number, request, attempt: Response(400, error("x" * 290 + KEY)),
    "key in the answer": lambda number, request, attempt: Response(200, completion(assistant(call("f", {"k": KEY}), text=KEY), KEY)),
    "key in a field": lambda number, request, attempt: Response(200, json.dumps({KEY: 1, "status": "error"}).encode()),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "CALLMARK_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize("plan", LEAKS)
def test_key_is_in_no_output(plan: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    secret = quote(KEY, safe="")
    with chat_server(LEAKS[plan], slow=0.5) as server:
        monkeypatch.setenv("CALLMARK_API_KEY", KEY)
        specs = [f"{server.url}#m", f"{server.url.replace('//', f'//me:{secret}@')}#m", f"{server.url}?token={secret}#m"]
        (folder / ".env").write_text(f"OPENAI_API_KEY='{KEY}'\nOPENAI_BASE_URL={server.url}\n", encoding="utf-8")
        for text in (*specs, "openai:m"):
            sentence = visible_output(text)
            assert "zebra" not in sentence
            assert "0123456789" not in sentence
            assert "emVicmE" not in sentence  # zebra in base64
    for asked in server.requests:
        assert KEY in asked.headers.get("authorization", "") or "Basic" in asked.headers["authorization"]
    assert "zebra" not in "".join(capfd.readouterr())


def visible_output(text: str) -> str:
    """Return everything that is shown of a model and its prediction."""
    keys = Keys.here()
    spec = read_spec(text, keys)
    model = chat_model(spec, ModelSettings(timeout=0.1), keys)

    async def once() -> str:
        async with model:
            try:
                return repr(await model.predict(case()))
            except ModelError as problem:
                return f"{problem} {problem!r} {problem.args}"

    sentence = asyncio.run(once())
    return f"{sentence} {model!r} {model.label} {spec} {spec.shown} {keys} {model.fingerprint(case(), 0)!r}"


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
def test_azure_requests_carry_an_entra_token(signed_in: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "azure" / "identity").mkdir(parents=True)
    (tmp_path / "azure" / "identity" / "__init__.py").write_text(f"SIGNED_IN = {signed_in}\n{IDENTITY}", encoding="utf-8")
    for name in [name for name in sys.modules if name.split(".")[0] == "azure"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        with chat_server("echo headers") as server:
            keys = Keys({"AZURE_OPENAI_ENDPOINT": server.url.removesuffix("/v1"), "OTHER_TOKEN": "entra-zebra-0123456789"})
            problem = model_error("azure:d", keys=keys)
        if signed_in:
            assert server.requests[0].path == "/openai/deployments/d/chat/completions?api-version=2024-10-21"
            assert server.requests[0].headers["authorization"] == "Bearer entra-zebra-0123456789"
        else:
            assert str(problem) == "azure-identity returned no token for Azure: nobody is signed in with …"
            assert flags(problem) == "fatal"
        assert "zebra" not in str(problem)
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "azure"]:
            del sys.modules[name]
