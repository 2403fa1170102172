"""Read expected calls (ground truth), whose values may be matchers (docs/reference/metrics.md, section 4).

In the scenario shape (`functionName`), a string without white space that contains `*` is a case-insensitive glob. An invalid matcher raises
`BadInput` that names the call and the argument.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.matchers import CONTAINER_TYPES, check_matchers, is_matcher, wrap_literal
from callmark.calls.shapes import CALL_LEVELS, PARALLEL, named_call, read_call, read_call_text, unwrap
from callmark.calls.strict import DEEPEST, NotStrict, parse
from callmark.errors import BadInput
from callmark.types import Call


class _Function(Struct, gc=False, forbid_unknown_fields=True):
    name: str
    arguments: str


class _CommonCall(Struct, gc=False, forbid_unknown_fields=True):
    function: _Function
    id: str | None = None
    type: str | None = None


class _CommonMessage(Struct, gc=False, forbid_unknown_fields=True):
    tool_calls: list[_CommonCall]
    role: str | None = None
    content: str | None = None


_decode_common = msgspec.json.Decoder(_CommonCall).decode
_decode_message = msgspec.json.Decoder(_CommonMessage).decode


def read_expected_call(value: Any) -> Call:
    """Return an expected call, in any shape."""
    call = read_call(value)
    if value.__class__ is dict and "functionName" in value and not call.malformed:
        call = Call(call.name, {key: _read_globs(item) for key, item in call.arguments.items()}, call.id)
    return _check(call)


def _check(call: Call) -> Call:
    try:
        for key, item in call.arguments.items():
            if item.__class__ in CONTAINER_TYPES:
                check_matchers(item, key)
    except BadInput as error:
        raise BadInput(f"{call.name}: {error}", error.hint) from None
    return call


def read_expected_call_text(text: bytes) -> Call:
    """Return an expected call, from its JSON."""
    try:
        wire = _decode_common(text)
    except (ValueError, RecursionError):
        pass
    else:  # the fast path for almost every call
        return _read_common(wire)
    try:
        return read_expected_call(parse(text, deepest=DEEPEST + CALL_LEVELS))
    except NotStrict:
        return read_call_text(text)


def read_common_expected(message: bytes | Raw) -> tuple[Call, ...] | None:
    """Return the expected calls of an assistant message, or None if it has anything but calls in the most common shape."""
    try:
        wires = _decode_message(message).tool_calls
    except (ValueError, RecursionError):
        return None
    calls = tuple([_read_common(wire) for wire in wires])
    return calls if unwrap(calls) is calls else None


def _read_common(wire: _CommonCall) -> Call:
    return _check(named_call(wire.function.name, wire.function.arguments, wire.id))


def read_expected_calls(values: Any) -> tuple[Call, ...]:
    """Return the expected calls of a list, unwrapped. A single object is a list of one; None is an empty list."""
    if values.__class__ is list and len(values) == 1:
        call = read_expected_call(values[0])
        return (call,) if call.name != PARALLEL else unwrap((call,))
    if values is None:
        return ()
    return unwrap(tuple([read_expected_call(value) for value in (values if isinstance(values, (list, tuple)) else [values])]))


def literal_call(call: Call) -> Call:
    """Return a recorded call as an expected call: recorded values that look like matchers are wrapped in `$literal`."""
    return call if call.malformed else structs.replace(call, arguments={key: wrap_literal(value) for key, value in call.arguments.items()})


def escape_globs(value: Any) -> Any:
    """Return a value for the scenario shape, with strings that look like globs wrapped in `$literal`."""
    if isinstance(value, str):
        return value if _read_globs(value) is value else {"$literal": value}
    if isinstance(value, list):
        return [escape_globs(item) for item in value]
    if isinstance(value, dict) and not is_matcher(value):
        return {key: escape_globs(item) for key, item in value.items()}
    return value


def _read_globs(value: Any) -> Any:
    """Return the value with strings that contain `*` turned into globs. Matchers stay unchanged."""
    if isinstance(value, str):
        return {"$glob": value, "$case": False} if "*" in value and not any(map(str.isspace, value)) else value
    if isinstance(value, list):
        return [_read_globs(item) for item in value]
    if isinstance(value, dict) and not is_matcher(value):
        return {key: _read_globs(item) for key, item in value.items()}
    return value
