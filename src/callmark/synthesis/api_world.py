"""The world of an API that is known by its OpenAPI file alone: its operations are the tools, its description is the policy, and results are
made up from the schemas of its answers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from callmark.calls.strict import scrub
from callmark.simulation.mock_api.api import MockApi
from callmark.simulation.openapi import Api, read_api
from callmark.synthesis.api_expert import ApiExpert
from callmark.synthesis.api_plans import Plans
from callmark.synthesis.api_user import ApiUser
from callmark.types import Case

_RULES = """Use the tools for everything that you tell or do. Do not make up anything that neither the user nor a tool has told you.
Before you call a tool that changes something ({writes}), say what you are going to do and get an explicit yes; one yes is for one call.
Refuse what no tool can do, and what the descriptions of the tools do not allow."""


def api_world(path: str) -> "ApiWorld":
    """The world of a file. One that is no OpenAPI 3, or has no operations, raises `BadInput`."""
    return ApiWorld(path, read_api(path))


class ApiWorld:
    made_up = True

    def __init__(self, path: str, api: Api) -> None:
        self.label = api.title or scrub(Path(path).name)
        self.tools = (f"openapi:{path}",)
        self._api = api
        self._writes = [each.tool.name for each in api.operations if each.writes]
        self._plans = Plans(MockApi(api))
        self.branches = self._plans.branches

    @property
    def system(self) -> str:
        """What the file says of itself, and how tools are to be used."""
        rules = _RULES.format(writes=", ".join(self._writes) or "none here does")
        return "\n\n".join(filter(None, (self._api.title, self._api.description, rules)))

    @property
    def rules(self) -> Mapping[str, Any]:
        """Every change is confirmed, each by a yes of its own; none where nothing can be changed."""
        if not self._writes:
            return {}
        return {
            "rules": [
                {"id": "ask-first", "says": "Nothing is changed that the user did not confirm.", "confirmed": self._writes},
                {"id": "one-at-a-time", "says": "A yes is for one change.", "once_per_confirmation": self._writes},
            ]
        }

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """The plans from `start` on, as many as are asked for."""
        return [self._plans.plan(index, seed=seed, balance=balance) for index in range(start, start + number)]

    def expert(self) -> ApiExpert:
        return ApiExpert(self._api.title)

    def user(self, seed: int) -> ApiUser:
        return ApiUser(seed)
