"""Describe integers as pandas does: count, mean, std, min, quartiles and max."""

import math
from collections.abc import Mapping

from msgspec import Struct


class Description(Struct, frozen=True, rename={"q25": "25%", "q50": "50%", "q75": "75%"}):
    """Summary statistics. `std` is the sample standard deviation (n - 1), None for fewer than two values. Quartiles are interpolated."""

    count: int
    mean: float
    std: float | None
    min: int
    q25: float
    q50: float
    q75: float
    max: int
    total: int


def describe(counts: Mapping[int, int]) -> Description:
    """Return the summary statistics of at least one value, given as `{value: count}`."""
    values = sorted(counts)
    count = sum(counts.values())
    total = sum(value * counts[value] for value in values)
    mean = total / count
    squares = math.fsum(counts[value] * (value - mean) ** 2 for value in values)
    q25, q50, q75 = (_quantile(counts, values, count, fraction) for fraction in (0.25, 0.5, 0.75))
    std = math.sqrt(squares / (count - 1)) if count > 1 else None
    return Description(count, mean, std, values[0], q25, q50, q75, values[-1], total)


def _quantile(counts: Mapping[int, int], values: list[int], count: int, fraction: float) -> float:
    """Return the quantile by linear interpolation between the two nearest ranks."""
    rank = fraction * (count - 1)
    low = math.floor(rank)
    below, above = _value_at_rank(counts, values, low), _value_at_rank(counts, values, min(low + 1, count - 1))
    return below + (above - below) * (rank - low)


def _value_at_rank(counts: Mapping[int, int], values: list[int], rank: int) -> int:
    for value in values:
        rank -= counts[value]
        if rank < 0:
            return value
    return values[-1]
