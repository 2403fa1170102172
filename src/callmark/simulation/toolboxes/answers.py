"""What every kind of toolbox tells alike: that a call cannot be carried out, a result that is not too long, and its state."""

from collections.abc import Iterable
from typing import Any

from callmark.calls.strict import NotStrict, parse, scrub
from callmark.models.model import NoReply
from callmark.simulation.talk import Result, State
from callmark.types import Call
from callmark.wording import nearest

MOST_TOLD = 1 << 20  # bytes of a result that an agent is told


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


def read_state(text: str, *, whose: str) -> State:
    """The state in a JSON text, `{table: {key: {column: value}}}`; anything else raises `NoReply`."""
    try:
        value: Any = parse(text)
    except NotStrict as problem:
        raise NoReply(f"the state of {whose} cannot be read: {problem}") from None
    tables = value.values() if isinstance(value, dict) else [None]
    if not all(isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values()) for rows in tables):
        raise NoReply(f"the state of {whose} is not made of tables, rows by their key, and columns: {{table: {{key: {{column: value}}}}}}")
    state: State = value
    return state
