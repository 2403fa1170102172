"""The metrics in parts, and how scores are spread."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.analysis import breakdowns as module
from callmark.analysis.breakdowns import (
    MOST_NAMES,
    NO_CALL,
    NO_NAME,
    NO_POSITION,
    NO_PROMPT,
    NO_SCENARIO_TYPE,
    OTHERS,
    PERCENTS,
    Breakdowns,
    BreakdownTally,
    ScoreTally,
    Slice,
    percentiles,
)
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.types import Call, Case, Message, Prediction, Source
from tests.rows import tool_call

CALLS = st.lists(
    st.builds(
        lambda name, arguments: Call(name, arguments), st.sampled_from("fgh"), st.dictionaries(st.sampled_from("ab"), st.integers(0, 1))
    )
    | st.builds(lambda name: Call(name, {}, None, "cut off", "{"), st.sampled_from(["f", ""])),
    max_size=3,
)
ATTEMPTS = st.lists(
    st.tuples(
        CALLS,
        CALLS | st.just("HTTP 503"),
        st.sampled_from(["", "refund", "exchange"]),
        st.none() | st.integers(0, 40),
        st.text("x", max_size=5).map(lambda text: text * 600),
    ),
    max_size=12,
)


def breakdowns_of(grades: list[GradeRecord]) -> Breakdowns:
    tally = BreakdownTally()
    for grade in grades:
        tally.add(grade)
    return tally.breakdowns()


def scored(score: float = 1.0, *expected: str, **more: Any) -> GradeRecord:
    return GradeRecord("c", metrics={"call.score": score}, expected=expected, **more)


def short(parts: list[Slice]) -> list[tuple[str, int, float]]:
    return [(part.name, part.n, part.means["call.score"]) for part in parts]


def every(found: Breakdowns) -> list[list[Slice]]:
    return [found.by_tool, found.by_scenario_type, found.by_position, found.by_prompt_length]


def test_no_grades_and_only_errors_give_no_slices() -> None:
    assert every(breakdowns_of([])) == [[], [], [], []]
    assert every(breakdowns_of([GradeRecord("c", error="HTTP 503", expected=("f",))])) == [[], [], [], []]


def test_case_is_in_the_slice_of_its_first_expected_tool() -> None:
    grades = [scored(1, "f", "g"), scored(0.5, "g", "f"), scored(0, "g"), scored(1), scored(0), scored(0, ""), scored(0.5, "g")]
    assert short(breakdowns_of(grades).by_tool) == [("g", 3, pytest.approx(1 / 3)), (NO_CALL, 2, 0.5), (NO_NAME, 1, 0), ("f", 1, 1)]


def test_cases_without_a_scenario_type_have_their_own_slice() -> None:
    grades = [scored(1, scenario_type="refund"), scored(0, scenario_type="refund"), scored(1)]
    assert short(breakdowns_of(grades).by_scenario_type) == [("refund", 2, 0.5), (NO_SCENARIO_TYPE, 1, 1)]


@pytest.mark.parametrize(
    "message, name",
    [
        (None, NO_POSITION),
        *((index, "0-4") for index in (0, 1, 4)),
        *((index, "5-8") for index in (5, 8)),
        *((index, "9-16") for index in (9, 16)),
        (17, "17-32"),
        (1000, "513-1024"),
    ],
)
def test_bands_of_positions(message: int | None, name: str) -> None:
    assert short(breakdowns_of([scored(message=message)]).by_position) == [(name, 1, 1)]


@pytest.mark.parametrize(
    "prompt, name",
    [
        (None, NO_PROMPT),
        *((length, "under 1,000") for length in (0, 1, 999)),
        *((length, "1,000-1,999") for length in (1000, 1999)),
        *((length, "2,000-3,999") for length in (2000, 3999)),
        (4000, "4,000-7,999"),
        (1_000_000, "512,000-1,023,999"),
    ],
)
def test_bands_of_prompt_lengths(prompt: int | None, name: str) -> None:
    assert short(breakdowns_of([scored(prompt_characters=prompt)]).by_prompt_length) == [(name, 1, 1)]


def test_bands_are_in_order_and_the_unknown_last() -> None:
    found = breakdowns_of(
        [scored(message=index, prompt_characters=length) for index, length in [(None, None), (20, 9000), (3, 10), (20, 10), (7, 1500)]]
    )
    assert [part.name for part in found.by_position] == ["0-4", "5-8", "17-32", NO_POSITION]
    assert [part.name for part in found.by_prompt_length] == ["under 1,000", "1,000-1,999", "8,000-15,999", NO_PROMPT]


def test_number_of_names_is_bounded_and_still_adds_up() -> None:
    found = breakdowns_of([scored(1, f"f{index}", scenario_type=f"s{index}") for index in range(MOST_NAMES + 50)] + [scored(1, "f0")])
    for parts in (found.by_tool, found.by_scenario_type):
        assert len(parts) == MOST_NAMES + 1
        assert parts[-1].name == OTHERS
        assert sum(part.n for part in parts) == MOST_NAMES + 51
    assert (found.by_tool[0].name, found.by_tool[0].n) == ("f0", 2)


def test_breakdowns_can_be_computed_repeatedly() -> None:
    tally = BreakdownTally()
    tally.add(scored(1, "f"))
    assert tally.breakdowns() == tally.breakdowns()
    tally.add(scored(0, "f"))
    assert short(tally.breakdowns().by_tool) == [("f", 2, 0.5)]


@pytest.mark.laws
@given(ATTEMPTS, st.sampled_from([1, 3, 10_000]))
def test_slices_add_up_to_the_run(attempts: list[Any], most_pending: int) -> None:
    grader = Grader(GradingSettings())
    grades = []
    for index, (expected, prediction_or_error, scenario_type, message, text) in enumerate(attempts):
        case = Case(
            f"c{index}",
            (Message("user", text),),
            expected=tuple(expected),
            scenario_type=scenario_type,
            source=None if message is None else Source("talk", message),
        )
        prediction = (
            Prediction(case.id, error=prediction_or_error)
            if isinstance(prediction_or_error, str)
            else Prediction(case.id, calls=tuple(prediction_or_error))
        )
        grades += grader.record(case, [prediction])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_PENDING", most_pending)
        found = breakdowns_of(grades)
    right = [grade for grade in grades if not grade.error]
    for parts in every(found):
        assert len({part.name for part in parts}) == len(parts)
        assert sum(part.n for part in parts) == len(right)
        for metric in set.intersection(*(set(grade.metrics) for grade in right)) if right else ():
            whole = sum(grade.metrics[metric] for grade in right) / len(right)
            assert sum(part.n * part.means[metric] for part in parts) / len(right) == pytest.approx(whole, rel=0, abs=1e-9)


@pytest.mark.parametrize(
    "values, expected",
    [
        ([], {}),
        ([7.0], {"p5": 7, "p25": 7, "p50": 7, "p75": 7, "p95": 7}),
        ([1.0, 2.0], {"p5": 1, "p25": 1, "p50": 1, "p75": 2, "p95": 2}),
        ([float(value) for value in range(1, 101)], {"p5": 5, "p25": 25, "p50": 50, "p75": 75, "p95": 95}),
        ([float(value) for value in range(1, 22)], {"p5": 2, "p25": 6, "p50": 11, "p75": 16, "p95": 20}),
    ],
)
def test_percentiles_are_observed_values(values: list[float], expected: dict[str, float]) -> None:
    assert percentiles(Counter(values)) == expected


def test_percentiles_are_exact_despite_rounding() -> None:
    assert percentiles({float(value): 1 for value in range(1, 101)}, (55, 100)) == {"p55": 55, "p100": 100}  # .55 * 100 is more than 55


@pytest.mark.parametrize("score, place", [(0.0, 0), (0.099999, 0), (0.1, 1), (0.3, 3), (0.571429, 5), (0.7, 7), (0.999999, 9), (1, 9)])
def test_bin_of_a_score(score: float, place: int) -> None:
    tally = ScoreTally()
    tally.add(scored(score))
    found = tally.distribution()
    assert found is not None
    assert found.histogram == [int(index == place) for index in range(10)]


def test_run_without_scores_has_no_distribution() -> None:
    tally = ScoreTally()
    tally.add(GradeRecord("c", error="HTTP 503"))
    tally.add(GradeRecord("c", metrics={"process.recall": 1.0}))
    assert tally.distribution() is None


@pytest.mark.laws
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.571429, 2 / 3, 1.0]) | st.floats(0, 1).map(lambda score: round(score, 6)), min_size=1))
def test_distribution_matches_the_sorted_scores(scores: list[float]) -> None:
    tally = ScoreTally()
    for score in scores:
        tally.add(scored(score))
    found = tally.distribution()
    assert found is not None
    ordered = sorted(scores)
    assert found.percentiles == {f"p{percent}": ordered[max(-(-percent * len(ordered) // 100), 1) - 1] for percent in PERCENTS}
    assert sum(found.histogram) == found.n == len(scores)


def test_grade_has_the_length_of_its_prompt() -> None:
    case = Case("c", (Message("user", "x" * 700), Message("assistant", "y" * 400)), expected=(tool_call("f"),))
    (grade,) = Grader(GradingSettings()).record(case, [Prediction("c", calls=(tool_call("f"),))])
    assert [part.name for part in breakdowns_of([grade]).by_prompt_length] == ["1,000-1,999"]
