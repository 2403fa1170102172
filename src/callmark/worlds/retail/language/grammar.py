"""A small template grammar for utterances.

A template is text with choices, `[a|b|c]`, which may be empty and nested (`a|b` alone is also a choice); with references to other
templates, `<name>`; and with values, `{name}`, which are inserted unchanged and never parsed. `{Name}` is the capitalized value.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random

_TOKEN = re.compile(r"[\[\]|]|<[^<>]+>|\{\w+\}|[^\[\]|<{]+")
_SENTENCE_BOUNDARY = re.compile(r"(?<=[.!?…])\s+")
_SPACE_BEFORE_PUNCTUATION = re.compile(r"\s+(?=[.,!?;:]+(?:\s|$))")
_DOUBLE_PUNCTUATION = re.compile(r"(?<!\.)([.!?,;:])[.,;](?=\s|$)")  # but not in `...`
_EDGE_MARKS, _END_MARKS = "\"'`()[]{}“”‘’", ".,;:!?…"
_SENTENCE_START = re.compile(r"(^|(?<=[.!?])\s+)([a-z])(?![\w.+-]*@)")

_Sequence = tuple["_Node", ...]
_Node = str | tuple[_Sequence, ...]  # a text, reference or value as written; or a choice


class Grammar:
    """Templates by name. `hello@terse` replaces `hello` for users of the style `terse`."""

    def __init__(self, *tables: Mapping[str, str]) -> None:
        self._templates = {name: template for table in tables for name, template in table.items()}

    def render(self, template: str, rng: Random, *, style: str, values: Mapping[str, str]) -> str:
        """Return one rendering of a template. An unknown reference or value, which is a mistake in the template, raises `KeyError`."""
        return tidy(self.expand(template, rng, style=style, values=values))

    def expand(self, template: str, rng: Random, *, style: str, values: Mapping[str, str]) -> str:
        """Return one rendering for use within a longer text, not tidied yet."""
        return self._expand(_parse_template(template), rng, style, values)

    def _expand(self, nodes: _Sequence, rng: Random, style: str, values: Mapping[str, str]) -> str:
        out = []
        for node in nodes:
            if not isinstance(node, str):
                out.append(self._expand(rng.choice(node), rng, style, values))
            elif node.startswith("<"):
                name = node[1:-1]
                template = self._templates.get(f"{name}@{style}")
                out.append(self._expand(_parse_template(self._templates[name] if template is None else template), rng, style, values))
            elif node.startswith("{"):
                out.append(_value(node[1:-1], values))
            else:
                out.append(node)
        return "".join(out)


def _value(name: str, values: Mapping[str, str]) -> str:
    return values[name] if name in values else capitalize(values[name[0].lower() + name[1:]])


@lru_cache(maxsize=4096)
def _parse_template(template: str) -> _Sequence:
    stack: list[list[list[_Node]]] = [[[]]]
    for token in _TOKEN.findall(template):
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
        raise ValueError(f"a choice is not closed: {template}")
    whole = tuple(map(tuple, stack[0]))
    return whole[0] if len(whole) == 1 else (whole,)


def tidy(text: str) -> str:
    """Return the text with single spaces, no space before punctuation, no doubled punctuation, and capitalized sentences.

    Email addresses keep their case.
    """
    text = _DOUBLE_PUNCTUATION.sub(r"\1", _SPACE_BEFORE_PUNCTUATION.sub("", " ".join(text.split())))
    return _SENTENCE_START.sub(lambda match: f"{match[1]}{match[2].upper()}", text)


def capitalize(text: str) -> str:
    """Return the text with its first letter capitalized."""
    return text[:1].upper() + text[1:]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order; none for an empty text."""
    return [sentence for sentence in _SENTENCE_BOUNDARY.split(text.strip()) if sentence]


def sentence_key(sentence: str) -> str:
    """Return the sentence without case, spacing and punctuation at word boundaries, for comparing sentences."""
    words = (word.lstrip(_EDGE_MARKS).rstrip(_EDGE_MARKS + _END_MARKS) for word in sentence.casefold().split())
    return " ".join(filter(None, words))


def join_phrases(phrases: Sequence[str], *, last: str = "and") -> str:
    """Return phrases as a list in words: `a, b and c`; "" for none."""
    return f"{', '.join(phrases[:-1])} {last} {phrases[-1]}" if len(phrases) > 1 else "".join(phrases)
