"""The contracts of a simulated conversation: `Session`, `Agent`, `User`, `UserSession`, `Toolbox` and `ToolSource`.

A session's messages are what the agent sees: OpenAI messages with tool calls and results. The user sees only the text of both sides, never
a call or its result. Failures that are not the agent's (a tool server that crashed, a model that cannot be reached) raise `ModelError` and
are an error of that conversation only.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Protocol, Self

from msgspec import Struct

from callmark.types import Call, Case, Message, Prediction, Tool, Usage

Predict = Callable[[Case, int], Awaitable[Prediction]]  # a model's prediction for a case and a trial; raises `ModelError`
State = Mapping[str, Mapping[str, dict[str, Any]]]
"""The data that tools work on: values by table, row key and column."""


class ToolResult(Struct, frozen=True):
    """The result of a tool call, as the agent reads it.

    Attributes:
        text: The content of the result.
        is_error: The tool returned an error, which the agent has to handle.
        missed: No result is recorded for this call.
    """

    text: str
    is_error: bool = False
    missed: bool = False


class Toolbox(Protocol):
    """Protocol of the tools of one conversation and the data they work on. Conversations never share a toolbox."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the agent may call."""
        ...

    async def call(self, call: Call) -> ToolResult:
        """Execute a call. A call that no tool accepts (unknown name, malformed, wrong arguments) returns an error result; a tool server
        that exits, times out or floods its output raises `ModelError`.
        """
        ...

    async def state(self) -> State | None:
        """Return the current data, or None if it cannot be read."""
        ...


class ToolSource(Protocol):
    """Protocol of a tool source, which opens a toolbox for each conversation.

    It is an async context manager: it is entered before the first conversation and exited after the last. It may have `notices`, a tuple of
    sentences about its tools, which are shown as warnings once it is entered.
    """

    @property
    def label(self) -> str:
        """Name for messages, without secrets."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of its toolboxes; available once it is entered."""
        ...

    def open_toolbox(self, conversation: str) -> AbstractAsyncContextManager[Toolbox]:
        """Return a toolbox for the conversation with this id, in the initial state of every conversation.

        Entering it raises `ModelError` if it cannot be opened.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Session(Struct):
    """A conversation in progress.

    Attributes:
        case: The scenario.
        trial: Number of the trial, starting at 0.
        toolbox: The tools of this conversation.
        messages: The messages so far, as the agent sees them, including tool calls and results.
        ending: Why the conversation ended; empty while it is in progress.
        usage: The usage of all model responses so far.
        misses: Number of calls without a recorded result.
        agent_memory: What the agent keeps between its turns, such as the thread of a framework; None before its first turn.
    """

    case: Case
    trial: int
    toolbox: Toolbox
    messages: list[Message]
    ending: str = ""
    usage: Usage = Usage(attempts=0)
    misses: int = 0
    agent_memory: Any = None

    def add_usage(self, usage: Usage | None) -> None:
        """Add the usage of one model response; None adds nothing."""
        if usage is None:
            return
        before = self.usage
        cost = None if before.cost is None and usage.cost is None else (before.cost or 0.0) + (usage.cost or 0.0)
        self.usage = Usage(
            before.seconds + usage.seconds,
            before.input_tokens + usage.input_tokens,
            before.output_tokens + usage.output_tokens,
            cost,
            before.attempts + usage.attempts,
        )

    @property
    def visible_messages(self) -> list[Message]:
        """The messages that the user sees: the text of both sides, without system prompt, calls and results."""
        return [Message(message.role, message.text) for message in self.messages if message.role in ("user", "assistant") and message.text]


class Agent(Protocol):
    """Protocol of an agent under test.

    An agent that is also an async context manager is entered before the first conversation and exited after the last.
    """

    async def reply(self, session: Session) -> None:
        """Take the agent's turn: append its calls, their results and its text to the session's messages."""
        ...


class UserTurn(Struct, frozen=True):
    """One message of a simulated user.

    Attributes:
        text: The message; may be empty in the last turn.
        done: This is the user's last message.
        usage: The usage of an LLM user; None for other users.
        gave_up: The user leaves without having reached the goal.
        did_not_understand: The user did not understand most of the agent's turns since it last got further.
    """

    text: str
    done: bool = False
    usage: Usage | None = None
    gave_up: bool = False
    did_not_understand: bool = False


class UserSession(Protocol):
    """Protocol of the simulated user of one conversation."""

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        """Return the user's next turn, given the visible messages; there are none before the first turn."""
        ...


class User(Protocol):
    """Protocol of a simulated user, which starts a session for each conversation.

    It is an async context manager: it is entered before the first conversation and exited after the last. It may have `notices`, a tuple of
    sentences about the scenarios that it was given so far, which are shown as warnings before the first conversation.
    """

    @property
    def label(self) -> str:
        """Name for messages, without secrets."""
        ...

    def start_session(self, case: Case, trial: int) -> UserSession:
        """Return the user of a scenario and trial. A scenario that cannot be simulated raises `BadInput`."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class NullContext:
    """Base class for users and tool sources with nothing to open or close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None
