"""95% intervals by resampling conversations, for metrics that are not limited to 0 to 1 (docs/reference/metrics.md, section 11).

Values come in clusters as in `intervals`. Equal clusters are interchangeable, so drawing how often each kind occurs is the same as drawing
clusters, but faster. Fewer than five clusters have no interval: None. The same input gives the same numbers.
"""

from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from callmark.analysis.intervals import MIN_CONVERSATIONS, SEED, Clusters, Interval

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

RESAMPLES = 10_000
_LOW, _HIGH = 0.025, 0.975
_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(_HIGH)  # standard deviations that contain 95%
_ROUNDING = 1e-12  # of a mean, relative to the greatest
_WORTH_GROUPING = 4  # how many times faster drawing a cluster is than drawing how often a kind occurs
_DRAWS_IN_MEMORY = 2_000_000


def bootstrap(clusters: Clusters) -> Interval | None:
    """Return the interval of a mean: Efron's BCa bootstrap over clusters.

    The percentiles are corrected for bias and skew: near 1, where faults are rare, the plain percentiles 2.5 and 97.5 cover too little. The
    mean is always in the interval.
    """
    drawn = _drawn_means(clusters)
    if drawn is None:
        return None
    bias, skew = _bias(clusters, drawn), _skew(clusters)
    low, high = (_NORMAL.cdf(bias + (bias + z) / (1 - skew * (bias + z))) for z in (-_Z, _Z))
    return _quantiles(drawn, low, high)


def percentile_bootstrap(clusters: Clusters) -> Interval | None:
    """Return the interval without the correction, for differences: they have both signs, and the correction made coverage worse."""
    drawn = _drawn_means(clusters)
    return None if drawn is None else _quantiles(drawn, _LOW, _HIGH)


def _drawn_means(clusters: Clusters) -> "NDArray[float64] | None":
    """Return the mean of each resample; None for fewer than five clusters."""
    number = sum(clusters.values())
    if number < MIN_CONVERSATIONS:
        return None
    import numpy

    kinds = sorted(clusters)
    sums = numpy.array([total for total, _ in kinds])
    counts = numpy.array([float(count) for _, count in kinds])
    if len(kinds) == 1:
        return numpy.array([sums[0] / counts[0]])
    shares = numpy.array([clusters[kind] / number for kind in kinds])
    random = numpy.random.default_rng(SEED)
    grouped = len(kinds) < number / _WORTH_GROUPING
    each = numpy.repeat(numpy.arange(len(kinds)), [clusters[kind] for kind in kinds])
    step = max(1, _DRAWS_IN_MEMORY // (len(kinds) if grouped else number))
    means = []
    for begun in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - begun)
        if grouped:
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
    """Return how many standard deviations the mean is from the median of the resamples; half of the ties count as below it.

    It is limited to the ends of the interval, which would exclude the mean otherwise.
    """
    total, count = _totals(clusters)
    mean, tie = total / count, _ROUNDING * float(abs(drawn).max())
    below = float((drawn < mean - tie).mean() + (drawn <= mean + tie).mean()) / 2
    return _NORMAL.inv_cdf(min(max(below, _LOW), _HIGH))


def _skew(clusters: Clusters) -> float:
    """Return how fast the standard error grows with the mean (Efron's acceleration), by the jackknife over clusters.

    Between -1/6 and 1/6; 0 if leaving out a cluster makes the same difference for all of them.
    """
    total, count = _totals(clusters)
    left = [((total - each) / (count - size), times) for (each, size), times in clusters.items()]
    center = sum(mean * times for mean, times in left) / sum(times for _, times in left)
    farthest = max(abs(center - mean) for mean, _ in left)
    if not farthest:
        return 0.0
    apart = [((center - mean) / farthest, times) for mean, times in left]
    squares = sum(times * each**2 for each, times in apart)
    return sum(times * each**3 for each, times in apart) / (6 * squares * sqrt(squares))


def _totals(clusters: Clusters) -> tuple[float, int]:
    return (
        sum(total * times for (total, _), times in clusters.items()),
        sum(size * times for (_, size), times in clusters.items()),
    )
