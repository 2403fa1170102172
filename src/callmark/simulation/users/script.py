"""A user who reads from a script: the lines of `data.script`, one after the other, whatever the agent says."""

from collections.abc import Sequence

from callmark.errors import BadInput
from callmark.simulation.session import NothingToOpen, UserTurn
from callmark.types import Case, Message


class ScriptUser(NothingToOpen):
    """Plays the scenarios that have a script; any other raises `BadInput`, and so does one whose script is no list of texts."""

    label = "script"

    def of(self, case: Case, trial: int) -> "Reader":
        """Who reads the script of that scenario; every trial is the same."""
        where = f"{case.place} ({case.id})" if case.place else case.id
        script = case.data.get("script")
        if script is None:
            raise BadInput(f"{where} has no script", 'data.script has the lines of the user: {"script": ["I need a ticket.", "Yes."]}.')
        if not isinstance(script, list) or not script or not all(isinstance(line, str) and line.strip() for line in script):
            raise BadInput(f"{where}: data.script is {repr(script)[:80]}, a list of at least one line was expected, none of them empty")
        return Reader(script)


class Reader:
    """Reads line by line, and is done with the last; after that there is nothing more to say."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._next = 0

    async def speak(self, heard: Sequence[Message]) -> UserTurn:
        """The next line."""
        if self._next >= len(self._lines):
            return UserTurn("", True)
        self._next += 1
        return UserTurn(self._lines[self._next - 1], self._next == len(self._lines))
