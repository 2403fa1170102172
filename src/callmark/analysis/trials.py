"""What several trials of each case give: pass@k, pass^k, and how often the outcome is the same every time (docs/metrics.md, 11).

n is the number of scored trials of a case, c how many of them passed; errors are in neither. Of several lines for one case and trial the
last counts. No grades at all give counts of 0 and no k.
"""

from collections import Counter
from collections.abc import Iterable
from math import comb

from msgspec import Struct

from callmark.errors import BadInput
from callmark.grading.grader import Graded
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


def trials(grades: Iterable[Graded], *, passed: str = "call.pass") -> Trials:
    """What these trials give. A trial passes where that metric is 1; a grade that does not have it raises `BadInput`."""
    outcomes: dict[str, dict[int, bool]] = {}
    groups: dict[str, str] = {}
    for grade in grades:
        case = outcomes.setdefault(grade.case, {})
        case.pop(grade.trial, None)
        if grade.error:
            continue
        if passed not in grade.metrics:
            raise BadInput(f"no metric called {passed!r} in the grade of case {grade.case!r}{nearest(passed, grade.metrics)}")
        case[grade.trial] = grade.metrics[passed] == 1
        if grade.group is not None:
            groups[grade.case] = grade.group
    scored = {case: (len(each), sum(each.values())) for case, each in outcomes.items() if each}
    kinds = Counter(scored.values())
    return Trials(
        len(scored),
        len(outcomes) - len(scored),
        [_passes(kinds, k) for k in range(1, max((n for n, _ in kinds), default=0) + 1)],
        _consistency([(n, c) for n, c in scored.values() if n > 1]),
        _consistency(_of_groups(scored, groups)),
    )


class TrialTally:
    """The same, of grades that come one by one, those of one case together, in memory that grows with nothing but groups."""

    def __init__(self, passed: str) -> None:
        self._passed = passed
        self._kinds: Counter[tuple[int, int]] = Counter()
        self._groups: dict[str, tuple[int, int, int]] = {}  # cases, trials, passes
        self._errors = 0
        self._case: str | None = None
        self._group: str | None = None
        self._n = self._c = 0

    def add(self, grade: Graded) -> None:
        """Count one grade, errors too."""
        if grade.case != self._case:
            self._end()
            self._case, self._group = grade.case, grade.group
        if not grade.error and self._passed in grade.metrics:
            self._n += 1
            self._c += grade.metrics[self._passed] == 1

    def trials(self) -> Trials | None:
        """What they give; None where no case was tried twice, and no two are similar."""
        self._end()
        groups = [(n, c) for cases, n, c in self._groups.values() if cases > 1]
        most = max((n for n, _ in self._kinds), default=0)
        if most < 2 and not groups:
            return None
        tried = [(n, c) for (n, c), cases in self._kinds.items() if n > 1 for _ in range(cases)]
        passes = [_passes(self._kinds, k) for k in range(1, most + 1)]
        return Trials(self._kinds.total(), self._errors, passes, _consistency(tried), _consistency(groups))

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


def _of_groups(scored: dict[str, tuple[int, int]], groups: dict[str, str]) -> list[tuple[int, int]]:
    """n and c of each group of two cases or more."""
    members: dict[str, list[tuple[int, int]]] = {}
    for case, group in groups.items():
        if case in scored:
            members.setdefault(group, []).append(scored[case])
    return [(sum(n for n, _ in each), sum(c for _, c in each)) for each in members.values() if len(each) > 1]


def _consistency(outcomes: list[tuple[int, int]]) -> Consistency:
    same = sum(c in (0, n) for n, c in outcomes)
    return Consistency(same, len(outcomes), same / len(outcomes) if outcomes else None)
