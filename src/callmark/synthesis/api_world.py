"""The world of an OpenAPI file: the operations are the tools, the description is the policy, and a mock API returns the results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from callmark.calls.strict import scrub
from callmark.simulation.mock_api.api import MockApi
from callmark.simulation.openapi import Api, read_api
from callmark.synthesis.api_expert import ApiExpert
from callmark.synthesis.api_plans import PlanGenerator
from callmark.synthesis.api_user import ApiUser
from callmark.synthesis.world import World
from callmark.types import Case, Tool

_RULES = """Use the tools for everything that you tell or do. Do not make up anything that neither the user nor a tool has told you.
Before you call a tool that changes something ({writes}), say what you are going to do and get an explicit yes; one yes is for one call.
Refuse what no tool can do, and what the descriptions of the tools do not allow."""


def api_world(path: str) -> "ApiWorld":
    """Return the world of a file. A file that is not OpenAPI 3, or has no operations, raises `BadInput`."""
    return ApiWorld(path, read_api(path))


class ApiWorld(World):
    """Plans conversations from nothing but the operations and schemas of an API."""

    label: str = ""
    tools: tuple[str, ...] = ()
    tool_definitions: tuple[Tool, ...] = ()
    branches: tuple[str, ...] = ()
    mocked = True

    def __init__(self, path: str, api: Api) -> None:
        self.label = api.title or scrub(Path(path).name)
        self.tools = (f"openapi:{path}",)
        self.tool_definitions = tuple(operation.tool for operation in api.operations)
        self._api = api
        self._writes = [operation.tool.name for operation in api.operations if operation.writes]
        self._plans = PlanGenerator(MockApi(api))
        self.branches = self._plans.branches

    @property
    def policy(self) -> str:
        """Return the file's title and description, and general rules for using tools."""
        rules = _RULES.format(writes=", ".join(self._writes) or "none here does")
        return "\n\n".join(filter(None, (self._api.title, self._api.description, rules)))

    @property
    def rules(self) -> Mapping[str, Any]:
        """Return rules that require a separate confirmation for every write; none for a read-only API."""
        if not self._writes:
            return {}
        return {
            "rules": [
                {"id": "ask-first", "says": "Every change needs the user's confirmation first.", "confirmed": self._writes},
                {"id": "one-at-a-time", "says": "A confirmation covers one change only.", "once_per_confirmation": self._writes},
            ]
        }

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """Return the plans from index `start`; the number of plans is unlimited."""
        return [self._plans.plan(index, seed=seed, balance=balance) for index in range(start, start + number)]

    def expert(self) -> ApiExpert:
        return ApiExpert(self._api.title)

    def user(self, seed: int) -> ApiUser:
        return ApiUser(seed)
