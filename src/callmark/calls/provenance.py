"""Trace argument values to their source in the conversation (docs/reference/metrics.md, section 12).

Every string and number in a call's arguments is searched for earlier in the conversation: in user, system and developer messages and in
tool results, but not in the assistant's text. A value that is not found is hallucinated.

Text is found ignoring case and extra white space, bounded by characters that are neither letters nor digits; a number in any JSON
notation; a date in any form that `dates` reads. In a string of six words or more, only the words with a digit need a source. Booleans,
null, blank strings and values listed in the schema (`enum`, `const`, `default`) need none. Malformed calls have no values.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct

from callmark.calls.dates import find_dates, parse_date, same_date
from callmark.calls.messages import RESULT_ROLES
from callmark.calls.schema import child_schemas, format_path, properties
from callmark.calls.strict import NotStrict, dump, parse, strings_and_numbers
from callmark.calls.values import exact
from callmark.calls.words import strip_punctuation, words
from callmark.types import Call, Message, Tool

DERIVED_TOOLS = ("calculate", "think")  # tools whose arguments the model computes instead of quoting
SOURCE_ROLES = RESULT_ROLES | {"user", "system", "developer"}
LONG_TEXT = 6  # words; in longer texts, only words with a digit need a source

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")
_WORD_WITH_DIGITS = re.compile(r"[!-,./:-~][!-/:-~]*+([0-9]{3,}+)[!-~]*+")  # neither a number nor a date
_NUMBER_START = tuple("-0123456789")
_LISTING_KEYS = frozenset({"enum", "const", "default", "anyOf", "oneOf", "allOf", "$ref"})  # keys of a schema that may list values
_LONGEST_NUMBER = 400
_MAX_EXACT = 1000  # enum values compared by `exact`; the rest must be equal
_MAX_TRIES = 100  # occurrences checked one by one before the whole text is marked
_LONGEST_CACHED = 20_000  # characters
_MARKS = ("\1", "\2", "")  # by how many of two neighbors are letters or digits
_FOLDS_TO_A_LETTER = "\u0345"  # the one character that is not a letter, but becomes one when case-folded
_SEPARATOR = "\0"  # between the strings of a result, so that no value is found across two of them


class Origin(Struct, frozen=True):
    """A value of a call and the index of its source message; None if it is hallucinated."""

    message: int
    call: int
    path: str
    value: str | int | float
    source: int | None


class SourceIndex:
    """An index of the messages before a call, to search for values."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._added: list[tuple[int, Message]] = []  # `_folded_texts` covers the first of these
        self._folded_texts: list[_Text] = []
        for index, message in enumerate(messages):
            self.add(index, message)

    def extend(self, messages: Sequence[Message]) -> "SourceIndex":
        """Return an index of these messages. If they begin with the messages of this index, its work is reused."""
        index = SourceIndex(messages)
        known = len(self._folded_texts)
        if known <= len(index._added) and all(
            [one[0] == other[0] and one[1] is other[1] for one, other in zip(self._added[:known], index._added, strict=False)]  # noqa: C419 - faster
        ):
            index._folded_texts = self._folded_texts[:known]
        return index

    def add(self, index: int, message: Message) -> None:
        """Add a message; the assistant's text is ignored."""
        if message.role in SOURCE_ROLES and message.text:
            self._added.append((index, message))

    @property
    def _texts(self) -> list["_Text"]:
        for index, message in self._added[len(self._folded_texts) :]:
            self._folded_texts.append(_Text(index, _fold_message(message.text, message.role in RESULT_ROLES)))
        return self._folded_texts

    def find(self, value: str | int | float) -> int | None:
        """Return the index of the first message that contains the value, or None."""
        if not isinstance(value, str):
            spelled = dump(value)
            return self._first(lambda text: text.has(spelled) or text.has_number(value))
        needle = _fold(value)
        if not needle:
            return self._texts[0].index if self._texts else 0
        if (found := self._first(lambda text: text.has(needle))) is not None:
            return found
        if (number := _as_number(value)) is not None:
            return self._first(lambda text: text.has_number(number))
        if (day := parse_date(value)) is not None:
            return self._first(lambda text: text.has_date(day))
        if len(words(value)) < LONG_TEXT:
            return None
        pieces = value.split()
        first: int | None = None
        for piece in {strip_punctuation(_fold(piece)): None for piece in pieces if any(character.isdigit() for character in piece)}:
            source = self._first(lambda text, word=piece: word in text.words)
            source = self.find(piece) if source is None else source
            if source is None:
                return None
            first = source if first is None else first
        return first if first is not None else self._texts[0].index if self._texts else 0

    def _first(self, has_value: Any) -> int | None:
        return next((text.index for text in self._texts if has_value(text)), None)


def fast_grounded(arguments: Mapping[str, Any], messages: Sequence[Message]) -> bool:
    """Return True if every argument is a string, or a list of strings, that appears verbatim in a message that may be its source.

    Most do, in a late message, and this is faster than `SourceIndex`. False requires a full search.
    """
    for value in arguments.values():
        for text in value if value.__class__ is list else (value,):
            if text.__class__ is not str or not text:
                return False
            for message in reversed(messages):
                source = message.text
                if text in source and message.role in SOURCE_ROLES and _has_bounded(source, text) and _FOLDS_TO_A_LETTER not in source:
                    break
            else:
                return False
    return True


