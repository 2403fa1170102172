from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark import grade
from callmark.calls import pairing
from callmark.calls.assignment import assign
from callmark.calls.pairing import Pairing, compare_arguments, compare_similar, pair_calls
from callmark.types import Call
from tests.rows import tool_call


@pytest.mark.parametrize(
    "expected, actual, counts, missing, extra, differ",
    [
        ({}, {}, (0, 0, 0, 0), (), (), ()),
        ({"a": 1}, {"a": "1"}, (1, 1, 1, 1), (), (), ()),
        ({"a": 1, "b": 2}, {"a": 1}, (1, 2, 1, 2), ("b",), (), ()),
        ({"a": 1}, {"a": 1, "c": 3}, (1, 1, 2, 2), (), ("c",), ()),
        ({"a": 1}, {"a": 2}, (0, 1, 1, 1), (), (), ("a",)),
        ({"a": {"$optional": 1}}, {}, (0, 0, 0, 0), (), (), ()),
        ({"a": {"$optional": 1}}, {"a": 1}, (1, 1, 1, 1), (), (), ()),
        ({"a": {"$optional": 1}}, {"a": 2}, (0, 1, 1, 1), (), (), ("a",)),
        ({"a": 1}, {"b": 1}, (0, 1, 1, 2), ("a",), ("b",), ()),
        ({"a": {"$not": 1}}, {}, (0, 1, 0, 1), ("a",), (), ()),
    ],
)
def test_comparing_arguments(
    expected: dict[str, Any], actual: dict[str, Any], counts: tuple[int, ...], missing: Any, extra: Any, differ: Any
) -> None:
    found = compare_arguments(expected, actual)
    assert (found.agree, found.expected, found.actual, found.named) == counts
    assert (found.missing, found.extra, found.differ) == (missing, extra, differ)


def test_arguments_equivalent_to_omission_are_not_counted() -> None:
    schema = {"properties": {"n": {"type": "integer", "default": 10}, "t": {"type": "string"}}}
    found = compare_arguments({"n": 10}, {"t": None}, parameters=schema)
    assert (found.agree, found.expected, found.actual, found.named) == (0, 0, 0, 0)
    assert found.all_agree


values = st.sampled_from(["a b", "A  b.", "ab", "true", "None", 1, "1", True, None, ["a"], ["A."], {"$optional": "a b"}, {"$any": True}])
some_arguments = st.dictionaries(st.sampled_from("abcd"), values)


@pytest.mark.laws
@given(some_arguments, some_arguments, st.sampled_from([None, {"properties": {"a": {"type": "string", "default": "ab"}, "b": {}}}]))
def test_similar_comparison_follows_from_the_exact_one(
    expected: dict[str, Any], actual: dict[str, Any], parameters: dict[str, Any] | None
) -> None:
    found = compare_similar(compare_arguments(expected, actual, parameters=parameters), expected, actual)
    assert found == compare_arguments(expected, actual, rule="similar", parameters=parameters)


def indexes(pairing: Pairing) -> list[tuple[int, int]]:
    return [(one.expected, one.actual) for one in pairing.pairs]


@pytest.mark.parametrize(
    "expected, actual, pairs",
    [
        ([tool_call("f")], [tool_call("f")], [(0, 0)]),
        ([tool_call("f")], [tool_call("g")], []),
        ([tool_call("f")], [tool_call("F")], []),
        ([tool_call("f"), tool_call("f")], [tool_call("f")], [(0, 0)]),
        ([tool_call("f", a=1), tool_call("f", a=2)], [tool_call("f", a=2), tool_call("f", a=1)], [(0, 1), (1, 0)]),
        # most pairs first, even where a single one would agree better
        ([tool_call("f", a=1), tool_call("f", a=1, b=2)], [tool_call("f", a=1, b=2), tool_call("f")], [(0, 1), (1, 0)]),
        # then the most that agree in full
        ([tool_call("f", a=1, b=2), tool_call("f", a=3)], [tool_call("f", a=1, b=9), tool_call("f", a=1, b=2)], [(0, 1), (1, 0)]),
        ([Call("f", {}, None, "cut off", "{")], [tool_call("f")], []),
        ([tool_call("f")], [Call("f", {}, None, "cut off", "{")], []),
        ([], [tool_call("f")], []),
        ([], [], []),
        # tied: the earliest
        ([tool_call("f")], [tool_call("f"), tool_call("f")], [(0, 0)]),
    ],
)
def test_pairs(expected: list[Call], actual: list[Call], pairs: list[tuple[int, int]]) -> None:
    found = pair_calls(expected, actual)
    assert indexes(found) == pairs
    assert len(found.unpaired_expected) == len(expected) - len(pairs)
    assert len(found.unpaired_actual) == len(actual) - len(pairs)


