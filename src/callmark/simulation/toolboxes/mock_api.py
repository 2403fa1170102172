"""A mock API as tools, with results that fit their response schemas: `openapi:FILE`, the operations of an OpenAPI 3 file, and `tools:FILE`,
the tools of a JSON list, whose responses are inferred.

The data of a conversation depend only on the scenario's id, so that all its trials and its expected calls start from the same data. No
network requests are sent.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from callmark.calls.strict import scrub
from callmark.simulation.mock_api.api import MockApi, MockApiState
from callmark.simulation.openapi import read_api
from callmark.simulation.operations import Api
from callmark.simulation.session import NullContext, State, Toolbox, ToolResult
from callmark.simulation.tool_lists.read import read_tool_list
from callmark.simulation.toolboxes.provider import ToolboxProvider, ToolboxSettings
from callmark.simulation.toolboxes.results import make_result, reject_call
from callmark.types import Call, Tool


class MockApiToolSource(NullContext):
    """Mocks an API."""

    def __init__(self, label: str, api: Api) -> None:
        self.label = label
        self._api = MockApi(api)
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


def _open_openapi(path: str, settings: ToolboxSettings) -> MockApiToolSource:
    return MockApiToolSource(f"openapi:{scrub(Path(path).name)}", read_api(path))


def _open_tool_list(path: str, settings: ToolboxSettings) -> MockApiToolSource:
    return MockApiToolSource(f"tools:{scrub(Path(path).name)}", read_tool_list(path))


TOOLBOX = ToolboxProvider(
    "openapi",
    _open_openapi,
    "openapi:api.yaml",
    "a mock of the API of an OpenAPI 3 file",
    world="callmark.synthesis.api_world:openapi_world",
    actions=lambda text, keys: (),
)
TOOL_LIST = ToolboxProvider(
    "tools",
    _open_tool_list,
    "tools.json",
    "a mock of the tools of a JSON list",
    world="callmark.synthesis.api_world:tool_list_world",
    actions=lambda text, keys: (),
)
