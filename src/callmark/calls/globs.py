"""Globs: `*` matches any run of characters, `?` one character. Brackets are literal, and matching is case-sensitive.

Parts are found in order without backtracking: the time is linear in the text, and for a part with `?` at most in its length too.
"""

import re
from functools import lru_cache


def matches_glob(pattern: str, text: str) -> bool:
    """Return whether the pattern matches the whole text."""
    first, *rest = pattern.split("*")
    if not rest:
        return len(text) == len(first) and _is_at(first, text, 0)
    last = rest.pop()
    at, end = len(first), len(text) - len(last)
    if end < at or not _is_at(first, text, 0) or not _is_at(last, text, end):
        return False
    for part in rest:
        at = _find(part, text, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def _is_at(part: str, text: str, at: int) -> bool:
    if "?" not in part:
        return text.startswith(part, at)
    return len(text) >= at + len(part) and all(
        expected in ("?", actual) for expected, actual in zip(part, text[at : at + len(part)], strict=True)
    )


def _find(part: str, text: str, start: int, end: int) -> int:
    if "?" not in part:
        return text.find(part, start, end)
    found = _compile(part).search(text, start, end)
    return -1 if found is None else found.start()


@lru_cache(maxsize=256)
def _compile(part: str) -> re.Pattern[str]:
    return re.compile(".".join(map(re.escape, part.split("?"))), re.DOTALL)
