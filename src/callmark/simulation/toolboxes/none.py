"""No tools: for a chatbot that carries out its calls itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from callmark.simulation.session import NothingToOpen, Result, State, Toolbox
from callmark.types import Call, Tool


class NoTools(NothingToOpen):
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
