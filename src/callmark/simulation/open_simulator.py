"""Open agent, user, judge and tools of simulated conversations by spec, and check that they fit together."""

from collections.abc import Callable, Collection, Sequence

from msgspec import structs

from callmark import registry
from callmark.errors import BadInput
from callmark.models.keys import Keys, mask_address
from callmark.models.model import ModelError, ModelSettings
from callmark.models.module_files import suggest_python
from callmark.models.provider import Spec
from callmark.models.specs import is_provider, lacks_scheme, model_actions, read_spec
from callmark.runs.cache import Cache
from callmark.runs.manifest import SimulationSettings
from callmark.runs.run_model import OpenedModel, redact_settings
from callmark.simulation.agents import ReportingAgent, ToolCallingAgent, find_agent, provider_actions
from callmark.simulation.model_client import ModelClient
from callmark.simulation.session import Agent, Predict, State, ToolSource, User
from callmark.simulation.simulator import CONCURRENCY, Simulator
from callmark.simulation.toolboxes import open_tools, tool_actions
from callmark.simulation.toolboxes.none import NoToolSource
from callmark.simulation.users import open_user
from callmark.trust import Action, named_by
from callmark.types import Case, Prediction, Tool
from callmark.wording import did_you_mean

_AGENT_HINT = "Pass PROVIDER:NAME, or a name from callmark.toml. callmark simulate --help lists the kinds of agents."


def open_simulator(
    name: str | None,
    agent: ModelSettings,
    simulation: SimulationSettings,
    keys: Keys,
    *,
    cache: Cache | None = None,
    concurrency: int | None = None,
    expert: Agent | None = None,
    user: User | None = None,
    listed_tools: tuple[Tool, ...] = (),
    source: ToolSource | None = None,
) -> OpenedModel:
    """Return a simulator for an agent, as a model for runs. Settings that cannot be used raise `BadInput`.

    An `expert`, a `user` or a `source` of tools overrides the one in the settings. With `listed_tools`, a conversation whose toolbox has
    other tools is an error. `concurrency` is how many conversations run at a time.
    """
    clients: list[ModelClient] = []
    recorded, redacted = agent, False
    own_agent, own_user = expert is None, user is None
    if expert is None and (expert := find_agent(agent, simulation)) is not None:
        recorded = structs.replace(agent, model=keys.hide(agent.model))
        redacted = recorded != agent
        name = name or recorded.model
    if expert is None:
        client = ModelClient(agent, keys, cache)
        _check_capabilities(client.spec, simulation)
        clients.append(client)
        name = name or client.label
        recorded, redacted = redact_settings(agent, client.spec, keys)
        expert = ToolCallingAgent(client, max_steps=simulation.max_steps) if simulation.tools else ReportingAgent(client)
    model_roles = ["judge"]

    def open_model(spec: str) -> tuple[Predict, str]:
        model_roles.append("user")
        clients.append(ModelClient(simulation.user, keys, cache))
        return clients[-1].predict, clients[-1].label

    user = user or open_user(simulation.user.model, open_model=open_model, seed=simulation.seed)
    judge = ModelClient(simulation.judge, keys, cache) if simulation.judge else None
    simulator = Simulator(
        name or agent.model,
        expert,
        user,
        source or open_tool_source(simulation, keys),
        clients=[*clients, *([judge] if judge else [])],
        system=simulation.system,
        max_turns=simulation.max_turns,
        judge=judge.predict if judge else None,
        listed_tools=listed_tools,
    )
    recorded_simulation, also_redacted = _redact_simulation(simulation, keys, model_roles=model_roles)
    # each client retries its own requests, so a failed conversation is not restarted
    settings = structs.replace(agent, retries=0, rpm=None, concurrency=concurrency or CONCURRENCY)

    def actions(folder: str) -> list[Action]:
        found = agent_actions(recorded, keys, source=folder) if own_agent else []
        found += user_actions(recorded_simulation.user, keys, source=folder) if own_user else []
        found += model_actions(recorded_simulation.judge, keys, source=folder) if recorded_simulation.judge else []
        return found + tool_actions(recorded_simulation.tools, keys, source=folder)

    return OpenedModel(
        simulator.label,
        simulator,
        settings,
        recorded,
        redacted or also_redacted,
        recorded_simulation,
        actions=actions,
    )


def open_tool_source(simulation: SimulationSettings, keys: Keys) -> ToolSource:
    """Return the source of the tools in the settings, not yet entered. Specs that cannot be used raise `BadInput`."""
    return open_tools(simulation.tools, keys=keys, share_server=simulation.share_server) if simulation.tools else NoToolSource()


