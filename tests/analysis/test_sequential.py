"""Looks for deciding early: when they are taken, how wide their intervals are, and what decides (docs/reference/metrics.md, section 11)."""

from math import sqrt
from statistics import NormalDist

import pytest

from callmark.analysis.sequential import check_threshold_at, compare_at, plan_looks
from callmark.errors import BadInput


def test_looks_are_at_equal_numbers_of_conversations_and_end_with_all() -> None:
    looks = plan_looks(200)
    assert [look.conversations for look in looks] == [20, 40, 60, 80, 100, 120, 140, 160, 180, 200]
    assert [look.number for look in looks] == list(range(1, 11))


def test_looks_before_20_conversations_are_skipped_and_still_counted() -> None:
    looks = plan_looks(50)
    assert [(look.number, look.conversations) for look in looks] == [(4, 20), (5, 25), (6, 30), (7, 35), (8, 40), (9, 45), (10, 50)]
    assert plan_looks(19) == []


@pytest.mark.parametrize("looks, critical", [(2, 1.977), (3, 2.004), (4, 2.024), (5, 2.040), (8, 2.072), (10, 2.087), (20, 2.126)])
def test_earlier_looks_have_wider_intervals(looks: int, critical: float) -> None:
    planned = plan_looks(1000, looks)
    assert [look.z for look in planned] == pytest.approx([critical * sqrt(looks / number) for number in range(1, looks + 1)])
    assert planned[-1].level == pytest.approx(2 * (1 - NormalDist().cdf(critical)))


def test_unknown_number_of_looks_is_refused() -> None:
    with pytest.raises(BadInput, match="--looks: expected one of 2, 3, 4, 5, 8, 10, 20, got 7"):
        plan_looks(100, 7)


def test_first_look_needs_a_larger_difference_than_the_last() -> None:
    first, *_, last = plan_looks(400)
    clusters = {(1.0, 1): 20, (-1.0, 1): 5, (0.0, 1): 15}
    assert compare_at(first, clusters)[1] is False
    assert compare_at(last, clusters)[1] is True


def test_clear_difference_decides_at_the_third_look() -> None:
    """The first two looks need p-values below those that 100,000 sign flips can show."""
    first, _, third, *_ = plan_looks(400)
    assert compare_at(first, {(1.0, 1): 40})[1] is False
    found, decided = compare_at(third, {(1.0, 1): 120})
    assert decided
    assert found.p < third.level


@pytest.mark.parametrize("threshold, decided", [(0.5, True), (0.9, False), (0.97, False)])
def test_gate_is_decided_when_its_threshold_is_outside_the_interval(threshold: float, decided: bool) -> None:
    interval, found = check_threshold_at(plan_looks(100)[-1], {(1.0, 1): 95, (0.0, 1): 5}, threshold)
    assert found is decided
    assert interval is not None
