"""A mock API as tools: `openapi:FILE`, the operations of an OpenAPI 3 file, with results that fit their response schemas.

The data of a conversation depend only on the scenario's id, so that all its trials and its expected calls start from the same data. No
network requests are sent.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from callmark.calls.strict import scrub
from callmark.simulation.mock_api.api import MockApi, MockApiState
from callmark.simulation.openapi import read_api
from callmark.simulation.session import NullContext, State, Toolbox, ToolResult
from callmark.simulation.toolboxes.provider import ToolboxProvider, ToolboxSettings
from callmark.simulation.toolboxes.results import make_result, reject_call
from callmark.types import Call, Tool


class MockApiToolSource(NullContext):
    """Mocks the API of a file; a file that is not OpenAPI 3 raises `BadInput`."""

    def __init__(self, path: str) -> None:
        self.label = f"openapi:{scrub(Path(path).name)}"
        self._api = MockApi(read_api(path))
        self.tools: tuple[Tool, ...] = tuple(operation.tool for operation in self._api.api.operations)

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        case = conversation.rsplit("/", 2)[0]  # of `case/trial/unique id`
        yield _MockApiToolbox(self.tools, self._api.start(case))


class _MockApiToolbox:
    def __init__(self, tools: tuple[Tool, ...], api: MockApiState) -> None:
        self.tools = tools
        self._names = [tool.name for tool in tools]
        self._api = api

    async def call(self, call: Call) -> ToolResult:
        if rejection := reject_call(call, self._names):
            return rejection
        result = self._api.call(call.name, call.arguments)
        return make_result(result.text, is_error=result.is_error)

    async def state(self) -> State | None:
        return self._api.state()


def _open(text: str, settings: ToolboxSettings) -> MockApiToolSource:
    return MockApiToolSource(text)


TOOLBOX = ToolboxProvider(
    "openapi",
    _open,
    "openapi:api.yaml",
    "a mock of the API of an OpenAPI 3 file",
    world="callmark.synthesis.api_world:api_world",
    actions=lambda text, keys: (),
)
