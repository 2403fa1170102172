"""Turn classes, objects and functions into evaluators.

class Politeness: name, metrics, evaluate(attempt) -> Result         the protocol, as an object or as a class
def politeness(attempt): return 0.5                                  a number (metric `score`), a dict of numbers, or a `Result`
class Mine: __call__(*, actual_function_calls, expected_function_calls)      the shape of the LOB evaluation (metric `score`)
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from callmark.calls.expected import escape_globs
from callmark.calls.matchers import SIMILAR
from callmark.errors import BadInput, EvaluatorError
from callmark.grading.attempt import Attempt
from callmark.grading.evaluate import error_text
from callmark.grading.evaluator import Evaluator, Metric, Result
from callmark.types import Call
from callmark.wording import did_you_mean

_EVALUATOR_HINT = (
    "An evaluator has name, metrics and evaluate(attempt), or is a function of the attempt or of actual_function_calls and "
    "expected_function_calls."
)


def as_evaluator(source: Any, name: str, options: Mapping[str, Any] | None = None) -> Evaluator:
    """Return an object as an evaluator: unchanged, constructed or adapted.

    `name` is the name that the user gave; `options` are keyword arguments for a class. An unknown option, a class that cannot be
    constructed and an object that is not an evaluator raise `BadInput`.
    """
    evaluator = source
    if isinstance(source, type):
        evaluator = _construct(source, name, options or {})
    elif options:
        raise BadInput(f"evaluator {name!r} takes no options: it is {_described(source)}, not a class")
    if hasattr(evaluator, "metrics") and callable(getattr(evaluator, "evaluate", None)):
        return _check_protocol(evaluator, name)
    if not callable(evaluator):
        raise BadInput(f"{name!r}: expected an evaluator, got {type(evaluator).__name__}", _EVALUATOR_HINT)
    own_name = getattr(source, "__name__", type(evaluator).__name__)
    parameters = _parameters(evaluator)
    if {"actual_function_calls", "expected_function_calls"} <= parameters.keys():
        return FunctionCallEvaluator(evaluator, own_name)
    if _takes_one_argument(parameters.values()):
        return FunctionEvaluator(evaluator, own_name)
    raise BadInput(f"{name!r} is not an evaluator", _EVALUATOR_HINT)


class FunctionEvaluator:
    """An evaluator made from a function of the attempt. Its metrics are those that it returns; a number is the metric `score`."""

    metrics: tuple[Metric, ...] = ()

    def __init__(self, function: Callable[[Attempt], Any], name: str) -> None:
        self.name = name
        self._function = function

    def evaluate(self, attempt: Attempt) -> Result:
        returned = self._function(attempt)
        if isinstance(returned, Result):
            return returned
        return Result(dict(returned) if isinstance(returned, Mapping) else {"score": returned})


class FunctionCallEvaluator:
    """An evaluator made from a callable in the shape of the LOB evaluation, with the metric `score`."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        self.metrics = (Metric("score", f"{name} score", bounds=None),)
        self._function = function

    def evaluate(self, attempt: Attempt) -> Result:
        returned = self._function(
            actual_function_calls=[_function_call(call, call.arguments) for call in attempt.actual],
            expected_function_calls=[_function_call(call, _ground_truth(call.arguments)) for call in attempt.expected],
        )
        score = returned.get("score") if isinstance(returned, Mapping) else getattr(returned, "score", returned)
        if score is None:
            raise EvaluatorError("score: expected a finite number, got None")
        return Result({"score": score})


def _construct(kind: type, name: str, options: Mapping[str, Any]) -> Any:
    parameters = _parameters(kind)
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        for option in options:
            if option not in parameters:
                known = f"Available: {', '.join(parameters)}." if parameters else "It takes no options."
                raise BadInput(f"evaluator {name!r}: unknown option {option!r}{did_you_mean(option, parameters)}", known)
    for option in getattr(kind, "requires", ()):
        if option not in options:
            start = "Pass --policy FILE, or set" if name == "policy" else "Set"
            raise BadInput(f"the evaluator {name} needs {option}", f"{start} {option} in [evaluators.{name}] of callmark.toml.")
    try:
        return kind(**options)
    except BadInput as error:
        raise BadInput(f"evaluators.{name}: {error}" if options else str(error), error.hint) from None
    except (Exception, SystemExit) as error:
        raise BadInput(f"evaluator {name!r} cannot be constructed: {error_text(error)}") from None


def _check_protocol(evaluator: Any, name: str) -> Evaluator:
    metrics, own_name = evaluator.metrics, getattr(evaluator, "name", None)
    if not isinstance(own_name, str) or not own_name:
        raise BadInput(f"{name!r} is not an evaluator: name: expected a string, got {own_name!r}")
    if not isinstance(metrics, Sequence) or not metrics or not all(isinstance(metric, Metric) for metric in metrics):
        raise BadInput(f"{name!r} is not an evaluator: metrics: expected a tuple of Metric, got {metrics!r:.80}")
    names = [metric.name for metric in metrics]
    if len(set(names)) < len(names):
        raise BadInput(f"{name!r} is not an evaluator: metrics: expected unique names, got {', '.join(names)}")
    return cast("Evaluator", evaluator)


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _takes_one_argument(parameters: Any) -> bool:
    given = [parameter for parameter in parameters if parameter.kind not in (parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY)]
    required = [parameter for parameter in given if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL]
    keywords = [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty]
    return bool(given) and len(required) <= 1 and not keywords


def _described(source: Any) -> str:
    return "a function" if inspect.isroutine(source) else f"a {type(source).__name__}"


def _function_call(call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"functionName": call.name, "arguments": call.text if call.malformed else arguments}


def _ground_truth(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return expected arguments in the form of the LOB evaluation: literal stars are escaped, values under match rules unwrapped."""
    return {key: escape_globs(_without_rule(value)) for key, value in arguments.items()}


def _without_rule(value: Any) -> Any:
    if isinstance(value, dict):
        return value[SIMILAR] if SIMILAR in value else {key: _without_rule(item) for key, item in value.items()}
    return [_without_rule(item) for item in value] if isinstance(value, list) else value
