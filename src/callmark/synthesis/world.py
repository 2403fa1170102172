"""A world: what conversations can be about. It plans them, and it has an expert and a user who need no model.

A plan is a scenario; `data.plan` holds what the world's own user and expert go by, and under `branches` which branches of the policy it
takes. Models that speak instead go by its instructions.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from callmark.simulation.session import Agent, User
from callmark.types import Case


class World(Protocol):
    """`tools` are specs, as `--tools` takes them; `system` is the policy text, the system prompt of every conversation; `rules` are those
    of the evaluator `policy`, as `read_policy` gives them, `{}` where there are none. `branches` are all that a plan may take. `made_up`:
    results come from schemas, not from a server.
    """

    @property
    def label(self) -> str: ...

    @property
    def tools(self) -> tuple[str, ...]: ...

    @property
    def system(self) -> str: ...

    @property
    def rules(self) -> Mapping[str, Any]: ...

    @property
    def branches(self) -> tuple[str, ...]: ...

    @property
    def made_up(self) -> bool: ...

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """The plans from `start` on; fewer, or none, where there are no more. A plan is the same however many are asked for."""
        ...

    def expert(self) -> Agent:
        """Who knows the plan and does everything right."""
        ...

    def user(self, seed: int) -> User:
        """Who plays the users; another seed, other words."""
        ...


def branches_of(plan: Case) -> tuple[str, ...]:
    """The branches of the policy that a plan takes; none where it does not say."""
    own = plan.data.get("plan")
    named = own.get("branches") if isinstance(own, dict) else None
    return tuple(branch for branch in named if isinstance(branch, str)) if isinstance(named, list) else ()
