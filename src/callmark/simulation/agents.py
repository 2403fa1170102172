"""Agents under test.

    any model                    with tools: its calls are executed and the results sent back, until it responds with text only
    python:module:function       without tools: a complete chatbot, called with the visible messages; returns its text and the calls it made
    chatbot:URL                  the same over HTTP (see `callmark.models.chatbot`)

    langgraph:module:graph       an agent of a framework, and `openai-agents:`, `pydantic-ai:`, … (see `callmark.integrations`)
    NAME[:OPTIONS]               an agent of an installed package (entry point `callmark.agents`)

A malformed call gets an error result, as from a tool. Too many responses with calls in one turn end the conversation with `step limit`.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from callmark import registry
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings, Price
from callmark.models.provider import REQUEST_SETTINGS
from callmark.runs.manifest import SimulationSettings
from callmark.simulation.endings import STEP_LIMIT
from callmark.simulation.model_client import ModelClient
from callmark.simulation.session import Agent, Session, ToolResult
from callmark.trust import Action
from callmark.types import Call, Case, Message, Prediction, Tool

MAX_CALLS = 100  # executed per response
_MODEL_SETTINGS = (*REQUEST_SETTINGS, "params", "parse", "env")
_TOO_MANY_CALLS = ToolResult(f"Not executed: a response may contain at most {MAX_CALLS} calls.", is_error=True)


class AgentSettings(Struct, frozen=True):
    """Settings of every kind of agent.

    Attributes:
        has_tools: The conversations have a toolbox (`--tools`).
        max_steps: Greatest number of messages with calls in one turn.
        timeout: Seconds until a turn of the agent times out.
        failures: Full names of exceptions that are the model's fault.
        price: Price per million tokens; None if it is unknown.
    """

    has_tools: bool = False
    max_steps: int = 20
    timeout: float = 120.0
    failures: tuple[str, ...] = ()
    price: Price | None = None


class AgentProvider(Struct, frozen=True):
    """A kind of agent for `--agent NAME[:OPTIONS]`. Register your own under the entry point group `callmark.agents`.

    Attributes:
        name: Prefix of its specs.
        open: `open(options, settings)` returns the agent, and raises `BadInput` for invalid options. `options` is the text after the colon;
            None without a colon.
        help: One-line description.
        actions: `actions(options)` returns what acts if a file names this agent: the modules that it imports, the requests that it sends.
            callmark asks the user first. None: the spec is run, because nothing is known about it.
        has_prompt: Its agents have their own system prompt, so `--system` is refused.
    """

    name: str
    open: Callable[[str | None, AgentSettings], Agent]
    help: str = ""
    actions: Callable[[str | None], Sequence[Action]] | None = None
    has_prompt: bool = False


def find_agent(settings: ModelSettings, simulation: SimulationSettings) -> Agent | None:
    """Return the agent of a framework or of an installed package, or None for any other spec.

    Settings of a model, which such an agent does not use, raise `BadInput`; so does a system prompt for an agent that has its own.
    """
    name, colon, options = settings.model.strip().partition(":")
    if not registry.is_known("agents", name):
        return None
    provider: AgentProvider = registry.find("agents", name)
    if unused := next((setting for setting in _MODEL_SETTINGS if getattr(settings, setting)), ""):
        raise BadInput(f"--agent {name} does not support {unused}, because the agent calls its model itself")
    if simulation.system and provider.has_prompt:
        raise BadInput(f"--agent {name} does not support --system, because the agent has its own instructions")
    agent_settings = AgentSettings(bool(simulation.tools), simulation.max_steps, settings.timeout, settings.failures, settings.price)
    return provider.open(options if colon else None, agent_settings)


def provider_actions(settings: ModelSettings, keys: Keys) -> Sequence[Action]:
    """Return what acts if a file names the agent of a framework or of an installed package."""
    name, colon, options = settings.model.strip().partition(":")
    provider: AgentProvider = registry.find("agents", name)
    if provider.actions is None:
        return (Action("run", keys.show_command(settings.model), exact=settings.model),)
    return provider.actions(options if colon else None)


class ToolCallingAgent:
    """A model whose calls are executed with the conversation's toolbox."""

    def __init__(self, client: ModelClient, *, max_steps: int) -> None:
        self._client = client
        self._max_steps = max_steps

    async def reply(self, session: Session) -> None:
        """Request responses and execute their calls until a response has no calls."""
        for _ in range(self._max_steps):
            prediction = await _predict(self._client, session, session.messages, session.toolbox.tools)
            calls = with_unique_ids(prediction.calls, session)
            session.messages.append(Message("assistant", prediction.text, calls))
            if not calls:
                return
            for index, call in enumerate(calls):
                result = await _execute(call, session) if index < MAX_CALLS else _TOO_MANY_CALLS
                session.misses += result.missed
                session.messages.append(Message("tool", result.text, (), call.id, call.name))
        session.ending = STEP_LIMIT


class ReportingAgent:
    """A complete chatbot: it gets the visible messages and reports the calls it made in its turn."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    async def reply(self, session: Session) -> None:
        """Append the reported calls, then the text."""
        prediction = await _predict(self._client, session, session.visible_messages, ())
        if prediction.calls:
            session.messages.append(Message("assistant", "", with_unique_ids(prediction.calls, session)))
        session.messages.append(Message("assistant", prediction.text))


def with_unique_ids(calls: tuple[Call, ...], session: Session) -> tuple[Call, ...]:
    """Return the calls with ids that are unique in the conversation, so that each result matches one call."""
    taken = {call.id for message in session.messages for call in message.calls}
    unique = []
    for call in calls:
        if call.id is None or call.id in taken:
            number = len(taken) + 1
            while f"call_{number}" in taken:
                number += 1
            call = structs.replace(call, id=f"call_{number}")
        taken.add(call.id)
        unique.append(call)
    return tuple(unique)


async def _predict(client: ModelClient, session: Session, messages: Sequence[Message], tools: tuple[Tool, ...]) -> Prediction:
    case = session.case
    prediction = await client.predict(Case(case.id, tuple(messages), tools, case.place), session.trial)
    session.add_usage(prediction.usage)
    return prediction


async def _execute(call: Call, session: Session) -> ToolResult:
    if call.malformed:
        return ToolResult(f"The call is malformed: {call.malformed}.", is_error=True)
    return await session.toolbox.call(call)
