from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.values import agrees, exact, similar
from callmark.calls.words import words


@pytest.mark.parametrize(
    "text, found",
    [
        ("Server down!", ["server", "down"]),
        ("  server\tdown ", ["server", "down"]),
        ('"(Hello)," she said.', ["hello", "she", "said"]),
        ("«Bonjour»", ["bonjour"]),
        ("“C#” 5 % .5 -5", ["c#", "5", "%", ".5", "-5"]),
        ("ＡＢＣ", ["abc"]),
        ("好的。", ["好的"]),
        ("... !", []),
        ("", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


AGREE = [
    ("Server down!", "server  down"),
    ("False", False),
    ("TRUE", True),
    ("None", None),
    ("null", None),
    ("5", 5),
    ({"a": ["Hello."]}, {"a": ["hello"]}),
    ("[1, 2]", [1, 2]),
    ("", ""),
    ("...", "..."),
    ("Straße", "STRASSE"),
]
DISAGREE = [
    ("-5", "5"),
    (".5", "5"),
    ("C#", "C"),
    ("5 %", "5"),
    ("你好", "再见"),
    ("", "..."),
    ("!", "?"),
    ("none", False),
    ("a b", "b a"),
    ("yes", True),
    (1, True),
]


@pytest.mark.parametrize("one, other", AGREE)
def test_values_that_agree_by_similar(one: Any, other: Any) -> None:
    assert similar(one, other)
    assert similar(other, one)


@pytest.mark.parametrize("one, other", DISAGREE)
def test_values_that_differ_by_similar(one: Any, other: Any) -> None:
    assert not similar(one, other)
    assert not similar(other, one)


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(["5", "True", "none", "Hi!", "hi"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8
)


@pytest.mark.laws
@given(VALUES, VALUES)
def test_exact_implies_similar_and_similar_is_symmetric(one: Any, other: Any) -> None:
    assert similar(one, one)
    assert similar(one, other) == similar(other, one)
    if exact(one, other):
        assert similar(one, other)


def test_excessive_nesting_compares_as_different() -> None:
    one: Any = []
    other: Any = []
    for _ in range(100_000):
        one, other = [one], [other]
    assert not agrees(one, other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("it’s", "it's"),
        ("itʼs", "it‛s"),
        ("5 “inch” pipe", '5 "inch" pipe'),
        ("a„b", "a‟b"),
        ("e‑mail", "e-mail"),
        ("10–12", "10-12"),
        ("−5", "-5"),
    ],
)
def test_apostrophes_quotes_and_hyphens_are_folded(one: str, other: str) -> None:
    assert similar(one, other)
    assert similar(other, one)
    assert not exact(one, other)
