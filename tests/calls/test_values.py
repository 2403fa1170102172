from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.values import exact, without_defaults

SAME = [
    ("a", "a"),
    (" a\n", "a"),
    ("e\u0301", "é"),
    (1, 1.0),
    (2**70, float(2**70)),
    (True, True),
    (None, None),
    ([1, "a"], [1.0, " a"]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("5", 5),
    ("5.0", 5),
    (" 5 ", 5),
    ("true", True),
    ("null", None),
    ("[1, 2]", [1, 2]),
    ('{"a": "1"}', {"a": 1}),
    ({"a": "1"}, {"a": 1}),
    ("1e2", 100),
]
DIFFERENT = [
    ("a", "A"),
    ("a b", "a  b"),
    ("01234", "1234"),
    ("5", "5.0"),
    ("05", 5),
    ("5", True),
    (1, True),
    (0, False),
    (0, None),
    ("", None),
    ("False", False),
    ("NaN", 1),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ({"a": 1}, {"a": 1, "b": None}),
    ({"a": 1}, {"b": 1}),
    ([], {}),
    ({}, None),
    ([1], 1),
    ('"5"', 5),
    ("[1, 2", [1, 2]),
    (9007199254740993, 9007199254740992.0),
]


@pytest.mark.parametrize("one, other", SAME)
def test_values_that_are_exact(one: Any, other: Any) -> None:
    assert exact(one, other)
    assert exact(other, one)


@pytest.mark.parametrize("one, other", DIFFERENT)
def test_values_that_are_not_exact(one: Any, other: Any) -> None:
    assert not exact(one, other)
    assert not exact(other, one)


def test_a_megabyte_of_brackets_is_compared_in_bounded_time() -> None:
    assert not exact("[" * 1_000_000, [])


PARAMETERS = {
    "properties": {
        "limit": {"type": "integer", "default": 10},
        "tag": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "old": {"type": "string", "nullable": True},
        "city": {"type": "string"},
        "free": {},
        "level": {"type": "integer", "default": 10},
    },
    "required": ["city"],
}


@pytest.mark.parametrize(
    "arguments, left",
    [
        ({"limit": 10}, {}),
        ({"limit": "10"}, {"limit": "10"}),  # a tool that takes an integer refuses it
        ({"limit": 10.0}, {}),
        ({"limit": 11}, {"limit": 11}),
        ({"tag": None}, {}),
        ({"level": None}, {}),
        ({"note": None}, {"note": None}),
        ({"maybe": None}, {"maybe": None}),
        ({"old": None}, {"old": None}),
        ({"free": None}, {"free": None}),
        ({"city": None}, {"city": None}),
        ({"unknown": None}, {"unknown": None}),
    ],
)
def test_arguments_equivalent_to_omission(arguments: dict[str, Any], left: dict[str, Any]) -> None:
    assert without_defaults(arguments, PARAMETERS) == left


def test_without_a_schema_no_argument_is_equivalent_to_omission() -> None:
    assert without_defaults({"a": None}, {}) == {"a": None}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(["5", "true", "[1]", "null"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8
)


@pytest.mark.laws
@given(VALUES, VALUES)
def test_exact_is_symmetric_and_reflexive(one: Any, other: Any) -> None:
    assert exact(one, one)
    assert exact(one, other) == exact(other, one)
