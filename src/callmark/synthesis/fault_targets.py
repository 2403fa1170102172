"""What failed in runs, as targets for synthesis: the tools and arguments that were wrong, and the policy branches of the failed plans.

Faults that name no expected call (extra calls, a call where none was expected) give no target: a conversation cannot be planned for them.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.runs.grade import reopen_cases
from callmark.runs.run import Run
from callmark.synthesis.world import plan_branches
from callmark.types import Case

_STEP = (".", "[")


class FaultTarget(Struct, frozen=True):
    """A tool, and the argument that was wrong; an empty argument means the call as a whole.

    Attributes:
        tool: Name of the tool.
        argument: Name of the argument, without the path inside it.
        faults: How often it was wrong.
        branches: Policy branches that only failed plans take; empty if they are not known.
    """

    tool: str
    argument: str
    faults: int
    branches: frozenset[str] = frozenset()

    def is_hit(self, plan: Case) -> bool:
        """Return whether a plan expects a call of the tool with the argument, and takes one of the branches if any are known."""
        if self.branches and self.branches.isdisjoint(plan_branches(plan)):
            return False
        return any(call.name == self.tool and (not self.argument or self.argument in call.arguments) for call in plan.expected)

    def __str__(self) -> str:
        return f"{self.tool}.{self.argument}" if self.argument else self.tool


def fault_targets(runs: Sequence[Run]) -> list[FaultTarget]:
    """Return what failed in the runs, the most frequent first. Runs without such faults raise `BadInput`."""
    counts: Counter[tuple[str, str]] = Counter()
    failed: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for grade in run.grades():
            for fault in grade.faults:
                if fault.expected_index is not None and (tool := grade.expected[fault.expected_index]):
                    target = (tool, _root(fault.argument or ""))
                    counts[target] += 1
                    failed.setdefault(target, set()).add(grade.case)
    if not counts:
        names = ", ".join(scrub(str(run.folder)) for run in runs)
        raise BadInput(f"{names}: no call failed, so there is nothing to synthesize from")
    branches = _branches(runs)
    return [
        FaultTarget(tool, argument, count, _special(branches, failed[tool, argument])) for (tool, argument), count in counts.most_common()
    ]


def _root(path: str) -> str:
    """Return the argument of a path such as `items[0].id`."""
    ends = [path.index(step) for step in _STEP if step in path]
    return path[: min(ends)] if ends else path


def _branches(runs: Sequence[Run]) -> dict[str, frozenset[str]]:
    """Return the branches of the plans of scenarios, by case; empty for decision points."""
    found: dict[str, frozenset[str]] = {}
    for run in runs:
        if run.scenarios:
            with reopen_cases(run.folder, run.info) as source:
                found |= {placed.case.id: frozenset(plan_branches(placed.case)) for placed in source.read()}
    return {case: branches for case, branches in found.items() if branches}


def _special(branches: dict[str, frozenset[str]], failed: set[str]) -> frozenset[str]:
    """Return the branches of failed plans that no other plan takes."""
    taken = frozenset[str]().union(*(branches.get(case, frozenset()) for case in failed))
    others = frozenset[str]().union(*(found for case, found in branches.items() if case not in failed))
    return taken - others
