"""The interval of a mean and of a difference, against the formulas written out (docs/reference/metrics.md, section 11)."""

import subprocess
import sys
from collections import Counter
from math import isclose, sqrt

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from callmark.analysis.intervals import MIN_CONVERSATIONS, Clusters, Interval, Z, difference_interval, mean_interval, student_t


def mean(clusters: Clusters) -> float:
    return sum(total * times for (total, _), times in clusters.items()) / sum(size * times for (_, size), times in clusters.items())


def conversations(clusters: Clusters) -> tuple[list[float], list[int]]:
    """Return the sum and the size of each conversation."""
    each = [key for key, times in clusters.items() for _ in range(times)]
    return [total for total, _ in each], [size for _, size in each]


def written_out(s: list[float], m: list[int], z: float, worst: float | None = None) -> Interval:
    """The law of a mean, line by line."""
    n, k = sum(m), len(m)
    q = sum(s) / n
    r = [one - q * size for one, size in zip(s, m, strict=True)]
    alone = n**2 / sum(size**2 for size in m)
    worst = n / alone if worst is None else worst
    variance = (k - 1) / k * sum((one / (1 - size / n)) ** 2 for one, size in zip(r, m, strict=True))
    effect = (variance + 0.01 * worst**2) / (n * q * (1 - q) + 0.01 * worst)
    df = max(1, min(k - 1, alone - 1, 2 / excess(r)))
    free = written_t(df, z) ** 2 * effect / n
    capped = min(free, z**2 / alone)
    low, high = roots(q, free if q < 0.5 else capped)[0], roots(q, free if q > 0.5 else capped)[1]
    return (0.0 if isclose(q, 0, abs_tol=1e-9) else low), (1.0 if isclose(q, 1, abs_tol=1e-9) else high)


def excess(r: list[float]) -> float:
    squares = sum(one**2 for one in r)
    return 1e-9 if squares < 1e-12 else max(sum(one**4 for one in r) / squares**2 - 1 / len(r), 1e-9)


def roots(q: float, c: float) -> Interval:
    found = numpy.roots([1 + c, -(2 * q + c), q * q]).real
    return float(min(found)), float(max(found))


def written_t(df: float, z: float) -> float:
    terms = [
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    ]
    return z + sum(term / df**power for power, term in enumerate(terms, 1))


def written_difference(d: list[float], m: list[int], z: float) -> Interval:
    """The law of a difference, line by line."""
    n, k = sum(m), len(m)
    worst = sum(size**2 for size in m) / n
    if any(d):
        df = min(k - 1, max(1, 2 / excess(d)))
        worst = min(worst, sum(one**2 for one in d) / sum(map(abs, d)) * (written_t(df, z) / z) ** 2)
    won, lost = [max(one, 0.0) for one in d], [max(-one, 0.0) for one in d]
    w, a = sum(won) / n, sum(lost) / n
    (w_low, w_high), (a_low, a_high) = written_out(won, m, z, worst), written_out(lost, m, z, worst)
    left = [one - w * size for one, size in zip(won, m, strict=True)]
    right = [one - a * size for one, size in zip(lost, m, strict=True)]
    spread = sqrt(sum(one**2 for one in left) * sum(one**2 for one in right))
    rho = sum(one * other for one, other in zip(left, right, strict=True)) / spread if spread > 1e-9 else 0.0
    low = w - a - sqrt(max((w - w_low) ** 2 + (a_high - a) ** 2 - 2 * rho * (w - w_low) * (a_high - a), 0))
    high = w - a + sqrt(max((w_high - w) ** 2 + (a - a_low) ** 2 - 2 * rho * (w_high - w) * (a - a_low), 0))
    return max(-1, low), min(1, high)


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("number", [5, 30, 500])
def test_all_correct_ends_at_1_and_starts_by_the_number_of_conversations(number: int, size: int) -> None:
    assert mean_interval({(float(size), size): number}) == pytest.approx((number / (number + Z * Z), 1.0))


def test_thirty_conversations_without_a_failure_are_at_least_886() -> None:
    low, high = mean_interval({(1.0, 1): 30}) or (0, 0)
    assert (round(low, 3), high) == (0.886, 1.0)


def test_all_wrong_mirrors_all_correct() -> None:
    low, high = mean_interval({(0.0, 4): 30}) or (1, 1)
    assert low == 0.0
    assert high == pytest.approx(1 - 30 / (30 + Z * Z))


@pytest.mark.parametrize("number", [1, 2, 4])
def test_fewer_than_five_conversations_have_no_interval(number: int) -> None:
    assert mean_interval({(1.0, 2): number}) is None
    assert difference_interval({(1.0, 2): number}) is None


