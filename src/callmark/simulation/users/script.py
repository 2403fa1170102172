"""The scripted user: says the lines of `data.script` in order, regardless of what the agent says."""

from collections.abc import Sequence

from callmark.errors import BadInput
from callmark.simulation.scenario_checks import scenario_name
from callmark.simulation.session import NullContext, UserTurn
from callmark.simulation.users.provider import UserProvider
from callmark.types import Case, Message


class ScriptUser(NullContext):
    """Simulates scenarios with a script. A scenario without one, or whose script is not a list of strings, raises `BadInput`."""

    label = "script"

    def start_session(self, case: Case, trial: int) -> "ScriptUserSession":
        """Return the user of a scenario; it says the same in every trial."""
        name = scenario_name(case)
        script = case.data.get("script")
        if script is None:
            raise BadInput(
                f"{name} cannot be simulated because data.script is missing",
                'Add the lines that the user says: {"data": {"script": ["I need a ticket.", "Yes."]}}.',
            )
        if not isinstance(script, list) or not script or not all(isinstance(line, str) and line.strip() for line in script):
            raise BadInput(f"{name}: data.script: expected a list of non-empty lines, got {repr(script)[:80]}")
        return ScriptUserSession(script)


class ScriptUserSession:
    """Says one line per turn and is done with the last; after that, turns are empty."""

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
        hint = "Put the lines into data.script of the scenario, and pass --user script."
        raise BadInput(f"the script user takes no options, got {f'script:{options}'[:80]!r}", hint)
    return ScriptUser()


USER = UserProvider("script", _open, "says the lines in the scenario's data.script", ("script",))
