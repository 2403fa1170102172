"""Score one completion of a case with the grader: its metrics, weighted, and what kind of completion it is."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, structs

from callmark import registry
from callmark.errors import BadInput
from callmark.grading.actual_calls import is_unrecognized, read_completion
from callmark.grading.evaluator import Metric, dependencies
from callmark.grading.grader import Grader
from callmark.grading.settings import GradingSettings
from callmark.rewards.columns import CaseReader
from callmark.types import Call, Case, Message, Prediction
from callmark.wording import did_you_mean

Kind = Literal["calls", "no_call", "malformed", "unrecognized", "error", "evaluator_error"]


_STATE = "state."


class Outcome(Struct, frozen=True):
    """The reward of a completion.

    Attributes:
        reward: The number, or None for a completion that is excluded.
        kind: What the completion is: it has `calls`, or `no_call`, or only `malformed` calls; its format is `unrecognized`; it is an
            `error` of the infrastructure; or an evaluator failed on it.
        calls: The calls of the completion.
        reason: Why it has no metrics; empty if it has.
    """

    reward: float | None
    kind: Kind
    calls: tuple[Call, ...] = ()
    reason: str = ""

    @property
    def calls_text(self) -> str:
        """The calls as code, or the reason."""
        return self.reason or "; ".join(map(str, self.calls))


class Scorer:
    """Grades completions with the evaluators of some metrics. It keeps the cases it has read, and what applies to them."""

    def __init__(
        self, weights: Mapping[str, float], *, match: Mapping[str, Any], options: Mapping[str, dict[str, Any]], evaluators: tuple[str, ...]
    ) -> None:
        self._weights = dict(weights)
        names = evaluators or tuple(dict.fromkeys(_evaluator_of(metric) for metric in weights))
        self._grader = Grader(GradingSettings(names, dict(options), dict(match)))
        self._is_pure = all(dependencies(evaluator) is not None for evaluator in self._grader.evaluators.evaluators)
        self._applicable: dict[int, tuple[Case, dict[str, float]]] = {}  # by the identity of the case, which is kept
        self.reader = CaseReader(with_messages=not self._is_pure)

    def check(self) -> None:
        """Raise `BadInput` for a metric that no evaluator has, or that is better when it is lower."""
        known = self._grader.metrics
        declared = {name.partition(".")[0] for name in known}
        for name in self._weights:
            if name not in known and name.partition(".")[0] in declared:
                raise BadInput(f"unknown metric {name!r}{did_you_mean(name, known)}", f"Metrics: {', '.join(known)}.")
            if name in known and not known[name].higher_is_better:
                raise BadInput(f"{name}: a lower value is better, so it cannot be a reward")

    def score(self, case: Case, completion: Any, *, malformed: float, error: float | None) -> Outcome:
        """Return the outcome. A completion of another type than text, messages, calls or a prediction raises `BadInput`."""
        if completion is None:
            return Outcome(error, "error", reason="no completion")
        if not isinstance(completion, str | list | tuple | Mapping | Message | Call | Prediction):
            raise BadInput(f"completion: expected text or messages, got {type(completion).__name__}")
        try:
            prediction = read_completion(completion, case.tools)
        except BadInput as problem:  # a part of a message that may be a call, but is not known
            return Outcome(malformed, "unrecognized", reason=str(problem))
        if prediction.error:
            unrecognized = is_unrecognized(prediction)
            return Outcome(malformed if unrecognized else error, "unrecognized" if unrecognized else "error", reason=prediction.error)
        calls = prediction.calls
        if calls and all(call.malformed for call in calls):
            return Outcome(malformed, "malformed", calls)
        result = self._grader.grade(case, structs.replace(prediction, case=case.id)).result
        for name, failure in result.errors.items():
            return Outcome(malformed, "evaluator_error", calls, f"{name}: {failure}")
        return Outcome(self._weighted(case, result.metrics), "calls" if calls else "no_call", calls)

    def _weighted(self, case: Case, metrics: Mapping[str, float]) -> float:
        if len(self._weights) == 1:
            (name,) = self._weights
            if name in metrics:  # the usual case, to the bit
                return metrics[name]
        weights = self._weights_for(case, [name for name in metrics if name.startswith(_STATE)])
        total = 0.0
        for name, weight in weights.items():
            total += weight * (metrics[name] if name in metrics else _worst(self._grader.metrics.get(name)))
        return total

    def _weights_for(self, case: Case, measured: Sequence[str]) -> dict[str, float]:
        """Return the weights of the metrics that apply to the expected calls of a case, with the same sum.

        Metrics of the end state, which expected calls alone do not have, are those that were `measured`: they apply where it is known.
        """
        known = self._applicable.get(id(case))
        if known is not None and known[0] is case:
            return known[1]
        best = self._grader.grade(case, Prediction(case.id, calls=case.expected)).result.metrics
        applicable = {name: weight for name, weight in self._weights.items() if name in best or name in measured}
        if not applicable:
            names = ", ".join(self._weights)
            expected = ", ".join(map(str, case.expected)) or "no call"
            raise BadInput(f"{names} does not apply to a case that expects {expected[:200]}", "Add call.score to the weights.")
        if len(applicable) < len(self._weights):
            share = sum(applicable.values())
            applicable = {name: weight / share for name, weight in applicable.items()}
        if len(self._applicable) > 10_000:
            self._applicable.clear()
        self._applicable[id(case)] = (case, applicable)
        return applicable


def _worst(metric: Metric | None) -> float:
    return metric.bounds[0] if metric is not None and metric.bounds is not None else 0.0


def _evaluator_of(metric: str) -> str:
    name = metric.partition(".")[0]
    if not isinstance(metric, str) or "." not in metric:
        raise BadInput(f"metric: expected EVALUATOR.METRIC, such as call.score, got {metric!r}")
    if not registry.is_known("evaluators", name):
        raise BadInput(f"metric {metric!r}: no evaluator is named {name}{did_you_mean(name, registry.names('evaluators'))}")
    return name
