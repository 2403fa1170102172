"""The scripted user: says the lines of `data.script` in order, regardless of what the agent says.

Scenarios without a script are played by the rule-based user, which `notices` says.
"""

from collections.abc import Sequence

from callmark.errors import BadInput
from callmark.simulation.scenario_checks import scenario_name
from callmark.simulation.session import NullContext, UserSession, UserTurn
from callmark.simulation.users.provider import UserProvider
from callmark.simulation.users.rule_based.user import RuleBasedUser
from callmark.types import Case, Message
from callmark.wording import pluralize


class ScriptUser(NullContext):
    """Simulates scenarios with a script, others as the rule-based user does. A script that is not a list of lines raises `BadInput`."""

    label = "script"

    def __init__(self, *, seed: int = 0) -> None:
        self._rule_based = RuleBasedUser(seed=seed)
        self._scenarios: dict[str, bool] = {}  # whether each has a script

    @property
    def notices(self) -> tuple[str, ...]:
        """How many of the scenarios so far have no script; empty if all of them have one."""
        without = sum(not has_script for has_script in self._scenarios.values())
        if not without:
            return ()
        have = "has" if without == 1 else "have"
        who = f"{without:,} of {pluralize(len(self._scenarios), 'scenario')} {have} no data.script"
        return (f"{who}: the rule-based user plays {'it' if without == 1 else 'them'}.",)

    def start_session(self, case: Case, trial: int) -> UserSession:
        """Return the user of a scenario; with a script, it says the same in every trial."""
        script = case.data.get("script")
        self._scenarios[case.id] = script is not None
        if script is None:
            return self._rule_based.start_session(case, trial)
        if not isinstance(script, list) or not script or not all(isinstance(line, str) and line.strip() for line in script):
            raise BadInput(f"{scenario_name(case)}: data.script: expected a list of non-empty lines, got {repr(script)[:80]}")
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
    return ScriptUser(seed=seed)


USER = UserProvider("script", _open, "says the lines in the scenario's data.script; rule-based if there are none", ("script",))
