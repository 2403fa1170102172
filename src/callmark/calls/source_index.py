"""An index of the messages before a call, to search for the values of its arguments (docs/reference/metrics.md, section 12).

Text is found ignoring case and extra white space, bounded by characters that are neither letters nor digits; a number in any JSON
notation; a date in any form that `dates` reads. In a string of six words or more, only the words with a digit need a source.

A few values are searched for one after the other, which is fastest. `prepare` searches for many values at once, so that the time is linear
in the size of the conversation instead of the product of its values and its text.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Literal

from callmark.calls.dates import find_dates, parse_date, search_key, written_keys
from callmark.calls.messages import RESULT_ROLES
from callmark.calls.phrase_search import first_texts
from callmark.calls.strict import NotStrict, dump, parse, strings_and_numbers
from callmark.calls.words import strip_punctuation, words
from callmark.types import Message

SOURCE_ROLES = RESULT_ROLES | {"user", "system", "developer"}
LONG_TEXT = 6  # words; in longer texts, only words with a digit need a source
FEW_VALUES = 200  # values up to which searching for one after the other is faster

Value = str | int | float
Kind = Literal["numbers", "date_keys", "words"]  # properties of a text

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")
_NUMBER_START = tuple("-0123456789")
_LONGEST_NUMBER = 400
_MAX_TRIES = 100  # occurrences checked one by one before the whole text is marked
_LONGEST_CACHED = 20_000  # characters
_MARKS = ("\1", "\2", "")  # by how many of two neighbors are letters or digits
_SEPARATOR = "\0"  # between the strings of a result, so that no value is found across two of them


class SourceIndex:
    """An index of messages, to search for values. The assistant's text is ignored."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._sources = [(index, message) for index, message in enumerate(messages) if message.role in SOURCE_ROLES and message.text]
        self._folded_texts: list[_Text] = []  # of the first of these
        self._prepared: _PreparedTexts | None = None
        self._found: dict[tuple[str, Hashable], int | None] = {}

    def extend(self, messages: Sequence[Message]) -> "SourceIndex":
        """Return an index of these messages. If they begin with the messages of this index, its work is reused."""
        index = SourceIndex(messages)
        known = len(self._folded_texts)
        if known <= len(index._sources) and all(
            [one[0] == other[0] and one[1] is other[1] for one, other in zip(self._sources[:known], index._sources, strict=False)]  # noqa: C419 - faster
        ):
            index._folded_texts = self._folded_texts[:known]
        return index

    def prepare(self, values: Iterable[Value]) -> None:
        """Search for all these values at once, if there are many. `find` returns the same with and without it."""
        phrases = {phrase: None for value in values for phrase in _phrases(value)}
        if len(phrases) > FEW_VALUES:
            self._prepared = _PreparedTexts(phrases, self._texts)

    def find(self, value: Value, before: int | None = None) -> int | None:
        """Return the index of the first message that contains the value, or None. Messages from `before` on are ignored."""
        if not isinstance(value, str):
            sources = [self._phrase(dump(value), before), self._number(value, before)]
            return min((source for source in sources if source is not None), default=None)
        needle = fold(value)
        if not needle:
            return self._first_source(before)
        if (found := self._phrase(needle, before)) is not None:
            return found
        if (number := _as_number(value)) is not None:
            return self._number(number, before)
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

    def _number(self, number: int | float, before: int | None) -> int | None:
        return self._first("numbers", number, before)

    def _phrase(self, needle: str, before: int | None) -> int | None:
        if self._prepared is not None and needle in self._prepared.searched:
            return _limit(self._prepared.phrases.get(needle), before)
        return _limit(self._first_text("phrase", needle, lambda text: text.has(needle)), before)

    def _first(self, kind: Kind, key: Hashable, before: int | None) -> int | None:
        if self._prepared is not None:
            return _limit(self._prepared.first(kind).get(key), before)
        return _limit(self._first_text(kind, key, lambda text: key in getattr(text, kind)), before)

    def _first_text(self, kind: Kind | Literal["phrase"], key: Hashable, has_value: Callable[["_Text"], bool]) -> int | None:
        """Return the index of the first message that has the value. Many calls may have the same value, so it is searched for once."""
        if (kind, key) not in self._found:
            self._found[kind, key] = next((text.index for text in self._texts if has_value(text)), None)
        return self._found[kind, key]


class _PreparedTexts:
    """The first message that contains each of the phrases, and, on demand, each number, date or word of the texts."""

    def __init__(self, phrases: dict[str, None], texts: Sequence["_Text"]) -> None:
        self.searched = phrases
        self.phrases = first_texts(phrases, ((text.index, text.folded) for text in texts))
        self._texts = texts
        self._first: dict[Kind, dict[Hashable, int]] = {}

    def first(self, kind: Kind) -> dict[Hashable, int]:
        """Return the first message of each number, date or word."""
        if kind not in self._first:
            self._first[kind] = {}
            for text in self._texts:
                for key in getattr(text, kind):
                    self._first[kind].setdefault(key, text.index)
        return self._first[kind]


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

    def has(self, needle: str) -> bool:
        """Return whether the text contains the needle, bounded by characters that are neither letters nor digits."""
        found = has_bounded(self.folded, needle)
        return _mark_boundaries(needle) in self._marked if found is None else found

    @cached_property
    def _marked(self) -> str:
        return _mark_boundaries(self.folded)


def has_bounded(text: str, needle: str) -> bool | None:
    """Return whether the text contains the needle, bounded by characters that are neither letters nor digits. None: it was found often, but
    never bounded, and the rest of the text was not searched.
    """
    at = text.find(needle)
    for _ in range(_MAX_TRIES):
        if at < 0:
            return False
        end = at + len(needle)
        if not (at and text[at - 1].isalnum()) and not (end < len(text) and text[end].isalnum()):
            return True
        at = text.find(needle, at + 1)
    return None


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
    if not isinstance(value, str):
        yield dump(value)
    elif needle := fold(value):
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
    """Return the text with a mark between any two characters that are not both letters or digits: one mark if one of them is, another if
    neither is. A bounded occurrence of a text is then a plain occurrence of its marked form. This is for repetitive texts, in which
    checking one occurrence after another would take quadratic time.
    """
    edges = zip(" " + text, text + " ", strict=True)
    return "".join(_MARKS[before.isalnum() + after.isalnum()] + after for before, after in edges)[:-1]


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


def _extract_numbers(folded: str) -> Iterator[int | float]:
    """Yield the JSON numbers in a text. A minus sign counts only if it does not follow a letter or digit."""
    for match in _NUMBER.finditer(folded):
        token, start, end = match[0], match.start(), match.end()
        if len(token) > _LONGEST_NUMBER or (len(token) > 1 and token[0] == "0" and token[1].isdigit()):
            continue
        if (start and folded[start - 1].isalnum()) or (end < len(folded) and folded[end].isalnum()):
            continue
        number = int(token) if token.isdigit() else float(token)
        negative = start and folded[start - 1] == "-" and not (start > 1 and folded[start - 2].isalnum())
        yield -number if negative else number