def agent_actions(settings: ModelSettings, keys: Keys, *, source: str, given: Collection[str] = ()) -> list[Action]:
    """Return what an agent would run, import or send, and needs the user's consent, as `model_actions` does."""
    if registry.is_known("agents", _name(settings)):
        return named_by(source, provider_actions(settings, keys))
    _refuse_unknown_agent(settings.model.strip(), keys)
    return model_actions(settings, keys, source=source, given=given)


def _refuse_unknown_agent(spec: str, keys: Keys) -> None:
    """Raise `BadInput` for a word that is no kind of agent. An address is left to the model specs, which say what is wrong with it."""
    name = spec.partition(":")[0]
    if not spec or is_provider(name.lower()) or "://" in spec or lacks_scheme(spec):
        return
    shown = mask_address(spec, keys)
    near = suggest_python(shown, "FUNCTION") or did_you_mean(name, [*registry.names("agents"), *registry.names("models")])
    raise BadInput(f"unknown agent {shown!r}{near}", _AGENT_HINT)


def user_actions(settings: ModelSettings, keys: Keys, *, source: str) -> list[Action]:
    """Return what a user would run, import or send, and needs the user's consent, as `model_actions` does."""
    name = _name(settings)
    if name in registry.BUILT_IN["users"]:
        return []
    if registry.is_known("users", name):
        return named_by(source, [Action("run", keys.show_command(settings.model), exact=settings.model)])
    return model_actions(settings, keys, source=source) if is_provider(name.lower()) else []  # opening it raises its own error


def _name(settings: ModelSettings) -> str:
    return settings.model.strip().partition(":")[0]


async def list_tools(specs: Sequence[str], keys: Keys) -> tuple[Tool, ...]:
    """Return the tools of the conversations. Specs that cannot be used raise `BadInput`."""
    tools, _ = await inspect_tools(specs, keys)
    return tools


async def inspect_tools(
    specs: Sequence[str], keys: Keys, *, reads_state: Callable[[tuple[Tool, ...]], bool] = lambda tools: False
) -> tuple[tuple[Tool, ...], State | None]:
    """Return the tools of the conversations, and their initial state if `reads_state(tools)` is true and they report one."""
    async with open_tools(specs, keys=keys) as source:
        try:
            async with source.open_toolbox("tools") as toolbox:
                return toolbox.tools, await toolbox.state() if reads_state(toolbox.tools) else None
        except ModelError as error:
            raise BadInput(str(error)) from None


def open_user_for_checks(simulation: SimulationSettings) -> User:
    """Return the user in the settings, to check which scenarios it can simulate. An LLM user's model is not opened."""
    return open_user(simulation.user.model, open_model=_open_fake_model, seed=simulation.seed)


def _open_fake_model(spec: str) -> tuple[Predict, str]:
    async def predict(case: Case, trial: int) -> Prediction:
        raise ModelError("this user is for checks only")

    return predict, spec


def _check_capabilities(spec: Spec, simulation: SimulationSettings) -> None:
    """Raise `BadInput` for an agent that cannot be simulated with these tools, or without tools."""
    capabilities = spec.provider.capabilities
    if not capabilities.supports_simulation:
        raise BadInput(f"{spec.shown} only predicts single decision points, so it cannot be used as an agent")
    if simulation.tools and not capabilities.calls_tools:
        raise BadInput(f"{spec.shown} executes its own calls, so --tools cannot be used with it")
    if not simulation.tools and not capabilities.reports_calls:
        raise BadInput(f"{spec.shown} needs --tools", "For example --tools mcp:'python server.py'.")


def _redact_simulation(simulation: SimulationSettings, keys: Keys, *, model_roles: Sequence[str]) -> tuple[SimulationSettings, bool]:
    """Return the settings to record, without secrets, and whether any were removed. `model_roles` are the roles that models play."""
    was_redacted = []
    recorded = {}
    for role in model_roles:
        if (settings := getattr(simulation, role)) is not None:
            recorded[role], redacted = redact_settings(settings, read_spec(settings.model, keys), keys)
            was_redacted.append(redacted)
    tools, system = tuple(map(keys.hide, simulation.tools)), keys.hide(simulation.system)
    result = structs.replace(simulation, tools=tools, system=system, **recorded)
    return result, any(was_redacted) or (tools, system) != (simulation.tools, simulation.system)
