"""Two runs, or more against the first: what differs, how sure that is, which cases were fixed and which broken (docs/metrics.md, 11).

Runs are paired on the cases that are scored in both. With trials, a case has the mean over its scored trials. Errors are in none of the
numbers. Of several lines for one case and trial the last counts. Where no case is scored in both, `BadInput` is raised.

A difference is within noise when its p-value is .05 or more. The interval does not decide: where many are looked at together only
p-values are adjusted (Holm), those of a metric over the runs, and those of faults over their kinds as well, as they are looked through for
what differs.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from operator import attrgetter
from statistics import fmean
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from callmark.analysis.breakdowns import NO_CALL
from callmark.analysis.differences import LEVEL, difference, holm, needed, sign_flip
from callmark.analysis.intervals import Clusters
from callmark.errors import BadInput
from callmark.grading.grader import GradeRecord
from callmark.types import FaultKind
from callmark.wording import counted as number_of

_RIGHT = ("call.pass", "process.reliability")


class MetricChange(Struct, frozen=True):
    """A metric's mean in both runs, the difference with its 95 % interval (None where one conversation gives none), its p-value, and
    whether it is within noise.
    """

    before: float
    after: float
    difference: float
    low: float | None
    high: float | None
    p: float
    noise: bool


class ToolChange(Struct, frozen=True):
    """How often a tool was expected, the mean credit of these calls in both runs (1 for a call that is right, 0.5 for other arguments, 0
    for none), and how many of them were fixed and broken.
    """

    tool: str
    n: int
    before: float
    after: float
    fixed: int
    broken: int


class FaultChange(Struct, frozen=True):
    """How often a kind of fault occurred in both runs (with trials: on average over them), the p-value of the difference,
    and whether it is within noise.
    """

    kind: FaultKind
    before: float
    after: float
    p: float
    noise: bool


_Change = TypeVar("_Change", MetricChange, FaultChange)


class Comparison(Struct, frozen=True):
    """A run against another.

    `cases` are scored in both; `only_first` and `only_second` count the cases that the other run does not have, `errors_first` and
    `errors_second` those that both have and that are nothing but errors in this one. A case is right when it passes in every scored trial.
    `needed` is the number of cases at which a difference of .03 of the headline would be seen, None where that cannot be said. Tools stand
    with the most broken first, faults with the greatest change first.
    """

    cases: int
    conversations: int
    only_first: int
    only_second: int
    errors_first: int
    errors_second: int
    headline: str
    metrics: dict[str, MetricChange]
    fixed: list[str]
    broken: list[str]
    both_right: int
    both_wrong: int
    tools: list[ToolChange]
    faults: list[FaultChange]
    needed: int | None


class _Trial(Struct, frozen=True, gc=False):
    """What is kept of a grade: its metrics and their values, the names that were expected, what each of them is credited with, and the
    kinds of faults.
    """

    trial: int
    alternative: int
    metrics: tuple[str, ...]
    values: tuple[float, ...]
    names: tuple[str, ...]
    credits: tuple[float, ...]
    kinds: tuple[FaultKind, ...]


class _Run:
    """The cases of a run by their ids: the scored trials of each, () where all are errors, and the conversation it was cut from."""

    def __init__(self, grades: Iterable[GradeRecord], counted: Collection[str]) -> None:
        self.cases: dict[str, tuple[_Trial, ...]] = {}
        self.conversations: dict[str, str] = {}
        self.metrics: dict[str, None] = {}  # that any of the grades has
        self.shapes: dict[tuple[str, ...], tuple[str, ...]] = {}  # the metrics that grades have together
        evaluators = frozenset(counted)
        trials: dict[_Trial, _Trial] = {}  # most are like another, and then they are kept once
        names: dict[str, str] = {}
        for grade in grades:
            others = tuple([other for other in self.cases.get(grade.case, ()) if other.trial != grade.trial])
            if grade.error:
                self.cases[grade.case] = others
                continue
            shape = tuple(grade.metrics)
            if shape not in self.shapes:
                self.metrics.update(dict.fromkeys(shape))
            trial = _kept(grade, self.shapes.setdefault(shape, shape), evaluators)
            self.cases[grade.case] = (*others, trials.setdefault(trial, trial))
            if grade.conversation is not None:
                self.conversations[grade.case] = names.setdefault(grade.conversation, grade.conversation)


def compare(
    first: Iterable[GradeRecord], second: Iterable[GradeRecord], *, headline: str = "call.score", counted: Collection[str] = ()
) -> Comparison:
    """The second run against the first. With `counted`, only faults that one of these evaluators counts are told."""
    ((_, found),) = compare_all([("the first run", first), ("the second run", second)], headline=headline, counted=counted)
    return found


def compare_all(
    runs: Sequence[tuple[str, Iterable[GradeRecord]]], *, headline: str = "call.score", counted: Collection[str] = ()
) -> list[tuple[str, Comparison]]:
    """Each run against the first, with its name, in their order. Fewer than two raise `BadInput`."""
    if len(runs) < 2:
        raise BadInput(f"there {'is only one run' if runs else 'are no runs'}: two are needed to compare")
    name, grades = runs[0]
    first = _Run(grades, counted)
    found = [_compare(first, _Run(grades, counted), (name, other), headline) for other, grades in runs[1:]]
    return [(other, each) for (other, _), each in zip(runs[1:], _adjusted(found), strict=True)]


def _kept(grade: GradeRecord, metrics: tuple[str, ...], counted: Set[str]) -> _Trial:
    told = [fault for fault in grade.faults if not counted or not counted.isdisjoint(fault.evaluators)]
    earned = {fault.expected_index: 0.5 if fault.argument is not None else 0.0 for fault in told}
    return _Trial(
        grade.trial,
        grade.alternative,
        metrics,
        tuple(grade.metrics.values()),
        grade.expected or (NO_CALL,),
        tuple([earned.get(index, 1.0) for index in range(len(grade.expected))]) or (float(not told),),
        tuple([fault.kind for fault in told]),
    )


class _Pairs:
    """The cases that are scored in both runs, in the order of the first: their ids, their trials in either run, and the place of the
    conversation that each is from.
    """

    def __init__(self, first: _Run, second: _Run) -> None:
        self.runs = (first, second)
        self.ids = [case for case, trials in first.cases.items() if trials and second.cases.get(case)]
        self.trials = [[run.cases[case] for case in self.ids] for run in self.runs]
        places: dict[str, int] = {}
        self.places = [places.setdefault(first.conversations.get(case, f"\0{case}"), len(places)) for case in self.ids]
        self.sizes = Counter(self.places)
        self.metrics = [name for name in first.metrics if name in second.metrics]

    def clusters(self, differences: Iterable[tuple[int, float]], sizes: Mapping[int, int] | None = None) -> Clusters:
        """The conversations, by their sum of these differences, each given with the place of its conversation, and their cases (`sizes`,
        where not all of them count).
        """
        sizes = self.sizes if sizes is None else sizes
        sums = dict.fromkeys(sizes, 0.0)
        for place, each in differences:
            sums[place] += each
        return Counter((round(each, 9), sizes[place]) for place, each in sums.items())

    def values(self, metric: str) -> list[tuple[float, float] | None]:
        """The value of each case in either run: the mean over those of its trials that have the metric; None where a run has none."""
        found = [_means(cases, metric, alike=len(run.shapes) == 1) for cases, run in zip(self.trials, self.runs, strict=True)]
        return [None if before is None or after is None else (before, after) for before, after in zip(*found, strict=True)]

    def right(self, headline: str) -> list[tuple[bool, bool]]:
        """Whether each case is right in either run. Where no metric says so: when it has no fault."""
        metric = next((name for name in (_RIGHT[::-1] if headline == _RIGHT[1] else _RIGHT) if name in self.metrics), None)
        if metric is not None:
            return [(value[0] == 1, value[1] == 1) if value else (False, False) for value in self.values(metric)]
        before, after = ([not any(trial.kinds for trial in trials) for trials in cases] for cases in self.trials)
        return list(zip(before, after, strict=True))


def _compare(first: _Run, second: _Run, names: tuple[str, str], headline: str) -> Comparison:
    """The comparison, its p-values as they are when nothing else is looked at."""
    pairs = _Pairs(first, second)
    only = [len(one.cases.keys() - other.cases.keys()) for one, other in ((first, second), (second, first))]
    shared = first.cases.keys() & second.cases.keys()
    errors = [sum(not run.cases[case] for case in shared) for run in (first, second)]
    if not pairs.ids:
        told = [f"{number_of(count, 'case')} only in {name}" for count, name in zip(only, names, strict=True) if count]
        told += [f"{number_of(count, 'error')} in {name}" for count, name in zip(errors, names, strict=True) if count]
        raise BadInput(
            f"no case is scored in both {names[0]} and {names[1]}: {', '.join(told) or 'they have none'}",
            "Runs are compared on the cases that they share: grade both on the same dataset.",
        )
    if not pairs.metrics:
        raise BadInput(f"{names[0]} and {names[1]} have no metric in common", "Grade both by the same evaluators.")
    measured = ((name, _metric(pairs, name)) for name in pairs.metrics)
    metrics = {name: found for name, found in measured if found is not None}
    right = pairs.right(headline)
    return Comparison(
        cases=len(pairs.ids),
        conversations=len(pairs.sizes),
        only_first=only[0],
        only_second=only[1],
        errors_first=errors[0],
        errors_second=errors[1],
        headline=headline,
        metrics={name: change for name, (change, _) in metrics.items()},
        fixed=[case for case, was in zip(pairs.ids, right, strict=True) if was == (False, True)],
        broken=[case for case, was in zip(pairs.ids, right, strict=True) if was == (True, False)],
        both_right=right.count((True, True)),
        both_wrong=right.count((False, False)),
        tools=_tools(pairs),
        faults=_faults(pairs),
        needed=needed(metrics[headline][1]) if headline in metrics else None,
    )


def _metric(pairs: _Pairs, name: str) -> tuple[MetricChange, Clusters] | None:
    """How a metric changed, on the cases that have it in both runs; None where there is none."""
    values = [(place, *value) for place, value in zip(pairs.places, pairs.values(name), strict=True) if value is not None]
    if not values:
        return None
    sizes = pairs.sizes if len(values) == len(pairs.ids) else Counter(place for place, _, _ in values)
    clusters = pairs.clusters([(place, after - before) for place, before, after in values], sizes)
    found = difference(clusters)
    before, after = (fmean(value[side] for value in values) for side in (1, 2))
    return MetricChange(before, after, found.mean, found.low, found.high, found.p, found.p >= LEVEL), clusters


def _means(cases: Sequence[tuple[_Trial, ...]], metric: str, *, alike: bool) -> Sequence[float | None]:
    """The mean of each case over those of its trials that have the metric; `alike` says that all have the same metrics."""
    if alike and cases:
        index = cases[0][0].metrics.index(metric)
        return [sum([trial.values[index] for trial in trials]) / len(trials) for trials in cases]
    having = [[trial.values[trial.metrics.index(metric)] for trial in trials if metric in trial.metrics] for trials in cases]
    return [sum(values) / len(values) if values else None for values in having]


def _tools(pairs: _Pairs) -> list[ToolChange]:
    """By the names that were expected. Where different right answers were taken, a case counts under the earliest of them."""
    tools: dict[str, list[float]] = {}
    for trials, others in zip(*pairs.trials, strict=True):
        names = min((*trials, *others), key=attrgetter("alternative")).names
        for name, before, after in zip(names, _credits(trials, names), _credits(others, names), strict=True):
            sums = tools.setdefault(name, [0, 0.0, 0.0, 0, 0])
            for index, each in enumerate((1, before, after, before < 1 <= after, after < 1 <= before)):
                sums[index] += each
    found = [
        ToolChange(name, int(n), before / n, after / n, int(fixed), int(broken))
        for name, (n, before, after, fixed, broken) in tools.items()
    ]
    return sorted(found, key=lambda tool: (-tool.broken, tool.fixed, -tool.n, tool.tool))


def _credits(trials: tuple[_Trial, ...], names: tuple[str, ...]) -> list[float]:
    """What each of these calls is credited with, the mean over trials; a trial that took another right answer gives each its mean."""
    each = [trial.credits if trial.names == names else (fmean(trial.credits),) * len(names) for trial in trials]
    return [sum(call) / len(trials) for call in zip(*each, strict=True)]


def _faults(pairs: _Pairs) -> list[FaultChange]:
    """The kinds that occur in either run."""
    counts: dict[FaultKind, list[float]] = {}
    differences: dict[FaultKind, list[tuple[int, float]]] = defaultdict(list)
    for side, cases in enumerate(pairs.trials):
        for place, trials in zip(pairs.places, cases, strict=True):
            share = 1 / len(trials)
            for kind in [kind for trial in trials for kind in trial.kinds]:
                counts.setdefault(kind, [0.0, 0.0])[side] += share
                differences[kind].append((place, share if side else -share))
    found = []
    for kind, (before, after) in counts.items():
        p = sign_flip(pairs.clusters(differences[kind]))
        found.append(FaultChange(kind, round(before, 9), round(after, 9), p, p >= LEVEL))
    return sorted(found, key=lambda fault: (-abs(fault.after - fault.before), fault.kind))


def _adjusted(found: list[Comparison]) -> list[Comparison]:
    """The comparisons with p-values as they are when all are looked at together."""
    names = dict.fromkeys(name for one in found for name in one.metrics)
    metrics = {name: iter(holm([one.metrics[name].p for one in found if name in one.metrics])) for name in names}
    faults = iter(holm([fault.p for one in found for fault in one.faults]))
    return [
        replace(
            one,
            metrics={name: _with_p(change, next(metrics[name])) for name, change in one.metrics.items()},
            faults=[_with_p(fault, next(faults)) for fault in one.faults],
        )
        for one in found
    ]


def _with_p(change: _Change, p: float) -> _Change:
    return replace(change, p=p, noise=p >= LEVEL)
