"""A stand-in for a model: an OpenAI-compatible chat server whose model is the help desk's rule-based agent with two planted mistakes.

It guesses the priority of a ticket, and it sets due dates a day late. Like a real model it knows only the messages and the tools of a
request, so every agent that sends them gets the same responses. Other names of models misbehave:

    unknown-tool    calls a tool that does not exist, in every response
    not-json        calls a tool with arguments that are not JSON, in every response
    broken          HTTP 400
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from callmark.worlds.helpdesk.agents import next_message
from callmark.worlds.helpdesk.dialogue import AgentFlaws

MISTAKES = AgentFlaws(guesses_priority=True, shifts_due_dates=True)
BROKEN, UNKNOWN_TOOL, NOT_JSON = "broken", "unknown-tool", "not-json"
_BAD_CALLS = {UNKNOWN_TOOL: ("no_such_tool", "{}"), NOT_JSON: ("", '{"ticket_id": ')}


def respond(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chat completion for a request."""
    tools = request.get("tools") or []
    if request["model"] in _BAD_CALLS and tools:
        name, arguments = _BAD_CALLS[request["model"]]
        function = {"name": name or tools[0]["function"]["name"], "arguments": arguments}
        calls = [{"id": f"call_{len(request['messages'])}", "type": "function", "function": function}]
        message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
    else:
        message = next_message([_unwrap(message) for message in request["messages"]], tools, MISTAKES)
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def _unwrap(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message with the result in place of `{"result": …}`, as a model would read it: ADK wraps results that are not objects."""
    if message.get("role") != "tool":
        return message
    content = message.get("content")
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())
    try:
        value = json.loads(text)
    except ValueError:
        return message
    if not isinstance(value, dict) or list(value) != ["result"]:
        return message
    result = value["result"]
    return {**message, "content": result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if not content:  # the client has gone
            return
        request = json.loads(content)
        problem = "it is broken" if request["model"] == BROKEN else "no streaming" if request.get("stream") else ""
        body = json.dumps({"error": {"message": problem}} if problem else respond(request)).encode()
        self.send_response(400 if problem else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is given
        pass


@contextmanager
def serve() -> Iterator[str]:
    """Serve on a free port of loopback; yield the base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
