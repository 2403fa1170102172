"""A gate for CI: thresholds that a run must meet, each checked with both numbers.

`min`: fail if a measure (a metric, a metric of one scenario type, pass@k or pass^k) is below a number. `max_drop`: fail if it drops by more
than a number from the baseline, on the cases that both runs have. `max_errors`: fail if there are more errors. With `significant`, a drop
within noise does not fail. A run without scored cases, and one that is not finished, never passes. An unknown metric raises `BadInput` with
the closest known one.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from callmark.analysis.compare import MetricChange
from callmark.analysis.differences import cases_needed
from callmark.analysis.intervals import Clusters
from callmark.analysis.measures import Measure, parse_measure
from callmark.analysis.summary import Estimate
from callmark.errors import BadInput
from callmark.grading.evaluator import Metric
from callmark.wording import mark_heuristic, pluralize

_EPSILON = 1e-9  # tolerance for rounding: nine tenths meet .9
_PLACES = range(3, 10)  # decimals: more only where fewer would show a value on the wrong side of its threshold


class Gate(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The thresholds, from the command line or the table `[gate]` of `callmark.toml`; `baseline` is a run folder."""

    min: dict[str, float] = {}
    max_drop: dict[str, float] = {}
    max_errors: int | None = None
    baseline: str = ""
    significant: bool = False


class GateCheck(Struct, frozen=True):
    """One threshold: its kind and its name, unique together; whether it is met; the numbers as text; and whether its metric is a heuristic,
    which its label says.
    """

    condition: Literal["finished", "scored", "min", "max_drop", "max_errors"]
    name: str
    met: bool
    text: str
    heuristic: bool = False

    @property
    def label(self) -> str:
        """The name as it is shown: `decision.behavior (heuristic)`."""
        return mark_heuristic(self.name, self.heuristic)


def gate_measures(gate: Gate, metrics: Mapping[str, Metric], *, pass_metric: str) -> dict[str, Measure]:
    """Return the measures that the thresholds of a gate are about, by name.

    A gate without thresholds, unknown metrics, a drop without a baseline and impossible numbers raise `BadInput` that names the field.
    """
    if not gate.min and not gate.max_drop and gate.max_errors is None:
        raise BadInput("the gate has no thresholds: every run would pass", "Pass at least one, for example --min call.score=0.9.")
    measures: dict[str, Measure] = {}
    for key, thresholds in (("min", gate.min), ("max_drop", gate.max_drop)):
        for name, threshold in thresholds.items():
            measures[name] = parse_measure(name, metrics, pass_metric=pass_metric)
            _validate_threshold(f"{key}: {name}", threshold, measures[name].definition, drop=key == "max_drop")
    if gate.max_drop and not gate.baseline:
        raise BadInput("max_drop needs a baseline", "Pass it with --baseline RUN.")
    if gate.max_errors is not None and gate.max_errors < 0:
        raise BadInput(f"max_errors: expected an integer of at least 0, got {gate.max_errors}")
    return measures


def _validate_threshold(option: str, threshold: float, metric: Metric, *, drop: bool) -> None:
    """Raise `BadInput` for a threshold that is always or never met, such as 90 for .9."""
    if not isfinite(threshold):
        raise BadInput(f"{option}: expected a number, got {threshold:g}")
    if drop and threshold < 0:
        raise BadInput(f"{option}: expected a drop of 0 or more, got {threshold:g}")
    if metric.bounds is None:
        return
    least, greatest = metric.bounds
    if drop and threshold > greatest - least:
        raise BadInput(f"{option}: expected a drop of at most {greatest - least:g}, got {threshold:g}")
    if not drop and not least <= threshold <= greatest:
        raise BadInput(f"{option}: expected a number from {least:g} to {greatest:g}, got {threshold:g}")


class Measured(Struct, frozen=True):
    """What the thresholds of a gate are checked against: scored cases and errors of the run, and each measure, None if no case has it.

    `changes` are the changes from the baseline; without a baseline, it is empty. `trials` is the number of trials, for pass@k and pass^k.
    """

    scored: int
    errors: int
    estimates: Mapping[str, Estimate | None]
    changes: Mapping[str, MetricChange | None] = {}
    measures: Mapping[str, Measure] = {}
    trials: int = 0


def check_gate(gate: Gate, measured: Measured, *, unfinished: str = "") -> list[GateCheck]:
    """Return a check for each threshold, and a failed one if nothing was scored or if the run is `unfinished`, a text that says why."""
    checks = [GateCheck("finished", "run", False, unfinished)] if unfinished else []
    if not measured.scored:
        checks.append(GateCheck("scored", "scored cases", False, "0: nothing to check"))
    checks += [_marked(_check_min(name, threshold, measured), measured) for name, threshold in gate.min.items()]
    drops = [_check_drop(name, threshold, measured.changes.get(name), gate.significant) for name, threshold in gate.max_drop.items()]
    checks += [_marked(check, measured) for check in drops]
    if gate.max_errors is not None:
        met = measured.errors <= gate.max_errors
        text = f"{measured.errors:,} {'≤' if met else '>'} {gate.max_errors:,}"
        checks.append(GateCheck("max_errors", "errors", met, text))
    return checks


