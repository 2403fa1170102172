"""How sure a mean is: 95 % intervals that respect that decision points of one conversation are not independent (docs/metrics.md, 11).

Values come in clusters, a conversation each, given as `(sum of its values, how many)` with the number of clusters that have these.
Clusters that are alike are interchangeable, so drawing how often each kind comes up is drawing clusters, only faster. Fewer than two
clusters give no interval: None. The same input gives the same numbers.
"""

from collections.abc import Mapping
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 20_250_510
_LOW, _HIGH = 0.025, 0.975
_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(_HIGH)  # 95 % lie within so many deviations
_TIE = 1e-12  # what rounding may do to a mean, as a share of the greatest
_WORTH = 4
_AT_ONCE = 2_000_000  # draws held in memory

Clusters = Mapping[tuple[float, int], int]  # (sum, count) of a cluster: how many clusters have these
Interval = tuple[float, float]


def bootstrap(clusters: Clusters) -> Interval | None:
    """The interval of a mean: percentiles of the means of as many clusters, drawn with replacement. Which ones is corrected for bias and
    skew (Efron's BCa): near 1, where what is wrong is rare and easily missed, 2.5 and 97.5 hold the truth too seldom. The mean is in it.
    """
    drawn = _drawn_means(clusters)
    if drawn is None:
        return None
    bias, skew = _bias(clusters, drawn), _skew(clusters)
    low, high = (_NORMAL.cdf(bias + (bias + z) / (1 - skew * (bias + z))) for z in (-_Z, _Z))
    return _quantiles(drawn, low, high)


def plain_bootstrap(clusters: Clusters) -> Interval | None:
    """The same without the correction, for differences: they go either way, and held the truth less often with it."""
    drawn = _drawn_means(clusters)
    return None if drawn is None else _quantiles(drawn, _LOW, _HIGH)


def wilson(clusters: Clusters) -> Interval | None:
    """The interval of a rate: Wilson's, on the effective sample size."""
    number = sum(clusters.values())
    if number < 2:
        return None
    successes, count = _totals(clusters)
    rate = successes / count
    size = effective_size(clusters)
    centre = (rate + _Z * _Z / (2 * size)) / (1 + _Z * _Z / size)
    half = _Z * sqrt(rate * (1 - rate) / size + _Z * _Z / (4 * size * size)) / (1 + _Z * _Z / size)
    return (0.0 if rate == 0 else max(0.0, centre - half)), (1.0 if rate == 1 else min(1.0, centre + half))


def effective_size(clusters: Clusters) -> float:
    """How many independent values would tell as much: n / design effect, never more than n.

    The design effect is 1 + (the size of a value's cluster on average - 1) times the intra-class correlation, by analysis of variance.
    Where all values are equal their clusters say nothing of how they hang together: then each cluster counts as one.
    """
    number = sum(clusters.values())
    successes, count = _totals(clusters)
    rate = successes / count
    if not 0 < rate < 1:
        return float(number)
    if count == number:
        return float(count)
    between = sum(times * size * (total / size - rate) ** 2 for (total, size), times in clusters.items()) / (number - 1)
    within = sum(times * total * (1 - total / size) for (total, size), times in clusters.items()) / (count - number)
    squares = sum(times * size * size for (_, size), times in clusters.items())
    usual = (count - squares / count) / (number - 1)  # the size of a cluster, less for sizes that differ
    correlation = (between - within) / (between + (usual - 1) * within)
    return count / max(1.0, 1 + (squares / count - 1) * correlation)


def _drawn_means(clusters: Clusters) -> "NDArray[float64] | None":
    """The mean of each resample; None where there are fewer than two clusters."""
    number = sum(clusters.values())
    if number < 2:
        return None
    import numpy

    kinds = sorted(clusters)
    sums = numpy.array([total for total, _ in kinds])
    counts = numpy.array([float(count) for _, count in kinds])
    if len(kinds) == 1:
        return numpy.array([sums[0] / counts[0]])
    shares = numpy.array([clusters[kind] / number for kind in kinds])
    random = numpy.random.default_rng(SEED)
    alike = len(kinds) < number / _WORTH  # drawing how often each kind comes up takes longer than drawing a cluster
    each = numpy.repeat(numpy.arange(len(kinds)), [clusters[kind] for kind in kinds])
    step = max(1, _AT_ONCE // (len(kinds) if alike else number))
    means = []
    for begun in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - begun)
        if alike:
            drawn = random.multinomial(number, shares, size=size).astype(float)
            means.append((drawn @ sums) / (drawn @ counts))
        else:
            chosen = each[random.integers(0, number, size=(size, number))]
            means.append(sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1))
    return numpy.concatenate(means)


def _quantiles(drawn: "NDArray[float64]", low: float, high: float) -> Interval:
    import numpy

    found = numpy.quantile(drawn, [low, high])
    return float(found[0]), float(found[1])


def _bias(clusters: Clusters, drawn: "NDArray[float64]") -> float:
    """How many deviations the mean is from the middle of those that were drawn: half of its equals are below it. It counts as no farther
    out than the interval's own ends, else the interval would leave it out.
    """
    total, count = _totals(clusters)
    mean, tie = total / count, _TIE * float(abs(drawn).max())
    below = float((drawn < mean - tie).mean() + (drawn <= mean + tie).mean()) / 2
    return _NORMAL.inv_cdf(min(max(below, _LOW), _HIGH))


def _skew(clusters: Clusters) -> float:
    """How fast the error grows with the mean (Efron's acceleration), by leaving out one cluster after the other: between -1/6 and 1/6, and
    0 where it makes no difference which.
    """
    total, count = _totals(clusters)
    left = [((total - each) / (count - size), times) for (each, size), times in clusters.items()]
    centre = sum(mean * times for mean, times in left) / sum(times for _, times in left)
    farthest = max(abs(centre - mean) for mean, _ in left)
    if not farthest:
        return 0.0
    apart = [((centre - mean) / farthest, times) for mean, times in left]
    squares = sum(times * each**2 for each, times in apart)
    return sum(times * each**3 for each, times in apart) / (6 * squares * sqrt(squares))


def _totals(clusters: Clusters) -> tuple[float, int]:
    return (
        sum(total * times for (total, _), times in clusters.items()),
        sum(size * times for (_, size), times in clusters.items()),
    )
