"""MCP servers over HTTP that lie: bodies without end, redirects, wrong types, compressed and broken responses."""

import asyncio
import gzip
import json
import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelError
from callmark.simulation.toolboxes import connection, open_tools

USER, PASSWORD = "me", "passw0rd-of-the-tools"
KEY = b64encode(f"{USER}:{PASSWORD}".encode())
Answer = Callable[[socket.socket], None]


@contextmanager
def listener(answer: Answer) -> Iterator[tuple[int, list[bytes]]]:
    """Serve every connection with `answer`; yield the port, and the first bytes of every request."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        stop = threading.Event()

        def serve_one(client: socket.socket) -> None:
            with client, suppress(OSError):
                client.settimeout(5)
                received.append(client.recv(1 << 16))
                answer(client)

        def serve() -> None:
            while not stop.is_set():
                with suppress(TimeoutError):
                    client, _ = server.accept()
                    threading.Thread(target=serve_one, args=(client,), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1], received
        finally:
            stop.set()
            thread.join(5)


def respond(head: str, *body: bytes, repeat: bytes = b"") -> Answer:
    """Return an answer with these headers and this body, followed by `repeat` without end."""

    def answer(client: socket.socket) -> None:
        client.sendall(f"HTTP/1.1 {head}\r\n\r\n".replace("\n", "\r\n").replace("\r\r", "\r").encode() + b"".join(body))
        while repeat:
            client.sendall(repeat)

    return answer


def json_body(value: object) -> Answer:
    body = json.dumps(value).encode()
    return respond(f"200 OK\nContent-Type: application/json\nContent-Length: {len(body)}", body)


def silent(client: socket.socket) -> None:
    while client.recv(1 << 16):
        pass


HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}},
}
BOMB = gzip.compress(bytes(50_000_000))
LYING: dict[str, Answer] = {
    "no answer": silent,
    "closes": lambda client: None,
    "not HTTP": lambda client: client.sendall(b"\x00\xff\x1b[31m" * 1000),
    "JSON without end": respond("200 OK\nContent-Type: application/json", repeat=b"[" * 65536),
    "chunks without end": respond(
        "200 OK\nContent-Type: application/json\nTransfer-Encoding: chunked", repeat=b"1000\r\n" + b" " * 4096 + b"\r\n"
    ),
    "an event without end": respond("200 OK\nContent-Type: text/event-stream", b"data: ", repeat=b"x" * 65536),
    "events without end": respond("200 OK\nContent-Type: text/event-stream", repeat=b"event: message\ndata: {}\n\n" * 1000),
    "comments without end": respond("200 OK\nContent-Type: text/event-stream", repeat=b": hi\n\n" * 1000),
    "headers without end": respond("200 OK", repeat=b"X-A: " + b"a" * 65536 + b"\r\n"),
    "one large header": respond(f"200 OK\nX-A: {'a' * 1_000_000}", b"{}"),
    "HTML": respond("200 OK\nContent-Type: text/html\nContent-Length: 6", b"<html>"),
    "no type": respond("200 OK\nContent-Length: 2", b"{}"),
    "type of another kind": respond("200 OK\nContent-Type: \x1b[31m; charset=x\nContent-Length: 2", b"{}"),
    "compressed": respond(f"200 OK\nContent-Type: application/json\nContent-Encoding: gzip\nContent-Length: {len(BOMB)}", BOMB),
    "length of less than zero": respond("200 OK\nContent-Type: application/json\nContent-Length: -1", b"{}"),
    "length that is too great": respond("200 OK\nContent-Type: application/json\nContent-Length: 1000", b"{}"),
    "deep JSON": respond("200 OK\nContent-Type: application/json\nContent-Length: 200000", b"[" * 200_000),
    "another id": json_body({**HELLO, "id": "other"}),
    "a list": json_body([HELLO] * 3),
    "an error": json_body({"jsonrpc": "2.0", "id": 0, "error": {"code": -1, "message": "\x1b[31m::error::" * 1000}}),
    "unauthorized": respond('401 No\nWWW-Authenticate: Bearer resource_metadata="http://127.0.0.1:{other}/x"\nContent-Length: 0'),
    "redirect to a file": respond("307 Moved\nLocation: file:///etc/passwd\nContent-Length: 0"),
    "redirect to itself": respond("307 Moved\nLocation: /mcp\nContent-Length: 0"),
    "redirect to another port": respond("307 Moved\nLocation: http://127.0.0.1:{other}/mcp\nContent-Length: 0"),
    "redirect to another host": respond("308 Moved\nLocation: http://localhost:{other}/mcp\nContent-Length: 0"),
    "redirect without address": respond("302 Moved\nContent-Length: 0"),
    "session with line breaks": respond("200 OK\nMcp-Session-Id: a\x00b\nContent-Type: application/json\nContent-Length: 2", b"{}"),
}


@pytest.mark.parametrize("name", LYING)
def test_lying_server_is_refused_and_no_other_address_is_reached(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "START_TIMEOUT", 0.7)
    monkeypatch.setattr(connection, "GRACE_PERIOD", 0.2)
    monkeypatch.setattr(connection, "_MAX_BODY", 2_000_000)
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)

    async def open_and_close(address: str) -> None:
        async with open_tools([f"mcp:http://{USER}:{PASSWORD}@{address}/mcp"], timeout=0.7, keys=Keys()):
            raise AssertionError("the server was accepted")

    with listener(json_body(HELLO)) as (other, others):

        def answer(client: socket.socket) -> None:
            LYING[name](_Filled(client, other))  # type: ignore[arg-type]

        with listener(answer) as (port, received), pytest.raises(BadInput) as error:
            asyncio.run(open_and_close(f"127.0.0.1:{port}"))
    sentence = f"{error.value} {error.value.hint}"
    assert sentence.startswith(f"the tool server http://…@127.0.0.1:{port}/mcp ")
    assert PASSWORD not in sentence
    assert KEY.decode() not in sentence
    assert len(sentence) < 1500
    assert any(KEY in request for request in received)
    assert others == []


class _Filled:
    """A socket that writes the port of the other server where an answer has a place for it."""

    def __init__(self, client: socket.socket, other: int) -> None:
        self._client = client
        self._other = str(other).encode()
        self.recv = client.recv

    def sendall(self, data: bytes) -> None:
        self._client.sendall(data.replace(b"{other}", self._other))


@pytest.mark.parametrize(
    "name, reason",
    [
        ("compressed", "the connection was lost: the response is compressed, although that was not requested"),
        ("JSON without end", "the connection was lost: the response is larger than 1 MB"),
        ("no answer", "it did not complete the MCP handshake within 0.7 s"),
    ],
)
def test_reason_is_named(name: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "START_TIMEOUT", 0.7)
    monkeypatch.setattr(connection, "_MAX_BODY", 2_000_000)

    async def start(port: int) -> None:
        await connection.Connection(
            connection.read_server(f"http://127.0.0.1:{port}/mcp", Keys()), timeout=0.7, keys=Keys(), mode="legacy"
        ).start()

    with listener(LYING[name]) as (port, _), pytest.raises(ModelError, match=reason):
        asyncio.run(start(port))
