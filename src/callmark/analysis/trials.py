"""Several trials of each case: pass@k, pass^k, and how often the outcome is the same every time (docs/reference/metrics.md, section 11).

n is the number of scored trials of a case, c the number of those that passed; errors are excluded. Of several grades of one case and trial,
the last counts. Without grades, counts are 0 and there is no k.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb

from msgspec import Struct

from callmark.analysis.clusters import Cluster, ClusterTally
from callmark.analysis.intervals import Clusters, Interval, mean_interval
from callmark.errors import BadInput
from callmark.grading.record import GradeRecord
from callmark.wording import did_you_mean

Outcomes = Mapping[tuple[int, int], int]  # n and c of a case: how many cases have these


class PassRate(Struct, frozen=True):
    """The probability that at least one of k trials passes (`any`, pass@k) and that all of them pass (`every`, pass^k).

    Means over the `cases` with at least k trials, each with its 95% interval over conversations (None with too few of them); `excluded`
    counts the other cases.
    """

    k: int
    any: float
    every: float
    cases: int
    excluded: int
    any_interval: Interval | None = None
    every_interval: Interval | None = None


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
    """Counts grades one by one, in memory that grows only with the number of conversations and groups.

    The grades of a case are consecutive, and no trial comes twice. A grade without the metric is not counted as a trial.
    """

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._outcomes: Counter[tuple[int, int]] = Counter()  # n and c of a case
        self._conversations = ClusterTally()  # how many cases of a conversation have each n and c
        self._conversation = ""
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
            self._conversation = grade.conversation if grade.conversation is not None else f"\0{grade.case}"
        if not grade.error and self._metric in grade.metrics:
            self._n += 1
            self._c += grade.metrics[self._metric] == 1

    def trials(self) -> TrialSummary:
        """Return the summary so far."""
        self._finish_case()
        most = max((n for n, _ in self._outcomes), default=0)
        conversations = _read_conversations(self._conversations.clusters())
        return TrialSummary(
            self._outcomes.total(),
            self._errors,
            [_pass_rate(self._outcomes, conversations, k) for k in range(1, most + 1)],
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
            self._conversations.add(self._conversation, (f"{self._n} {self._c}",), (1.0,))
            if self._group is not None:
                cases, n, c = self._groups.get(self._group, (0, 0, 0))
                self._groups[self._group] = (cases + 1, n + self._n, c + self._c)
        self._case = None
        self._n = self._c = 0


def _read_conversations(clusters: Mapping[Cluster, int]) -> list[tuple[Outcomes, int]]:
    """Return the outcomes of the cases of a conversation, with the number of conversations that have these."""
    return [({_read_outcome(names[0]): int(cases) for names, (cases,) in cluster}, times) for cluster, times in clusters.items()]


def _read_outcome(name: str) -> tuple[int, int]:
    n, c = name.split()
    return int(n), int(c)


def _pass_rate(outcomes: Outcomes, conversations: Sequence[tuple[Outcomes, int]], k: int) -> PassRate:
    number = sum(cases for (n, _), cases in outcomes.items() if n >= k)
    some, every = (
        sum(chance(n, c, k) * cases for (n, c), cases in outcomes.items() if n >= k) / number
        for chance in (_chance_of_any, _chance_of_every)
    )
    intervals = (mean_interval(_clusters(conversations, chance, k)) for chance in (_chance_of_any, _chance_of_every))
    return PassRate(k, some, every, number, sum(outcomes.values()) - number, *intervals)


def _clusters(conversations: Iterable[tuple[Outcomes, int]], chance: Callable[[int, int, int], float], k: int) -> Clusters:
    """Return the chances of the cases with at least k trials, by conversation."""
    clusters: Counter[tuple[float, int]] = Counter()
    for cases, times in conversations:
        enough = [(chance(n, c, k), count) for (n, c), count in cases.items() if n >= k]
        if enough:
            clusters[round(sum(value * count for value, count in enough), 9), sum(count for _, count in enough)] += times
    return clusters


def _chance_of_any(n: int, c: int, k: int) -> float:
    return 1 - comb(n - c, k) / comb(n, k)


def _chance_of_every(n: int, c: int, k: int) -> float:
    return comb(c, k) / comb(n, k)


def _consistency(outcomes: Counter[tuple[int, int]]) -> Consistency:
    same = sum(times for (n, c), times in outcomes.items() if c in (0, n))
    return Consistency(same, outcomes.total(), same / outcomes.total() if outcomes else None)
