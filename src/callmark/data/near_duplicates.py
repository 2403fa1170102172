"""Find near-duplicates: rows with almost the same text and calls.

Compared are the user's and the assistant's text and the calls with their values, but not the system prompt, the tool list and results: all
rows share the first two, and the calls determine the third. Case, punctuation, spacing and the order of arguments are ignored. A row is the
set of its word 3-grams. The similarity of two rows is the Jaccard index of these sets, and rows with at least `MIN_SIMILARITY` are
near-duplicates. One changed word removes three 3-grams from each row: the similarity of two conversations of 200 words is then .97, but two
questions of 20 words are different questions.

Each row is stored as a signature of a fixed size (MinHash, 1 kB), and only rows that share a band of it are compared. The similarity is
therefore an estimate, with a standard error of .02: a pair at .9 is found, a pair at .7 is not, a pair at .8 may be.

Rows generated from one template share the bands that come from it without being near-duplicates, and comparing all of them would take
quadratic time. Therefore, only the first few of the rows that share a band are compared. A near-duplicate is still found, because it also
shares the bands in which its row differs from the template, which few other rows have.
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
from callmark.calls.words import normalize
from callmark.types import Call, Case, Conversation

if TYPE_CHECKING:
    from rensa import RMinHash

MIN_SIMILARITY = 0.8
_NOT_COMPARED = RESULT_ROLES | {"system", "developer"}
_GRAM = 3  # words
_SLOTS, _BANDS, _SEED = 256, 32, 7  # a pair at .8 shares a band in 997 of 1,000 cases, a pair at .9 always, a pair at .3 in 2
_BAND_SIZE = _SLOTS // _BANDS
_MAX_SHARING = 16  # rows with the same band that other rows are compared with
_CHARACTERS = "\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"  # in scripts without spaces each character is a word
_WORD = re.compile(rf"[{_CHARACTERS}]|[^\W{_CHARACTERS}]+")
_encode = msgspec.json.Encoder(order="deterministic").encode


class NearDuplicate(Struct, frozen=True):
    """The index of the other row, in the order in which rows were added, and the estimated similarity, from 0 to 1."""

    index: int
    similarity: float


class Sketch(Struct, frozen=True, gc=False):
    """A row prepared for comparison: the signature of its 3-grams, the number of distinct ones, a digest of its words (the same on every
    machine), and the conversation that it was cut from, if any.
    """

    signature: "RMinHash"
    size: int
    digest: bytes
    source_conversation: str | None = None


def sketch(row: Conversation) -> Sketch:
    """Return the sketch of a conversation or case. A case is treated as if the assistant had made the expected calls."""
    from rensa import RMinHash

    words = list(chain.from_iterable(_words(row)))
    grams = shingles(words)
    signature = RMinHash(_SLOTS, _SEED)
    signature.update(list(grams))
    digest = hashlib.blake2b(" ".join(words).encode(), digest_size=16).digest()
    return Sketch(signature, len(grams), digest, row.source.conversation if isinstance(row, Case) and row.source else None)


def shingles(words: Sequence[str]) -> set[str]:
    """Return the 3-grams of words. One or two words are a single gram."""
    size = min(_GRAM, len(words))
    return set(map(" ".join, zip(*(words[start:] for start in range(size)), strict=False)))


def is_comparable(row: Conversation) -> bool:
    """Return whether a near-duplicate of the row means that two conversations are related. It does not for a decision point that expects no
    call, because many conversations begin with the same greeting.
    """
    return not (isinstance(row, Case) and row.source is not None and not row.expected)


class NearDuplicateIndex:
    """Finds rows that are near-duplicates of earlier rows, one by one.

    A row without words has no near-duplicates. Decision points cut from one conversation are not compared with each other.
    """

    def __init__(self) -> None:
        self._sketches: dict[int, Sketch] = {}
        self._first: dict[int, int] = {}  # the first row with each band; `_next` has the rows after it
        self._next: dict[int, list[int]] = {}
        self._digests: set[bytes] = set()
        self._added = 0

    def add(self, row: Sketch) -> NearDuplicate | None:
        """Add a row, and return the first earlier row that it is a near-duplicate of, or None."""
        bands = _bands(row)
        near = next(self._search(row, bands), None)
        self._store(row, bands)
        return near

    def add_and_find_all(self, row: Sketch) -> list[NearDuplicate]:
        """Add a row, and return every earlier row that it is a near-duplicate of, in order."""
        bands = _bands(row)
        near = list(self._search(row, bands))
        self._store(row, bands)
        return near

    def find(self, row: Sketch) -> NearDuplicate | None:
        """Return the first earlier row that this one is a near-duplicate of, or None, without adding the row."""
        return next(self._search(row, _bands(row)), None)

    def _store(self, row: Sketch, bands: Sequence[int]) -> None:
        number, self._added = self._added, self._added + 1
        if row.source_conversation is None:
            if row.digest in self._digests:  # a near-duplicate of it is also one of the other
                return
            self._digests.add(row.digest)
        for band in bands:
            if self._first.setdefault(band, number) != number:
                others = self._next.setdefault(band, [])
                if len(others) >= _MAX_SHARING - 1:
                    continue
                others.append(number)
            self._sketches[number] = row

    def _search(self, row: Sketch, bands: Sequence[int]) -> Iterator[NearDuplicate]:
        sharing: set[int] = set()
        for band in bands:
            if band in self._first:
                sharing.add(self._first[band])
                sharing.update(self._next.get(band, ()))
        for index in sorted(sharing):
            other = self._sketches[index]
            if row.source_conversation is None or row.source_conversation != other.source_conversation:
                similarity = row.signature.jaccard(other.signature)
                if similarity >= MIN_SIMILARITY:
                    yield NearDuplicate(index, similarity)


def _bands(row: Sketch) -> list[int]:
    """Return a hash of each band of a row's signature; empty for a row without words."""
    from xxhash import xxh3_64_intdigest

    if not row.size:
        return []
    slots = array("I", row.signature.digest())
    return [xxh3_64_intdigest(slots[start : start + _BAND_SIZE], start) for start in range(0, _SLOTS, _BAND_SIZE)]


def _words(row: Conversation) -> Iterator[list[str]]:
    for message in row.whole().messages:
        if message.role in _NOT_COMPARED:
            continue
        words = _split(message.text)
        if words or message.calls:
            yield [f"{scrub(message.role)}:"]  # a word that no text can contain
            yield words
        for call in message.calls:
            yield ["calls:"]
            yield _split(f"{call.name} {call.text or _arguments(call)}")


def _split(text: str) -> list[str]:
    return _WORD.findall(text.casefold() if text.isascii() else normalize(scrub(text), "NFKC").casefold())


def _arguments(call: Call) -> str:
    try:
        return _encode(call.arguments).decode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        return dump(call.arguments)
