"""What a set of conversations covers: every tool, every parameter of every tool, every branch of the policy; and what it never does."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from callmark.calls.schema import properties
from callmark.synthesis.world import plan_branches
from callmark.types import Case, Conversation, Tool


class Coverage(Struct, frozen=True):
    """How often each tool was called, each of its parameters given, and each branch taken; 0 for what is there and never was."""

    tools: dict[str, int]
    parameters: dict[str, dict[str, int]]
    branches: dict[str, int]

    @property
    def never_called(self) -> list[str]:
        return [name for name, calls in self.tools.items() if not calls]

    @property
    def never_given(self) -> list[str]:
        """Parameters of tools that are called, as `tool.parameter`."""
        return [
            f"{tool}.{name}" for tool, given in self.parameters.items() if self.tools[tool] for name, times in given.items() if not times
        ]

    @property
    def never_taken(self) -> list[str]:
        return [branch for branch, times in self.branches.items() if not times]


def coverage(rows: Sequence[Conversation], plans: Sequence[Case], tools: Sequence[Tool], branches: Sequence[str]) -> Coverage:
    """What these rows, made of these plans, cover of these tools and branches. Tools, parameters and branches that nobody listed are
    counted after those that were; a malformed call is a call that gives nothing.
    """
    called = Counter(call.name for row in rows for call in row.calls)
    given = Counter((call.name, name) for row in rows for call in row.calls for name in call.arguments)
    taken = Counter(branch for plan in plans for branch in dict.fromkeys(plan_branches(plan)))
    listed = {tool.name: list(properties(tool.parameters)) for tool in tools}
    names = dict.fromkeys([*listed, *called])
    return Coverage(
        {name: called[name] for name in names},
        {
            name: {
                parameter: given[name, parameter]
                for parameter in dict.fromkeys([*listed.get(name, ()), *(other for tool, other in given if tool == name)])
            }
            for name in names
        },
        {branch: taken[branch] for branch in dict.fromkeys([*branches, *taken])},
    )
