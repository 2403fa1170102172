"""`describe`: count, mean, std, min, quartiles and max of whole numbers, as pandas has them."""

import math
from collections.abc import Mapping

from msgspec import Struct


class Description(Struct, frozen=True, rename={"q25": "25%", "q50": "50%", "q75": "75%"}):
    """`std` is the sample's (n - 1), None for fewer than two values. Quartiles are interpolated."""

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
    """The description of values given as `{value: how often}`; there must be at least one."""
    values = sorted(counts)
    count = sum(counts.values())
    total = sum(value * counts[value] for value in values)
    mean = total / count
    squares = math.fsum(counts[value] * (value - mean) ** 2 for value in values)
    q25, q50, q75 = (_quantile(counts, values, count, share) for share in (0.25, 0.5, 0.75))
    std = math.sqrt(squares / (count - 1)) if count > 1 else None
    return Description(count, mean, std, values[0], q25, q50, q75, values[-1], total)


def _quantile(counts: Mapping[int, int], values: list[int], count: int, share: float) -> float:
    """Linear interpolation between the two nearest ranks."""
    rank = share * (count - 1)
    low = math.floor(rank)
    below, above = _at(counts, values, low), _at(counts, values, min(low + 1, count - 1))
    return below + (above - below) * (rank - low)


def _at(counts: Mapping[int, int], values: list[int], rank: int) -> int:
    for value in values:
        rank -= counts[value]
        if rank < 0:
            return value
    return values[-1]
