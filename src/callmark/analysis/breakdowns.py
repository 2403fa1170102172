"""The metrics in parts: by tool, by scenario type, by position in the conversation, by prompt length; and how scores are spread.

Every scored grade is in exactly one part of each breakdown, an error in none: the counts add up to the scored grades, and the means,
weighted by them, to the mean of the run. No grades give no parts.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

from msgspec import Struct

from callmark.grading.grader import GradeRecord

NO_CALL = "(no call)"
NO_NAME = "(no name)"  # of a call that is too broken to have one
NO_SCENARIO_TYPE = "(no scenario type)"
NO_POSITION = "(no position)"
NO_PROMPT = "(no prompt)"
OTHERS = "…"
MOST_NAMES = 10_000  # that are told apart; hostile names are endless
PERCENTS = (5, 25, 50, 75, 95)
BINS = 10
_UNKNOWN = -1  # the band of what has none
_SOON = 2  # the first band of positions goes to 2 ** 2
_MOST_ALIKE = 10_000  # kinds of grades that are counted before they are added up

_Sums = dict[str, tuple[int, float]]  # of each metric, how many and their sum; under "" how many there are
_Name = TypeVar("_Name", str, int)


class Part(Struct, frozen=True):
    """Some of the scored grades: what they have in common, how many they are, the mean of each metric that any of them has."""

    name: str
    n: int
    means: dict[str, float]


class Breakdowns(Struct, frozen=True):
    """The run in parts, in four ways. Tools and scenario types: the largest part first; bands in their order, the unknown last."""

    by_tool: list[Part]
    by_scenario_type: list[Part]
    by_position: list[Part]
    by_prompt_length: list[Part]


class Distribution(Struct, frozen=True):
    """How the values of `call.score` are spread: the percentiles, and how many are in each tenth (1.0 is in the last)."""

    n: int
    percentiles: dict[str, float]
    histogram: list[int]


class BreakdownTally:
    """Takes grades one by one.

    A case with several expected calls is under the first of them, one with none under "(no call)"; where an alternative counted, its
    calls are the expected ones. Of tools and scenario types the first 10,000 are told apart, the others are under "…".
    """

    def __init__(self) -> None:
        # most grades of a run are like many others: these are counted first, and added up when there are too many kinds
        self._alike: dict[tuple[str, str, int, int, tuple[str, ...], tuple[float, ...]], int] = {}
        self._tools: dict[str, _Sums] = {}
        self._types: dict[str, _Sums] = {}
        self._positions: dict[int, _Sums] = {}
        self._lengths: dict[int, _Sums] = {}

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; an error is left out."""
        if grade.error:
            return
        tool = (grade.expected[0] or NO_NAME) if grade.expected else NO_CALL
        metrics = grade.metrics
        key = (tool, grade.scenario_type, _position(grade.message), _length(grade.prompt), tuple(metrics), tuple(metrics.values()))
        self._alike[key] = self._alike.get(key, 0) + 1
        if len(self._alike) >= _MOST_ALIKE:
            self._add_up()

    def breakdowns(self) -> Breakdowns:
        """The parts so far."""
        self._add_up()
        return Breakdowns(
            self._largest_first(self._tools),
            self._largest_first(self._types),
            [self._part(_position_name(band), self._positions[band]) for band in sorted(self._positions, key=_unknown_last)],
            [self._part(_length_name(band), self._lengths[band]) for band in sorted(self._lengths, key=_unknown_last)],
        )

    def _add_up(self) -> None:
        for (tool, scenario_type, position, length, metrics, values), times in self._alike.items():
            sums = {"": (times, 0.0), **{metric: (times, times * value) for metric, value in zip(metrics, values, strict=True)}}
            _put(self._tools, bounded(self._tools, tool), sums)
            _put(self._types, bounded(self._types, scenario_type or NO_SCENARIO_TYPE), sums)
            _put(self._positions, position, sums)
            _put(self._lengths, length, sums)
        self._alike.clear()

    def _largest_first(self, found: Mapping[str, _Sums]) -> list[Part]:
        ordered = sorted(found.items(), key=lambda item: (item[0] == OTHERS, -item[1][""][0], item[0]))
        return [self._part(name, sums) for name, sums in ordered]

    def _part(self, name: str, sums: _Sums) -> Part:
        return Part(name, sums[""][0], {metric: total / n for metric, (n, total) in sums.items() if metric})


class ScoreTally:
    """Takes grades one by one, and counts how often there is each `call.score`, which has six places at most."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; an error, and a grade that has no such metric, is left out."""
        score = grade.metrics.get("call.score")
        if score is not None:
            self._counts[score] += 1

    def distribution(self) -> Distribution | None:
        """How the scores so far are spread; None where there is none."""
        if not self._counts:
            return None
        histogram = [0] * BINS
        for score, count in self._counts.items():
            histogram[min(max(round(score * 1e6) * BINS // 1_000_000, 0), BINS - 1)] += count
        return Distribution(self._counts.total(), percentiles(self._counts), histogram)


def percentiles(counts: Mapping[float, int], percents: Sequence[int] = PERCENTS) -> dict[str, float]:
    """Percentiles of values, given with how often each is there, by nearest rank, so that each is one of them: `{"p5": …}`; `{}` where
    there is no value.
    """
    values = sorted(counts)
    if not values:
        return {}
    ends = list(accumulate(counts[value] for value in values))  # how many there are up to this one, itself included
    return {f"p{percent}": values[bisect_left(ends, _rank(percent, ends[-1]))] for percent in percents}


def bounded(known: Collection[str], name: str) -> str:
    """The name, or "…" for a further one where 10,000 are known already."""
    return name if name in known or len(known) < MOST_NAMES else OTHERS


def _rank(percent: int, n: int) -> int:
    return max(-(-percent * n // 100), 1)


def _put(found: dict[_Name, _Sums], name: _Name, sums: _Sums) -> None:
    known = found.setdefault(name, {})
    for metric, (n, total) in sums.items():
        before = known.get(metric, (0, 0.0))
        known[metric] = (before[0] + n, before[1] + total)


def _unknown_last(band: int) -> tuple[bool, int]:
    return band == _UNKNOWN, band


def _position(message: int | None) -> int:
    return _UNKNOWN if message is None else max((message - 1).bit_length(), _SOON) if message > 0 else _SOON


def _position_name(band: int) -> str:
    """`0-4`, `5-8`, `9-16`, …: the index of the message that the decision is in, which is how many stand before it."""
    if band == _UNKNOWN:
        return NO_POSITION
    return f"{0 if band == _SOON else 2 ** (band - 1) + 1}-{2**band}"


def _length(prompt: int | None) -> int:
    return _UNKNOWN if prompt is None else (prompt // 1000).bit_length()


def _length_name(band: int) -> str:
    """`under 1,000`, `1,000-1,999`, `2,000-3,999`, …: characters."""
    if band == _UNKNOWN:
        return NO_PROMPT
    return f"{500 * 2**band:,}-{1000 * 2**band - 1:,}" if band else "under 1,000"
