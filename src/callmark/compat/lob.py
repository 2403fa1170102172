"""The API of the LOB evaluation: five evaluators, a base class, and the service that runs them.

    from callmark.compat.lob import EvaluationService, FunctionCallPrecisionEvaluator, FunctionCallRecallEvaluator

    FunctionCallPrecisionEvaluator()(actual_function_calls=actual, expected_function_calls=expected).score
    EvaluationService().evaluate("scenarios.json", "output", target, [FunctionCallPrecisionEvaluator(), FunctionCallRecallEvaluator()])

The evaluators also run inside `azure.ai.evaluation.evaluate(evaluators={"Precision_fn": FunctionCallPrecisionEvaluator(), …})`.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, cast

from callmark.calls.toolsets import read_tools
from callmark.compat.lob_columns import MISSING, actual_calls, expected_calls, plain_calls
from callmark.compat.lob_original import OriginalMetric, original_score
from callmark.compat.lob_service import Evaluation, EvaluationService
from callmark.compat.lob_simulator import ChatSimulator
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.process import ProcessEvaluator
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS
from callmark.types import Tool
from callmark.wording import did_you_mean

__all__ = [
    "ChatSimulator",
    "Evaluation",
    "EvaluationService",
    "Evaluator",
    "EvaluatorResult",
    "FunctionCallArgsPrecisionEvaluator",
    "FunctionCallArgsRecallEvaluator",
    "FunctionCallPrecisionEvaluator",
    "FunctionCallRecallEvaluator",
    "FunctionCallReliabilityEvaluator",
]

_AVERAGINGS = ("micro", "macro")


class EvaluatorResult(dict[str, Any]):
    """A score, as an attribute and as `{"score": …}`, which azure-ai-evaluation turns into a column."""

    def __init__(self, score: float) -> None:
        super().__init__(score=score)

    @property
    def score(self) -> float:
        score: float = self["score"]
        return score


class Evaluator:
    """Base class for custom evaluators: override `evaluate`, or a `__call__` that returns an `EvaluatorResult`."""

    def __call__(self, *, actual_function_calls: Any, expected_function_calls: Any, **kwargs: Any) -> EvaluatorResult:
        return EvaluatorResult(score=self.evaluate(actual_function_calls, expected_function_calls))

    def evaluate(self, actual_function_calls: Any, expected_function_calls: Any) -> float:
        raise NotImplementedError(f"{type(self).__name__} does not define evaluate")


class _ProcessEvaluator(Evaluator):
    """One metric of the evaluator `process`. Calls may have any shape, as a list or as JSON text; null means no calls.

    Invalid actual calls never raise: they become malformed calls. Invalid expected calls raise `BadInput`. So does a row without a
    prediction (an `error_message`, no column of calls, or NaN in it); azure-ai-evaluation then excludes the row from the mean. With
    `strict_original`, the score is the one of the original LOB evaluation, with its peculiarities.
    """

    column: ClassVar[str]  # its name in the LOB evaluation
    metric: ClassVar[OriginalMetric]

    def __init__(
        self,
        *,
        ignore: Iterable[str] = IGNORED_FUNCTIONS,
        averaging: Literal["micro", "macro"] = "micro",
        tools: Any = None,
        strict_original: bool = False,
    ) -> None:
        """`ignore` are globs of functions to ignore; `averaging` is as in `ProcessEvaluator`; `tools` are for rows without tools."""
        if averaging not in _AVERAGINGS:
            raise BadInput(f"averaging: expected micro or macro, got {averaging!r}{did_you_mean(str(averaging), _AVERAGINGS)}")
        self._evaluator = ProcessEvaluator((ignore,) if isinstance(ignore, str) else tuple(ignore), averaging)
        self._tools = read_tools(tools)
        self._strict_original = strict_original

    def __call__(
        self,
        *,
        actual_function_calls: Any = MISSING,  # a default, because azure-ai-evaluation 1.18 looks for the column before mapping it
        expected_function_calls: Any,
        tools: Any = None,
        error_message: Any = None,
        **kwargs: Any,
    ) -> EvaluatorResult:
        if isinstance(error_message, str) and error_message:
            raise BadInput(f"no prediction to score: {error_message}")
        return EvaluatorResult(self._score(actual_function_calls, expected_function_calls, _read_tools(tools) or self._tools))

    def evaluate(self, actual_function_calls: Any, expected_function_calls: Any) -> float:
        return self._score(actual_function_calls, expected_function_calls, self._tools)

    def _score(self, actual: Any, expected: Any, tools: tuple[Tool, ...]) -> float:
        if self._strict_original:
            return original_score(self.metric, actual_calls(actual), plain_calls(expected))
        attempt = Attempt(expected_calls(expected), actual_calls(actual), tools=tools)
        return cast("float", self._evaluator.evaluate(attempt).values[self.metric])


class FunctionCallPrecisionEvaluator(_ProcessEvaluator):
    """The share of actual calls that were expected."""

    column, metric = "Precision_fn", "precision"


class FunctionCallRecallEvaluator(_ProcessEvaluator):
    """The share of expected calls that were matched by an actual call."""

    column, metric = "Recall_fn", "recall"


class FunctionCallArgsPrecisionEvaluator(_ProcessEvaluator):
    """The share of actual arguments that are correct, over matched calls."""

    column, metric = "Precision_args", "args_precision"


class FunctionCallArgsRecallEvaluator(_ProcessEvaluator):
    """The share of expected arguments that are correct, over matched calls."""

    column, metric = "Recall_args", "args_recall"


class FunctionCallReliabilityEvaluator(_ProcessEvaluator):
    """1 if the other four metrics are 1, else 0."""

    column, metric = "Reliability", "reliability"


def _read_tools(column: Any) -> tuple[Tool, ...]:
    """Return the row's own tools; empty if its `tools` column holds something else."""
    try:
        return read_tools(column)
    except BadInput:
        return ()
