"""The significance of a difference between two runs: its interval, its p-value, and the cases that detecting a small one needs.

Differences come in clusters, one for each conversation, as values do in `intervals` (docs/reference/metrics.md, section 11): `(sum of its
differences, their number)` with the number of such clusters. There is at least one. The same input gives the same numbers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from operator import getitem
from random import Random
from statistics import NormalDist

from msgspec import Struct

from callmark.analysis.intervals import LEVEL, SEED, Clusters, Interval, Z, difference_interval

SMALL_DIFFERENCE = 0.03  # that users want to detect
FLIPS = 10_000
EXHAUSTIVE = 13  # clusters up to which all 8,192 sign flips are tried
_BYTE = 8  # signs that are drawn at once
ROUNDING = 1e-9  # of a sum, as a share of all that is summed


class Difference(Struct, frozen=True):
    """A mean difference, its interval (None with too few conversations), its p-value, and the number of conversations that differ."""

    mean: float
    low: float | None
    high: float | None
    p: float
    differing: int


def difference(clusters: Clusters, *, bounded: bool = True, z: float = Z, flips: int = FLIPS) -> Difference:
    """Return the mean of the differences with interval and p-value. If all are 0, p is 1.

    `bounded` means that the metric is limited to 0 to 1; the interval of any other metric comes from the bootstrap.
    """
    low, high = _interval(clusters, bounded=bounded, z=z) or (None, None)
    total = sum(each * times for (each, _), times in clusters.items())
    differing = sum(times for (each, _), times in clusters.items() if each)
    return Difference(total / _count(clusters), low, high, sign_flip_test(clusters, flips=flips), differing)


def is_beyond_noise(p: float, interval: tuple[float | None, float | None], *, level: float = LEVEL) -> bool:
    """Return whether a difference is beyond noise: its p-value is below the level, and 0 is outside its interval."""
    low, high = interval
    return p < level and low is not None and high is not None and not low <= 0 <= high


def sign_flip_test(clusters: Clusters, *, flips: int = FLIPS) -> float:
    """Return how often the sum would be as far from 0 if the sign of each cluster were random; equal sums count.

    With up to 13 clusters that are not 0, all sign flips are tried; with more, `flips` are drawn, and the observed one is added.
    """
    sizes: Counter[float] = Counter()
    seen = 0.0
    for (total, _), times in clusters.items():
        if total:
            sizes[abs(total)] += times
            seen += total * times
    if not sizes:
        return 1.0
    farthest = sum(size * times for size, times in sizes.items())
    seen = abs(seen) - ROUNDING * farthest
    if sizes.total() <= EXHAUSTIVE:
        sums = _subset_sums(sorted(sizes.elements()))
        return sum(abs(2 * positive - farthest) >= seen for positive in sums) / len(sums)
    extreme = sum(abs(2 * positive - farthest) >= seen for positive in _positive_sums(sizes, flips))
    return (1 + extreme) / (1 + flips)


def holm_adjust(ps: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for multiple comparisons (Holm), in their order."""
    adjusted = [0.0] * len(ps)
    least = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = least
    return adjusted


def cases_needed(clusters: Clusters, *, difference: float = SMALL_DIFFERENCE, power: float = 0.8) -> int | None:
    """Return the number of cases, in conversations like these, at which that difference is detected with that power at 5%.

    None if the differences do not vary or there is a single cluster: then it is unknown.
    """
    number, count = sum(clusters.values()), _count(clusters)
    if number < 2:
        return None
    mean = sum(total * times for (total, _), times in clusters.items()) / count
    spread = sum(times * (total - mean * size) ** 2 for (total, size), times in clusters.items())
    variance = number / (number - 1) * spread / count**2
    if variance < ROUNDING**2:
        return None
    normal = NormalDist()
    return ceil(count * variance * ((normal.inv_cdf(1 - LEVEL / 2) + normal.inv_cdf(power)) / difference) ** 2)


def _count(clusters: Clusters) -> int:
    return sum(size * times for (_, size), times in clusters.items())


def _interval(clusters: Clusters, *, bounded: bool, z: float) -> Interval | None:
    if bounded:
        return difference_interval(clusters, z=z)
    from callmark.analysis.bootstrap import percentile_bootstrap

    return percentile_bootstrap(clusters)


def _positive_sums(sizes: Counter[float], flips: int) -> Iterator[float]:
    """Yield sums of the clusters whose drawn sign is positive.

    The signs are random bits. For many equal clusters only their number matters; of other clusters, the sum for each byte of signs is
    looked up.
    """
    random = Random(SEED)
    many = [(size, times) for size, times in sorted(sizes.items()) if times > _BYTE]
    others = [size for size, times in sorted(sizes.items()) if times <= _BYTE for _ in range(times)]
    tables = [_subset_sums(others[at : at + _BYTE]) for at in range(0, len(others), _BYTE)]
    padding = -len(others) % _BYTE  # signs of the last byte that no cluster has
    if tables:
        tables[-1] *= 2**padding
    for _ in range(flips):
        total = sum(map(getitem, tables, random.randbytes(len(tables))))
        for size, times in many:
            total += size * random.getrandbits(times).bit_count()
        yield total


def _subset_sums(sizes: Sequence[float]) -> list[float]:
    """Return the sum of each subset: that of the bits of its index."""
    sums = [0.0]
    for size in sizes:
        sums += [total + size for total in sums]
    return sums
