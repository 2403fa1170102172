"""Read the calls that a model returned, in any of these forms.

A list of calls or a single call in any shape; an assistant message; a chat completion or a Responses body; a text that contains calls.
None, an empty list and a text without calls mean no calls. Input that is not recognized raises `BadInput`, so that it is never graded as
no call. An invalid value in the place of a call is a malformed call, because that is the model's mistake.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from callmark.calls.shapes import read_calls
from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.types import Call, Message, Prediction, Tool

_NAMES = frozenset({"name", "functionName", "function", "tool", "function_name", "tool_name", "toolName", "action"})  # keys of a call


def read_actual(actual: Any, tools: Sequence[Tool] = ()) -> tuple[Call, ...]:
    """Return the calls that a model returned. `tools` help to find calls in a text."""
    if actual.__class__ is list:  # the common case
        return _read_list(actual, tools)
    match actual:
        case None:
            return ()
        case Call():
            return (actual,)
        case list() | tuple():
            return _read_list(actual, tools)
        case str():
            return _parse_text(actual, tools)
        case Mapping():
            return read_calls(dict(actual)) if _is_call(actual) else _read_response(actual, tools)
        case Message():
            return actual.calls or _parse_text(actual.text, tools)
        case Prediction():
            return _read_prediction(actual, tools)
        case _:
            raise BadInput(f"actual: expected a list of calls, a message, a response or a string, got {type(actual).__name__}")


def _read_list(values: Sequence[Any], tools: Sequence[Tool]) -> tuple[Call, ...]:
    for value in values:
        if value.__class__ is Message:
            return tuple(call for message in values for call in read_actual(message, tools))
        if isinstance(value, dict) and ("role" in value or ("type" in value and not _is_call(value))):
            return _read_response({"output": list(values)}, tools)  # messages, or the items of a Responses body
    return read_calls(values if isinstance(values, list) else list(values))


def _is_call(value: Mapping[str, Any]) -> bool:
    return "role" not in value and not _NAMES.isdisjoint(value)


def _read_response(response: Mapping[str, Any], tools: Sequence[Tool]) -> tuple[Call, ...]:
    from callmark.formats.predictions import read_prediction

    return _read_prediction(read_prediction(dump(dict(response)).encode(), tools=tools).prediction, tools)


def _read_prediction(prediction: Prediction, tools: Sequence[Tool]) -> tuple[Call, ...]:
    if prediction.error:
        raise BadInput(f"the prediction is an error and cannot be graded: {prediction.error}")
    return prediction.calls or _parse_text(prediction.text, tools)


def _parse_text(text: str, tools: Sequence[Tool]) -> tuple[Call, ...]:
    if not text or text.isspace():
        return ()
    from callmark.formats.prediction_text import parse_prediction

    parsed = parse_prediction(Prediction("", text=text), "raw", parse=None, tools=tools)
    if parsed.error:
        raise BadInput(f"actual: {parsed.error}")
    return parsed.calls
