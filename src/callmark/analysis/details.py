"""A run in detail: by tool, by kind of scenario, by position, by length of the prompt; which tool was called instead; how each
function and each argument fares; how scores are spread; and what all that says in words.

It takes about as long as reading the grades, so it is worked out where someone asks for it. No grades give empty tables.
"""

from collections.abc import Collection, Mapping

from msgspec import Struct

from callmark.analysis.breakdowns import Breakdowns, BreakdownTally, Distribution, ScoreTally
from callmark.analysis.confusion import Confusion, ConfusionTally
from callmark.analysis.functions import FunctionTable, FunctionTally
from callmark.analysis.readings import Reading, readings
from callmark.analysis.trials import Trials, TrialTally
from callmark.grading.evaluators.process import IGNORED
from callmark.grading.grader import GradeRecord


class Details(Struct, frozen=True):
    """Every table adds up to the scored cases; errors are in none of them. `trials` is None where no case was tried twice, and no two are
    similar.
    """

    parts: Breakdowns
    scores: Distribution | None
    confusion: Confusion
    functions: FunctionTable
    readings: list[Reading]
    trials: Trials | None = None
    recorded: Trials | None = None  # the same, by the reward that was recorded


class DetailTally:
    """Takes the grades one by one, errors too. A case has passed where the evaluator `call` says so; of scenarios, where `process` does, whose
    list of functions to leave out is `ignore`.
    """

    def __init__(self, *, counted: Collection[str] = (), ignore: tuple[str, ...] = IGNORED) -> None:
        self._parts = BreakdownTally()
        self._scores = ScoreTally()
        self._confusion = ConfusionTally(counted=counted, ignore=ignore)
        self._functions = FunctionTally(counted=counted, ignore=ignore)
        self._trials = TrialTally("process.reliability" if set(counted) == {"process"} else "call.pass")
        self._recorded = TrialTally("recorded.reward")

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; an error is in nothing but the count of cases that have no trial."""
        self._trials.add(grade)
        self._recorded.add(grade)
        if grade.error:
            return
        self._parts.add(grade)
        self._scores.add(grade)
        self._confusion.add(grade)
        self._functions.add(grade)

    def details(self, means: Mapping[str, float], *, graded: int, errors: int, malformed: int) -> Details:
        """What the grades come to; the means of all metrics, and of how many answers how many could not be read, are for the words."""
        parts, table = self._parts.breakdowns(), self._functions.table()
        said = readings(
            means, scenario_types=parts.by_scenario_type, functions=table, graded=graded, errors=errors, malformed=malformed
        )  # fmt: skip
        tried, recorded = (
            found if found.over_trials.n or found.over_groups.n else None for found in (self._trials.trials(), self._recorded.trials())
        )
        return Details(parts, self._scores.distribution(), self._confusion.confusion(), table, said, tried, recorded)
