"""Where evaluators disagree: predictions that pass for one evaluator and fail for another, grouped by reason.

An evaluator's verdict is its first headline rate (`call.pass`, `process.reliability`, `decision.correct`, …), else its last rate
(`schema.execution_success`, which includes the ones before it). Evaluators without a rate have no verdict. A group is what passes, what
fails, and the kinds of faults that only failing evaluators count; if there are none, those that failing evaluators count at all. With fewer
than two verdicts, and without grades, there are no groups.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from callmark.calls.values import similar
from callmark.grading.evaluator import Metric
from callmark.grading.record import GradeRecord
from callmark.types import Fault

MAX_EXAMPLES = 5  # cases of a group
MAX_GROUPS = 1000  # a hostile run may have any number; further ones are not listed
NO_FAULT = "no fault in the calls"
OTHER_SPELLING = "differs only in spelling (similar)"


class Disagreement(Struct, frozen=True):
    """Predictions on which evaluators disagree for the same reason.

    Attributes:
        passes: Full names of the metrics by which they pass.
        fails: Full names of the metrics by which they fail.
        reasons: The kinds of faults that explain it, in words.
        count: Number of predictions.
        cases: Ids of the first cases.
    """

    passes: tuple[str, ...]
    fails: tuple[str, ...]
    reasons: tuple[str, ...]
    count: int
    cases: list[str]

    @property
    def sentence(self) -> str:
        """The group in words: `process.reliability passes, call.pass fails: wrong value, differs only in spelling (similar)`."""
        passes, fails = (
            f"{' and '.join(names)} {verb}{'es' if verb == 'pass' and len(names) == 1 else 's' if len(names) == 1 else ''}"
            for names, verb in ((self.passes, "pass"), (self.fails, "fail"))
        )
        return f"{passes}, {fails}: {' · '.join(self.reasons)}"


_Key = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # passes, fails, reasons


class _Group:
    """The predictions of one group: how many, and the first cases, in order."""

    __slots__ = ("cases", "count")

    def __init__(self) -> None:
        self.count = 0
        self.cases: dict[str, None] = {}


class DisagreementTally:
    """Counts grades one by one, by the definitions of their metrics."""

    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self._verdicts = verdict_metrics(metrics)
        self._groups: dict[_Key, _Group] = {}

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; errors have no verdict."""
        values = [grade.metrics.get(name) for name in self._verdicts]
        if len(set(values) - {None}) < 2:  # as for most grades
            return
        passes: list[str] = []
        fails: list[str] = []
        for name, value in zip(self._verdicts, values, strict=True):
            if value is not None:
                (passes if value == 1 else fails).append(name)
        if not passes or not fails:
            return
        key = tuple(passes), tuple(fails), _reasons(grade, passes, fails)
        if key not in self._groups and len(self._groups) >= MAX_GROUPS:
            return
        group = self._groups.setdefault(key, _Group())
        group.count += 1
        if len(group.cases) < MAX_EXAMPLES:
            group.cases[grade.case] = None

    def disagreements(self) -> list[Disagreement]:
        """Return the groups so far, the largest first."""
        groups = [Disagreement(*key, group.count, list(group.cases)) for key, group in self._groups.items()]
        return sorted(groups, key=lambda group: (-group.count, group.fails, group.passes, group.reasons))


def verdict_metrics(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """Return the metric that is the verdict of each evaluator, by full name; nothing for an evaluator without a rate."""
    rates: dict[str, list[str]] = {}
    for name, metric in metrics.items():
        if metric.kind == "rate" and metric.higher_is_better:
            rates.setdefault(name.partition(".")[0], []).append(name)
    return tuple([next((name for name in names if metrics[name].headline), names[-1]) for names in rates.values()])


def _reasons(grade: GradeRecord, passes: Sequence[str], fails: Sequence[str]) -> tuple[str, ...]:
    passing, failing = ({name.partition(".")[0] for name in names} for names in (passes, fails))
    counted = [fault for fault in grade.faults if not failing.isdisjoint(fault.evaluators)]
    telling = [fault for fault in counted if passing.isdisjoint(fault.evaluators)]
    return tuple(sorted({_reason(fault) for fault in telling or counted})) or (NO_FAULT,)


def _reason(fault: Fault) -> str:
    kind = fault.kind.replace("_", " ")
    only_spelling = fault.kind == "wrong_value" and similar(fault.expected, fault.actual)
    return f"{kind}, {OTHER_SPELLING}" if only_spelling else kind
