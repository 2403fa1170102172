"""The laws of `callmark.analysis.intervals` for many simulated runs at once, as numpy arrays.

`benchmarks/intervals.py` needs millions of intervals. These are the same formulas on arrays of shape (runs, conversations); `check`
compares them with the product's functions.
"""

from collections import Counter

import numpy
from numpy.typing import NDArray

from callmark.analysis.differences import EXHAUSTIVE, ROUNDING, sign_flip_test
from callmark.analysis.intervals import Interval, Z, difference_interval, mean_interval

Numbers = NDArray[numpy.float64]
Ends = tuple[Numbers, Numbers]

_FLIPS_AT_A_TIME = 2_000


def mean_intervals(sums: Numbers, sizes: Numbers, *, z: float = Z) -> Ends:
    """Return the ends of the interval of each run's mean."""
    return _intervals(sums, sizes, (sizes**2).sum(1) / sizes.sum(1), z)


def difference_intervals(differences: Numbers, sizes: Numbers, *, z: float = Z) -> Ends:
    """Return the ends of the interval of each run's mean difference."""
    n, conversations = sizes.sum(1), sizes.shape[1]
    worst = (sizes**2).sum(1) / n
    df = numpy.minimum(conversations - 1, numpy.maximum(1.0, 2 / _excess(differences)))
    total = numpy.abs(differences).sum(1)
    seen = (differences**2).sum(1) / numpy.where(total == 0, 1, total) * (_student_t(df, z) / z) ** 2
    worst = numpy.where(total == 0, worst, numpy.minimum(worst, seen))
    won, lost = numpy.maximum(differences, 0), numpy.maximum(-differences, 0)
    rate_won, rate_lost = won.sum(1) / n, lost.sum(1) / n
    (won_low, won_high), (lost_low, lost_high) = _intervals(won, sizes, worst, z), _intervals(lost, sizes, worst, z)
    left, right = won - rate_won[:, None] * sizes, lost - rate_lost[:, None] * sizes
    spread = numpy.sqrt((left**2).sum(1) * (right**2).sum(1))
    defined = ((left**2).sum(1) >= 1e-12) & ((right**2).sum(1) >= 1e-12)
    correlation = numpy.where(defined, (left * right).sum(1) / numpy.where(spread == 0, 1, spread), 0).clip(-1, 1)
    mean = rate_won - rate_lost
    low = mean - _combine(rate_won - won_low, lost_high - rate_lost, correlation)
    high = mean + _combine(won_high - rate_won, rate_lost - lost_low, correlation)
    return numpy.maximum(-1, low), numpy.minimum(1, high)


def sign_flip_tests(differences: Numbers, sizes: Numbers, *, flips: int, seed: int) -> Numbers:
    """Return the p-value of each run's difference.

    The runs share their random flips: each p-value has the product's law, but those of two runs are not independent. Where the product
    tries all flips, it computes the p-value itself.
    """
    rounded = numpy.round(differences, 9)
    ps = numpy.ones(len(rounded))
    few = (rounded != 0).sum(1) <= EXHAUSTIVE
    for run in numpy.flatnonzero(few):
        ps[run] = sign_flip_test(Counter(zip(rounded[run].tolist(), sizes[run].astype(int).tolist(), strict=True)))
    many = numpy.flatnonzero(~few)
    if not len(many):
        return ps
    magnitudes = numpy.abs(rounded[many])
    farthest = magnitudes.sum(1)
    seen = numpy.abs(rounded[many].sum(1)) - ROUNDING * farthest
    random, extreme = numpy.random.default_rng(seed), numpy.zeros(len(many))
    for start in range(0, flips, _FLIPS_AT_A_TIME):
        signs = 2.0 * random.integers(0, 2, (min(_FLIPS_AT_A_TIME, flips - start), magnitudes.shape[1])) - 1
        extreme += (numpy.abs(signs @ magnitudes.T) >= seen).sum(0)
    ps[many] = (1 + extreme) / (1 + flips)
    return ps


def check(sums: Numbers, sizes: Numbers, *, differences: bool, z: float = Z) -> float:
    """Return the greatest distance between an end computed here and by the product, over these runs."""
    low, high = (difference_intervals if differences else mean_intervals)(sums, sizes, z=z)
    ours = difference_interval if differences else mean_interval
    farthest = 0.0
    for run in range(len(sums)):
        clusters = Counter((float(total), int(size)) for total, size in zip(sums[run], sizes[run], strict=True))
        expected: Interval | None = ours(clusters, z=z)
        assert expected is not None
        farthest = max(farthest, abs(low[run] - expected[0]), abs(high[run] - expected[1]))
    return farthest


def _intervals(sums: Numbers, sizes: Numbers, worst: Numbers, z: float) -> Ends:
    n, conversations = sizes.sum(1), sizes.shape[1]
    mean = sums.sum(1) / n
    alone = n**2 / (sizes**2).sum(1)
    residuals = sums - mean[:, None] * sizes
    variance = (conversations - 1) / conversations * ((residuals / (1 - sizes / n[:, None])) ** 2).sum(1)
    binomial = numpy.maximum(mean * (1 - mean), 0)
    effect = (variance + 0.01 * worst**2) / (n * binomial + 0.01 * worst)
    df = numpy.maximum(1, numpy.minimum(numpy.minimum(conversations - 1, alone - 1), 2 / _excess(residuals)))
    free = _student_t(df, z) ** 2 * effect / n
    capped = numpy.minimum(free, z * z / alone)
    low = numpy.where(mean < 0.5, _ends(mean, free)[0], _ends(mean, capped)[0])
    high = numpy.where(mean > 0.5, _ends(mean, free)[1], _ends(mean, capped)[1])
    return numpy.where(mean < 1e-9, 0.0, low), numpy.where(mean > 1 - 1e-9, 1.0, high)


def _ends(mean: Numbers, c: Numbers) -> Ends:
    center, spread = 2 * mean + c, numpy.sqrt(c * (c + 4 * numpy.maximum(mean * (1 - mean), 0)))
    return numpy.maximum(0, (center - spread) / (2 * (1 + c))), numpy.minimum(1, (center + spread) / (2 * (1 + c)))


def _excess(values: Numbers) -> Numbers:
    squared = values * values
    squares = squared.sum(1)
    share = (squared * squared).sum(1) / numpy.where(squares < 1e-12, 1, squares) ** 2 - 1 / values.shape[1]
    return numpy.where(squares < 1e-12, 1e-9, numpy.maximum(share, 1e-9))


def _combine(first: Numbers, second: Numbers, correlation: Numbers) -> Numbers:
    return numpy.sqrt(numpy.maximum(first**2 + second**2 - 2 * correlation * first * second, 0))


def _student_t(df: Numbers, z: float) -> Numbers:
    return (
        z
        + (z**3 + z) / (4 * df)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * df**4)
    )
