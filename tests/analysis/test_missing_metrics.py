"""Metrics that some grades of a run do not have: each is measured by those that do."""

import pytest

from callmark.analysis.summary import Estimate, Tally
from callmark.grading.record import GradeRecord
from tests.summaries import compare, summarize

CALL, STATE = "call.score", "state.reached"


def grade(case: str, call: float, state: float | None = None, *, trial: int = 0, conversation: str | None = None) -> GradeRecord:
    metrics = {CALL: call} if state is None else {CALL: call, STATE: state}
    return GradeRecord(case, trial, metrics=metrics, expected=("f",), actual=("f",), conversation=conversation)


GRADES = [grade("a", 1.0), grade("b", 1.0, 1.0), grade("c", 0.0, 0.0), grade("d", 0.0)]


@pytest.mark.parametrize("grades", [GRADES, GRADES[::-1], GRADES[1:] + GRADES[:1]])
def test_mean_is_over_grades_that_have_the_metric(grades: list[GradeRecord]) -> None:
    found = summarize(grades)
    assert {name: (one.n, one.mean) for name, one in found.metrics.items()} == {CALL: (4, 0.5), STATE: (2, 0.5)}
    assert found.conversations == 4


def test_metrics_of_an_evaluator_are_adjacent() -> None:
    tally = Tally()
    for metrics in ({"a.x": 1.0, "b.x": 1.0}, {"a.x": 1.0, "a.y": 1.0, "b.x": 1.0}):
        tally.add(GradeRecord(str(len(metrics)), metrics=metrics))
    assert list(tally.summary().metrics) == ["a.x", "a.y", "b.x"]


def test_interval_ignores_grades_without_the_metric() -> None:
    having = [grade(str(index), 1.0, float(index % 3 > 0), conversation=f"talk {index // 2}") for index in range(12)]
    alone = summarize(having).metrics[STATE]
    with_others = [one for index, each in enumerate(having) for one in (grade(f"x{index}", 1.0, conversation=each.conversation), each)]
    assert summarize(with_others).metrics[STATE] == alone
    assert alone.low is not None


def test_grades_of_a_conversation_are_one_cluster() -> None:
    plain = [GradeRecord(str(index), metrics={STATE: float(index % 2)}, conversation=f"talk {index // 2}") for index in range(8)]
    mixed = [
        GradeRecord(one.case, metrics=one.metrics | ({CALL: 1.0} if index % 2 else {}), conversation=one.conversation)
        for index, one in enumerate(plain)
    ]
    assert summarize(mixed).metrics[STATE] == summarize(plain).metrics[STATE]


def test_slice_has_means_of_grades_that_have_the_metric() -> None:
    details = summarize(GRADES).details
    assert details is not None
    (part,) = details.breakdowns.by_tool
    assert (part.n, part.means) == (4, {CALL: 0.5, STATE: 0.5})


def test_grades_without_metrics_give_no_metric() -> None:
    assert summarize([GradeRecord("a"), GradeRecord("b", error="gone")]).metrics == {}


def test_runs_are_compared_on_cases_with_the_metric_in_both() -> None:
    second = [grade("a", 1.0, 1.0), grade("b", 1.0, 0.0), grade("c", 1.0, 1.0), grade("d", 1.0)]
    found = compare(GRADES, second).metrics
    assert (found[CALL].before, found[CALL].after) == (0.5, 1.0)
    assert (found[STATE].before, found[STATE].after, found[STATE].difference) == (0.5, 0.5, 0.0)  # of b and c
    assert STATE not in compare([grade("a", 1.0)], [grade("a", 1.0, 1.0)]).metrics
    assert STATE not in compare([grade("a", 1.0), grade("b", 1.0, 1.0)], [grade("a", 1.0, 1.0), grade("b", 1.0)]).metrics


def test_case_has_the_mean_over_trials_with_the_metric() -> None:
    trials = [grade("a", 1.0, 1.0), grade("a", 1.0, trial=1), grade("a", 1.0, 0.0, trial=2)]
    assert compare(trials, trials).metrics[STATE].before == 0.5
    assert summarize(trials).metrics[STATE] == Estimate(2, 0.5, *_interval(trials))


def _interval(trials: list[GradeRecord]) -> tuple[float | None, float | None]:
    found = summarize([one for one in trials if STATE in one.metrics]).metrics[STATE]
    return found.low, found.high
