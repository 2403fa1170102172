"""Breakdowns of the metrics by tool, scenario type, position in the conversation and prompt length; and the distribution of scores.

Every scored grade is in exactly one slice of each breakdown, errors are in none: the counts add up to the scored grades, and the means,
weighted by the counts, to the mean of the run. Without grades there are no slices.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

from msgspec import Struct

from callmark.grading.record import GradeRecord

NO_CALL = "(no call)"
NO_NAME = "(no name)"  # of a malformed call
NO_SCENARIO_TYPE = "(no scenario type)"
NO_POSITION = "(no position)"
NO_PROMPT = "(no prompt)"
OTHERS = "…"
MOST_NAMES = 10_000  # hostile data may have any number of names
PERCENTS = (5, 25, 50, 75, 95)
BINS = 10
_UNKNOWN = -1  # the band of grades without a position or prompt
_FIRST_BAND = 2  # positions up to 2 ** 2
_MOST_PENDING = 10_000  # distinct grades that are counted before they are added up

_Sums = dict[str, tuple[int, float]]  # count and sum of each metric; under "" the count of grades
_Name = TypeVar("_Name", str, int)


class Slice(Struct, frozen=True):
    """A part of the scored grades: its name, the number of grades, and the mean of each metric that any of them has."""

    name: str
    n: int
    means: dict[str, float]


class Breakdowns(Struct, frozen=True):
    """Four breakdowns of a run. Tools and scenario types are sorted by size, bands by value with the unknown last."""

    by_tool: list[Slice]
    by_scenario_type: list[Slice]
    by_position: list[Slice]
    by_prompt_length: list[Slice]


class Distribution(Struct, frozen=True):
    """The distribution of `call.score`: percentiles, and the number of values in each tenth (1.0 is in the last)."""

    n: int
    percentiles: dict[str, float]
    histogram: list[int]


class BreakdownTally:
    """Counts grades one by one.

    A case with several expected calls counts under the first of them, a case without any under "(no call)"; if an alternative counted,
    its calls are the expected ones. The first 10,000 tools and scenario types have names, the others count under "…".
    """

    def __init__(self) -> None:
        # many grades of a run are equal: equal ones are counted, and added up when there are too many distinct ones
        self._pending: dict[tuple[str, str, int, int, tuple[str, ...], tuple[float, ...]], int] = {}
        self._tools: dict[str, _Sums] = {}
        self._types: dict[str, _Sums] = {}
        self._positions: dict[int, _Sums] = {}
        self._lengths: dict[int, _Sums] = {}

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; errors are excluded."""
        if grade.error:
            return
        tool = (grade.expected[0] or NO_NAME) if grade.expected else NO_CALL
        metrics = grade.metrics
        key = (
            tool,
            grade.scenario_type,
            _position(grade.message),
            _length(grade.prompt_characters),
            tuple(metrics),
            tuple(metrics.values()),
        )
        self._pending[key] = self._pending.get(key, 0) + 1
        if len(self._pending) >= _MOST_PENDING:
            self._add_up()

    def breakdowns(self) -> Breakdowns:
        """Return the breakdowns so far."""
        self._add_up()
        return Breakdowns(
            self._largest_first(self._tools),
            self._largest_first(self._types),
            [self._slice(_position_name(band), self._positions[band]) for band in sorted(self._positions, key=_unknown_last)],
            [self._slice(_length_name(band), self._lengths[band]) for band in sorted(self._lengths, key=_unknown_last)],
        )

    def _add_up(self) -> None:
        for (tool, scenario_type, position, length, metrics, values), times in self._pending.items():
            sums = {"": (times, 0.0), **{metric: (times, times * value) for metric, value in zip(metrics, values, strict=True)}}
            _add_sums(self._tools, bounded(self._tools, tool), sums)
            _add_sums(self._types, bounded(self._types, scenario_type or NO_SCENARIO_TYPE), sums)
            _add_sums(self._positions, position, sums)
            _add_sums(self._lengths, length, sums)
        self._pending.clear()

    def _largest_first(self, found: Mapping[str, _Sums]) -> list[Slice]:
        ordered = sorted(found.items(), key=lambda item: (item[0] == OTHERS, -item[1][""][0], item[0]))
        return [self._slice(name, sums) for name, sums in ordered]

    def _slice(self, name: str, sums: _Sums) -> Slice:
        return Slice(name, sums[""][0], {metric: total / n for metric, (n, total) in sums.items() if metric})


class ScoreTally:
    """Counts each value of `call.score`, which has six decimals at most."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()

    def add(self, grade: GradeRecord) -> None:
        """Count one grade; errors, and grades without the metric, are excluded."""
        score = grade.metrics.get("call.score")
        if score is not None:
            self._counts[score] += 1

    def distribution(self) -> Distribution | None:
        """Return the distribution so far; None without scores."""
        if not self._counts:
            return None
        histogram = [0] * BINS
        for score, count in self._counts.items():
            histogram[min(max(round(score * 1e6) * BINS // 1_000_000, 0), BINS - 1)] += count
        return Distribution(self._counts.total(), percentiles(self._counts), histogram)


def percentiles(counts: Mapping[float, int], percents: Sequence[int] = PERCENTS) -> dict[str, float]:
    """Return percentiles of counted values by nearest rank, so that each is one of the values: `{"p5": …}`; `{}` without values."""
    values = sorted(counts)
    if not values:
        return {}
    ends = list(accumulate(counts[value] for value in values))  # cumulative counts
    return {f"p{percent}": values[bisect_left(ends, _rank(percent, ends[-1]))] for percent in percents}


def bounded(known: Collection[str], name: str) -> str:
    """Return the name, or "…" for a new name if 10,000 are known already."""
    return name if name in known or len(known) < MOST_NAMES else OTHERS


def _rank(percent: int, n: int) -> int:
    return max(-(-percent * n // 100), 1)


def _add_sums(found: dict[_Name, _Sums], name: _Name, sums: _Sums) -> None:
    known = found.setdefault(name, {})
    for metric, (n, total) in sums.items():
        before = known.get(metric, (0, 0.0))
        known[metric] = (before[0] + n, before[1] + total)


def _unknown_last(band: int) -> tuple[bool, int]:
    return band == _UNKNOWN, band


def _position(message: int | None) -> int:
    return _UNKNOWN if message is None else max((message - 1).bit_length(), _FIRST_BAND) if message > 0 else _FIRST_BAND


def _position_name(band: int) -> str:
    """Return `0-4`, `5-8`, `9-16`, …: indexes of the message at the decision point, which are also the numbers of messages before it."""
    if band == _UNKNOWN:
        return NO_POSITION
    return f"{0 if band == _FIRST_BAND else 2 ** (band - 1) + 1}-{2**band}"


def _length(prompt: int | None) -> int:
    return _UNKNOWN if prompt is None else (prompt // 1000).bit_length()


def _length_name(band: int) -> str:
    """Return `under 1,000`, `1,000-1,999`, `2,000-3,999`, …: characters."""
    if band == _UNKNOWN:
        return NO_PROMPT
    return f"{500 * 2**band:,}-{1000 * 2**band - 1:,}" if band else "under 1,000"
