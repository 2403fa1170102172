"""Words for messages: the nearest real word to a mistyped one, and a number with its noun."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """`. Did you mean call.score?`, or nothing when no known word is near."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=1)
    return f". Did you mean {found[0]}?" if found else ""


def ended(sentence: str) -> str:
    """The sentence with a full stop, where it has no end of its own."""
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def counted(number: int, noun: str) -> str:
    """`1 row`, `1,200 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
