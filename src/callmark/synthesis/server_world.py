"""The world of any tools that can be called, such as an MCP server: plans are made by calling the tools, and results are real."""

import asyncio
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

from callmark.models.keys import Keys
from callmark.models.model import ModelError
from callmark.runs.event_loop import run_sync
from callmark.simulation.session import ToolSource
from callmark.simulation.toolboxes import open_tools
from callmark.synthesis.api_expert import ApiExpert
from callmark.synthesis.api_goals import ConversationPlan, Goal
from callmark.synthesis.api_lookups import UnplannableError
from callmark.synthesis.api_plans import STYLES, make_case, unsupported_wishes
from callmark.synthesis.api_policy import tool_policy, tool_rules
from callmark.synthesis.api_user import ApiUser
from callmark.synthesis.server_arguments import ArgumentGenerator
from callmark.synthesis.server_plans import REFUSED_RATE, ServerPlanBuilder, server_tool
from callmark.synthesis.world import World
from callmark.types import Case, Tool

_MAX_TRIES = 6
_CONCURRENCY = 4  # plans at a time: each has its own server process
_BEYOND_RATE, _DECLINED_RATE, _SEVERAL_RATE = 0.05, 0.06, 0.35
_NOT_REQUESTED = frozenset({"think"})  # no user asks for it


class ServerWorld(World):
    """Plans conversations over tools of which nothing is known but their definitions. Each plan has a toolbox of its own.

    Plans depend on the results of the tools, so they are reproducible only if those are. `concurrency` limits how many are made at a time.
    """

    label: str = ""
    tools: tuple[str, ...] = ()
    tool_definitions: tuple[Tool, ...] = ()
    branches: tuple[str, ...] = ()
    is_reproducible = False

    def __init__(self, specs: Sequence[str], tools: Sequence[Tool], keys: Keys, *, concurrency: int | None = None) -> None:
        self.label = keys.hide(", ".join(specs))
        self.tools, self.tool_definitions = tuple(specs), tuple(tools)
        self._keys = keys
        self._concurrency = min(concurrency or _CONCURRENCY, _CONCURRENCY)
        requested = [tool for tool in tools if tool.name not in _NOT_REQUESTED] or list(tools)
        self._tools = [server_tool(tool) for tool in requested]
        self._writes = [tool.tool.name for tool in self._tools if tool.writes]
        self._wishes = unsupported_wishes([tool.meaning.operation for tool in self._tools])
        self._has_worked = False  # a call was made, or refused, by any plan
        self._known = [path for spec in specs for path in _paths(spec)]
        self.branches = (*(f"{tool.tool.name}: done" for tool in self._tools), "no operation for it")

    @property
    def policy(self) -> str:
        """Return general rules for using tools."""
        return tool_policy(self._writes)

    @property
    def rules(self) -> Mapping[str, Any]:
        """Return rules that require a separate confirmation for every write; none if all tools only read."""
        return tool_rules(self._writes)

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """Return the plans from index `start`; the number of plans is unlimited. Tools take turns, so `balance` changes nothing."""
        found: list[Case] = []

        async def plan_all() -> None:
            limit = asyncio.Semaphore(self._concurrency)
            async with open_tools(self.tools, keys=self._keys) as source:

                async def plan(index: int) -> Case:
                    async with limit:
                        return await self._plan(source, index, seed)

                found.extend(await asyncio.gather(*map(plan, range(start, start + number))))

        run_sync(plan_all)
        return found

    def expert(self) -> ApiExpert:
        return ApiExpert("")

    def user(self, seed: int) -> ApiUser:
        return ApiUser(seed)

    async def _plan(self, source: ToolSource, index: int, seed: int) -> Case:
        """Return the plan with this index. Plans that do not work out are tried again with other values, then with other tools.

        If the server fails in every attempt, and nothing has worked so far, its last error is raised.
        """
        order = Random(f"{seed}/order/{index // len(self._tools)}").sample(self._tools, len(self._tools))
        target = order[index % len(order)]
        problems: list[ModelError] = []
        for attempt in range(_MAX_TRIES):
            random = Random(f"{seed}/plan/{index}/{attempt}")
            if random.random() < _BEYOND_RATE:
                break
            tool = target if attempt < _MAX_TRIES // 2 else random.choice(self._tools)
            goals: list[Goal] = []
            with suppress(UnplannableError), _collecting(problems):
                async with source.open_toolbox(f"plan-{seed}-{index:04d}/{attempt}/plan") as toolbox:
                    values = ArgumentGenerator(f"{seed}/{index}/{attempt}", random, self._known)
                    builder = ServerPlanBuilder(self._tools, toolbox, random, values)
                    await builder.add_goal(tool, declined=tool.writes and random.random() < _DECLINED_RATE)
                    if random.random() < _SEVERAL_RATE and builder.goals[-1].outcome == "done":
                        with suppress(UnplannableError):
                            await builder.add_goal(random.choice(self._tools))
                    goals = builder.goals
            self._has_worked |= bool(goals)
            is_refused = any(goal.outcome == "failed" for goal in goals)
            if goals and not (is_refused and attempt < _MAX_TRIES - 1 and random.random() > REFUSED_RATE):
                return self._case(index, seed, goals, random)
        if len(problems) == _MAX_TRIES and not self._has_worked:
            raise problems[-1]
        random = Random(f"{seed}/plan/{index}")
        return self._case(index, seed, [Goal(random.choice(self._wishes), "beyond", branches=["no operation for it"])], random)

    def _case(self, index: int, seed: int, goals: list[Goal], random: Random) -> Case:
        last = goals[-1]
        kind = last.outcome if last.outcome != "done" else "several" if len(goals) > 1 else "write" if last.steps[-1].writes else "read"
        branches = list(dict.fromkeys(branch for goal in goals for branch in goal.branches))
        return make_case(f"{kind}-{seed}-{index:04d}", ConversationPlan(kind, random.choice(STYLES), branches, goals), "")


@contextmanager
def _collecting(problems: list[ModelError]) -> Iterator[None]:
    try:
        yield
    except ModelError as problem:
        problems.append(problem)


def _paths(spec: str) -> list[str]:
    """Return the existing paths among the arguments of a command: a server works with what it was started for."""
    try:
        words = shlex.split(spec.partition(":")[2])[1:]
    except ValueError:
        return []
    return [word for word in words if os.path.exists(word) and not os.path.isfile(word)] or [word for word in words if os.path.isfile(word)]
