"""The grammar of what is said: choices, parts, values, manners, and how a text is tidied."""

from random import Random

import pytest

from callmark.worlds.retail.language.grammar import Grammar, join_phrases, sentence_key, split_sentences, tidy


def all_of(phrase: str, *, style: str = "", **values: str) -> set[str]:
    grammar = Grammar({"hello": "[hi|hey]", "hello@polite": "good day", "nobody": ""})
    return {grammar.render(phrase, Random(draw), style=style, values=values) for draw in range(80)}


@pytest.mark.parametrize(
    "phrase, texts",
    [
        ("go", {"Go"}),
        ("[a|b]", {"A", "B"}),
        ("a|b c", {"A", "B c"}),
        ("x[ y|]", {"X y", "X"}),
        ("[a [b|c]|d]", {"A b", "A c", "D"}),
        ("<hello>!", {"Hi!", "Hey!"}),
        ("<nobody> there", {"There"}),
        ("{it} and {It}", {"#w[1] and #w[1]"}),
        ("", {""}),
    ],
)
def test_a_phrase_says_each_of_its_ways_and_no_other(phrase: str, texts: set[str]) -> None:
    assert all_of(phrase, it="#w[1]") == texts


def test_a_manner_has_words_of_its_own() -> None:
    assert all_of("<hello>", style="polite") == {"Good day"}
    assert all_of("<hello>", style="terse") == {"Hi", "Hey"}


@pytest.mark.parametrize("phrase", ["<stranger>", "{unknown}"])
def test_what_nobody_knows_is_a_mistake(phrase: str) -> None:
    with pytest.raises(KeyError):
        all_of(phrase)


def test_a_choice_that_is_not_closed_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="not closed"):
        all_of("[a|b")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("  hello ,  you .. there", "Hello, you. There"),
        ("fine!. bye", "Fine! Bye"),
        ("let me see... it's fine", "Let me see... It's fine"),
        ("sara.doe@example.com", "sara.doe@example.com"),
        ("ok. sara.doe@example.com", "Ok. sara.doe@example.com"),
        ("it is 1.5 L, please", "It is 1.5 L, please"),
        ("", ""),
    ],
)
def test_a_text_is_tidied(text: str, expected: str) -> None:
    assert tidy(text) == expected
    assert tidy(expected) == expected


def test_sentences_are_told_apart_and_compared_by_their_words() -> None:
    assert split_sentences("Hi! It's 1.5 L. OK?") == ["Hi!", "It's 1.5 L.", "OK?"]
    assert split_sentences("") == []
    assert sentence_key("Thanks, bye!") == sentence_key("thanks bye")


@pytest.mark.parametrize("things, text", [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_things_in_a_row(things: list[str], text: str) -> None:
    assert join_phrases(things) == text
