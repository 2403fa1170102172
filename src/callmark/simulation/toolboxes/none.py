"""No tools: for a chatbot that executes its calls itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from callmark.simulation.session import NullContext, State, Toolbox, ToolResult
from callmark.types import Call, Tool


class NoToolSource(NullContext):
    """A source of empty toolboxes, and an empty toolbox itself: conversations have nothing to share."""

    label = "no tools"
    tools: tuple[Tool, ...] = ()

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        yield self

    async def call(self, call: Call) -> ToolResult:
        """Return an error result."""
        return ToolResult(f"There is no tool called {call.name}.", is_error=True)

    async def state(self) -> State | None:
        return None
