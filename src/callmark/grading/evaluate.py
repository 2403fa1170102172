"""Run evaluators on an attempt and check what they return.

An evaluator that raises, or returns something else than it declares, is an evaluator error of that attempt: its own metrics are absent,
those of the other evaluators stay.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import EvaluatorError
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Evaluator, Metric, Result, dependencies
from callmark.types import Metrics, Note

_LARGEST = sys.float_info.max
_LONGEST_ERROR = 500  # characters


class CombinedResult(Struct, frozen=True):
    """The results of several evaluators for one attempt, under full metric names ("call.score").

    A metric that is not applicable is absent. `notes` are in the order of the evaluators. `categories` and `errors` are by evaluator.
    """

    metrics: Metrics
    reasons: dict[str, str] = {}
    notes: tuple[Note, ...] = ()
    pooled: dict[str, tuple[float, float]] = {}
    categories: dict[str, tuple[str, str]] = {}
    errors: dict[str, str] = {}


class CheckedEvaluator:
    """An evaluator whose results are checked against its metrics.

    An evaluator without metrics (a plain function) may return any names. `pure` says that it declares what its results depend on.
    """

    __slots__ = ("_evaluate", "_limits", "_names", "evaluator", "full_names", "name", "pure")

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.name = evaluator.name
        self.pure = dependencies(evaluator) is not None
        self._evaluate = evaluator.evaluate
        self._names = tuple([metric.name for metric in evaluator.metrics])
        self._limits = tuple([metric.bounds or (-_LARGEST, _LARGEST) for metric in evaluator.metrics])
        self.full_names = tuple([f"{self.name}.{name}" for name in self._names])

    def evaluate(self, attempt: Attempt) -> Result:
        """Return the result with its values in the declared order; anything else than was declared raises `EvaluatorError`."""
        result = self._evaluate(attempt)
        if result.__class__ is not Result:
            raise EvaluatorError(f"gave {_kind(result)}, a Result was expected")
        values = result.values
        if tuple(values) != self._names and self._names:
            values = self._in_order(values)
            result = Result(values, result.reasons, result.notes, result.pooled, result.category)
        limits = self._limits or ((-_LARGEST, _LARGEST),) * len(values)
        for value, (least, greatest) in zip(values.values(), limits, strict=True):
            if value is not None and not (isinstance(value, float | int) and least <= value <= greatest):
                self._refuse_value(values)
        if result.reasons or result.notes or result.pooled or result.category:
            _check_extras(result)
        return result

    def _in_order(self, values: Any) -> dict[str, float | None]:
        if not isinstance(values, Mapping) or set(values) != set(self._names):
            found = ", ".join(map(str, values)) if isinstance(values, Mapping) else _kind(values)
            raise EvaluatorError(f"gave {found or 'nothing'}, its metrics {', '.join(self._names)} were expected")
        return {name: values[name] for name in self._names}

    def _refuse_value(self, values: Mapping[str, Any]) -> None:
        bounds = dict(zip(self._names, self._limits, strict=True))
        for name, value in values.items():
            least, greatest = bounds.get(name, (-_LARGEST, _LARGEST))
            if value is None or (isinstance(value, float | int) and least <= value <= greatest):
                continue
            if isinstance(value, float | int) and -_LARGEST <= value <= _LARGEST:
                raise EvaluatorError(f"gave {_shown(value)} for {name}, a number from {least:g} to {greatest:g} was expected")
            raise EvaluatorError(f"gave {_shown(value)} for {name}, a finite number was expected")


def evaluate_all(attempt: Attempt, evaluators: Sequence[CheckedEvaluator]) -> CombinedResult:
    """Return what all evaluators return for an attempt; what one of them prints goes to standard error."""
    for evaluator in evaluators:
        if not evaluator.pure:
            with redirect_stdout(sys.stderr):  # standard output is for what was asked for, perhaps as JSON
                return _evaluate_all(attempt, evaluators)
    return _evaluate_all(attempt, evaluators)


def _evaluate_all(attempt: Attempt, evaluators: Sequence[CheckedEvaluator]) -> CombinedResult:
    metrics: Metrics = {}
    reasons: dict[str, str] = {}
    notes: tuple[Note, ...] = ()
    pooled: dict[str, tuple[float, float]] = {}
    categories: dict[str, tuple[str, str]] = {}
    errors: dict[str, str] = {}
    for evaluator in evaluators:
        try:
            result = evaluator.evaluate(attempt)
        except (Exception, SystemExit) as error:
            errors[evaluator.name] = error_text(error)
            continue
        names = evaluator.full_names or tuple([f"{evaluator.name}.{name}" for name in result.values])
        for name, value in zip(names, result.values.values(), strict=True):
            if value is not None:
                metrics[name] = value if value.__class__ is float else float(value)
        if result.reasons:
            reasons.update({f"{evaluator.name}.{name}": reason for name, reason in result.reasons.items()})
        if result.notes:
            notes += result.notes
        if result.pooled:
            pooled.update({f"{evaluator.name}.{name}": parts for name, parts in result.pooled.items()})
        if result.category:
            categories[evaluator.name] = result.category
    return CombinedResult(metrics, reasons, notes, pooled, categories, errors)


def error_text(error: BaseException) -> str:
    """Return an exception as `TypeName: message`, shortened."""
    try:
        message = str(error)
    except Exception:  # a message that cannot be built
        message = ""
    return scrub(f"{type(error).__name__}: {message}"[:_LONGEST_ERROR])


def definitions(evaluators: Sequence[CheckedEvaluator]) -> dict[str, Metric]:
    """Return the declared metrics of all evaluators by full name, in order."""
    return {name: metric for checked in evaluators for name, metric in zip(checked.full_names, checked.evaluator.metrics, strict=True)}


def undeclared_metric(full_name: str) -> Metric:
    """Return the definition of a metric that nobody declared: a number without bounds, labeled by its name."""
    name = full_name.rpartition(".")[2]
    return Metric(name, full_name.replace(".", " ").replace("_", " "), bounds=None)


def _check_extras(result: Result) -> None:
    for name, reason in result.reasons.items():
        if name not in result.values or not isinstance(reason, str):
            raise EvaluatorError(f"gave the reason {_shown(reason)} for {name}, a text for one of its metrics was expected")
    if not all(isinstance(note, Note) for note in result.notes):
        raise EvaluatorError("gave notes that are not all a Note")
    for name, parts in result.pooled.items():
        if len(parts) != 2 or not all(isinstance(part, int | float) and -_LARGEST <= part <= _LARGEST for part in parts):
            raise EvaluatorError(f"gave {_shown(parts)} to be pooled for {name}, two finite numbers were expected")
    if result.category is not None and (len(result.category) != 2 or not all(isinstance(part, str) for part in result.category)):
        raise EvaluatorError(f"gave the category {_shown(result.category)}, two texts were expected: expected and actual")


def _kind(value: Any) -> str:
    return type(value).__name__


def _shown(value: Any) -> str:
    try:
        return repr(value)[:40]
    except Exception:  # an integer of more digits than Python writes, an object that cannot be shown
        return f"a {type(value).__name__}"
