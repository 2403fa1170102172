from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.value_keys import all_keys, value_key
from callmark.calls.values import exact
from tests.calls.test_values import DIFFERENT, SAME

TEXTS = st.text(st.sampled_from('[]{}",:\\u0056e\u0301n\u0303\u212a 1t\u00a0\u0338<'), max_size=10)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | TEXTS | st.sampled_from(["5", "5.0", "true", "null", "[1]", '["5"]']),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


def may_be_equal(one: Any, other: Any) -> bool:
    return value_key(one) is None or value_key(other) is None or value_key(one) == value_key(other)


@pytest.mark.parametrize("one, other", SAME)
def test_equal_values_have_the_same_key(one: Any, other: Any) -> None:
    assert value_key(one) == value_key(other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("\u00a05", "5"),
        ('["\\u006e\u0303"]', ["\u00f1"]),  # an escape, and a mark that would combine with its last letter
        ('["\\u006e\u0303"]', '["\\u006\u1ebd"]'),
        ("[[\"\u212a\"]]", [["K"]]),
        ([{"a": "5"}], [{"a": 5}]),
    ],
)
def test_unusual_equal_values_are_compared(one: Any, other: Any) -> None:
    assert exact(one, other)
    assert may_be_equal(one, other)
    assert value_key(other) in {*all_keys(one), None}
    assert value_key(one) in {*all_keys(other), None}


def test_most_different_values_have_different_keys() -> None:
    assert sum(value_key(one) != value_key(other) for one, other in DIFFERENT) >= len(DIFFERENT) - 6


def test_object_of_another_type_has_no_key() -> None:
    assert value_key(object()) is None
    assert value_key([{"a": object()}]) is None


@pytest.mark.laws
@given(VALUES, VALUES)
def test_values_with_different_keys_are_not_equal(one: Any, other: Any) -> None:
    if not may_be_equal(one, other):
        assert not exact(one, other)
    if exact(one, other):
        assert value_key(other) is None or value_key(other) in all_keys(one) or None in all_keys(one)
