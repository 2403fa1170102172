"""Laws of grading: what holds for every input."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark import grade
from callmark.calls.shapes import read_calls
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.call import CallEvaluator
from callmark.grading.evaluators.process import ProcessEvaluator
from callmark.types import Call
from tests.evaluations import values as values_of

words = st.text(st.characters(codec="utf-8"), max_size=6)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
    | st.sampled_from(["5", "true", "...", ""])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)
calls = st.builds(
    lambda name, arguments: Call(name, arguments),
    st.sampled_from(["f", "g", "F"]),
    st.dictionaries(st.sampled_from("abcd"), values, max_size=3),
)
malformed = st.builds(lambda name: Call(name, {}, None, "truncated JSON", "{"), st.sampled_from(["f", "g", ""]))
lists = st.lists(calls | malformed, max_size=4)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["name", "arguments", "function", "id", "$any"]) | st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.laws
@given(st.lists(calls, max_size=4))
def test_ground_truth_against_itself_is_perfect(gold: list[Call]) -> None:
    graded = grade(gold, gold)
    assert set(graded.metrics.values()) == {1.0}
    assert graded.faults == []


@pytest.mark.laws
@given(lists, lists)
def test_metrics_are_between_0_and_1_and_faults_exist_exactly_below_score_1(expected: list[Call], actual: list[Call]) -> None:
    graded = grade(expected, actual)
    assert all(0 <= value <= 1 for value in graded.metrics.values())
    assert bool(graded.faults) == (graded.metrics["call.score"] < 1)
    assert repr(graded)


@pytest.mark.laws
@given(lists, lists, st.randoms(use_true_random=False))
def test_order_of_calls_changes_no_metric(expected: list[Call], actual: list[Call], random: Any) -> None:
    shuffled, turned = list(expected), list(actual)
    random.shuffle(shuffled)
    random.shuffle(turned)
    for evaluator in (CallEvaluator(), ProcessEvaluator()):
        assert values_of(evaluator, Attempt(expected, actual)) == pytest.approx(values_of(evaluator, Attempt(shuffled, turned)))


@pytest.mark.laws
@given(lists, lists)
def test_unexpected_call_never_raises_a_metric(expected: list[Call], actual: list[Call]) -> None:
    more = [*actual, Call("nobody_expects_this", {"a": 1})]
    for evaluator in (CallEvaluator(), ProcessEvaluator()):
        before, after = values_of(evaluator, Attempt(expected, actual)), values_of(evaluator, Attempt(expected, more))
        assert all(after[name] <= before[name] for name in before)


@pytest.mark.laws
@given(st.lists(ANY_JSON, max_size=3), st.lists(ANY_JSON, max_size=3))
def test_grading_any_json_never_raises(expected: list[Any], actual: list[Any]) -> None:
    graded = grade(read_calls([]), actual)
    assert graded.metrics["call.score"] == (0 if actual else 1)
    attempt = Attempt(read_calls(expected), read_calls(actual))
    assert 0 <= CallEvaluator.score(attempt) <= 1


HOSTILE = [
    {"name": "f", "arguments": {"a": "x" * 1_000_000}},
    {"name": "f", "arguments": '{"a":' * 10_000 + "1" + "}" * 10_000},
    {"name": "f", "arguments": '{"a": 1, "a": 2}'},
    {"name": "f", "arguments": '{"a": "\\ud800"}'},
    {"name": {"f": 1}, "arguments": {}},
    {"name": "\ud800", "arguments": {}},
    5,
    None,
]


@pytest.mark.parametrize("made", HOSTILE, ids=lambda made: str(made)[:30])
def test_hostile_predictions_are_graded(made: Any) -> None:
    graded = grade(
        [{"name": "f", "arguments": {"a": 2}}], [made], tools=[{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}]
    )
    assert graded.metrics["call.score"] < 1 or made == HOSTILE[2]
    assert repr(graded)
    assert isinstance(graded.notes, list)


def test_ten_thousand_calls_in_one_prediction_are_graded() -> None:
    graded = grade([{"name": "f", "arguments": {"a": 1}}], [{"name": "f", "arguments": {"a": n}} for n in range(10_000)])
    assert graded.metrics["call.score"] == pytest.approx(2 / 10_001, abs=1e-6)
    assert len(graded.faults) == 9_999
