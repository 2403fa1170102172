"""What the numbers of a run mean, and what to check first.

The interpretations are those of DeepFabric (bands, low scores) and of the LOB evaluation (precision and recall, reliability across scenario
types, the weakest functions). Where these say "high" and "low" without numbers, the constants here define them. A band is always shown,
with those of the ends of the interval. What precision, recall and reliability mean is said only where the whole interval supports it:
without an interval, nothing is. Missing metrics have no interpretation, nor has an empty run.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

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
MANY_MALFORMED = 0.05  # of the scored predictions
MOST_NAMED = 3
_Z = 1.959964  # of a 95% interval

_MALFORMED_CHECKS = [
    "Check that the model's output follows the expected chat format.",
    "Check that the arguments of its calls are valid JSON.",
    "Check that max_tokens is high enough, so that no output is truncated, and that temperature is low enough for valid JSON.",
]


class Score(Struct, frozen=True):
    """A mean and its interval; None without one."""

    mean: float
    low: float | None = None
    high: float | None = None

    def is_at_least(self, limit: float) -> bool:
        """Whether the whole interval is."""
        return self.low is not None and self.low >= limit

    def is_below(self, limit: float) -> bool:
        """Whether the whole interval is."""
        return self.high is not None and self.high < limit

    def is_above(self, other: "Score") -> bool:
        """Whether the whole interval is above the whole interval of another score."""
        return self.low is not None and other.high is not None and self.low > other.high


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
    "the expected arguments are there, but so are unexpected ones",
    "significant issues: arguments are wrong or missing",
)


def interpret(
    scores: Mapping[str, Score],
    metrics: Mapping[str, Metric],
    *,
    scenario_types: Sequence[Slice] = (),
    functions: FunctionTable | None = None,
    scored: int = 0,
    malformed: int = 0,
) -> list[Interpretation]:
    """Return all interpretations of a run; none with fewer than `MIN_CASES` scored predictions.

    `scored` is the number of scored predictions, `malformed` the number of malformed calls in them.
    """
    if scored < MIN_CASES:
        return []
    found = [*interpret_bands(scores, metrics), *interpret_malformed(scored, malformed)]
    found += [*interpret_precision_and_recall(scores), *interpret_reliability(scores, scenario_types)]
    if functions is not None:
        found += [*interpret_functions(functions.functions), *interpret_arguments(functions.arguments)]
    return found


def interpret_bands(scores: Mapping[str, Score], metrics: Mapping[str, Metric]) -> list[Interpretation]:
    """Return the band of each metric that has bands, with those of the ends of its interval if they are others.

    A metric with checks is left out in its best band; below, it comes with its checks.
    """
    banded = {name: metric for name, metric in metrics.items() if metric.bands and name in scores}
    overall = [Interpretation(name, _band_text(metric, scores[name])) for name, metric in banded.items() if not metric.checks]
    return overall + [
        Interpretation(name, _band_text(metric, scores[name]), list(metric.checks))
        for name, metric in banded.items()
        if metric.checks and scores[name].mean < metric.bands[0][0]
    ]


def _band_text(metric: Metric, score: Score) -> str:
    _, colon, advice = metric.band(score.mean).partition(":")
    return f"{metric.band_range(score.mean, score.low, score.high)}{colon}{advice}"


def interpret_malformed(scored: int, malformed: int) -> list[Interpretation]:
    """Return DeepFabric's "high processing errors" for many malformed calls. Infrastructure errors are not the model's and do not count."""
    if not malformed or malformed < MANY_MALFORMED * scored:
        return []
    text = f"{pluralize(malformed, 'malformed call')} in {pluralize(scored, 'scored prediction')}"
    return [Interpretation("processing errors", text, list(_MALFORMED_CHECKS))]


def interpret_precision_and_recall(scores: Mapping[str, Score]) -> list[Interpretation]:
    """Return what precision and recall of calls and of arguments say together; nothing where both are high, or similar and not both low."""
    return [*_interpret_pair(scores, _CALLS), *_interpret_pair(scores, _ARGUMENTS)]


def interpret_reliability(scores: Mapping[str, Score], scenario_types: Sequence[Slice] = ()) -> list[Interpretation]:
    """Return reliability across the scenario types with enough cases; over the whole run if there are fewer than two of them."""
    name = "process.reliability"
    if name not in scores:
        return []
    types = sorted([each for each in scenario_types if each.n >= MIN_CASES and name in each.means], key=lambda each: each.means[name])
    compared = [_slice_score(each.means[name], each.n) for each in types] if len(types) > 1 else [scores[name]]
    if all(score.is_at_least(HIGH) for score in compared):
        return [Interpretation(name, "high: business processes are followed correctly")]
    if all(score.is_below(LOW) for score in compared):
        low = "consistently low" if len(types) > 1 else "low"
        return [Interpretation(name, f"{low}: few conversations have exactly the expected calls")]
    if round(compared[-1].mean - compared[0].mean, 9) < VARIES or not compared[-1].is_above(compared[0]):
        return []
    best, worst = (f"{each.name} {format_score(each.means[name])}" for each in (types[-1], types[0]))
    text = f"variable: some workflows are handled better than others ({best}, {worst})"
    weak = [each for each in types if each.means[name] < LOW][:MOST_NAMED]
    checks = [f"Check that {each.name} works: reliability {format_score(each.means[name])} in {each.n:,} cases." for each in weak]
    return [Interpretation(name, text, checks)]


def interpret_functions(functions: Sequence[FunctionSummary]) -> list[Interpretation]:
    """Return the functions with the lowest precision or recall, unless these are high."""
    weakness = [(_weakness(function), function) for function in functions if function.name != OTHERS]
    weakest = sorted([pair for pair in weakness if pair[0] < HIGH], key=lambda pair: (pair[0], -pair[1].expected, pair[1].name))
    if not weakest:
        return []
    checks = [_function_text(function) for _, function in weakest[:MOST_NAMED]]
    return [Interpretation("tools", "some tools have low precision or recall: look at these first", checks)]


def interpret_arguments(arguments: Sequence[ArgumentSummary]) -> list[Interpretation]:
    """Return the arguments that are wrong most often."""
    repeated = [each for each in arguments if each.count >= MIN_CASES and OTHERS not in (each.function, each.argument)]
    checks = [f"Check that {each.function}.{each.argument} is described clearly: {_fault_counts(each)}." for each in repeated[:MOST_NAMED]]
    return [Interpretation("arguments", "the same arguments are repeatedly wrong", checks)] if checks else []


def _interpret_pair(scores: Mapping[str, Score], meaning: _PrecisionAndRecall) -> list[Interpretation]:
    if meaning.precision not in scores or meaning.recall not in scores:
        return []
    precision, recall = scores[meaning.precision], scores[meaning.recall]
    subject = f"{meaning.precision}, {meaning.recall}"
    if precision.is_below(LOW) and recall.is_below(LOW):
        return [Interpretation(subject, meaning.both_low)]
    higher, lower = (precision, recall) if precision.mean > recall.mean else (recall, precision)
    if not lower.is_below(HIGH) or round(higher.mean - lower.mean, 9) < APART or not higher.is_above(lower):
        return []
    return [Interpretation(subject, meaning.higher_precision if higher is precision else meaning.higher_recall)]


def _slice_score(mean: float, n: int) -> Score:
    """Return the score of a part of a run with its Wilson interval, as if its cases were independent."""
    spread = _Z * _Z / n
    center, half = (mean + spread / 2) / (1 + spread), sqrt(spread * mean * (1 - mean) + spread * spread / 4) / (1 + spread)
    return Score(mean, center - half, center + half)


def _weakness(function: FunctionSummary) -> float:
    """Return the lower of precision and recall; one with too few calls counts as 1."""
    precision = function.precision if function.precision is not None and function.actual >= MIN_CASES else 1.0
    recall = function.recall if function.recall is not None and function.expected >= MIN_CASES else 1.0
    return min(precision, recall)


def _function_text(function: FunctionSummary) -> str:
    """Return the check of a weak function, with precision or recall, or with both where neither is high."""
    numbers = []
    where = "where it should be"
    if function.precision is not None and function.precision < HIGH:
        numbers.append(f"precision {format_score(function.precision)} ({function.actual:,} actual)")
        where = "only where it should be"
    if function.recall is not None and function.recall < HIGH:
        where = "where it should be, and only there" if numbers else where
        numbers.append(f"recall {format_score(function.recall)} ({function.expected:,} expected)")
    return f"Check that {function.name} is called {where}: {', '.join(numbers)}."


def _fault_counts(argument: ArgumentSummary) -> str:
    counts = {
        "missing": argument.missing,
        "extra": argument.extra,
        "unknown": argument.unknown,
        "wrong type": argument.wrong_type,
        "wrong value": argument.wrong_value,
    }
    return ", ".join(f"{kind} {count:,}×" for kind, count in counts.items() if count)
