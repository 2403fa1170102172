"""Small rows to build tests from."""

import json
from pathlib import Path
from typing import Any

from callmark.types import Call, Conversation, Message

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                "days": {"type": "integer"},
            },
            "required": ["city"],
        },
    },
}


def call(name: str, arguments: Any = None, call_id: str = "c1") -> dict[str, Any]:
    """A call in OpenAI's form; arguments that are no string are written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def assistant(*calls: Any, text: str | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    return {**message, "tool_calls": list(calls)} if calls else message


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def result(text: str, call_id: str | None = "c1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, **({"tool_call_id": call_id} if call_id is not None else {}), **more}


def row(*messages: dict[str, Any], tools: Any = None, **more: Any) -> dict[str, Any]:
    return {**more, "messages": list(messages), **({"tools": tools} if tools is not None else {})}


def write_rows(path: Path, *rows: Any) -> Path:
    """A JSONL file; rows that are text are written as they are."""
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows), encoding="utf-8")
    return path


def talk(*messages: Message) -> Conversation:
    return Conversation("t", messages)


def made(name: str, **arguments: Any) -> Call:
    return Call(name, arguments)
