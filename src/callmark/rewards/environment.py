"""`Environment`: simulated conversations as an environment for TRL (`environment_factory`).

An episode is one scenario: the simulated user speaks first (`reset` returns the message), the tools of the toolbox are public methods, and
so is `send_message_to_user`, which returns the user's reply. `get_reward` grades the calls of the episode against the scenario. Users and
toolboxes are those of `callmark.simulate`; a failure that is not the model's gives the reward None.
"""

import weakref
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from os import PathLike, fspath
from types import FunctionType
from typing import Any, Self
from uuid import uuid4

from callmark.errors import BadInput
from callmark.formats import load
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS
from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings
from callmark.rewards.episode import Episode, open_episode
from callmark.rewards.event_loop import EventLoop
from callmark.rewards.reward import Reward
from callmark.rewards.tool_methods import tool_method
from callmark.simulation.model_client import ModelClient
from callmark.simulation.scenario_checks import check_scenario
from callmark.simulation.session import Predict, ToolSource, User
from callmark.simulation.toolboxes import complete_spec, open_tools
from callmark.simulation.users import DEFAULT_USER, open_user
from callmark.types import Call, Case, Tool

SEND_MESSAGE = "send_message_to_user"
MAX_TURNS = 30
_RESERVED = frozenset({"reset", "get_reward", SEND_MESSAGE})
_SEND_MESSAGE = Tool(
    SEND_MESSAGE,
    "Send a message to the user, and return the user's reply.",
    {"type": "object", "properties": {"message": {"type": "string", "description": "The message."}}, "required": ["message"]},
)
_ENDED = "The user has left the conversation."


class Environment:
    """A factory of environments for TRL, over scenarios, a simulated user and tools.

        environment = Environment("scenarios.jsonl", "mcp:python server.py")
        GRPOTrainer(model, environment_factory=environment, train_dataset=Dataset.from_list(environment.rows()))

    Each call opens nothing new: tools and user are opened once, and `close` closes them. Use it as a context manager, or leave it to the
    end of the process.

    Args:
        scenarios: Path of a file of scenarios, or a list of cases.
        tools: Spec of a tool source, or several: `mcp:COMMAND`, `python:MODULE`, an OpenAPI file, a list of tools.
        reward: The reward of an episode; by default `process.reliability`.
        user: Simulated user: `rule-based`, `script`, or a model.
        system: System prompt of every episode, for `rows`.
        seed: Seed of the user.
        max_turns: Messages that the user answers in an episode.

    Raises:
        BadInput: There are no scenarios, one cannot be simulated, the tools cannot be opened, or a tool's name is reserved.
    """

    def __init__(
        self,
        scenarios: str | PathLike[str] | Sequence[Case],
        tools: str | Sequence[str],
        *,
        reward: Reward | None = None,
        user: str = DEFAULT_USER,
        system: str = "",
        seed: int = 0,
        max_turns: int = MAX_TURNS,
    ) -> None:
        self.reward = reward or Reward(metric="process.reliability")
        self.system = system
        self.max_turns = max_turns
        self.scenarios = {case.id: case for case in _read_scenarios(scenarios)}
        keys = Keys.here()
        self._clients: list[ModelClient] = []

        def open_model(spec: str) -> tuple[Predict, str]:
            self._clients.append(ModelClient(ModelSettings(model=spec), keys, None))
            return self._clients[-1].predict, self._clients[-1].label

        self.user: User = open_user(user, open_model=open_model, seed=seed)
        self.source: ToolSource = open_tools([complete_spec(spec) for spec in ([tools] if isinstance(tools, str) else tools)], keys=keys)
        self.loop = EventLoop()
        self._finalizer = weakref.finalize(self, self.loop.stop)
        try:
            self.loop.keep(self._open)
        except ModelError as error:
            self.close()
            raise BadInput(str(error)) from None
        except BaseException:
            self.close()
            raise
        self.tools: tuple[Tool, ...] = self.source.tools
        try:
            for case in self.scenarios.values():
                check_scenario(case, self.user, self.tools, ignore=IGNORED_FUNCTIONS)
            self._kind = _environment_class(self)
        except BaseException:
            self.close()
            raise

    def __call__(self) -> Any:
        """Return an environment, as TRL needs them: one for each episode at a time."""
        return self._kind()

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per scenario for a dataset: its `id`, which `reset` gets, and a `prompt`, to which TRL appends the user's first
        message.
        """
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [{"id": case, "prompt": [*system, {"role": "user", "content": ""}]} for case in self.scenarios]

    def scenario(self, row_id: object) -> Case:
        """Return the scenario with an id. Without an id there must be only one scenario; otherwise `BadInput` is raised."""
        if row_id is None and len(self.scenarios) == 1:
            return next(iter(self.scenarios.values()))
        if row_id is None:
            raise BadInput(
                "reset: the row has no id, so callmark cannot tell which scenario it belongs to", "Train on the rows of Environment.rows()."
            )
        if str(row_id) not in self.scenarios:
            raise BadInput(f"reset: no scenario has the ID {str(row_id)[:80]!r}")
        return self.scenarios[str(row_id)]

    async def _open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self.source)
        for client in self._clients:
            await stack.enter_async_context(client)
        await stack.enter_async_context(self.user)

    def close(self) -> None:
        """Close the tools and the user. Closing again does nothing."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Environment({len(self.scenarios):,} scenarios, {self.source.label})"


