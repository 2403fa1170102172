"""Simulate conversations about mock APIs in this process."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from callmark.simulation.session import User
from callmark.simulation.simulator import Simulator
from callmark.simulation.toolboxes import open_tools
from callmark.synthesis.api_world import ApiWorld, openapi_world
from callmark.types import Case, Prediction, Tool

FOLDER = Path(__file__).parent
RETAIL, LIBRARY, CLINIC = (str(FOLDER / f"{name}_api.yaml") for name in ("retail", "library", "clinic"))


@lru_cache(maxsize=8)
def simulate_plans(
    path: str, number: int, *, seed: int = 7, balance: bool = False, user: User | None = None
) -> tuple[ApiWorld, list[Case], list[Prediction], tuple[Tool, ...]]:
    """Return a world, its first plans, the conversations about them, and its tools."""
    world = openapi_world(path)
    cases = world.plans(number, seed=seed, balance=balance)
    tools = open_tools(world.tools)
    simulator = Simulator("expert", world.expert(), user or world.user(seed), tools, system=world.policy)
    return world, cases, asyncio.run(_simulate(simulator, cases)), tools.tools


async def _simulate(simulator: Simulator, cases: Sequence[Case]) -> list[Prediction]:
    async with simulator:
        return await asyncio.gather(*map(simulator.predict, cases))
