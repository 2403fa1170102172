"""Several trials of each case: pass@k, pass^k, and how often the outcome is the same every time (docs/reference/metrics.md, section 11).

n is the number of scored trials of a case, c the number of those that passed; errors are excluded. Of several grades of one case and trial,
the last counts. Without grades, counts are 0 and there is no k.
"""

from collections import Counter
from collections.abc import Iterable
from math import comb

from msgspec import Struct

from callmark.errors import BadInput
from callmark.grading.record import GradeRecord
from callmark.wording import did_you_mean


class PassRate(Struct, frozen=True):
    """The probability that at least one of k trials passes (`any`, pass@k) and that all of them pass (`every`, pass^k).

    Means over the `cases` with at least k trials; `excluded` counts the others.
    """

    k: int
    any: float
    every: float
    cases: int
    excluded: int


class Consistency(Struct, frozen=True):
    """How many of n have the same outcome every time; `share` is None if n is 0."""

    same: int
    n: int
    share: float | None


class TrialSummary(Struct, frozen=True):
    """The trials of a run. `cases` have at least one scored trial, `errors` are cases that have none.

    `pass_rates` has an entry for each k from 1 to the largest number of trials of a case. `trial_consistency` is over the cases with two
    trials or more, `group_consistency` over the groups with two cases or more, all their trials together.
    """

    cases: int
    errors: int
    pass_rates: list[PassRate]
    trial_consistency: Consistency
    group_consistency: Consistency


def summarize_trials(grades: Iterable[GradeRecord], *, metric: str = "call.pass") -> TrialSummary:
    """Return the summary of trials in any order. A trial passes if the metric is 1; a grade without the metric raises `BadInput`."""
    cases: dict[str, dict[int, GradeRecord]] = {}
    for grade in grades:
        if not grade.error and metric not in grade.metrics:
            raise BadInput(f"unknown metric {metric!r} in the grade of case {grade.case!r}{did_you_mean(metric, grade.metrics)}")
        cases.setdefault(grade.case, {})[grade.trial] = grade
    tally = TrialTally(metric)
    for case in cases.values():
        for grade in case.values():
            tally.add(grade)
    return tally.trials()


class TrialTally:
    """Counts grades one by one, in memory that grows only with the number of groups.

    The grades of a case are consecutive, and no trial comes twice. A grade without the metric is not counted as a trial.
    """

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._outcomes: Counter[tuple[int, int]] = Counter()  # n and c of a case
        self._groups: dict[str, tuple[int, int, int]] = {}  # cases, trials, passes
        self._errors = 0
        self._case: str | None = None
        self._group: str | None = None
        self._n = self._c = 0

    def add(self, grade: GradeRecord) -> None:
        """Count one grade, errors too."""
        if grade.case != self._case:
            self._finish_case()
            self._case, self._group = grade.case, grade.group
        if not grade.error and self._metric in grade.metrics:
            self._n += 1
            self._c += grade.metrics[self._metric] == 1

    def trials(self) -> TrialSummary:
        """Return the summary so far."""
        self._finish_case()
        most = max((n for n, _ in self._outcomes), default=0)
        return TrialSummary(
            self._outcomes.total(),
            self._errors,
            [_pass_rate(self._outcomes, k) for k in range(1, most + 1)],
            _consistency(Counter({(n, c): cases for (n, c), cases in self._outcomes.items() if n > 1})),
            _consistency(Counter((n, c) for cases, n, c in self._groups.values() if cases > 1)),
        )

    def _finish_case(self) -> None:
        if self._case is None:
            return
        if not self._n:
            self._errors += 1
        else:
            self._outcomes[self._n, self._c] += 1
            if self._group is not None:
                cases, n, c = self._groups.get(self._group, (0, 0, 0))
                self._groups[self._group] = (cases + 1, n + self._n, c + self._c)
        self._case = None
        self._n = self._c = 0


def _pass_rate(outcomes: Counter[tuple[int, int]], k: int) -> PassRate:
    enough = {(n, c): cases for (n, c), cases in outcomes.items() if n >= k}
    number = sum(enough.values())
    some = sum(cases * (1 - comb(n - c, k) / comb(n, k)) for (n, c), cases in enough.items())
    every = sum(cases * comb(c, k) / comb(n, k) for (n, c), cases in enough.items())
    return PassRate(k, some / number, every / number, number, outcomes.total() - number)


def _consistency(outcomes: Counter[tuple[int, int]]) -> Consistency:
    same = sum(times for (n, c), times in outcomes.items() if c in (0, n))
    return Consistency(same, outcomes.total(), same / outcomes.total() if outcomes else None)
