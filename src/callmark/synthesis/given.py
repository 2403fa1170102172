"""Plans that somebody else made: a file of scenarios, for any tools, or in place of the plans of a world."""

from collections.abc import Mapping, Sequence
from typing import Any

from callmark.errors import BadInput
from callmark.simulation.session import Agent, User
from callmark.simulation.users.rule_based.user import RuleBasedUser
from callmark.synthesis.world import World
from callmark.types import Case

_SPEAKERS = "callmark run --list-models shows what there is."


class GivenPlans:
    """A world whose plans are these scenarios, in this order. Those with a plan of the `world` can be played by its expert and its user;
    otherwise an agent has to be named (`BadInput`), and the user is `agenda`.
    """

    made_up = False
    branches: tuple[str, ...] = ()

    def __init__(self, scenarios: Sequence[Case], label: str, *, world: World | None = None, tools: tuple[str, ...] = ()) -> None:
        self.label = label
        self.tools = tools
        self.system = ""
        self.rules: Mapping[str, Any] = {}
        self._scenarios = scenarios
        self._world = world if world is not None and all("plan" in case.data for case in scenarios) else None
        if world is not None:
            self.tools, self.system, self.rules, self.made_up = world.tools, world.system, world.rules, world.made_up

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """The scenarios from `start` on; none where there are no more."""
        return list(self._scenarios[start : start + number])

    def expert(self) -> Agent:
        """The expert of the world that the plans are of."""
        if self._world is None:
            raise BadInput(f"{self.label} can be played with an agent only: name one with --agent", _SPEAKERS)
        return self._world.expert()

    def user(self, seed: int) -> User:
        """The user of the world that the plans are of, or one that goes by a scenario's data or expected calls."""
        return RuleBasedUser(seed=seed) if self._world is None else self._world.user(seed)
