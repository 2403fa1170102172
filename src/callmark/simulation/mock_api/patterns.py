"""Generate a text that matches a regular expression: `RL204417` for `^RL[0-9]{6}$`. Only patterns that are common for ids are supported."""

import re
import string
from collections.abc import Sequence
from functools import lru_cache
from random import Random

from callmark.calls.schema import Schemas
from callmark.types import Call, Tool

_CLASSES = {"d": string.digits, "w": string.ascii_lowercase + string.digits, "s": " "}
_REPEATS = {"?": (0, 1), "*": (0, 3), "+": (3, 6)}
_TIMES = re.compile(r"\{(\d{1,3})(,?)(\d{0,3})\}")
_MAX_LENGTH = 200  # characters of a pattern, and of a text
_MAX_CHOICES = 5000  # nested repetitions multiply


class _BoundedRandom:
    """Random choices up to a limit; beyond it, they raise `ValueError`."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._left = _MAX_CHOICES

    def choice(self, options: Sequence[str]) -> str:
        self._count()
        return self._random.choice(options)

    def randint(self, low: int, high: int) -> int:
        self._count()
        return self._random.randint(low, high)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ValueError


def text_matching(pattern: str, random: Random) -> str | None:
    """Return a text that matches the pattern; None if the pattern is not supported or too long."""
    if len(pattern) > _MAX_LENGTH:
        return None
    try:
        text, index = _alternatives(pattern, 0, _BoundedRandom(random))
    except (IndexError, ValueError, RecursionError):
        return None
    fits = index == len(pattern) and len(text) <= _MAX_LENGTH
    return text if fits and not _schemas(pattern).violations(Call("", {"text": text})) else None


@lru_cache(maxsize=256)
def _schemas(pattern: str) -> Schemas:
    return Schemas([Tool("", "", {"properties": {"text": {"pattern": pattern}}})])


def _alternatives(pattern: str, index: int, random: _BoundedRandom) -> tuple[str, int]:
    """Return a text for one of several alternatives, up to a closing parenthesis or the end."""
    texts: list[str] = []
    text = ""
    while index < len(pattern) and pattern[index] != ")":
        if pattern[index] == "|":
            texts.append(text)
            text, index = "", index + 1
            continue
        part, index = _repetition(pattern, index, random)
        text += part
    texts.append(text)
    return random.choice(texts), index


def _repetition(pattern: str, index: int, random: _BoundedRandom) -> tuple[str, int]:
    start = index
    text, index = _atom(pattern, index, random)
    low, high = 1, 1
    if index < len(pattern) and pattern[index] in _REPEATS:
        (low, high), index = _REPEATS[pattern[index]], index + 1
    elif index < len(pattern) and (times := _TIMES.match(pattern, index)):
        low = int(times[1])
        high = int(times[3] or low + 2) if times[2] else low
        index = times.end()
    number = random.randint(low, min(max(low, high), low + 6))
    if number > _MAX_LENGTH:
        raise ValueError
    return "".join(_atom(pattern, start, random)[0] for _ in range(number)) if number != 1 else text, index


def _atom(pattern: str, index: int, random: _BoundedRandom) -> tuple[str, int]:
    character = pattern[index]
    if character in "^$":
        return "", index + 1
    if character == "(":
        index += 1
        if pattern.startswith("?:", index):
            index += 2
        elif pattern[index] == "?":
            raise ValueError
        text, index = _alternatives(pattern, index, random)
        return text, index + 1 if pattern[index] == ")" else index
    if character == "[":
        return _character_class(pattern, index + 1, random)
    if character == "\\":
        after = pattern[index + 1]
        if after.isalnum() and after not in _CLASSES:
            raise ValueError
        return random.choice(_CLASSES.get(after, after)), index + 2
    if character in "*+?{":
        raise ValueError
    return (random.choice(string.ascii_lowercase) if character == "." else character), index + 1


def _character_class(pattern: str, index: int, random: _BoundedRandom) -> tuple[str, int]:
    if pattern[index] == "^":
        raise ValueError
    characters = ""
    while pattern[index] != "]":
        if pattern[index] == "\\":
            characters += _CLASSES.get(pattern[index + 1], pattern[index + 1])
            index += 2
        elif pattern[index + 1] == "-" and pattern[index + 2] != "]":
            characters += "".join(map(chr, range(ord(pattern[index]), min(ord(pattern[index + 2]), ord(pattern[index]) + 100) + 1)))
            index += 3
        else:
            characters += pattern[index]
            index += 1
    return random.choice(characters), index + 1
