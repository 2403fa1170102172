"""Words for messages: a suggestion for a mistyped name, the end of a sentence, a number with its noun."""

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `. Did you mean call.score?` for the closest known word, or an empty text where none is close."""
    from difflib import get_close_matches

    matches = get_close_matches(word, list(known), n=1)
    return f". Did you mean {matches[0]}?" if matches else ""


def end_sentence(sentence: str) -> str:
    """Return the sentence with a period, unless it ends in punctuation already."""
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun: `1 row`, `1,200 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
