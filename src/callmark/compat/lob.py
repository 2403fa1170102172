"""Document 004's names: the five evaluators, a base for one's own, and the service that runs them (docs/metrics.md, sections 8 and 15).

    from callmark.compat.lob import EvaluationService, FunctionCallPrecisionEvaluator, FunctionCallRecallEvaluator

    FunctionCallPrecisionEvaluator()(actual_function_calls=made, expected_function_calls=expected).score
    EvaluationService().evaluate("scenarios.json", "output", target, [FunctionCallPrecisionEvaluator(), FunctionCallRecallEvaluator()])

The evaluators also run inside `azure.ai.evaluation.evaluate(evaluators={"Precision_fn": FunctionCallPrecisionEvaluator(), …})`.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, cast

from callmark.calls.toolsets import read_tools
from callmark.compat.lob_columns import MISSING, expected_calls, made_calls
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
    """`result.score`, and an object `{"score": …}` as well, which is what azure-ai-evaluation makes columns of."""

    def __init__(self, score: float) -> None:
        super().__init__(score=score)

    @property
    def score(self) -> float:
        score: float = self["score"]
        return score


class Evaluator:
    """Base of an evaluator of one's own: it gives `evaluate`, or a `__call__` that gives an `EvaluatorResult`."""

    def __call__(self, *, actual_function_calls: Any, expected_function_calls: Any, **kwargs: Any) -> EvaluatorResult:
        return EvaluatorResult(score=self.evaluate(actual_function_calls, expected_function_calls))

    def evaluate(self, actual_function_calls: Any, expected_function_calls: Any) -> float:
        raise NotImplementedError(f"{type(self).__name__} has no evaluate")


class _ProcessEvaluator(Evaluator):
    """One number of the evaluator `process`. Calls come in any shape, as a list or as its JSON text; null is none.

    What a model made never raises: it is a malformed call. Expected calls that cannot be read raise `BadInput`. So does a row without an
    answer (an `error_message`, or no column of calls, or NaN in it), which azure-ai-evaluation then leaves out of the mean.
    """

    column: ClassVar[str]  # what document 004 calls it
    metric: ClassVar[str]

    def __init__(
        self, *, ignore: Iterable[str] = IGNORED_FUNCTIONS, averaging: Literal["micro", "macro"] = "micro", tools: Any = None
    ) -> None:
        """`ignore`: globs of functions that do not count. `averaging`: see `ProcessEvaluator`. `tools`: where the rows have none."""
        if averaging not in _AVERAGINGS:
            raise BadInput(f"averaging is {averaging!r}, micro or macro was expected{did_you_mean(str(averaging), _AVERAGINGS)}")
        self._evaluator = ProcessEvaluator((ignore,) if isinstance(ignore, str) else tuple(ignore), averaging)
        self._tools = read_tools(tools)

    def __call__(
        self,
        *,
        actual_function_calls: Any = MISSING,  # a default, because azure-ai-evaluation 1.18 looks for the column before it has mapped it
        expected_function_calls: Any,
        tools: Any = None,
        error_message: Any = None,
        **kwargs: Any,
    ) -> EvaluatorResult:
        if isinstance(error_message, str) and error_message:
            raise BadInput(f"there is no answer to score: {error_message}")
        return EvaluatorResult(self._score(actual_function_calls, expected_function_calls, _read_tools(tools) or self._tools))

    def evaluate(self, actual_function_calls: Any, expected_function_calls: Any) -> float:
        return self._score(actual_function_calls, expected_function_calls, self._tools)

    def _score(self, actual: Any, expected: Any, tools: tuple[Tool, ...]) -> float:
        attempt = Attempt(expected_calls(expected), made_calls(actual), tools=tools)
        return cast("float", self._evaluator.evaluate(attempt).values[self.metric])


class FunctionCallPrecisionEvaluator(_ProcessEvaluator):
    """Of the calls made, how many were expected."""

    column, metric = "Precision_fn", "precision"


class FunctionCallRecallEvaluator(_ProcessEvaluator):
    """Of the calls expected, how many were made."""

    column, metric = "Recall_fn", "recall"


class FunctionCallArgsPrecisionEvaluator(_ProcessEvaluator):
    """Of the arguments made in calls that were expected, how many agree."""

    column, metric = "Precision_args", "args_precision"


class FunctionCallArgsRecallEvaluator(_ProcessEvaluator):
    """Of the arguments expected in calls that were made, how many agree."""

    column, metric = "Recall_args", "args_recall"


class FunctionCallReliabilityEvaluator(_ProcessEvaluator):
    """1 where the other four are 1, else 0."""

    column, metric = "Reliability", "reliability"


def _read_tools(given: Any) -> tuple[Tool, ...]:
    """The row's own tools; a column of that name which holds something else says nothing about schemas."""
    try:
        return read_tools(given)
    except BadInput:
        return ()
