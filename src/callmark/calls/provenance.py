"""Trace argument values to their source in the conversation (docs/reference/metrics.md, section 12).

Every string and number in a call's arguments is searched for earlier in the conversation: in user, system and developer messages and in
tool results, but not in the assistant's text. A value that is not found is hallucinated.

Text is found ignoring case and extra white space, bounded by characters that are neither letters nor digits, or by a change between CJK and
other letters; a number in any JSON notation, but not inside a longer number; a date in any form that `dates` reads. In a string of six
words or more, only the words with a digit need a source. Booleans, null, blank strings and values listed in the schema (`enum`, `const`,
`default`) need none. Malformed calls have no values.
"""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, cast

from msgspec import Struct

from callmark.calls.argument_patterns import contains_argument
from callmark.calls.messages import RESULT_ROLES
from callmark.calls.schema import child_schemas, format_path, properties
from callmark.calls.source_index import SOURCE_ROLES, SourceIndex, Value, has_bounded
from callmark.calls.value_keys import ComparisonBudget, value_key
from callmark.calls.values import exact
from callmark.types import Call, Message, Tool

DERIVED_TOOLS = ("calculate", "think")  # tools whose arguments the model computes instead of quoting

_WORD_WITH_DIGITS = re.compile(r"[!-,./:-~][!-/:-~]*+([0-9]{3,}+)[!-~]*+")  # neither a number nor a date
_LISTING_KEYS = frozenset({"enum", "const", "default", "anyOf", "oneOf", "allOf", "$ref"})  # keys of a schema that may list values
_NUMBER_STARTS = frozenset("-0123456789")
_LEADING_ZERO = re.compile(r"0[0-9]")  # such as a ZIP code, which is not a JSON number
_MAX_INDEXES = 64  # enums
_LATE = 100  # messages that are searched one by one, from the last
_FEW = 20  # values that are searched for, or compared, one by one
_FOLDS_TO_A_LETTER = "\u0345"  # the one character that is not a letter, but becomes one when case-folded


class Origin(Struct, frozen=True):
    """A value of a call and the index of its source message; None if it is hallucinated."""

    message: int
    call: int
    path: str
    value: Value
    source: int | None


def fast_grounded(arguments: Mapping[str, Any], messages: Sequence[Message]) -> bool:
    """Return True if every argument is a string, or a list of strings, that appears verbatim in a message that may be its source.

    Most do, in a late message, and this is faster than `SourceIndex`. False requires a full search.
    """
    if len(arguments) > _FEW:
        return False
    for value in arguments.values():
        for text in value if value.__class__ is list and len(value) <= _FEW else (value,):
            if text.__class__ is not str or not text:
                return False
            is_number = text[0] in _NUMBER_STARTS and not _LEADING_ZERO.match(text)
            for message in islice(reversed(messages), _LATE):
                source = message.text
                if is_number and (f".{text}" in source or f"{text}." in source or f"-{text}" in source):
                    continue  # it may be part of a longer number
                if text in source and message.role in SOURCE_ROLES and has_bounded(source, text) and _FOLDS_TO_A_LETTER not in source:
                    break
            else:
                return False
    return True


def fast_hallucinated(value: Value, messages: Sequence[Message]) -> bool:
    """Return True if a value is one word, such as #W0012345, whose digits appear in no message that may be its source.

    Most hallucinated values are like that, and this is faster than `SourceIndex`. False requires a full search.
    """
    word = _WORD_WITH_DIGITS.fullmatch(value) if value.__class__ is str and len(messages) <= _LATE else None
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


def find_origins(messages: Sequence[Message], tools: Sequence[Tool] = (), *, ignore: Sequence[str] = ()) -> list[Origin]:
    """Return every value of every call that needs a source, in order, with its source message. `ignore` as in `values_needing_source`."""
    schemas = {tool.name: tool.parameters for tool in tools}
    values = [
        (index, place, path, value)
        for index, message in enumerate(messages)
        for place, call in enumerate(message.calls)
        for path, value in values_needing_source(call, schemas.get(call.name, {}), ignore=ignore)
    ]
    sources = SourceIndex(messages)
    sources.prepare(value for _, _, _, value in values)
    return [Origin(index, place, path, value, sources.find(value, index)) for index, place, path, value in values]


def values_needing_source(call: Call, parameters: Mapping[str, Any], *, ignore: Sequence[str] = ()) -> Iterator[tuple[str, Value]]:
    """Yield `(path, value)` for every string and number in the arguments that needs a source. A malformed call yields nothing.

    Values that the schema lists need none, nor those of `DERIVED_TOOLS`, nor those in arguments that `ignore` names by patterns
    (`tool.argument`). Grading, `lint` and `filter` all ask this function, so that they report the same values.
    """
    if call.name in DERIVED_TOOLS:
        return
    if call.arguments and not ignore and _lists_nothing(call.arguments, parameters):
        yield from cast("Mapping[str, str]", call.arguments).items()
        return
    rest: list[tuple[tuple[str | int, ...], Any, list[dict[str, Any]]]] = [
        ((key,), value, child_schemas([parameters], key, parameters)) for key, value in reversed(call.arguments.items())
    ]
    while rest:
        path, value, schemas = rest.pop()
        if schemas and _is_listed(value, schemas):
            continue
        if ignore and contains_argument(ignore, call.name, list(map(str, path))):
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
        if any(exact(schema[key], value) for key in ("const", "default") if key in schema):
            return True
        listed = schema.get("enum")
        if isinstance(listed, list) and (any(exact(item, value) for item in listed) if len(listed) <= _FEW else _index(listed).has(value)):
            return True
    return False


class _EnumIndex:
    """A long enum, indexed once, because it may be checked for many values."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items
        self._by_key: dict[Hashable, list[Any]] = {}
        self._budget = ComparisonBudget()
        for item in items:
            self._by_key.setdefault(value_key(item), []).append(item)

    def has(self, value: Any) -> bool:
        """Return whether one of the items equals the value by `exact`."""
        key = value_key(value)
        for item in self.items if key is None else chain(self._by_key.get(key, ()), self._by_key.get(None, ())):
            if exact(item, value):
                return True
            self._budget.spend()
        return False


def _index(listed: Sequence[Any]) -> _EnumIndex:
    found = _enum_indexes.get(id(listed))
    if found is None:
        if len(_enum_indexes) >= _MAX_INDEXES:
            _enum_indexes.clear()
        found = _enum_indexes[id(listed)] = _EnumIndex(listed)  # which keeps the list, and its id, alive
    return found


_enum_indexes: dict[int, _EnumIndex] = {}
