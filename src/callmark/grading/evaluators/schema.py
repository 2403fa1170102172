"""Evaluator `schema`: could it run? (docs/metrics.md, section 7)

The first expected call against the first made; several expected calls are paired, and each metric holds when it holds for every one of
them. Nothing expected and nothing made: all 1. One side empty: all 0.
"""

from collections.abc import Callable, Mapping
from math import isclose
from typing import ClassVar

from msgspec import Struct, field, structs

from callmark.calls.pairing import compare
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.types import Call, Metrics
from callmark.wording import nearest

WEIGHTS = {"tool_selection": 0.40, "parameter_accuracy": 0.35, "execution_success": 0.25, "response_quality": 0.0}
MEASURED = ("tool_selection", "parameter_accuracy", "execution_success")
BANDS = ((0.90, "excellent"), (0.75, "good"), (0.50, "fair"), (0.0, "poor"))
READINGS = {  # what document 002 says of each; that excellent is ready for production is not for one number to say
    "excellent": "",
    "good": "may need more training data",
    "fair": "review failure cases",
    "poor": "training issues likely",
}

Quality = Callable[[Attempt], float]


def weights(given: Mapping[str, float] | None, *, quality: Quality | None = None) -> dict[str, float]:
    """The weights, what was left out being 0. Unknown names, negative weights and a sum other than 1 are refused by name."""
    if given is None:
        return dict(WEIGHTS)
    for name, weight in given.items():
        if name not in WEIGHTS:
            raise BadInput(f"there is no metric called {name!r} to weigh{nearest(name, WEIGHTS)}", f"They are {', '.join(WEIGHTS)}.")
        if weight < 0:
            raise BadInput(f"the weight of {name} is {weight}, at least 0 was expected")
    if given.get("response_quality", 0) and quality is None:
        raise BadInput("response_quality has a weight, but there is no function that measures it")
    if not isclose(sum(given.values()), 1, rel_tol=0, abs_tol=1e-9):
        raise BadInput(f"the weights add up to {sum(given.values()):g}, 1 was expected")
    return {name: given.get(name, 0.0) for name in WEIGHTS}


def band(overall: float) -> str:
    """`excellent`, `good`, `fair` or `poor`."""
    return next((name for least, name in BANDS if overall >= least), "poor")


class SchemaEvaluator(Struct, frozen=True):
    """`quality` measures `response_quality`, which is 0, and left out, without it."""

    name: ClassVar[str] = "schema"
    weights: dict[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    quality: Quality | None = None

    def __post_init__(self) -> None:
        structs.force_setattr(self, "weights", weights(self.weights, quality=self.quality))

    @property
    def metrics(self) -> tuple[str, ...]:
        return (*MEASURED, *(("response_quality",) if self.quality else ()), "overall")

    def __call__(self, attempt: Attempt) -> Metrics:
        selected, fitting, runs = self.holds(attempt)
        values = {"tool_selection": float(selected), "parameter_accuracy": float(fitting), "execution_success": float(runs)}
        if self.quality:
            values["response_quality"] = self.quality(attempt)
        overall = 0.0
        for name, value in values.items():
            overall += self.weights[name] * value
        values["overall"] = round(overall, 12)
        return values

    def holds(self, attempt: Attempt) -> tuple[bool, bool, bool]:
        """Tool selection, parameter accuracy, execution success; found out once for an attempt."""
        if attempt.runs is None:
            attempt.runs = _holds(attempt)
        return attempt.runs


def _holds(attempt: Attempt) -> tuple[bool, bool, bool]:
    expected, actual = attempt.expected, attempt.actual
    if not expected or not actual:
        same = not expected and not actual
        return same, same, same
    if len(expected) == 1:
        selected = bool(actual[0].name) and expected[0].name == actual[0].name
        fitting = _could_run(attempt, expected[0], actual[0])
        return selected, fitting, selected and fitting
    if attempt.pairing.unpaired_expected:
        return False, False, False
    fitting = all(_could_run(attempt, expected[one.expected], actual[one.actual]) for one in attempt.pairing.pairs)
    return True, fitting, fitting


def _could_run(attempt: Attempt, expected: Call, made: Call) -> bool:
    """Whether the call that was made fits the schema of its own tool; where no tool is known at all, whether it is the expected one."""
    if made.malformed:
        return False
    if not attempt.tools:
        return not expected.malformed and compare(expected.arguments, made.arguments).all_agree
    return attempt.schemas.could_run(made)
