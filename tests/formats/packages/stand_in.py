"""A stand-in for model APIs on loopback: whatever is asked, it returns the next assistant message of a conversation.

It speaks chat completions, Responses, Anthropic messages and Gemini's `generateContent`, by the path of the request. Only the standard
library is used, because the scripts next to it run in environments without callmark.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


@contextmanager
def stand_in(sample: Any) -> Iterator[str]:
    """Serve the assistant messages of a sample in order; the value is the address of the server, without a path."""
    replies = iter([message for message in sample["messages"] if message["role"] == "assistant"])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(_body(self.path, next(replies))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def segments(sample: Any) -> list[str]:
    """Return the texts of the user, each of which starts a run."""
    return [message["text"] for message in sample["messages"] if message["role"] == "user"]


def system(sample: Any) -> str:
    """Return the text of the system message; empty if there is none."""
    return next((message["text"] for message in sample["messages"] if message["role"] == "system"), "")


def result_of(sample: Any, call_id: str) -> str:
    """Return the recorded result of a call."""
    return str(next(message["text"] for message in sample["messages"] if message["call_id"] == call_id))


def openai_tools(sample: Any) -> list[dict[str, Any]]:
    return [{"type": "function", "function": tool} for tool in sample["tools"]]


def write_rows(path: Any, rows: list[Any]) -> None:
    """Write one row per line, in a form that does not depend on the version of Python."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _body(path: str, reply: Any) -> Any:
    calls = reply["calls"]
    if path.endswith("/chat/completions"):
        message: dict[str, Any] = {"role": "assistant", "content": reply["text"] or None}
        if calls:
            message["tool_calls"] = [
                {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": _text(call)}} for call in calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
        return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "stand-in", "choices": [choice], "usage": USAGE}
    if path.endswith("/responses"):
        content = [{"type": "output_text", "text": reply["text"], "annotations": []}]
        items: list[Any] = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
        items = items if reply["text"] else []
        items += [
            {"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], "name": call["name"], "arguments": _text(call)}
            for call in calls
        ]
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "stand-in",
            "output": items,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
    if path.endswith("/messages"):
        blocks: list[Any] = [{"type": "text", "text": reply["text"]}] if reply["text"] else []
        blocks += [{"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]} for call in calls]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "stand-in",
            "content": blocks,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    parts: list[Any] = [{"text": reply["text"]}] if reply["text"] else []
    parts += [{"functionCall": {"id": call["id"], "name": call["name"], "args": call["arguments"]}} for call in calls]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}


def _text(call: Any) -> str:
    return json.dumps(call["arguments"], ensure_ascii=False)


def openai_messages(sample: Any, *, objects: bool) -> list[Any]:
    """Return the messages in OpenAI's shape, with arguments as objects or as JSON strings."""
    found: list[Any] = []
    for message in sample["messages"]:
        fields: dict[str, Any] = {"role": message["role"], "content": message["text"]}
        if message["role"] == "tool":
            fields |= {"tool_call_id": message["call_id"], "name": message["name"]}
        if message["calls"]:
            fields["tool_calls"] = [
                {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": _arguments(call, objects)}}
                for call in message["calls"]
            ]
        found.append(fields)
    return found


def _arguments(call: Any, objects: bool) -> Any:
    return call["arguments"] if objects else json.dumps(call["arguments"], ensure_ascii=False)
