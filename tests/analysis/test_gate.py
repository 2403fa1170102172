"""Conditions that a run must meet."""

from collections import Counter

import pytest

from callmark.analysis.compare import MetricChange
from callmark.analysis.gate import (
    Gate,
    GateCheck,
    Measured,
    check_gate,
    gate_headline,
    gate_measures,
    is_passed_by_noise,
    parse_thresholds,
    power_warning,
)
from callmark.analysis.intervals import Clusters
from callmark.errors import BadInput
from callmark.grading.evaluate import undeclared_metric
from callmark.grading.record import GradeRecord
from tests.graded_runs import DEFINITIONS, METRICS, failed, right, some, wrong
from tests.summaries import compare, summarize


def judged(gate: Gate, grades: list[GradeRecord], baseline: list[GradeRecord] | None = None) -> list[GateCheck]:
    summary = summarize(grades)
    changes = compare(baseline, grades).metrics if baseline is not None else {}
    return check_gate(gate, Measured(summary.scored, summary.errors, summary.metrics, changes))


@pytest.mark.parametrize(
    "bound, right_of_40, met, text",
    [
        (0.5, 20, True, ".5 ≥ .5"),
        (0.5, 21, True, ".525 ≥ .5"),
        (0.5, 19, False, ".475 < .5"),
        (1.0, 40, True, "1 ≥ 1"),
        (0.0, 0, True, "0 ≥ 0"),
        (0.8125, 33, True, ".825 ≥ .8125"),
        (0.8251, 33, False, ".825 < .8251"),
    ],
)
def test_minimum_of_a_metric(bound: float, right_of_40: int, met: bool, text: str) -> None:
    assert judged(Gate(min={"call.score": bound}), some(right_of_40)) == [GateCheck("min", "call.score", met, text)]


def with_score(score: float) -> list[GradeRecord]:
    return [GradeRecord("c", metrics={"call.score": score})]


@pytest.mark.parametrize(
    "score, bound, met, text",
    [
        (0.9, 0.9 + 1e-12, True, ".9 ≥ .9"),  # what rounding costs is no failure
        (0.1 + 0.2, 0.3, True, ".3 ≥ .3"),
        (0.89996, 0.9, False, ".89996 < .9"),  # never `.9 < .9`
        (0.99999, 1.0, False, ".99999 < 1"),
        (0.81229, 0.8122, True, ".8123 ≥ .8122"),  # never `.812 ≥ .8122`
        (0.00001, 0.0, True, ".00001 ≥ 0"),
    ],
)
def test_numbers_have_enough_decimals_to_differ_from_their_threshold(score: float, bound: float, met: bool, text: str) -> None:
    assert judged(Gate(min={"call.score": bound}), with_score(score)) == [GateCheck("min", "call.score", met, text)]


def test_unbounded_metric_may_exceed_0_to_1() -> None:
    gate = Gate(min={"my.points": 12.5, "my.debt": -0.25})
    gate_measures(gate, {name: undeclared_metric(name) for name in ("my.points", "my.debt")}, pass_metric="call.pass")
    grades = [GradeRecord("c", metrics={"my.points": 1234.5, "my.debt": -0.5})]
    assert [one.text for one in judged(gate, grades)] == ["1234.5 ≥ 12.5", "-.5 < -.25"]


@pytest.mark.parametrize(
    "bound, significant, after, met, text",
    [
        (0.02, False, 39, True, ".975, baseline .95: no drop, at most .02 allowed"),
        (0.0, False, 38, True, ".95, baseline .95: no drop, at most 0 allowed"),
        (0.05, False, 36, True, ".9, baseline .95: drop .05 ≤ .05"),
        (0.02, False, 36, False, ".9, baseline .95: drop .05 > .02"),
        (0.02, True, 36, True, ".9, baseline .95: drop .05 > .02, but within noise"),
        (0.02, True, 20, False, ".5, baseline .95: drop .45 > .02"),
    ],
)
def test_maximum_drop_of_a_metric(bound: float, significant: bool, after: int, met: bool, text: str) -> None:
    gate = Gate(max_drop={"call.score": bound}, baseline="base", significant=significant)
    assert judged(gate, some(after), some(38)) == [GateCheck("max_drop", "call.score", met, text)]


@pytest.mark.parametrize(
    "threshold, changes, warning",
    [
        (
            0.05,
            Counter({(-1.0, 1): 2, (0.0, 1): 4}),
            "6 cases are too few to tell: detecting a drop of .05 needs about 840 cases",
        ),
        (
            0.0,
            Counter({(-1.0, 1): 2, (0.0, 1): 4}),
            "6 cases are too few to tell: detecting a drop of .333 needs about 19 cases",
        ),
        (0.05, Counter({(-1.0, 1): 1}), "1 case is too few to tell"),
        (0.3, Counter({(-1.0, 1): 36, (0.0, 1): 40, (1.0, 1): 2}), ""),
    ],
)
def test_drop_that_passes_as_noise_is_warned_about_without_power(threshold: float, changes: Clusters, warning: str) -> None:
    change = MetricChange(1.0, 2 / 3, -1 / 3, -0.8, 0.1, 0.5, True, 2)
    assert is_passed_by_noise(threshold, change)
    found = power_warning("call.score", threshold, change, changes)
    assert found == (f"call.score dropped by .333, which is within noise, but {warning}" if warning else "")


