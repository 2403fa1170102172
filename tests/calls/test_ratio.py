from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.ratio import ratio


@pytest.mark.laws
@given(st.text("ab ", max_size=60) | st.text("abcdefgh ", max_size=60), st.text("ab ", max_size=60) | st.text("abcdefgh ", max_size=60))
def test_the_ratio_is_difflibs(one: str, other: str) -> None:
    assert ratio(one, other) == SequenceMatcher(None, one, other, autojunk=False).ratio()


@pytest.mark.parametrize("one, other", [("", ""), ("a", ""), ("abc", "abc"), ("the server is down", "the servers were down")])
def test_plain_texts(one: str, other: str) -> None:
    assert ratio(one, other) == SequenceMatcher(None, one, other, autojunk=False).ratio()


def test_repetitive_texts_are_compared_in_bounded_time() -> None:
    assert 0 < ratio("ab " * 600, "ba " * 600) < 1
    assert ratio("a" * 2000, "a" * 1999) > 0.99
