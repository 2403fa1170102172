"""The verdict on a run and on a comparison in one sentence, and the metrics by direction: for the terminal and the page alike.

    tuned is better than base: call.score .668 → .784, +.116 [+.083, +.149], p < .001

The verdict is about the headline metric. Other metrics that changed significantly are listed as better or worse, the rest as unchanged.
"""

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from callmark.analysis.compare import Comparison, MetricChange
from callmark.analysis.differences import SMALL_DIFFERENCE
from callmark.analysis.numbers import explain_interval, format_difference, format_interval, format_p_value, format_score
from callmark.analysis.summary import Summary
from callmark.wording import mark_heuristic, pluralize

Direction = Literal["better", "worse", "within noise"]
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
            direction = change_direction(change, lower_is_better=metric in lower_is_better)
            difference = MetricDifference(metric, change.difference, change.heuristic)
            directions["unchanged" if direction == "within noise" else direction].append(difference)
    for differences in directions.values():
        differences.sort(key=lambda each: -abs(each.difference))
    outcome = _outcome(comparison, lower_is_better)
    return Verdict(outcome, _sentence(outcome, comparison, first, second), comparison_scope(comparison), **directions)


class RunVerdict(Struct, frozen=True):
    """The verdict on one run: its headline metric in a sentence, how many predictions are correct and wrong, and what was scored."""

    sentence: str
    counts: list[str]
    scope: str


def judge_run(summary: Summary, headline: str, *, scenarios: bool = False) -> RunVerdict:
    """Return the verdict on a run. Without a scored prediction, or without the headline metric, the sentence says so."""
    of = "" if scenarios or summary.conversations >= summary.cases else f" from {pluralize(summary.conversations, 'conversation')}"
    scope = f"{pluralize(summary.cases, 'scenario' if scenarios else 'case')}{of} · {_scored(summary, of_conversations=bool(of))}"
    estimate = summary.metrics.get(headline)
    if estimate is None:
        return RunVerdict(f"{headline} was not measured" if summary.scored else "No prediction was scored", [], scope)
    explained = explain_interval(estimate.mean, estimate.low, summary.scored_conversations)
    interval = f" ({explained})" if explained else f" {format_interval(estimate.low, estimate.high)}"
    return RunVerdict(f"{headline} {format_score(estimate.mean)}{interval}", headline_counts(summary, headline), scope)


def headline_counts(summary: Summary, headline: str) -> list[str]:
    """Return how many predictions are correct and wrong, as texts. The headline metric must have been measured."""
    if headline == "call.score":
        wrong = summary.scored - summary.correct - summary.correct_tools_only
        return [f"{summary.correct:,} correct", f"{summary.correct_tools_only:,} right tool, wrong arguments", f"{wrong:,} wrong"]
    estimate = summary.metrics[headline]
    return [f"every call correct in {round(estimate.mean * estimate.n):,} of {estimate.n:,}"] if headline == "process.reliability" else []


def _scored(summary: Summary, *, of_conversations: bool) -> str:
    """Return `scored 582`, or with errors `scored 3 of 162 (from 1 conversation), 159 errors`."""
    if not summary.errors:
        return f"scored {summary.scored:,}"
    lost = of_conversations and 0 < summary.scored_conversations < summary.conversations
    where = f" (from {pluralize(summary.scored_conversations, 'conversation')})" if lost else ""
    return f"scored {summary.scored:,} of {summary.graded:,}{where}, {pluralize(summary.errors, 'error')}"


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
    direction = change_direction(headline, lower_is_better=comparison.headline in lower_is_better)
    if direction != "within noise":
        return direction
    return "too few conversations" if comparison.conversations < MIN_CONVERSATIONS else "within noise"


def change_direction(change: MetricChange, *, lower_is_better: bool) -> Direction:
    """Return the direction of a change: better or worse if it is significant."""
    if change.within_noise:
        return "within noise"
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
