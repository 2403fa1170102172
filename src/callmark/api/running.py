"""Run models on decision points, simulate conversations with agents, and grade the predictions.

`run` and `simulate` block until they are done, and also work inside a running event loop, as in a notebook. `run_async` and
`simulate_async` are coroutines with the same parameters.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import wraps
from inspect import signature
from os import PathLike, fspath
from typing import Any, ParamSpec

from msgspec import Struct, structs

from callmark.analysis.gate import Gate
from callmark.analysis.measures import parse_measure
from callmark.analysis.sequential import DEFAULT_LOOKS
from callmark.api.cases import CaseInput, select_cases, with_bad_rows
from callmark.api.grading import OUT, grading_settings
from callmark.api.resuming import read_resumed_run, recorded_agent
from callmark.api.scenario_folder import is_scenario_folder, read_scenario_folder
from callmark.calls.strict import scrub
from callmark.config import Config, read_config
from callmark.errors import BadInput
from callmark.grading.evaluator import UNIT
from callmark.grading.grader import Grader
from callmark.grading.settings import GradingSettings
from callmark.models.child_environment import pass_on
from callmark.models.choice import ModelChoice, check_prices, choose_models, override, resolve_model
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.models.specs import model_actions
from callmark.reporting.safety import one_line
from callmark.runs.cache import Cache
from callmark.runs.early_decision import EarlyRule
from callmark.runs.event_loop import run_sync
from callmark.runs.grade import GradeOptions
from callmark.runs.manifest import SimulationSettings, resume_command
from callmark.runs.run import Run
from callmark.runs.run_model import open_run_model
from callmark.runs.runner import ProgressListener, Runner
from callmark.runs.selection import CaseSelection
from callmark.runs.store import suggest_run
from callmark.runs.tags import read_tags
from callmark.runs.worker import Budget
from callmark.simulation.open_simulator import agent_actions, user_actions
from callmark.simulation.simulate import MAX_STEPS, prepare_simulation, simulation_grading
from callmark.simulation.simulator import MAX_TURNS
from callmark.simulation.toolboxes import tool_actions
from callmark.simulation.users import DEFAULT_USER
from callmark.trust import allow, authorize, decided_by, import_actions
from callmark.wording import pluralize

Warn = Callable[[str], None]
P = ParamSpec("P")
CALL_SCORE, CALL_PASS = "call.score", "call.pass"


class PreparedRuns(Struct, frozen=True):
    """Validated runs that are ready to start: call `predict`, then `grade`. `resources` are open until everything is predicted."""

    runner: Runner
    open_cache: Callable[[], Cache | None]  # called in the thread that predicts
    budget: Budget
    progress: ProgressListener | None
    warn: Warn
    resources: AsyncExitStack | None = None

    async def predict(self) -> None:
        """Request every missing prediction, and close the resources. If it is cancelled, `warn` gets the command that resumes each run."""
        try:
            await self.runner.predict(cache=self.open_cache(), budget=self.budget, progress=self.progress, warn=self.warn)
        except asyncio.CancelledError:
            for run in self.runner.runs:
                if run.info.status != "complete":
                    model_run = run.model_run
                    unit = "conversation" if model_run.simulation else "prediction"
                    saved = f"saved {model_run.predictions:,} of {pluralize(model_run.requests, unit)}."
                    self.warn(f"{saved}\nResume with: {resume_command(run.info, one_line(str(run.folder), 200))}")
            raise
        finally:
            if self.resources is not None:
                await self.resources.aclose()

    def grade(self) -> list[Run]:
        """Grade the predictions, and return one run per model."""
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
    until_decided: bool = False,
    looks: int | None = None,
    env: Sequence[str] = (),
    tags: Mapping[str, str] | Sequence[str] = (),
    config: str | None = None,
    trust: bool = False,
    options: GradeOptions | None = None,
    progress: ProgressListener | None = None,
    warn: Warn = lambda sentence: None,
) -> PreparedRuns:
    """Run models on decision points, and grade their predictions.

        base, tuned = callmark.run("eval.jsonl", ["openai:gpt-4.1-mini", "vllm:tuned@http://localhost:8000"])
        print(tuned.summary().metrics["call.score"].mean)

    Each model gets its own run folder. Predictions are saved as they arrive, so an interrupted run can be resumed:
    `callmark.run("runs/NAME", resume=True)`. Failed requests are retried; those that keep failing are errors, excluded from scores, and are
    sent again on resume. Blocks until all models are done; use `run_async` inside a coroutine.

    Args:
        cases: Decision points, or conversations, which are expanded: a path, a `Dataset` or a list. To resume, the folder of a run.
        models: One or more models: specs (`openai:NAME`), names from `callmark.toml`, or `ModelSettings`. To resume, none.
        settings: Settings that override those of every model, such as `{"temperature": 0}`.
        trials: Number of predictions for each case; 1 by default.
        limit: Number of cases, starting from the first.
        evaluators: Names of the evaluators; by default those in `callmark.toml`, or `call`, `schema` and `process`.
        out: Parent folder of the runs; `runs` by default.
        name: Name of the run folder; by default the model and the time. With several models, the model is appended.
        resume: Resume an existing run, given as `cases` or by `name`. Cases and settings must be unchanged.
        cache: Use the response cache, so that identical requests are not sent again.
        max_cost: Stop when this cost is reached. Every model needs a price.
        max_tokens_total: Stop when this number of tokens is reached.
        until_decided: Run conversations in random order, and stop as soon as the second of two models is better or worse than the first, or
            one model is above or below each threshold in `[gate] min` of `callmark.toml`.
        looks: How often to check whether it is decided: 2, 3, 4, 5, 8, 10 (default) or 20 times.
        env: Names of environment variables that programs get (`cmd:COMMAND`), in addition to the path, home folder and locale.
        tags: Tags of the run: a dict, or a list of `KEY` and `KEY=VALUE`. A resumed run keeps those it has.
        config: Path of the configuration file; `callmark.toml` by default.
        trust: Allow what the resumed run, a `callmark.toml` in the current folder and `.env` run, import and send.
        options: Processes, handlers for bad rows and grading progress, and whether cases without any call are accepted.
        progress: Notified of each prediction.
        warn: Called with each warning.

    Returns:
        One `Run` per model, in the order of `models`. The run of a model without any prediction is not graded.

    Raises:
        BadInput: The cases, a model or a setting cannot be used: no decision points, two cases with the same id, a row that cannot be read,
            an unknown model, a changed dataset on resume. This is checked before any request is sent. Also raised if no model returned a
            prediction and all requests fail for the same reason, such as a rejected API key.
        StorageError: The run folder cannot be written.
    """
    configured = read_config(config)
    keys = Keys.here()
    pass_on(env, keys)
    selection = select_cases(cases, limit=limit, trials=trials)
    chosen = choose_models(models, configured.models, settings)
    sources = [configured.found if label else "" for label, _ in chosen]
    folder = fspath(out) if out is not None else None
    if path := _run_folder(selection):
        resumed = read_resumed_run(path, selection, chosen, resume=resume, moved=bool(out or name), trials=trials, env=env)
        sources = sources or [path]
        if resumed.simulation:
            raise BadInput(f"{path} is a simulation, which callmark run cannot resume", f"Resume with: callmark simulate {path} --resume")
        selection, folder, name = resumed.cases, resumed.out, resumed.name
        chosen = [(resumed.model[0], override(resumed.model[1], settings))]
    if not chosen:
        _refuse_missing_run(selection, resume)
        raise BadInput("no model given", "Pass --model PROVIDER:NAME. callmark run --list-models lists the providers.")
    if max_cost is not None:
        check_prices([model for _, model in chosen], keys)
    actions = import_actions(configured.grading.evaluators, source="" if evaluators else configured.found)
    for (_, model), source in zip(chosen, sources, strict=True):
        actions += model_actions(model, keys, source=source, given=settings or ())
    with decided_by(allow if trust else None):
        authorize(actions)
        opened = [open_run_model(label, model, keys) for label, model in chosen]
    grading = grading_settings(configured.grading, evaluators)
    if looks is not None and not until_decided:
        raise BadInput("--looks has no effect without --until-decided")
    runner = Runner(
        selection,
        opened,
        grading,
        keys,
        out=folder or OUT,
        name=name,
        resume=resume,
        options=with_bad_rows(options, cases),
        tags=read_tags(tags),
        rule=_early_rule(grading, configured.gate, len(opened), looks) if until_decided else None,
    )
    return PreparedRuns(runner, lambda: _open_cache(keys, warn) if cache else None, Budget(max_cost, max_tokens_total), progress, warn)


def _early_rule(grading: GradingSettings, gate: Gate, models: int, looks: int | None) -> EarlyRule:
    """Return what decides early: the headline of two models, or the thresholds of the gate for one.

    Metrics that are not limited to 0 to 1 raise `BadInput`: the intervals of the looks are for values in that range. So do evaluators that
    declare no metric.
    """
    metrics = Grader(grading).metrics
    if not metrics:
        raise BadInput(
            "--until-decided: the selected evaluators declare no metric that could decide",
            "Select a built-in evaluator such as call, or declare the metrics of yours.",
        )
    thresholds: dict[str, float] = {}
    if models == 2:
        names = [CALL_SCORE if CALL_SCORE in metrics else next(iter(metrics))]
    elif models == 1 and gate.min:
        names, thresholds = list(gate.min), dict(gate.min)
    else:
        raise BadInput(
            f"--until-decided: nothing to decide with {pluralize(models, 'model')}",
            "Pass two models to compare, or pass one model and set min thresholds under [gate] in callmark.toml.",
        )
    measures = [parse_measure(name, metrics, pass_metric=CALL_PASS) for name in names]
    for measure in measures:
        if measure.definition.bounds != UNIT:
            raise BadInput(
                f"--until-decided: expected a metric whose values are from 0 to 1, got {measure.name}",
                "Remove it from [gate] min, or run without --until-decided." if thresholds else "Run without --until-decided.",
            )
    return EarlyRule(measures, thresholds, looks or DEFAULT_LOOKS)


def _prepare_simulation(
    scenarios: CaseInput,
    agents: ModelChoice = (),
    *,
    user: str | ModelSettings | None = None,
    tools: str | Sequence[str] = (),
    share_server: bool | None = None,
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
    env: Sequence[str] = (),
    tags: Mapping[str, str] | Sequence[str] = (),
    config: str | None = None,
    trust: bool = False,
    options: GradeOptions | None = None,
    progress: ProgressListener | None = None,
    warn: Warn = lambda sentence: None,
) -> Coroutine[Any, Any, PreparedRuns]:
    """Simulate a conversation between a user and an agent for every scenario, and grade the agent's tool calls.

        (run,) = callmark.simulate("scenarios.jsonl", "openai:gpt-4.1-mini", tools="mcp:python server.py", trials=3)
        print(run.summary().metrics["process.reliability"].mean)

    Each agent gets its own run folder. Conversations are saved as they end, so an interrupted run can be resumed:
    `callmark.simulate("runs/NAME", resume=True)`. Conversations that fail are errors, excluded from scores, and are simulated again on
    resume. Blocks until all agents are done; use `simulate_async` inside a coroutine.

    Args:
        scenarios: Scenarios: a path, a `Dataset` or a list; or a folder, whose JSON and JSONL files are all read. To resume, the folder of
            a run.
        agents: One or more agents: specs (`openai:NAME`, `python:module:function`), names from `callmark.toml`, or `ModelSettings`.
        user: The simulated user: `rule-based` (default), `rule-based:STYLE`, `script`, or a model, which makes it an LLM user.
        tools: Specs of tool sources, such as `mcp:COMMAND`, `python:MODULE` or `openapi:FILE`. Agents that run their own tools need none.
        share_server: Whether all conversations share one tool server. By default, each has its own, unless the server separates
            conversations itself or declares all its tools as read-only.
        system: System prompt of the agent.
        judge: Model that decides whether the completion condition is met. Without it, the user and the end state decide.
        settings: Settings that override those of every agent, such as `{"temperature": 0}`.
        trials: Number of conversations for each scenario; 1 by default.
        max_turns: Greatest number of user turns in a conversation.
        max_steps: Greatest number of requests to the agent's model in one turn.
        seed: Seed of the simulated users.
        limit: Number of scenarios, starting from the first.
        concurrency: Number of conversations simulated at a time.
        evaluators: Names of the evaluators; by default those in `callmark.toml`, or `process`, `state` and `effort`.
        policy: YAML file with the rules of the `policy` evaluator.
        out: Parent folder of the runs; `runs` by default.
        name: Name of the run folder; by default the agent and the time. With several agents, the agent is appended.
        resume: Resume an existing run, given as `scenarios` or by `name`. Scenarios and settings must be unchanged.
        cache: Use the response cache, so that identical requests are not sent again.
        max_cost: Stop when this cost is reached. A model needs a price.
        max_tokens_total: Stop when this number of tokens is reached.
        env: Names of environment variables that programs (`mcp:COMMAND`, `cmd:COMMAND`) get, in addition to path, home and locale.
        tags: Tags of the run: a dict, or a list of `KEY` and `KEY=VALUE`. A resumed run keeps those it has.
        config: Path of the configuration file; `callmark.toml` by default.
        trust: Allow what the resumed run, a `callmark.toml` in the current folder and `.env` run, import and send.
        options: Processes, and handlers for bad rows and grading progress.
        progress: Notified of each conversation.
        warn: Called with each warning.

    Returns:
        One `Run` per agent, in the order of `agents`. The run of an agent without any finished conversation is not graded.

    Raises:
        BadInput: The scenarios, a model, a tool source or a setting cannot be used: no scenarios, two with the same id, a row that cannot
            be read, a tool server that does not start, a changed file on resume. This is checked before any request is sent.
        StorageError: The run folder cannot be written.
    """
    configured = read_config(config)
    keys = Keys.here()
    pass_on(env, keys)
    selection = select_cases(scenarios, limit=limit, trials=trials, scenarios=True)
    chosen = choose_models(agents, configured.models, settings, noun="agent")
    sources = [configured.found if label else "" for label, _ in chosen]
    specs = (tools,) if isinstance(tools, str) else tuple(tools)
    folder = fspath(out) if out is not None else None
    options = with_bad_rows(options, scenarios)
    before: SimulationSettings | None = None
    path = ""
    if is_scenario_folder(selection.path) and (name is not None or not resume):
        selection = _read_folder(selection, options, warn)
    elif path := _run_folder(selection):
        given = {"agent": chosen, "user": user, "judge": judge, "tools": specs, "system": system}
        chosen = chosen or recorded_agent(path, [part for part, value in given.items() if value])
        resumed = read_resumed_run(path, selection, chosen, resume=resume, moved=bool(out or name), trials=trials, env=env)
        if not resumed.simulation:
            raise BadInput(
                f"{path} is not a simulation, so callmark simulate cannot resume it", f"Resume with: callmark run {path} --resume"
            )
        selection, folder, name, before = resumed.cases, resumed.out, resumed.name, resumed.simulation
        chosen = [(resumed.model[0], override(resumed.model[1], settings))]
        sources = sources or [path]
    if not chosen:
        _refuse_missing_run(selection, resume)
        raise BadInput(
            "no agent given",
            "Pass --agent, for example python:MODULE:FUNCTION or openai:NAME. callmark simulate --help lists the kinds of agents.",
        )
    changes = {
        "user": _participant(user, configured.models),
        "judge": _participant(judge, configured.models),
        "tools": specs or None,
        "system": system,
        "max_turns": max_turns,
        "max_steps": max_steps,
        "seed": seed,
        "share_server": share_server,
    }
    simulation = structs.replace(
        before or SimulationSettings(ModelSettings(model=DEFAULT_USER), max_turns=MAX_TURNS, max_steps=MAX_STEPS),
        **{part: value for part, value in changes.items() if value is not None},
    )
    if max_cost is not None and not any(model is not None and model.price is not None for model in (simulation.user, simulation.judge)):
        check_prices([model for _, model in chosen], keys)
    grading = grading_settings(simulation_grading(configured.grading, evaluators), policy=policy)
    actions = import_actions(grading.evaluators, source="" if evaluators else configured.found)
    for (_, agent), source in zip(chosen, sources, strict=True):
        actions += agent_actions(agent, keys, source=source, given=settings or ())
    actions += user_actions(simulation.user, keys, source=_source(user, configured, path))
    if simulation.judge is not None:
        actions += model_actions(simulation.judge, keys, source=_source(judge, configured, path))
    actions += tool_actions(simulation.tools, keys, source="" if specs else path)
    labels = read_tags(tags)
    with decided_by(allow if trust else None):
        authorize(actions)  # outside of the event loop, where a question can be interrupted

    async def prepare() -> PreparedRuns:
        opened_cache = _open_cache(keys, warn) if cache else None
        with decided_by(allow if trust else None):
            prepared = await prepare_simulation(
                selection,
                chosen,
                simulation,
                grading,
                keys,
                cache=opened_cache,
                concurrency=concurrency,
                out=folder or OUT,
                name=name,
                resume=resume,
                options=options,
                tags=labels,
                warn=warn,
            )
        budget = Budget(max_cost, max_tokens_total)
        return PreparedRuns(prepared.runner, lambda: opened_cache, budget, progress, warn, prepared.tools)

    return prepare()


def _read_folder(selection: CaseSelection, options: GradeOptions, warn: Warn) -> CaseSelection:
    """Return the scenarios of a folder, of which each run stores a copy."""
    found = read_scenario_folder(selection.path, format_name=selection.format_name, on_bad=options.on_bad)
    for notice in found.notices:
        warn(notice)
    return structs.replace(selection, path="", format_name="scenarios", content=found.content, name=scrub(selection.path))


def _run_folder(selection: CaseSelection) -> str:
    """Return the run folder that was given in place of a file of cases; empty for a file."""
    return selection.path if os.path.isdir(selection.path) else ""


def _refuse_missing_run(selection: CaseSelection, resume: bool) -> None:
    """Raise `BadInput` if a run is to be resumed whose folder does not exist or is a file."""
    if resume and selection.path and not os.path.exists(selection.path):
        raise BadInput(f"{selection.path}: no such run{suggest_run(selection.path)}")
    if resume and selection.path:
        raise BadInput(f"{selection.path}: expected a run folder to resume, got a file", "Pass the folder of the run, such as runs/NAME.")


def _participant(model: str | ModelSettings | None, configured: Mapping[str, ModelSettings]) -> ModelSettings | None:
    """Return the settings of a user or judge. A name that is not configured is a spec."""
    return None if model is None else resolve_model(model, configured)[1]


def _source(given: str | ModelSettings | None, configured: Config, run: str) -> str:
    """Return the file or run that names a user or judge; empty if the user does."""
    if given is None:
        return run
    return configured.found if isinstance(given, str) and given in configured.models else ""


def _open_cache(keys: Keys, warn: Warn) -> Cache:
    cache = Cache()
    if cache.problem:
        warn(f"{keys.hide(cache.problem)}.")
    return cache


def _blocking(prepare: Callable[P, Preparation], name: str) -> Callable[P, list[Run]]:
    """Return the blocking function. Cases are read and graded outside the event loop, so that Ctrl-C takes effect at once."""

    @wraps(prepare)
    def run_all(*arguments: P.args, **others: P.kwargs) -> list[Run]:
        preparation = prepare(*arguments, **others)

        async def predict() -> PreparedRuns:
            prepared = preparation if isinstance(preparation, PreparedRuns) else await preparation
            await prepared.predict()
            return prepared

        return run_sync(predict).grade()

    run_all.__name__ = run_all.__qualname__ = name
    run_all.__dict__["__signature__"] = signature(prepare).replace(return_annotation=list[Run])
    return run_all


def _awaitable(prepare: Callable[P, Preparation], name: str, blocking: str) -> Callable[P, Coroutine[Any, Any, list[Run]]]:
    """Return the coroutine function. `blocking` is the name of its blocking counterpart."""

    @wraps(prepare)
    async def run_all(*arguments: P.args, **others: P.kwargs) -> list[Run]:
        preparation = prepare(*arguments, **others)
        prepared = preparation if isinstance(preparation, PreparedRuns) else await preparation
        await prepared.predict()
        return await asyncio.to_thread(prepared.grade)

    run_all.__name__ = run_all.__qualname__ = name
    run_all.__doc__ = f"""Do the same as `{blocking}`, as a coroutine, with the same parameters and errors.

        runs = await callmark.{name}(...)

    Several calls can run at the same time in one event loop. If the task is cancelled, finished predictions are kept, and the run can be
    resumed.
    """
    run_all.__dict__["__signature__"] = signature(prepare).replace(return_annotation=list[Run])
    return run_all


run = _blocking(_prepare_run, "run")
run_async = _awaitable(_prepare_run, "run_async", "run")
simulate = _blocking(_prepare_simulation, "simulate")
simulate_async = _awaitable(_prepare_simulation, "simulate_async", "simulate")
