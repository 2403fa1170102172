"""The summary of grades that are counted in parts is that of all grades, to the bit."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.analysis.breakdowns import MOST_NAMES
from callmark.analysis.exact_sums import PairSum, from_units, to_units
from callmark.analysis.summary import Summary, Tally
from callmark.analysis.summary_parts import PartTally, SummaryStatistics
from callmark.grading.record import GradeRecord
from callmark.types import Fault, Note, Usage
from tests.graded_runs import failed, right, wrong
from tests.summaries import METRICS


def sequential(grades: Sequence[GradeRecord]) -> Summary:
    tally = Tally(METRICS)
    for grade in grades:
        tally.add(grade)
    return tally.summary()


def in_parts(grades: Sequence[GradeRecord], cuts: Sequence[int]) -> Summary:
    """Return the summary of the grades, of which each part is counted alone and sent as bytes."""
    whole = Tally(METRICS)
    for start, end in pairwise([0, *sorted(cuts), len(grades)]):
        part = PartTally(METRICS)
        for grade in grades[start:end]:
            part.add(grade)
        whole.extend(msgspec.msgpack.decode(msgspec.msgpack.encode(part.statistics()), type=SummaryStatistics))
    return whole.summary()


def bits(summary: Summary) -> bytes:
    """Return everything in a summary, with the order of names and all digits of numbers."""
    return msgspec.json.encode(summary)


scores = st.sampled_from([0.0, 1 / 3, 0.1, 0.5, 2 / 3, 0.7, 1.0])
names = st.lists(st.sampled_from("fgh"), max_size=2).map(tuple)
faults = st.builds(
    Fault,
    st.sampled_from(["wrong_value", "no_call", "missing_argument"]),
    st.none(),
    st.none(),
    st.sampled_from([None, "city", "days"]),
    origin=st.sampled_from([None, "elsewhere", "hallucinated"]),
)
usages = st.builds(Usage, scores, st.integers(0, 9), st.integers(0, 9), st.none() | scores, st.integers(1, 3))


@st.composite
def many_grades(draw: st.DrawFn) -> list[GradeRecord]:
    found = []
    for number in range(draw(st.integers(0, 14))):
        metrics = draw(st.sampled_from([("call.score", "call.pass"), ("call.score",), ("effort.calls", "call.score"), ()]))
        found.append(
            GradeRecord(
                f"c{number}",
                error=draw(st.sampled_from(["", "", "", "HTTP 503", "no prediction"])),
                metrics={name: draw(scores) for name in metrics},
                expected=draw(names),
                actual=draw(names),
                faults=tuple(draw(st.lists(faults, max_size=2))),
                notes=tuple(Note(kind, "") for kind in draw(names)),
                conversation=draw(st.sampled_from([None, "a", "b", "c"])),
                usage=draw(st.none() | usages),
                ending=draw(st.sampled_from(["", "done", "lost"])),
                turns=draw(st.none() | st.integers(0, 5)),
                misses=draw(st.integers(0, 2)),
                pooled={name: (draw(scores), draw(scores)) for name in draw(names)},
                categories={"decision": (draw(st.sampled_from("xy")), draw(st.sampled_from("xyz")))},
                evaluator_errors=draw(st.sampled_from([{}, {}, {"own": "ValueError: 1"}, {"own": "ValueError: 2"}])),
            )
        )
    return found


@pytest.mark.laws
@given(many_grades(), st.data())
def test_the_summary_does_not_depend_on_the_parts(grades: list[GradeRecord], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(grades)), max_size=6))
    assert bits(in_parts(grades, cuts)) == bits(sequential(grades))


def test_a_conversation_across_parts_is_one_cluster_with_the_same_sum() -> None:
    grades = [right(f"{number}", conversation=f"c{number // 7}") for number in range(70)]
    grades = [msgspec.structs.replace(grade, metrics={"call.arguments": 1 / (3 + at % 5)}) for at, grade in enumerate(grades)]
    assert sequential(grades).scored_conversations == 10
    for size in (1, 2, 5, 11):
        assert bits(in_parts(grades, range(0, 70, size))) == bits(sequential(grades))


def test_a_shuffled_dataset_gives_the_same_intervals() -> None:
    grades = [(right if number % 3 else wrong)(f"{number}", conversation=f"c{number % 9}") for number in range(60)] + [failed("x")]
    assert bits(in_parts(grades, [13, 14, 40])) == bits(sequential(grades))
    assert sequential(grades).metrics["call.score"].low is not None


def test_names_beyond_the_limit_are_the_same_ones() -> None:
    tools = [f"tool{number}" for number in range(MOST_NAMES - 2)]
    later = ["new1", "tool5", "new2", "new3", "tool6", "new3", "new2"]
    grades = [
        GradeRecord(f"{at}", metrics={"call.score": 1.0}, expected=(name,), conversation="c") for at, name in enumerate([*tools, *later])
    ]
    summary = in_parts(grades, [len(tools) + 1, len(tools) + 3])
    assert bits(summary) == bits(sequential(grades))
    assert {each.tool: each.n for each in summary.tools if each.tool.startswith(("new", "…"))} == {"new1": 1, "new2": 2, "…": 2}


def test_parts_without_grades_change_nothing() -> None:
    assert bits(in_parts([], [0, 0])) == bits(sequential([]))
    grades = [right("a"), wrong("b")]
    assert bits(in_parts(grades, [0, 1, 1, 2])) == bits(sequential(grades))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)))
def test_sums_do_not_depend_on_the_order(numbers: list[float]) -> None:
    sums = []
    for order in (numbers, numbers[::-1]):
        pairs = PairSum()
        for number in order:
            pairs.add((number, -number))
        sums.append(pairs.sums())
    assert sums[0] == sums[1]
    assert all(from_units(to_units(number)) == number for number in numbers)


def test_tenths_add_up() -> None:
    assert from_units(10 * to_units(0.1)) == 1.0
    assert from_units(to_units(1.7e308) * 2) == float("inf")
