"""The template grammar: choices, references, values, styles, and tidying."""

from random import Random

import pytest

from callmark.worlds.retail.language.grammar import Grammar, join_phrases, sentence_key, split_sentences, tidy


def renderings(template: str, *, style: str = "", **values: str) -> set[str]:
    grammar = Grammar({"hello": "[hi|hey]", "hello@polite": "good day", "nobody": ""})
    return {grammar.render(template, Random(draw), style=style, values=values) for draw in range(80)}


@pytest.mark.parametrize(
    "template, texts",
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
def test_template_renders_to_all_its_choices_and_no_others(template: str, texts: set[str]) -> None:
    assert renderings(template, it="#w[1]") == texts


def test_style_overrides_a_template() -> None:
    assert renderings("<hello>", style="polite") == {"Good day"}
    assert renderings("<hello>", style="terse") == {"Hi", "Hey"}


@pytest.mark.parametrize("template", ["<stranger>", "{unknown}"])
def test_unknown_reference_or_value_raises(template: str) -> None:
    with pytest.raises(KeyError):
        renderings(template)


def test_unclosed_choice_raises() -> None:
    with pytest.raises(ValueError, match="not closed"):
        renderings("[a|b")


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
def test_tidy_fixes_spacing_punctuation_and_capitals(text: str, expected: str) -> None:
    assert tidy(text) == expected
    assert tidy(expected) == expected


def test_sentences_are_split_and_compared_by_words() -> None:
    assert split_sentences("Hi! It's 1.5 L. OK?") == ["Hi!", "It's 1.5 L.", "OK?"]
    assert split_sentences("") == []
    assert sentence_key("Thanks, bye!") == sentence_key("thanks bye")


@pytest.mark.parametrize("phrases, text", [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_phrases_are_joined_as_a_list(phrases: list[str], text: str) -> None:
    assert join_phrases(phrases) == text