def _marked(check: GateCheck, measured: Measured) -> GateCheck:
    """Return the check, marked if its metric is a heuristic."""
    measure = measured.measures.get(check.name)
    return replace(check, heuristic=measure is not None and measure.definition.heuristic)


def _check_min(name: str, threshold: float, measured: Measured) -> GateCheck:
    estimate = measured.estimates.get(name)
    if estimate is None:
        k = measured.measures[name].k if name in measured.measures else 0
        few = f"needs at least {k} trials; the run has {measured.trials}" if 0 < measured.trials < k else ""
        return GateCheck("min", name, False, few or f"not measured, expected at least {_format(threshold)}")
    met = estimate.mean >= threshold - _EPSILON
    return GateCheck("min", name, met, f"{_format_beside(estimate.mean, threshold)} {'≥' if met else '<'} {_format(threshold)}")


def _check_drop(name: str, threshold: float, change: MetricChange | None, significant: bool) -> GateCheck:
    if change is None:
        return GateCheck("max_drop", name, False, f"not measured in both runs, expected a drop of at most {_format(threshold)}")
    drop = change.before - change.after
    small = drop <= threshold + _EPSILON
    met = small or (significant and change.within_noise)
    text = f"{_format_beside(change.after, change.before)}, baseline {_format_beside(change.before, change.after)}"
    if drop > _EPSILON:
        text += f": drop {_format_beside(drop, threshold)} {'≤' if small else '>'} {_format(threshold)}"
    else:
        text += f": no drop, at most {_format(threshold)} allowed"
    if met and not small:
        text += ", but within noise"
    return GateCheck("max_drop", name, met, text)


def is_passed_by_noise(threshold: float, change: MetricChange | None) -> bool:
    """Return whether a drop is larger than allowed and passes only because it is within noise (`significant`)."""
    return change is not None and change.within_noise and change.before - change.after > threshold + _EPSILON


def power_warning(name: str, threshold: float, change: MetricChange, clusters: Clusters) -> str:
    """Return the warning about a drop that passes as noise, if there are too few cases to tell; empty if there are enough.

    `clusters` are the changes by conversation. Enough are as many as detect a drop of the threshold (of the drop itself, for a threshold of
    0) in four of five runs.
    """
    drop = change.before - change.after
    count = sum(size * times for (_, size), times in clusters.items())
    needed = cases_needed(clusters, difference=threshold or drop)
    if needed is not None and needed <= count:
        return ""
    allowed = _format(round(threshold or drop, 3))
    enough = f": detecting a drop of {allowed} needs about {float(f'{needed:.2g}'):,.0f} cases" if needed else ""
    dropped = f"{name} dropped by {_format_beside(drop, threshold)}, which is within noise"
    return f"{dropped}, but {pluralize(count, 'case')} {'is' if count == 1 else 'are'} too few to tell{enough}"


def _format_beside(value: float, threshold: float) -> str:
    """Return the value with three decimals, or with as many as show on which side of the threshold it is."""
    if abs(value - threshold) <= _EPSILON:
        return _format(threshold)
    side = _side(value, threshold)
    return next((text for places in _PLACES if _side(float(text := _decimals(value, places)), threshold) == side), _format(value))


def _side(value: float, threshold: float) -> int:
    return (value > threshold) - (value < threshold)


def _format(value: float) -> str:
    """Return a number as it was given: `.8`, `1`, `.8125`."""
    return _decimals(value, _PLACES.stop)


def _decimals(value: float, places: int) -> str:
    text = f"{value:.{places}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("0.", ".", 1) if abs(value) < 1 else text


def parse_thresholds(texts: Sequence[str], option: str) -> Mapping[str, float]:
    """Return thresholds such as `call.score=0.9` by metric. Anything else, and a repeated metric, raises `BadInput`."""
    thresholds: dict[str, float] = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        try:
            threshold = float(value)
        except ValueError:
            threshold = float("nan")
        if not name or not isfinite(threshold):
            raise BadInput(f"--{option}: expected METRIC=NUMBER, got {text!r}", f"For example: --{option} call.score=0.9")
        if name in thresholds:
            raise BadInput(f"--{option}: {name} is given twice")
        thresholds[name] = threshold
    return thresholds


def gate_headline(checks: Sequence[GateCheck]) -> str:
    """Return `2 of 3 thresholds met`; `1 of 2 checks passed` where one of them is about the run itself."""
    met = sum(check.met for check in checks)
    if any(check.condition in ("finished", "scored") for check in checks):
        return f"{met:,} of {pluralize(len(checks), 'check')} passed"
    return f"{met:,} of {pluralize(len(checks), 'threshold')} met"
