"""Prepare runs of simulated conversations, one for each agent.

Everything is checked before the first conversation starts: agents, user and tools can be opened, the scenarios can be read, the tools
accept the expected calls, and the user can simulate every scenario. If a check fails, `BadInput` is raised and no folder is created. Each
run stores a copy of the tools. A server that lists its tools is kept for the conversations.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack

from msgspec import Struct, structs

from callmark.calls.toolsets import tools_json
from callmark.grading.settings import SIMULATION_EVALUATORS, GradingSettings
from callmark.models.choice import NamedModel
from callmark.models.keys import Keys
from callmark.runs.cache import Cache
from callmark.runs.grade import GradeOptions
from callmark.runs.manifest import SimulationSettings
from callmark.runs.runner import Runner
from callmark.runs.selection import CaseSelection
from callmark.simulation.open_simulator import open_simulator, open_tool_source, open_user_for_checks
from callmark.simulation.scenario_checks import check_scenario
from callmark.simulation.toolboxes.shared import SharedToolSource
from callmark.types import Case

MAX_STEPS = 20


class PreparedSimulation(Struct, frozen=True):
    """A runner that is ready to start, and the tools of its conversations: closing `tools` closes their servers."""

    runner: Runner
    tools: AsyncExitStack


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
    tags: Mapping[str, str] | None = None,
    warn: Callable[[str], None] = lambda sentence: None,
) -> PreparedSimulation:
    """Return a runner for several agents and the same scenarios, checked and ready to start, and their tools, which are open.

    `concurrency` is how many conversations run at a time. `warn` gets what the user and the tools have to say about these scenarios.
    """
    source = SharedToolSource(open_tool_source(simulation, keys))
    simulators = [
        open_simulator(label, agent, simulation, keys, cache=cache, concurrency=concurrency, source=source) for label, agent in agents
    ]
    user = open_user_for_checks(simulation)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(source)
        tools = source.tools
        if tools:
            selection = structs.replace(selection, tools_content=tools_json(tools, annotations=True))

        def check(case: Case) -> None:
            check_scenario(case, user, tools, ignore=grading.ignore)

        runner = Runner(selection, simulators, grading, keys, out=out, name=name, resume=resume, options=options, tags=tags, check=check)
        for notice in (*source.notices, *getattr(user, "notices", ())):
            warn(notice)
        return PreparedSimulation(runner, stack.pop_all())


def simulation_grading(grading: GradingSettings, evaluators: Sequence[str] = ()) -> GradingSettings:
    """Return the settings with the given evaluators; if none are given or configured, with the default ones for conversations."""
    if evaluators:
        return structs.replace(grading, evaluators=tuple(evaluators))
    return structs.replace(grading, evaluators=SIMULATION_EVALUATORS) if grading.evaluators == GradingSettings().evaluators else grading
