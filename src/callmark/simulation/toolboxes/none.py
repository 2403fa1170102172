"""No tools: for a chatbot that carries out its calls itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from callmark.simulation.talk import Result, State, Toolbox
from callmark.types import Call, Tool


class NoTools:
    """A source of empty toolboxes, which is an empty toolbox itself: there is nothing that conversations could share."""

    label = "no tools"
    tools: tuple[Tool, ...] = ()

    @asynccontextmanager
    async def opened(self, conversation: str) -> AsyncIterator[Toolbox]:
        yield self

    async def call(self, call: Call) -> Result:
        """Nothing can be called."""
        return Result(f"There is no tool called {call.name}.", is_error=True)

    async def state(self) -> State | None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass
