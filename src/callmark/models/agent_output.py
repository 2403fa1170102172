"""Convert what an agent returns (a Python value) or writes (a line of JSON) to a prediction.

Supported are a message, a chat completion, an SDK object for either, calls in any shape, and text that may contain calls. A Python value
may also be None: no text and no call. A call that cannot be read becomes a malformed call. Anything else raises `BadInput`.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.shapes import ARGUMENT_KEYS, CONTAINER_KEYS, NAME_KEYS, NAMED_CONTAINER_KEYS, named_call, read_calls
from callmark.calls.strict import DEEPEST, dump, is_deeper_than, is_strict
from callmark.errors import BadInput
from callmark.formats.prediction_text import parse_prediction
from callmark.formats.predictions import read_prediction
from callmark.models.model import ModelError
from callmark.types import Call, Prediction, Tool, Usage

_DUMP_METHODS = ("model_dump", "to_dict")
_NAME_KEYS = (*NAME_KEYS, *NAMED_CONTAINER_KEYS, "action")
_CONTAINER_KEYS = tuple(key for key in CONTAINER_KEYS if key != "function_call")  # which is also a key of a message
_RESPONSE_KEYS = frozenset({"choices", "message", "messages", "output", "content", "tool_calls", "calls", "function_calls", "text"})
_MAX_TOKENS = 10**11  # a larger number is not a token count
_MAX_DEPTH = 20  # levels of nested objects


def convert_output(value: Any, *, tools: Sequence[Tool] = ()) -> Prediction:
    """Convert a value to a prediction without a case id. Raise `ModelError` for an error, `BadInput` for anything else.

    `tools` are those of the case; they help to find calls in a text. Exceptions that an SDK object raises during conversion are passed on.
    """
    plain = to_plain(value)
    match plain:
        case None:
            return Prediction("")
        case str():
            return _without_error(parse_prediction(Prediction("", text=plain), "raw", parse=None, tools=tools))
        case Call():
            return Prediction("", 0, (_check_call(plain),))
        case list() if any(isinstance(item, Call) for item in plain):
            return Prediction("", 0, tuple(map(_check_call, read_calls(plain))))
        case list():
            return read_output(dump({"output": plain}).encode(), tools=tools)
        case dict() if _is_call(plain):
            return read_output(dump({"output": [plain]}).encode(), tools=tools)
        case dict():
            return read_output(dump(plain).encode(), tools=tools)
    raise BadInput(f"expected a message, calls, text or None, got {type_name(value)}")


class _Choice(Struct, gc=False):
    finish_reason: Any = None


class _TokenCounts(Struct, gc=False):
    prompt_tokens: Any = 0
    completion_tokens: Any = 0
    input_tokens: Any = 0
    output_tokens: Any = 0


class _Completion(Struct, gc=False):
    choices: list[_Choice] = []
    usage: _TokenCounts | None = None
    stop_reason: Any = None


_decode_completion = msgspec.json.Decoder(_Completion).decode


def read_output(row: bytes, *, tools: Sequence[Tool] = ()) -> Prediction:
    """Read a prediction from JSON in any supported shape, without a case id. A completion also has token counts and a finish reason.

    `tools` are those of the case; they help to find calls in a text. Raise `ModelError` if it is an error, `BadInput` if it is not a
    prediction.
    """
    found = _without_error(read_prediction(row, tools=tools).prediction)
    finish_reason, input_tokens, output_tokens = found.finish_reason, 0, 0
    if b'_reason"' in row or b'"usage"' in row:
        with suppress(msgspec.MsgspecError):
            completion = _decode_completion(row)
            reason = completion.choices[0].finish_reason if completion.choices else completion.stop_reason
            finish_reason = reason if isinstance(reason, str) else finish_reason
            counts = completion.usage or _TokenCounts()
            input_tokens, output_tokens = (
                next((count for count in pair if type(count) is int and 0 < count < _MAX_TOKENS), 0)
                for pair in ((counts.prompt_tokens, counts.input_tokens), (counts.completion_tokens, counts.output_tokens))
            )
    usage = Usage(0.0, input_tokens, output_tokens) if input_tokens or output_tokens else None
    return Prediction("", 0, found.calls, found.text, found.thinking, finish_reason=finish_reason, usage=usage)


def _without_error(found: Prediction) -> Prediction:
    if found.error:
        raise ModelError(found.error)
    return found


def _is_call(value: dict[str, Any]) -> bool:
    """Return whether an object is a single call: a container of a call, or a name and arguments, without the keys of a response."""
    if "role" in value or not _RESPONSE_KEYS.isdisjoint(value):
        return False
    if isinstance(value.get("functionName"), str) or any(isinstance(value.get(key), dict) for key in _CONTAINER_KEYS):
        return True
    return any(isinstance(value.get(key), str) for key in _NAME_KEYS) and any(key in value for key in ARGUMENT_KEYS)


def type_name(value: Any) -> str:
    """Return the type of a value with an article: `an int`."""
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def to_plain(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """Convert SDK objects within a value. Arguments that are not strict JSON become text, so that the call is read as malformed."""
    if value is None or isinstance(value, str | int | float | Call):
        return value
    if not depth:
        raise BadInput(f"nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, list | tuple):
        return [to_plain(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {
            key: _convert_arguments(item) if key in ARGUMENT_KEYS and isinstance(item, dict) else to_plain(item, depth - 1)
            for key, item in value.items()
        }
    for name in _DUMP_METHODS:
        if callable(method := getattr(value, name, None)) and not isinstance(value, type):
            return to_plain(method(), depth - 1)
    return value


def _convert_arguments(arguments: dict[str, Any]) -> dict[str, Any] | str:
    if is_deeper_than(arguments, DEEPEST):
        return dump(arguments)
    if is_strict(arguments):
        return arguments
    import json

    return json.dumps(arguments, default=repr)


def _check_call(call: Call) -> Call:
    """Return a call made in Python as if it had been read from a file: malformed if it contains NaN."""
    return call if call.malformed else named_call(call.name, call.arguments, call.id)
