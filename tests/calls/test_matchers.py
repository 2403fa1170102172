import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.matchers import MATCHER_KINDS, check_matchers
from callmark.calls.values import agrees
from callmark.errors import BadInput

CASES: list[tuple[Any, list[Any], list[Any]]] = [
    ({"$literal": {"$any": True}}, [{"$any": True}], [5, {}]),
    ({"$literal": 5}, [5, "5"], [6]),
    ({"$any": True}, [5, None, "", {}], []),
    ({"$optional": 5}, [5, "5"], [6, None]),
    ({"$glob": "TKT-*"}, ["TKT-1", "TKT-"], ["tkt-1", "xTKT-1", 5, None]),
    ({"$glob": "TKT-*", "$case": False}, ["tkt-1"], ["x"]),
    ({"$glob": "a?c"}, ["abc"], ["ac", "abbc"]),
    ({"$glob": "*b*d"}, ["abcd", "bd"], ["abc"]),
    ({"$glob": "[a]*"}, ["[a]x"], ["ax"]),
    ({"$regex": "[a-z]+"}, ["abc"], ["abc1", "", 5]),
    ({"$regex": "a|ab"}, ["ab"], ["abc"]),
    ({"$one_of": [1, "x", {"$glob": "y*"}]}, [1, "1", "x", "yes"], [2, "z"]),
    ({"$set": [1, 2, 2]}, [[2, 1, 2], ["2", 1, 2.0]], [[1, 2], [1, 1, 2], [1, 2, 2, 2], "x", 5]),
    ({"$set": [{"$any": True}, 1]}, [[1, 9], [9, 1], [1, 1]], [[9, 9]]),
    ({"$set": []}, [[]], [[1], {}]),
    ({"$approx": 12.5, "$abs": 0.01}, [12.5, 12.51, 12.49, "12.5"], [12.511, 12.489, True, None, "x"]),
    ({"$approx": 1, "$abs": 0.1}, [1.1, 0.9], [1.1000001]),
    ({"$approx": 200, "$rel": 0.1}, [180, 220], [179.9, 220.1]),
    ({"$approx": -200, "$rel": 0.1}, [-180, -220], [180]),
    ({"$approx": 0, "$rel": 0.5}, [0], [0.1]),
    ({"$date": "2025-05-10"}, ["2025-05-10", "10 May 2025", "May 10, 2025", "2025-05-10T23:00:00-05:00"], ["2025-05-11", "05/10/2025", 5]),
    ({"$date": "2025-05-10T12:00:00Z"}, ["2025-05-10T14:00:00+02:00"], ["2025-05-10", "2025-05-10T12:00:01Z"]),
    ({"$text": "The server is down", "$ratio": 0.9}, ["the server is down!", "The servers is down"], ["all is well", 5]),
    ({"$text": "x" * 3000, "$ratio": 0.1}, ["X" * 3000], ["x" * 2999]),
    ({"$contains": "Error"}, ["an ERROR occurred"], ["fine", 5]),
    ({"$not": 5}, [6, None], [5, "5"]),
    ({"$not": {"$glob": "a*"}}, ["b", 5], ["ab"]),
    ([{"$any": True}, 1], [[9, 1]], [[9, 2], [9]]),
    ({"x": {"$optional": 1}, "y": 2}, [{"y": 2}, {"x": 1, "y": 2}], [{"x": 2, "y": 2}, {"y": 2, "z": 3}]),
    ({"$x": 1, "y": 2}, [{"$x": 1, "y": 2}], [5]),
    ({}, [{}], [5]),
]


@pytest.mark.parametrize("matcher, right, wrong", CASES, ids=lambda value: str(value)[:40])
def test_matchers(matcher: Any, right: list[Any], wrong: list[Any]) -> None:
    check_matchers(matcher)
    for value in right:
        assert agrees(matcher, value), value
    for value in wrong:
        assert not agrees(matcher, value), value


def test_only_the_expected_side_is_read_as_a_matcher() -> None:
    assert not agrees("x", {"$any": True})
    assert not agrees({"a": 1}, {"a": {"$any": True}})
    assert not agrees(5, '{"$any": true}')
    assert not agrees('{"$any": true}', 5), "nor is a string on the expected side that contains one"


