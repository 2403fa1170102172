"""Calls that satisfy expected calls: a value for every matcher, or an error if there is none."""

from typing import Any

import pytest

from callmark import grade
from callmark.models.model import ModelError
from callmark.models.satisfy import satisfy_call
from callmark.types import Call, Message

GUESSES = ["late", "broken", "the reason"]
MESSAGES = (Message("user", "The number is 123."),)


def guesses(key: str) -> list[Any]:
    return GUESSES if key == "reason" else []


@pytest.mark.parametrize(
    "expected",
    [
        {"$literal": {"$any": True}},
        {"$any": True},
        {"$optional": "x"},
        {"$optional": {"$glob": "x*"}},
        {"$glob": "TKT-*"},
        {"$glob": "T?T-*-?", "$case": False},
        {"$regex": "[A-Z]{3}-[0-9]{4}"},
        {"$regex": r"(?i)(foo|bar)+\d{2,}\s?[^a1]\w*\W$"},
        {"$regex": "x?"},
        {"$regex": r"\pN{3}"},
        {"$one_of": [5, 6]},
        {"$one_of": [{"$regex": r"\pZ\pN"}, {"$date": "2025-05-10"}]},
        {"$set": [1, {"$any": True}, "x"]},
        {"$set": []},
        {"$approx": 12.5, "$abs": 0.01},
        {"$approx": 3, "$rel": 0},
        {"$date": "10 May 2025"},
        {"$text": "Server down", "$ratio": 0.9},
        {"$contains": "down"},
        {"$not": "late"},
        {"$not": {"$one_of": [0, "none of these", "late", "broken"]}},
        {"deep": [{"er": {"$glob": "a*"}}, 1]},
        [{"$any": True}, {"$one_of": [{"$contains": "z"}]}],
        None,
        "",
        [],
        {},
    ],
    ids=repr,
)
def test_every_matcher_is_satisfied(expected: Any) -> None:
    call = Call("cancel", {"reason": expected})
    satisfied = satisfy_call(call, guesses, messages=MESSAGES)
    assert satisfied.arguments.keys() == {"reason"}
    assert grade([call], [satisfied]).metrics["call.score"] == 1.0


@pytest.mark.parametrize(
    "call, sentence",
    [
        (Call("cancel", {"reason": {"$regex": r"\pL{99}"}}), 'no value found for reason of cancel that satisfies {"$regex":"'),
        (
            Call("cancel", {"reason": {"$not": {"$any": True}}}),
            'no value found for reason of cancel that satisfies {"$not":{"$any":true}}',
        ),
        (Call("cancel", {}, None, "cut off", "{"), "the expected call to cancel is malformed, so no call can satisfy it"),
        (Call("", {}, None, "cut off", "{"), "the expected call is malformed, so no call can satisfy it"),
    ],
)
def test_unsatisfiable_argument_is_named(call: Call, sentence: str) -> None:
    with pytest.raises(ModelError) as error:
        satisfy_call(call, guesses, messages=MESSAGES)
    assert sentence in str(error.value)


def test_unsatisfiable_optional_argument_is_left_out() -> None:
    call = Call("cancel", {"reason": "late", "more": {"$optional": {"$not": {"$any": True}}}})
    assert satisfy_call(call, guesses) == Call("cancel", {"reason": "late"})


def test_first_guess_that_matches_is_used() -> None:
    assert satisfy_call(Call("cancel", {"reason": {"$any": True}}), guesses).arguments == {"reason": "late"}
    assert satisfy_call(Call("cancel", {"reason": {"$not": "late"}}), guesses).arguments == {"reason": "broken"}


def test_call_without_matchers_is_returned_unchanged() -> None:
    def none(key: str) -> list[Any]:
        raise AssertionError(key)

    assert satisfy_call(Call("cancel", {"reason": "late"}, "x1"), none) == Call("cancel", {"reason": "late"})
