"""The scripted user: says the lines of `data.script` in order, whatever the agent says."""

from collections.abc import Sequence

from callmark.errors import BadInput
from callmark.simulation.session import NullContext, UserTurn
from callmark.simulation.users.provider import UserProvider
from callmark.types import Case, Message


class ScriptUser(NullContext):
    """Plays scenarios that have a script. A scenario without one, or with one that is not a list of texts, raises `BadInput`."""

    label = "script"

    def start_session(self, case: Case, trial: int) -> "ScriptUserSession":
        """Return the user of a scenario; every trial says the same."""
        where = f"{case.place} ({case.id})" if case.place else case.id
        script = case.data.get("script")
        if script is None:
            raise BadInput(f"{where} has no script", 'data.script has the lines of the user: {"script": ["I need a ticket.", "Yes."]}.')
        if not isinstance(script, list) or not script or not all(isinstance(line, str) and line.strip() for line in script):
            raise BadInput(f"{where}: data.script is {repr(script)[:80]}, a list of at least one line was expected, none of them empty")
        return ScriptUserSession(script)


class ScriptUserSession:
    """Says one line per turn and is done with the last; after that it returns an empty turn."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._next = 0

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        """Return the next line."""
        if self._next >= len(self._lines):
            return UserTurn("", True)
        self._next += 1
        return UserTurn(self._lines[self._next - 1], self._next == len(self._lines))


def _open(options: str | None, seed: int) -> ScriptUser:
    if options is not None:
        hint = "Put its lines into data.script of the scenario, and say script."
        raise BadInput(f"{f'script:{options}'[:80]!r} names no user: a script stands in its scenario", hint)
    return ScriptUser()


USER = UserProvider("script", _open, "says the lines of the scenario's data.script", ("script",))
