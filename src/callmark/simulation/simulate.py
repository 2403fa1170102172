"""Prepare runs of simulated conversations, one for each agent.

Everything is checked before the first conversation starts: agents, user and tools can be opened, the scenarios can be read, the tools
accept the expected calls, and the user can simulate every scenario. If a check fails, `BadInput` is raised and no folder is created. Each
run stores a copy of the tools.
"""

from collections.abc import Sequence

from msgspec import structs

from callmark.calls.toolsets import tools_json
from callmark.grading.settings import SIMULATION_EVALUATORS, GradingSettings
from callmark.models.choice import NamedModel
from callmark.models.keys import Keys
from callmark.runs.cache import Cache
from callmark.runs.grade import GradeOptions
from callmark.runs.manifest import SimulationSettings
from callmark.runs.runner import Runner
from callmark.runs.selection import CaseSelection
from callmark.simulation.open_simulator import list_tools, open_simulator, open_user_for_checks
from callmark.simulation.scenario_checks import check_scenario
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
    """Return a runner for several agents and the same scenarios, checked and ready to start.

    `concurrency` is how many conversations run at a time.
    """
    simulators = [open_simulator(label, agent, simulation, keys, cache=cache, concurrency=concurrency) for label, agent in agents]
    tools = await list_tools(simulation.tools, keys) if simulation.tools else ()
    if tools:
        selection = structs.replace(selection, tools_content=tools_json(tools, annotations=True))
    user = open_user_for_checks(simulation)

    def check(case: Case) -> None:
        check_scenario(case, user, tools, ignore=grading.ignore)

    return Runner(selection, simulators, grading, keys, out=out, name=name, resume=resume, options=options, check=check)


def simulation_grading(grading: GradingSettings, evaluators: Sequence[str] = ()) -> GradingSettings:
    """Return the settings with the given evaluators; if none are given or configured, with the default ones for conversations."""
    if evaluators:
        return structs.replace(grading, evaluators=tuple(evaluators))
    return structs.replace(grading, evaluators=SIMULATION_EVALUATORS) if grading.evaluators == GradingSettings().evaluators else grading
