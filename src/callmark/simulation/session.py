"""What a simulated conversation is made of: the talk so far, and who takes part in it.

A talk is in OpenAI's form, tool traffic and all: what the agent sees. The user sees what a user would see: what was said, never a call or
its result. Whatever is not the agent's doing (a tool server that died, a model that cannot be reached) is raised as `ModelError` and becomes
an error of that conversation alone.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Protocol, Self

from msgspec import Struct

from callmark.types import Call, Case, Message, Prediction, Tool, Usage

Ask = Callable[[Case, int], Awaitable[Prediction]]  # a model's answer to the messages of a case, in a trial; raises `ModelError`
State = dict[str, dict[str, dict[str, Any]]]  # a table, the key of a row, its columns


class Result(Struct, frozen=True):
    """What came of a call, as the agent is told it. `is_error`: the tool refused, which is the agent's to deal with. `missed`: nobody knows
    what would have come of it.
    """

    text: str
    is_error: bool = False
    missed: bool = False


class Toolbox(Protocol):
    """The tools of one conversation, and what they work on. Two conversations never see each other's."""

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    async def call(self, call: Call) -> Result:
        """Carry it out. A call that no tool can take (unknown, malformed, wrong arguments) is an error result; a tool server that is gone,
        hangs or floods raises `ModelError`.
        """
        ...

    async def state(self) -> State | None:
        """What the tools work on as it stands now; None where that cannot be known."""
        ...


class ToolSource(Protocol):
    """Where toolboxes come from. It is entered before the first conversation and left after the last."""

    @property
    def label(self) -> str:
        """What it is called in messages; never with a key in it."""
        ...

    def opened(self, conversation: str) -> AbstractAsyncContextManager[Toolbox]:
        """A toolbox of that conversation's own, in the state that all of them begin in. Raises `ModelError` when entered in vain."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Session(Struct):
    """A conversation under way. `messages` grow as it goes; `ending` is set by whoever ends it, and says why."""

    case: Case
    trial: int
    toolbox: Toolbox
    messages: list[Message]
    ending: str = ""
    usage: Usage = Usage(attempts=0)
    misses: int = 0

    def add_spent(self, usage: Usage | None) -> None:
        """Count what a model took to answer."""
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
    def heard(self) -> list[Message]:
        """What the user saw: what they said and what the agent said to them, no system prompt, no calls, no results."""
        return [Message(message.role, message.text) for message in self.messages if message.role in ("user", "assistant") and message.text]


class Agent(Protocol):
    """Who is tested."""

    async def reply(self, talk: Session) -> None:
        """Take its turn: everything that it does is added to the talk, its calls, their results, and what it says in the end."""
        ...


class UserTurn(Struct, frozen=True):
    """What a user says. `done`: they have nothing more to say after this (their goodbye); `text` may then be empty. `gave_up`: they leave
    without what they came for, whatever words they find for it.
    """

    text: str
    done: bool = False
    usage: Usage | None = None
    gave_up: bool = False


class Speaker(Protocol):
    """The user of one conversation."""

    async def speak(self, heard: Sequence[Message]) -> UserTurn:
        """What they say next, to what was said so far; the first time nothing was."""
        ...


class User(Protocol):
    """Who plays the users."""

    @property
    def label(self) -> str: ...

    def of(self, case: Case, trial: int) -> Speaker:
        """The user of that scenario, as they are in that trial. A scenario that they cannot play raises `BadInput`."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class NothingToOpen:
    """Entered and left without a word: for users and tools that are there without any help."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None
