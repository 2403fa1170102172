"""A text that fits a pattern: `^RL[0-9]{6}$` gives `RL204417`. Patterns of the kind that formats of ids have, not all that there are."""

import re
import string
from collections.abc import Sequence
from random import Random

from callmark.calls.schema import violations
from callmark.types import Tool

_CLASSES = {"d": string.digits, "w": string.ascii_lowercase + string.digits, "s": " "}
_REPEATS = {"?": (0, 1), "*": (0, 3), "+": (3, 6)}
_TIMES = re.compile(r"\{(\d{1,3})(,?)(\d{0,3})\}")
_MOST = 200  # characters of a pattern, and of what is made of it
_STEPS = 5000  # repeats inside of repeats take several times as many with each


class _Chance:
    """Choices, as many as a pattern that somebody writes takes; one more raises `ValueError`."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._left = _STEPS

    def choice(self, of: Sequence[str]) -> str:
        self._count()
        return self._random.choice(of)

    def randint(self, least: int, most: int) -> int:
        self._count()
        return self._random.randint(least, most)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ValueError


def fitting(pattern: str, random: Random) -> str | None:
    """A text that the pattern allows; None where it is not understood, or takes more than anybody writes as an id."""
    if len(pattern) > _MOST:
        return None
    try:
        text, at = _any(pattern, 0, _Chance(random))
    except (IndexError, ValueError, RecursionError):
        return None
    wanted = Tool("", "", {"properties": {"text": {"pattern": pattern}}})
    return text if at == len(pattern) and len(text) <= _MOST and not violations({"text": text}, wanted) else None


def _any(pattern: str, at: int, random: _Chance) -> tuple[str, int]:
    """One of several alternatives, up to a closing bracket or the end."""
    texts: list[str] = []
    text = ""
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            texts.append(text)
            text, at = "", at + 1
            continue
        made, at = _repeated(pattern, at, random)
        text += made
    texts.append(text)
    return random.choice(texts), at


def _repeated(pattern: str, at: int, random: _Chance) -> tuple[str, int]:
    start = at
    text, at = _one(pattern, at, random)
    least, most = 1, 1
    if at < len(pattern) and pattern[at] in _REPEATS:
        (least, most), at = _REPEATS[pattern[at]], at + 1
    elif at < len(pattern) and (times := _TIMES.match(pattern, at)):
        least = int(times[1])
        most = int(times[3] or least + 2) if times[2] else least
        at = times.end()
    number = random.randint(least, min(max(least, most), least + 6))
    if number > _MOST:
        raise ValueError
    return "".join(_one(pattern, start, random)[0] for _ in range(number)) if number != 1 else text, at


def _one(pattern: str, at: int, random: _Chance) -> tuple[str, int]:
    sign = pattern[at]
    if sign in "^$":
        return "", at + 1
    if sign == "(":
        at += 1
        if pattern.startswith("?:", at):
            at += 2
        elif pattern[at] == "?":
            raise ValueError
        text, at = _any(pattern, at, random)
        return text, at + 1 if pattern[at] == ")" else at
    if sign == "[":
        return _of_class(pattern, at + 1, random)
    if sign == "\\":
        after = pattern[at + 1]
        if after.isalnum() and after not in _CLASSES:
            raise ValueError
        return random.choice(_CLASSES.get(after, after)), at + 2
    if sign in "*+?{":
        raise ValueError
    return (random.choice(string.ascii_lowercase) if sign == "." else sign), at + 1


def _of_class(pattern: str, at: int, random: _Chance) -> tuple[str, int]:
    if pattern[at] == "^":
        raise ValueError
    signs = ""
    while pattern[at] != "]":
        if pattern[at] == "\\":
            signs += _CLASSES.get(pattern[at + 1], pattern[at + 1])
            at += 2
        elif pattern[at + 1] == "-" and pattern[at + 2] != "]":
            signs += "".join(map(chr, range(ord(pattern[at]), min(ord(pattern[at + 2]), ord(pattern[at]) + 100) + 1)))
            at += 3
        else:
            signs += pattern[at]
            at += 1
    return random.choice(signs), at + 1
