"""The reasons of evaluators, collected over a run."""

from callmark.analysis.reasons import MAX_EXAMPLES, ReasonTally
from callmark.grading.record import GradeRecord


def test_no_grades_have_no_reasons() -> None:
    assert ReasonTally().reasons() == {}


def test_reasons_are_counted_by_metric_and_the_first_are_examples() -> None:
    tally = ReasonTally()
    for number in range(MAX_EXAMPLES + 2):
        tally.add(GradeRecord(f"c{number}", metrics={"mine.score": 0.5}, reasons={"mine.score": "half", "mine.speed": "not measured"}))
    tally.add(GradeRecord("without"))
    found = tally.reasons()
    assert {metric: (reasons.count, len(reasons.examples)) for metric, reasons in found.items()} == {
        "mine.score": (MAX_EXAMPLES + 2, MAX_EXAMPLES),
        "mine.speed": (MAX_EXAMPLES + 2, MAX_EXAMPLES),
    }
    first = found["mine.score"].examples[0]
    assert (first.case, first.trial, first.value, first.text) == ("c0", 0, 0.5, "half")
    assert found["mine.speed"].examples[0].value is None  # not applicable
