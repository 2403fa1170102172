"""Run several evaluators together, and reuse results that must be the same."""

from collections.abc import Sequence

from callmark.errors import EvaluatorError
from callmark.grading.attempt import Attempt, Execution
from callmark.grading.evaluate import CheckedEvaluator, CombinedResult, evaluate_all
from callmark.grading.evaluator import Dependency, Evaluator, Metric, dependencies
from callmark.grading.faults import FaultCounting

CORRECT = Execution(True, True, True)
_MAX_RESULTS = 10_000  # models hallucinate any number of names


class EvaluatorSet:
    """Evaluators in order. If all of them declare their dependencies, results are computed once and reused.

    `correct_results` are those known so far for one correct call that could run, by its name.
    """

    def __init__(self, evaluators: Sequence[Evaluator]) -> None:
        self.evaluators = evaluators
        self._checked = [CheckedEvaluator(evaluator) for evaluator in evaluators]
        self.fault_counting = FaultCounting(evaluators)
        self._dependencies = _shared_dependencies(evaluators)
        self._results: dict[object, CombinedResult] = {}
        self.correct_results: dict[str, CombinedResult] = {}

    @property
    def metrics(self) -> dict[str, Metric]:
        """The declared metrics by full name, in order."""
        return {f"{evaluator.name}.{metric.name}": metric for evaluator in self.evaluators for metric in evaluator.metrics}

    def evaluate(self, attempt: Attempt) -> CombinedResult:
        """Run the evaluators on an attempt. The result may be shared with other attempts."""
        key = None if self._dependencies is None else self._key(attempt, self._dependencies)
        if key is None:
            return evaluate_all(attempt, self._checked)
        result = self._results.get(key)
        if result is None:
            result = evaluate_all(attempt, self._checked)
            if len(self._results) > _MAX_RESULTS:
                self._results.clear()
                self.correct_results.clear()
            if not result.errors:
                self._results[key] = result
                if key == (CORRECT, attempt.expected[0].name if attempt.expected else None):
                    self.correct_results[attempt.expected[0].name] = result
        return result

    def _key(self, attempt: Attempt, depends_on: frozenset[Dependency]) -> object:
        """Return a key of everything that the results depend on; None if they cannot be reused."""
        try:
            execution = attempt.execution if "execution" in depends_on else CORRECT
            if not attempt.pair().perfect:
                return _single_call_key(attempt, execution)
            calls = attempt.expected
            return execution, calls[0].name if len(calls) == 1 else tuple([call.name for call in calls])
        except EvaluatorError:  # the evaluators that compare the calls fail, and the others do not
            return None


def _shared_dependencies(evaluators: Sequence[Evaluator]) -> frozenset[Dependency] | None:
    """Return the dependencies of all evaluators; None if one of them does not declare any."""
    found: set[Dependency] = set()
    for evaluator in evaluators:
        depends_on = dependencies(evaluator)
        if depends_on is None:
            return None
        found |= depends_on
    return frozenset(found)


def _single_call_key(attempt: Attempt, execution: Execution) -> object:
    """Return a key of everything that the results for one expected call and at most one actual call depend on; None for more calls."""
    if len(attempt.expected) != 1 or len(attempt.actual) > 1:
        return None
    expected_name, actual_name = attempt.expected[0].name, attempt.actual[0].name if attempt.actual else None
    pairs = attempt.pair().pairs
    if pairs:
        exact, similar = pairs[0].arguments, attempt.pair("similar").pairs[0].arguments
        return execution, expected_name, exact.agree, similar.agree, exact.expected, exact.actual, exact.named
    if actual_name is not None and expected_name != actual_name and expected_name.casefold() == actual_name.casefold():
        return None  # `similar` pairs them
    return execution, expected_name, actual_name
