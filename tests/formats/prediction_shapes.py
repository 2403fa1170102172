"""The shapes of predictions with structured calls: what APIs return, and what people write."""

from collections.abc import Sequence
from typing import Any

from callmark.types import Call
from tests.formats.samples import arguments_text
from tests.formats.shapes import PredictionShape


def _openai(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}


def tool_calls(calls: Sequence[Call]) -> Any:
    return {"id": "x", "tool_calls": [_openai(call) for call in calls]}


def message(calls: Sequence[Call]) -> Any:
    return {"role": "assistant", "content": None, "tool_calls": [_openai(call) for call in calls]}


def chat_completion(calls: Sequence[Call]) -> Any:
    choice = {"index": 0, "message": message(calls), "finish_reason": "tool_calls"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}


def responses_output(calls: Sequence[Call]) -> Any:
    items = [{"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments_text(call)} for call in calls]
    return {"id": "resp_1", "object": "response", "status": "completed", "output": items}


def anthropic_message(calls: Sequence[Call]) -> Any:
    blocks = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in calls]
    return {"id": "msg_1", "type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use"}


PREDICTION_SHAPES = (
    PredictionShape("tool_calls", tool_calls),
    PredictionShape("message", message, role="assistant", call_part="tool_calls"),
    PredictionShape("chat completion", chat_completion, role="assistant", call_part="tool_calls"),
    PredictionShape("Responses output", responses_output, call_part="function_call"),
    PredictionShape("Anthropic message", anthropic_message, arguments_key="input", role="assistant", call_part="tool_use"),
)
