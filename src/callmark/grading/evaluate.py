"""Run evaluators on an attempt and check what they return.

If an evaluator raises, or returns anything but what it declares, that is an evaluator error of the attempt: its metrics are missing, and
those of the other evaluators are not affected.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any

from msgspec import Struct, structs

from callmark.calls.strict import scrub
from callmark.errors import EvaluatorError
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Evaluator, Metric, Result, dependencies
from callmark.types import Metrics, Note

_LARGEST = sys.float_info.max
_ANY_NUMBER = (-_LARGEST, _LARGEST)
_LONGEST_ERROR = 500  # characters


class CombinedResult(Struct, frozen=True):
    """The results of several evaluators for one attempt, under full metric names ("call.score").

    Metrics that are not applicable are missing. `notes` are in the order of the evaluators. `categories` and `errors` are by evaluator.
    """

    metrics: Metrics
    reasons: dict[str, str] = {}
    notes: tuple[Note, ...] = ()
    pooled: dict[str, tuple[float, float]] = {}
    categories: dict[str, tuple[str, str]] = {}
    errors: dict[str, str] = {}


class CheckedEvaluator:
    """An evaluator whose results are checked against its metrics.

    An evaluator without declared metrics (a plain function) may return any names. `pure` means that it declares its dependencies.
    """

    __slots__ = ("_evaluate", "_metrics", "_names", "name", "pure")

    def __init__(self, evaluator: Evaluator) -> None:
        self.name = evaluator.name
        self.pure = dependencies(evaluator) is not None
        self._evaluate = evaluator.evaluate
        self._names = tuple([metric.name for metric in evaluator.metrics])
        self._metrics = tuple([(f"{self.name}.{metric.name}", *metric.limits) for metric in evaluator.metrics])

    def evaluate(self, attempt: Attempt) -> tuple[Result, Metrics]:
        """Return the result, and the applicable values by full name in the declared order.

        A result that does not match the declaration raises `EvaluatorError`.
        """
        result = self._evaluate(attempt)
        if result.__class__ is not Result:
            raise EvaluatorError(f"expected a Result, got {type(result).__name__}")
        values = result.values
        if tuple(values) != self._names:
            values = self._in_order(values)
        metrics: Metrics = {}
        for value, (name, least, greatest) in zip(values.values(), self._metrics or self._undeclared(values), strict=True):
            if value.__class__ is float and least <= value <= greatest:
                metrics[name] = value
            elif value is not None:
                metrics[name] = _check_value(value, name, least, greatest)
        if result.reasons or result.notes or result.pooled or result.category:
            _check_extras(result)
        return result, metrics

    def _in_order(self, values: Any) -> dict[str, float | None]:
        if not isinstance(values, Mapping) or (self._names and set(values) != set(self._names)):
            found = ", ".join(map(str, values)) if isinstance(values, Mapping) else type(values).__name__
            raise EvaluatorError(f"expected the metrics {', '.join(self._names)}, got {found or 'none'}")
        return {name: values[name] for name in self._names or values}

    def _undeclared(self, values: Mapping[str, Any]) -> list[tuple[str, float, float]]:
        return [(f"{self.name}.{name}", *_ANY_NUMBER) for name in values]


def evaluate_all(attempt: Attempt, evaluators: Sequence[CheckedEvaluator]) -> CombinedResult:
    """Run all evaluators on an attempt. Anything they print goes to standard error."""
    for evaluator in evaluators:
        if not evaluator.pure:
            with redirect_stdout(sys.stderr):  # standard output is for the results of the command, which may be JSON
                return _evaluate_all(attempt, evaluators)
    return _evaluate_all(attempt, evaluators)


def _evaluate_all(attempt: Attempt, evaluators: Sequence[CheckedEvaluator]) -> CombinedResult:
    combined = CombinedResult({})
    metrics = combined.metrics
    notes: tuple[Note, ...] = ()
    for evaluator in evaluators:
        try:
            result, values = evaluator.evaluate(attempt)
        except (Exception, SystemExit) as error:
            combined.errors[evaluator.name] = error_text(error)
            continue
        metrics.update(values)
        if result.reasons:
            combined.reasons.update({f"{evaluator.name}.{name}": reason for name, reason in result.reasons.items()})
        if result.notes:
            notes += result.notes
        if result.pooled:
            combined.pooled.update({f"{evaluator.name}.{name}": parts for name, parts in result.pooled.items()})
        if result.category:
            combined.categories[evaluator.name] = result.category
    return structs.replace(combined, notes=notes) if notes else combined


def error_text(error: BaseException) -> str:
    """Return an exception as `TypeName: message`, shortened."""
    try:
        message = str(error)
    except Exception:  # a message that cannot be built
        message = ""
    return scrub(f"{type(error).__name__}: {message}"[:_LONGEST_ERROR])


def undeclared_metric(full_name: str) -> Metric:
    """Return the definition of an undeclared metric: a number without bounds, labeled with its name."""
    name = full_name.rpartition(".")[2]
    return Metric(name, full_name.replace(".", " ").replace("_", " "), bounds=None)


def _check_value(value: Any, full_name: str, least: float, greatest: float) -> float:
    """Return a value as a float. A value that is not a finite number, or is out of bounds, raises `EvaluatorError`."""
    name = full_name.rpartition(".")[2]
    if not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise EvaluatorError(f"{name}: expected a finite number, got {_shown(value)}")
    if not least <= value <= greatest:
        raise EvaluatorError(f"{name}: expected a number from {least:g} to {greatest:g}, got {_shown(value)}")
    return float(value)


def _check_extras(result: Result) -> None:
    for name, reason in result.reasons.items():
        if name not in result.values or not isinstance(reason, str):
            raise EvaluatorError(f"reasons: expected a string for one of the metrics, got {_shown(reason)} for {name}")
    if not all(isinstance(note, Note) for note in result.notes):
        raise EvaluatorError("notes: expected Note objects only")
    for name, parts in result.pooled.items():
        if len(parts) != 2 or not all(isinstance(part, int | float) and -_LARGEST <= part <= _LARGEST for part in parts):
            raise EvaluatorError(f"pooled: expected two finite numbers for {name}, got {_shown(parts)}")
    if result.category is not None and (len(result.category) != 2 or not all(isinstance(part, str) for part in result.category)):
        raise EvaluatorError(f"category: expected two strings (expected and actual), got {_shown(result.category)}")


def _shown(value: Any) -> str:
    try:
        return repr(value)[:40]
    except Exception:  # an integer with more digits than Python writes, or a repr that fails
        return f"({type(value).__name__} that cannot be displayed)"