def fast_hallucinated(value: str | int | float, messages: Sequence[Message]) -> bool:
    """Return True if a value is one word, such as #W0012345, whose digits appear in no message that may be its source.

    Most hallucinated values are like that, and this is faster than `SourceIndex`. False requires a full search.
    """
    word = _WORD_WITH_DIGITS.fullmatch(value) if value.__class__ is str else None
    if word is None:
        return False
    digits = word[1]
    for message in messages:
        text = message.text
        if digits in text and message.role in SOURCE_ROLES:
            return False
        if "\\" in text and message.role in RESULT_ROLES:  # its escapes may represent digits
            return False
    return True


def find_origins(messages: Sequence[Message], tools: Sequence[Tool] = (), *, derived: Sequence[str] = DERIVED_TOOLS) -> list[Origin]:
    """Return every value of every call that needs a source, in order, with its source message."""
    schemas = {tool.name: tool.parameters for tool in tools}
    sources = SourceIndex()
    found: list[Origin] = []
    for index, message in enumerate(messages):
        for place, call in enumerate(message.calls):
            if call.name not in derived:
                values = values_needing_source(call, schemas.get(call.name, {}))
                found.extend(Origin(index, place, path, value, sources.find(value)) for path, value in values)
        sources.add(index, message)
    return found


def values_needing_source(call: Call, parameters: Mapping[str, Any]) -> Iterator[tuple[str, str | int | float]]:
    """Yield `(path, value)` for every string and number in the arguments, except those listed in the schema."""
    if call.arguments and _lists_nothing(call.arguments, parameters):
        yield from cast("Mapping[str, str]", call.arguments).items()
        return
    rest: list[tuple[tuple[str | int, ...], Any, list[dict[str, Any]]]] = [
        ((key,), value, child_schemas([parameters], key, parameters)) for key, value in reversed(call.arguments.items())
    ]
    while rest:
        path, value, schemas = rest.pop()
        if schemas and _is_listed(value, schemas):
            continue
        if isinstance(value, dict):
            rest.extend(((*path, key), child, child_schemas(schemas, key, parameters)) for key, child in reversed(value.items()))
        elif isinstance(value, list):
            rest.extend(((*path, at), value[at], child_schemas(schemas, at, parameters)) for at in range(len(value) - 1, -1, -1))
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield format_path(path), value


def _lists_nothing(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
    """Return True if a quick check shows that all arguments are strings and the schema lists none. False means that it may list some."""
    if not _LISTING_KEYS.isdisjoint(parameters):
        return False
    known = properties(parameters)
    for key, value in arguments.items():
        part = known.get(key)
        if value.__class__ is not str or part.__class__ is not dict or not _LISTING_KEYS.isdisjoint(part):
            return False
    return True


def _is_listed(value: Any, schemas: Sequence[dict[str, Any]]) -> bool:
    for schema in schemas:
        listed = schema["enum"] if isinstance(schema.get("enum"), list) else []
        single = (schema[key] for key in ("const", "default") if key in schema)
        if value in listed or any(exact(item, value) for item in (*single, *listed[:_MAX_EXACT])):
            return True
    return False


class _Text:
    """The folded text of a message; its numbers and dates are extracted on demand."""

    def __init__(self, index: int, folded: str) -> None:
        self.index = index
        self.folded = folded
        self._numbers: set[int | float] | None = None
        self._dates: list[date] | None = None
        self._words: set[str] | None = None

    @property
    def words(self) -> set[str]:
        """The words without punctuation at their edges, as a set, because searching for many words one by one is slow."""
        if self._words is None:
            self._words = set(map(strip_punctuation, self.folded.split()))
        return self._words

    def has(self, needle: str) -> bool:
        return _has_bounded(self.folded, needle)

    def has_number(self, number: int | float) -> bool:
        if self._numbers is None:
            self._numbers = set(_extract_numbers(self.folded))
        return number in self._numbers

    def has_date(self, day: date) -> bool:
        if self._dates is None:
            self._dates = list(find_dates(self.folded))
        return any(same_date(day, written) for written in self._dates)


def _has_bounded(text: str, needle: str) -> bool:
    """Return whether the needle appears in the text, bounded by non-letters and non-digits."""
    at = text.find(needle)
    for _ in range(_MAX_TRIES):
        if at < 0:
            return False
        end = at + len(needle)
        if not (at and text[at - 1].isalnum()) and not (end < len(text) and text[end].isalnum()):
            return True
        at = text.find(needle, at + 1)
    return _mark_boundaries(needle) in _mark_boundaries(text)


def _fold_message(text: str, is_result: bool) -> str:
    """Return the folded text of a message. Texts are cached, because the decision points of a conversation share messages."""
    return _fold_cached(text, is_result) if len(text) <= _LONGEST_CACHED else _fold_uncached(text, is_result)


def _fold_uncached(text: str, is_result: bool) -> str:
    folded = _fold(text)
    if is_result and "\\" in text:  # a JSON result may write a string with escapes
        folded += _SEPARATOR + _SEPARATOR.join(map(_fold, _strings(text)))
    return folded


_fold_cached = lru_cache(maxsize=256)(_fold_uncached)


def _mark_boundaries(text: str) -> str:
    """Return the text with a mark between any two characters that are not both letters or digits: one mark if one of them is, another if
    neither is. A bounded occurrence of a text is then a plain occurrence of its marked form. This is for repetitive texts, in which
    checking one occurrence after another would take quadratic time.
    """
    edges = zip(" " + text, text + " ", strict=True)
    return "".join(_MARKS[before.isalnum() + after.isalnum()] + after for before, after in edges)[:-1]


def _fold(text: str) -> str:
    folded = text.casefold()
    if folded.isascii() and folded.isprintable() and "  " not in folded:
        return folded.strip(" ")  # its words are already separated by one space: in ASCII, no other white space is printable
    return " ".join(folded.split())


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
