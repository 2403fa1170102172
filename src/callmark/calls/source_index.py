"""An index of the messages before a call, to search for the values of its arguments (docs/reference/metrics.md, section 12).

Text is found ignoring case and extra white space, bounded by characters that are neither letters nor digits, or by a change between CJK and
other letters; a number in any JSON notation, but not inside a longer number; a date in any form that `dates` reads. In a string of six
words or more, only the words with a digit need a source.

A few values are searched for one after the other, which is fastest. `prepare` searches for many values at once, so that the time is linear
in the size of the conversation instead of the product of its values and its text. The decision points of one conversation extend each
other's index, so that each message is indexed once.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import attrgetter, itemgetter
from typing import Literal

from callmark.calls.dates import find_dates, parse_date, search_key, written_keys
from callmark.calls.messages import RESULT_ROLES
from callmark.calls.phrase_search import RUNS, first_texts, is_cjk
from callmark.calls.strict import NotStrict, parse, strings_and_numbers
from callmark.calls.words import strip_punctuation, words
from callmark.types import Message

SOURCE_ROLES = RESULT_ROLES | {"user", "system", "developer"}
LONG_TEXT = 6  # words; in longer texts, only words with a digit need a source
FEW_VALUES = 200  # values up to which searching for one after the other is faster
FEW_TEXTS = 100  # texts up to which searching all of them is faster than indexing their words

Value = str | int | float
Kind = Literal["numbers", "date_keys", "words", "parts"]  # properties of a text

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")
_BRACKETS = ("Ps", "Pe")  # Unicode categories
_BEFORE_DECIMALS = (*_BRACKETS, "Sc")  # currency signs
_NUMBER_START = tuple("-0123456789")
_LONGEST_NUMBER = 400
_MAX_TRIES = 100  # occurrences checked one by one before the whole text is marked
_LONGEST_CACHED = 20_000  # characters
_MARKS = ("\1", "\2", "")  # by how many of two neighbors are letters or digits
_SEPARATOR = "\0"  # between the strings of a result, so that no value is found across two of them


class SourceIndex:
    """An index of messages, to search for values. The assistant's text is ignored."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._messages = messages
        self._sources = list(_sources(messages, 0))
        self._folded_texts: list[_Text] = []  # of the first of these
        self._prepared: dict[str, int | None] | None = None  # the first message of each of many phrases
        self._searches = _Searches()

    def extend(self, messages: Sequence[Message]) -> "SourceIndex":
        """Return an index of these messages. What it has in common with this index is reused, and its searches are continued."""
        shared = common_beginning(self._messages, messages)
        kept = bisect_left(self._sources, shared, key=itemgetter(0))
        index = SourceIndex()
        index._messages = messages
        index._sources = [*self._sources[:kept], *_sources(messages, shared)]
        index._folded_texts = self._folded_texts[:kept]
        if kept == len(self._sources):
            index._searches, self._searches = self._searches, _Searches()  # only one of them may continue a search
        return index

    def prepare(self, values: Iterable[Value]) -> None:
        """Search for all these values at once, if there are many. `find` returns the same with and without it."""
        phrases = {phrase: None for value in values for phrase in _phrases(value)}
        if len(phrases) > FEW_VALUES:
            found = first_texts(phrases, ((text.index, text.folded) for text in self._texts))
            self._prepared = {phrase: found.get(phrase) for phrase in phrases}

    def find(self, value: Value, before: int | None = None) -> int | None:
        """Return the index of the first message that contains the value, or None. Messages from `before` on are ignored."""
        number = _as_number(value) if isinstance(value, str) else value
        if number is not None:
            return self._first("numbers", number, before)
        value = str(value)
        needle = fold(value)
        if not needle:
            return self._first_source(before)
        if (found := self._phrase(needle, before)) is not None:
            return found
        if (day := parse_date(value)) is not None:
            return self._first("date_keys", search_key(day), before)
        if len(words(value)) < LONG_TEXT:
            return None
        first: int | None = None
        for piece in _pieces(value):
            source = self._first("words", piece, before)
            source = self.find(piece, before) if source is None else source
            if source is None:
                return None
            first = source if first is None else first
        return first if first is not None else self._first_source(before)

    @property
    def _texts(self) -> list["_Text"]:
        for index, message in self._sources[len(self._folded_texts) :]:
            self._folded_texts.append(_Text(index, _fold_message(message.text, message.role in RESULT_ROLES)))
        return self._folded_texts

    def _first_source(self, before: int | None) -> int:
        texts = self._texts
        return texts[0].index if texts and (before is None or texts[0].index < before) else 0

    def _phrase(self, needle: str, before: int | None) -> int | None:
        if self._prepared is not None and needle in self._prepared:
            return _limit(self._prepared[needle], before)
        return _limit(self._searches.phrase(needle, self._texts), before)

    def _first(self, kind: Kind, key: Hashable, before: int | None) -> int | None:
        texts = self._texts
        if self._prepared is None and len(texts) <= FEW_TEXTS:
            return _limit(next((text.index for text in texts if key in getattr(text, kind)), None), before)
        return _limit(self._searches.first(kind, texts).get(key), before)


