"""`callmark.synth`: synthesize conversations for training."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from callmark import registry
from callmark.calls.globs import matches_glob
from callmark.calls.strict import scrub
from callmark.config import Config, read_config, read_policy
from callmark.errors import BadInput
from callmark.formats import load
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.models.child_environment import pass_on
from callmark.models.choice import check_prices, resolve_model
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.models.specs import model_actions
from callmark.runs.cache import Cache
from callmark.runs.event_loop import run_sync
from callmark.runs.run import Run
from callmark.runs.runner import ProgressListener
from callmark.runs.worker import Budget
from callmark.simulation.open_simulator import agent_actions, inspect_tools, list_tools, user_actions
from callmark.simulation.session import State
from callmark.simulation.toolboxes import complete_spec, find_provider
from callmark.synthesis.fault_targets import fault_targets
from callmark.synthesis.fault_world import FaultWorld
from callmark.synthesis.model_plans import ModelPlannedWorld
from callmark.synthesis.options import SEED, VALID_SHARE, SynthesisOptions
from callmark.synthesis.report import SynthesisReport
from callmark.synthesis.scenario_world import ScenarioWorld
from callmark.synthesis.server_world import ServerWorld
from callmark.synthesis.synthesize import synthesize
from callmark.synthesis.world import DEFAULT_WORLD, World, find_world, match_world
from callmark.trust import Action, allow, authorize, decided_by
from callmark.types import Case, Tool
from callmark.wording import pluralize

NUMBER = 300
RunSource = str | PathLike[str] | Run
_HINT = "Recorded results answer recorded calls only. --tools mcp:COMMAND and --tools FILE.json need no scenarios."


def synth(
    out: str | PathLike[str],
    *,
    world: str | World | None = None,
    tools: str | Sequence[str] = (),
    scenarios: str | PathLike[str] | Sequence[Case] | None = None,
    from_faults: RunSource | Sequence[RunSource] = (),
    system: str | None = None,
    policy: str | PathLike[str] | Mapping[str, Any] | None = None,
    planner: str | ModelSettings | None = None,
    agent: str | ModelSettings | None = None,
    user: str | ModelSettings | None = None,
    number: int | None = None,
    seed: int = SEED,
    valid: float = VALID_SHARE,
    balance: bool = False,
    concurrency: int | None = None,
    resume: bool = False,
    cache: bool = True,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    env: Sequence[str] = (),
    config: str | None = None,
    trust: bool = False,
    progress: ProgressListener | None = None,
    warn: Callable[[str], None] | None = None,
) -> SynthesisReport:
    """Synthesize training conversations: simulate planned conversations, and write those that pass the quality filter.

        report = callmark.synth("data", number=300)
        print(report.accepted)

    Near-duplicates are rejected. The same options and seed give the same conversations, unless a model is involved. An interrupted
    synthesis can be resumed.

    Args:
        out: Folder for `train.jsonl`, `valid.jsonl` and the report.
        world: Name of a world, or a `World`. By default the one that `tools` belong to, or the retail store.
        tools: Specs of tool sources, such as `mcp:COMMAND` or `openapi:FILE`; those of the world by default.
        scenarios: Scenarios that replace the plans of the world: a path or a list.
        from_faults: One or more runs: only plans that use what failed in them are simulated, in proportion to the faults.
        system: System prompt that replaces the policy text of the world.
        policy: Rules of the `policy` evaluator: a YAML file, or its content. Conversations that violate a rule are rejected.
        planner: Model that makes the plans; they are made by rules by default. Its plans are checked before anything is simulated.
        agent: Model that plays the agent; the expert of the world by default.
        user: Model that plays the user; the user of the world by default.
        number: Number of conversations to accept; 300 by default, or all `scenarios`.
        seed: Seed of the plans and the user.
        valid: Share of conversations in `valid.jsonl`.
        balance: Balance the policy branches of the plans.
        concurrency: Number of conversations simulated at a time.
        resume: Resume an interrupted synthesis in `out`.
        cache: Use the response cache, so that identical requests are not sent again.
        max_cost: Stop when this cost is reached. A model needs a price.
        max_tokens_total: Stop when this number of tokens is reached.
        env: Names of environment variables that programs (`mcp:COMMAND`, `cmd:COMMAND`) get, in addition to path, home and locale.
        config: Path of the configuration file; `callmark.toml` by default.
        trust: Allow what a `callmark.toml` in the current folder and `.env` run, import and send.
        progress: Notified of each conversation.
        warn: Called with each warning.

    Returns:
        The report: the accepted and rejected conversations, with reasons. It may have fewer conversations than requested.

    Raises:
        BadInput: An option, a model, a tool source, a scenario or a rule cannot be used. This is checked before anything is simulated.
        StorageError: A file cannot be written.
    """
    keys, settings = Keys.here(), read_config(config)
    pass_on(env, keys)
    decide = allow if trust else None
    with decided_by(decide):
        authorize(_actions(planner, agent, user, settings, keys))
    options = _options(
        fspath(out),
        keys,
        settings,
        world=world,
        specs=tuple(map(complete_spec, (tools,) if isinstance(tools, str) else tools)),
        scenarios=scenarios,
        from_faults=[from_faults] if isinstance(from_faults, str | PathLike | Run) else from_faults,
        planner=planner,
        cache=cache,
        agent=agent,
        user=user,
        number=number,
        seed=seed,
        valid=valid,
        balance=balance,
        policy=system,
        rules=None if policy is None else dict(policy) if isinstance(policy, Mapping) else read_policy(fspath(policy)),
        resume=resume,
        concurrency=concurrency,
    )
    if warn is not None and options.rules is not None:
        _warn_about_unused_rules(options.rules, options.listed_tools, warn)
    if max_cost is not None:
        _check_prices([options.agent[1] if options.agent else None, options.user], keys)
    has_models = options.agent is not None or options.user is not None

    def open_cache() -> Cache | None:
        if not cache or not has_models:
            return None
        opened = Cache()
        if opened.problem and warn is not None:
            warn(f"{keys.hide(opened.problem)}.")
        return opened

    with decided_by(decide):
        report = synthesize(options, keys, budget=Budget(max_cost, max_tokens_total), open_cache=open_cache, progress=progress)
    if warn is not None and isinstance(options.world, FaultWorld) and options.world.missed:
        missed = ", ".join(map(str, options.world.missed))
        warn(f"no plan uses {scrub(missed)[:300]}, although it failed.")
    return report


def _actions(
    planner: str | ModelSettings | None, agent: str | ModelSettings | None, user: str | ModelSettings | None, config: Config, keys: Keys
) -> list[Action]:
    """Return what the planner, the agent and the user would run, import or send because a file names it."""
    found: list[Action] = []
    for model, actions in ((planner, model_actions), (agent, agent_actions), (user, user_actions)):
        if model is not None:
            name, settings = resolve_model(model, config.models)
            found += actions(settings, keys, source=config.found if name else "")
    return found


def _options(
    out: str,
    keys: Keys,
    config: Config,
    *,
    world: str | World | None,
    specs: tuple[str, ...],
    scenarios: str | PathLike[str] | Sequence[Case] | None,
    from_faults: Sequence[RunSource],
    planner: str | ModelSettings | None,
    cache: bool,
    agent: str | ModelSettings | None,
    user: str | ModelSettings | None,
    number: int | None,
    balance: bool,
    **others: Any,
) -> SynthesisOptions:
    providers = [provider for spec in specs if (provider := find_provider(spec)) is not None]
    if len(specs) > 1 and any(provider.world for provider in providers):
        raise BadInput("a mock API (openapi:FILE, or a list of tools) cannot be combined with other --tools")
    if scenarios is not None and balance:
        raise BadInput("--balance cannot be used with --scenarios: it only applies to generated plans")
    if scenarios is not None and planner is not None:
        raise BadInput("--planner cannot be used with --scenarios: there is nothing to plan")
    if scenarios is not None and from_faults:
        raise BadInput("--from-faults cannot be used with --scenarios: it selects plans")
    targets = fault_targets([run if isinstance(run, Run) else Run(run) for run in from_faults]) if from_faults else []
    plans = None if scenarios is None else _read_scenarios(scenarios)
    label = "" if scenarios is None else fspath(scenarios) if isinstance(scenarios, str | PathLike) else "the scenarios"
    found, listed, state = _find_world(world, specs, keys, others["concurrency"])
    if plans is not None:
        has_plans = all("plan" in case.data for case in plans)
        if isinstance(found, ServerWorld) and not has_plans:
            found = None  # its rules are for its own plans
        chosen: World = ScenarioWorld(plans, label, world=found, tools=specs)
    elif found is None:
        missing = "--scenarios is" if agent is not None else "--scenarios and --agent are"
        raise BadInput(f"cannot plan conversations for these tools: {missing} missing", _HINT)
    else:
        chosen = found
        if planner is not None:
            settings = resolve_model(planner, config.models)[1]
            chosen = ModelPlannedWorld(found, listed, settings, keys, Cache() if cache else None)
        if state is not None:
            found.check_state(state)
        if targets:
            chosen = FaultWorld(chosen, targets, listed)
    if plans is not None and number is not None and number > len(plans):
        raise BadInput(f"{number:,} conversations requested, but {label} has only {pluralize(len(plans), 'scenario')}")
    return SynthesisOptions(
        chosen,
        number or (NUMBER if plans is None else len(plans)),
        out,
        balance=balance,
        tools=specs,
        listed_tools=listed,
        agent=None if agent is None else resolve_model(agent, config.models),
        user=None if user is None else resolve_model(user, config.models)[1],
        grading=config.grading,
        **others,
    )


def _find_world(
    world: str | World | None, specs: tuple[str, ...], keys: Keys, concurrency: int | None
) -> tuple[World | None, tuple[Tool, ...], State | None]:
    """Return the world, the tools of its conversations, and their initial state if the plans have to fit it."""
    named = find_world(world) if isinstance(world, str) else world
    if not specs:
        default = named or find_world(DEFAULT_WORLD)
        return default, default.tool_definitions or run_sync(lambda: list_tools(default.tools, keys)), None
    if named is None and (provider := find_provider(specs[0])) is not None and provider.world:
        named = registry.load_path(provider.world)(specs[0].partition(":")[2].strip())
    matching: list[World] = [] if named is None else [named]

    def reads_state(tools: tuple[Tool, ...]) -> bool:
        if not matching and (found := match_world(tools)) is not None:
            matching.append(found)
        return bool(matching) and not matching[0].mocked

    listed, state = run_sync(lambda: inspect_tools(specs, keys, reads_state=reads_state))
    if not matching and all((provider := find_provider(spec)) is not None and provider.answers_any_call for spec in specs):
        return ServerWorld(specs, listed, keys, concurrency=concurrency), listed, None
    return matching[0] if matching else None, listed, state


def _read_scenarios(scenarios: str | PathLike[str] | Sequence[Case]) -> list[Case]:
    rows = load(scenarios, cases=True) if isinstance(scenarios, str | PathLike) else scenarios
    found = [case for case in rows if isinstance(case, Case) and case.is_scenario]
    if not found:
        name = fspath(scenarios) if isinstance(scenarios, str | PathLike) else "the list"
        raise BadInput(f"{name}: no scenarios found", "Generate some with: callmark synth --scenarios-only")
    seen: set[str] = set()
    for case in found:
        if case.id in seen:
            raise BadInput(f"{f'{case.place}: ' if case.place else ''}duplicate scenario ID {case.id!r}")
        seen.add(case.id)
    return found


def _warn_about_unused_rules(rules: Mapping[str, Any], tools: Sequence[Tool], warn: Callable[[str], None]) -> None:
    """Warn about rules that reference an unknown tool: they can never be violated."""
    for rule in read_rules(rules):
        if not any(matches_glob(name, tool.name) for name in rule.tools for tool in tools):
            warn(f"rule {rule.id[:60]} can never be violated: no tool matches {' or '.join(rule.tools)[:100]}.")


def _check_prices(models: Sequence[ModelSettings | None], keys: Keys) -> None:
    """Raise `BadInput` if no model takes part, or none has a price: a cost limit would have no effect."""
    given = [model for model in models if model is not None]
    if not given:
        raise BadInput("--max-cost needs a model: pass one with --agent or --user")
    if all(model.price is None for model in given):
        check_prices(given, keys)
