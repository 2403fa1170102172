"""Compare runs with the first: differences, their significance, fixed and broken cases (docs/reference/metrics.md, section 11).

Runs are paired on the cases that are scored in both. With trials, a case has the mean over its scored trials. Errors are excluded. Of
several grades of one case and trial, the last counts. If no case is scored in both, `BadInput` is raised.

A difference is beyond noise if its p-value is below .05 and 0 is outside its interval; a difference in the number of faults, if its p-value
is below .05. For multiple comparisons, p-values are adjusted (Holm): those of a metric over the runs, those of faults over runs and kinds.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from callmark.analysis.breakdowns import NO_CALL
from callmark.analysis.differences import cases_needed, difference, holm_adjust, is_beyond_noise, sign_flip_test
from callmark.analysis.intervals import LEVEL, Clusters
from callmark.analysis.summary import is_scored
from callmark.errors import BadInput
from callmark.grading.evaluator import UNIT, Metric
from callmark.grading.record import GradeRecord
from callmark.types import FaultKind
from callmark.wording import pluralize

_PASS_METRICS = ("call.pass", "process.reliability")


class MetricChange(Struct, frozen=True):
    """A metric's mean in both runs, the difference with its 95% interval (None with too few conversations), and its p-value.

    `differing` is the number of conversations that differ. `heuristic` is True if the metric is a heuristic.
    """

    before: float
    after: float
    difference: float
    low: float | None
    high: float | None
    p: float
    within_noise: bool
    differing: int
    heuristic: bool = False


class ToolChange(Struct, frozen=True):
    """How often a tool was expected, the mean credit of these calls in both runs, and how many of them were fixed and broken.

    The credit is 1 for a correct call, 0.5 for other arguments, 0 for none.
    """

    tool: str
    n: int
    before: float
    after: float
    fixed: int
    broken: int


class FaultChange(Struct, frozen=True):
    """How often a kind of fault occurred in both runs (with trials: on average over them), and the p-value of the difference."""

    kind: FaultKind
    before: float
    after: float
    p: float
    within_noise: bool


class Comparison(Struct, frozen=True):
    """A run compared with another.

    `cases` are scored in both; `only_first` and `only_second` count the cases that the other run lacks, `errors_first` and
    `errors_second` the cases of both runs in which every trial of that run is an error. A case is correct if it passes in every scored
    trial. `cases_needed` is the number of cases that detecting a difference of .03 in the headline needs, None if it is unknown. Tools
    are sorted by broken calls, faults by the size of the change.
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
    both_correct: int
    both_wrong: int
    tools: list[ToolChange]
    faults: list[FaultChange]
    cases_needed: int | None


class _Trial(Struct, frozen=True, gc=False):
    """The parts of a grade that a comparison needs: metrics and values, the expected names, the credit of each, the kinds of faults."""

    trial: int
    alternative: int
    metrics: tuple[str, ...]
    values: tuple[float, ...]
    names: tuple[str, ...]
    credits: tuple[float, ...]
    kinds: tuple[FaultKind, ...]


class _RunCases:
    """The cases of a run by id: the scored trials of each, () if all are errors, and the conversation it was cut from."""

    def __init__(self, grades: Iterable[GradeRecord]) -> None:
        self.cases: dict[str, tuple[_Trial, ...]] = {}
        self.conversations: dict[str, str] = {}
        self.metrics: dict[str, None] = {}  # that any grade has
        self.metric_sets: dict[tuple[str, ...], tuple[str, ...]] = {}  # the sets of metrics that grades have
        trials: dict[_Trial, _Trial] = {}  # many are equal, and are stored once
        names: dict[str, str] = {}
        for grade in grades:
            other_trials = tuple([other for other in self.cases.get(grade.case, ()) if other.trial != grade.trial])
            if not is_scored(grade):
                self.cases[grade.case] = other_trials
                continue
            metrics = tuple(grade.metrics)
            if metrics not in self.metric_sets:
                self.metrics.update(dict.fromkeys(metrics))
            trial = _read_trial(grade, self.metric_sets.setdefault(metrics, metrics))
            self.cases[grade.case] = (*other_trials, trials.setdefault(trial, trial))
            if grade.conversation is not None:
                self.conversations[grade.case] = names.setdefault(grade.conversation, grade.conversation)


def compare_all(
    runs: Sequence[tuple[str, Iterable[GradeRecord]]],
    *,
    headline: str = "call.score",
    definitions: Mapping[str, Metric] | None = None,
) -> list[tuple[str, Comparison]]:
    """Compare each run, given as a name and its grades, with the first; return names and comparisons in order.

    `definitions` are the definitions of the metrics; a metric without one is limited to 0 to 1. Fewer than two
    runs raise `BadInput`.
    """
    if len(runs) < 2:
        raise BadInput(f"expected at least two runs to compare, got {len(runs)}")
    name, grades = runs[0]
    first = _RunCases(grades)
    comparisons = [_compare(first, _RunCases(grades), (name, other), headline, definitions or {}) for other, grades in runs[1:]]
    return [(other, each) for (other, _), each in zip(runs[1:], _adjust_p_values(comparisons), strict=True)]


