"""Find many phrases in many texts at once, in time linear in all of them (Aho-Corasick, by words).

A phrase occurs in a text where the characters before and after it are neither letters nor digits, or where CJK meets other letters, so each
run of letters and digits in it is a whole one in the text. Texts are therefore read as sequences of symbols: a run of letters and digits,
or a single other character, which also says whether another such character comes before it.
"""

import re
from collections.abc import Iterable, Iterator

_CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)
_IS_CJK = re.compile(f"[{_CJK}]")
RUNS = re.compile(rf"((?:[{_CJK}](?<![\W_]))+|(?:[^\W_](?<![{_CJK}]))+)")
_BITS = 32  # of a symbol


def first_texts(phrases: Iterable[str], texts: Iterable[tuple[int, str]]) -> dict[str, int]:
    """Return, for every phrase that occurs, the number of the first text that contains it. `texts` are numbers and texts, in order.

    Repeated phrases count once. An empty phrase occurs nowhere.
    """
    return _Automaton(dict.fromkeys(phrases)).search(texts)


def is_cjk(character: str) -> bool:
    """Return whether a character belongs to a Chinese, Japanese or Korean script, whose words are often written without spaces."""
    return character > "\u10ff" and _IS_CJK.match(character) is not None


class _Automaton:
    """A trie of the phrases whose nodes also know where to continue after a mismatch. Node 0 is the empty phrase."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._symbols: dict[str, int] = {}
        self._children: dict[int, int] = {}  # by node and symbol, in one number: much smaller than a table for every node
        self._phrase: dict[int, str] = {}
        parents, symbols, depths = [0], [0], [0]
        for phrase in phrases:
            node = 0
            for depth, (text, _) in enumerate(_read(phrase), 1):
                symbol = self._symbols.setdefault(text, len(self._symbols))
                child = self._children.get(node << _BITS | symbol)
                if child is None:
                    child = self._children[node << _BITS | symbol] = len(parents)
                    parents.append(node)
                    symbols.append(symbol)
                    depths.append(depth)
                node = child
            if node:
                self._phrase[node] = phrase
        self._fail = [0] * len(parents)  # the longest start of a phrase that ends the text read up to this node, but not the node itself
        self._ends = [0] * len(parents)  # the longest phrase that ends the text read up to this node
        for node in sorted(range(1, len(parents)), key=depths.__getitem__):
            self._fail[node] = self._step(self._fail[parents[node]], symbols[node]) if parents[node] else 0
            self._ends[node] = node if node in self._phrase else self._ends[self._fail[node]]

    def search(self, texts: Iterable[tuple[int, str]]) -> dict[str, int]:
        found: dict[str, int] = {}
        for number, text in texts:
            node = 0
            for symbol, open_end in _read(text):
                known = self._symbols.get(symbol)
                node = 0 if known is None else self._step(node, known)
                if not open_end:
                    end = self._unfound(self._ends[node])
                    while end:
                        found[self._phrase.pop(end)] = number
                        end = self._unfound(end)
        return found

    def _step(self, node: int, symbol: int) -> int:
        while True:
            child = self._children.get(node << _BITS | symbol)
            if child is not None:
                return child
            if not node:
                return 0
            node = self._fail[node]

    def _unfound(self, end: int) -> int:
        """Return the node of the longest phrase that ends here and was not found before; 0 if there is none."""
        passed = []
        while end and end not in self._phrase:
            passed.append(end)
            end = self._ends[end] if self._ends[end] != end else self._ends[self._fail[end]]
        for node in passed:  # so that no later search passes them again
            self._ends[node] = end
        return end


def _read(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the symbols of a text, each with whether a phrase cannot end there: another character followed by a letter or digit."""
    pieces = RUNS.split(text)  # others, run, others, run, …, others
    last = len(pieces) - 1
    for index, piece in enumerate(pieces):
        if index % 2:
            yield piece, False
        elif piece:
            for at, character in enumerate(piece):
                yield (character if at == 0 and index else f" {character}"), (at == len(piece) - 1 and index != last)
