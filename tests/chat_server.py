"""A chat server on loopback that speaks HTTP by hand, so that it can also speak it badly.

    with chat_server(plan) as server:      in a thread of its own; server.url, server.requests
    python -m tests.chat_server --port 0 --log FILE --latency 0.1 --faults 0.05      a process; prints its address first

It answers with a call of the first tool whose argument is the number in the last user message: `order 17` gives `{"order_id": "17"}`;
without tools it says the number. A plan is a function of the request's number, its JSON and how often the same body was there before; it
gives `"answer"`, one of the `FAULTS`, `"echo headers"`, or an `Answer` of its own. A log has a line for each request, written
before it is answered, so that it tells what was asked whenever the asker was killed.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Struct

FAULTS = (
    "429",
    "429 with Retry-After",
    "500",
    "503",
    "slow headers",
    "cut body",
    "invalid JSON",
    "HTML",
    "error object",
    "empty choices",
    "unknown finish reason",
    "arguments that are not JSON",
    "duplicate ids",
    "hang",
)
REPLIES = frozenset({"slow headers", "unknown finish reason", "arguments that are not JSON", "duplicate ids"})  # faults that are answers
PAGE = b"<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>nginx</body></html>"
_NUMBER = re.compile(r"\d+")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


class Answer(Struct, frozen=True):
    """An answer as it is to be sent: status, body, headers. `length` is what Content-Length claims, where that is not true."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}
    length: int | None = None


class Asked(Struct, frozen=True):
    """A request as it came in: its headers have small letters. `attempt` is how often the same body was there before."""

    path: str
    headers: dict[str, str]
    body: Any
    attempt: int


Plan = Callable[[int, Any, int], str | Answer]


class _Message(Struct):
    role: str = ""
    content: Any = None


class _Function(Struct):
    name: str
    parameters: dict[str, Any] = {}


class _Tool(Struct):
    function: _Function


class _Request(Struct):
    model: str = ""
    messages: list[_Message] = []
    tools: list[_Tool] = []


_read = msgspec.json.Decoder(_Request).decode
_write = msgspec.json.Encoder().encode


def faulty(share: float, *, seed: int = 0, tries: int = 1, faults: tuple[str, ...] = FAULTS) -> Plan:
    """A plan in which each fault befalls that share of the bodies, the first `tries` times that they are sent; then they are answered."""

    def plan(number: int, request: Any, attempt: int) -> str:
        return fault_of(request, share, seed=seed, faults=faults) if attempt < tries else "answer"

    return plan


def fault_of(request: Any, share: float, *, seed: int = 0, faults: tuple[str, ...] = FAULTS) -> str:
    """The fault that befalls a request under `faulty`, or `"answer"`."""
    place = crc32(f"{seed} {json.dumps(request, sort_keys=True)}".encode()) / 2**32
    index = int(place / share) if share else len(faults)
    return faults[index] if index < len(faults) else "answer"


class ChatServer:
    """What a server does and what it saw."""

    def __init__(
        self, plan: Plan | None = None, *, latency: float = 0.0, slow: float = 0.3, log: int | None = None, keep: bool = True
    ) -> None:
        self.url = ""
        self.requests: list[Asked] = []
        self.number = 0
        self.connections: set[asyncio.Transport] = set()
        self._plan = plan
        self._latency = latency
        self._slow = slow
        self._log = log
        self._keep = keep
        self._attempts: Counter[bytes] = Counter()

    async def start(self, port: int = 0) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port, backlog=1024)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        return server

    def answer(self, transport: asyncio.Transport, head: bytes, body: bytes) -> None:
        """Notes the request and answers it, sooner or later."""
        number = self.number
        self.number += 1
        try:
            request = _read(body)
        except msgspec.MsgspecError as problem:
            transport.write(_written(Answer(400, _error(str(problem), "invalid_request_error"))))
            return
        attempt = 0
        if self._plan is not None or self._log is not None:
            digest = blake2b(body, digest_size=8).digest()
            attempt = self._attempts[digest]
            self._attempts[digest] += 1
            if self._log is not None:
                line = {"number": number, "at": time.time(), "model": request.model, "user": _last_user(request)}
                os.write(self._log, _write({**line, "attempt": attempt, "body": digest.hex()}) + b"\n")
        if self._keep:
            start, *lines = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            self.requests.append(Asked(start.split(" ")[1], headers, msgspec.json.decode(body), attempt))
        what = self._plan(number, msgspec.json.decode(body), attempt) if self._plan else "answer"
        if self._latency:
            asyncio.get_running_loop().call_later(self._latency, self._send, transport, what, request, head, len(body))
        else:
            self._send(transport, what, request, head, len(body))

    def _send(self, transport: asyncio.Transport, what: str | Answer, request: _Request, head: bytes, size: int) -> None:
        if transport.is_closing() or what == "hang":
            return
        if what == "slow headers":
            whole = _written(Answer(body=_completion(request, size)))
            transport.write(whole[:20])
            asyncio.get_running_loop().call_later(self._slow, transport.write, whole[20:])
            return
        answer = what if isinstance(what, Answer) else _made(what, request, head, size)
        transport.write(_written(answer))
        if answer.length is not None:
            transport.close()


