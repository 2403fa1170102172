"""The world of an OpenAPI file or a tool list: the operations are the tools, the description is the policy, and a mock API returns the
results.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from callmark.calls.strict import scrub
from callmark.simulation.mock_api.api import MockApi
from callmark.simulation.openapi import read_api
from callmark.simulation.operations import Api
from callmark.simulation.tool_lists.read import read_tool_list
from callmark.synthesis.api_expert import ApiExpert
from callmark.synthesis.api_plans import PlanGenerator
from callmark.synthesis.api_policy import plain_description, tool_policy, tool_rules
from callmark.synthesis.api_user import ApiUser
from callmark.synthesis.world import World
from callmark.types import Case, Tool


def openapi_world(path: str) -> "ApiWorld":
    """Return the world of a file. A file that is not OpenAPI 3, or has no operations, raises `BadInput`."""
    return ApiWorld(f"openapi:{path}", read_api(path))


def tool_list_world(path: str) -> "ApiWorld":
    """Return the world of a list of tools. A file that is not such a list, or has no tools, raises `BadInput`."""
    return ApiWorld(f"tools:{path}", read_tool_list(path))


class ApiWorld(World):
    """Plans conversations from nothing but the operations and schemas of an API. `spec` is the spec of its tools."""

    label: str = ""
    tools: tuple[str, ...] = ()
    tool_definitions: tuple[Tool, ...] = ()
    branches: tuple[str, ...] = ()
    mocked = True

    def __init__(self, spec: str, api: Api) -> None:
        self.label = api.title or scrub(Path(spec.partition(":")[2]).name)
        self.tools = (spec,)
        self.tool_definitions = tuple(operation.tool for operation in api.operations)
        self._api = api
        self._writes = [operation.tool.name for operation in api.operations if operation.writes]
        self._plans = PlanGenerator(MockApi(api))
        self.branches = self._plans.branches

    @property
    def policy(self) -> str:
        """Return the file's title and description, and general rules for using tools."""
        return "\n\n".join(filter(None, (self._api.title, plain_description(self._api.description), tool_policy(self._writes))))

    @property
    def rules(self) -> Mapping[str, Any]:
        """Return rules that require a separate confirmation for every write; none for a read-only API."""
        return tool_rules(self._writes)

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """Return the plans from index `start`; the number of plans is unlimited."""
        return [self._plans.plan(index, seed=seed, balance=balance) for index in range(start, start + number)]

    def expert(self) -> ApiExpert:
        return ApiExpert(self._api.title)

    def user(self, seed: int) -> ApiUser:
        return ApiUser(seed)
