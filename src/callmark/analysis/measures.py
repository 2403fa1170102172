"""What a threshold is about: a metric, a metric of one scenario type, or pass@k and pass^k over trials.

    call.score    process.recall:create_ticket    pass^3    pass@2:create_ticket

A metric has one value per scored trial; pass@k and pass^k have one per case: the chance that some or all of k trials pass. Cases without a
value (errors, fewer than k trials, another scenario type) are left out. Runs are compared case by case, on the mean of a case.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import comb
from statistics import fmean

from msgspec import Struct

from callmark.analysis.bootstrap import bootstrap
from callmark.analysis.compare import MetricChange, metric_change
from callmark.analysis.intervals import Clusters, mean_interval
from callmark.analysis.summary import Estimate, is_scored
from callmark.errors import BadInput
from callmark.grading.evaluator import UNIT, Metric
from callmark.grading.record import GradeRecord
from callmark.wording import did_you_mean

_PASS = re.compile(r"pass([@^])([1-9][0-9]{0,3})")
_LIST_HINT = "callmark gate RUN --list lists the metrics of a run."


class Measure(Struct, frozen=True):
    """A measure by its name: a metric, the scenario type it is limited to (empty: all), and for pass@k and pass^k also k.

    `every` is True for pass^k and False for pass@k.
    """

    name: str
    metric: str
    definition: Metric
    scenario_type: str = ""
    k: int = 0
    every: bool = False


def parse_measure(name: str, metrics: Mapping[str, Metric], *, pass_metric: str) -> Measure:
    """Return the measure of that name. An unknown metric raises `BadInput` with the closest known one.

    `pass_metric` decides whether a trial passes.
    """
    if name in metrics:
        return Measure(name, name, metrics[name])
    metric, _, scenario_type = name.partition(":")
    if found := _PASS.fullmatch(metric):
        if pass_metric not in metrics:
            raise BadInput(f"{name}: the run does not have {pass_metric}, which decides whether a trial passes", _LIST_HINT)
        definition = Metric(metric, metric, "rate")
        return Measure(name, pass_metric, definition, scenario_type, int(found[2]), every=found[1] == "^")
    if metric in metrics and scenario_type:
        return Measure(name, metric, metrics[metric], scenario_type)
    raise BadInput(f"unknown metric {name!r}{did_you_mean(name, metrics)}", _LIST_HINT)


class CaseValues:
    """The values of measures by case, over the grades of a run. Of several grades of one case and trial, the last counts."""

    def __init__(self, measures: Sequence[Measure], grades: Iterable[GradeRecord]) -> None:
        self._measures = measures
        self._types: dict[str, None] = {}
        self._conversations: dict[str, str] = {}
        trials: dict[str, dict[int, tuple[str, dict[str, float]]]] = {}
        metrics = {measure.metric for measure in measures}
        for grade in grades:
            self._types.setdefault(grade.scenario_type)
            found = {name: grade.metrics[name] for name in metrics if name in grade.metrics} if is_scored(grade) else {}
            trials.setdefault(grade.case, {})[grade.trial] = (grade.scenario_type, found)
            self._conversations[grade.case] = grade.conversation if grade.conversation is not None else f"\0{grade.case}"
        self.trials = max(map(len, trials.values()), default=0)  # the most of any case
        self._values = {measure.name: _values(measure, trials) for measure in measures}

    def check_scenario_types(self) -> None:
        """Raise `BadInput` for a measure of a scenario type that no case has."""
        for measure in self._measures:
            if measure.scenario_type and measure.scenario_type not in self._types:
                known = [name for name in self._types if name]
                hint = f"Scenario types of the run: {', '.join(known)}." if known else "The cases of the run have no scenario type."
                raise BadInput(f"{measure.name}: unknown scenario type{did_you_mean(measure.scenario_type, known)}", hint)

    def estimate(self, measure: Measure) -> Estimate | None:
        """Return the mean of a measure, with its interval over conversations; None if no case has it."""
        values = self._values[measure.name]
        if not values:
            return None
        number = sum(map(len, values.values()))
        low, high = (mean_interval if measure.definition.bounds == UNIT else bootstrap)(self.clusters(measure)) or (None, None)
        return Estimate(number, sum(map(sum, values.values())) / number, low, high)

    def compare(self, baseline: "CaseValues", measure: Measure) -> MetricChange | None:
        """Return the change of a measure from the baseline, on the cases of both; None without such cases."""
        pairs = self._pairs(baseline, measure)
        if not pairs:
            return None
        before, after = (fmean(pair[side] for pair in pairs.values()) for side in (0, 1))
        return metric_change(before, after, self.change_clusters(baseline, measure), measure.definition)

    def clusters(self, measure: Measure) -> Clusters:
        """Return the values of a measure by conversation."""
        return self._clusters(self._values[measure.name])

    def change_clusters(self, baseline: "CaseValues", measure: Measure) -> Clusters:
        """Return the changes of a measure from the baseline by conversation, on the cases of both."""
        return baseline._clusters({case: [after - before] for case, (before, after) in self._pairs(baseline, measure).items()})

    def _pairs(self, baseline: "CaseValues", measure: Measure) -> dict[str, tuple[float, float]]:
        before, after = (run._values[measure.name] for run in (baseline, self))
        return {case: (fmean(before[case]), fmean(after[case])) for case in before if case in after}

    def _clusters(self, values: Mapping[str, Sequence[float]]) -> Clusters:
        sums: dict[str, tuple[float, int]] = {}
        for case, each in values.items():
            total, size = sums.get(self._conversations[case], (0.0, 0))
            sums[self._conversations[case]] = (total + sum(each), size + len(each))
        return Counter((round(total, 9), size) for total, size in sums.values())


def _values(measure: Measure, trials: Mapping[str, Mapping[int, tuple[str, dict[str, float]]]]) -> dict[str, list[float]]:
    """Return the values of each case that has any."""
    found: dict[str, list[float]] = {}
    for case, by_trial in trials.items():
        values = [
            metrics[measure.metric]
            for scenario_type, metrics in by_trial.values()
            if measure.metric in metrics and measure.scenario_type in ("", scenario_type)
        ]
        if len(values) >= max(measure.k, 1):
            found[case] = [_chance(values, measure)] if measure.k else values
    return found


def _chance(values: Sequence[float], measure: Measure) -> float:
    """Return the chance that all of k trials pass, or that some do."""
    n, c, k = len(values), sum(value == 1 for value in values), measure.k
    return comb(c, k) / comb(n, k) if measure.every else 1 - comb(n - c, k) / comb(n, k)
