"""Three agents over HTTP, each with an API of another shape, on loopback. They need the bearer token TOKEN.

    FastAPI        POST /chat {"text", "user": {"id"}} → {"data": {"answer": {"text"}, "trace": {"tools": […]}}}
    Responses      POST /v1/responses {"input", "previous_response_id"} → a Responses object; with `"stream": true` as server-sent events
    Direct Line    POST …/conversations, POST …/conversations/ID/activities, GET …/conversations/ID/activities?watermark=N

All of them are the same agent: it asks for the city, then books it (`book(city=…)`), and forgets nothing of its conversation.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

TOKEN = "planted-bearer-token-7431"


class Turn(Struct):
    """What the agent does: its text, and the city that it books, if any."""

    text: str
    city: str = ""


class BookingAgent:
    """The agent. `heard` are the user's messages by conversation; `requests` are the requests: method, path, headers and body."""

    def __init__(self) -> None:
        self.heard: dict[str, list[str]] = {}
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.activities: dict[str, list[dict[str, Any]]] = {}

    def reply(self, conversation: str, text: str) -> Turn:
        heard = self.heard.setdefault(conversation, [])
        heard.append(text)
        city = re.search(r"\b(Lima|Oslo)\b", text)
        return Turn(f"Booked {city[1]}, after {len(heard)} messages. Goodbye!", city[1]) if city else Turn("Which city?")


class _Handler(BaseHTTPRequestHandler):
    agent: BookingAgent

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null"))

    def do_GET(self) -> None:
        self._answer(None)

    def _answer(self, body: Any) -> None:
        self.agent.requests.append((self.command, self.path, dict(self.headers), body))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._send(401, {"error": {"message": f"wrong key: {self.headers.get('Authorization')}"}})
            return
        path = urlsplit(self.path).path
        if path == "/chat":
            turn = self.agent.reply(body["user"]["id"], body["text"])
            tools = [{"tool": "book", "args": {"city": turn.city}}] if turn.city else []
            self._send(200, {"data": {"answer": {"text": turn.text}, "trace": {"tools": tools}}})
        elif path == "/v1/responses":
            self._respond(body)
        else:
            self._direct_line(path, body)

    def _respond(self, body: Any) -> None:
        earlier = body["previous_response_id"]
        turn = self.agent.reply(earlier.partition("-")[0] if earlier else f"c{len(self.agent.heard)}", body["input"])
        conversation = earlier.partition("-")[0] if earlier else f"c{len(self.agent.heard) - 1}"
        call = {"type": "function_call", "call_id": "c1", "name": "book", "arguments": json.dumps({"city": turn.city})}
        result = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn.text}]}
        response = {
            "id": f"{conversation}-{len(self.agent.requests)}",
            "object": "response",
            "error": None,
            "output": [*([call, result] if turn.city else []), message],
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
        if not body.get("stream"):
            self._send(200, response)
            return
        events: list[dict[str, Any]] = [{"type": "response.output_text.delta", "delta": word} for word in turn.text.split()]
        events.append({"type": "response.completed", "response": response})
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(200, (": comment\n\n" + text + "data: [DONE]\n\n").encode(), kind="text/event-stream")

    def _direct_line(self, path: str, body: Any) -> None:
        conversation = path.split("/")[4] if path.count("/") > 3 else ""
        if not conversation:
            new = f"conversation {len(self.agent.activities)}"  # its space must be percent-encoded in a URL
            self.agent.activities[new] = []
            self._send(201, {"conversationId": new, "expires_in": 3600})
            return
        activities = self.agent.activities[conversation.replace("%20", " ")]
        if self.command == "POST":
            turn = self.agent.reply(conversation, body["text"])
            activities.append({**body, "id": f"{len(activities)}"})
            activities.append({"type": "typing", "from": {"id": "bot"}})
            calls = [{"name": "book", "arguments": {"city": turn.city}}] if turn.city else []
            activities.append({"type": "message", "from": {"id": "bot"}, "text": turn.text, "channelData": {"calls": calls}})
            self._send(200, {"id": f"{len(activities)}"})
            return
        (mark,) = parse_qs(urlsplit(self.path).query).get("watermark", ["0"])
        self._send(200, {"activities": activities[int(mark) :], "watermark": str(len(activities))})

    def _send(self, status: int, body: Any, kind: str = "application/json") -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is given
        pass


@contextmanager
def serve_agent() -> Iterator[tuple[str, BookingAgent]]:
    """Serve all three on one free port; yield the address and the agent."""
    agent = BookingAgent()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"agent": agent}))
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", agent
    finally:
        server.shutdown()
        server.server_close()
