"""Simulate conversations and grade them: a run for each agent.

Everything is checked before the first conversation starts: agents, user and tools open, the scenarios can be read, the tools accept the
expected calls, and the user can play every scenario. Otherwise `BadInput` is raised and no folder is left behind. Each run keeps a copy of
the tools.
"""

import asyncio
from collections.abc import Sequence
from os import PathLike, fspath

from msgspec import structs

from callmark.calls.toolsets import tools_json
from callmark.config import read_config
from callmark.errors import BadInput
from callmark.grading.settings import SIMULATION_EVALUATORS, GradingSettings
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.runs.cache import Cache
from callmark.runs.grade import GradeOptions
from callmark.runs.manifest import SimulationSettings
from callmark.runs.run import Run
from callmark.runs.run_model import resolve_model
from callmark.runs.run_models import run_sync
from callmark.runs.runner import Runner
from callmark.runs.selection import CaseSelection
from callmark.runs.worker import Budget
from callmark.simulation.open_simulator import NamedModel, list_tools, open_simulator, open_user_for_checks
from callmark.simulation.playability import refuse_unplayable
from callmark.simulation.simulator import MAX_TURNS
from callmark.simulation.users import DEFAULT_USER
from callmark.types import Case

MAX_STEPS = 20


async def prepare_simulation(
    selection: CaseSelection,
    agents: Sequence[NamedModel],
    simulation: SimulationSettings,
    grading: GradingSettings,
    keys: Keys,
    *,
    cache: Cache | None = None,
    concurrency: int | None = None,
    out: str = "runs",
    name: str | None = None,
    resume: bool = False,
    options: GradeOptions | None = None,
) -> Runner:
    """Return a runner of several agents over the same scenarios, checked and ready to start.

    `concurrency` is how many conversations run at a time.
    """
    simulators = [open_simulator(label, agent, simulation, keys, cache=cache, concurrency=concurrency) for label, agent in agents]
    tools = await list_tools(simulation.tools, keys) if simulation.tools else ()
    if tools:
        selection = structs.replace(selection, tools_content=tools_json(tools))
    user = open_user_for_checks(simulation)

    def check(case: Case) -> None:
        refuse_unplayable(case, user, tools, ignore=grading.ignore)

    return Runner(selection, simulators, grading, keys, out=out, name=name, resume=resume, options=options, check=check)


def simulation_grading(grading: GradingSettings, evaluators: Sequence[str] = ()) -> GradingSettings:
    """Return the settings with the given evaluators; where none are given or configured, with those for conversations."""
    if evaluators:
        return structs.replace(grading, evaluators=tuple(evaluators))
    return structs.replace(grading, evaluators=SIMULATION_EVALUATORS) if grading.evaluators == GradingSettings().evaluators else grading


async def simulate_async(
    scenarios: str | PathLike[str] | CaseSelection,
    agents: str | ModelSettings | Sequence[str | ModelSettings],
    *,
    user: str | ModelSettings = DEFAULT_USER,
    tools: str | Sequence[str] = (),
    system: str = "",
    judge: str | ModelSettings | None = None,
    trials: int = 1,
    max_turns: int = MAX_TURNS,
    max_steps: int = MAX_STEPS,
    seed: int = 0,
    limit: int | None = None,
    evaluators: Sequence[str] = (),
    out: str = "runs",
    name: str | None = None,
    resume: bool = False,
    cache: bool = True,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    config: str | None = None,
) -> list[Run]:
    """Simulate users that talk to agents, and grade the agents' calls; return a run for each agent, in its own folder.

    Agents, user and judge are specs, names from `callmark.toml`, or `ModelSettings`; a user may also be a kind of user such as
    `rule-based:terse`. `tools` are specs of tool sources. What cannot work raises `BadInput` before anything is sent. An agent whose
    conversations all failed has no run in the list. A `CaseSelection` has its own trials and limit.
    """
    found = read_config(config)
    given = [agents] if isinstance(agents, str | ModelSettings) else list(agents)
    if not given:
        raise BadInput("there is no agent to test")
    simulation = SimulationSettings(
        resolve_model(user, found.models)[1],
        None if judge is None else resolve_model(judge, found.models)[1],
        (tools,) if isinstance(tools, str) else tuple(tools),
        system,
        max_turns,
        max_steps,
        seed,
    )
    if not isinstance(scenarios, CaseSelection):
        scenarios = CaseSelection(fspath(scenarios), limit=limit, trials=trials, scenarios=True)
    opened_cache = Cache() if cache else None
    runner = await prepare_simulation(
        scenarios,
        [resolve_model(agent, found.models) for agent in given],
        simulation,
        simulation_grading(found.grading, evaluators),
        Keys.here(),
        cache=opened_cache,
        out=out,
        name=name,
        resume=resume,
    )
    await runner.predict(cache=opened_cache, budget=Budget(max_cost, max_tokens_total))
    return [run for run in await asyncio.to_thread(runner.grade) if run.is_graded]


def simulate(
    scenarios: str | PathLike[str] | CaseSelection,
    agents: str | ModelSettings | Sequence[str | ModelSettings],
    *,
    user: str | ModelSettings = DEFAULT_USER,
    tools: str | Sequence[str] = (),
    system: str = "",
    judge: str | ModelSettings | None = None,
    trials: int = 1,
    max_turns: int = MAX_TURNS,
    max_steps: int = MAX_STEPS,
    seed: int = 0,
    limit: int | None = None,
    evaluators: Sequence[str] = (),
    out: str = "runs",
    name: str | None = None,
    resume: bool = False,
    cache: bool = True,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    config: str | None = None,
) -> list[Run]:
    """Do what `simulate_async` does, and wait for it; also where an event loop is running, as in a notebook."""
    return run_sync(
        lambda: simulate_async(
            scenarios,
            agents,
            user=user,
            tools=tools,
            system=system,
            judge=judge,
            trials=trials,
            max_turns=max_turns,
            max_steps=max_steps,
            seed=seed,
            limit=limit,
            evaluators=evaluators,
            out=out,
            name=name,
            resume=resume,
            cache=cache,
            max_cost=max_cost,
            max_tokens_total=max_tokens_total,
            config=config,
        )
    )