def _read_trial(grade: GradeRecord, metrics: tuple[str, ...]) -> _Trial:
    credit = {fault.expected_index: 0.5 if fault.argument is not None else 0.0 for fault in grade.faults}
    return _Trial(
        grade.trial,
        grade.alternative,
        metrics,
        tuple(grade.metrics.values()),
        grade.expected or (NO_CALL,),
        tuple([credit.get(index, 1.0) for index in range(len(grade.expected))]) or (float(not grade.faults),),
        tuple([fault.kind for fault in grade.faults]),
    )


class _PairedCases:
    """The cases that are scored in both runs, in the order of the first.

    Their ids, their trials in each run, and the index of the conversation that each is from.
    """

    def __init__(self, first: _RunCases, second: _RunCases) -> None:
        self.runs = (first, second)
        self.ids = [case for case, trials in first.cases.items() if trials and second.cases.get(case)]
        self.trials = [[run.cases[case] for case in self.ids] for run in self.runs]
        indexes: dict[str, int] = {}
        self.conversations = [indexes.setdefault(first.conversations.get(case, f"\0{case}"), len(indexes)) for case in self.ids]
        self.sizes = Counter(self.conversations)
        self.metrics = [name for name in first.metrics if name in second.metrics]

    def clusters(self, differences: Iterable[tuple[int, float]], sizes: Mapping[int, int] | None = None) -> Clusters:
        """Return the conversations by their sum of differences and their number of cases.

        `differences` come with the index of their conversation; `sizes` are the numbers of cases, if not all of them count.
        """
        sizes = self.sizes if sizes is None else sizes
        sums = dict.fromkeys(sizes, 0.0)
        for conversation, each in differences:
            sums[conversation] += each
        return Counter((round(total, 9), sizes[conversation]) for conversation, total in sums.items())

    def values(self, metric: str) -> list[tuple[float, float] | None]:
        """Return the value of each case in both runs: the mean over its trials that have the metric; None if a run has none."""
        means = [_means(cases, metric, same_metrics=len(run.metric_sets) == 1) for cases, run in zip(self.trials, self.runs, strict=True)]
        return [None if before is None or after is None else (before, after) for before, after in zip(*means, strict=True)]

    def correct(self, headline: str) -> list[tuple[bool, bool]]:
        """Return whether each case is correct in each run: by a pass metric, or without one, if it has no fault."""
        candidates = _PASS_METRICS[::-1] if headline == _PASS_METRICS[1] else _PASS_METRICS
        metric = next((name for name in candidates if name in self.metrics), None)
        if metric is not None:
            return [(value[0] == 1, value[1] == 1) if value else (False, False) for value in self.values(metric)]
        before, after = ([not any(trial.kinds for trial in trials) for trials in cases] for cases in self.trials)
        return list(zip(before, after, strict=True))


def _compare(first: _RunCases, second: _RunCases, names: tuple[str, str], headline: str, definitions: Mapping[str, Metric]) -> Comparison:
    """Compare two runs; p-values are not adjusted."""
    pairs = _PairedCases(first, second)
    only = [len(one.cases.keys() - other.cases.keys()) for one, other in ((first, second), (second, first))]
    shared = first.cases.keys() & second.cases.keys()
    errors = [sum(not run.cases[case] for case in shared) for run in (first, second)]
    if not pairs.ids:
        reasons = [f"{pluralize(count, 'case')} only in {name}" for count, name in zip(only, names, strict=True) if count]
        reasons += [f"{pluralize(count, 'error')} in {name}" for count, name in zip(errors, names, strict=True) if count]
        raise BadInput(
            f"no case is scored in both {names[0]} and {names[1]}: {', '.join(reasons) or 'both are empty'}",
            "Runs are compared on the cases that both have: grade both on the same dataset.",
        )
    if not pairs.metrics:
        raise BadInput(f"{names[0]} and {names[1]} have no metric in common", "Grade both with the same evaluators.")
    changes = ((name, _metric_change(pairs, name, definitions.get(name))) for name in pairs.metrics)
    metrics = {name: change for name, change in changes if change is not None}
    correct = pairs.correct(headline)
    return Comparison(
        cases=len(pairs.ids),
        conversations=len(pairs.sizes),
        only_first=only[0],
        only_second=only[1],
        errors_first=errors[0],
        errors_second=errors[1],
        headline=headline,
        metrics={name: change for name, (change, _) in metrics.items()},
        fixed=[case for case, was in zip(pairs.ids, correct, strict=True) if was == (False, True)],
        broken=[case for case, was in zip(pairs.ids, correct, strict=True) if was == (True, False)],
        both_correct=correct.count((True, True)),
        both_wrong=correct.count((False, False)),
        tools=_tool_changes(pairs),
        faults=_fault_changes(pairs),
        cases_needed=cases_needed(metrics[headline][1]) if headline in metrics else None,
    )


