"""A tool source that several agents use, and that is opened before they are: a server that lists its tools is not started again."""

import asyncio
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from callmark.simulation.session import Toolbox, ToolSource
from callmark.types import Tool


class SharedToolSource:
    """Wraps a tool source: the first to enter opens it, the last to exit closes it."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        self._holders = 0
        self._opening = asyncio.Lock()
        self.label = source.label

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self._source.tools

    @property
    def notices(self) -> tuple[str, ...]:
        """What the source has to say about its tools, once it is entered."""
        return getattr(self._source, "notices", ())

    def open_toolbox(self, conversation: str) -> AbstractAsyncContextManager[Toolbox]:
        return self._source.open_toolbox(conversation)

    async def __aenter__(self) -> Self:
        async with self._opening:
            if not self._holders:
                await self._source.__aenter__()
            self._holders += 1
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        async with self._opening:
            self._holders -= 1
            if not self._holders:
                await self._source.__aexit__(kind, error, trace)
