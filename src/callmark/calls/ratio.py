"""The similarity ratio of two texts: `difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()`, in bounded time.

The matched blocks are the same as in `difflib` (the longest common run, ties to the earliest in the first text, then in the second; then
the parts to its left and right), but each is found by looking up runs of one length, so that repetitive texts do not take cubic time.
"""

from collections import Counter
from collections.abc import Callable

_RUNS = 8  # runs of characters that are looked up in the time of one check
_COUNT = 4  # checks in whose time the characters of two texts are counted, for each 200 characters


def ratio(one: str, other: str, spend: Callable[[int], None] | None = None) -> float:
    """Return the ratio from 0 to 1; 1 for two empty texts. `spend` is called with the number of checks before they are made."""
    total = len(one) + len(other)
    return 2.0 * _matched(one, other, spend) / total if total else 1.0


def reaches_ratio(one: str, other: str, minimum: float, spend: Callable[[int], None] | None = None) -> bool:
    """Return whether the ratio is at least the minimum. It is computed only if the lengths and the characters of the texts allow it."""
    total = len(one) + len(other)
    if total and 2.0 * min(len(one), len(other)) / total < minimum:
        return False
    if spend is not None:
        spend(_COUNT * (1 + total // 200))
    if total and 2.0 * sum((Counter(one) & Counter(other)).values()) / total < minimum:
        return False
    return ratio(one, other, spend) >= minimum


def _matched(one: str, other: str, spend: Callable[[int], None] | None) -> int:
    """Return the number of characters in matching blocks."""
    matched = 0
    rest = [(0, len(one), 0, len(other))]
    while rest:
        start, end, low, high = rest.pop()
        at, there, size = _longest_run(one, start, end, other, low, high, spend)
        if size:
            matched += size
            if start < at and low < there:
                rest.append((start, at, low, there))
            if at + size < end and there + size < high:
                rest.append((at + size, end, there + size, high))
    return matched


def _longest_run(
    one: str, start: int, end: int, other: str, low: int, high: int, spend: Callable[[int], None] | None
) -> tuple[int, int, int]:
    """Return the longest common run of two parts: its start in each, and its size (0 if there is none)."""
    best = (start, low, 0)
    least, most = 1, min(end - start, high - low)
    size = 1
    while least <= most:
        if spend is not None:
            spend(1 + (end - start + high - low) // _RUNS)
        found = _find_run(size, one, start, end, other, low, high)
        if found is None:
            most = size - 1
            size = (least + most) // 2
        else:
            best = (*found, size)
            least = size + 1
            size = min(size * 2, most) if size * 2 <= most and best[2] == size else (least + most) // 2
        size = max(size, least)
    return best


def _find_run(size: int, one: str, start: int, end: int, other: str, low: int, high: int) -> tuple[int, int] | None:
    """Return the start, in each part, of the earliest common run of that size, or None."""
    runs = {other[at : at + size] for at in range(low, high - size + 1)}
    for at in range(start, end - size + 1):
        run = one[at : at + size]
        if run in runs:
            return at, other.find(run, low, high)
    return None
