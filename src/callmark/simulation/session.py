"""The contracts of a simulated conversation: `Session`, `Agent`, `User`, `UserSession`, `Toolbox` and `ToolSource`.

A session's messages are what the agent sees: OpenAI messages with tool calls and results. The user sees only the text of both sides, never
a call or its result. What the agent is not responsible for (a tool server that crashed, a model that cannot be reached) raises `ModelError`
and is an error of that conversation alone.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Protocol, Self

from msgspec import Struct

from callmark.types import Call, Case, Message, Prediction, Tool, Usage

Predict = Callable[[Case, int], Awaitable[Prediction]]  # a model's prediction for a case and a trial; raises `ModelError`
State = dict[str, dict[str, dict[str, Any]]]  # table → row key → column → value


class ToolResult(Struct, frozen=True):
    """The result of a tool call, as the agent reads it.

    `is_error`: the tool refused the call, which the agent has to handle. `missed`: no result is known for this call.
    """

    text: str
    is_error: bool = False
    missed: bool = False


class Toolbox(Protocol):
    """The tools of one conversation and the data that they work on. No two conversations share it."""

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    async def call(self, call: Call) -> ToolResult:
        """Execute a call. One that no tool accepts (unknown name, malformed, wrong arguments) returns an error result; a tool server that
        crashes, hangs or floods raises `ModelError`.
        """
        ...

    async def state(self) -> State | None:
        """Return the current data, or None where it cannot be read."""
        ...


class ToolSource(Protocol):
    """Opens a toolbox for each conversation. It is entered before the first conversation and left after the last."""

    @property
    def label(self) -> str:
        """Return its name in messages, without any secret."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Return the tools of its toolboxes; known once it is entered."""
        ...

    def open_toolbox(self, conversation: str) -> AbstractAsyncContextManager[Toolbox]:
        """Return a toolbox for the conversation of that id, in the state that every conversation starts from.

        Entering it raises `ModelError` where it cannot be opened.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Session(Struct):
    """A conversation in progress. `messages` grows turn by turn; `ending` names why the conversation ended, once it has."""

    case: Case
    trial: int
    toolbox: Toolbox
    messages: list[Message]
    ending: str = ""
    usage: Usage = Usage(attempts=0)
    misses: int = 0

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
        """Return what the user sees: the text of user and agent, without the system prompt, calls and results."""
        return [Message(message.role, message.text) for message in self.messages if message.role in ("user", "assistant") and message.text]


class Agent(Protocol):
    """The agent under test."""

    async def reply(self, session: Session) -> None:
        """Take the agent's turn: append its calls, their results and its text to the session's messages."""
        ...


class UserTurn(Struct, frozen=True):
    """One message of a user.

    `done`: the user says nothing more after it; its text may then be empty. `gave_up`: the user leaves without having reached the goal.
    """

    text: str
    done: bool = False
    usage: Usage | None = None
    gave_up: bool = False


class UserSession(Protocol):
    """The simulated user of one conversation."""

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        """Return what the user says next, given the visible messages so far; they are empty at the first turn."""
        ...


class User(Protocol):
    """Plays the users of all conversations. It is entered before the first conversation and left after the last."""

    @property
    def label(self) -> str: ...

    def start_session(self, case: Case, trial: int) -> UserSession:
        """Return the user of that scenario and trial. A scenario that cannot be played raises `BadInput`."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class NullContext:
    """A base class for users and tool sources that have nothing to open or close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None
