"""Results that are made up: `openapi:FILE`, the operations of an OpenAPI 3 file, answered as the schemas of their answers say.

Every conversation begins with things of its own, made from its scenario's id alone, so that all its trials, and what is expected of it,
begin with the same. Nothing outside is called.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from callmark.calls.strict import scrub
from callmark.simulation.mock_api.api import MockApi, MockApiState
from callmark.simulation.openapi import read_api
from callmark.simulation.session import NothingToOpen, Result, State, Toolbox
from callmark.simulation.toolboxes.answers import refused, told
from callmark.types import Call, Tool


class MockApiTools(NothingToOpen):
    """Raises `BadInput` for a file that is no OpenAPI 3, as `read_openapi` does."""

    def __init__(self, path: str) -> None:
        self.label = f"openapi:{scrub(Path(path).name)}"
        self._api = MockApi(read_api(path))
        self.tools: tuple[Tool, ...] = tuple(each.tool for each in self._api.api.operations)

    @asynccontextmanager
    async def opened(self, conversation: str) -> AsyncIterator[Toolbox]:
        case = conversation.rsplit("/", 2)[0]  # of `case/trial/one of a kind`: what comes after the case differs from time to time
        yield _MockApiToolbox(self.tools, self._api.opened(case))


class _MockApiToolbox:
    def __init__(self, tools: tuple[Tool, ...], api: MockApiState) -> None:
        self.tools = tools
        self._names = [tool.name for tool in tools]
        self._api = api

    async def call(self, call: Call) -> Result:
        if no := refused(call, self._names):
            return no
        answer = self._api.call(call.name, call.arguments)
        return told(answer.text, is_error=answer.is_error)

    async def state(self) -> State | None:
        return self._api.state()
