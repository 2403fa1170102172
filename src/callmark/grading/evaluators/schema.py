"""Evaluator `schema`: could the calls run? (docs/reference/metrics.md, section 7)

Each expected call gets a partner (`Attempt.execution`), and a metric is 1 if it is 1 for each of them. Without a partner, all are 0.
Further actual calls are not checked. Nothing expected and no call: all 1. One side empty: all 0.
"""

from collections.abc import Callable, Mapping
from math import isclose
from typing import ClassVar

from msgspec import Struct, field, structs

from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Dependency, FaultRule, Metric, Result
from callmark.wording import did_you_mean

DEFAULT_WEIGHTS = {"tool_selection": 0.40, "parameter_accuracy": 0.35, "execution_success": 0.25, "response_quality": 0.0}
# As in DeepFabric, with its advice as something to check; and "excellent" does not say "ready for production", because one number cannot.
BANDS = (
    (0.90, "excellent"),
    (0.75, "good: check that there is enough training data"),
    (0.50, "fair: check that the failures do not share a cause"),
    (0.0, "poor: tool selection or arguments are often wrong"),
)

ResponseQuality = Callable[[Attempt], float]

_TOOL_SELECTION = Metric(
    "tool_selection",
    "tool selection",
    kind="rate",
    checks=(
        "Check that the training data shows clear patterns of tool use.",
        "Check that the purposes of the tools do not overlap.",
        "Check that the system prompt says when to use each tool.",
    ),
    bands=BANDS,
)
_PARAMETER_ACCURACY = Metric(
    "parameter_accuracy",
    "parameters",
    kind="rate",
    checks=(
        "Check that the training examples show the right format of each parameter.",
        "Check that required and optional parameters are clearly distinguished.",
        "Check that the training examples include complex parameters (lists and objects).",
    ),
    bands=BANDS,
)
_EXECUTION_SUCCESS = Metric("execution_success", "execution", kind="rate")
_RESPONSE_QUALITY = Metric("response_quality", "response quality")
OVERALL = Metric("overall", "schema overall", bands=BANDS)


class SchemaEvaluator(Struct, frozen=True):
    """Tool selection, parameter accuracy and execution success, and their weighted sum `overall`.

    Omitted weights are 0. Unknown names, negative weights and a sum other than 1 raise `BadInput`. `quality` measures `response_quality`,
    which is missing without it.
    """

    weights: dict[str, float] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    quality: ResponseQuality | None = None

    name: ClassVar[str] = "schema"
    counts_faults: ClassVar[FaultRule] = "execution"

    def __post_init__(self) -> None:
        structs.force_setattr(self, "weights", complete_weights(self.weights, quality=self.quality is not None))

    @property
    def metrics(self) -> tuple[Metric, ...]:
        quality = (_RESPONSE_QUALITY,) if self.quality else ()
        return (_TOOL_SELECTION, _PARAMETER_ACCURACY, _EXECUTION_SUCCESS, *quality, OVERALL)

    @property
    def depends_on(self) -> tuple[Dependency, ...]:
        return () if self.quality else ("agreement", "execution")

    def evaluate(self, attempt: Attempt) -> Result:
        selected, fits, succeeds = attempt.execution
        values: dict[str, float | None] = {
            "tool_selection": float(selected),
            "parameter_accuracy": float(fits),
            "execution_success": float(succeeds),
        }
        if self.quality:
            values["response_quality"] = self.quality(attempt)
        overall = 0.0
        for name, value in values.items():
            overall += self.weights[name] * (value or 0.0)
        values["overall"] = round(overall, 12)
        return Result(values)


def complete_weights(weights: Mapping[str, float] | None, *, quality: bool = False) -> dict[str, float]:
    """Return the weight of every metric: the defaults for None, 0 for omitted metrics. Invalid weights raise `BadInput`."""
    if weights is None:
        return dict(DEFAULT_WEIGHTS)
    if not isinstance(weights, Mapping):
        raise BadInput(f"weights: expected an object, got {weights!r:.40}")
    for name, weight in weights.items():
        if name not in DEFAULT_WEIGHTS:
            known = f"Available: {', '.join(DEFAULT_WEIGHTS)}."
            raise BadInput(f"weights: unknown metric {name!r}{did_you_mean(name, DEFAULT_WEIGHTS)}", known)
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise BadInput(f"weights: {name}: expected a number, got {weight!r:.40}")
        if weight < 0:
            raise BadInput(f"weights: {name}: expected at least 0, got {weight}")
    if weights.get("response_quality", 0) and not quality:
        raise BadInput("weights: response_quality has a weight, but no function measures it")
    if not isclose(sum(weights.values()), 1, rel_tol=0, abs_tol=1e-9):
        raise BadInput(f"weights: expected a sum of 1, got {sum(weights.values()):g}")
    return {name: weights.get(name, 0.0) for name in DEFAULT_WEIGHTS}
