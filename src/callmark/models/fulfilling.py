"""A call that fulfils an expected one: for every matcher in it a value that it takes.

A value is guessed and then checked by the rule that grades use, so what comes back is right, and what is not found may still exist.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from callmark.calls.matchers import has_matcher, is_matcher, optional
from callmark.calls.strict import dump
from callmark.calls.values import agrees
from callmark.models.model import ModelError
from callmark.types import Call, Message

_NOTHING = object()


def fulfilled(call: Call, guesses: Callable[[str], list[Any]], *, messages: Sequence[Message] = ()) -> Call:
    """The expected call with a value for every matcher; raises `ModelError` where nothing can be it.

    `guesses`: plausible values of a parameter by its name, the best first. An optional argument that nothing fulfils is left out. Without
    matchers it is the call itself, without its id, and nothing is guessed.
    """
    if call.malformed:
        raise ModelError(f"the expected call of {call.name or 'no tool'} is malformed: nothing can be said to fulfil it")
    if not has_matcher(list(call.arguments.values())):
        return Call(call.name, call.arguments)
    arguments = {}
    for key, wanted in call.arguments.items():
        found = next((value for value in _values(wanted, guesses(key), messages) if agrees(wanted, value)), _NOTHING)
        if found is not _NOTHING:
            arguments[key] = found
        elif not optional(wanted):
            raise ModelError(f"no value can be found for {key} of {call.name} that fulfils {dump(wanted)[:200]}")
    return Call(call.name, arguments)


def _values(wanted: Any, guesses: list[Any], messages: Sequence[Message]) -> Iterator[Any]:
    """Values that may fulfil an expected one, the likeliest first."""
    if not is_matcher(wanted):
        if isinstance(wanted, dict | list) and has_matcher(wanted):
            items = wanted.items() if isinstance(wanted, dict) else enumerate(wanted)
            inner = [(key, next((one for one in _values(item, guesses, messages) if agrees(item, one)), None)) for key, item in items]
            yield dict(inner) if isinstance(wanted, dict) else [value for _, value in inner]
        else:
            yield wanted
        return
    match wanted:
        case {"$literal": value} | {"$approx": value} | {"$date": value} | {"$text": value} | {"$contains": value}:
            yield value
        case {"$optional": value}:
            yield from _values(value, guesses, messages)
        case {"$one_of": list(members)}:
            for member in members:
                yield from _values(member, guesses, messages)
        case {"$set": list(members)}:
            yield from _values(members, guesses, messages)
        case {"$glob": str(pattern)}:
            yield from (pattern.replace("*", fill).replace("?", fill or "1") for fill in ("1", ""))
        case {"$regex": str(pattern)}:
            yield from (_spelt(pattern), *_words(messages))
    yield from guesses
    yield from (0, "none of these", "", True, None, [], {})


def _words(messages: Sequence[Message]) -> Iterator[str]:
    """What stands in the talk: one of it may fit a pattern."""
    for message in messages:
        yield from (word.strip("\"',.;:()[]{}") for word in message.text.split())


def _spelt(pattern: str) -> str:
    """A text that a simple pattern takes in full; any text where it is not so simple."""
    from importlib import import_module

    try:
        return "".join(_letters(import_module("re._parser").parse(pattern)))
    except (re.error, ImportError, RecursionError, OverflowError):
        return ""


def _letters(parsed: Any) -> Iterator[str]:
    """A text for each part of a pattern as Python's own parser takes it apart: as little as it wants, the first of its choices."""
    for operation, given in parsed:
        match str(operation):
            case "LITERAL":
                yield chr(given)
            case "NOT_LITERAL":
                yield "a" if given != ord("a") else "b"
            case "ANY":
                yield "a"
            case "IN":
                yield _letter_in(given)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = given
                yield "".join(_letters(inner)) * min(max(least, 1), int(most), 1000)
            case "SUBPATTERN" | "ATOMIC_GROUP":
                yield from _letters(given[-1] if isinstance(given, tuple) else given)
            case "BRANCH":
                yield from _letters(given[1][0])


def _letter_in(members: Any) -> str:
    operation, given = members[0]
    match str(operation):
        case "LITERAL":
            return chr(given)
        case "RANGE":
            return chr(given[0])
        case "CATEGORY":
            return {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " "}.get(str(given), "a" if "NOT" not in str(given) else "-")
    refused = {chr(one) for kind, one in members if str(kind) == "LITERAL"}
    return next((letter for letter in "a1-A_ .~" if letter not in refused), "a")
