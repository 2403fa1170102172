"""Names cut to a width: shortened in the middle, and wider where two would look alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.wording import shorten_all, shorten_middle

NAMES = st.lists(st.text("ab…", max_size=30) | st.text(max_size=20), max_size=8)


@pytest.mark.parametrize(
    "text, width, expected",
    [
        ("exchange_delivered_order_items", 19, "exchange_…der_items"),
        ("exchange", 8, "exchange"),
        ("exchange", 7, "exc…nge"),
        ("exchange", 2, "e…"),
        ("exchange", 1, "…"),
        ("exchange", 0, "…"),
        ("", 0, ""),
    ],
)
def test_middle_is_replaced_by_an_ellipsis(text: str, width: int, expected: str) -> None:
    assert shorten_middle(text, width) == expected


@pytest.mark.parametrize(
    "names, expected",
    [
        (["short", "names"], ["short", "names"]),
        (["modify_pending_order_items", "modify_pending_order_payment"], ["modif…tems", "modif…ment"]),
        (["qwen3-8b-step-400-lora", "qwen3-8b-step-800-lora", "gpt"], ["qwen3-8b…400-lora", "qwen3-8b…800-lora", "gpt"]),
        (["a" * 40, "a" * 40], ["aaaaa…aaaa"] * 2),  # equal names stay equal
        (["abcde…wxyz", "abcdefghijklmnopqrstuvwxyz"], ["abcde…wxyz", "abcde…vwxyz"]),
        ([], []),
    ],
)
def test_colliding_names_are_widened_until_they_differ(names: list[str], expected: list[str]) -> None:
    assert shorten_all(names, 10) == expected


@given(NAMES, st.integers(-1, 20))
def test_different_names_stay_different_and_others_fit(names: list[str], width: int) -> None:
    short = shorten_all(names, width)
    assert len(set(zip(names, short, strict=True))) == len(set(short)) == len(set(names))
    if len(set(names)) == 1:
        assert len(short[0]) <= max(width, 1)


def test_very_long_names_that_differ_in_the_middle_are_told_apart() -> None:
    names = [f"{'a' * 50_000}{letter}{'b' * 50_000}" for letter in "xyz"]
    assert len(set(shorten_all(names, 20))) == 3
