"""One simulated conversation that is driven from outside: the model's calls and messages come one at a time.

All of it runs in one task of the event loop, because a toolbox is closed in the task that opened it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import uuid4

from callmark.models.model import ModelError
from callmark.rewards.event_loop import EventLoop
from callmark.simulation.session import Session, State, Toolbox, ToolSource, User, UserSession
from callmark.simulation.states import expected_changes, with_reached
from callmark.types import Call, Case, EndStates, Message, Prediction

T = TypeVar("T")
_Job = Callable[[Toolbox], Awaitable[Any]]
_CALL_ID = "call_{}"


class Episode:
    """A conversation in progress. Methods block until the tools or the user have answered."""

    def __init__(self, loop: EventLoop, source: ToolSource, case: Case, user: UserSession, *, max_turns: int) -> None:
        self.case = case
        self._loop = loop
        self._source = source
        self._user = user
        self._turns_left = max_turns
        self._messages: list[Message] = []
        self._calls: list[Call] = []
        self._error = ""
        self._is_over = False
        self._before: State | None = None
        self._expected: EndStates | None = None
        self._jobs: asyncio.Queue[tuple[_Job, asyncio.Future[Any]] | None] = loop.run(_make_queue)

    def start(self) -> str:
        """Return the user's first message. A failure of the tools or the user is kept, for the reward."""

        async def first(toolbox: Toolbox) -> str:
            self._before = await toolbox.state()
            return await self._user_turn()

        return self._do(first, otherwise="")

    def call(self, call: Call) -> str:
        """Execute a tool call, and return the result as the model reads it."""
        number = len(self._calls)
        made = Call(call.name, call.arguments, _CALL_ID.format(number))
        self._calls.append(made)

        async def execute(toolbox: Toolbox) -> str:
            result = await toolbox.call(made)
            self._messages.append(Message("assistant", "", (made,)))
            self._messages.append(Message("tool", result.text, (), made.id, made.name))
            return result.text

        return self._do(execute, otherwise="")

    def send(self, text: str) -> str:
        """Send the model's message to the user, and return the reply; empty once the user has left."""
        self._messages.append(Message("assistant", text))

        async def answer(toolbox: Toolbox) -> str:
            return "" if self._is_over else await self._user_turn()

        return self._do(answer, otherwise="")

    def prediction(self, *, with_states: bool) -> Prediction:
        """Return the conversation so far; with an error if something failed that is not the model's doing."""
        states: EndStates | None = None
        if with_states and not self._error:
            states = self._do(self._end_states, otherwise=None)
        calls, transcript = tuple(self._calls), tuple(self._messages)
        text = next((message.text for message in reversed(transcript) if message.role == "assistant" and message.text), "")
        return Prediction(self.case.id, calls=calls, text=text, error=self._error, transcript=transcript, states=states)

    def close(self) -> None:
        """Close the toolbox."""
        self._loop.start(lambda: self._jobs.put(None))

    async def serve(self, name: str) -> None:
        """Open the toolbox, and do what is asked until the episode is closed."""
        try:
            async with self._source.open_toolbox(name) as toolbox:
                await self._serve(toolbox)
        except ModelError as error:
            await self._fail(str(error))

    async def _serve(self, toolbox: Toolbox) -> None:
        while (asked := await self._jobs.get()) is not None:
            job, answer = asked
            try:
                answer.set_result(await job(toolbox))
            except Exception as error:
                answer.set_exception(error)

    async def _fail(self, error: str) -> None:
        self._error = self._error or error
        while (asked := await self._jobs.get()) is not None:
            asked[1].set_exception(ModelError(error))

    def _do(self, job: Callable[[Toolbox], Awaitable[T]], *, otherwise: T) -> T:
        async def ask() -> T:
            answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            await self._jobs.put((job, answer))
            return await answer

        try:
            return self._loop.run(ask)
        except ModelError as error:
            self._error = self._error or str(error)
            return otherwise

    async def _user_turn(self) -> str:
        if self._turns_left <= 0:
            self._is_over = True
            return ""
        self._turns_left -= 1
        visible = Session(self.case, 0, _NO_TOOLBOX, self._messages).visible_messages
        turn = await self._user.next_turn(visible)
        self._is_over = turn.done
        if turn.text:
            self._messages.append(Message("user", turn.text))
        return turn.text

    async def _end_states(self, toolbox: Toolbox) -> EndStates | None:
        if self._before is None:
            return None
        if self._expected is None:
            async with self._source.open_toolbox(f"{self.case.id}/expected/{uuid4().hex[:8]}") as unused:  # a name is never used twice
                self._expected = await expected_changes(self.case.expected, unused)
        return with_reached(self._expected, self._before, await toolbox.state())


_NO_TOOLBOX: Any = None  # the messages that a user sees do not depend on the tools


def open_episode(loop: EventLoop, source: ToolSource, user: User, case: Case, name: str, *, max_turns: int) -> Episode:
    """Start the episode of a scenario. A scenario that the user cannot play raises `BadInput`."""
    episode = Episode(loop, source, case, user.start_session(case, 0), max_turns=max_turns)
    loop.start(lambda: episode.serve(name))
    return episode


async def _make_queue() -> "asyncio.Queue[Any]":
    return asyncio.Queue()
