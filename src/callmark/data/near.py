"""Near copies: rows in which nearly everything that is said and called is the same.

What counts is what user and assistant say and what is called, values and all; the system prompt, the tool list and results do not: all
rows share the first two, and calls decide the third. Case, punctuation and spacing do not count, nor does the order of arguments. A row
is the set of every three words in a row; two rows are as much alike as these sets have in common (Jaccard: what both have, by what
either has), and near copies from `ALIKE` on. One word changed takes three 3-grams from either row: in a conversation of 200 words .97 is
left, in a question of 20 words it is another question.

Of each row one signature of a fixed size is kept (MinHash, 1 kB), and only rows that share a part of it are compared. How much two rows
are alike is so an estimate, with a standard error of .02: a pair at .9 is found, a pair at .7 is not, one at .8 may be either.

Rows made from one template share the parts that come from it, without being near copies: comparing each with all would take time squared.
So of the rows that share a part only the first few are compared with. A copy shares the parts in which its row differs from the template
too, and few others have these: it is found all the same.
"""

import hashlib
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from callmark.calls.messages import RESULT_ROLES
from callmark.calls.strict import dump, scrub
from callmark.calls.words import normal
from callmark.types import Call, Case, Conversation

if TYPE_CHECKING:
    from rensa import RMinHash

ALIKE = 0.8
_NOT_COMPARED = RESULT_ROLES | {"system", "developer"}
_WORDS_TOGETHER = 3
_SLOTS, _PARTS, _SEED = 256, 32, 7  # a pair at .8 shares one of the parts in 997 of 1,000 cases, one at .9 always, one at .3 in 2
_PART = _SLOTS // _PARTS
_MOST_SHARING = 16  # rows with the same part that others are compared with
_CHARACTERS = "\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"  # of writing without spaces each is a word
_WORD = re.compile(rf"[{_CHARACTERS}]|[^\W{_CHARACTERS}]+")
_encode = msgspec.json.Encoder(order="deterministic").encode


class NearCopy(Struct, frozen=True):
    """Which row it is a near copy of, in the order in which they were added, and how much the two are alike (0 to 1, an estimate)."""

    index: int
    alike: float


class Sketch(Struct, frozen=True, gc=False):
    """What is kept of a row: a signature of its 3-grams, how many different ones there are, what tells its words from others (the same
    everywhere, today and tomorrow), and the conversation that it was cut from, if it was.
    """

    signature: "RMinHash"
    size: int
    digest: bytes
    cut_from: str | None = None


def sketch(row: Conversation) -> Sketch:
    """The sketch of a conversation or case; a case is seen as if the assistant had made the expected calls."""
    from rensa import RMinHash

    words = list(chain.from_iterable(_words(row)))
    parts = shingles(words)
    signature = RMinHash(_SLOTS, _SEED)
    signature.update(list(parts))
    digest = hashlib.blake2b(" ".join(words).encode(), digest_size=16).digest()
    return Sketch(signature, len(parts), digest, row.source.conversation if isinstance(row, Case) and row.source else None)


def shingles(words: Sequence[str]) -> set[str]:
    """Every three words in a row. Fewer than three are one; no word, none."""
    size = min(_WORDS_TOGETHER, len(words))
    return set(map(" ".join, zip(*(words[start:] for start in range(size)), strict=False)))


def binds(row: Conversation) -> bool:
    """Whether a copy of the row says that two conversations have something in common: all but a decision point that rightly calls nothing
    (many conversations open with the same greeting).
    """
    return not (isinstance(row, Case) and row.source is not None and not row.expected)


class NearCopies:
    """Takes rows one by one and tells which of them are near copies of earlier ones.

    A row that says nothing is a near copy of none. Decision points that were cut from one conversation are not held against each other.
    """

    def __init__(self) -> None:
        self._kept: dict[int, Sketch] = {}
        self._first: dict[int, int] = {}  # of each part of a signature, the row that had it first, and below those that had it next
        self._next: dict[int, list[int]] = {}
        self._said: set[bytes] = set()
        self._added = 0

    def add(self, row: Sketch) -> NearCopy | None:
        """The first row added so far that this one is a near copy of; it is added itself, whatever the answer."""
        parts = _parts(row)
        near = next(self._search(row, parts), None)
        self._keep(row, parts)
        return near

    def add_to_all(self, row: Sketch) -> list[NearCopy]:
        """As `add`, but every row that it is a near copy of, first one first."""
        parts = _parts(row)
        near = list(self._search(row, parts))
        self._keep(row, parts)
        return near

    def find(self, row: Sketch) -> NearCopy | None:
        """The first row added so far that this one is a near copy of; it is not added."""
        return next(self._search(row, _parts(row)), None)

    def _keep(self, row: Sketch, parts: Sequence[int]) -> None:
        number, self._added = self._added, self._added + 1
        if row.cut_from is None:
            if row.digest in self._said:  # whatever is near to it is near to the other
                return
            self._said.add(row.digest)
        for part in parts:
            if self._first.setdefault(part, number) != number:
                others = self._next.setdefault(part, [])
                if len(others) >= _MOST_SHARING - 1:
                    continue
                others.append(number)
            self._kept[number] = row

    def _search(self, row: Sketch, parts: Sequence[int]) -> Iterator[NearCopy]:
        sharing: set[int] = set()
        for part in parts:
            if part in self._first:
                sharing.add(self._first[part])
                sharing.update(self._next.get(part, ()))
        for index in sorted(sharing):
            other = self._kept[index]
            if row.cut_from is None or row.cut_from != other.cut_from:
                alike = row.signature.jaccard(other.signature)
                if alike >= ALIKE:
                    yield NearCopy(index, alike)


def _parts(row: Sketch) -> list[int]:
    """The parts of a row's signature, each as what tells it from others; of a row that says nothing there are none."""
    from xxhash import xxh3_64_intdigest

    if not row.size:
        return []
    slots = array("I", row.signature.digest())
    return [xxh3_64_intdigest(slots[start : start + _PART], start) for start in range(0, _SLOTS, _PART)]


def _words(row: Conversation) -> Iterator[list[str]]:
    for message in row.whole().messages:
        if message.role in _NOT_COMPARED:
            continue
        said = _split(message.text)
        if said or message.calls:
            yield [f"{scrub(message.role)}:"]  # who speaks is a word of its own, that no text can have
            yield said
        for call in message.calls:
            yield ["calls:"]
            yield _split(f"{call.name} {call.text or _arguments(call)}")


def _split(text: str) -> list[str]:
    return _WORD.findall(text.casefold() if text.isascii() else normal(scrub(text), "NFKC").casefold())


def _arguments(call: Call) -> str:
    try:
        return _encode(call.arguments).decode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        return dump(call.arguments)
