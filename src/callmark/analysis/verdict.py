"""The verdict on a comparison in one sentence, and the metrics by direction: for the terminal and the page alike.

    tuned is better than base: call.score .668 → .784, +.116 [+.083, +.149], p < .001

The verdict is about the headline metric. Other metrics that changed significantly are listed as better or worse, the rest as unchanged.
"""

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from callmark.analysis.compare import Comparison, MetricChange
from callmark.analysis.differences import SMALL_DIFFERENCE
from callmark.analysis.numbers import format_difference, format_p_value, format_score
from callmark.wording import mark_heuristic, pluralize

Outcome = Literal["better", "worse", "within noise", "identical", "errors", "too few conversations", "not measured"]

MIN_CONVERSATIONS = 6  # with fewer, even differences in the same direction everywhere have a p-value of 2 / 2^5 = .0625


class MetricDifference(Struct, frozen=True):
    """A metric, its difference, second run minus first, and whether it is a heuristic."""

    metric: str
    difference: float
    heuristic: bool = False


class Verdict(Struct, frozen=True):
    """The outcome of a comparison.

    `sentence` says it with the numbers of the headline metric; `scope` says what was compared: `582 common cases, 103 conversations`.
    `better`, `worse` and `unchanged` are the other metrics, those that changed most first.
    """

    outcome: Outcome
    sentence: str
    scope: str
    better: list[MetricDifference]
    worse: list[MetricDifference]
    unchanged: list[MetricDifference]


def judge(comparison: Comparison, first: str, second: str, *, lower_is_better: Collection[str] = ()) -> Verdict:
    """Return the verdict on the second run compared with the first, by their names.

    The outcome is, in this order: `not measured` if a run lacks the headline metric, `errors` if one run has at least as many errors as
    there are common cases, `identical` if no metric and no case differs, `better` or `worse` if the headline differs significantly, `too
    few conversations` if no difference could be significant, else `within noise`.
    """
    directions: dict[str, list[MetricDifference]] = {"better": [], "worse": [], "unchanged": []}
    for metric, change in comparison.metrics.items():
        if metric != comparison.headline:
            direction = _direction(change, lower_is_better=metric in lower_is_better) or "unchanged"
            directions[direction].append(MetricDifference(metric, change.difference, change.heuristic))
    for differences in directions.values():
        differences.sort(key=lambda each: -abs(each.difference))
    outcome = _outcome(comparison, lower_is_better)
    return Verdict(outcome, _sentence(outcome, comparison, first, second), comparison_scope(comparison), **directions)


def comparison_scope(comparison: Comparison) -> str:
    """Return what was compared: `582 common cases, 103 conversations`; without conversations where each case has its own."""
    conversations = f", {pluralize(comparison.conversations, 'conversation')}" if comparison.conversations < comparison.cases else ""
    return f"{pluralize(comparison.cases, 'common case')}{conversations}"


def power_sentence(cases_needed: int) -> str:
    """Return how many cases detecting a small difference needs, rounded to two significant digits."""
    small = f"{SMALL_DIFFERENCE:g}".lstrip("0")
    return f"Detecting a difference of {small} needs about {float(f'{cases_needed:.2g}'):,.0f} cases."


def _outcome(comparison: Comparison, lower_is_better: Collection[str]) -> Outcome:
    headline = comparison.metrics.get(comparison.headline)
    if headline is None:
        return "not measured"
    if _most_errors(comparison) >= comparison.cases:
        return "errors"
    if not comparison.fixed and not comparison.broken and all(_is_equal(change) for change in comparison.metrics.values()):
        return "identical"
    direction = _direction(headline, lower_is_better=comparison.headline in lower_is_better)
    if direction is not None:
        return direction
    return "too few conversations" if comparison.conversations < MIN_CONVERSATIONS else "within noise"


def _direction(change: MetricChange, *, lower_is_better: bool) -> Literal["better", "worse"] | None:
    """Return the direction of a significant change; None for one within noise."""
    if change.within_noise:
        return None
    return "better" if (change.difference > 0) is not lower_is_better else "worse"


def _is_equal(change: MetricChange) -> bool:
    """Return whether no conversation differs."""
    return not change.differing


def _most_errors(comparison: Comparison) -> int:
    return max(comparison.errors_first, comparison.errors_second)


def _sentence(outcome: Outcome, comparison: Comparison, first: str, second: str) -> str:
    metric = comparison.headline
    change = comparison.metrics.get(metric)
    if change is None:
        return f"{second} cannot be compared with {first}: {metric} is not measured in both runs"
    metric = mark_heuristic(metric, change.heuristic)
    numbers = f"{metric} {format_score(change.before)} → {format_score(change.after)}"
    numbers += f", {format_difference(change.difference, change.low, change.high)}, {format_p_value(change.p)}"
    match outcome:
        case "better" | "worse":
            return f"{second} is {outcome} than {first}: {numbers}"
        case "identical":
            return f"{second} and {first} have identical scores: {metric} {format_score(change.after)}"
        case "errors":
            run = first if comparison.errors_first == _most_errors(comparison) else second
            errors = f"{pluralize(_most_errors(comparison), 'error')} in {run}"
            return f"{second} cannot be compared with {first} because of {errors}; on the scored cases, {numbers}"
        case "too few conversations":
            return f"Too few conversations to compare {second} with {first} (at least {MIN_CONVERSATIONS} are needed): {numbers}"
        case _:
            return f"{second} is within noise of {first}: {numbers}"