def _metric_change(pairs: _PairedCases, name: str, definition: Metric | None) -> tuple[MetricChange, Clusters] | None:
    """Return the change of a metric on the cases that have it in both runs, and the clusters; None if no case has it."""
    values = [(index, *value) for index, value in zip(pairs.conversations, pairs.values(name), strict=True) if value is not None]
    if not values:
        return None
    sizes = pairs.sizes if len(values) == len(pairs.ids) else Counter(index for index, _, _ in values)
    clusters = pairs.clusters([(index, after - before) for index, before, after in values], sizes)
    before, after = (fmean(value[side] for value in values) for side in (1, 2))
    return metric_change(before, after, clusters, definition), clusters


def metric_change(before: float, after: float, clusters: Clusters, definition: Metric | None) -> MetricChange:
    """Return the change of a metric with these means, from its differences by conversation. Without a definition, it is within 0 to 1."""
    found = difference(clusters, bounded=definition is None or definition.bounds == UNIT)
    within_noise = not is_beyond_noise(found.p, (found.low, found.high))
    heuristic = definition is not None and definition.heuristic
    return MetricChange(before, after, found.mean, found.low, found.high, found.p, within_noise, found.differing, heuristic)


def _means(cases: Sequence[tuple[_Trial, ...]], metric: str, *, same_metrics: bool) -> Sequence[float | None]:
    """Return the mean of each case over its trials that have the metric; `same_metrics`: all trials have the same metrics."""
    if same_metrics and cases:
        index = cases[0][0].metrics.index(metric)
        return [sum([trial.values[index] for trial in trials]) / len(trials) for trials in cases]
    having = [[trial.values[trial.metrics.index(metric)] for trial in trials if metric in trial.metrics] for trials in cases]
    return [sum(values) / len(values) if values else None for values in having]


def _tool_changes(pairs: _PairedCases) -> list[ToolChange]:
    """Return the changes by expected name. If different alternatives counted, a case counts under the earliest of them."""
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
    """Return the credit of each of these calls, averaged over trials; a trial with another alternative gives each call its mean credit."""
    each = [trial.credits if trial.names == names else (fmean(trial.credits),) * len(names) for trial in trials]
    return [sum(call) / len(trials) for call in zip(*each, strict=True)]


def _fault_changes(pairs: _PairedCases) -> list[FaultChange]:
    """Return the changes of the kinds of faults that occur in at least one run."""
    counts: dict[FaultKind, list[float]] = {}
    differences: dict[FaultKind, list[tuple[int, float]]] = defaultdict(list)
    for side, cases in enumerate(pairs.trials):
        for conversation, trials in zip(pairs.conversations, cases, strict=True):
            share = 1 / len(trials)
            for kind in [kind for trial in trials for kind in trial.kinds]:
                counts.setdefault(kind, [0.0, 0.0])[side] += share
                differences[kind].append((conversation, share if side else -share))
    found = []
    for kind, (before, after) in counts.items():
        p = sign_flip_test(pairs.clusters(differences[kind]))
        found.append(FaultChange(kind, round(before, 9), round(after, 9), p, p >= LEVEL))
    return sorted(found, key=lambda fault: (-abs(fault.after - fault.before), fault.kind))


def _adjust_p_values(comparisons: list[Comparison]) -> list[Comparison]:
    """Return the comparisons with p-values adjusted for multiple comparisons."""
    names = dict.fromkeys(name for each in comparisons for name in each.metrics)
    metrics = {name: iter(holm_adjust([each.metrics[name].p for each in comparisons if name in each.metrics])) for name in names}
    faults = iter(holm_adjust([fault.p for each in comparisons for fault in each.faults]))
    return [
        replace(
            each,
            metrics={name: _with_metric_p(change, next(metrics[name])) for name, change in each.metrics.items()},
            faults=[replace(fault, p=p, within_noise=p >= LEVEL) for fault, p in zip(each.faults, faults, strict=False)],
        )
        for each in comparisons
    ]


def _with_metric_p(change: MetricChange, p: float) -> MetricChange:
    return replace(change, p=p, within_noise=not is_beyond_noise(p, (change.low, change.high)))