class ToolEnvironment:
    """The part of an environment that does not depend on the tools. TRL offers every public method but `reset` and `get_reward`."""

    _factory: Environment

    def __init__(self) -> None:
        self._episode: Episode | None = None

    def _start(self, row_id: object) -> str:
        self._end()
        factory = self._factory
        case = factory.scenario(row_id)
        name = f"{case.id}/{uuid4().hex[:8]}"
        self._episode = open_episode(factory.loop, factory.source, factory.user, case, name, max_turns=factory.max_turns)
        return self._episode.start()

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        if self._episode is None:
            raise BadInput("reset must be called before the first tool call")
        if tool == SEND_MESSAGE:
            return self._episode.send(str(arguments.get("message", ""))) or _ENDED
        return self._episode.call(Call(tool, dict(arguments)))

    def _reward(self) -> float | None:
        if self._episode is None:
            raise BadInput("get_reward: there is no episode: reset was not called")
        prediction = self._episode.prediction(with_states=self._factory.reward.needs_states)
        return self._factory.reward.of_case(self._episode.case, prediction)

    def _end(self) -> None:
        if self._episode is not None:
            self._episode.close()
            self._episode = None

    def __del__(self) -> None:
        if getattr(self, "_episode", None) is not None:
            self._end()


def _environment_class(factory: Environment) -> type[ToolEnvironment]:
    """Return a class whose public methods are the tools: TRL reads them from the class."""

    def reset(self: ToolEnvironment, **row: Any) -> str:
        """Start an episode with the scenario of a row, and return the user's first message."""
        return self._start(row.get("id"))

    def get_reward(self: ToolEnvironment) -> float | None:
        """Return the reward of the episode so far; None if something failed that is not the model's doing."""
        return self._reward()

    members: dict[str, Any] = {"reset": reset, "get_reward": get_reward, "_factory": factory, "__module__": __name__}
    for tool in (*factory.tools, _SEND_MESSAGE):
        if (tool.name in _RESERVED and tool is not _SEND_MESSAGE) or tool.name.startswith("_"):
            raise BadInput(f"a tool cannot be named {tool.name!r} in an environment", "TRL offers the public methods as tools.")
        members[tool.name] = _method(tool)
    return type("CallmarkEnvironment", (ToolEnvironment,), members)


def _method(tool: Tool) -> FunctionType:
    def call(self: ToolEnvironment, arguments: Mapping[str, Any]) -> str:
        return self._call(tool.name, arguments)

    return tool_method(tool, call)


def _read_scenarios(scenarios: str | PathLike[str] | Sequence[Case]) -> list[Case]:
    given = load(scenarios, cases=True) if isinstance(scenarios, str | PathLike) else scenarios
    found = [case for case in given if isinstance(case, Case) and case.is_scenario]
    name = fspath(scenarios) if isinstance(scenarios, str | PathLike) else "the list"
    if not found:
        raise BadInput(f"{name}: no scenarios found", "Generate some with: callmark synth --scenarios-only")
    if len({case.id for case in found}) < len(found):
        raise BadInput(f"{name}: two scenarios have the same ID")
    return found
