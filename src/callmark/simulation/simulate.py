"""Simulated conversations as runs: who takes part is opened by its spec, each agent's run goes into a folder of its own.

Nothing begins before everything is known to fit: agents, user and tools can be opened, the scenarios are read, the functions that they
expect are among the tools, and the user can play each of them. Else `BadInput` is raised, and no folder is left. Each run keeps a copy of
the tools as they were.
"""

import asyncio
from collections.abc import Sequence
from itertools import islice
from os import PathLike, fspath

from msgspec import structs

from callmark.calls.toolsets import tools_json
from callmark.config import read_config
from callmark.errors import BadInput
from callmark.formats import load
from callmark.grading.suites import SIMULATED, Settings
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings, NoReply
from callmark.models.specs import read_spec
from callmark.running.asked_cases import Cases
from callmark.running.asking import Budget
from callmark.running.cache import Cache
from callmark.running.folder import SimulatedInfo
from callmark.running.graded_run import GradedRun, How
from callmark.running.model_run import Contender, ModelRuns, without_keys
from callmark.running.run import chosen, outside_a_loop
from callmark.simulation.agents import ModelAgent, ReportingAgent
from callmark.simulation.checking import refuse_unknown_functions
from callmark.simulation.simulator import CONCURRENCY, MAX_TURNS, Simulator
from callmark.simulation.talk import Ask
from callmark.simulation.toolboxes import EXAMPLES, open_tools
from callmark.simulation.toolboxes.none import NoTools
from callmark.simulation.users import open_user
from callmark.simulation.voices import Voice
from callmark.types import Case, Prediction, Tool

MAX_STEPS = 20
_DOES_ITS_OWN = ("chatbot",)  # never takes tools from us
_MAY_REPORT = ("chatbot", "python", "cmd")  # may be whole chatbots, which report the calls that they made
_KNOW_THE_ANSWERS = ("scripted", "replay")
Named = tuple[str | None, ModelSettings]


def simulation_runs(
    cases: Cases,
    agents: Sequence[Named],
    plan: SimulatedInfo,
    grading: Settings,
    keys: Keys,
    *,
    cache: Cache | None = None,
    at_once: int | None = None,
    out: str = "runs",
    name: str | None = None,
    resume: bool = False,
    how: How | None = None,
) -> ModelRuns:
    """The runs of several agents over the same scenarios, ready to begin. `at_once`: how many conversations are held at a time."""
    contenders = [simulator(label, agent, plan, keys, cache=cache, at_once=at_once) for label, agent in agents]
    tools = asyncio.run(_listed(plan, keys)) if plan.tools else ()
    if tools:
        cases = structs.replace(cases, tools_text=tools_json(tools))
    _refuse_unplayable(cases, plan, tools, grading)
    return ModelRuns(cases, contenders, grading, keys, out=out, name=name, resume=resume, how=how)


def simulator(
    name: str | None, agent: ModelSettings, plan: SimulatedInfo, keys: Keys, *, cache: Cache | None = None, at_once: int | None = None
) -> Contender:
    """An agent that is tested as the plan says."""
    voice = Voice(agent, keys, cache)
    provider = voice.spec.provider
    if provider in _KNOW_THE_ANSWERS:
        raise BadInput(f"{voice.spec.shown} answers at decision points, it cannot hold a conversation")
    if plan.tools and provider in _DOES_ITS_OWN:
        raise BadInput(f"{voice.spec.shown} carries out its calls itself: it takes no --tools")
    if not plan.tools and provider not in _MAY_REPORT:
        raise BadInput(f"{voice.spec.shown} has nothing to call without --tools", f"For example {EXAMPLES['mcp']}.")
    voices = [voice]

    def ask_model(spec: str) -> tuple[Ask, str]:
        voices.append(Voice(plan.user, keys, cache))
        return voices[-1].ask, voices[-1].label

    user = open_user(plan.user.model, ask_model=ask_model, seed=plan.seed)
    judge = Voice(plan.judge, keys, cache) if plan.judge else None
    made = Simulator(
        name or voice.label,
        ModelAgent(voice, most_steps=plan.max_steps) if plan.tools else ReportingAgent(voice),
        user,
        open_tools(plan.tools, keys=keys) if plan.tools else NoTools(),
        voices=[*voices, *([judge] if judge else [])],
        system=plan.system,
        max_turns=plan.max_turns,
        judge=judge.ask if judge else None,
    )
    shown, secret = without_keys(agent, voice.spec, keys)
    hidden, also_secret = _without_keys(plan, keys, models=("user", "judge") if len(voices) > 1 else ("judge",))
    # each model that takes part tries again by itself: a conversation that came to nothing is not begun anew
    settings = structs.replace(agent, retries=0, rpm=None, concurrency=at_once or CONCURRENCY)
    return Contender(made.label, made, settings, shown, secret or also_secret, simulated=hidden)


