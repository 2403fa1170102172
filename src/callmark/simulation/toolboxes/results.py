"""Helpers for all toolboxes: reject calls that no tool accepts, truncate results, and read states."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.strict import NotStrict, parse, scrub
from callmark.models.model import ModelError
from callmark.simulation.session import State, ToolResult
from callmark.types import Call
from callmark.wording import did_you_mean

MAX_RESULT = 1 << 20  # bytes of a result
_MAX_ROWS = 100_000  # cached
_decode_tables = msgspec.json.Decoder(dict[str, dict[str, Raw]]).decode


def reject_call(call: Call, names: Iterable[str]) -> ToolResult | None:
    """Return an error result for a call that is malformed or names an unknown tool; None for any other call."""
    known = list(names)
    if call.malformed:
        return ToolResult(f"The call is malformed: {call.malformed}.", is_error=True)
    if call.name not in known:
        return ToolResult(f"Unknown tool {call.name!r}{did_you_mean(call.name, known) or '.'}", is_error=True)
    return None


def make_result(text: str, *, is_error: bool = False) -> ToolResult:
    """Return a result; a text that is too long is truncated, and its last line says so."""
    text = scrub(text)
    data = text.encode() if len(text) * 4 > MAX_RESULT else b""
    if len(data) > MAX_RESULT:
        text = f"{data[:MAX_RESULT].decode(errors='ignore')}\n[truncated: the first {MAX_RESULT:,} of {len(data):,} bytes]"
    return ToolResult(text, is_error)


class StateReader:
    """Reads the states of one tool source. Rows with equal JSON are the same object, so that comparing two states is fast."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._rows: dict[bytes, dict[str, Any]] = {}

    def read(self, text: str) -> State:
        """Return the state of a JSON text, `{table: {key: {column: value}}}`; anything else raises `ModelError`."""
        if len(self._rows) > _MAX_ROWS:
            self._rows.clear()
        try:
            tables = _decode_tables(text)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            self._parse(text)
            raise self._wrong_shape() from None
        return {table: {key: self._row(bytes(row)) for key, row in rows.items()} for table, rows in tables.items()}

    def _row(self, text: bytes) -> dict[str, Any]:
        row = self._rows.get(text)
        if row is None:
            found = self._parse(text)
            if not isinstance(found, dict):
                raise self._wrong_shape()
            row = self._rows[text] = found
        return row

    def _parse(self, text: str | bytes) -> Any:
        try:
            return parse(text)
        except NotStrict as problem:
            raise ModelError(f"the state of {self._label} is not valid JSON: {problem}") from None

    def _wrong_shape(self) -> ModelError:
        return ModelError(f"the state of {self._label}: expected {{table: {{key: {{column: value}}}}}}, got a different structure")
