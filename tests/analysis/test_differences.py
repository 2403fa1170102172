"""How sure a difference is; against scipy and brute force where that is known (docs/reference/metrics.md, section 11)."""

import random
from collections import Counter, defaultdict

import numpy
import pytest
from numpy.typing import NDArray
from scipy.stats import permutation_test

from callmark.analysis.bootstrap import percentile_bootstrap
from callmark.analysis.differences import FLIPS, cases_needed, difference, holm_adjust, is_beyond_noise, sign_flip_test
from callmark.analysis.intervals import MIN_CONVERSATIONS

Clusters = dict[tuple[float, int], int]


def alone(values: list[float]) -> Counter[tuple[float, int]]:
    """Each difference a conversation of its own."""
    return Counter((value, 1) for value in values)


def absolute_sum(values: NDArray[numpy.float64], axis: int) -> NDArray[numpy.float64]:
    found: NDArray[numpy.float64] = numpy.abs(numpy.sum(values, axis=axis))
    return found


SMALL = [
    [1.0, 0.5, -0.5, 1.0, 1.0],
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    [0.1, 0.2, -0.3],  # ties that rounding makes unequal
    [1 / 3, 1 / 3, -2 / 3, 1 / 3],
    [0.0, 0.0, 1.0, 1.0, -1.0, 0.5, 0.25, 0.0],
    [0.5, -1.0, 0.0, 0.75, -0.25, 1.0, 1.0, -0.5, 0.5, 0.5, -1.0, 0.25],
]


@pytest.mark.parametrize("values", SMALL)
def test_few_conversations_use_all_sign_flips(values: list[float]) -> None:
    theirs = permutation_test(
        (values,), absolute_sum, permutation_type="samples", n_resamples=numpy.inf, alternative="greater", vectorized=True
    )
    assert sign_flip_test(alone(values)) == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("values", SMALL)
def test_equal_sized_conversations_are_flipped_by_their_sums(values: list[float]) -> None:
    assert sign_flip_test(Counter((value, 7) for value in values)) == sign_flip_test(alone(values))


def test_equal_sums_count_as_extreme() -> None:
    assert sign_flip_test({(1.0, 2): 1, (1.0, 4): 1, (-1.0, 8): 1}) == 1.0  # every sum of three ones is 1 or 3


@pytest.mark.parametrize("number", [60, 200])
def test_drawn_sign_flips_approximate_the_exact_p_value(number: int) -> None:
    dice = random.Random(number)
    for _ in range(3):
        values = [dice.choice([1.0, 0.0, -1.0, 0.5]) for _ in range(number)]
        clusters = alone(values)
        chances: dict[int, float] = {0: 1.0}  # of each sum, in halves, worked out value by value
        for value in values:
            spread: dict[int, float] = defaultdict(float)
            for total, chance in chances.items():
                spread[total + int(2 * value)] += chance / 2
                spread[total - int(2 * value)] += chance / 2
            chances = spread
        exact = sum(chance for total, chance in chances.items() if abs(total) >= abs(2 * sum(values)))
        assert sign_flip_test(clusters) == pytest.approx(exact, abs=4 * (exact * (1 - exact) / FLIPS) ** 0.5 + 2 / FLIPS)


def test_grouped_and_single_draws_agree() -> None:
    dice = random.Random(1)
    values = [dice.choice([1.0, -1.0, 1.0, 0.5, -0.5]) * dice.choice([1, 1, -1]) for _ in range(300)]
    nearly = [value + dice.random() * 1e-6 for value in values]
    assert sign_flip_test(alone(nearly)) == pytest.approx(sign_flip_test(alone(values)), abs=0.02)


def test_smallest_p_value_is_above_0() -> None:
    assert sign_flip_test({(1.0, 1): 500}) == 1 / (FLIPS + 1)


@pytest.mark.parametrize("clusters", [{(0.0, 3): 40}, {(0.0, 3): 1}, {(0.0, 1): 2, (0.0, 2): 5}])
def test_identical_runs_have_p_value_1(clusters: Clusters) -> None:
    found = difference(clusters)
    assert (found.mean, found.p) == (0.0, 1.0)
    assert found.differing == 0
    if sum(clusters.values()) < MIN_CONVERSATIONS:
        assert (found.low, found.high) == (None, None)
    else:
        assert found.low is not None
        assert found.low == -(found.high or 0) < 0


