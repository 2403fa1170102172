"""What every kind of toolbox tells alike: that a call cannot be carried out, a result that is not too long, and its state."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.strict import NotStrict, parse, scrub
from callmark.models.model import ModelError
from callmark.simulation.session import Result, State
from callmark.types import Call
from callmark.wording import nearest

MOST_TOLD = 1 << 20  # bytes of a result that an agent is told
_MOST_ROWS = 100_000  # that are remembered
_decode_tables = msgspec.json.Decoder(dict[str, dict[str, Raw]]).decode


def refused(call: Call, names: Iterable[str]) -> Result | None:
    """Why no tool can take the call: it is malformed, or of a name that none has. None where one can."""
    known = list(names)
    if call.malformed:
        return Result(f"The call cannot be read: {call.malformed}.", is_error=True)
    if call.name not in known:
        return Result(f"There is no tool called {call.name!r}{nearest(call.name, known) or '.'}", is_error=True)
    return None


def told(text: str, *, is_error: bool = False) -> Result:
    """The result, cut where it is too long; a cut one ends in a line that says so."""
    text = scrub(text)
    data = text.encode() if len(text) * 4 > MOST_TOLD else b""
    if len(data) > MOST_TOLD:
        text = f"{data[:MOST_TOLD].decode(errors='ignore')}\n[cut: the result has {len(data):,} bytes, these are the first {MOST_TOLD:,}]"
    return Result(text, is_error)


class StateReader:
    """Reads the states of one source of tools, which are large and nearly the same every time: a row whose JSON was read before is the very
    same row, so that two states are compared by looking at what is not.
    """

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._rows: dict[bytes, dict[str, Any]] = {}

    def read(self, text: str) -> State:
        """The state in a JSON text, `{table: {key: {column: value}}}`; anything else raises `ModelError`."""
        if len(self._rows) > _MOST_ROWS:
            self._rows.clear()
        try:
            tables = _decode_tables(text)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            self._parsed(text)
            raise self._of_another_form() from None
        return {table: {key: self._row(bytes(row)) for key, row in rows.items()} for table, rows in tables.items()}

    def _row(self, text: bytes) -> dict[str, Any]:
        row = self._rows.get(text)
        if row is None:
            found = self._parsed(text)
            if not isinstance(found, dict):
                raise self._of_another_form()
            row = self._rows[text] = found
        return row

    def _parsed(self, text: str | bytes) -> Any:
        try:
            return parse(text)
        except NotStrict as problem:
            raise ModelError(f"the state of {self._whose} cannot be read: {problem}") from None

    def _of_another_form(self) -> ModelError:
        form = "tables, rows by their key, and columns: {table: {key: {column: value}}}"
        return ModelError(f"the state of {self._whose} is not made of {form}")
