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
    """Return a call in OpenAI's form; arguments that are not a string are written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def assistant(*calls: Any, text: str | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    return {**message, "tool_calls": list(calls)} if calls else message


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def result(text: str, call_id: str | None = "c1", **others: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, **({"tool_call_id": call_id} if call_id is not None else {}), **others}


def row(*messages: dict[str, Any], tools: Any = None, **others: Any) -> dict[str, Any]:
    return {**others, "messages": list(messages), **({"tools": tools} if tools is not None else {})}


def write_rows(path: Path, *rows: Any) -> Path:
    """Write a JSONL file and return its path; rows that are text are written unchanged."""
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows), encoding="utf-8")
    return path


def conversation(*messages: Message) -> Conversation:
    return Conversation("t", messages)


def tool_call(name: str, **arguments: Any) -> Call:
    return Call(name, arguments)
