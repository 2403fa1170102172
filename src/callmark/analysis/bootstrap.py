"""95% intervals by resampling conversations, for metrics that are not limited to 0 to 1 (docs/reference/metrics.md, section 11).

Values come in clusters as in `intervals`. Equal clusters are interchangeable, so drawing how often each kind occurs is the same as drawing
clusters, but faster. Fewer than five clusters have no interval: None. The same input gives the same numbers.
"""

from collections.abc import Sequence
from math import sqrt
from random import Random
from statistics import NormalDist

from callmark.analysis.intervals import MIN_CONVERSATIONS, SEED, Clusters, Interval

RESAMPLES = 10_000
_LOW, _HIGH = 0.025, 0.975
_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(_HIGH)  # standard deviations that contain 95%
_ROUNDING = 1e-12  # of a mean, relative to the greatest
_WORTH_GROUPING = 100  # how many times faster drawing a cluster is than drawing how often a kind occurs


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


def _drawn_means(clusters: Clusters) -> list[float] | None:
    """Return the mean of each resample; None for fewer than five clusters."""
    number = sum(clusters.values())
    if number < MIN_CONVERSATIONS:
        return None
    kinds = sorted(clusters)
    if len(kinds) == 1:
        return [kinds[0][0] / kinds[0][1]]
    random = Random(SEED)
    if len(kinds) < number / _WORTH_GROUPING:
        return [_grouped_mean(kinds, clusters, number, random) for _ in range(RESAMPLES)]
    each = [kind for kind in kinds for _ in range(clusters[kind])]
    if len({size for _, size in kinds}) == 1:
        totals = [total for total, _ in each]
        return [sum(random.choices(totals, k=number)) / (number * each[0][1]) for _ in range(RESAMPLES)]
    return [_ratio(random.choices(each, k=number)) for _ in range(RESAMPLES)]


def _ratio(drawn: Sequence[tuple[float, int]]) -> float:
    return sum([total for total, _ in drawn]) / sum([size for _, size in drawn])


def _grouped_mean(kinds: Sequence[tuple[float, int]], clusters: Clusters, number: int, random: Random) -> float:
    """Return the mean of one resample: how often each kind occurs is drawn, one kind after the other."""
    total, count, rest, unseen = 0.0, 0, number, number
    for kind in kinds:
        times = _draw_binomial(rest, clusters[kind], unseen, random)
        total += times * kind[0]
        count += times * kind[1]
        rest -= times
        unseen -= clusters[kind]
    return total / count


def _draw_binomial(trials: int, part: int, whole: int, random: Random) -> int:
    """Return how many of the trials succeed, each with the probability `part / whole`.

    The digits of a random number are compared with those of the probability, for all trials at once, until each is decided.
    """
    successes = 0
    while trials:
        ones = random.getrandbits(trials).bit_count()
        part *= 2
        if part >= whole:
            part -= whole
            successes += trials - ones
            trials = ones
        else:
            trials -= ones
        if not part:
            break
    return successes


def _quantiles(drawn: Sequence[float], low: float, high: float) -> Interval:
    """Return two quantiles, interpolated between the nearest values."""
    ordered = sorted(drawn)
    ends = []
    for share in (low, high):
        place = share * (len(ordered) - 1)
        at = min(int(place), len(ordered) - 2) if len(ordered) > 1 else 0
        step = ordered[min(at + 1, len(ordered) - 1)] - ordered[at]
        ends.append(ordered[at] + (place - at) * step)
    return ends[0], ends[1]


def _bias(clusters: Clusters, drawn: Sequence[float]) -> float:
    """Return how many standard deviations the mean is from the median of the resamples; half of the ties count as below it.

    It is limited to the ends of the interval, which would exclude the mean otherwise.
    """
    total, count = _totals(clusters)
    mean, tie = total / count, _ROUNDING * max(map(abs, drawn))
    below = sum((each < mean - tie) + (each <= mean + tie) for each in drawn) / (2 * len(drawn))
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
