"""Split a text into words, ignoring case, spacing and punctuation at the edges (docs/reference/metrics.md, section 3)."""

import unicodedata
from typing import Literal

_LONGEST_MARKS = 1000

_QUOTES = "\"'`"
_ENDINGS = ".,;:!?。，、"
_BRACKETS = frozenset({"Ps", "Pe", "Pi", "Pf"})


def words(text: str) -> list[str]:
    """Return the words: NFKC, case-folded, split at white space, without quotes, brackets, closing punctuation and empty words."""
    folded = normalize(text, "NFKC").casefold()
    return [word for word in map(strip_punctuation, folded.split()) if word]


def normalize(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """Return the text in a Unicode normal form.

    A text with a run of combining marks longer than any script uses is returned unchanged: normalizing it takes quadratic time.
    """
    if text.isascii() or (len(text) > _LONGEST_MARKS and _longest_run_of_marks(text) > _LONGEST_MARKS):
        return text
    return unicodedata.normalize(form, text)


def _longest_run_of_marks(text: str) -> int:
    """Return the length of the longest run of combining marks."""
    longest = run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        longest = max(longest, run)
    return longest


def strip_punctuation(word: str) -> str:
    """Return a word without the quotes and brackets at its edges and the punctuation at its end."""
    start, end = 0, len(word)
    while start < end and _is_quote(word[start]):
        start += 1
    while start < end and (word[end - 1] in _ENDINGS or _is_quote(word[end - 1])):
        end -= 1
    return word[start:end]


def _is_quote(character: str) -> bool:
    return character in _QUOTES or unicodedata.category(character) in _BRACKETS
