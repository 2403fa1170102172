"""What the numbers of a run mean, and what to check first.

The interpretations are those of DeepFabric (bands, low scores) and of the LOB evaluation (precision and recall, reliability across scenario
types, the weakest functions). Where these say "high" and "low" without numbers, the constants here define them. Missing metrics have no
interpretation, nor has an empty run.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from callmark.analysis.breakdowns import OTHERS, Slice
from callmark.analysis.functions import ArgumentSummary, FunctionSummary, FunctionTable
from callmark.analysis.numbers import format_score
from callmark.grading.evaluator import Metric
from callmark.wording import pluralize

HIGH, LOW = 0.9, 0.75  # means from HIGH on are "high", means below LOW are "low"
APART = 0.1  # the difference from which on precision and recall differ, unless both are high
VARIES = 0.25  # the difference between the best and the worst scenario type from which on reliability is "variable"
MIN_CASES = 5  # fewer cases or calls are not ranked: a single one would change the number too much
MANY_UNREADABLE = 0.05  # of all predictions
MOST_NAMED = 3

_UNREADABLE_CHECKS = [
    "Check that the model's output follows the expected chat format.",
    "Check that the arguments of its calls are valid JSON.",
    "Check that max_tokens is high enough, so that no output is truncated, and that temperature is low enough for valid JSON.",
]


class Interpretation(Struct, frozen=True):
    """The metrics or results that are interpreted, what they mean, and what to check first, a sentence each."""

    subject: str
    text: str
    checks: list[str] = []


class _PrecisionAndRecall(Struct, frozen=True):
    """What a pair of precision and recall means, by which of them is higher."""

    precision: str
    recall: str
    higher_precision: str
    higher_recall: str
    both_low: str


_CALLS = _PrecisionAndRecall(
    "process.precision",
    "process.recall",
    "makes correct calls, but misses some required ones",
    "covers the expected calls, but makes unnecessary ones",
    "fundamental issues: the model does not know which tool to call when",
)
_ARGUMENTS = _PrecisionAndRecall(
    "process.args_precision",
    "process.args_recall",
    "the arguments are correct, but incomplete",
    "the expected arguments are there, but so are wrong ones",
    "significant issues: arguments are wrong or missing",
)


def interpret(
    means: Mapping[str, float],
    metrics: Mapping[str, Metric],
    *,
    scenario_types: Sequence[Slice] = (),
    functions: FunctionTable | None = None,
    graded: int = 0,
    errors: int = 0,
    malformed: int = 0,
) -> list[Interpretation]:
    """Return all interpretations of a run.

    `graded` is the number of predictions, `errors` the number of errors among them, `malformed` the number of malformed calls.
    """
    found = [*interpret_bands(means, metrics), *interpret_unreadable(graded, errors, malformed)]
    found += [*interpret_precision_and_recall(means), *interpret_reliability(means, scenario_types)]
    if functions is not None:
        found += [*interpret_functions(functions.functions), *interpret_arguments(functions.arguments)]
    return found


def interpret_bands(means: Mapping[str, float], metrics: Mapping[str, Metric]) -> list[Interpretation]:
    """Return the band of each metric that has bands. A metric with checks is left out in its best band; below, it comes with its checks."""
    banded = {name: metric for name, metric in metrics.items() if metric.bands and name in means}
    overall = [Interpretation(name, metric.band(means[name])) for name, metric in banded.items() if not metric.checks]
    return overall + [
        Interpretation(name, metric.band(means[name]), list(metric.checks))
        for name, metric in banded.items()
        if metric.checks and means[name] < metric.bands[0][0]
    ]


def interpret_unreadable(graded: int, errors: int, malformed: int) -> list[Interpretation]:
    """Return DeepFabric's "high processing errors": many errors or malformed calls."""
    if not errors + malformed or errors + malformed < MANY_UNREADABLE * graded:
        return []
    text = f"{pluralize(errors, 'error')} and {pluralize(malformed, 'malformed call')} in {pluralize(graded, 'prediction')}"
    return [Interpretation("processing errors", text, list(_UNREADABLE_CHECKS))]


