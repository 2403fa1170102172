"""The significance of a difference between two runs: its interval, its p-value, and the cases that detecting a small one needs.

Differences come in clusters, one for each conversation, as values do in `intervals` (docs/reference/metrics.md, section 11): `(sum of its
differences, their number)` with the number of such clusters. There is at least one. The same input gives the same numbers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct

from callmark.analysis.intervals import LEVEL, SEED, Clusters, Interval, Z, difference_interval

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

SMALL_DIFFERENCE = 0.03  # that users want to detect
FLIPS = 10_000
_EXHAUSTIVE = 13  # clusters up to which all 8,192 sign flips are tried
_WORTH_GROUPING = 16  # times faster that drawing a sign is than drawing a binomial
_DRAWS_IN_MEMORY = 2_000_000
_ROUNDING = 1e-9  # of a sum, as a share of all that is summed


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
    import numpy

    sizes: Counter[float] = Counter()
    seen = 0.0
    for (total, _), times in clusters.items():
        if total:
            sizes[abs(total)] += times
            seen += total * times
    if not sizes:
        return 1.0
    farthest = sum(size * times for size, times in sizes.items())
    seen = abs(seen) - _ROUNDING * farthest
    if sizes.total() <= _EXHAUSTIVE:
        each = numpy.array(sorted(sizes.elements()))
        ways = (numpy.arange(2 ** len(each))[:, None] >> numpy.arange(len(each))) & 1
        return float(numpy.mean(abs(ways @ (2 * each) - farthest) >= seen))
    extreme = sum(int((abs(2 * positive - farthest) >= seen).sum()) for positive in _positive_sums(sizes, flips))
    return float((1 + extreme) / (1 + flips))


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
    if variance < _ROUNDING**2:
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


def _positive_sums(sizes: Counter[float], flips: int) -> Iterator["NDArray[float64]"]:
    """Yield sums of the clusters whose drawn sign is positive. For equal clusters, the number of positive ones is drawn at once."""
    import numpy

    random = numpy.random.default_rng(SEED)
    grouped = len(sizes) < sizes.total() / _WORTH_GROUPING  # else drawing a sign for each is faster
    each = numpy.array(sorted(sizes) if grouped else sorted(sizes.elements()))
    times = [sizes[size] for size in sorted(sizes)]
    step = max(1, _DRAWS_IN_MEMORY // len(each))
    for begun in range(0, flips, step):
        shape = (min(step, flips - begun), len(each))
        yield (random.binomial(times, 0.5, size=shape) if grouped else random.integers(0, 2, size=shape, dtype=numpy.int8)) @ each
