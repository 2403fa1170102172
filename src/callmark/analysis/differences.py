"""How sure the difference of two runs is: its interval, its p-value, and how many cases would show a smaller one (docs/metrics.md, 11).

Differences come in clusters as values do in `intervals`: a conversation each, given as `(sum of its differences, how many)` with the
number of clusters that have these. There is at least one. The same input gives the same numbers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct

from callmark.analysis.intervals import SEED, Clusters, plain_bootstrap

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

LEVEL = 0.05
SMALL = 0.03  # the difference that people want to see
FLIPS = 10_000
_ALL = 13  # clusters up to which every way to flip them is looked at: 8,192
_WORTH = 16
_AT_ONCE = 2_000_000  # draws held in memory
# Sums of right and wrong are often equal. If equals counted in full, a test at 5 % would find a difference that is not there in 3 %: it
# would be blind to some that are.
_BETWEEN_EQUALS = 0.001
_TIE = 1e-9  # what rounding may do to a sum, as a share of all that is summed


class Difference(Struct, frozen=True):
    """A mean difference, its 95 % interval (None where one cluster alone gives none) and its p-value."""

    mean: float
    low: float | None
    high: float | None
    p: float


def difference(clusters: Clusters) -> Difference:
    """What the differences come to. Where all are 0 the interval is a point and p is 1."""
    low, high = plain_bootstrap(clusters) or (None, None)
    total = sum(each * times for (each, _), times in clusters.items())
    return Difference(total / _count(clusters), low, high, sign_flip(clusters))


def sign_flip(clusters: Clusters) -> float:
    """How often the sum would be as far from 0 if chance alone gave each cluster its sign. Of equal sums, the one whose clusters have the
    greater means is farther.

    Up to 13 clusters that are not 0 every way to flip them is looked at, else 10,000 are drawn; then what was seen counts as one more.
    """
    import numpy

    sizes: Counter[float] = Counter()
    seen = 0.0
    for (total, count), times in clusters.items():
        if total:
            weighed = total * (1 + _BETWEEN_EQUALS / count)
            sizes[abs(weighed)] += times
            seen += weighed * times
    if not sizes:
        return 1.0
    farthest = sum(size * times for size, times in sizes.items())
    seen = abs(seen) - _TIE * farthest
    if sizes.total() <= _ALL:
        each = numpy.array(sorted(sizes.elements()))
        ways = (numpy.arange(2 ** len(each))[:, None] >> numpy.arange(len(each))) & 1
        return float(numpy.mean(abs(ways @ (2 * each) - farthest) >= seen))
    extreme = sum(int((abs(2 * positive - farthest) >= seen).sum()) for positive in _positive(sizes))
    return float((1 + extreme) / (1 + FLIPS))


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values, each as it is when all are looked at together (Holm), in their order."""
    adjusted = [0.0] * len(ps)
    least = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = least
    return adjusted


def needed(clusters: Clusters, *, difference: float = SMALL, power: float = 0.8) -> int | None:
    """The number of cases, in conversations like these, at which a difference of that size would be seen with that power at 5 %.

    None where the differences do not vary, or stand in one cluster alone: then nothing can be said.
    """
    number, count = sum(clusters.values()), _count(clusters)
    if number < 2:
        return None
    mean = sum(total * times for (total, _), times in clusters.items()) / count
    spread = sum(times * (total - mean * size) ** 2 for (total, size), times in clusters.items())
    variance = number / (number - 1) * spread / count**2
    if variance < _TIE**2:
        return None
    normal = NormalDist()
    return ceil(count * variance * ((normal.inv_cdf(1 - LEVEL / 2) + normal.inv_cdf(power)) / difference) ** 2)


def _count(clusters: Clusters) -> int:
    return sum(size * times for (_, size), times in clusters.items())


def _positive(sizes: Counter[float]) -> Iterator["NDArray[float64]"]:
    """Sums of the clusters whose drawn sign is positive. Of clusters that are alike, how many of them are is drawn at once."""
    import numpy

    random = numpy.random.default_rng(SEED)
    alike = len(sizes) < sizes.total() / _WORTH  # else a sign for each is drawn sooner
    each = numpy.array(sorted(sizes) if alike else sorted(sizes.elements()))
    times = [sizes[size] for size in sorted(sizes)]
    step = max(1, _AT_ONCE // len(each))
    for begun in range(0, FLIPS, step):
        shape = (min(step, FLIPS - begun), len(each))
        yield (random.binomial(times, 0.5, size=shape) if alike else random.integers(0, 2, size=shape, dtype=numpy.int8)) @ each
