"""Several sources of tools as one: every conversation gets a toolbox of each, and sees them as one toolbox of all their tools."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Protocol, Self

from callmark.errors import BadInput
from callmark.simulation.session import Result, State, Toolbox, ToolSource
from callmark.simulation.toolboxes.answers import refused
from callmark.types import Call, Tool


class ListedTools(ToolSource, Protocol):
    """A source that says, once it is entered, which tools its toolboxes have."""

    @property
    def tools(self) -> tuple[Tool, ...]: ...


class JoinedTools:
    """Raises `BadInput` on entering where two of the sources have a tool of the same name."""

    def __init__(self, sources: Sequence[ListedTools]) -> None:
        self._sources = sources
        self._entered = AsyncExitStack()
        self.label = " + ".join(source.label for source in sources)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for source in self._sources for tool in source.tools)

    @asynccontextmanager
    async def opened(self, conversation: str) -> AsyncIterator[Toolbox]:
        async with AsyncExitStack() as stack:
            yield _JoinedToolbox([(source.label, await stack.enter_async_context(source.opened(conversation))) for source in self._sources])

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for source in self._sources:
                await stack.enter_async_context(source)
            self._refuse_repeated_names()
            self._entered = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._entered.__aexit__(kind, error, trace)

    def _refuse_repeated_names(self) -> None:
        for name, count in Counter(tool.name for tool in self.tools).items():
            if count > 1:
                having = [source.label for source in self._sources if any(tool.name == name for tool in source.tools)]
                raise BadInput(f"there are two tools called {name}, in {' and in '.join(having)}", "Leave one of them out.")


class _JoinedToolbox:
    def __init__(self, toolboxes: list[tuple[str, Toolbox]]) -> None:
        self._toolboxes = toolboxes
        self._of = {tool.name: toolbox for _, toolbox in toolboxes for tool in toolbox.tools}
        self.tools = tuple(tool for _, toolbox in toolboxes for tool in toolbox.tools)

    async def call(self, call: Call) -> Result:
        return refused(call, self._of) or await self._of[call.name].call(call)

    async def state(self) -> State | None:
        """The tables of all that have any; of two of one name the later goes by the name of its source too. None where none has any."""
        states = [(label, state) for label, toolbox in self._toolboxes if (state := await toolbox.state()) is not None]
        joined: State = {}
        for label, state in states:
            joined |= {f"{label}/{table}" if table in joined else table: rows for table, rows in state.items()}
        return joined if states else None
