"""The bounds on matchers: what is refused when a file is read, and comparisons that need too many checks."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callmark import grade
from callmark.calls import match_budget
from callmark.calls.expected import read_expected_call
from callmark.calls.match_budget import MatchBudget
from callmark.calls.matchers import MAX_NODES, MAX_SET_MEMBERS, check_matchers
from callmark.calls.pairing import pair_calls
from callmark.calls.values import agrees
from callmark.errors import BadInput, EvaluatorError
from callmark.types import Call


def test_matcher_of_the_largest_size_is_accepted() -> None:
    check_matchers({"a": {"$one_of": [0] * (MAX_NODES - 2)}})
    check_matchers({"a": {"$set": [0] * MAX_SET_MEMBERS}})


@pytest.mark.parametrize(
    "value, sentence",
    [
        ({"$one_of": [0] * (MAX_NODES - 1)}, "a: expected a matcher with at most 10,000 nodes (objects, lists and values), got more"),
        ({"$not": {"$one_of": [[0]] * (MAX_NODES // 2)}}, "a: expected a matcher with at most 10,000 nodes"),
        ([1, {"b": {"$optional": {"x": [0] * MAX_NODES}}}], "a[1].b: expected a matcher with at most 10,000 nodes"),
        ({"$one_of": [1, {"$set": [0] * (MAX_SET_MEMBERS + 1)}]}, "a.$one_of[1]: $set: expected a list of at most 1,000 items, got 1,001"),
    ],
)
def test_matcher_that_is_too_large_is_rejected_with_its_path(value: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as raised:
        read_expected_call({"name": "f", "arguments": {"a": value}})
    assert str(raised.value).startswith(f"f: {sentence}")


@pytest.mark.parametrize("value", [{"$literal": [0] * 20_000}, [{"$any": True}] * 20_000, {"x": [0] * 20_000}])
def test_size_of_plain_values_and_number_of_matchers_are_not_limited(value: Any) -> None:
    check_matchers({"a": value})


@pytest.fixture
def few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match_budget, "MAX_CHECKS", 100)
    monkeypatch.setattr(match_budget, "PREPARATION", 0)


TOO_MANY = "the comparison with its matcher needs more than 100 member checks; use fewer members in $set and $one_of"


@pytest.mark.usefixtures("few_checks")
@pytest.mark.parametrize(
    "expected, actual",
    [
        ({"$set": [{"$approx": 0, "$abs": 19 - index} for index in range(20)]}, list(range(20))),
        ({"$set": [{"$set": [{"$any": True}] * 5}] * 20}, [[1] * 5] * 20),
        ({"$set": [{"a": {"$any": True}, "n": index} for index in range(20)]}, [{"a": 1, "n": 19 - index} for index in range(20)]),
        ({"$one_of": [{"$not": {"$any": True}}] * 60}, 1),
        ({"$one_of": [[1] * 60, [2] * 60, {"$any": True}]}, [2] * 60),
        ({"$one_of": [{"$contains": "x"}] * 5}, "a" * 30_000),
        ({"$text": "ab " * 100, "$ratio": 0.5}, "ba " * 100),
        ({"$glob": "*a?b*"}, "c" * 20_000),
        ({"$regex": "(?:[ab]*a[ab]{50}|[ab]*b[ab]{50})c"}, "ab" * 1000),
        ([0, {"x": {"$set": [{"$glob": f"{index}*"} for index in range(20)]}}], [0, {"x": [str(19 - index) for index in range(20)]}]),
    ],
)
def test_comparison_that_needs_too_many_checks_names_the_argument(expected: Any, actual: Any) -> None:
    with pytest.raises(EvaluatorError) as raised:
        pair_calls([Call("f", {"a": expected})], [Call("f", {"a": actual})])
    assert str(raised.value) == f"f: a: {TOO_MANY}"


@pytest.mark.usefixtures("few_checks")
@pytest.mark.parametrize(
    "expected, actual, agree",
    [
        ({"$set": [{"$glob": "*"}] * 50}, [1] * 49, False),  # another length never matches
        ({"$set": [{"$glob": "*"}] * 50}, "x", False),
        ({"$set": list(range(49))}, list(range(48, -1, -1)), True),  # plain members are found by their keys
        ({"$set": ["5"] * 40}, [5] * 40, True),
        ({"$one_of": list(range(500))}, "499", True),
        ({"$one_of": [{"$literal": index} for index in range(500)]}, 500, False),
        ({"$set": [{"$any": True}] * 30 + [{"$glob": "x"}]}, ["a"] * 31, False),
        ([1] * 500, [1] * 500, True),  # outside matchers nothing is counted
        ({"x": "a" * 500_000}, {"x": " " + "a" * 500_000}, True),
        ({"$literal": [1] * 500}, [1] * 500, True),
    ],
)
def test_comparison_that_needs_few_checks(expected: Any, actual: Any, agree: bool) -> None:
    assert agrees(expected, actual) is agree


@pytest.mark.laws
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fitting=st.lists(st.sets(st.sampled_from("abcdefghij")), min_size=10, max_size=10))
def test_set_of_the_largest_size_is_always_decided(few_checks: None, monkeypatch: pytest.MonkeyPatch, fitting: list[set[str]]) -> None:
    monkeypatch.setattr(match_budget, "PREPARATION", 11)  # as for 1,000 members, and 1,000,000 checks
    agrees({"$set": [{"$regex": f"[{''.join(sorted(letters))}-]"} for letters in fitting]}, list("abcdefghij"))


def test_set_whose_members_are_each_checked_with_each_item_is_decided() -> None:
    n = MAX_SET_MEMBERS
    assert agrees({"$set": [{"$approx": 0, "$abs": n - 1 - index} for index in range(n)]}, list(range(n)))
    assert not agrees({"$set": [{"$approx": 0, "$abs": n - 1}] * (n - 1) + [{"$approx": -1, "$abs": 0}]}, list(range(n)))


@pytest.mark.usefixtures("few_checks")
def test_all_calls_share_the_checks() -> None:
    expected = [Call("f", {"n": index, "tags": {"$set": [{"$glob": "a*"}, {"$glob": "b*"}]}}) for index in range(5)]
    actual = [Call("f", {"n": index, "tags": ["b", "a"]}) for index in range(5)]
    assert pair_calls(expected[:3], actual[:3]).perfect
    with pytest.raises(EvaluatorError, match="^f: tags: the comparison with its matcher needs more than 100"):
        pair_calls(expected, actual)


@pytest.mark.usefixtures("few_checks")
def test_all_alternatives_share_the_checks() -> None:
    call = {"name": "f", "arguments": {"tags": {"$set": [{"$glob": "a*"}, {"$glob": "b*"}]}}}
    actual = [{"name": "f", "arguments": {"tags": ["b", "x"]}}]
    assert grade([call], actual, alternatives=[[call]] * 3).metrics["call.score"] == 0.5
    with pytest.raises(EvaluatorError, match=r"^evaluator 'call' failed: EvaluatorError: f: tags: .* more than 100"):
        grade([call], actual, alternatives=[[call]] * 30)


def test_texts_and_values_are_prepared_once() -> None:
    budget = MatchBudget()
    seen: list[Any] = []
    text, value = "x" * 1000, [1]
    for _ in range(3):
        assert budget.prepare(lambda each: len(each), "short") == 5
        assert budget.prepare(_remember(seen), text) == text
        assert budget.prepare_value(_remember(seen), value) is value
    assert len(seen) == 6, "each of these functions is another one"
    remember = _remember(seen)
    for _ in range(3):
        budget.prepare(remember, text)
        budget.prepare_once(remember, "y")
        budget.prepare_value(remember, value)
    assert seen[6:] == [text, "y", value]


def _remember(seen: list[Any]) -> Any:
    def remember(value: Any) -> Any:
        seen.append(value)
        return value

    return remember


def test_value_that_is_nested_too_deeply_does_not_use_up_the_checks_of_the_next_one() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    budget = MatchBudget()
    assert not agrees({"$set": [deep]}, [deep], "exact", budget)
    assert not budget.inside