@pytest.mark.parametrize("after, noise", [(0.96, True), (0.5, False)])
def test_small_and_significant_drops_do_not_pass_by_noise(after: float, noise: bool) -> None:
    change = MetricChange(1.0, after, after - 1, None, None, 0.5, noise, 2)
    assert not is_passed_by_noise(0.05, change)
    assert not is_passed_by_noise(0.05, None)


def test_drop_is_over_common_cases() -> None:
    """The run as a whole is worse because of harder cases; on the cases of the baseline it is unchanged."""
    gate = Gate(max_drop={"call.score": 0.0}, baseline="base")
    assert judged(gate, [*some(20), *(wrong(f"hard{n}") for n in range(40))], some(20))[0].met


def test_metric_that_one_run_lacks_fails() -> None:
    grades, before = some(20), some(20)
    for one in before:
        del one.metrics["call.pass"]
    gate = Gate(max_drop={"call.pass": 0.1}, baseline="base")
    assert judged(gate, grades, before) == [
        GateCheck("max_drop", "call.pass", False, "not measured in both runs, expected a drop of at most .1")
    ]


@pytest.mark.parametrize("most, met, text", [(2, True, "2 ≤ 2"), (1200, True, "2 ≤ 1,200"), (1, False, "2 > 1")])
def test_maximum_of_errors(most: int, met: bool, text: str) -> None:
    grades = [right("a"), failed("b"), failed("c")]
    assert judged(Gate(max_errors=most), grades) == [GateCheck("max_errors", "errors", met, text)]


@pytest.mark.parametrize("grades", [[], [failed("a"), failed("b")]], ids=["none", "errors"])
@pytest.mark.parametrize(
    "gate",
    [Gate(min={"call.score": 0.0}), Gate(max_errors=9), Gate(max_drop={"call.score": 1.0}, baseline="base")],
    ids=["min", "errors", "drop"],
)
def test_run_without_scored_cases_never_passes(gate: Gate, grades: list[GradeRecord]) -> None:
    first, *others = judged(gate, grades)
    assert first == GateCheck("scored", "scored cases", False, "0: nothing to check")
    assert [one.met for one in others] == [gate.max_errors is not None]
    assert gate_headline([first, *others]) == f"{sum(one.met for one in others)} of 2 checks passed"


def test_unfinished_run_never_passes() -> None:
    first, second = check_gate(Gate(max_errors=0), Measured(40, 0, {}), unfinished="interrupted")
    assert first == GateCheck("finished", "run", False, "interrupted")
    assert second.met


@pytest.mark.parametrize(
    "gate, sentence",
    [
        (Gate(), "the gate has no thresholds: every run would pass"),
        (Gate(baseline="base"), "the gate has no thresholds: every run would pass"),
        (Gate(min={"call.scor": 0.5}), "unknown metric 'call.scor'. Did you mean call.score?"),
        (Gate(min={"xyz": 0.5}), "unknown metric 'xyz'"),
        (Gate(max_drop={"schema.overall": 0.5}, baseline="base"), "unknown metric 'schema.overall'"),
        (Gate(max_drop={"call.score": 0.5}), "max_drop needs a baseline"),
        (Gate(max_drop={"call.score": -0.1}, baseline="base"), "max_drop: call.score: expected a drop of 0 or more, got -0.1"),
        (Gate(max_drop={"call.score": 2.0}, baseline="base"), "max_drop: call.score: expected a drop of at most 1, got 2"),
        (Gate(min={"call.score": 90.0}), "min: call.score: expected a number from 0 to 1, got 90"),
        (Gate(min={"call.score": -0.5}), "min: call.score: expected a number from 0 to 1, got -0.5"),
        (Gate(min={"call.score": float("nan")}), "min: call.score: expected a number, got nan"),
        (Gate(max_drop={"call.score": float("inf")}, baseline="base"), "max_drop: call.score: expected a number, got inf"),
        (Gate(max_errors=-1), "max_errors: expected an integer of at least 0, got -1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_gate_is_refused(gate: Gate, sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        gate_measures(gate, {name: DEFINITIONS[name] for name in METRICS}, pass_metric="call.pass")
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    "text", ["call.score", "call.score=", "=0.9", " =0.9", "call.score=high", "call.score=0,9", "call.score=nan", "call.score=-inf", ""]
)
def test_invalid_threshold_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_thresholds([text], "min")
    assert str(refused.value) == f"--min: expected METRIC=NUMBER, got {text!r}"


def test_thresholds_are_parsed() -> None:
    assert parse_thresholds(["call.score=0.9", " call.pass = .5 "], "min") == {"call.score": 0.9, "call.pass": 0.5}
    with pytest.raises(BadInput, match=r"--max-drop: call\.score is given twice"):
        parse_thresholds(["call.score=0.9", "call.score=0.8"], "max-drop")