def simulated_grading(grading: Settings, suites: Sequence[str] = ()) -> Settings:
    """How conversations are graded where nobody says it: by what was called, what it led to, and what it took."""
    if suites:
        return structs.replace(grading, suites=tuple(suites))
    return structs.replace(grading, suites=SIMULATED) if grading.suites == Settings().suites else grading


def simulate(
    scenarios: str | PathLike[str],
    agents: str | ModelSettings | Sequence[str | ModelSettings],
    *,
    user: str | ModelSettings = "agenda",
    tools: str | Sequence[str] = (),
    system: str = "",
    judge: str | ModelSettings | None = None,
    trials: int = 1,
    max_turns: int = MAX_TURNS,
    max_steps: int = MAX_STEPS,
    seed: int = 0,
    limit: int | None = None,
    suites: Sequence[str] = (),
    out: str = "runs",
    name: str | None = None,
    resume: bool = False,
    cache: bool = True,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    config: str | None = None,
) -> list[GradedRun]:
    """Let simulated users talk to agents, and grade what was called; a run for each agent, in a folder of its own.

    Agents, user and judge are specs, names from `callmark.toml`, or `ModelSettings`; `tools` are specs of tool sources. What cannot work
    raises `BadInput` before anything is asked.
    """
    found = read_config(config)
    given = [agents] if isinstance(agents, str | ModelSettings) else list(agents)
    if not given:
        raise BadInput("there is no agent to test")
    plan = SimulatedInfo(
        chosen(user, found.models)[1],
        None if judge is None else chosen(judge, found.models)[1],
        (tools,) if isinstance(tools, str) else tuple(tools),
        system,
        max_turns,
        max_steps,
        seed,
    )
    graded: list[GradedRun] = []

    def simulated() -> None:
        kept = Cache() if cache else None
        runs = simulation_runs(
            Cases(fspath(scenarios), limit=limit, trials=trials, scenarios=True),
            [chosen(agent, found.models) for agent in given],
            plan,
            simulated_grading(found.grading, suites),
            Keys.here(),
            cache=kept,
            out=out,
            name=name,
            resume=resume,
        )
        runs.ask(cache=kept, budget=Budget(max_cost, max_tokens_total))
        graded.extend(asked.graded for asked in runs.grade() if asked.graded is not None)

    outside_a_loop(simulated)
    return graded


async def _listed(plan: SimulatedInfo, keys: Keys) -> tuple[Tool, ...]:
    """The tools that the conversations will have."""
    async with open_tools(plan.tools, keys=keys) as source:
        try:
            async with source.opened("tools") as toolbox:
                return toolbox.tools
        except NoReply as error:
            raise BadInput(str(error)) from None


def _refuse_unplayable(cases: Cases, plan: SimulatedInfo, tools: tuple[Tool, ...], grading: Settings) -> None:
    """Refuse scenarios that expect what no tool can do, or that the user cannot play."""
    if cases.path == "-":  # it can be read once, and that is the run's to do
        return
    user = open_user(plan.user.model, ask_model=_nobody, seed=plan.seed)
    for case in islice(load(cases.path, dialect=cases.dialect, skip_bad=True), cases.limit):
        if isinstance(case, Case) and case.is_scenario:
            refuse_unknown_functions(case, tools, ignore=grading.ignore)
            user.of(case, 0)


def _nobody(spec: str) -> tuple[Ask, str]:
    """Stands in for a model where nothing is asked."""

    async def ask(case: Case, trial: int) -> Prediction:
        raise NoReply("nothing is asked")

    return ask, spec


def _without_keys(plan: SimulatedInfo, keys: Keys, *, models: Sequence[str]) -> tuple[SimulatedInfo, bool]:
    """The plan as it may be written down, and whether something secret was taken out of it. `models`: the parts that models play."""
    secrets = []
    shown = {}
    for part in models:
        if (settings := getattr(plan, part)) is not None:
            shown[part], secret = without_keys(settings, read_spec(settings.model, keys), keys)
            secrets.append(secret)
    tools, system = tuple(map(keys.hide, plan.tools)), keys.hide(plan.system)
    return structs.replace(plan, tools=tools, system=system, **shown), any(secrets) or (tools, system) != (plan.tools, plan.system)
