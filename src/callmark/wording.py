"""Words for messages: a suggestion for a mistyped name, a number with its noun, the end of a sentence, names cut to a width, the mark of a
heuristic.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

_LEAST_SIMILAR = 0.65  # of a name that is suggested; 0 to 1


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `. Did you mean call.score?` for the closest known word, or an empty text where none is close."""
    from difflib import get_close_matches

    matches = get_close_matches(word, list(known), n=1, cutoff=_LEAST_SIMILAR)
    return f". Did you mean {matches[0]}?" if matches else ""


def end_sentence(sentence: str) -> str:
    """Return the sentence with a period, unless it ends in punctuation already."""
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def mark_heuristic(name: str, is_heuristic: bool) -> str:
    """Return the name of a metric as it is shown: `decision.behavior (heuristic)` for a heuristic, else unchanged."""
    return f"{name} (heuristic)" if is_heuristic else name


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 row`, `1,200 rows`. `plural` is for nouns that do not simply take an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


def shorten_middle(text: str, width: int) -> str:
    """Return the text in at most `width` characters, its middle replaced by `…`: names that start alike often differ at the end.

    A text that fits is returned unchanged. A width below 1 counts as 1.
    """
    if len(text) <= width:
        return text
    kept = max(width, 1) - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def shorten_all(names: Sequence[str], width: int) -> list[str]:
    """Return the names, each shortened in the middle to `width` characters, or to as many more as it takes to tell different names apart.

    Equal names stay equal.
    """
    widths = dict.fromkeys(names, max(width, 1))
    while True:
        short = {name: shorten_middle(name, limit) for name, limit in widths.items()}
        times = Counter(short.values())
        colliding = [name for name in short if times[short[name]] > 1]
        if not colliding:
            return [short[name] for name in names]
        for name in colliding:
            widths[name] += 1 + widths[name] // 64  # in proportion, so that very long names need few rounds