def interpret_precision_and_recall(means: Mapping[str, float]) -> list[Interpretation]:
    """Return what precision and recall of calls and of arguments say together; nothing where both are high, or similar and not both low."""
    return [*_interpret_pair(means, _CALLS), *_interpret_pair(means, _ARGUMENTS)]


def interpret_reliability(means: Mapping[str, float], scenario_types: Sequence[Slice] = ()) -> list[Interpretation]:
    """Return reliability across the scenario types with enough cases; over the whole run if there are fewer than two of them."""
    name = "process.reliability"
    if name not in means:
        return []
    types = sorted([each for each in scenario_types if each.n >= MIN_CASES and name in each.means], key=lambda each: each.means[name])
    lowest, highest = (types[0].means[name], types[-1].means[name]) if len(types) > 1 else (means[name], means[name])
    if lowest >= HIGH:
        return [Interpretation(name, "high: business processes are followed correctly")]
    if highest < LOW:
        low = "consistently low" if len(types) > 1 else "low"
        return [Interpretation(name, f"{low}: fundamental issues in following business processes")]
    if round(highest - lowest, 9) < VARIES:
        return []
    best, worst = (f"{each.name} {format_score(each.means[name])}" for each in (types[-1], types[0]))
    text = f"variable: some workflows are handled better than others ({best}, {worst})"
    weak = [each for each in types if each.means[name] < LOW][:MOST_NAMED]
    checks = [f"Check {each.name}: reliability {format_score(each.means[name])} in {each.n:,} cases." for each in weak]
    return [Interpretation(name, text, checks)]


def interpret_functions(functions: Sequence[FunctionSummary]) -> list[Interpretation]:
    """Return the functions with the lowest precision or recall, unless these are high."""
    weakness = [(_weakness(function), function) for function in functions if function.name != OTHERS]
    weakest = sorted([pair for pair in weakness if pair[0] < HIGH], key=lambda pair: (pair[0], -pair[1].expected, pair[1].name))
    if not weakest:
        return []
    checks = [_function_text(function) for _, function in weakest[:MOST_NAMED]]
    return [Interpretation("tools", "some tools have low precision or recall: improve these first", checks)]


def interpret_arguments(arguments: Sequence[ArgumentSummary]) -> list[Interpretation]:
    """Return the arguments that are wrong most often."""
    repeated = [each for each in arguments if each.count >= MIN_CASES and OTHERS not in (each.function, each.argument)]
    checks = [f"Check {each.function}.{each.argument}: {_fault_counts(each)}." for each in repeated[:MOST_NAMED]]
    return [Interpretation("arguments", "the same arguments are repeatedly wrong", checks)] if checks else []


def _interpret_pair(means: Mapping[str, float], meaning: _PrecisionAndRecall) -> list[Interpretation]:
    if meaning.precision not in means or meaning.recall not in means:
        return []
    precision, recall = means[meaning.precision], means[meaning.recall]
    subject = f"{meaning.precision}, {meaning.recall}"
    if precision < LOW and recall < LOW:
        return [Interpretation(subject, meaning.both_low)]
    if min(precision, recall) >= HIGH or round(abs(precision - recall), 9) < APART:
        return []
    return [Interpretation(subject, meaning.higher_precision if precision > recall else meaning.higher_recall)]


def _weakness(function: FunctionSummary) -> float:
    """Return the lower of precision and recall; one with too few calls counts as 1."""
    precision = function.precision if function.precision is not None and function.actual >= MIN_CASES else 1.0
    recall = function.recall if function.recall is not None and function.expected >= MIN_CASES else 1.0
    return min(precision, recall)


def _function_text(function: FunctionSummary) -> str:
    numbers = [] if function.precision is None else [f"precision {format_score(function.precision)} ({function.actual:,} actual)"]
    numbers += [] if function.recall is None else [f"recall {format_score(function.recall)} ({function.expected:,} expected)"]
    return f"Check {function.name}: {', '.join(numbers)}."


def _fault_counts(argument: ArgumentSummary) -> str:
    counts = {
        "missing": argument.missing,
        "extra": argument.extra,
        "unknown": argument.unknown,
        "wrong type": argument.wrong_type,
        "wrong value": argument.wrong_value,
    }
    return ", ".join(f"{kind} {count:,}×" for kind, count in counts.items() if count)
