"""How sure a mean is: 95 % intervals that respect that decision points of one conversation are not independent (docs/metrics.md, 11).

Values come in clusters, a conversation each, given as `(sum of its values, how many)` with the number of clusters that have these.
Clusters that are alike are interchangeable, so drawing how often each kind comes up is drawing clusters, only faster. Fewer than two
clusters give no interval: None. The same input gives the same numbers.
"""

from collections.abc import Mapping
from math import sqrt

RESAMPLES = 10_000
SEED = 20_250_510
_Z = 1.959963984540054  # of a normal distribution, 95 % lie within so many deviations
_WORTH = 4
_AT_ONCE = 2_000_000  # draws held in memory

Clusters = Mapping[tuple[float, int], int]  # (sum, count) of a cluster: how many clusters have these
Interval = tuple[float, float]


def bootstrap(clusters: Clusters, *, resamples: int = RESAMPLES) -> Interval | None:
    """The interval of a mean: percentiles of the means of as many clusters, drawn with replacement."""
    number = sum(clusters.values())
    if number < 2:
        return None
    if len(clusters) == 1:
        total, count = next(iter(clusters))
        return total / count, total / count
    import numpy

    kinds = sorted(clusters)
    sums = numpy.array([total for total, _ in kinds])
    counts = numpy.array([float(count) for _, count in kinds])
    shares = numpy.array([clusters[kind] / number for kind in kinds])
    random = numpy.random.default_rng(SEED)
    alike = len(kinds) < number / _WORTH  # drawing how often each kind comes up takes longer than drawing a cluster
    each = numpy.repeat(numpy.arange(len(kinds)), [clusters[kind] for kind in kinds])
    step = max(1, _AT_ONCE // (len(kinds) if alike else number))
    means = []
    for begun in range(0, resamples, step):
        size = min(step, resamples - begun)
        if alike:
            drawn = random.multinomial(number, shares, size=size).astype(float)
            means.append((drawn @ sums) / (drawn @ counts))
        else:
            chosen = each[random.integers(0, number, size=(size, number))]
            means.append(sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1))
    low, high = numpy.percentile(numpy.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


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


def _totals(clusters: Clusters) -> tuple[float, int]:
    return (
        sum(total * times for (total, _), times in clusters.items()),
        sum(size * times for (_, size), times in clusters.items()),
    )
