"""Intervals that respect conversations; against scipy where every conversation has one value (docs/metrics.md, section 11)."""

import random

import pytest
from scipy.stats import binomtest
from scipy.stats import bootstrap as scipy_bootstrap

from callmark.analysis.intervals import bootstrap, effective_size, wilson


def alone(values: list[float]) -> dict[tuple[float, int], int]:
    """Each value a cluster of its own."""
    found: dict[tuple[float, int], int] = {}
    for value in values:
        found[value, 1] = found.get((value, 1), 0) + 1
    return found


def test_one_value_a_conversation_is_the_plain_percentile_bootstrap() -> None:
    dice = random.Random(3)
    values = [dice.choice([0.0, 0.5, 1.0]) for _ in range(120)]
    ours = bootstrap(alone(values))
    theirs = scipy_bootstrap(
        (values,), lambda sample, axis: sample.mean(axis=axis), n_resamples=10_000, method="percentile", random_state=5
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.005)


@pytest.mark.parametrize("right, n", [(0, 40), (1, 40), (20, 40), (39, 40), (40, 40), (350, 582)])
def test_one_value_a_conversation_is_wilson(right: int, n: int) -> None:
    clusters = {key: times for key, times in {(1.0, 1): right, (0.0, 1): n - right}.items() if times}
    low, high = wilson(clusters) or (0, 0)
    theirs = binomtest(right, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_values_that_hang_together_are_less_sure() -> None:
    apart = {(1.0, 1): 50, (0.0, 1): 50}
    together = {(5.0, 5): 10, (0.0, 5): 10}  # as many values, ten conversations all right, ten all wrong
    assert effective_size(apart) == pytest.approx(100)
    assert effective_size(together) == pytest.approx(20)
    for interval in (wilson, bootstrap):
        narrow, wide = interval(apart), interval(together)
        assert narrow is not None
        assert wide is not None
        assert wide[1] - wide[0] > 1.8 * (narrow[1] - narrow[0])


def test_one_conversation_gives_no_interval() -> None:
    assert bootstrap({(3.0, 4): 1}) is None
    assert wilson({(3.0, 4): 1}) is None


def test_equal_conversations_give_a_point_for_a_mean_and_width_for_a_rate() -> None:
    assert bootstrap({(2.0, 4): 9}) == (0.5, 0.5)
    low, high = wilson({(4.0, 4): 9}) or (0, 0)
    assert (low, high) == pytest.approx((0.7009, 1.0), abs=0.001)  # nine conversations, all right


def test_the_same_input_gives_the_same_numbers() -> None:
    clusters = {(1.0, 3): 4, (2.5, 3): 7, (0.0, 1): 2}
    assert bootstrap(clusters) == bootstrap(dict(reversed(clusters.items())))


@pytest.mark.parametrize("n", [2, 3, 5, 7, 10, 11, 30])
def test_a_rate_of_nothing_begins_at_nothing_and_one_of_all_ends_at_all(n: int) -> None:
    assert (wilson({(0.0, 1): n}) or (1, 1))[0] == 0.0
    assert (wilson({(1.0, 1): n}) or (0, 0))[1] == 1.0


def test_conversations_that_are_all_different_are_drawn_one_by_one() -> None:
    dice = random.Random(4)
    values = [dice.random() for _ in range(300)]
    ours = bootstrap(alone(values)) or (0, 0)
    theirs = scipy_bootstrap(
        (values,), lambda sample, axis: sample.mean(axis=axis), n_resamples=10_000, method="percentile", random_state=5
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.004)
