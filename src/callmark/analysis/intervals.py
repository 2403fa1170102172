"""Intervals of means and of differences over conversations, whose cases are not independent (docs/reference/metrics.md, section 11).

Values from 0 to 1 come in clusters, one for each conversation: `(sum of its values, their number)` with the number of such clusters. The
interval is Wilson's with a variance over conversations and Student's t: a closed form, never of zero width, with the mean inside.
Fewer than five conversations have no interval: None. `z` is the number of standard deviations: the default gives 95%, larger ones give
wider intervals.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import sqrt
from statistics import NormalDist

from msgspec import Struct

Clusters = Mapping[tuple[float, int], int]  # (sum, count) of a cluster: how many clusters have these
Interval = tuple[float, float]

LEVEL = 0.05
MIN_CONVERSATIONS = 5
SEED = 20_250_510  # of everything that is drawn at random in the analysis
Z = NormalDist().inv_cdf(1 - LEVEL / 2)

_PRIOR = 0.01  # share of an all-wrong conversation that is added to the variance, so that it is never 0
_LEAST_EXCESS = 1e-9
_NO_SPREAD = 1e-12  # sum of squares below which nothing varies
_ROUNDING = 1e-9  # of a mean


class _Sizes(Struct, frozen=True):
    """The number of conversations, of values, and of values that would be independent if conversations were of equal size."""

    conversations: int
    values: int
    alone: float

    @property
    def worst(self) -> float:
        """The design effect if all values of a conversation are equal."""
        return self.values / self.alone


def mean_interval(clusters: Clusters, *, z: float = Z) -> Interval | None:
    """Return the interval of a mean. If all values are 0, it starts at 0; if all are 1, it ends at 1."""
    sizes = _measure(clusters)
    return None if sizes is None else _interval(clusters, sizes, sizes.worst, z)


def difference_interval(clusters: Clusters, *, z: float = Z) -> Interval | None:
    """Return the interval of a mean difference between -1 and 1; the sums are differences.

    Conversations that are won and conversations that are lost have an interval each; the two are combined by the MOVER method.
    """
    sizes = _measure(clusters)
    if sizes is None:
        return None
    worst = _worst_difference(clusters, sizes, z)
    won, lost = (_one_side(clusters, sign) for sign in (1, -1))
    rate_won, rate_lost = (_total(side) / sizes.values for side in (won, lost))
    (won_low, won_high), (lost_low, lost_high) = (_interval(side, sizes, worst, z) for side in (won, lost))
    correlation = _correlation(clusters, rate_won, rate_lost)
    mean = rate_won - rate_lost
    low = mean - _combine(rate_won - won_low, lost_high - rate_lost, correlation)
    high = mean + _combine(won_high - rate_won, rate_lost - lost_low, correlation)
    return max(-1.0, low), min(1.0, high)


def student_t(df: float, z: float) -> float:
    """Return the quantile of Student's t with `df` degrees of freedom at the level of the normal quantile `z` (Cornish-Fisher)."""
    return (
        z
        + (z**3 + z) / (4 * df)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * df**4)
    )


def _measure(clusters: Clusters) -> _Sizes | None:
    """Return the sizes; None for too few conversations."""
    conversations = sum(clusters.values())
    if conversations < MIN_CONVERSATIONS:
        return None
    values = sum(size * times for (_, size), times in clusters.items())
    return _Sizes(conversations, values, values**2 / sum(size * size * times for (_, size), times in clusters.items()))


def _interval(clusters: Clusters, sizes: _Sizes, worst: float, z: float) -> Interval:
    """Return the interval of a mean between 0 and 1; `worst` is the design effect that the prior assumes."""
    n, mean = sizes.values, _total(clusters) / sizes.values
    residuals = [(total - mean * size, size, times) for (total, size), times in clusters.items()]
    jackknife = sum(times * (residual / (1 - size / n)) ** 2 for residual, size, times in residuals)
    variance = (sizes.conversations - 1) / sizes.conversations * jackknife  # of the sum, leaving out one conversation at a time
    effect = (variance + _PRIOR * worst**2) / (n * max(mean * (1 - mean), 0.0) + _PRIOR * worst)
    df = max(1.0, min(sizes.conversations - 1, sizes.alone - 1, 2 / _excess([(each, times) for each, _, times in residuals])))
    free = student_t(df, z) ** 2 * effect / n
    capped = min(free, z * z / sizes.alone)
    low = 0.0 if mean < _ROUNDING else _ends(mean, free if mean < 0.5 else capped)[0]
    high = 1.0 if mean > 1 - _ROUNDING else _ends(mean, free if mean > 0.5 else capped)[1]
    return low, high


def _ends(mean: float, c: float) -> Interval:
    """Return the two x with (mean - x)² = c·x(1-x), within 0 and 1."""
    center, spread = 2 * mean + c, sqrt(c * (c + 4 * max(mean * (1 - mean), 0.0)))
    return max(0.0, (center - spread) / (2 * (1 + c))), min(1.0, (center + spread) / (2 * (1 + c)))


def _excess(weighted: Iterable[tuple[float, int]]) -> float:
    """Return how unequally the conversations contribute to a sum of squares: 0 if equally, 1 if one contributes everything.

    Each value comes with the number of conversations that have it.
    """
    weighted = list(weighted)
    squares = sum(times * each**2 for each, times in weighted)
    if squares < _NO_SPREAD:
        return _LEAST_EXCESS
    number = sum(times for _, times in weighted)
    return max(sum(times * each**4 for each, times in weighted) / squares**2 - 1 / number, _LEAST_EXCESS)


def _worst_difference(clusters: Clusters, sizes: _Sizes, z: float) -> float:
    """Return the design effect that the prior of a difference assumes: no larger than the differences that were seen suggest."""
    total = sum(times * abs(each) for (each, _), times in clusters.items())
    if not total:
        return sizes.worst
    df = min(sizes.conversations - 1, max(1.0, 2 / _excess([(each, times) for (each, _), times in clusters.items()])))
    squares = sum(times * each**2 for (each, _), times in clusters.items())
    return min(sizes.worst, squares / total * (student_t(df, z) / z) ** 2)


def _one_side(clusters: Clusters, sign: int) -> Clusters:
    """Return the clusters with the differences of one sign, as positive numbers, and 0 for the others."""
    side: Counter[tuple[float, int]] = Counter()
    for (total, size), times in clusters.items():
        side[max(sign * total, 0.0), size] += times
    return side


def _correlation(clusters: Clusters, rate_won: float, rate_lost: float) -> float:
    """Return the correlation between the residuals of won and lost differences; 0 where one of them does not vary."""
    together = won_squares = lost_squares = 0.0
    for (total, size), times in clusters.items():
        won, lost = max(total, 0.0) - rate_won * size, max(-total, 0.0) - rate_lost * size
        together += times * won * lost
        won_squares += times * won * won
        lost_squares += times * lost * lost
    if won_squares < _NO_SPREAD or lost_squares < _NO_SPREAD:
        return 0.0
    return min(1.0, max(-1.0, together / sqrt(won_squares * lost_squares)))


def _combine(first: float, second: float, correlation: float) -> float:
    return sqrt(max(first**2 + second**2 - 2 * correlation * first * second, 0.0))


def _total(clusters: Clusters) -> float:
    return sum(total * times for (total, _), times in clusters.items())
