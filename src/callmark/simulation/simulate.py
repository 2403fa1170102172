"""Simulated conversations as runs: who takes part is opened by its spec, each agent's run goes into a folder of its own.

Nothing begins before everything is known to fit: agents, user and tools can be opened, the scenarios are read, the functions that they
expect are among the tools, and the user can play each of them. Else `BadInput` is raised, and no folder is left. Each run keeps a copy of
the tools as they were.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from os import PathLike, fspath

from msgspec import structs

from callmark.calls.toolsets import tools_json
from callmark.config import read_config
from callmark.errors import BadInput
from callmark.formats import load
from callmark.grading.evaluator import SIMULATED, Settings
from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings
from callmark.models.specs import Spec, read_spec
from callmark.runs.cache import Cache
from callmark.runs.grade_run import GradedRun, GradeOptions
from callmark.runs.runner import ModelRuns, OpenedModel, without_keys
from callmark.runs.source import Cases
from callmark.runs.start import chosen, run_sync
from callmark.runs.store import SimulatedInfo
from callmark.runs.worker import Budget
from callmark.simulation.agents import ModelAgent, ReportingAgent
from callmark.simulation.checking import refuse_unknown_functions
from callmark.simulation.session import Agent, Ask, State, User
from callmark.simulation.simulator import CONCURRENCY, MAX_TURNS, Simulator
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
    how: GradeOptions | None = None,
) -> ModelRuns:
    """The runs of several agents over the same scenarios, ready to begin. `at_once`: how many conversations are held at a time."""
    contenders = [simulator(label, agent, plan, keys, cache=cache, at_once=at_once) for label, agent in agents]
    tools = listed_tools(plan.tools, keys) if plan.tools else ()
    if tools:
        cases = structs.replace(cases, tools_text=tools_json(tools))
    if cases.path != "-":  # that can be read once, and it is the run's to do
        user = named_user(plan)
        scenarios = islice(load(cases.path, dialect=cases.dialect, skip_bad=True), cases.limit)
        refuse_unplayable((case for case in scenarios if isinstance(case, Case) and case.is_scenario), user, tools, ignore=grading.ignore)
    return ModelRuns(cases, contenders, grading, keys, out=out, name=name, resume=resume, how=how)


def simulator(
    name: str | None,
    agent: ModelSettings,
    plan: SimulatedInfo,
    keys: Keys,
    *,
    cache: Cache | None = None,
    at_once: int | None = None,
    expert: Agent | None = None,
    user: User | None = None,
    listed: tuple[Tool, ...] = (),
) -> OpenedModel:
    """An agent that is tested as the plan says. An `expert` or a `user` that is at hand takes part instead of whom the settings name; where
    tools are `listed`, conversations with any others end in an error.
    """
    voices: list[Voice] = []
    shown, secret = agent, False
    if expert is None:
        voice = Voice(agent, keys, cache)
        _refuse_unfit(voice.spec, plan)
        voices.append(voice)
        name = name or voice.label
        shown, secret = without_keys(agent, voice.spec, keys)
        expert = ModelAgent(voice, most_steps=plan.max_steps) if plan.tools else ReportingAgent(voice)
    asked = ["judge"]

    def ask_model(spec: str) -> tuple[Ask, str]:
        asked.append("user")
        voices.append(Voice(plan.user, keys, cache))
        return voices[-1].ask, voices[-1].label

    user = user or open_user(plan.user.model, ask_model=ask_model, seed=plan.seed)
    judge = Voice(plan.judge, keys, cache) if plan.judge else None
    made = Simulator(
        name or agent.model,
        expert,
        user,
        open_tools(plan.tools, keys=keys) if plan.tools else NoTools(),
        voices=[*voices, *([judge] if judge else [])],
        system=plan.system,
        max_turns=plan.max_turns,
        judge=judge.ask if judge else None,
        listed=listed,
    )
    hidden, also_secret = _without_keys(plan, keys, models=asked)
    # each model that takes part tries again by itself: a conversation that came to nothing is not begun anew
    settings = structs.replace(agent, retries=0, rpm=None, concurrency=at_once or CONCURRENCY)
    return OpenedModel(made.label, made, settings, shown, secret or also_secret, simulated=hidden)


def _refuse_unfit(spec: Spec, plan: SimulatedInfo) -> None:
    """Refuse an agent that cannot hold a conversation with these tools, or without any."""
    if spec.provider in _KNOW_THE_ANSWERS:
        raise BadInput(f"{spec.shown} answers at decision points, it cannot hold a conversation")
    if plan.tools and spec.provider in _DOES_ITS_OWN:
        raise BadInput(f"{spec.shown} carries out its calls itself: it takes no --tools")
    if not plan.tools and spec.provider not in _MAY_REPORT:
        raise BadInput(f"{spec.shown} has nothing to call without --tools", f"For example {EXAMPLES['mcp']}.")


def simulated_grading(grading: Settings, evaluators: Sequence[str] = ()) -> Settings:
    """How conversations are graded where nobody says it: by what was called, what it led to, and what it took."""
    if evaluators:
        return structs.replace(grading, evaluators=tuple(evaluators))
    return structs.replace(grading, evaluators=SIMULATED) if grading.evaluators == Settings().evaluators else grading


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
    evaluators: Sequence[str] = (),
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
            simulated_grading(found.grading, evaluators),
            Keys.here(),
            cache=kept,
            out=out,
            name=name,
            resume=resume,
        )
        runs.ask(cache=kept, budget=Budget(max_cost, max_tokens_total))
        graded.extend(asked.graded for asked in runs.grade() if asked.graded is not None)

    run_sync(simulated)
    return graded


def listed_tools(specs: Sequence[str], keys: Keys) -> tuple[Tool, ...]:
    """The tools that conversations will have. What cannot be used raises `BadInput`."""

    return first_look(specs, keys)[0]


def first_look(
    specs: Sequence[str], keys: Keys, *, at_state: Callable[[tuple[Tool, ...]], bool] = lambda tools: False
) -> tuple[tuple[Tool, ...], State | None]:
    """The tools that conversations will have; and the state that they begin in, where such tools are to be asked for it and tell it."""

    async def looked() -> tuple[tuple[Tool, ...], State | None]:
        async with open_tools(specs, keys=keys) as source:
            try:
                async with source.opened("tools") as toolbox:
                    return toolbox.tools, await toolbox.state() if at_state(toolbox.tools) else None
            except ModelError as error:
                raise BadInput(str(error)) from None

    return asyncio.run(looked())


def refuse_unplayable(scenarios: Iterable[Case], user: User, tools: Sequence[Tool], *, ignore: tuple[str, ...]) -> None:
    """Refuse scenarios that expect what no tool can do, or that the user cannot play."""
    for case in scenarios:
        refuse_unknown_functions(case, tools, ignore=ignore)
        user.of(case, 0)


def named_user(plan: SimulatedInfo) -> User:
    """The user that the plan names, to see what they can play: if it is a model, it cannot be asked."""
    return open_user(plan.user.model, ask_model=_nobody, seed=plan.seed)


def _nobody(spec: str) -> tuple[Ask, str]:
    """Stands in for a model where nothing is asked."""

    async def ask(case: Case, trial: int) -> Prediction:
        raise ModelError("nothing is asked")

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