class _Searches:
    """What was found in the texts of a conversation. As it grows, each text is searched once for a phrase, and indexed once."""

    def __init__(self) -> None:
        self._phrases: dict[str, tuple[int | None, int]] = {}  # the first message, and the number of texts that were searched
        self._indexes: dict[Kind, tuple[dict[Hashable, int], int]] = {}  # the first message, and the number of texts that were indexed

    def phrase(self, needle: str, texts: Sequence["_Text"]) -> int | None:
        """Return the first message that contains a phrase."""
        found, searched = self._phrases.get(needle, (None, 0))
        if found is None and searched < len(texts):
            start = max(searched, self._first_possible(needle, texts))
            found = next((texts[at].index for at in range(start, len(texts)) if texts[at].has(needle)), None)
            self._phrases[needle] = found, len(texts)
        return found

    def first(self, kind: Kind, texts: Sequence["_Text"]) -> Mapping[Hashable, int]:
        """Return the first message of each number, date or word."""
        index, indexed = self._indexes.get(kind, ({}, 0))
        for text in texts[indexed:]:
            for key in getattr(text, kind):
                index.setdefault(key, text.index)
        self._indexes[kind] = index, len(texts)
        return index

    def _first_possible(self, needle: str, texts: Sequence["_Text"]) -> int:
        """Return the position of the first text that may contain a phrase: each of its parts has appeared by then."""
        if len(texts) <= FEW_TEXTS:
            return 0
        first = self.first("parts", texts)
        indexes = [first.get(part) for part in RUNS.findall(needle)]
        if None in indexes:
            return len(texts)
        return bisect_left(texts, max(filter(None, indexes), default=0), key=attrgetter("index"))


class _Text:
    """The folded text of a message; its numbers, dates and words are extracted on demand."""

    def __init__(self, index: int, folded: str) -> None:
        self.index = index
        self.folded = folded

    @cached_property
    def numbers(self) -> set[int | float]:
        """The JSON numbers."""
        return set(_extract_numbers(self.folded))

    @cached_property
    def date_keys(self) -> set[Hashable]:
        """The keys of the dates, as in `search_key`."""
        return {key for written in find_dates(self.folded) for key in written_keys(written)}

    @cached_property
    def words(self) -> set[str]:
        """The words without punctuation at their edges, as a set, because searching for many words one by one is slow."""
        return set(map(strip_punctuation, self.folded.split()))

    @property
    def parts(self) -> list[str]:
        """The sequences of letters and digits."""
        return RUNS.findall(self.folded)

    def has(self, needle: str) -> bool:
        """Return whether the text contains the needle, bounded by characters that are neither letters nor digits."""
        found = has_bounded(self.folded, needle)
        return _mark_boundaries(needle) in self._marked if found is None else found

    @cached_property
    def _marked(self) -> str:
        return _mark_boundaries(self.folded)


