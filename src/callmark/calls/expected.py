"""Expected calls: read as any call, then as ground truth, in which values may be matchers (docs/metrics.md, section 4).

In the shape of scenarios (`functionName`), a string without white space that contains `*` is a glob, in any case. A matcher that could not
be used raises `BadInput` with the call and the argument.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.matchers import CONTAINER_TYPES, check_matchers, is_matcher
from callmark.calls.shapes import CALL_LEVELS, named_call, read_call, read_call_text
from callmark.calls.strict import DEEPEST, NotStrict, parse
from callmark.errors import BadInput
from callmark.types import Call


class _Function(Struct, gc=False, forbid_unknown_fields=True):
    name: str
    arguments: str


class _UsualCall(Struct, gc=False, forbid_unknown_fields=True):
    function: _Function
    id: str | None = None
    type: str | None = None


class _UsualAnswer(Struct, gc=False, forbid_unknown_fields=True):
    tool_calls: list[_UsualCall]
    role: str | None = None
    content: str | None = None


_decode_usual = msgspec.json.Decoder(_UsualCall).decode
_decode_answer = msgspec.json.Decoder(_UsualAnswer).decode


def read_expected_call(value: Any) -> Call:
    """One expected call, in any shape."""
    call = read_call(value)
    if value.__class__ is dict and "functionName" in value and not call.malformed:
        call = Call(call.name, {key: _globs(item) for key, item in call.arguments.items()}, call.id)
    return _checked(call)


def _checked(call: Call) -> Call:
    try:
        for key, item in call.arguments.items():
            if item.__class__ in CONTAINER_TYPES:
                check_matchers(item, key)
    except BadInput as error:
        raise BadInput(f"{call.name}: {error}") from None
    return call


def read_expected_call_text(text: bytes) -> Call:
    """One expected call, from its JSON."""
    try:
        wire = _decode_usual(text)
    except (ValueError, RecursionError):
        pass
    else:  # nearly every call; the others are decoded without a type
        return _usual(wire)
    try:
        return read_expected_call(parse(text, deepest=DEEPEST + CALL_LEVELS))
    except NotStrict:
        return read_call_text(text)


def read_common_expected(answer: bytes | Raw) -> tuple[Call, ...] | None:
    """The expected calls of an assistant's message, from its JSON: all of them at once. None where there is more to it than usual calls."""
    try:
        wires = _decode_answer(answer).tool_calls
    except (ValueError, RecursionError):
        return None
    return tuple([_usual(wire) for wire in wires])


def _usual(wire: _UsualCall) -> Call:
    return _checked(named_call(wire.function.name, wire.function.arguments, wire.id))


def read_expected_calls(values: Any) -> tuple[Call, ...]:
    """The expected calls of a list; a single object is a list of one, None is none."""
    if values.__class__ is list and len(values) == 1:
        return (read_expected_call(values[0]),)
    if values is None:
        return ()
    return tuple([read_expected_call(value) for value in (values if isinstance(values, (list, tuple)) else [values])])


def escape_globs(value: Any) -> Any:
    """The other way round: a value whose plain strings with a star are said to be no globs, for who writes the shape of scenarios."""
    if isinstance(value, str):
        return value if _globs(value) is value else {"$literal": value}
    if isinstance(value, list):
        return [escape_globs(item) for item in value]
    if isinstance(value, dict) and not is_matcher(value):
        return {key: escape_globs(item) for key, item in value.items()}
    return value


def _globs(value: Any) -> Any:
    """The value with its star strings read as globs; what is a matcher already stays as it is."""
    if isinstance(value, str):
        return {"$glob": value, "$case": False} if "*" in value and not any(map(str.isspace, value)) else value
    if isinstance(value, list):
        return [_globs(item) for item in value]
    if isinstance(value, dict) and not is_matcher(value):
        return {key: _globs(item) for key, item in value.items()}
    return value
