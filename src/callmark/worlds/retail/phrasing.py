"""A small grammar of what people say.

A phrase is a text with choices, `[a|b|c]`, which may be empty and may hold others (`a|b` alone is a choice too); with parts, `<name>`,
which are phrases of their own; and with values, `{name}`, which are put in as they are and never read as grammar. `{Name}` is the value
with a capital.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random

from callmark.calls.words import words

_TOKENS = re.compile(r"[\[\]|]|<[^<>]+>|\{\w+\}|[^\[\]|<{]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_BEFORE_POINT = re.compile(r"\s+(?=[.,!?;:]+(?:\s|$))")
_POINTS = re.compile(r"(?<!\.)([.!?,;:])[.,;](?=\s|$)")  # three in a row are meant
_BEGINS = re.compile(r"(^|(?<=[.!?])\s+)([a-z])(?![\w.+-]*@)")

_Sequence = tuple["_Node", ...]
_Node = str | tuple[_Sequence, ...]  # a text, part or value as written; or a choice


class Grammar:
    """Phrases by name. A phrase that is named for a manner (`hello@terse`) is said instead of the plain one by people of that manner."""

    def __init__(self, *parts: Mapping[str, str]) -> None:
        self._parts = {name: phrase for some in parts for name, phrase in some.items()}

    def say(self, phrase: str, chance: Random, *, manner: str, values: Mapping[str, str]) -> str:
        """One way to say it. A part or a value that nobody knows raises `KeyError`: it is a mistake in the phrase."""
        return tidied(self.part(phrase, chance, manner=manner, values=values))

    def part(self, phrase: str, chance: Random, *, manner: str, values: Mapping[str, str]) -> str:
        """The same as it stands within something longer: not yet tidied."""
        return self._said(_read(phrase), chance, manner, values)

    def _said(self, nodes: _Sequence, chance: Random, manner: str, values: Mapping[str, str]) -> str:
        out = []
        for node in nodes:
            if not isinstance(node, str):
                out.append(self._said(chance.choice(node), chance, manner, values))
            elif node.startswith("<"):
                name = node[1:-1]
                phrase = self._parts.get(f"{name}@{manner}")
                out.append(self._said(_read(self._parts[name] if phrase is None else phrase), chance, manner, values))
            elif node.startswith("{"):
                out.append(_value(node[1:-1], values))
            else:
                out.append(node)
        return "".join(out)


def _value(name: str, values: Mapping[str, str]) -> str:
    return values[name] if name in values else capital(values[name[0].lower() + name[1:]])


@lru_cache(maxsize=4096)
def _read(phrase: str) -> _Sequence:
    stack: list[list[list[_Node]]] = [[[]]]
    for token in _TOKENS.findall(phrase):
        if token == "[":
            stack.append([[]])
        elif token == "|":
            stack[-1].append([])
        elif token == "]" and len(stack) > 1:
            choices = stack.pop()
            stack[-1][-1].append(tuple(map(tuple, choices)))
        else:
            stack[-1][-1].append(token)
    if len(stack) != 1:
        raise ValueError(f"a choice is not closed: {phrase}")
    whole = tuple(map(tuple, stack[0]))
    return whole[0] if len(whole) == 1 else (whole,)


def tidied(text: str) -> str:
    """The text with single spaces, none before a point, one point at a time, and a capital where a sentence begins. An email address keeps
    its letters as they are.
    """
    text = _POINTS.sub(r"\1", _BEFORE_POINT.sub("", " ".join(text.split())))
    return _BEGINS.sub(lambda found: f"{found[1]}{found[2].upper()}", text)


def capital(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def sentences(text: str) -> list[str]:
    """Its sentences, in order; none for an empty text."""
    return [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence]


def key(sentence: str) -> str:
    """What two sentences have in common that a reader would call the same."""
    return " ".join(words(sentence))


def listed(things: Sequence[str], *, last: str = "and") -> str:
    """Things in a row: `a, b and c`; an empty text for none."""
    return f"{', '.join(things[:-1])} {last} {things[-1]}" if len(things) > 1 else "".join(things)
