"""What the numbers of a run mean in words, and what to check first.

The readings are those of DeepFabric (bands, low scores) and of the LOB evaluation (precision against recall, reliability across scenarios,
the weakest functions). Where these say "high" and "low" without numbers, the constants here give them. Metrics that are missing give no
interpretation, an empty run none.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from callmark.analysis.breakdowns import OTHERS, Slice
from callmark.analysis.functions import ArgumentSummary, FunctionSummary, FunctionTable
from callmark.grading.evaluator import Metric
from callmark.wording import pluralize

HIGH, LOW = 0.9, 0.75  # the least means that are "high", and that are not "low"
APART = 0.1  # the difference at which one of two numbers is "high" against the other, unless both are high
VARIES = 0.25  # between the best scenario type and the worst
FEWEST = 5  # cases or calls below which a number means nothing: one more or less would change it
MANY_UNREADABLE = 0.05  # of all predictions
MOST_NAMED = 3

_UNREADABLE_CHECKS = [
    "the output format is the chat format that was expected",
    "the model writes valid JSON in its calls",
    "temperature and max_tokens fit: an answer that is cut short cannot be read",
]


class Interpretation(Struct, frozen=True):
    """What is interpreted (a metric, two of them, or something else), what it means, and what to check first, if anything."""

    subject: str
    text: str
    checks: list[str] = []


class _PrecisionAndRecall(Struct, frozen=True):
    """What precision against recall means for a pair of metrics."""

    precision: str
    recall: str
    higher_precision: str
    higher_recall: str
    both_low: str


_CALLS = _PrecisionAndRecall(
    "process.precision",
    "process.recall",
    "makes correct calls but misses some that are required",
    "covers the expected calls but makes unnecessary ones",
    "fundamental issues: it is not understood which function is to be called when",
)
_ARGUMENTS = _PrecisionAndRecall(
    "process.args_precision",
    "process.args_recall",
    "the arguments it gives are correct, but incomplete",
    "the expected arguments are there, but wrong ones as well",
    "significant issues with arguments: they are wrong or missing",
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
    """Return all interpretations of a run, from the means and definitions of its metrics, its slices, its functions and its counts.

    `errors` of the `graded` predictions are errors; `malformed` counts malformed calls.
    """
    found = [*interpret_bands(means, metrics), *interpret_unreadable(graded, errors, malformed)]
    found += [*interpret_precision_and_recall(means), *interpret_reliability(means, scenario_types)]
    if functions is not None:
        found += [*interpret_functions(functions.functions), *interpret_arguments(functions.arguments)]
    return found


def interpret_bands(means: Mapping[str, float], metrics: Mapping[str, Metric]) -> list[Interpretation]:
    """Return the band of each metric that has bands; of a metric with checks only below its best band, with these checks."""
    banded = {name: metric for name, metric in metrics.items() if metric.bands and name in means}
    overall = [Interpretation(name, metric.band(means[name])) for name, metric in banded.items() if not metric.checks]
    return overall + [
        Interpretation(name, metric.band(means[name]), list(metric.checks))
        for name, metric in banded.items()
        if metric.checks and means[name] < metric.bands[0][0]
    ]


def interpret_unreadable(graded: int, errors: int, malformed: int) -> list[Interpretation]:
    """Return DeepFabric's "high processing errors": many predictions that are errors, or calls that are malformed."""
    if not errors + malformed or errors + malformed < MANY_UNREADABLE * graded:
        return []
    text = f"{pluralize(errors, 'error')} and {pluralize(malformed, 'malformed call')} in {pluralize(graded, 'answer')}"
    return [Interpretation("processing errors", text, list(_UNREADABLE_CHECKS))]


def interpret_precision_and_recall(means: Mapping[str, float]) -> list[Interpretation]:
    """Return precision against recall, of calls and of arguments; nothing where both are high, or much the same and not both low."""
    return [*_interpret_pair(means, _CALLS), *_interpret_pair(means, _ARGUMENTS)]


def interpret_reliability(means: Mapping[str, float], scenario_types: Sequence[Slice] = ()) -> list[Interpretation]:
    """Return reliability across the scenario types that have enough cases; without two of them, of the whole run."""
    name = "process.reliability"
    if name not in means:
        return []
    types = sorted([each for each in scenario_types if each.n >= FEWEST and name in each.means], key=lambda each: each.means[name])
    lowest, highest = (types[0].means[name], types[-1].means[name]) if len(types) > 1 else (means[name], means[name])
    if lowest >= HIGH:
        return [Interpretation(name, "high: business processes are followed correctly")]
    if highest < LOW:
        low = "consistently low" if len(types) > 1 else "low"
        return [Interpretation(name, f"{low}: fundamental issues with how business processes are carried out")]
    if round(highest - lowest, 9) < VARIES:
        return []
    text = f"variable: better at some workflows than at others ({types[-1].name} {highest:.2f}, {types[0].name} {lowest:.2f})"
    weak = [f"{each.name} ({each.means[name]:.2f} of {each.n:,})" for each in types if each.means[name] < LOW]
    return [Interpretation(name, text, weak[:MOST_NAMED])]


def interpret_functions(functions: Sequence[FunctionSummary]) -> list[Interpretation]:
    """Return the functions with the lowest precision or recall, where these are not high."""
    weakness = [(_weakness(function), function) for function in functions if function.name != OTHERS]
    weakest = sorted([pair for pair in weakness if pair[0] < HIGH], key=lambda pair: (pair[0], -pair[1].expected, pair[1].name))
    if not weakest:
        return []
    checks = [_function_text(function) for _, function in weakest[:MOST_NAMED]]
    return [Interpretation("functions", "the lowest precision and recall: improve these first", checks)]


def interpret_arguments(arguments: Sequence[ArgumentSummary]) -> list[Interpretation]:
    """Return the arguments that are wrong again and again."""
    repeated = [each for each in arguments if each.count >= FEWEST and OTHERS not in (each.function, each.argument)]
    checks = [f"{each.function}.{each.argument} ({_fault_counts(each)})" for each in repeated[:MOST_NAMED]]
    return [Interpretation("arguments", "the same arguments are wrong again and again", checks)] if checks else []


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
    """Return the lower of precision and recall, of those that rest on enough calls."""
    precision = function.precision if function.precision is not None and function.actual >= FEWEST else 1.0
    recall = function.recall if function.recall is not None and function.expected >= FEWEST else 1.0
    return min(precision, recall)


def _function_text(function: FunctionSummary) -> str:
    numbers = [] if function.precision is None else [f"precision {function.precision:.2f} of {function.actual:,}"]
    numbers += [] if function.recall is None else [f"recall {function.recall:.2f} of {function.expected:,}"]
    return f"{function.name}: {', '.join(numbers)}"


def _fault_counts(argument: ArgumentSummary) -> str:
    counts = {
        "missing": argument.missing,
        "extra": argument.extra,
        "unknown": argument.unknown,
        "wrong type": argument.wrong_type,
        "wrong value": argument.wrong_value,
    }
    return ", ".join(f"{kind} {count:,}×" for kind, count in counts.items() if count)
