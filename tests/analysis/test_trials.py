"""pass@k, pass^k and consistency; against the counting of every choice of k trials (docs/reference/metrics.md, section 11)."""

from itertools import combinations
from statistics import fmean

import pytest

from callmark.analysis.trials import Consistency, PassRate, TrialTally, summarize_trials
from callmark.errors import BadInput
from callmark.grading.record import GradeRecord
from tests.summaries import summarize


def grade(case: str, trial: int, outcome: float | str, group: str | None = None) -> GradeRecord:
    """A trial that passed or not; a text is an error."""
    if isinstance(outcome, str):
        return GradeRecord(case, trial, outcome, group=group)
    return GradeRecord(case, trial, metrics={"call.score": outcome, "call.pass": outcome}, group=group)


def grades(outcomes: dict[str, list[int]]) -> list[GradeRecord]:
    return [grade(case, trial, float(one)) for case, each in outcomes.items() for trial, one in enumerate(each)]


@pytest.mark.parametrize(
    "outcomes",
    [
        {"a": [1]},
        {"a": [0, 1, 1, 0, 1], "b": [1, 1, 1, 1, 1], "c": [0, 0, 0, 0, 0]},
        {"a": [0, 1, 1], "b": [1], "c": [0, 0, 0, 1, 0, 1], "d": [1, 0]},
    ],
)
def test_pass_rates_match_enumeration_of_all_choices(outcomes: dict[str, list[int]]) -> None:
    found = summarize_trials(grades(outcomes))
    assert [one.k for one in found.pass_rates] == list(range(1, max(map(len, outcomes.values())) + 1))
    for one in found.pass_rates:
        enough = [each for each in outcomes.values() if len(each) >= one.k]
        assert one.any == pytest.approx(fmean(fmean(any(chosen) for chosen in combinations(each, one.k)) for each in enough))
        assert one.every == pytest.approx(fmean(fmean(all(chosen) for chosen in combinations(each, one.k)) for each in enough))
        assert (one.cases, one.excluded) == (len(enough), len(outcomes) - len(enough))


def test_no_grades_at_all() -> None:
    found = summarize_trials([])
    assert (found.cases, found.errors, found.pass_rates) == (0, 0, [])
    assert found.trial_consistency == found.group_consistency == Consistency(0, 0, None)


def test_errors_are_not_trials() -> None:
    found = summarize_trials([grade("a", 0, 1.0), grade("a", 1, "HTTP 503"), grade("a", 2, 0.0), grade("b", 0, "HTTP 503")])
    assert (found.cases, found.errors) == (1, 1)
    assert found.pass_rates == [PassRate(1, 0.5, 0.5, 1, 0), PassRate(2, 1.0, 0.0, 1, 0)]


@pytest.mark.parametrize("first, last, passes", [(0.0, 1.0, [1.0]), (1.0, 0.0, [0.0]), ("HTTP 503", 1.0, [1.0]), (1.0, "HTTP 503", [])])
def test_last_grade_of_a_trial_counts(first: float | str, last: float | str, passes: list[float]) -> None:
    assert [one.any for one in summarize_trials([grade("a", 0, first), grade("a", 0, last)]).pass_rates] == passes


def test_trial_passes_only_where_the_metric_is_1() -> None:
    assert summarize_trials([grade("a", 0, 0.5)], metric="call.score").pass_rates[0].any == 0.0


def test_case_is_consistent_when_all_trials_have_the_same_outcome() -> None:
    found = summarize_trials(grades({"a": [1, 1], "b": [0, 0, 0], "c": [1, 0, 1], "d": [1]}))
    assert found.trial_consistency == Consistency(2, 3, 2 / 3)


def test_group_is_consistent_when_all_its_cases_have_the_same_outcome() -> None:
    found = summarize_trials(
        [
            *(grade("a", trial, 1.0, "refund") for trial in range(2)),
            grade("b", 0, 1.0, "refund"),
            grade("c", 0, 1.0, "return"),
            grade("d", 0, 0.0, "return"),
            grade("e", 0, 1.0, "alone"),
            grade("f", 0, "HTTP 503", "alone"),
            grade("g", 0, 0.0),
        ]
    )
    assert found.group_consistency == Consistency(1, 2, 0.5)


def test_unknown_metric_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match=r"unknown metric 'call.pas' in the grade of case 'a'. Did you mean call.pass?"):
        summarize_trials([grade("a", 0, 1.0)], metric="call.pas")


def test_tally_agrees_with_the_summary_of_all_grades() -> None:
    made = [
        GradeRecord(
            f"c{case}",
            trial,
            "" if (case + trial) % 5 else "no answer",
            {"call.pass": float((case * trial) % 3 == 0)},
            group=f"g{case % 4}",
        )
        for case in range(12)
        for trial in range(4)
    ]
    tally = TrialTally("call.pass")
    for grade in made:
        tally.add(grade)
    assert tally.trials() == summarize_trials(made)


@pytest.mark.parametrize(
    "grades, has_trials",
    [
        ([], False),
        ([grade("a", 0, 1.0), grade("b", 0, 0.0), grade("c", 0, 1.0, "refund")], False),
        ([grade("a", 0, 1.0), grade("a", 1, "HTTP 503")], False),  # one trial, after all
        ([grade("a", 0, 1.0), grade("a", 1, 0.0)], True),
        ([grade("a", 0, 1.0, "refund"), grade("b", 0, 0.0, "refund")], True),
    ],
)
def test_details_have_trials_only_where_there_are_some(grades: list[GradeRecord], has_trials: bool) -> None:
    details = summarize(grades).details
    assert details is not None
    assert (details.trials is not None) is has_trials


def test_grade_without_the_metric_is_not_a_trial() -> None:
    tally = TrialTally("call.pass")
    tally.add(GradeRecord("a", metrics={"schema.overall": 1.0}))
    assert (tally.trials().cases, tally.trials().errors) == (0, 1)
