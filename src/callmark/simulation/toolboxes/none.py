"""No tools: for a chatbot that executes its calls itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from callmark.simulation.session import NullContext, State, Toolbox, ToolResult
from callmark.types import Call, Tool


class NoToolSource(NullContext):
    """A source of empty toolboxes. It is its own toolbox, because conversations share no data."""

    label = "no tools"
    tools: tuple[Tool, ...] = ()

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        yield self

    async def call(self, call: Call) -> ToolResult:
        """Return an error result."""
        return ToolResult(f"Unknown tool {call.name!r}.", is_error=True)

    async def state(self) -> State | None:
        return None
