"""Convert what an agent returns (a Python value) or writes (a line of JSON) to a prediction.

Supported are a message, a chat completion, an SDK object for either, calls in any shape, and text that may contain calls. A Python value
may also be None: no text and no call. A call that cannot be read becomes a malformed call. Anything else raises `BadInput`.
"""

from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.shapes import named_call, read_call
from callmark.calls.strict import DEEPEST, dump, is_deeper_than, is_strict
from callmark.calls.text import parse_calls
from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.models.model import ModelError
from callmark.types import Call, Prediction, Tool, Usage

_DUMP_METHODS = ("model_dump", "to_dict")
_ARGUMENT_KEYS = ("arguments", "input", "kwargs")
_MAX_TOKENS = 10**11  # a larger number is not a token count
_MAX_DEPTH = 20  # levels of nested objects


def convert_output(value: Any, *, tool_names: list[str]) -> Prediction:
    """Convert a value to a prediction without a case id. Raise `ModelError` for an error, `BadInput` for anything else.

    Exceptions that an SDK object raises during conversion are passed on.
    """
    plain = _to_plain(value)
    match plain:
        case None:
            return Prediction("")
        case str():
            parsed = parse_calls(plain, tools=[Tool(name) for name in tool_names])
            return Prediction("", 0, parsed.calls, parsed.text, parsed.thinking)
        case Call():
            return Prediction("", 0, (_check_call(plain),))
        case list() if any(isinstance(item, Call) for item in plain):
            return Prediction("", 0, tuple([_check_call(read_call(item)) for item in plain]))
        case list():
            return read_output(dump({"output": plain}).encode())
        case {"function": dict()} | {"tool": dict()} | {"name": str(), "arguments": _} | {"functionName": str()}:
            return read_output(dump({"output": [plain]}).encode())
        case {"name": str(), "input": _} | {"name": str(), "kwargs": _}:
            return read_output(dump({"output": [plain]}).encode())
        case dict():
            return read_output(dump(plain).encode())
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


def read_output(row: bytes) -> Prediction:
    """Read a prediction from JSON in any supported shape, without a case id. A completion also has token counts and a finish reason.

    Raise `ModelError` if it is an error, `BadInput` if it is not a prediction.
    """
    found = read_prediction(row).prediction
    if found.error:
        raise ModelError(found.error)
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


def type_name(value: Any) -> str:
    """Return the type of a value with an article: `an int`."""
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def _to_plain(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """Convert SDK objects within a value. Arguments that are not strict JSON become text, so that the call is read as malformed."""
    if value is None or isinstance(value, str | int | float | Call):
        return value
    if not depth:
        raise BadInput(f"nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, list | tuple):
        return [_to_plain(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {
            key: _convert_arguments(item) if key in _ARGUMENT_KEYS and isinstance(item, dict) else _to_plain(item, depth - 1)
            for key, item in value.items()
        }
    for name in _DUMP_METHODS:
        if callable(method := getattr(value, name, None)) and not isinstance(value, type):
            return _to_plain(method(), depth - 1)
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
