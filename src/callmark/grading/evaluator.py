"""The contract of an evaluator: what it declares (`Metric`), what it returns (`Result`), and the protocol.

The built-in evaluators (`evaluators/`) and users' evaluators implement the same protocol. An evaluator may also have these attributes:

    depends_on      the only things that its result depends on, so that the grader can reuse results: "agreement" (the names, if all calls
                    agree; for one expected call, both names and how many arguments agree by `exact` and by `similar`) and
                    "execution" (`attempt.execution`). It applies to the class that defines `evaluate`, not to a subclass that
                    overrides it. Such an evaluator must not print.
    counts_faults   which faults lower its score: "exact" (all of them), "execution" (those that prevent a call from running) or "similar"
                    (those that remain if the case of names is ignored and values are compared by `similar`). Default: none.
    order_metrics   two of its metrics: whether every expected call was made, and whether in order. If the first is 1 and the second 0, the
                    fault `wrong_order` is reported
    ignore          globs of functions that it ignores, and whose faults it does not count
    requires        required options
    added_by        options that add the evaluator to the selected ones if its table in `callmark.toml` sets all of them
    file_options    options that `callmark.toml` may set to the path of a YAML file; the evaluator receives its content. Only for built-in
                    and installed evaluators, not for `module:name`
"""

import sys
from typing import Any, Literal, Protocol

from msgspec import Struct

from callmark.grading.attempt import Attempt
from callmark.types import Note

Dependency = Literal["agreement", "execution"]
UNIT = (0.0, 1.0)  # the bounds of most metrics

FaultRule = Literal["exact", "execution", "similar"]


class Metric(Struct, frozen=True, omit_defaults=True):
    """The definition of a number that an evaluator returns.

    Attributes:
        name: Name within the evaluator: `score` of the evaluator `call` has the full name `call.score`.
        label: Label in the terminal and on the page.
        kind: `rate` for values that are 0 or 1, `mean` for other values, `count` for counts.
        bounds: Smallest and largest value; None for any number.
        higher_is_better: Whether a higher mean is better.
        headline: Whether the metric is shown first and with its interval.
        unit: Unit of the values, for display.
        checks: What to check if the mean is low, as sentences.
        bands: Lower limit and description of each band of the mean, best first.
        heuristic: Whether the values are guessed by a heuristic. Such a metric is marked wherever it is shown.
    """

    name: str
    label: str
    kind: Literal["rate", "mean", "count"] = "mean"
    bounds: tuple[float, float] | None = UNIT
    higher_is_better: bool = True
    headline: bool = False
    unit: str = ""
    checks: tuple[str, ...] = ()
    bands: tuple[tuple[float, str], ...] = ()
    heuristic: bool = False

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest value that is accepted: the bounds, within [0, 1] for a rate, or the range of a finite number."""
        least, greatest = self.bounds or (-sys.float_info.max, sys.float_info.max)
        return (max(least, 0.0), min(greatest, 1.0)) if self.kind == "rate" else (least, greatest)

    def band(self, mean: float) -> str:
        """Return the description of the band of a mean; "" for a metric without bands."""
        return next((description for least, description in self.bands if mean >= least), self.bands[-1][1] if self.bands else "")

    def band_range(self, mean: float, low: float | None, high: float | None) -> str:
        """Return the name of the band of a mean, with those of the ends of its interval if they lie in other bands.

        `good; fair to excellent within the interval`. "" for a metric without bands; low and high are None without an interval.
        """
        names = [self.band(value).partition(":")[0] for value in (mean, *([] if low is None or high is None else [low, high]))]
        return names[0] if len(set(names)) == 1 else f"{names[0]}; {names[1]} to {names[2]} within the interval"


class Result(Struct, frozen=True):
    """The result of an evaluator for one attempt.

    Attributes:
        values: Value of every declared metric. None means not applicable: the case is excluded from the mean of that metric.
        reasons: Explanation of a value, by metric.
        notes: Notes on the attempt; they do not affect scores.
        pooled: Numerator and denominator of metrics that are also pooled over a run.
        category: Expected and actual category, for evaluators with a confusion matrix.
    """

    values: dict[str, float | None]
    reasons: dict[str, str] = {}
    notes: tuple[Note, ...] = ()
    pooled: dict[str, tuple[float, float]] = {}
    category: tuple[str, str] | None = None


class Evaluator(Protocol):
    """Protocol of an evaluator. Your own needs no base class:

        class Polite:
            name = "polite"
            metrics = (Metric("please", "Says please", "rate"),)

            def evaluate(self, attempt):
                text = attempt.prediction.text if attempt.prediction else ""
                return Result({"please": float("please" in text.lower())})

    Select it with `--evaluator my_module:Polite`, or register it under the entry point group `callmark.evaluators`. Its options are the
    keyword arguments of its class.
    """

    @property
    def name(self) -> str:
        """Name of the evaluator, the first part of its metrics' full names."""
        ...

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Definitions of the metrics that `evaluate` returns."""
        ...

    def evaluate(self, attempt: Attempt) -> Result:
        """Return the metrics of one attempt. It must be a pure function.

        An exception is an evaluator error of that case: it is counted, and the case is excluded from the evaluator's means.
        """
        ...


def dependencies(evaluator: Evaluator) -> frozenset[Dependency] | None:
    """Return the declared dependencies of the evaluator's results; None if the class that defines `evaluate` declares none."""
    for kind in type(evaluator).__mro__:
        if "depends_on" in vars(kind):
            return frozenset(getattr(evaluator, "depends_on", None) or ()) or None
        if "evaluate" in vars(kind):
            return None
    return None


def fault_rule(evaluator: Any) -> FaultRule | None:
    """Return which faults an evaluator counts; None if it counts none."""
    rule: FaultRule | None = getattr(evaluator, "counts_faults", None)
    return rule
