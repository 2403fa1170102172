"""What several trials of each case give: pass@k, pass^k, and how often the outcome is the same every time (docs/metrics.md, 11).

n is the number of scored trials of a case, c how many of them passed; errors are in neither. Of several lines for one case and trial the
last counts. No grades at all give counts of 0 and no k.
"""

from collections import Counter
from collections.abc import Iterable
from math import comb

from msgspec import Struct

from callmark.errors import BadInput
from callmark.grading.grader import GradeRecord
from callmark.wording import nearest


class Passes(Struct, frozen=True):
    """Of k trials, how likely at least one passes (pass@k) and how likely all do (pass^k): the mean over the cases that have as many
    trials, and how many do not and are left out.
    """

    k: int
    any: float
    every: float
    cases: int
    left_out: int


class Consistency(Struct, frozen=True):
    """How many have the same outcome every time, of how many; the share is None where there are none."""

    same: int
    n: int
    share: float | None


class Trials(Struct, frozen=True):
    """What the trials give. `cases` have at least one scored trial, `errors` are cases that have none.

    `passes` has an entry for each k from 1 to the most trials that a case has. `over_trials` is of the cases with two trials or more,
    `over_groups` of the groups (`group`) with two cases or more, all their trials together.
    """

    cases: int
    errors: int
    passes: list[Passes]
    over_trials: Consistency
    over_groups: Consistency


def trials(grades: Iterable[GradeRecord], *, passed: str = "call.pass") -> Trials:
    """What these trials give, in any order. A trial passes where that metric is 1; a grade that does not have it raises `BadInput`."""
    cases: dict[str, dict[int, GradeRecord]] = {}
    for grade in grades:
        if not grade.error and passed not in grade.metrics:
            raise BadInput(f"no metric called {passed!r} in the grade of case {grade.case!r}{nearest(passed, grade.metrics)}")
        cases.setdefault(grade.case, {})[grade.trial] = grade
    tally = TrialTally(passed)
    for case in cases.values():
        for grade in case.values():
            tally.add(grade)
    return tally.trials()


class TrialTally:
    """The same, of grades that come one by one, those of one case together and none twice, in memory that grows with nothing but groups.
    A grade without the metric is no trial.
    """

    def __init__(self, passed: str) -> None:
        self._passed = passed
        self._kinds: Counter[tuple[int, int]] = Counter()  # n and c of a case
        self._groups: dict[str, tuple[int, int, int]] = {}  # cases, trials, passes
        self._errors = 0
        self._case: str | None = None
        self._group: str | None = None
        self._n = self._c = 0

    def add(self, grade: GradeRecord) -> None:
        """Count one grade, errors too."""
        if grade.case != self._case:
            self._end()
            self._case, self._group = grade.case, grade.group
        if not grade.error and self._passed in grade.metrics:
            self._n += 1
            self._c += grade.metrics[self._passed] == 1

    def trials(self) -> Trials:
        """What they give."""
        self._end()
        most = max((n for n, _ in self._kinds), default=0)
        return Trials(
            self._kinds.total(),
            self._errors,
            [_passes(self._kinds, k) for k in range(1, most + 1)],
            _consistency(Counter({(n, c): cases for (n, c), cases in self._kinds.items() if n > 1})),
            _consistency(Counter((n, c) for cases, n, c in self._groups.values() if cases > 1)),
        )

    def _end(self) -> None:
        if self._case is None:
            return
        if not self._n:
            self._errors += 1
        else:
            self._kinds[self._n, self._c] += 1
            if self._group is not None:
                cases, n, c = self._groups.get(self._group, (0, 0, 0))
                self._groups[self._group] = (cases + 1, n + self._n, c + self._c)
        self._case = None
        self._n = self._c = 0


def _passes(kinds: Counter[tuple[int, int]], k: int) -> Passes:
    enough = {(n, c): cases for (n, c), cases in kinds.items() if n >= k}
    number = sum(enough.values())
    some = sum(cases * (1 - comb(n - c, k) / comb(n, k)) for (n, c), cases in enough.items())
    every = sum(cases * comb(c, k) / comb(n, k) for (n, c), cases in enough.items())
    return Passes(k, some / number, every / number, number, kinds.total() - number)


def _consistency(kinds: Counter[tuple[int, int]]) -> Consistency:
    same = sum(times for (n, c), times in kinds.items() if c in (0, n))
    return Consistency(same, kinds.total(), same / kinds.total() if kinds else None)
