"""The numbers of the original LOB evaluation, for `strict_original=True`.

They differ from `process` (docs/reference/metrics.md, section 14): calls are grouped by lowercase name, so that repeated calls collapse
into the last one; values agree if their texts, reduced to ASCII letters and digits, are 95% similar; the ignore list is three names;
argument metrics are averaged over functions; reliability is the mean of the two recalls; numbers are rounded to two places.
"""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

from msgspec import Struct

from callmark.types import Call

OriginalMetric = Literal["precision", "recall", "args_precision", "args_recall", "reliability"]

_IGNORED = frozenset({"commonplugin-summarize_ticket_details", "commonplugin-explain_workflow", "commonplugin-start_over"})
_LEAST_RATIO = 0.95
_ABSENT = "__invalid__"  # what an argument that is not expected is compared with
_REMOVED = re.compile(r"[^a-zA-Z0-9\s]")


class _Grouped(Struct, frozen=True):
    """The arguments of the functions on both sides, by lowercase name, and the number of other actual and of all expected calls."""

    actual: dict[str, dict[str, Any]]
    expected: dict[str, dict[str, Any]]
    others: int
    expected_calls: int


def original_score(metric: OriginalMetric, actual: Sequence[Call], expected: Sequence[Call]) -> float:
    """Return a metric as the original computes it. A side without calls is 0, and so is a malformed call's part."""
    return _METRICS[metric](_group(actual, expected))


def _group(actual: Sequence[Call], expected: Sequence[Call]) -> _Grouped:
    """Group the calls by name; of several calls of one function, the last counts.

    An ignored function that is made and expected counts as a match without actual arguments.
    """
    made, wanted = ({call.name.lower() for call in calls} for calls in (actual, expected))
    counted = [call for call in actual if call.name.lower() not in _IGNORED]
    arguments = {call.name.lower(): call.arguments for call in counted if call.name.lower() in wanted}
    matched = {call.name.lower(): call.arguments for call in expected if call.name.lower() in made}
    others = sum(call.name.lower() not in wanted for call in counted)
    return _Grouped({name: arguments.get(name, {}) for name in matched}, matched, others, len(expected))


def _precision(grouped: _Grouped) -> float:
    matched = len(grouped.actual)
    return round(matched / (matched + grouped.others), 2) if matched and grouped.expected_calls else 0.0


def _recall(grouped: _Grouped) -> float:
    return round(len(grouped.actual) / grouped.expected_calls, 2) if grouped.actual and grouped.expected_calls else 0.0


def _args_precision(grouped: _Grouped) -> float:
    scores = []
    for name, actual in grouped.actual.items():
        expected = grouped.expected[name]
        scores.append(_agreeing(actual, expected) / len(actual) if actual else float(not expected))
    return _mean(scores)


def _args_recall(grouped: _Grouped) -> float:
    return _mean(
        [_agreeing(grouped.actual[name], expected) / len(expected) if expected else 1.0 for name, expected in grouped.expected.items()]
    )


def _reliability(grouped: _Grouped) -> float:
    return (_recall(grouped) + _args_recall(grouped)) / 2


_METRICS: dict[OriginalMetric, Callable[[_Grouped], float]] = {
    "precision": _precision,
    "recall": _recall,
    "args_precision": _args_precision,
    "args_recall": _args_recall,
    "reliability": _reliability,
}


def _agreeing(actual: dict[str, Any], expected: dict[str, Any]) -> int:
    return sum(_is_similar(str(value), str(expected.get(key, _ABSENT))) for key, value in actual.items())


def _is_similar(first: str, second: str) -> bool:
    return SequenceMatcher(None, _normalize(first), _normalize(second)).ratio() >= _LEAST_RATIO


def _normalize(text: str) -> str:
    return " ".join(_REMOVED.sub("", text.lower()).split())


def _mean(scores: list[float]) -> float:
    return round(sum(scores) / len(scores), 2) if scores else 0.0
