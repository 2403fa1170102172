"""Split a text into words, ignoring case, spacing and punctuation at the edges (docs/reference/metrics.md, section 3)."""

import re
import unicodedata
from typing import Literal

_SHORT = 500  # characters; a shorter text is normalized in microseconds, whatever it is
_LONGEST_RUN = 30  # combining marks in a row; no script uses more (Unicode's Stream-Safe Text Format)

_QUOTES = "\"'`"
_ENDINGS = ".,;:!?。，、"
_BRACKETS = frozenset({"Ps", "Pe", "Pi", "Pf"})
_SPELLINGS = str.maketrans(dict.fromkeys("‘’ʼ‛", "'") | dict.fromkeys("“”„‟", '"') | dict.fromkeys("‐‑‒–—―−", "-"))


def words(text: str) -> list[str]:
    """Return the words: NFKC, with plain apostrophes, quotes and hyphens, case-folded, split at white space, without quotes, brackets,
    closing punctuation and empty words.
    """
    folded = (text if text.isascii() else normalize(text, "NFKC").translate(_SPELLINGS)).casefold()
    return [word for word in map(strip_punctuation, folded.split()) if word]


def trim(text: str) -> str:
    """Return the text in NFC, without outer white space: the form in which strings are compared by `exact`."""
    return normalize(text, "NFC").strip()


def normalize(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """Return the text in a Unicode normal form.

    `unicodedata` sorts a run of combining marks in quadratic time. A text with a long run is therefore decomposed and sorted here, with the
    same result.
    """
    if text.isascii() or (len(text) > _SHORT and unicodedata.is_normalized(form, text)):
        return text
    if len(text) > _SHORT and _has_long_run(text):
        return unicodedata.normalize("NFC", _decompose(text, "NFD" if form == "NFC" else "NFKD"))
    return unicodedata.normalize(form, text)


def _has_long_run(text: str) -> bool:
    marks = {mark for mark in set(text) if all(map(unicodedata.combining, unicodedata.normalize("NFKD", mark)))}
    return bool(marks) and re.search(f"{_one_of(marks)}{{{_LONGEST_RUN + 1}}}", text) is not None


def _decompose(text: str, form: Literal["NFD", "NFKD"]) -> str:
    """Return the text in a decomposed normal form: every character decomposed, every run of marks in the order of its combining classes."""
    parts = {character: unicodedata.normalize(form, character) for character in set(text)}
    decomposed = "".join(map(parts.__getitem__, text))
    marks = {mark for mark in set(decomposed) if unicodedata.combining(mark)}
    return re.sub(f"{_one_of(marks)}{{2,}}", lambda run: "".join(sorted(run[0], key=unicodedata.combining)), decomposed)


def _one_of(characters: set[str]) -> str:
    return f"[{''.join(map(re.escape, sorted(characters)))}]"


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
