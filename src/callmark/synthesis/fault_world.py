"""A world whose plans are those of another world that use what failed in a run: the same tools, arguments and branches.

The other world's plans are looked through in order. Each target gets a share of the plans in proportion to its faults; a plan counts for
one of the targets that it hits. So the same seed gives the same plans, however many are requested.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from callmark.errors import BadInput
from callmark.simulation.session import Agent, State, User
from callmark.synthesis.fault_targets import FaultTarget
from callmark.synthesis.world import World
from callmark.types import Case, Tool

_BLOCK = 50  # plans of the other world that are made at once
MAX_SEARCHED = 5000  # plans of the other world that are looked through for a plan that hits a target


class FaultWorld(World):
    """Selects plans that hit the targets. Targets that no plan hits are in `missed`, once plans were made."""

    def __init__(self, world: World, targets: Sequence[FaultTarget], tools: Sequence[Tool]) -> None:
        """Create a world over another one with these tools. Targets whose tool it lacks are left out; if none is left, raise `BadInput`."""
        names = {tool.name for tool in tools}
        self.targets = [target for target in targets if target.tool in names]
        if not self.targets:
            failed = ", ".join(dict.fromkeys(target.tool for target in targets))
            raise BadInput(
                f"none of the tools that failed are among the tools of {world.label}: {failed[:200]}", "Pass their tools with --tools."
            )
        self._world = world
        self.missed: list[FaultTarget] = []

    @property
    def label(self) -> str:
        return self._world.label

    @property
    def tools(self) -> tuple[str, ...]:
        return self._world.tools

    @property
    def tool_definitions(self) -> tuple[Tool, ...]:
        return self._world.tool_definitions

    @property
    def policy(self) -> str:
        return self._world.policy

    @property
    def rules(self) -> Mapping[str, Any]:
        return self._world.rules

    @property
    def branches(self) -> tuple[str, ...]:
        return self._world.branches

    @property
    def mocked(self) -> bool:
        return self._world.mocked

    @property
    def is_reproducible(self) -> bool:
        return self._world.is_reproducible

    @property
    def bad_plans(self) -> tuple[str, ...]:
        return self._world.bad_plans

    def expert(self) -> Agent:
        return self._world.expert()

    def user(self, seed: int) -> User:
        return self._world.user(seed)

    def check_state(self, state: State) -> None:
        self._world.check_state(state)

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """Return plans that hit the targets; fewer if the other world has no more of them."""
        found = _PlanSearch(self._world, self.targets, seed=seed, balance=balance)
        plans: list[Case] = []
        while len(plans) < start + number and (plan := found.next_plan()) is not None:
            plans.append(plan)
        self.missed = [target for target in self.targets if target in found.without_plans and not found.counts[target]]
        return plans[start:]


class _PlanSearch:
    """Takes plans of a world for the targets in turn."""

    def __init__(self, world: World, targets: Sequence[FaultTarget], *, seed: int, balance: bool) -> None:
        self._world = world
        self._seed, self._balance = seed, balance
        self._start = 0
        self._used: set[str] = set()
        self._waiting: dict[FaultTarget, deque[Case]] = {target: deque() for target in targets}
        self._total = sum(target.faults for target in targets)
        self.counts = dict.fromkeys(targets, 0)
        self.without_plans: set[FaultTarget] = set()

    def next_plan(self) -> Case | None:
        """Return the next plan; None if no target has any more."""
        while left := [target for target in self.counts if target not in self.without_plans]:
            made = sum(self.counts.values()) + 1
            target = max(left, key=lambda each: each.faults / self._total * made - self.counts[each])
            plan = self._plan_for(target)
            if plan is not None:
                self.counts[target] += 1
                self._used.add(plan.id)
                return plan
            self.without_plans.add(target)
        return None

    def _plan_for(self, target: FaultTarget) -> Case | None:
        waiting = self._waiting[target]
        searched = self._start
        while True:
            while waiting:
                plan = waiting.popleft()
                if plan.id not in self._used:
                    return plan
            if self._start - searched >= MAX_SEARCHED:
                return None
            block = self._world.plans(_BLOCK, seed=self._seed, start=self._start, balance=self._balance)
            self._start += len(block)
            for plan in block:
                for each, queue in self._waiting.items():
                    if each.is_hit(plan):
                        queue.append(plan)
            if not block:
                return None
