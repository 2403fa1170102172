"""Read lists of tool calls in predictions, in any shape."""

from typing import cast

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import ABSENT
from callmark.calls.shapes import named_call, read_call_text, unwrap
from callmark.errors import BadInput
from callmark.formats.json_fields import decode_list, json_kind, read_text, wrong_type
from callmark.formats.surrogates import escape_surrogates, reject_surrogates
from callmark.types import Call

OWN_KEY = "calls"  # key of callmark's own rows, in which malformed calls are marked


class _Function(Struct, gc=False, forbid_unknown_fields=True):
    name: str
    arguments: str


class CommonCall(Struct, gc=False, forbid_unknown_fields=True):
    """A call as most APIs and callmark itself write it; any other shape is read by `read_call_text`."""

    function: _Function | None = None
    name: str | None = None
    arguments: Raw = ABSENT
    id: str | None = None
    type: str | None = None
    index: int | None = None
    malformed: str = ""
    text: str = ""


_decode_common = msgspec.json.Decoder(list[CommonCall]).decode
_decode_common_call = msgspec.json.Decoder(CommonCall).decode
_decode_list_or_object = msgspec.json.Decoder(list[Raw] | dict[str, Raw] | None).decode


def read_call_list(raw: Raw | bytes, field: str) -> tuple[Call, ...]:
    """Return the calls in a list of any shape, unwrapped.

    Null is an empty list, a single object is a list of one, and a JSON string is decoded. Anything else raises `BadInput` that names the field.
    """
    own = field == OWN_KEY
    try:
        calls = [read_common_call(wire, own=own) for wire in _decode_common(raw)]
        if None not in calls:
            return unwrap(tuple(cast("list[Call]", calls)))
    except msgspec.MsgspecError:
        pass
    match json_kind(raw):
        case "[":
            return unwrap(tuple([_read_any_call(bytes(text), own=own) for text in decode_list(raw)]))
        case "{":
            return unwrap((_read_any_call(bytes(raw), own=own),))
        case "n":
            return ()
        case '"':
            inner = read_text(raw).strip().encode() or b"null"
            repaired = escape_surrogates(inner)
            try:
                _decode_list_or_object(repaired)
            except (ValueError, RecursionError):
                raise BadInput(f"{field}: expected a list of calls, got a string that is not a JSON list") from None
            found = read_call_list(repaired, field)
            return found if repaired == inner else tuple(map(reject_surrogates, found))
    raise wrong_type(raw, field, "a list of calls")


def read_common_call(wire: CommonCall, *, own: bool) -> Call | None:
    """Return the call; None if it is in another shape after all. Only callmark's `own` rows mark malformed calls."""
    if wire.function is not None:
        if wire.name is not None or wire.arguments is not ABSENT:
            return None
        return named_call(wire.function.name, wire.function.arguments, wire.id)
    if wire.name is None:
        return None
    if wire.malformed:
        return Call(wire.name, {}, wire.id, wire.malformed, wire.text) if own else None
    if wire.arguments is ABSENT or json_kind(wire.arguments) != "{":
        return None
    return named_call(wire.name, bytes(wire.arguments).decode(), wire.id)


def _read_any_call(text: bytes, *, own: bool) -> Call:
    if own and b'"malformed"' in text:
        try:
            return read_common_call(_decode_common_call(text), own=own) or read_call_text(text)
        except msgspec.MsgspecError:
            pass
    return read_call_text(text)