class _Connection(asyncio.Protocol):
    """One connection, kept alive: takes in requests one after the other."""

    def __init__(self, server: ChatServer) -> None:
        self._server = server
        self._data = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end]
            if _CHUNKED.search(head):
                taken = _unchunked(self._data, end + 4)
                if taken is None:
                    return
                body, stop = taken
            else:
                length = _LENGTH.search(head)
                stop = end + 4 + (int(length[1]) if length else 0)
                if len(self._data) < stop:
                    return
                body = self._data[end + 4 : stop]
            self._data = self._data[stop:]
            self._server.answer(self._transport, head, body)


def _unchunked(data: bytes, at: int) -> tuple[bytes, int] | None:
    """The body of a chunked request and where it ends; None while some of it is missing."""
    pieces: list[bytes] = []
    while (end := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:end], 16)
        if len(data) < end + 4 + size:
            return None
        if not size:
            return b"".join(pieces), end + 4
        pieces.append(data[end + 2 : end + 2 + size])
        at = end + 4 + size
    return None


def _made(what: str, request: _Request, head: bytes, size: int) -> Answer:
    match what:
        case "answer":
            return Answer(body=_completion(request, size))
        case "429":
            return Answer(429, _error("Rate limit reached", "rate_limit_exceeded"))
        case "429 with Retry-After":
            return Answer(429, _error("Rate limit reached", "rate_limit_exceeded"), {"Retry-After": "1"})
        case "500":
            return Answer(500, _error("The server had an error", "server_error"))
        case "503":
            return Answer(503, b"upstream connect error", {"Content-Type": "text/plain"})
        case "cut body":
            whole = _completion(request, size)
            return Answer(body=whole[: len(whole) // 2], length=len(whole))
        case "invalid JSON":
            return Answer(body=_completion(request, size)[:-20])
        case "HTML":
            return Answer(body=PAGE, headers={"Content-Type": "text/html"})
        case "error object":
            return Answer(body=_error("The engine is busy", "engine_error"))
        case "empty choices":
            return Answer(body=_write({"id": "chatcmpl-1", "object": "chat.completion", "choices": []}))
        case "unknown finish reason":
            return Answer(body=_completion(request, size, finish="eos_token"))
        case "arguments that are not JSON":
            return Answer(body=_completion(request, size, arguments='{"order_id": '))
        case "duplicate ids":
            return Answer(body=_completion(request, size, times=2))
        case "echo headers":
            return Answer(500, _error("your request was " + head.decode("latin-1"), "server_error"))
    raise ValueError(f"no plan is called {what!r}")


def _error(message: str, code: str) -> bytes:
    return _write({"error": {"message": message, "type": code, "param": None, "code": code}})


def _completion(request: _Request, size: int, *, finish: str = "", arguments: str | None = None, times: int = 1) -> bytes:
    number = _NUMBER.search(_last_user(request))
    value = number[0] if number else ""
    message: dict[str, Any] = {"role": "assistant", "content": value}
    if request.tools:
        function = request.tools[0].function
        first = next(iter(function.parameters.get("properties") or ()), "order_id")
        text = json.dumps({first: value}) if arguments is None else arguments
        called = {"id": "call_1", "type": "function", "function": {"name": function.name, "arguments": text}}
        message = {"role": "assistant", "content": None, "tool_calls": [called] * times}
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if request.tools else "stop")}
    usage = {"prompt_tokens": size // 4, "completion_tokens": 12, "total_tokens": size // 4 + 12}
    return _write({"id": "chatcmpl-1", "object": "chat.completion", "model": request.model, "choices": [choice], "usage": usage})


def _last_user(request: _Request) -> str:
    for message in reversed(request.messages):
        if message.role == "user":
            return message.content if isinstance(message.content, str) else json.dumps(message.content)
    return ""


def _written(answer: Answer) -> bytes:
    headers = {"Content-Type": "application/json", **answer.headers}
    length = len(answer.body) if answer.length is None else answer.length
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"HTTP/1.1 {answer.status} X\r\n{lines}Content-Length: {length}\r\n\r\n".encode("latin-1") + answer.body


@contextmanager
def chat_server(plan: Plan | str | None = None, *, latency: float = 0.0, slow: float = 0.3) -> Iterator[ChatServer]:
    """A server in a thread of its own. A plan that is a word is always that."""
    always = plan
    server = ChatServer((lambda number, request, attempt: always) if isinstance(always, str) else always, latency=latency, slow=slow)
    loop = asyncio.new_event_loop()
    listening = loop.run_until_complete(server.start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def stop() -> None:
        listening.close()
        for transport in list(server.connections):
            transport.abort()
        await asyncio.sleep(0)

    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


async def _serve(server: ChatServer, port: int) -> None:
    listening = await server.start(port)
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    async with listening:
        await listening.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description="A chat server on loopback, for tests and benchmarks.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", help="a file that gets a line for each request")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--slow", type=float, default=0.3, help="seconds that slow headers take")
    parser.add_argument("--faults", type=float, default=0.0, help="the share of each fault")
    parser.add_argument("--tries", type=int, default=1, help="how often the same request meets its fault")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    log = os.open(given.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if given.log else None
    plan = faulty(given.faults, seed=given.seed, tries=given.tries) if given.faults else None
    asyncio.run(_serve(ChatServer(plan, latency=given.latency, slow=given.slow, log=log, keep=False), given.port))


if __name__ == "__main__":
    main()
