from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.set_matching import all_matched


@pytest.mark.laws
@given(st.integers(0, 5).flatmap(lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n)))
def test_members_are_matched_if_some_order_of_the_items_fits(fits: list[list[bool]]) -> None:
    asked: list[tuple[int, int]] = []

    def ask(member: int, item: int) -> bool:
        asked.append((member, item))
        return fits[member][item]

    every = (1 << len(fits)) - 1
    possible = any(all(fits[member][item] for member, item in enumerate(order)) for order in permutations(range(len(fits))))
    assert all_matched([every] * len(fits), ask) is possible
    assert len(asked) == len(set(asked)), "no pair is checked twice"
    known = [sum(1 << item for item, fit in enumerate(row) if fit) for row in fits]
    assert all_matched(known, lambda member, item: True) is possible


def test_long_chain_of_exchanges_needs_no_recursion() -> None:
    n = 1000
    assert all_matched([1 | 2 << member for member in range(n - 1)] + [1], lambda member, item: True)
    assert not all_matched([(1 << n) - 1 - (1 << n - 1)] * n, lambda member, item: True)


def test_items_in_the_same_order_need_one_check_each() -> None:
    asked: list[int] = []

    def fits(member: int, item: int) -> bool:
        asked.append(member)
        return member == item

    assert all_matched([(1 << 100) - 1] * 100, fits)
    assert len(asked) == 100
