"""The verdict on a comparison: better, worse, within noise, identical, errors, too few conversations."""

import pytest
from msgspec.structs import replace

from callmark.analysis.compare import Comparison, MetricChange
from callmark.analysis.verdict import MetricDifference, Outcome, judge, power_sentence

SCORE = MetricChange(0.668, 0.784, 0.116, 0.083, 0.149, 0.0001, False, 60)
NOISE = MetricChange(0.668, 0.676, 0.008, -0.01, 0.026, 0.31, True, 20)
SAME = MetricChange(0.668, 0.668, 0.0, -0.036, 0.036, 1.0, True, 0)


def compared(**metrics: MetricChange) -> Comparison:
    """Return a comparison of 582 cases; metrics are given without the dot: `call_score`."""
    named = {name.replace("_", ".", 1): change for name, change in metrics.items()}
    return Comparison(582, 103, 0, 0, 0, 0, "call.score", named, ["c1"], ["c2"], 332, 145, [], [], 1874)


def negated(change: MetricChange) -> MetricChange:
    assert change.low is not None
    assert change.high is not None
    return replace(change, before=change.after, after=change.before, difference=-change.difference, low=-change.high, high=-change.low)


def test_sentence_has_both_values_the_difference_its_interval_and_the_p_value() -> None:
    verdict = judge(compared(call_score=SCORE), "base", "tuned")
    assert verdict.sentence == "tuned is better than base: call.score .668 → .784, +.116 [+.083, +.149], p < .001"
    assert verdict.scope == "582 common cases, 103 conversations"


@pytest.mark.parametrize(
    "comparison, outcome, sentence",
    [
        (
            compared(call_score=negated(SCORE)),
            "worse",
            "tuned is worse than base: call.score .784 → .668, -.116 [-.149, -.083], p < .001",
        ),
        (
            compared(call_score=NOISE),
            "within noise",
            "tuned is within noise of base: call.score .668 → .676, +.008 [-.010, +.026], p = .310",
        ),
        (
            replace(compared(call_score=SAME, call_pass=SAME), fixed=[], broken=[]),
            "identical",
            "tuned and base have identical scores: call.score .668",
        ),
        (
            compared(call_score=SAME),  # no metric differs, but cases do
            "within noise",
            "tuned is within noise of base: call.score .668 → .668, 0 [-.036, +.036], p = 1",
        ),
        (
            replace(compared(call_score=NOISE), cases=20, conversations=5),
            "too few conversations",
            "Too few conversations to compare tuned with base (at least 6 are needed): "
            "call.score .668 → .676, +.008 [-.010, +.026], p = .310",
        ),
        (
            replace(compared(call_score=SCORE), cases=20, errors_first=3, errors_second=20),
            "errors",
            "tuned cannot be compared with base because of 20 errors in tuned; "
            "on the scored cases, call.score .668 → .784, +.116 [+.083, +.149], p < .001",
        ),
        (
            replace(compared(call_score=SCORE), cases=1, errors_first=1),
            "errors",
            "tuned cannot be compared with base because of 1 error in base; "
            "on the scored cases, call.score .668 → .784, +.116 [+.083, +.149], p < .001",
        ),
        (
            replace(compared(call_score=SCORE), errors_second=20),
            "better",
            "tuned is better than base: call.score .668 → .784, +.116 [+.083, +.149], p < .001",
        ),
        (
            compared(call_pass=SCORE),
            "not measured",
            "tuned cannot be compared with base: call.score is not measured in both runs",
        ),
        (
            compared(call_score=replace(NOISE, low=None, high=None)),
            "within noise",
            "tuned is within noise of base: call.score .668 → .676, +.008, p = .310",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_outcomes(comparison: Comparison, outcome: Outcome, sentence: str) -> None:
    verdict = judge(comparison, "base", "tuned")
    assert (verdict.outcome, verdict.sentence) == (outcome, sentence)


def test_heuristic_is_marked() -> None:
    verdict = judge(compared(call_score=replace(SCORE, heuristic=True), mine_tone=replace(NOISE, heuristic=True)), "base", "tuned")
    assert verdict.sentence.startswith("tuned is better than base: call.score (heuristic) .668 → .784")
    assert [each.heuristic for each in verdict.unchanged] == [True]


@pytest.mark.parametrize("lower_is_better, outcome", [((), "better"), (("call.score",), "worse")])
def test_direction_of_the_metric_decides_what_is_better(lower_is_better: tuple[str, ...], outcome: Outcome) -> None:
    assert judge(compared(call_score=SCORE), "base", "tuned", lower_is_better=lower_is_better).outcome == outcome


def test_other_metrics_are_listed_by_direction_with_the_largest_change_first() -> None:
    comparison = compared(
        call_score=SCORE,
        schema_overall=replace(SCORE, difference=0.066),
        process_reliability=replace(SCORE, difference=0.131),
        mine_cost=SCORE,
        schema_parameters=NOISE,
        process_recall=negated(SCORE),
        schema_execution=replace(NOISE, difference=-0.02),
    )
    verdict = judge(comparison, "base", "tuned", lower_is_better=["mine.cost"])
    assert verdict.better == [MetricDifference("process.reliability", 0.131), MetricDifference("schema.overall", 0.066)]
    assert verdict.worse == [MetricDifference("mine.cost", 0.116), MetricDifference("process.recall", -0.116)]
    assert verdict.unchanged == [MetricDifference("schema.execution", -0.02), MetricDifference("schema.parameters", 0.008)]


def test_scope_names_conversations_only_where_they_have_several_cases() -> None:
    comparison = compared(call_score=SCORE)
    assert judge(replace(comparison, cases=103), "a", "b").scope == "103 common cases"
    assert judge(replace(comparison, cases=2, conversations=1), "a", "b").scope == "2 common cases, 1 conversation"


@pytest.mark.parametrize("cases, shown", [(1874, "1,900"), (12, "12"), (123_456, "120,000")])
def test_number_of_cases_needed_is_approximate(cases: int, shown: str) -> None:
    assert power_sentence(cases) == f"Detecting a difference of .03 needs about {shown} cases."
