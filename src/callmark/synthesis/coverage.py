"""Coverage of a set of conversations: how often each tool is called, each parameter given and each policy branch taken."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from callmark.calls.schema import properties
from callmark.synthesis.world import plan_branches
from callmark.types import Case, Conversation, Tool


class Coverage(Struct, frozen=True):
    """How often each tool is called, each of its parameters given, and each branch taken; 0 if never."""

    tools: dict[str, int]
    parameters: dict[str, dict[str, int]]
    branches: dict[str, int]

    @property
    def never_called(self) -> list[str]:
        """Return the tools that are never called."""
        return [name for name, calls in self.tools.items() if not calls]

    @property
    def never_given(self) -> list[str]:
        """Return the parameters of called tools that are never given, as `tool.parameter`."""
        return [
            f"{tool}.{name}"
            for tool, argument_counts in self.parameters.items()
            if self.tools[tool]
            for name, count in argument_counts.items()
            if not count
        ]

    @property
    def never_taken(self) -> list[str]:
        """Return the branches that are never taken."""
        return [branch for branch, count in self.branches.items() if not count]


def coverage(rows: Sequence[Conversation], plans: Sequence[Case], tools: Sequence[Tool], branches: Sequence[str]) -> Coverage:
    """Return how well the rows and plans cover the tools and branches.

    Tools, parameters and branches without a definition come after the defined ones; a malformed call gives no parameter.
    """
    call_counts = Counter(call.name for row in rows for call in row.calls)
    argument_counts = Counter((call.name, name) for row in rows for call in row.calls for name in call.arguments)
    branch_counts = Counter(branch for plan in plans for branch in dict.fromkeys(plan_branches(plan)))
    defined = {tool.name: list(properties(tool.parameters)) for tool in tools}
    names = dict.fromkeys([*defined, *call_counts])
    return Coverage(
        {name: call_counts[name] for name in names},
        {
            name: {
                parameter: argument_counts[name, parameter]
                for parameter in dict.fromkeys([*defined.get(name, ()), *(given for tool, given in argument_counts if tool == name)])
            }
            for name in names
        },
        {branch: branch_counts[branch] for branch in dict.fromkeys([*branches, *branch_counts])},
    )
