"""Comparisons in the terminal."""

from io import StringIO

import pytest

from callmark.analysis.compare import Comparison, MetricChange
from callmark.reporting.compare_view import show_comparisons, verdict
from callmark.reporting.terminal import make_console
from callmark.runs.compare import RunComparison


def comparison(difference: float, *, lower_is_better: bool = False, within_noise: bool = False) -> RunComparison:
    change = MetricChange(0.5, 0.5 + difference, difference, None, None, 0.01, within_noise)
    found = Comparison(8, 8, 0, 0, 0, 0, "mine.cost", {"mine.cost": change}, [], [], 4, 4, [], [], None)
    return RunComparison("base", "tuned", False, [], [], found, ["mine.cost"] if lower_is_better else [])


@pytest.mark.parametrize(
    "difference, lower_is_better, expected",
    [(0.2, False, "better"), (-0.2, False, "worse"), (0.2, True, "worse"), (-0.2, True, "better")],
)
def test_direction_of_the_metric_decides_what_is_better(difference: float, lower_is_better: bool, expected: str) -> None:
    assert verdict(comparison(difference, lower_is_better=lower_is_better)) == f"mine.cost: {expected} by .200."


def test_difference_within_noise_is_neither_better_nor_worse() -> None:
    stream = StringIO()
    show_comparisons(make_console(stream), [comparison(0.2, lower_is_better=True, within_noise=True)])
    assert stream.getvalue().endswith("mine.cost: within noise.\n")
