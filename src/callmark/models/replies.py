"""Replies out of whatever an agent returned, a Python value, or wrote, a line of JSON, recognised by its shape.

A message, a chat completion or another SDK's object for one, calls in any shape, a text in which calls may stand; of a value also None:
nothing said, nothing called. A call that cannot be is kept as a malformed one. Anything else raises `BadInput` that says what it is.
"""

from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.parsing import parse_calls
from callmark.calls.shapes import named_call, read_call
from callmark.calls.strict import DEEPEST, deeper_than, dump, is_strict
from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.models.model import ModelError, Reply
from callmark.types import Call

_DUMPS = ("model_dump", "to_dict")
_ARGUMENTS = ("arguments", "input", "kwargs")
_MOST_TOKENS = 10**11  # what is more is no count
_LEVELS = 20  # of objects in what an agent returns


def reply_of(value: Any, *, names: list[str]) -> Reply:
    """The reply that a value stands for; raises `ModelError` where it is an error, `BadInput` where it is no answer. `names`: the tools.

    What an object of another SDK raises when it is taken apart is raised as it is.
    """
    plain = _plain(value)
    match plain:
        case None:
            return Reply()
        case str():
            found = parse_calls(plain, names=names)
            return Reply(found.calls, found.text, found.thinking)
        case Call():
            return Reply((_checked(plain),))
        case list() if any(isinstance(item, Call) for item in plain):
            return Reply(tuple([_checked(read_call(item)) for item in plain]))
        case list():
            return read_reply(dump({"output": plain}).encode())
        case {"function": dict()} | {"tool": dict()} | {"name": str(), "arguments": _} | {"functionName": str()}:
            return read_reply(dump({"output": [plain]}).encode())
        case {"name": str(), "input": _} | {"name": str(), "kwargs": _}:
            return read_reply(dump({"output": [plain]}).encode())
        case dict():
            return read_reply(dump(plain).encode())
    raise BadInput(f"it is {kind_of(value)}; a message, calls, a text or None was expected")


class _Choice(Struct, gc=False):
    finish_reason: Any = None


class _Counts(Struct, gc=False):
    prompt_tokens: Any = 0
    completion_tokens: Any = 0
    input_tokens: Any = 0
    output_tokens: Any = 0


class _Completion(Struct, gc=False):
    choices: list[_Choice] = []
    usage: _Counts | None = None
    stop_reason: Any = None


_decode_completion = msgspec.json.Decoder(_Completion).decode


def read_reply(row: bytes) -> Reply:
    """The reply in a JSON text of any shape that predictions have, with its tokens and why it stopped where a completion says so.

    Raises `ModelError` where it is an error, `BadInput` where it is no answer.
    """
    found = read_prediction(row).prediction
    if found.error:
        raise ModelError(found.error)
    finish, tokens_in, tokens_out = found.finish, 0, 0
    if b'_reason"' in row or b'"usage"' in row:
        with suppress(msgspec.MsgspecError):
            completion = _decode_completion(row)
            reason = completion.choices[0].finish_reason if completion.choices else completion.stop_reason
            finish = reason if isinstance(reason, str) else finish
            counts = completion.usage or _Counts()
            tokens_in, tokens_out = (
                next((count for count in pair if type(count) is int and 0 < count < _MOST_TOKENS), 0)
                for pair in ((counts.prompt_tokens, counts.input_tokens), (counts.completion_tokens, counts.output_tokens))
            )
    return Reply(found.calls, found.text, found.thinking, finish, tokens_in, tokens_out)


def kind_of(value: Any) -> str:
    """The type of a value with its article: `an int`."""
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def _plain(value: Any, levels: int = _LEVELS) -> Any:
    """The value with objects of SDKs taken apart. Arguments that are not strict JSON become text, so that they are found malformed."""
    if value is None or isinstance(value, str | int | float | Call):
        return value
    if not levels:
        raise BadInput(f"it is nested deeper than {_LEVELS}")
    if isinstance(value, list | tuple):
        return [_plain(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {
            key: _arguments(item) if key in _ARGUMENTS and isinstance(item, dict) else _plain(item, levels - 1)
            for key, item in value.items()
        }
    for name in _DUMPS:
        if callable(method := getattr(value, name, None)) and not isinstance(value, type):
            return _plain(method(), levels - 1)
    return value


def _arguments(given: dict[str, Any]) -> dict[str, Any] | str:
    if deeper_than(given, DEEPEST):
        return dump(given)
    if is_strict(given):
        return given
    import json

    return json.dumps(given, default=repr)


def _checked(call: Call) -> Call:
    """A call made in Python as it would have been read: malformed where it has a NaN in it."""
    return call if call.malformed else named_call(call.name, call.arguments, call.id)
