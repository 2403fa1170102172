"""Conversations about made-up APIs, held in this process."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from callmark.models.model import Question
from callmark.simulation.session import User
from callmark.simulation.simulator import Simulator
from callmark.simulation.toolboxes import open_tools
from callmark.synthesis.api_world import ApiWorld, api_world
from callmark.types import Case, Prediction, Tool

FOLDER = Path(__file__).parent
RETAIL, LIBRARY, CLINIC = (str(FOLDER / f"{name}_api.yaml") for name in ("retail", "library", "clinic"))


@lru_cache(maxsize=8)
def held(
    path: str, number: int, *, seed: int = 7, balance: bool = False, user: User | None = None
) -> tuple[ApiWorld, list[Case], list[Prediction], tuple[Tool, ...]]:
    """A world, its first plans, how their conversations went, and its tools."""
    world = api_world(path)
    cases = world.plans(number, seed=seed, balance=balance)
    tools = open_tools(world.tools)
    simulator = Simulator("expert", world.expert(), user or world.user(seed), tools, system=world.system)
    return world, cases, asyncio.run(_held(simulator, cases)), tools.tools


async def _held(simulator: Simulator, cases: Sequence[Case]) -> list[Prediction]:
    async with simulator:

        async def one(case: Case) -> Prediction:
            reply = await simulator.ask(Question(case, 0))
            return Prediction(case.id, 0, reply.calls, reply.text, transcript=reply.transcript, ending=reply.ending, states=reply.states)

        return await asyncio.gather(*map(one, cases))
