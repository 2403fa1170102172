"""Join several tool sources: every conversation gets one toolbox with the tools of all of them."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from callmark.errors import BadInput
from callmark.simulation.session import State, Toolbox, ToolResult, ToolSource
from callmark.simulation.toolboxes.results import reject_call
from callmark.types import Call, Tool


class JoinedToolSource:
    """Joins tool sources. Entering it raises `BadInput` if two of them have a tool with the same name."""

    def __init__(self, sources: Sequence[ToolSource]) -> None:
        self._sources = sources
        self._entered = AsyncExitStack()
        self.label = " + ".join(source.label for source in sources)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for source in self._sources for tool in source.tools)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the sources have to say about their tools, once they are entered."""
        return tuple(notice for source in self._sources for notice in getattr(source, "notices", ()))

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        async with AsyncExitStack() as stack:
            yield _JoinedToolbox(
                [(source.label, await stack.enter_async_context(source.open_toolbox(conversation))) for source in self._sources]
            )

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for source in self._sources:
                await stack.enter_async_context(source)
            self._check_duplicate_names()
            self._entered = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._entered.__aexit__(kind, error, trace)

    def _check_duplicate_names(self) -> None:
        for name, count in Counter(tool.name for tool in self.tools).items():
            if count > 1:
                labels = [source.label for source in self._sources if any(tool.name == name for tool in source.tools)]
                raise BadInput(f"two tools are named {name}, in {' and in '.join(labels)}", "Remove one of them.")


class _JoinedToolbox:
    def __init__(self, toolboxes: list[tuple[str, Toolbox]]) -> None:
        self._toolboxes = toolboxes
        self._by_tool = {tool.name: toolbox for _, toolbox in toolboxes for tool in toolbox.tools}
        self.tools = tuple(tool for _, toolbox in toolboxes for tool in toolbox.tools)

    async def call(self, call: Call) -> ToolResult:
        return reject_call(call, self._by_tool) or await self._by_tool[call.name].call(call)

    async def state(self) -> State | None:
        """Return the tables of all toolboxes; None if none has a state. A repeated table name is prefixed with its source."""
        states = [(label, state) for label, toolbox in self._toolboxes if (state := await toolbox.state()) is not None]
        joined: dict[str, Mapping[str, dict[str, Any]]] = {}
        for label, state in states:
            joined |= {f"{label}/{table}" if table in joined else table: rows for table, rows in state.items()}
        return joined if states else None
