"""A world whose plans are given scenarios: for any tools, or instead of the plans of another world."""

from collections.abc import Mapping, Sequence
from typing import Any

from callmark.errors import BadInput
from callmark.simulation.session import Agent, User
from callmark.simulation.users.rule_based.user import RuleBasedUser
from callmark.synthesis.world import World
from callmark.types import Case


class ScenarioWorld(World):
    """Takes its plans from scenarios, in order.

    If `world` is given and every scenario has a plan (`data.plan`), that world's expert and user follow the plans. Otherwise, the user is
    rule-based, and `expert` raises `BadInput`: an agent is required.
    """

    label: str = ""
    tools: tuple[str, ...] = ()
    policy: str = ""
    mocked: bool = False

    def __init__(self, scenarios: Sequence[Case], label: str, *, world: World | None = None, tools: tuple[str, ...] = ()) -> None:
        self.label = label
        self.tools = tools
        self._rules: Mapping[str, Any] = {}
        self._scenarios = scenarios
        self._world = world if world is not None and all("plan" in case.data for case in scenarios) else None
        if world is not None:
            self.tools, self.policy, self._rules, self.mocked = world.tools, world.policy, world.rules, world.mocked

    @property
    def rules(self) -> Mapping[str, Any]:
        return self._rules

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """Return the scenarios from index `start`; empty if there are no more."""
        return list(self._scenarios[start : start + number])

    def expert(self) -> Agent:
        """Return the expert of the world that the plans belong to."""
        if self._world is None:
            raise BadInput(
                f"{self.label} has no plans for an expert, so an agent is required",
                "Pass --agent PROVIDER:NAME. callmark run --list-models lists the providers.",
            )
        return self._world.expert()

    def user(self, seed: int) -> User:
        """Return the user of the world that the plans belong to, else a rule-based user."""
        return RuleBasedUser(seed=seed) if self._world is None else self._world.user(seed)
