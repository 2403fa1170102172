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
    """Return the calls that a model returned. `tools` help to find calls in a text. A prediction that is an error raises `BadInput`."""
    if actual.__class__ is list and not _has_messages(actual):  # the common case
        return read_calls(actual)
    found = read_completion(actual, tools)
    if is_unrecognized(found):
        raise BadInput(f"actual: {found.error}")
    if found.error:
        raise BadInput(f"the prediction is an error and cannot be graded: {found.error}")
    return found.calls


def read_completion(actual: Any, tools: Sequence[Tool] = ()) -> Prediction:
    """Return what a model returned as a prediction: its calls and text, or an error, such as a tool-call format that is not recognized."""
    match actual:
        case None:
            return Prediction("")
        case str():
            return _parse_text(actual, tools)
        case Call():
            return Prediction("", calls=(actual,))
        case list() | tuple():
            return _read_list(actual, tools)
        case Mapping():
            return Prediction("", calls=read_calls(dict(actual))) if _is_call(actual) else _read_response(actual, tools)
        case Message():
            return Prediction("", calls=actual.calls, text=actual.text) if actual.calls else _parse_text(actual.text, tools)
        case Prediction():
            return _read_prediction(actual, tools)
        case _:
            raise BadInput(f"actual: expected a list of calls, a message, a response or a string, got {type(actual).__name__}")


def is_unrecognized(prediction: Prediction) -> bool:
    """Return whether the prediction is an error because its text contains calls in a format that is not recognized."""
    from callmark.formats.prediction_text import UNRECOGNIZED

    return prediction.error.startswith(UNRECOGNIZED)


def _read_list(values: Sequence[Any], tools: Sequence[Tool]) -> Prediction:
    if any(value.__class__ is Message for value in values):
        parts = [read_completion(value, tools) for value in values]
        calls = tuple(call for part in parts for call in part.calls)
        text = "\n".join(part.text for part in parts if part.text)
        return Prediction("", calls=calls, text=text, error=next((part.error for part in parts if part.error), ""))
    if _has_messages(values):
        return _read_response({"output": list(values)}, tools)
    return Prediction("", calls=read_calls(list(values)))


def _has_messages(values: Sequence[Any]) -> bool:
    """Return whether a list has messages, or the items of a Responses body, instead of calls."""
    return any(
        value.__class__ is Message or (isinstance(value, dict) and ("role" in value or ("type" in value and not _is_call(value))))
        for value in values
    )


def _is_call(value: Mapping[str, Any]) -> bool:
    return "role" not in value and not _NAMES.isdisjoint(value)


def _read_response(response: Mapping[str, Any], tools: Sequence[Tool]) -> Prediction:
    from callmark.calls.text import AUTO
    from callmark.formats.predictions import read_prediction

    return _read_prediction(read_prediction(dump(dict(response)).encode(), parse=AUTO, tools=tools).prediction, tools)


def _read_prediction(prediction: Prediction, tools: Sequence[Tool]) -> Prediction:
    """Return the prediction with the calls in its text. A recorded conversation has its calls already."""
    if prediction.error or prediction.calls or prediction.transcript or not prediction.text or prediction.text.isspace():
        return prediction
    from callmark.formats.prediction_text import parse_prediction

    return parse_prediction(prediction, "raw", parse=None, tools=tools)


def _parse_text(text: str, tools: Sequence[Tool]) -> Prediction:
    return _read_prediction(Prediction("", text=text), tools)
