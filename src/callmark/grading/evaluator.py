"""The contract of an evaluator: what it declares (`Metric`), what it returns (`Result`), and the protocol.

The built-in evaluators (`evaluators/`) and users' evaluators implement the same protocol and have the same rights. Beyond it an evaluator
may have any of these attributes:

    depends_on      what alone its result depends on, so that the grader may reuse a result: "agreement" (for calls that all agree,
                    nothing else; for one expected call, both names and how many arguments agree by `exact` and by `similar`) and
                    "execution" (`attempt.execution`). It holds for the class that defines `evaluate`, not for a subclass that
                    overrides it. Such an evaluator prints nothing.
    counts_faults   which faults lower its score: "exact" (all of them), "execution" (those that keep a call from running) or "similar"
                    (those that remain when names are compared in any case and values by `similar`). Without it: none.
    ignore          globs of functions that it leaves out, and whose faults it does not count
    requires        options that it cannot do without; an evaluator joins the selected ones when its table in `callmark.toml` has them
    file_options    options that `callmark.toml` may give as the path of a YAML file, whose content the evaluator is constructed with; for
                    evaluators that are built in or installed, not for `module:name`
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from callmark.grading.attempt import Attempt
from callmark.types import Note

Dependency = Literal["agreement", "execution"]
FaultRule = Literal["exact", "execution", "similar"]


class Metric(Struct, frozen=True, omit_defaults=True):
    """A number that an evaluator returns for an attempt, and how to show, bound and read its mean.

    `name` is local to the evaluator: the full name of "score" is "call.score". `bounds` are the least and the greatest value (None: any
    number). `headline` metrics are shown first and with their interval. `checks` are what to check first when the mean is low; `bands`
    are the least mean and the reading of each band, best first.
    """

    name: str
    label: str
    kind: Literal["rate", "mean", "count"] = "mean"
    bounds: tuple[float, float] | None = (0.0, 1.0)
    higher_is_better: bool = True
    headline: bool = False
    unit: str = ""
    checks: tuple[str, ...] = ()
    bands: tuple[tuple[float, str], ...] = ()

    def band(self, mean: float) -> str:
        """Return the reading of the band that a mean lies in; "" for a metric without bands."""
        return next((reading for least, reading in self.bands if mean >= least), self.bands[-1][1] if self.bands else "")


class Result(Struct, frozen=True):
    """What an evaluator returns for one attempt.

    `values` has every declared metric; None means not applicable, and the metric's mean leaves the case out. `reasons` explain values in
    a sentence. `pooled` gives the numerator and the denominator of metrics that are also pooled over a run. `category` is the expected and
    the actual category, for an evaluator with a matrix.
    """

    values: dict[str, float | None]
    reasons: dict[str, str] = {}
    notes: tuple[Note, ...] = ()
    pooled: dict[str, tuple[float, float]] = {}
    category: tuple[str, str] | None = None


class Evaluator(Protocol):
    """Something that scores an attempt. `evaluate` is a pure function; an exception is an evaluator error of that case."""

    @property
    def name(self) -> str: ...

    @property
    def metrics(self) -> tuple[Metric, ...]: ...

    def evaluate(self, attempt: Attempt) -> Result: ...


def dependencies(evaluator: Evaluator) -> frozenset[Dependency] | None:
    """Return what alone the evaluator's results depend on; None where that is not declared by the class that defines `evaluate`."""
    for kind in type(evaluator).__mro__:
        if "depends_on" in vars(kind):
            return frozenset(getattr(evaluator, "depends_on", None) or ()) or None
        if "evaluate" in vars(kind):
            return None
    return None


def fault_evaluators(evaluators: Sequence[Evaluator], *, scenarios: bool = False) -> tuple[str, ...]:
    """Return the names of the evaluators whose faults are reported: those that count faults.

    Of scenarios only those that count by `similar`, which are made for whole conversations, if there are any.
    """
    counting = [evaluator for evaluator in evaluators if fault_rule(evaluator)]
    similar = [evaluator for evaluator in counting if fault_rule(evaluator) == "similar"]
    return tuple(evaluator.name for evaluator in (similar if scenarios and similar else counting))


def fault_rule(evaluator: Any) -> FaultRule | None:
    """Return which faults an evaluator counts; None where it counts none."""
    rule: FaultRule | None = getattr(evaluator, "counts_faults", None)
    return rule
