"""The `World` contract: a domain for synthetic conversations.

A world plans conversations, and provides an expert agent and a user that need no model. A plan is a scenario; its `data.plan` is what the
world's own user and expert follow, with the policy branches it takes under `branches`. A model as the agent or the user follows the
instructions of the plan instead. Worlds are in the registry; packages add their own with the entry point `callmark.worlds`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from callmark import registry
from callmark.simulation.session import Agent, State, User
from callmark.types import Case, Tool

DEFAULT_WORLD = "retail"


class World(Protocol):
    """A domain for synthetic conversations. A subclass inherits the members with a default."""

    @property
    def label(self) -> str:
        """Return the name for messages and files."""
        ...

    @property
    def tools(self) -> tuple[str, ...]:
        """Return the specs of its tools, as for `--tools`."""
        ...

    @property
    def tool_definitions(self) -> tuple[Tool, ...]:
        """Return the definitions of its tools, if known without opening the tools; otherwise empty."""
        return ()

    @property
    def policy(self) -> str:
        """Return the policy text, the system prompt of every conversation."""
        return ""

    @property
    def rules(self) -> Mapping[str, Any]:
        """Return the rules for the `policy` evaluator, in the form that `read_policy` returns; empty if there are none."""
        return {}

    @property
    def branches(self) -> tuple[str, ...]:
        """Return every policy branch that a plan may take."""
        return ()

    @property
    def mocked(self) -> bool:
        """Return whether tool results are generated from schemas, not by a real server."""
        return False

    @property
    def is_reproducible(self) -> bool:
        """Return whether the same seed always gives the same plans. Others are read from their file when a synthesis is resumed."""
        return True

    @property
    def bad_plans(self) -> tuple[str, ...]:
        """Return why plans were left out before anything was simulated, one sentence each; empty for worlds that plan by rules."""
        return ()

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """Return `number` plans from index `start`; fewer if there are no more. A plan does not depend on how many are requested."""
        ...

    def expert(self) -> Agent:
        """Return an agent that follows the plan without mistakes."""
        ...

    def user(self, seed: int) -> User:
        """Return the user that follows the plan; the seed determines its words."""
        ...

    def matches(self, tools: Sequence[Tool]) -> bool:
        """Return whether these are the tools of this world, by name, so that its plans fit the server given with `--tools`."""
        return bool(self.tool_definitions) and {tool.name for tool in tools} == {tool.name for tool in self.tool_definitions}

    def check_state(self, state: State) -> None:
        """Raise `BadInput` if the plans do not fit the initial data of such a server."""
        return


def find_world(name: str) -> World:
    """Return the world with this name; an unknown name raises `BadInput`."""
    return _instance(registry.find("worlds", name))


def match_world(tools: Sequence[Tool]) -> World | None:
    """Return the first world with these tools, or None."""
    return next((world for world in _all_worlds() if world.matches(tools)), None)


def plan_branches(plan: Case) -> tuple[str, ...]:
    """Return the policy branches that a plan takes; empty if it lists none."""
    own = plan.data.get("plan")
    named = own.get("branches") if isinstance(own, dict) else None
    return tuple(branch for branch in named if isinstance(branch, str)) if isinstance(named, list) else ()


def _all_worlds() -> Iterator[World]:
    yield from map(_instance, registry.built_in("worlds"))
    yield from map(_instance, registry.installed("worlds"))


def _instance(registered: Any) -> World:
    """Return the registered world, which is an instance or a class without arguments."""
    world: World = registered() if isinstance(registered, type) else registered
    return world