def common_beginning(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Return a number of messages that both begin with: all of them, or a few less, because only the last few may differ."""
    size, step = min(len(one), len(other)), 1
    while size and one[:size] != other[:size]:  # which takes no time for messages that are the same object
        size, step = max(size - step, 0), 2 * step
    return size


def _sources(messages: Sequence[Message], start: int) -> Iterator[tuple[int, Message]]:
    return ((at, messages[at]) for at in range(start, len(messages)) if messages[at].role in SOURCE_ROLES and messages[at].text)


def has_bounded(text: str, needle: str) -> bool | None:
    """Return whether the text contains the needle, bounded by characters that are neither letters nor digits, or by a change between CJK
    and other letters. None: it was found often, but never bounded, and the rest of the text was not searched.
    """
    at = text.find(needle)
    for _ in range(_MAX_TRIES):
        if at < 0:
            return False
        end = at + len(needle)
        if not (at and is_joined(text[at - 1], needle[0])) and not (end < len(text) and is_joined(text[end], needle[-1])):
            return True
        at = text.find(needle, at + 1)
    return None


def is_joined(outside: str, edge: str) -> bool:
    """Return whether a character before or after a value continues it: a letter or digit, unless one of them is a CJK letter and the other
    is another letter or a digit.
    """
    return outside.isalnum() and (not edge.isalnum() or is_cjk(outside) == is_cjk(edge))


def fold(text: str) -> str:
    """Return the text case-folded, with its words separated by one space."""
    folded = text.casefold()
    if folded.isascii() and folded.isprintable() and "  " not in folded:
        return folded.strip(" ")  # its words are already separated by one space: in ASCII, no other white space is printable
    return " ".join(folded.split())


def _limit(source: int | None, before: int | None) -> int | None:
    return None if source is None or (before is not None and source >= before) else source


def _phrases(value: Value) -> Iterator[str]:
    """Yield every phrase that `find` may search for."""
    if isinstance(value, str) and _as_number(value) is None and (needle := fold(value)):
        yield needle
        if len(words(value)) >= LONG_TEXT:
            yield from filter(None, _pieces(value))


def _pieces(value: str) -> list[str]:
    """Return the distinct words with a digit, in order, folded and without punctuation at their edges."""
    pieces = [piece for piece in value.split() if any(character.isdigit() for character in piece)]
    return list(dict.fromkeys(strip_punctuation(fold(piece)) for piece in pieces))


def _fold_message(text: str, is_result: bool) -> str:
    """Return the folded text of a message. Texts are cached, because the decision points of a conversation share messages."""
    return _fold_cached(text, is_result) if len(text) <= _LONGEST_CACHED else _fold_uncached(text, is_result)


def _fold_uncached(text: str, is_result: bool) -> str:
    folded = fold(text)
    if is_result and "\\" in text:  # a JSON result may write a string with escapes
        folded += _SEPARATOR + _SEPARATOR.join(map(fold, _strings(text)))
    return folded


_fold_cached = lru_cache(maxsize=256)(_fold_uncached)


def _mark_boundaries(text: str) -> str:
    """Return the text with a mark between any two characters that are not joined letters or digits: one mark if one of them is a letter or
    digit, or CJK meets another letter, another mark if neither is. A bounded occurrence of a text is then a plain occurrence of its marked
    form. This is for repetitive texts, in which checking one occurrence after another would take quadratic time.
    """
    edges = zip(" " + text, text + " ", strict=True)
    return "".join(_MARKS[after.isalnum() + is_joined(before, after)] + after for before, after in edges)[:-1]


def _strings(text: str) -> list[str]:
    try:
        value = parse(text)
    except NotStrict:
        return []
    return [item for item in strings_and_numbers(value) if isinstance(item, str)]


def _as_number(text: str) -> int | float | None:
    if text.lstrip()[:1] not in _NUMBER_START:
        return None
    try:
        value = parse(text)
    except NotStrict:
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _continues_number(before: str) -> bool:
    """Return whether a point between this character and a digit is a decimal point: `12.5`, ` .5`, `-.5`; not `No.5` or `...5`."""
    return before.isdigit() or before.isspace() or before in "+-" or unicodedata.category(before) in _BEFORE_DECIMALS


def _extract_numbers(folded: str) -> Iterator[int | float]:
    """Yield the JSON numbers in a text. A number inside a longer one, such as a version or `.5`, is not one.

    A minus sign belongs to the number at the start of the text and after white space or a bracket; after a letter or digit it does not;
    after any other character, the number counts with and without it.
    """
    for match in _NUMBER.finditer(folded):
        token, start, end = match[0], match.start(), match.end()
        if len(token) > _LONGEST_NUMBER or (len(token) > 1 and token[0] == "0" and token[1].isdigit()):
            continue
        if (start and is_joined(folded[start - 1], token[0])) or (end < len(folded) and is_joined(folded[end], token[-1])):
            continue
        if folded[start - 1 : start] == "." and (start == 1 or _continues_number(folded[start - 2])):
            continue
        if folded[end : end + 1] == "." and folded[end + 1 : end + 2].isdigit():
            continue
        number = int(token) if token.isdigit() else float(token)
        before = folded[start - 2 : start - 1] if start > 1 else " "
        if start and folded[start - 1] == "-" and not before.isalnum():
            yield -number
            if before.isspace() or unicodedata.category(before) in _BRACKETS:
                continue
        yield number