@pytest.mark.parametrize(
    "matcher, sentence",
    [
        ({"$anny": True}, "a.b: unknown matcher '$anny'. Did you mean $any?"),
        ({"$any": False}, "a.b: $any: expected true, got false"),
        ({"$any": True, "$glob": "x"}, "a.b: expected one matcher, got $any and $glob"),
        ({"$regex": "("}, "a.b: $regex: not a valid RE2 pattern: "),
        ({"$regex": "(?=x)"}, "a.b: $regex: not a valid RE2 pattern: "),
        ({"$regex": 5}, "a.b: $regex: expected a string, got 5"),
        ({"$glob": 5}, "a.b: $glob: expected a string, got 5"),
        ({"$glob": "x", "$case": 1}, "a.b: $case: expected true or false, got 1"),
        ({"$one_of": []}, "a.b: $one_of: expected a list of at least 1 item, got 0"),
        ({"$one_of": [{"$nope": 1}]}, "a.b.$one_of[0]: unknown matcher '$nope'"),
        ({"$set": 5}, "a.b: $set: expected a list of at most 1,000 items, got 5"),
        ({"$set": [1] * 1001}, "a.b: $set: expected a list of at most 1,000 items, got 1,001"),
        ({"$approx": 5}, "a.b: $approx: expected $abs or $rel as the tolerance, got neither"),
        ({"$approx": "x", "$abs": 1}, 'a.b: $approx: expected a number, got "x"'),
        ({"$approx": 5, "$abs": -1}, "a.b: $abs: expected a number of at least 0, got -1"),
        ({"$approx": 5, "$abs": 1, "$rel": 1}, "a.b: $approx: expected $abs or $rel as the tolerance, got both"),
        ({"$date": "soon"}, 'a.b: $date: expected a date (ISO 8601, 10 May 2025 or May 10, 2025), got "soon"'),
        ({"$text": "x"}, "a.b: $ratio: expected a number from 0 to 1, but it is missing"),
        ({"$text": "x", "$ratio": 2}, "a.b: $ratio: expected a number from 0 to 1, got 2"),
        ({"$contains": 5}, "a.b: $contains: expected a string, got 5"),
        ({"$not": {"$nope": 1}}, "a.b: unknown matcher '$nope'"),
        ({"$optional": {"$regex": "("}}, "a.b: $regex: not a valid RE2 pattern"),
        ([{"$nope": 1}], "a.b[0]: unknown matcher '$nope'"),
    ],
)
def test_invalid_matcher_is_rejected_with_its_path(matcher: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as raised:
        check_matchers({"a": {"b": matcher}})
    assert sentence in str(raised.value)


ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*MATCHER_KINDS, "$abs", "$rel", "$ratio", "$case", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.laws
@given(ANY_VALUE, ANY_VALUE)
def test_no_matcher_raises_on_any_value(expected: Any, actual: Any) -> None:
    agrees(expected, actual)
    agrees(expected, actual, "similar")
    with contextlib.suppress(BadInput):
        check_matchers(expected)


def test_patterns_end_in_bounded_time() -> None:
    assert not agrees({"$regex": "(a+)+b"}, "a" * 100_000)
    assert not agrees({"$glob": "*a" * 50 + "b"}, "a" * 100_000)
    assert not agrees({"$text": "ab " * 600, "$ratio": 0.99}, "ba " * 600)


@pytest.mark.parametrize(
    "matcher",
    [{"$glob": "caf\u00e9-?"}, {"$glob": "CAF\u00c9-*", "$case": False}, {"$regex": "caf\u00e9-[0-9]"}, {"$contains": "F\u00e9-1"}],
)
def test_text_matchers_look_at_the_trimmed_text_in_nfc(matcher: dict[str, Any]) -> None:
    assert agrees(matcher, " cafe\u0301-1\n")


def test_one_of_takes_matchers() -> None:
    either = {"$one_of": [5, {"$glob": "TKT-*"}, {"$set": [1, 2]}, {"$not": {"$any": True}}]}
    assert [agrees(either, value) for value in (5, "5", "TKT-7", [2, 1], 6, "x")] == [True, True, True, True, False, False]
