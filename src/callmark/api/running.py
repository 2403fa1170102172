"""Run models at decision points, and simulate users that talk to agents; record and grade what comes back.

`run` and `simulate` wait for the result, also where an event loop is running, as in a notebook; `run_async` and `simulate_async` are
coroutines with the same parameters.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from os import PathLike, fspath
from typing import Any, ParamSpec

from msgspec import Struct, structs

from callmark.api.cases import CaseInput, select_cases, with_bad_rows
from callmark.api.grading import OUT, grading_settings
from callmark.api.resuming import read_resumed_run, recorded_agent
from callmark.config import read_config
from callmark.errors import BadInput
from callmark.models.choice import ModelChoice, check_prices, choose_models, override, resolve_model
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.reporting.safety import one_line
from callmark.runs.cache import Cache
from callmark.runs.event_loop import run_sync
from callmark.runs.grade import GradeOptions
from callmark.runs.manifest import SimulationSettings, resume_command
from callmark.runs.run import Run
from callmark.runs.run_model import open_run_model
from callmark.runs.runner import ProgressListener, Runner
from callmark.runs.selection import CaseSelection
from callmark.runs.worker import Budget
from callmark.simulation.simulate import MAX_STEPS, prepare_simulation, simulation_grading
from callmark.simulation.simulator import MAX_TURNS
from callmark.simulation.users import DEFAULT_USER
from callmark.wording import pluralize

Warn = Callable[[str], None]
P = ParamSpec("P")


class PreparedRuns(Struct, frozen=True):
    """Runs that are checked and ready to start: `predict`, then `grade`."""

    runner: Runner
    open_cache: Callable[[], Cache | None]  # in the thread that predicts
    budget: Budget
    progress: ProgressListener | None
    warn: Warn

    async def predict(self) -> None:
        """Request every prediction that is missing. When it is cancelled, `warn` gets the command that resumes each run."""
        try:
            await self.runner.predict(cache=self.open_cache(), budget=self.budget, progress=self.progress)
        except asyncio.CancelledError:
            for run in self.runner.runs:
                if run.info.status != "complete":
                    model_run = run.model_run
                    unit = "conversation" if model_run.simulation else "answer"
                    kept = f"{model_run.predictions:,} of {pluralize(model_run.requests, unit)} kept. To go on:"
                    self.warn(f"{kept}\n{resume_command(run.info)} {one_line(str(run.folder), 200)} --resume")
            raise

    def grade(self) -> list[Run]:
        """Grade the predictions, and return a run for each model."""
        return self.runner.grade()


Preparation = PreparedRuns | Coroutine[Any, Any, PreparedRuns]


def _prepare_run(
    cases: CaseInput,
    models: ModelChoice = (),
    *,
    settings: Mapping[str, Any] | None = None,
    trials: int | None = None,
    limit: int | None = None,
    evaluators: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    name: str | None = None,
    resume: bool = False,
    cache: bool = True,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    config: str | None = None,
    options: GradeOptions | None = None,
    progress: ProgressListener | None = None,
    warn: Warn = lambda sentence: None,
) -> PreparedRuns:
    """Run models at every decision point, grade their predictions, and return a `Run` for each model, in a folder of its own.

    `cases` are a path, a `Dataset` or a list of decision points or conversations, or, with `resume`, the folder of a run. A model is a spec
    (`"openai:gpt-4.1-mini"`), a name from `callmark.toml`, or `ModelSettings`; `settings` replace those of every model
    (`{"temperature": 0}`). What cannot work raises `BadInput` before anything is sent. A model without a single prediction has a run that
    is not graded; where that is all of them, the reason is raised. `warn` gets sentences, `progress` each prediction.
    """
    configured = read_config(config)
    keys = Keys.here()
    selection = select_cases(cases, limit=limit, trials=trials)
    chosen = choose_models(models, configured.models, settings)
    folder = fspath(out) if out is not None else None
    if path := _run_folder(selection):
        resumed = read_resumed_run(path, selection, chosen, resume=resume, moved=bool(out or name), trials=trials)
        if resumed.simulation:
            raise BadInput(f"{path} has simulated conversations", f"callmark simulate {path} --resume goes on with it.")
        selection, folder, name = resumed.cases, resumed.out, resumed.name
        chosen = [(resumed.model[0], override(resumed.model[1], settings))]
    if not chosen:
        raise BadInput("--model is missing: who should be asked?", "callmark run --list-models shows what there is.")
    if max_cost is not None:
        check_prices([model for _, model in chosen], keys)
    runner = Runner(
        selection,
        [open_run_model(label, model, keys) for label, model in chosen],
        grading_settings(configured.grading, evaluators),
        keys,
        out=folder or OUT,
        name=name,
        resume=resume,
        options=with_bad_rows(options, cases),
    )
    return PreparedRuns(runner, lambda: _open_cache(keys, warn) if cache else None, Budget(max_cost, max_tokens_total), progress, warn)


async def _prepare_simulation(
    scenarios: CaseInput,
    agents: ModelChoice = (),
    *,
    user: str | ModelSettings | None = None,
    tools: str | Sequence[str] = (),
    system: str | None = None,
    judge: str | ModelSettings | None = None,
    settings: Mapping[str, Any] | None = None,
    trials: int | None = None,
    max_turns: int | None = None,
    max_steps: int | None = None,
    seed: int | None = None,
    limit: int | None = None,
    concurrency: int | None = None,
    evaluators: Sequence[str] = (),
    policy: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    name: str | None = None,
    resume: bool = False,
    cache: bool = True,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    config: str | None = None,
    options: GradeOptions | None = None,
    progress: ProgressListener | None = None,
    warn: Warn = lambda sentence: None,
) -> PreparedRuns:
    """Simulate users that talk to agents about every scenario, grade the agents' calls, and return a `Run` for each agent.

    `scenarios` are a path, a `Dataset` or a list, or, with `resume`, the folder of a run. Agents, user and judge are specs, names from
    `callmark.toml`, or `ModelSettings`; a user may be `rule-based`, `rule-based:STYLE` or `script`. `tools` are specs of tool sources,
    `system` is the agent's system prompt, `settings` replace those of every agent, `policy` is a YAML file of rules. What cannot work
    raises `BadInput` before anything is sent. An agent whose conversations all failed has a run that is not graded.
    """
    configured = read_config(config)
    keys = Keys.here()
    selection = select_cases(scenarios, limit=limit, trials=trials, scenarios=True)
    chosen = choose_models(agents, configured.models, settings)
    specs = (tools,) if isinstance(tools, str) else tuple(tools)
    folder = fspath(out) if out is not None else None
    before: SimulationSettings | None = None
    if path := _run_folder(selection):
        given = {"agent": chosen, "user": user, "judge": judge, "tools": specs, "system": system}
        chosen = chosen or recorded_agent(path, [part for part, value in given.items() if value])
        resumed = read_resumed_run(path, selection, chosen, resume=resume, moved=bool(out or name), trials=trials)
        selection, folder, name, before = resumed.cases, resumed.out, resumed.name, resumed.simulation
        chosen = [(resumed.model[0], override(resumed.model[1], settings))]
    if not chosen:
        raise BadInput("--agent is missing: who should be tested?", "callmark run --list-models shows what there is.")
    changes = {
        "user": _participant(user, configured.models),
        "judge": _participant(judge, configured.models),
        "tools": specs or None,
        "system": system,
        "max_turns": max_turns,
        "max_steps": max_steps,
        "seed": seed,
    }
    simulation = structs.replace(
        before or SimulationSettings(ModelSettings(model=DEFAULT_USER), max_turns=MAX_TURNS, max_steps=MAX_STEPS),
        **{part: value for part, value in changes.items() if value is not None},
    )
    if max_cost is not None and not any(model is not None and model.price is not None for model in (simulation.user, simulation.judge)):
        check_prices([model for _, model in chosen], keys)
    opened_cache = _open_cache(keys, warn) if cache else None
    runner = await prepare_simulation(
        selection,
        chosen,
        simulation,
        grading_settings(simulation_grading(configured.grading, evaluators), policy=policy),
        keys,
        cache=opened_cache,
        concurrency=concurrency,
        out=folder or OUT,
        name=name,
        resume=resume,
        options=with_bad_rows(options, scenarios),
    )
    return PreparedRuns(runner, lambda: opened_cache, Budget(max_cost, max_tokens_total), progress, warn)


def _run_folder(selection: CaseSelection) -> str:
    """Return the folder that was given instead of a file of cases, which is that of a run; empty for a file."""
    return selection.path if os.path.isdir(selection.path) else ""


def _participant(model: str | ModelSettings | None, configured: Mapping[str, ModelSettings]) -> ModelSettings | None:
    """Return the settings of a user or a judge; a word that is not configured is a spec."""
    return None if model is None else resolve_model(model, configured)[1]


def _open_cache(keys: Keys, warn: Warn) -> Cache:
    cache = Cache()
    if cache.problem:
        warn(f"{keys.hide(cache.problem)}.")
    return cache


def _blocking(prepare: Callable[P, Preparation], name: str) -> Callable[P, list[Run]]:
    """Return the function that prepares, predicts and grades. Cases are read and graded outside the event loop: Ctrl-C ends it at once."""

    @wraps(prepare)
    def run_all(*arguments: P.args, **others: P.kwargs) -> list[Run]:
        preparation = prepare(*arguments, **others)

        async def predict() -> PreparedRuns:
            prepared = preparation if isinstance(preparation, PreparedRuns) else await preparation
            await prepared.predict()
            return prepared

        return run_sync(predict).grade()

    run_all.__name__ = run_all.__qualname__ = name
    return run_all


def _awaitable(prepare: Callable[P, Preparation], name: str) -> Callable[P, Coroutine[Any, Any, list[Run]]]:
    """Return the coroutine function that prepares, predicts and grades."""

    @wraps(prepare)
    async def run_all(*arguments: P.args, **others: P.kwargs) -> list[Run]:
        preparation = prepare(*arguments, **others)
        prepared = preparation if isinstance(preparation, PreparedRuns) else await preparation
        await prepared.predict()
        return await asyncio.to_thread(prepared.grade)

    run_all.__name__ = run_all.__qualname__ = name
    return run_all


run = _blocking(_prepare_run, "run")
run_async = _awaitable(_prepare_run, "run_async")
simulate = _blocking(_prepare_simulation, "simulate")
simulate_async = _awaitable(_prepare_simulation, "simulate_async")
