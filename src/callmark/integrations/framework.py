"""Agents of a framework under test: `--agent langgraph:module:graph`. One `Framework` for each, in a file of its own.

The name is an agent, or a function that returns one. A function is called for each conversation; if it has a parameter, it gets the tools
of `--tools` in the framework's own form. Every conversation has its own thread, session or history, so conversations can run at the same
time. Calls, arguments, results and text are read from the messages that the framework returns.

An exception that the framework raises for what its model did is a failure: the conversation ends with a malformed call. Reaching
`--max-steps`, or a limit of the framework's own, ends it too. Any other exception is an error of the conversation. The agent runs in an
event loop of its own; calls of callmark's tools are passed to the loop of the simulation.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import uuid4

from msgspec import Struct, structs

from callmark import registry
from callmark.calls.shapes import named_call
from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.formats.format import ReadContext
from callmark.models.agent_output import to_plain
from callmark.models.model import ModelError, ModelFailure
from callmark.models.provider import is_installed
from callmark.models.user_code import UserCode, describe_error, import_attribute, is_named
from callmark.simulation.agents import AgentProvider, AgentSettings, with_unique_ids
from callmark.simulation.endings import MODEL_FAILURE, STEP_LIMIT
from callmark.simulation.session import Session
from callmark.trust import Action, import_action
from callmark.types import Call, Message, Place, Tool, Usage

Execute = Callable[[dict[str, Any] | str], Awaitable[str]]
"""Executes a call to one tool with its arguments (an object, or the model's JSON text), and returns the text of the result."""

_MILLION = 1_000_000
_OWN_ROLES = ("assistant", "tool")


class AgentTurn(Struct):
    """What an agent did in one turn: the framework's messages as plain JSON, and the tokens.

    `messages` are set as they come, so that those before an exception are kept. They may include the user's message.
    """

    messages: list[Any] = []
    input_tokens: int = 0
    output_tokens: int = 0


class FrameworkConversation(Protocol):
    """One conversation with an agent of a framework."""

    async def send(self, text: str, turn: AgentTurn) -> None:
        """Send a user message, and put what the agent did into `turn`."""
        ...


class Framework(Struct, frozen=True):
    """A framework, and how callmark talks to its agents.

    Attributes:
        name: Prefix of its specs: `langgraph` in `langgraph:module:graph`.
        module: The module that must be installed.
        package: What to install.
        noun: What its agents are called, in messages.
        is_agent: Whether a value is an agent of this framework.
        start: `start(agent, conversation_id, max_steps)` begins a conversation. `max_steps` is how many messages with calls a turn may
            have, for frameworks that can be told.
        make_tool: `make_tool(tool, execute)` returns a tool in the framework's own form.
        join_tools: Converts the list of tools to what an agent takes, if that is not a list of tools.
        read: Converts the framework's messages to callmark's; raises `BadInput` for anything else.
        failures: Full names of its exceptions for what a model did wrong; subclasses are included.
        limits: Full names of its exceptions for reaching a limit of steps.
    """

    name: str
    module: str
    package: str
    noun: str
    is_agent: Callable[[Any], bool]
    start: Callable[[Any, str, int], FrameworkConversation]
    make_tool: Callable[[Tool, Execute], Any]
    read: Callable[[Sequence[Any]], list[Message]]
    join_tools: Callable[[list[Any]], list[Any]] = list
    failures: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def provider(self) -> AgentProvider:
        """The kind of agent for the registry."""
        return AgentProvider(self.name, self._open, f"an agent built with {self.package}", actions=self._actions, has_prompt=True)

    def _open(self, options: str | None, settings: AgentSettings) -> "FrameworkAgent":
        return FrameworkAgent(self, options or "", settings)

    def _actions(self, options: str | None) -> Sequence[Action]:
        return (import_action(options or ""),)


class FrameworkAgent:
    """An agent of a framework. Raises `BadInput` if it cannot be imported, or does not fit the tools."""

    def __init__(self, framework: Framework, options: str, settings: AgentSettings) -> None:
        self._framework = framework
        self._spec = f"{framework.name}:{options}"
        self._settings = settings
        self._code = UserCode(self._spec, timeout=settings.timeout)
        module, _, name = options.partition(":")
        if not module.strip() or not name.strip():
            raise BadInput(f"expected {framework.name}:MODULE:{framework.noun.upper()}, got {self._spec}")
        if not is_installed(framework.module):
            raise BadInput(f"{self._spec}: {framework.package} is not installed", f"Install it: pip install {framework.package}")
        self._source = import_attribute(module.strip(), name.strip(), self._spec)
        self._takes_tools = False
        if not self._is_agent(self._source):
            self._takes_tools = self._check_function()
        if settings.has_tools and not self._takes_tools:
            raise BadInput(
                f"{self._spec} has its own tools, so --tools cannot be used with it",
                f"To run it with other tools, name a function that takes a list of tools and returns the {framework.noun}.",
            )
        if self._takes_tools and not settings.has_tools:
            raise BadInput(f"{self._spec} takes a list of tools, so it needs --tools", "For example --tools mcp:'python server.py'.")

    async def reply(self, session: Session) -> None:
        """Send the user's message to the agent, and append what the framework says that the agent did."""
        if session.agent_memory is None:
            session.agent_memory = await _Thread(self._framework, session).start(self._make_agent, self._settings.max_steps)
        thread: _Thread = session.agent_memory
        last = session.messages[-1] if session.messages else Message("user")
        turn = AgentTurn()
        began = asyncio.get_running_loop().time()
        _, error = await self._run(lambda: thread.conversation.send(last.text if last.role == "user" else "", turn))
        seconds = round(asyncio.get_running_loop().time() - began, 6)
        session.add_usage(Usage(seconds, turn.input_tokens, turn.output_tokens, self._cost(turn)))
        if thread.tool_problem is not None:
            raise thread.tool_problem
        self._append(session, turn)
        if error is None:
            return
        if isinstance(error, ModelError):
            raise error
        if is_named(error, self._framework.limits):
            session.ending = STEP_LIMIT
        elif isinstance(error, ModelFailure) or is_named(error, (*self._framework.failures, *self._settings.failures)):
            session.messages.append(Message("assistant", "", (Call("", malformed=MODEL_FAILURE, text=describe_error(error)),)))
            session.ending = MODEL_FAILURE
        else:
            raise ModelError(f"{self._spec} raised {describe_error(error)}")

    async def __aenter__(self) -> Self:
        self._code.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._code.close()

    def _is_agent(self, value: Any) -> bool:
        """Return whether a value is an agent; raise `BadInput` if the framework cannot be imported, such as for a folder of its name."""
        try:
            return self._framework.is_agent(value)
        except ImportError as error:
            raise BadInput(f"{self._spec}: cannot import {self._framework.package}: {describe_error(error)}") from None

    def _check_function(self) -> bool:
        """Return whether the function that makes the agent takes tools; raise `BadInput` for anything else."""
        article = "an" if self._framework.noun[0] in "aeiou" else "a"
        expected = f"{article} {self._framework.noun} from {self._framework.package}, or a function that returns one"
        if not callable(self._source):
            raise BadInput(f"{self._spec}: expected {expected}, got {type(self._source).__name__}")
        try:
            parameters = inspect.signature(self._source).parameters.values()
        except (TypeError, ValueError):
            raise BadInput(f"{self._spec}: expected {expected}, got {type(self._source).__name__}") from None
        needed = [parameter for parameter in parameters if parameter.default is parameter.empty and parameter.kind in _NEEDED]
        if len(needed) > 1:
            raise BadInput(f"{self._spec} needs {len(needed)} arguments", "It is called with a list of tools, or without arguments.")
        if any(parameter.kind is parameter.KEYWORD_ONLY for parameter in needed):
            raise BadInput(f"{self._spec} needs a keyword argument", "It is called with a list of tools, or without arguments.")
        return bool(needed) or any(parameter.name == "tools" and parameter.kind in _GIVEN for parameter in parameters)

    async def _make_agent(self, tools: list[Any]) -> Any:
        """Return the agent of a new conversation."""
        if self._framework.is_agent(self._source):
            return self._source
        agent, error = await self._run(lambda: self._source(tools) if self._takes_tools else self._source(), is_async=False)
        if error is not None:
            raise ModelError(f"{self._spec} raised {describe_error(error)}")
        if not self._framework.is_agent(agent):
            raise ModelError(f"{self._spec} returned {type(agent).__name__}, which is not an agent from {self._framework.package}")
        return agent

    async def _run(self, function: Callable[[], Any], *, is_async: bool = True) -> tuple[Any, BaseException | None]:
        return await self._code.run(function, is_async=is_async)

    def _append(self, session: Session, turn: AgentTurn) -> None:
        """Append the agent's messages, with call ids that are unique in the conversation."""
        try:
            messages = [message for message in self._framework.read(turn.messages) if message.role in _OWN_ROLES]
        except BadInput as error:
            raise ModelError(f"{self._spec} returned messages that cannot be read: {error}") from None
        waiting: dict[str | None, list[Call]] = {}  # calls without a result, by the id that the framework gave them
        for message in messages:
            calls = with_unique_ids(message.calls, session)
            for before, call in zip(message.calls, calls, strict=True):
                waiting.setdefault(before.id, []).append(call)
            if message.role == "tool" and (open_calls := waiting.get(message.tool_call_id)):
                call = next((each for each in open_calls if each.name == message.name), open_calls[0])
                open_calls.remove(call)
                message = structs.replace(message, tool_call_id=call.id, name=call.name)
            if calls or message.text or message.role == "tool":
                session.messages.append(structs.replace(message, calls=calls))

    def _cost(self, turn: AgentTurn) -> float | None:
        price = self._settings.price
        return None if price is None else (turn.input_tokens * price.input + turn.output_tokens * price.output) / _MILLION


class _Thread:
    """An agent's side of one conversation. `tool_problem` is the error of a tool of callmark's, which a framework may hide."""

    conversation: FrameworkConversation

    def __init__(self, framework: Framework, session: Session) -> None:
        self._framework = framework
        self._session = session
        self._loop = asyncio.get_running_loop()
        self.tool_problem: ModelError | None = None

    async def start(self, make_agent: Callable[[list[Any]], Awaitable[Any]], max_steps: int) -> Self:
        tools = [self._framework.make_tool(tool, self._executor(tool.name)) for tool in self._session.toolbox.tools]
        agent = await make_agent(self._framework.join_tools(tools))
        conversation_id = f"{self._session.case.id}/{self._session.trial}/{uuid4().hex[:8]}"
        self.conversation = self._framework.start(agent, conversation_id, max_steps)
        return self

    def _executor(self, name: str) -> Execute:
        async def execute(arguments: dict[str, Any] | str) -> str:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._call(named_call(name, arguments, None)), self._loop))

        return execute

    async def _call(self, call: Call) -> str:
        if call.malformed:
            return f"The call is malformed: {call.malformed}."
        try:
            result = await self._session.toolbox.call(call)
        except ModelError as error:
            self.tool_problem = error
            raise
        self._session.misses += result.missed
        return result.text


_GIVEN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NEEDED = (*_GIVEN, inspect.Parameter.KEYWORD_ONLY)


def read_with(format_name: str, key: str) -> Callable[[Sequence[Any]], list[Message]]:
    """Return a function that reads messages with one of callmark's formats. `key` is the key of its rows that holds them."""

    def read(messages: Sequence[Any]) -> list[Message]:
        if not messages:
            return []
        row = dump({key: to_plain(list(messages))}).encode()
        return list(registry.find("formats", format_name).read(row, Place("", 1, "item"), ReadContext()).messages)

    return read