def test_correlated_values_widen_the_interval() -> None:
    apart = mean_interval({(1.0, 1): 50, (0.0, 1): 50}) or (0, 0)
    together = mean_interval({(5.0, 5): 10, (0.0, 5): 10}) or (0, 0)  # as many values, ten conversations all right, ten all wrong
    assert together[1] - together[0] > 1.8 * (apart[1] - apart[0])


@pytest.mark.parametrize("df", [3, 4, 5, 8, 20, 100, 1e9])
@pytest.mark.parametrize("z", [Z, 2.087])
def test_quantile_of_student_t_is_that_of_scipy(df: float, z: float) -> None:
    assert student_t(df, z) == pytest.approx(t.ppf(norm.cdf(z), df), rel=0.005 if df > 3 else 0.03)


KINDS = st.builds(
    lambda size, share: (round(share * size, 6), size), st.sampled_from([1, 2, 9, 20]), st.sampled_from([0, 0.25, 0.5, 1.0, 0.9])
)
CHANGES = st.builds(
    lambda size, share: (round(share * size, 6), size), st.sampled_from([1, 2, 9, 20]), st.sampled_from([0, 0.5, -0.5, 1.0, -1.0])
)
TIMES = st.integers(1, 12)


@pytest.mark.laws
@given(st.dictionaries(KINDS, TIMES, min_size=1, max_size=6), st.sampled_from([Z, 3.0, 6.6]))
def test_interval_of_a_mean_follows_the_law(clusters: dict[tuple[float, int], int], z: float) -> None:
    found = mean_interval(clusters, z=z)
    if sum(clusters.values()) < MIN_CONVERSATIONS:
        assert found is None
        return
    assert found == pytest.approx(written_out(*conversations(clusters), z), abs=1e-6)
    low, high = found or (1, 0)
    assert 0 <= low <= mean(clusters) + 1e-9
    assert mean(clusters) - 1e-9 <= high <= 1
    assert high - low > 1e-4


@pytest.mark.laws
@given(st.dictionaries(KINDS, TIMES, min_size=1, max_size=6))
def test_interval_of_failures_mirrors_that_of_successes(clusters: dict[tuple[float, int], int]) -> None:
    mirrored: Counter[tuple[float, int]] = Counter()
    for (total, size), times in clusters.items():
        mirrored[size - total, size] += times
    found, other = mean_interval(clusters), mean_interval(mirrored)
    assert (found is None) == (other is None)
    if found is not None and other is not None:
        assert found == pytest.approx((1 - other[1], 1 - other[0]), abs=1e-6)


@pytest.mark.laws
@given(st.dictionaries(CHANGES, TIMES, min_size=1, max_size=6), st.sampled_from([Z, 3.0]))
def test_interval_of_a_difference_follows_the_law(clusters: dict[tuple[float, int], int], z: float) -> None:
    found = difference_interval(clusters, z=z)
    if sum(clusters.values()) < MIN_CONVERSATIONS:
        assert found is None
        return
    assert found == pytest.approx(written_difference(*conversations(clusters), z), abs=1e-6)
    low, high = found or (1, 0)
    assert -1 <= low <= mean(clusters) + 1e-9
    assert mean(clusters) - 1e-9 <= high <= 1
    assert high - low > 1e-4
    swapped = difference_interval({(-total, size): times for (total, size), times in clusters.items()}, z=z)
    assert swapped == pytest.approx((-high, -low), abs=1e-6)


def test_intervals_cover_95_percent() -> None:  # benchmarks/intervals.py looks closer
    """100 conversations of 2 to 9 cases, of which .9 go right, with an intra-class correlation of .5: rare faults that come together."""
    dice = numpy.random.default_rng(5)
    held = 0
    for _ in range(200):
        sizes = dice.integers(2, 10, 100)
        sums = dice.binomial(sizes, dice.beta(0.9, 0.1, 100)).astype(float)
        low, high = mean_interval(Counter(zip(sums.tolist(), sizes.tolist(), strict=True))) or (1, 0)
        held += low <= 0.9 <= high
    assert 182 <= held <= 199  # 190 are expected


def test_statistics_need_no_numpy() -> None:
    code = """
import sys
from callmark.analysis.bootstrap import bootstrap
from callmark.analysis.differences import difference
from callmark.analysis.intervals import mean_interval
mean_interval({(1.0, 1): 9}), bootstrap({(1.0, 1): 9, (3.0, 1): 2}), difference({(1.0, 1): 30}, bounded=False)
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
