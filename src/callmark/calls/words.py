"""The words of a text (docs/metrics.md, section 3): what is left of it when case, spacing and edge punctuation do not count."""

import unicodedata

_QUOTES = "\"'`"
_ENDINGS = ".,;:!?。，、"
_BRACKETS = frozenset({"Ps", "Pe", "Pi", "Pf"})


def words(text: str) -> list[str]:
    """NFKC, case-folded, split at white space, each word bare of quotes, brackets and closing punctuation; empty ones dropped."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [word for word in map(bare, folded.split()) if word]


def bare(word: str) -> str:
    """A word without the quotes and brackets at its edges and the punctuation at its end."""
    start, end = 0, len(word)
    while start < end and _is_quote(word[start]):
        start += 1
    while start < end and (word[end - 1] in _ENDINGS or _is_quote(word[end - 1])):
        end -= 1
    return word[start:end]


def _is_quote(character: str) -> bool:
    return character in _QUOTES or unicodedata.category(character) in _BRACKETS
