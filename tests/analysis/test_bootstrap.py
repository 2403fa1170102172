"""Intervals by resampling conversations; against scipy where every conversation has one value (docs/reference/metrics.md, section 11)."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap

from callmark.analysis.bootstrap import bootstrap, percentile_bootstrap
from callmark.analysis.intervals import MIN_CONVERSATIONS, Clusters, Interval

FEW, MANY = random.Random(3), random.Random(4)
THREE_KINDS = [FEW.choice([0.0, 0.5, 1.0]) for _ in range(120)]
RARELY_WRONG = [0.0] * 4 + [0.5] * 3 + [1.0] * 113
ALL_DIFFERENT = [MANY.random() for _ in range(300)]
SKEWED = [MANY.random() ** 8 for _ in range(60)]


def alone(values: list[float]) -> Counter[tuple[float, int]]:
    """Each value a cluster of its own."""
    return Counter((value, 1) for value in values)


@pytest.mark.parametrize(
    "values, within",
    [(THREE_KINDS, 0.005), (RARELY_WRONG, 0.005), (ALL_DIFFERENT, 0.004), (SKEWED, 0.005)],
    ids=["3", "rare", "all", "skew"],
)
@pytest.mark.parametrize("ours, method", [(bootstrap, "BCa"), (percentile_bootstrap, "percentile")])
def test_single_values_match_the_reference_bootstrap(
    ours: Callable[[Clusters], Interval | None], method: Literal["BCa", "percentile"], values: list[float], within: float
) -> None:
    theirs = scipy_bootstrap(
        (values,), lambda sample, axis: sample.mean(axis=axis), n_resamples=10_000, method=method, random_state=5
    ).confidence_interval
    assert ours(alone(values)) == pytest.approx((theirs.low, theirs.high), abs=within)


def test_interval_of_rare_faults_extends_further() -> None:
    clusters = alone(RARELY_WRONG)
    corrected, plain = bootstrap(clusters), percentile_bootstrap(clusters)
    assert corrected is not None
    assert plain is not None
    assert corrected[0] < plain[0] - 0.005
    assert corrected[1] <= plain[1]


def mean(clusters: Clusters) -> float:
    return sum(total * times for (total, _), times in clusters.items()) / sum(size * times for (_, size), times in clusters.items())


@pytest.mark.parametrize(
    "clusters, expected",
    [
        ({(2.0, 4): 9}, (0.5, 0.5)),
        ({(0.0, 4): 9}, (0.0, 0.0)),
        ({(4.0, 4): 9, (1.0, 1): 3}, (1.0, 1.0)),  # all right, of different length
        ({(0.3, 3): 2, (0.1, 1): 5}, (0.1, 0.1)),  # equal but for rounding
        ({(3.0, 3): 5}, (1.0, 1.0)),
        ({(3.0, 3): 19, (0.0, 3): 1}, (15 / 20, 1.0)),  # a single one that is different
        ({(0.0, 3): 19, (3.0, 3): 1}, (0.0, 5 / 20)),
        ({(1e200, 1): 5, (0.0, 1): 4}, (2e200 / 9, 8e200 / 9)),  # of an evaluator of one's own
        ({(1e-120, 1): 5, (0.0, 1): 4}, (2e-120 / 9, 8e-120 / 9)),
    ],
)
def test_interval_with_little_variation(clusters: Clusters, expected: Interval) -> None:
    assert bootstrap(clusters) == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("sizes", [(10**6, 1), (1, 10**6)])
def test_one_conversation_that_dominates(sizes: tuple[int, int]) -> None:
    """Left out, it takes the mean from one end to the other: no skew is greater."""
    heavy, light = sizes
    clusters = {(float(heavy), heavy): 1, (0.0, light): 12}
    low, high = bootstrap(clusters) or (1, 0)
    assert 0 <= low <= mean(clusters) <= high <= 1


KINDS = st.builds(lambda size, share: (round(share * size, 6), size), st.sampled_from([1, 2, 9, 1000]), st.floats(0, 1))


@pytest.mark.laws
@given(st.dictionaries(KINDS, st.sampled_from([1, 2, 30]), min_size=1, max_size=6))
def test_mean_is_in_its_interval(clusters: dict[tuple[float, int], int]) -> None:
    found = bootstrap(clusters)
    if sum(clusters.values()) < MIN_CONVERSATIONS:
        assert found is None
    else:
        low, high = found or (1, 0)
        assert -1e-9 <= low <= mean(clusters) + 1e-9
        assert mean(clusters) - 1e-9 <= high <= 1 + 1e-9


def test_correlated_values_widen_the_interval() -> None:
    narrow = bootstrap({(1.0, 1): 50, (0.0, 1): 50})
    wide = bootstrap({(5.0, 5): 10, (0.0, 5): 10})  # as many values, ten conversations all right, ten all wrong
    assert narrow is not None
    assert wide is not None
    assert wide[1] - wide[0] > 1.8 * (narrow[1] - narrow[0])


def test_few_conversations_give_no_interval() -> None:
    assert bootstrap({(3.0, 4): 4}) is None
    assert percentile_bootstrap({(3.0, 4): 4}) is None


def test_same_input_gives_the_same_interval() -> None:
    clusters = {(1.0, 3): 4, (2.5, 3): 7, (0.0, 1): 2}
    assert bootstrap(clusters) == bootstrap(dict(reversed(clusters.items())))
