"""Calls that satisfy expected calls: a concrete value for every matcher.

Values are guessed and then checked as in grading. A returned call is always correct, but one may exist that is not found.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from callmark.calls.matchers import has_matcher, is_matcher, is_optional
from callmark.calls.strict import dump
from callmark.calls.values import agrees
from callmark.errors import EvaluatorError
from callmark.models.model import ModelError
from callmark.types import Call, Message

_NO_VALUE = object()


def satisfy_call(call: Call, guess_values: Callable[[str], list[Any]], *, messages: Sequence[Message] = ()) -> Call:
    """Return the expected call with a value for every matcher; raise `ModelError` if no value is found.

    `guess_values` returns plausible values of a parameter by name, best first. An optional argument that nothing satisfies is left out. A
    call without matchers is returned as it is, without its id.
    """
    if call.malformed:
        raise ModelError(f"the expected call{f' to {call.name}' if call.name else ''} is malformed, so no call can satisfy it")
    if not has_matcher(list(call.arguments.values())):
        return Call(call.name, call.arguments)
    arguments = {}
    for key, expected in call.arguments.items():
        found = next((value for value in _candidates(expected, guess_values(key), messages) if _satisfies(expected, value)), _NO_VALUE)
        if found is not _NO_VALUE:
            arguments[key] = found
        elif not is_optional(expected):
            raise ModelError(f"no value found for {key} of {call.name} that satisfies {dump(expected)[:200]}")
    return Call(call.name, arguments)


def _satisfies(expected: Any, value: Any) -> bool:
    try:
        return agrees(expected, value)
    except EvaluatorError:  # the matcher needs too many checks
        return False


def _candidates(expected: Any, guesses: list[Any], messages: Sequence[Message]) -> Iterator[Any]:
    """Yield values that may satisfy an expected value, most likely first."""
    if not is_matcher(expected):
        if isinstance(expected, dict | list) and has_matcher(expected):
            items = expected.items() if isinstance(expected, dict) else enumerate(expected)
            inner = [
                (key, next((value for value in _candidates(item, guesses, messages) if _satisfies(item, value)), None))
                for key, item in items
            ]
            yield dict(inner) if isinstance(expected, dict) else [value for _, value in inner]
        else:
            yield expected
        return
    match expected:
        case {"$literal": value} | {"$approx": value} | {"$date": value} | {"$text": value} | {"$contains": value}:
            yield value
        case {"$optional": value}:
            yield from _candidates(value, guesses, messages)
        case {"$one_of": list(members)}:
            for member in members:
                yield from _candidates(member, guesses, messages)
        case {"$set": list(members)}:
            yield from _candidates(members, guesses, messages)
        case {"$glob": str(pattern)}:
            yield from (pattern.replace("*", fill).replace("?", fill or "1") for fill in ("1", ""))
        case {"$regex": str(pattern)}:
            yield from (_example_of(pattern), *_words(messages))
    yield from guesses
    yield from (0, "none of these", "", True, None, [], {})


def _words(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the words of the conversation: one may match a pattern."""
    for message in messages:
        yield from (word.strip("\"',.;:()[]{}") for word in message.text.split())


def _example_of(pattern: str) -> str:
    """Return a text that matches a simple pattern; for a complex pattern, it may not match."""
    from importlib import import_module

    try:
        return "".join(_letters(import_module("re._parser").parse(pattern)))
    except (re.error, ImportError, RecursionError, OverflowError):
        return ""


def _letters(parsed: Any) -> Iterator[str]:
    """Yield a text for each part of a parsed pattern: the fewest repetitions allowed, the first branch."""
    for operation, argument in parsed:
        match str(operation):
            case "LITERAL":
                yield chr(argument)
            case "NOT_LITERAL":
                yield "a" if argument != ord("a") else "b"
            case "ANY":
                yield "a"
            case "IN":
                yield _letter_in(argument)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = argument
                yield "".join(_letters(inner)) * min(max(least, 1), int(most), 1000)
            case "SUBPATTERN" | "ATOMIC_GROUP":
                yield from _letters(argument[-1] if isinstance(argument, tuple) else argument)
            case "BRANCH":
                yield from _letters(argument[1][0])


def _letter_in(members: Any) -> str:
    operation, argument = members[0]
    match str(operation):
        case "LITERAL":
            return chr(argument)
        case "RANGE":
            return chr(argument[0])
        case "CATEGORY":
            return {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " "}.get(str(argument), "a" if "NOT" not in str(argument) else "-")
    refused = {chr(code) for kind, code in members if str(kind) == "LITERAL"}
    return next((letter for letter in "a1-A_ .~" if letter not in refused), "a")
