"""A chat server on loopback that implements HTTP by hand, so that it can also implement it badly.

    with chat_server(plan) as server:      in a thread of its own; server.url, server.requests
    python -m tests.chat_server --port 0 --log FILE --latency 0.1 --faults 0.05      a process; prints its address first

It responds with a call of the first tool whose argument is the number in the last user message: `order 17` gives `{"order_id": "17"}`;
without tools its text is the number. A plan is a function of the request's number, its JSON and how often the same body came before; it
returns `"answer"`, one of the `FAULTS`, `"echo headers"`, or a `Response` of its own. A log has a line for each request, written before
the response, so that it is complete whenever the client is killed.
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
SCORED_FAULTS = frozenset({"slow headers", "unknown finish reason", "arguments that are not JSON", "duplicate ids"})  # are predictions
PAGE = b"<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>nginx</body></html>"
_NUMBER = re.compile(r"\d+")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


class Response(Struct, frozen=True):
    """A response to send. `length` is what Content-Length claims, where that is not true."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}
    length: int | None = None


class ReceivedRequest(Struct, frozen=True):
    """A request that was received; header names are lower-case. `attempt` is how often the same body came before."""

    path: str
    headers: dict[str, str]
    body: Any
    attempt: int


ResponsePlan = Callable[[int, Any, int], str | Response]


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


def faulty(share: float, *, seed: int = 0, tries: int = 1, faults: tuple[str, ...] = FAULTS) -> ResponsePlan:
    """Return a plan in which each fault hits that share of the bodies, the first `tries` times that they are sent."""

    def plan(number: int, request: Any, attempt: int) -> str:
        return fault_of(request, share, seed=seed, faults=faults) if attempt < tries else "answer"

    return plan


def fault_of(request: Any, share: float, *, seed: int = 0, faults: tuple[str, ...] = FAULTS) -> str:
    """Return the fault that hits a request under `faulty`, or `"answer"`."""
    place = crc32(f"{seed} {json.dumps(request, sort_keys=True)}".encode()) / 2**32
    index = int(place / share) if share else len(faults)
    return faults[index] if index < len(faults) else "answer"


class ChatServer:
    """A server, and the requests that it received."""

    def __init__(
        self, plan: ResponsePlan | None = None, *, latency: float = 0.0, slow: float = 0.3, log: int | None = None, record: bool = True
    ) -> None:
        self.url = ""
        self.requests: list[ReceivedRequest] = []
        self.number = 0
        self.connections: set[asyncio.Transport] = set()
        self._plan = plan
        self._latency = latency
        self._slow = slow
        self._log = log
        self._record = record
        self._attempts: Counter[bytes] = Counter()

    async def start(self, port: int = 0) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port, backlog=1024)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        return server

    def respond(self, transport: asyncio.Transport, head: bytes, body: bytes) -> None:
        """Record the request and respond to it, sooner or later."""
        number = self.number
        self.number += 1
        body = body or b"{}"  # of a GET request
        try:
            request = _read(body)
        except msgspec.MsgspecError as problem:
            transport.write(_encode(Response(400, _error(str(problem), "invalid_request_error"))))
            return
        attempt = 0
        if self._plan is not None or self._log is not None:
            digest = blake2b(body, digest_size=8).digest()
            attempt = self._attempts[digest]
            self._attempts[digest] += 1
            if self._log is not None:
                line = {"number": number, "at": time.time(), "model": request.model, "user": _last_user(request)}
                os.write(self._log, _write({**line, "attempt": attempt, "body": digest.hex()}) + b"\n")
        if self._record:
            start, *lines = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            self.requests.append(ReceivedRequest(start.split(" ")[1], headers, msgspec.json.decode(body), attempt))
        planned = self._plan(number, msgspec.json.decode(body), attempt) if self._plan else "answer"
        if self._latency:
            asyncio.get_running_loop().call_later(self._latency, self._send, transport, planned, request, head, len(body))
        else:
            self._send(transport, planned, request, head, len(body))

    def _send(self, transport: asyncio.Transport, planned: str | Response, request: _Request, head: bytes, size: int) -> None:
        if transport.is_closing() or planned == "hang":
            return
        if planned == "slow headers":
            whole = _encode(Response(body=_completion(request, size)))
            transport.write(whole[:20])
            asyncio.get_running_loop().call_later(self._slow, transport.write, whole[20:])
            return
        response = planned if isinstance(planned, Response) else _planned_response(planned, request, head, size)
        transport.write(_encode(response))
        if response.length is not None:
            transport.close()


class _Connection(asyncio.Protocol):
    """One connection, kept alive: receives requests one after the other."""

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
                taken = _read_chunked(self._data, end + 4)
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
            self._server.respond(self._transport, head, body)


def _read_chunked(data: bytes, at: int) -> tuple[bytes, int] | None:
    """Return the body of a chunked request and where it ends; None while some of it is missing."""
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


def _planned_response(name: str, request: _Request, head: bytes, size: int) -> Response:
    match name:
        case "answer":
            return Response(body=_completion(request, size))
        case "429":
            return Response(429, _error("Rate limit reached", "rate_limit_exceeded"))
        case "429 with Retry-After":
            return Response(429, _error("Rate limit reached", "rate_limit_exceeded"), {"Retry-After": "1"})
        case "500":
            return Response(500, _error("The server had an error", "server_error"))
        case "503":
            return Response(503, b"upstream connect error", {"Content-Type": "text/plain"})
        case "cut body":
            whole = _completion(request, size)
            return Response(body=whole[: len(whole) // 2], length=len(whole))
        case "invalid JSON":
            return Response(body=_completion(request, size)[:-20])
        case "HTML":
            return Response(body=PAGE, headers={"Content-Type": "text/html"})
        case "error object":
            return Response(body=_error("The engine is busy", "engine_error"))
        case "empty choices":
            return Response(body=_write({"id": "chatcmpl-1", "object": "chat.completion", "choices": []}))
        case "unknown finish reason":
            return Response(body=_completion(request, size, finish="eos_token"))
        case "arguments that are not JSON":
            return Response(body=_completion(request, size, arguments='{"order_id": '))
        case "duplicate ids":
            return Response(body=_completion(request, size, times=2))
        case "echo headers":
            return Response(500, _error("your request was " + head.decode("latin-1"), "server_error"))
    raise ValueError(f"no plan is called {name!r}")


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


def _encode(response: Response) -> bytes:
    headers = {"Content-Type": "application/json", **response.headers}
    length = len(response.body) if response.length is None else response.length
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"HTTP/1.1 {response.status} X\r\n{lines}Content-Length: {length}\r\n\r\n".encode("latin-1") + response.body


@contextmanager
def chat_server(plan: ResponsePlan | str | None = None, *, latency: float = 0.0, slow: float = 0.3) -> Iterator[ChatServer]:
    """Run a server in a thread of its own. A plan that is a word applies to every request."""
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
    options = parser.parse_args()
    log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if options.log else None
    plan = faulty(options.faults, seed=options.seed, tries=options.tries) if options.faults else None
    asyncio.run(_serve(ChatServer(plan, latency=options.latency, slow=options.slow, log=log, record=False), options.port))


if __name__ == "__main__":
    main()