def test_single_conversation_has_p_value_1() -> None:
    found = difference({(3.0, 4): 1})
    assert (found.mean, found.low, found.high, found.p) == (0.75, None, None, 1.0)


@pytest.mark.parametrize(
    "p, interval, beyond",
    [
        (0.049, (0.01, 0.2), True),
        (0.049, (-0.2, -0.01), True),
        (0.05, (0.01, 0.2), False),
        (0.001, (-0.01, 0.2), False),
        (0.001, (0.0, 0.2), False),
        (0.001, (None, None), False),  # too few conversations
    ],
)
def test_difference_is_beyond_noise_only_by_p_value_and_interval(
    p: float, interval: tuple[float | None, float | None], beyond: bool
) -> None:
    assert is_beyond_noise(p, interval) is beyond


def test_metric_without_bounds_has_a_bootstrap_interval() -> None:
    clusters = {(100.0, 1): 20, (-30.0, 1): 10}
    found = difference(clusters, bounded=False)
    assert (found.low, found.high) == percentile_bootstrap(clusters)


def test_mean_is_over_cases_and_deterministic() -> None:
    clusters = {(1.0, 4): 20, (-0.5, 1): 10, (0.0, 3): 30}
    found = difference(clusters)
    assert found.mean == pytest.approx(15 / 180)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.mean < found.high
    assert difference(dict(reversed(clusters.items()))) == found


@pytest.mark.parametrize(
    "ps, adjusted",
    [
        ([], []),
        ([0.03], [0.03]),
        ([0.04, 0.01, 0.03], [0.06, 0.03, 0.06]),  # .01 × 3, .03 × 2, and .04 no less than that
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.02, 0.02], [0.04, 0.04]),
    ],
)
def test_holm(ps: list[float], adjusted: list[float]) -> None:
    assert holm_adjust(ps) == pytest.approx(adjusted)


def test_cases_needed_reach_the_power() -> None:
    clusters = {(1.0, 1): 20, (-1.0, 1): 20, (0.0, 1): 160}  # a variance of .2 (of 200/199 × .2), every case alone
    assert cases_needed(clusters) == round(40 / 199 * (1.959964 + 0.841621) ** 2 / 0.03**2 + 0.5)
    assert cases_needed(clusters, difference=0.06) == pytest.approx((cases_needed(clusters) or 0) / 4, abs=1)
    dice = numpy.random.default_rng(1)
    number, found = cases_needed(clusters, difference=0.2) or 0, 0
    for _ in range(300):
        values = dice.choice([1.2, -0.8, 0.2], p=[0.1, 0.1, 0.8], size=number)  # the same spread about .2
        found += sign_flip_test(alone(values.tolist())) < 0.05
    assert 0.7 < found / 300 < 0.9


def test_correlated_cases_need_more_cases() -> None:
    assert (cases_needed({(5.0, 5): 4, (-5.0, 5): 4, (0.0, 5): 32}) or 0) > 4.5 * (
        cases_needed({(1.0, 1): 20, (-1.0, 1): 20, (0.0, 1): 160}) or 0
    )


@pytest.mark.parametrize("clusters", [{(0.0, 2): 9}, {(1.0, 2): 9}, {(1.0, 2): 1}])
def test_cases_needed_are_unknown_without_variation(clusters: Clusters) -> None:
    assert cases_needed(clusters) is None


def same_twice(dice: numpy.random.Generator) -> Counter[tuple[float, int]]:
    """A model asked twice: 100 conversations of 2 to 9 cases, of which .8 go right, with an intra-class correlation of .5."""
    sizes = dice.integers(2, 10, 100)
    chances = dice.beta(0.8, 0.2, 100)
    sums = (dice.binomial(sizes, chances) - dice.binomial(sizes, chances)).astype(float)
    return Counter(zip(sums.tolist(), sizes.tolist(), strict=True))


def test_false_positive_rate_is_at_most_five_percent() -> None:  # benchmarks/intervals.py looks closer
    dice = numpy.random.default_rng(2)
    assert 3 <= sum(sign_flip_test(same_twice(dice)) < 0.05 for _ in range(300)) <= 28  # 15 are expected at most


def test_difference_interval_covers_95_percent() -> None:
    dice = numpy.random.default_rng(3)
    found = [difference(same_twice(dice)) for _ in range(100)]
    assert sum(one.low is not None and one.high is not None and one.low <= 0 <= one.high for one in found) >= 89