def test_names_are_paired_without_case_on_request() -> None:
    assert indexes(pair_calls([tool_call("P-Create")], [tool_call("p-create")], ignore_case=True)) == [(0, 0)]
    assert indexes(pair_calls([tool_call("P-Create"), tool_call("x")], [tool_call("X"), tool_call("p-create")], ignore_case=True)) == [
        (0, 1),
        (1, 0),
    ]


few_calls = st.lists(
    st.builds(
        lambda name, arguments: Call(name, arguments),
        st.sampled_from(["f", "g"]),
        st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3),
    ),
    max_size=4,
)


def quality(expected: Sequence[Call], actual: Sequence[Call], chosen: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
    """What the law orders pairings by."""
    compared = [compare_arguments(expected[one].arguments, actual[other].arguments) for one, other in chosen]
    return (
        len(compared),
        sum(one.all_agree for one in compared),
        sum(Fraction(one.agree, one.named) if one.named else 1 for one in compared),
        sum(one.agree for one in compared),
        -sum(one.actual for one in compared),
        -sum(one.expected for one in compared),
    )


def every_pairing(expected: Sequence[Call], actual: Sequence[Call]) -> list[list[tuple[int, int]]]:
    """Every one-to-one pairing of calls of the same name."""
    slots = [*range(len(actual)), *[-1] * len(expected)]
    found = set()
    for order in permutations(slots, len(expected)):
        chosen = tuple((one, other) for one, other in enumerate(order) if other >= 0 and expected[one].name == actual[other].name)
        found.add(chosen)
    return [list(chosen) for chosen in found]


@pytest.mark.laws
@given(few_calls.filter(lambda calls: len(calls) <= 3), few_calls)
def test_pairing_is_one_to_one_and_optimal(expected: list[Call], actual: list[Call]) -> None:
    found = indexes(pair_calls(expected, actual))
    assert len({one for one, _ in found}) == len({other for _, other in found}) == len(found)
    assert all(expected[one].name == actual[other].name for one, other in found)
    pairings = every_pairing(expected, actual)
    best = max(quality(expected, actual, chosen) for chosen in pairings)
    assert quality(expected, actual, found) == best
    assert found == min(chosen for chosen in pairings if quality(expected, actual, chosen) == best), "of the best the earliest"


tables = st.tuples(st.integers(1, 7), st.integers(1, 7), st.sampled_from([1, 3, 20])).flatmap(
    lambda size: st.lists(st.lists(st.integers(-size[2], size[2]), min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0])
)


@pytest.mark.laws
@given(tables)
def test_the_assignment_is_as_good_as_scipys(weights: list[list[int]]) -> None:
    scipy = pytest.importorskip("scipy.optimize")
    ours = assign(weights)
    assert len({row for row, _ in ours}) == len({column for _, column in ours}) == min(len(weights), len(weights[0]))
    theirs = scipy.linear_sum_assignment(weights, maximize=True)
    assert sum(weights[row][column] for row, column in ours) == sum(weights[row][column] for row, column in zip(*theirs, strict=True))


@pytest.mark.laws
@given(tables.filter(lambda table: len(table) <= 4 and len(table[0]) <= 4))
def test_of_the_best_assignments_the_first_is_returned(weights: list[list[int]]) -> None:
    rows, columns = len(weights), len(weights[0])
    slots = [*range(columns), *[columns] * max(rows - columns, 0)]
    every = sorted({order for order in permutations(slots, rows) if sum(column < columns for column in order) == min(rows, columns)})
    sums = [sum(weights[row][column] for row, column in enumerate(order) if column < columns) for order in every]
    first = every[sums.index(max(sums))]
    assert assign(weights) == [(row, column) for row, column in enumerate(first) if column < columns]


def test_a_large_assignment_is_as_good_as_scipys() -> None:
    scipy = pytest.importorskip("scipy.optimize")
    random = Random(1)
    for rows, columns, most in ((120, 150, 4), (150, 120, 1000)):
        weights = [[random.randrange(most) for _ in range(columns)] for _ in range(rows)]
        theirs = scipy.linear_sum_assignment(weights, maximize=True)
        assert sum(weights[row][column] for row, column in assign(weights)) == sum(
            weights[row][column] for row, column in zip(*theirs, strict=True)
        )


def test_thousands_of_calls_are_paired_in_bounded_time() -> None:
    calls = [tool_call("f", n=index) for index in range(10_000)]
    assert len(pair_calls(calls[:3], calls).pairs) == 3
    found = pair_calls(calls, calls[::-1])
    assert len(found.pairs) == 10_000
    assert all(one.agrees for one in found.pairs)
    others = [tool_call("f", n=-index) for index in range(1, 2001)]
    assert len(pair_calls(calls[:2000], others).pairs) == 2000


def reversed_calls(count: int, expected: Callable[[int], Any], actual: Callable[[int], Any]) -> tuple[list[Call], list[Call]]:
    return [tool_call("f", a=expected(n)) for n in range(count)], [tool_call("f", a=actual(n)) for n in reversed(range(count))]


@pytest.mark.parametrize(
    "expected, actual",
    [
        (str, int),
        (int, str),
        (lambda n: {"$glob": f"x{n}-*"}, lambda n: f"x{n}-1"),
        (lambda n: {"$one_of": [f"x{n}", f"y{n}"]}, lambda n: f"x{n}"),
        (lambda n: {"$approx": n, "$abs": 0.1}, lambda n: n + 0.05),
        (lambda n: 1e9 + n / 4, lambda n: 1e9 + n / 4),
    ],
)
def test_a_thousand_calls_in_reverse_order_that_are_equal_by_coercion_or_matcher_are_paired(expected: Any, actual: Any) -> None:
    found = pair_calls(*reversed_calls(1000, expected, actual))
    assert len(found.pairs) == 1000
    assert all(pair.agrees for pair in found.pairs)
    assert not found.limited


def test_beyond_a_thousand_calls_equal_ones_are_paired_first_and_the_rest_in_order() -> None:
    expected, actual = reversed_calls(1001, str, lambda n: n if n > 2 else -n - 1)
    found = pair_calls(expected, actual)
    assert found.limited
    assert [(pair.expected, 1000 - pair.actual, pair.agrees) for pair in found.pairs[:4]] == [
        (0, 2, False),
        (1, 1, False),
        (2, 0, False),
        (3, 3, True),
    ]
    notes = grade(expected, actual).notes
    assert "more than 1,000 calls to one tool: equal calls were paired first, the rest in order" in {note.sentence for note in notes}


argument_values = st.sampled_from(
    [0, 1, "1", 1.5, 1.5000000001, "a", " a", {"$any": True}, {"$optional": "a"}, {"$one_of": [1, "b"]}, {"$glob": "a*"}]
)
many_calls = st.lists(
    st.dictionaries(st.sampled_from("abc"), argument_values, max_size=3).map(lambda arguments: Call("f", arguments)), max_size=7
)
schemas = st.sampled_from([{}, {"properties": {"a": {"type": "integer", "default": 1}, "b": {"type": "string", "default": "a"}}}])


@pytest.mark.laws
@given(many_calls, many_calls, schemas, st.sampled_from(["exact", "similar"]))
def test_many_calls_are_paired_as_few_are(expected: list[Call], actual: list[Call], schema: dict[str, Any], rule: Any) -> None:
    few = pair_calls(expected, actual, rule=rule, parameters=lambda name: schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairing, "_FEW_PAIRS", 0)
        assert pair_calls(expected, actual, rule=rule, parameters=lambda name: schema) == few


def test_of_equally_good_partners_a_preferred_one_is_taken() -> None:
    actual = [tool_call("f", a=2), tool_call("f", a=3)]
    assert indexes(pair_calls([tool_call("f", a=1)], actual)) == [(0, 0)]
    assert indexes(pair_calls([tool_call("f", a=1)], actual, preferred=lambda call: call.arguments["a"] == 3)) == [(0, 1)]
