"""Compare `callmark.compat.lob` with the formulas of the original LOB evaluation, whose code is not a package. For benchmarks/parity.py.

With `strict_original=True` every number must be equal. The differences are those of the evaluators without it.
"""

from tests.compat.lob_formulas import by_formula, call, generate_calls

from callmark.compat.lob import (
    FunctionCallArgsPrecisionEvaluator,
    FunctionCallArgsRecallEvaluator,
    FunctionCallPrecisionEvaluator,
    FunctionCallRecallEvaluator,
    FunctionCallReliabilityEvaluator,
)
from parity_cases import NamedCall
from parity_systems import Difference

METRICS = {
    "Precision_fn": FunctionCallPrecisionEvaluator,
    "Recall_fn": FunctionCallRecallEvaluator,
    "Precision_args": FunctionCallArgsPrecisionEvaluator,
    "Recall_args": FunctionCallArgsRecallEvaluator,
    "Reliability": FunctionCallReliabilityEvaluator,
}
KEYED = "calls are stored by name, so the last one replaces the others"
DIFFERENCES = (
    Difference(
        "two equal calls, as expected", "Recall_fn", [("f", {"x": "2"})] * 2, [("f", {"x": "2"})] * 2, 0.5, 1.0, KEYED, "repeats collapse"
    ),
    Difference(
        "two calls of one function, one with a wrong value",
        "Recall_args",
        [("f", {"x": "a"}), ("f", {"x": "b"})],
        [("f", {"x": "wrong"}), ("f", {"x": "b"})],
        1.0,
        0.5,
        KEYED,
        "repeats collapse",
    ),
    Difference("a call made three times", "Precision_fn", [("f", {})], [("f", {})] * 3, 1.0, 1 / 3, KEYED, "extra calls are free"),
    Difference("nothing expected and no call", "Recall_fn", [], [], 0.0, 1.0, "a side without calls is 0", "abstention is 0"),
    Difference(
        "texts without ASCII letters are equal",
        "Recall_args",
        [("f", {"x": "東京"})],
        [("f", {"x": "大阪"})],
        1.0,
        0.0,
        "every letter outside ASCII is removed before the comparison",
    ),
    Difference(
        "reliability with an extra function",
        "Reliability",
        [("f", {})],
        [("f", {}), ("g", {})],
        1.0,
        0.0,
        "it is the mean of the two recalls; callmark's is 1 only if all four metrics are 1",
        "extra calls are free",
    ),
)


def compare_formulas(count: int, seed: int) -> tuple[int, list[str]]:
    """Return how many numbers are equal on generated calls, and those that differ."""
    equal, unequal = 0, []
    evaluators = [evaluator(strict_original=True) for evaluator in METRICS.values()]
    for actual, expected in generate_calls(count, seed):
        ours = [one(actual_function_calls=actual, expected_function_calls=expected).score for one in evaluators]
        for metric, mine, theirs in zip(METRICS, ours, by_formula(actual, expected), strict=True):
            if abs(mine - theirs) < 1e-9:
                equal += 1
            else:
                unequal.append(f"{metric}: formula {theirs}, callmark {mine}: expected {expected}, actual {actual}")
    return equal, unequal


def check_differences() -> list[str]:
    """Return the differences that are not as listed."""
    wrong = []
    for one in DIFFERENCES:
        expected, actual = _calls(one.expected), _calls(one.actual)
        theirs = by_formula(actual, expected)[list(METRICS).index(one.metric)]
        ours = METRICS[one.metric]()(actual_function_calls=actual, expected_function_calls=expected).score
        if abs(theirs - float(one.theirs or 0)) > 1e-9 or abs(ours - one.ours) > 1e-6:
            wrong.append(f"{one.title}: listed {one.theirs} and {one.ours}, found {theirs} and {ours}")
    return wrong


def _calls(calls: list[NamedCall]) -> list[dict[str, object]]:
    return [call(name, **arguments) for name, arguments in calls]
