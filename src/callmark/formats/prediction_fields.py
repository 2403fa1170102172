"""The fields of a prediction row other than the response: the case id, the trial, and the fields of callmark's own rows.

The case id is `case`, `case_id`, `custom_id`, `inputs.id`, the `id` of the row (unless an API assigned it) or the `id` of the item. It may
be missing. The trial is `trial` or `repeat`.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import ABSENT, explain_validation_error, read_messages
from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.formats.json_fields import Fields, json_kind, read_text, read_value, text_field, wrong_type
from callmark.types import EndStates, Usage

_CASE_KEYS = ("case", "case_id", "custom_id", "inputs.id")
_ITEM_KEYS = ("datasource_item", "item")
_API_KEYS = frozenset({"object", "datasource_item", "datasource_item_id"})  # in rows with these keys, `id` is not a case id
_API_ID_PREFIXES = ("outputitem_", "batch_req_")
_MAX_NUMBER = 1 << 31


class _Item(Struct, gc=False):
    id: Raw = ABSENT
    item: Raw = ABSENT


_decode_item = msgspec.json.Decoder(_Item).decode
_OWN_DECODERS: dict[str, Callable[[Raw], Any]] = {
    "usage": msgspec.json.Decoder(Usage).decode,
    "states": msgspec.json.Decoder(EndStates).decode,
    "reward": msgspec.json.Decoder(float).decode,
    "misses": msgspec.json.Decoder(int).decode,
}


def is_api_id(row_id: str) -> bool:
    """Return whether an API assigned this id to its own record, so that it is not a case id."""
    return row_id.startswith(_API_ID_PREFIXES)


def read_case_id(fields: Fields) -> tuple[str | None, int | None]:
    """Return the case id of a row, or the position of the case; None for what the row does not have."""
    for key in _CASE_KEYS:
        if key in fields and (found := _read_id(fields[key], key)) is not None:
            return found, None
    if "id" in fields and "lc" not in fields and _API_KEYS.isdisjoint(fields) and text_field(fields, "type") != "message":
        found = _read_id(fields["id"], "id")
        if found is not None and not is_api_id(found):
            return found, None
    for key in _ITEM_KEYS:
        if key in fields and (found := _read_item_id(fields[key], key)) is not None:
            return found, None
    return None, _read_number(fields["datasource_item_id"], "datasource_item_id") if "datasource_item_id" in fields else None


def read_trial(fields: Fields) -> int:
    """Return the trial; 0 if the row has none."""
    for key in ("trial", "repeat"):
        if key in fields and (found := _read_number(fields[key], key)) is not None:
            return found
    return 0


def read_own_fields(fields: Fields) -> dict[str, Any]:
    """Return the fields of `Prediction` that only callmark's own rows have."""
    found: dict[str, Any] = {key: text_field(fields, key) for key in ("finish_reason", "ending") if key in fields}
    for key, decode in _OWN_DECODERS.items():
        if key in fields and json_kind(fields[key]) != "n":
            try:
                found[key] = decode(fields[key])
            except msgspec.ValidationError as error:
                raise BadInput(explain_validation_error(str(error), key)) from None
    if "transcript" in fields:
        found["transcript"] = read_messages(fields["transcript"])
    return found


def _read_item_id(raw: Raw, field: str) -> str | None:
    """Return the id of an item, or of the item nested in it."""
    if json_kind(raw) != "{":
        return None
    item = _decode_item(raw)
    if item.id is not ABSENT and (found := _read_id(item.id, f"{field}.id")) is not None:
        return found
    if item.item is ABSENT or json_kind(item.item) != "{":
        return None
    inner = _decode_item(item.item)
    return None if inner.id is ABSENT else _read_id(inner.id, f"{field}.item.id")


def _read_id(raw: Raw, field: str) -> str | None:
    match json_kind(raw):
        case '"':
            return read_text(raw) or None
        case "n":
            return None
        case "{" | "[" | "t" | "f":
            raise wrong_type(raw, field, "a string or a number")
    return bytes(raw).decode()


def _read_number(raw: Raw, field: str) -> int | None:
    """Return an integer of at least 0; None for null. Anything else raises `BadInput`."""
    found = read_value(raw)
    if found is None or (found.__class__ is int and 0 <= found < _MAX_NUMBER):
        return found
    raise BadInput(f"{field}: expected an integer of at least 0, got {dump(found)[:40]}")
