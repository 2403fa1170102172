"""The nearest real word to a mistyped one, for error messages."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str:
    """`. Did you mean call.score?`, or nothing when no known word is near."""
    found = get_close_matches(word, list(known), n=1)
    return f". Did you mean {found[0]}?" if found else ""
