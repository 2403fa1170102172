"""Matching, order and dependencies of calls, against brute force over everything possible."""

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.trajectory import MAX_DEPENDENT, Matches, RespectedEdges, longest_common_subsequence, maximum_matching, respected_edges

Table = list[list[bool]]


def matches(table: Table, actual: int) -> Matches:
    rows = [sum(1 << column for column, found in enumerate(row) if found) for row in table]
    columns = [sum(1 << index for index, row in enumerate(table) if row[column]) for column in range(actual)]
    return Matches(rows, columns)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, int]:
    expected, actual = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    return draw(st.lists(st.lists(st.booleans(), min_size=actual, max_size=actual), min_size=expected, max_size=expected)), actual


def all_matchings(table: Table, actual: int) -> list[dict[int, int]]:
    """Every one-to-one matching, as the actual call of each matched expected call."""
    return [
        dict(zip(rows, columns, strict=True))
        for size in range(min(len(table), actual) + 1)
        for rows in combinations(range(len(table)), size)
        for columns in permutations(range(actual), size)
        if all(table[row][column] for row, column in zip(rows, columns, strict=True))
    ]


@given(tables())
def test_matching_is_one_to_one_and_none_is_larger(given_table: tuple[Table, int]) -> None:
    table, actual = given_table
    partners = maximum_matching(matches(table, actual).rows)
    used = [column for column in partners if column is not None]
    assert len(used) == len(set(used)) == max(map(len, all_matchings(table, actual)))
    assert all(table[row][column] for row, column in enumerate(partners) if column is not None)


@given(tables())
def test_longest_common_subsequence_is_the_longest_matching_in_order(given_table: tuple[Table, int]) -> None:
    table, actual = given_table
    ordered = [found for found in all_matchings(table, actual) if list(found.values()) == sorted(found.values())]
    assert longest_common_subsequence(matches(table, actual)) == max(map(len, ordered))


@given(tables(), st.data())
def test_dependencies_are_those_of_the_best_maximum_matching(given_table: tuple[Table, int], data: st.DataObject) -> None:
    table, actual = given_table
    indexes = st.integers(0, max(len(table) - 1, 0))
    edges = (
        tuple(data.draw(st.lists(st.tuples(indexes, indexes).filter(lambda edge: edge[0] != edge[1]), max_size=6)))
        if len(table) > 1
        else ()
    )
    found = all_matchings(table, actual)
    largest = max(map(len, found))
    best = max(
        sum(one in matching and other in matching and matching[one] < matching[other] for one, other in edges)
        for matching in found
        if len(matching) == largest
    )
    respected = respected_edges(matches(table, actual).rows, edges)
    assert (respected.count, respected.limited) == (best, False)


def test_thousands_of_equal_calls_are_matched() -> None:
    everything = (1 << 5000) - 1
    rows = [everything] * 5000
    assert maximum_matching(rows) == list(range(5000))
    assert maximum_matching([*rows, *rows]).count(None) == 5000
    assert longest_common_subsequence(Matches(rows, rows)) == 5000


def test_chain_of_equal_calls_is_respected() -> None:
    everything = (1 << 100) - 1
    edges = tuple((index, index + 1) for index in range(99))
    assert respected_edges([everything] * 100, edges).count == 99


@pytest.mark.parametrize("calls, limited", [(MAX_DEPENDENT, False), (MAX_DEPENDENT + 1, True)])
def test_search_beyond_the_limit_says_so(calls: int, limited: bool) -> None:
    everything = (1 << calls) - 1
    backwards = tuple((index + 1, index) for index in range(calls - 1))  # the first matching found respects none of them
    respected = respected_edges([everything] * calls, backwards)
    assert respected == RespectedEdges(0 if limited else calls - 1, limited)
