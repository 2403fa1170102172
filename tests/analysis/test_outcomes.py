"""Whether each case of a run passed, and what went wrong."""

import pytest

from callmark.analysis.outcomes import NO_VERDICT, CaseOutcome, case_outcomes, count_outcomes
from callmark.grading.evaluator import Metric
from callmark.grading.record import GradeRecord
from callmark.types import Fault, Note, Usage
from tests.graded_runs import failed, right, wrong

RATE = {"call.pass": Metric("pass", "pass", "rate"), "call.score": Metric("score", "score"), "own.ok": Metric("ok", "ok", "rate")}
FAULT = Fault("wrong_value", 0, 0, "city", "Bonn", "Ulm", ("call",))


def outcome(*grades: GradeRecord) -> CaseOutcome:
    (found,) = case_outcomes(grades, RATE)
    return found


def graded(**metrics: float) -> GradeRecord:
    return GradeRecord("c", metrics={name.replace("_", "."): value for name, value in metrics.items()})


@pytest.mark.parametrize(
    "grades, status, problems, passed",
    [
        ([right("c")], "passed", (), 1),
        ([wrong("c")], "failed", ("expected None, got no call",), 0),
        ([right("c"), wrong("c", trial=1)], "failed", ("expected None, got no call",), 1),
        ([failed("c")], "error", ("HTTP 503",), 0),
        ([failed("c"), right("c", trial=1)], "passed", (), 1),  # an error is excluded
        ([graded(call_pass=1, own_ok=1)], "passed", (), 1),
        ([graded(call_pass=1, own_ok=0)], "failed", ("own.ok: expected 1, got 0",), 0),  # every verdict counts
        ([graded(call_score=0.5)], "skipped", (NO_VERDICT,), 0),
        ([GradeRecord("c", evaluator_errors={"own": "KeyError: 'x'"})], "error", ("evaluator own failed: KeyError: 'x'",), 0),
    ],
)
def test_outcome_of_a_case(grades: list[GradeRecord], status: str, problems: tuple[str, ...], passed: int) -> None:
    found = outcome(*grades)
    assert (found.status, found.problems, found.passed) == (status, problems, passed)


def test_problems_are_faults_with_their_tool_then_reasons_then_notes() -> None:
    grade = GradeRecord(
        "c",
        metrics={"call.pass": 0.0, "own.ok": 0.0},
        expected=("get_weather",),
        actual=("get_weather",),
        faults=(FAULT,),
        notes=(Note("x", "the note"),),
    )
    assert outcome(grade).problems == ('get_weather: city: expected "Bonn", got "Ulm"', "own.ok: expected 1, got 0", "the note")
    with_reason = GradeRecord("c", metrics={"own.ok": 0.0}, reasons={"own.ok": "because", "other.x": "no"}, notes=(Note("x", "the note"),))
    assert outcome(with_reason).problems == ("own: because",)
    with_note = GradeRecord("c", metrics={"own.ok": 0.0}, notes=(Note("x", "the note"), Note("own_rule", "rule 7 is broken")))
    assert outcome(with_note).problems == ("own: rule 7 is broken",)


def test_message_has_the_first_problem_and_the_trials() -> None:
    assert CaseOutcome("c", "failed", ("a", "b", "c"), 4, 1).message == "3 of 4 trials failed: a (and 2 more)"
    assert CaseOutcome("c", "failed", ("a",)).message == "a"
    assert CaseOutcome("c", "error", ("a",), 0, 0).message == "a"
    assert CaseOutcome("c", "passed").message == ""


def test_latency_is_that_of_all_trials_and_the_shown_trial_is_the_failed_one() -> None:
    found = outcome(right("c", usage=Usage(seconds=1.5)), wrong("c", trial=2, usage=Usage(seconds=2)))
    assert (found.seconds, found.trial) == (3.5, 2)


def test_outcomes_are_counted() -> None:
    assert count_outcomes([CaseOutcome("a", "passed"), CaseOutcome("b", "skipped")]) == "1 case passed"
    assert count_outcomes([CaseOutcome("a", "failed"), CaseOutcome("b", "error")]) == "1 of 2 cases failed, 1 error"
