"""Patterns over the sequence of calls: `find_* > get_user_details(user_id=$result)`.

    NAME              a call whose name matches the glob (`*` any run, `?` one character; case-sensitive)
    NAME(arg=value)   … and whose argument has that value: JSON, or a bare word that may be a glob; separate several with commas
    NAME(arg=$result) … and whose argument is the result of the previous step: its whole text, or its field of that name
    A > B             B is the next call after the first A
    A >> B            B is any later call

Steps are matched from left to right. The first step is always the first call that matches it; after `>>`, every later call is tried. A
malformed call matches no step, but counts as a call in the sequence.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from callmark.calls.globs import matches_glob
from callmark.calls.results import match_results
from callmark.calls.strict import NotStrict, parse
from callmark.calls.values import exact
from callmark.errors import BadInput
from callmark.types import Call, Conversation

RESULT = "$result"
MAX_STEPS = 50
EXAMPLE = "find_* > get_user_details(user_id=$result)"

_STEP = re.compile(r"\s*(?P<name>[^\s()<>,=]+)\s*")
_ARGUMENT = re.compile(r"\s*(?P<key>[^\s()=,]+)\s*=\s*")
_BARE = re.compile(r"[^,()\"\[\]{}]+")


class ArgumentPattern(Struct, frozen=True):
    """The condition on an argument: a value, a glob, or the result of the previous step."""

    kind: Literal["value", "glob", "result"]
    value: Any = None


class PatternStep(Struct, frozen=True):
    """One call of a pattern. `gap` says how it follows the previous step."""

    name: str
    arguments: tuple[tuple[str, ArgumentPattern], ...] = ()
    gap: Literal["first", "next", "later"] = "first"


class CallPattern(Struct, frozen=True):
    """A pattern of calls. `text` is its source."""

    text: str
    steps: tuple[PatternStep, ...]


class CallWithResult(Struct, frozen=True):
    """A call and the text of its result; None if it has none."""

    call: Call
    result: str | None = None


def read_pattern(text: str) -> CallPattern:
    """Parse a pattern. A syntax error raises `BadInput` that names the character."""
    steps: list[PatternStep] = []
    at = 0
    gap: Literal["first", "next", "later"] = "first"
    while True:
        step, at = _read_step(text, at, gap)
        steps.append(step)
        if len(steps) > MAX_STEPS:
            raise BadInput(f"pattern {text[:40]!r}…: expected at most {MAX_STEPS} steps, got more", f"Example: {EXAMPLE}")
        if at >= len(text):
            return CallPattern(text, tuple(steps))
        if text.startswith(">>", at):
            gap, at = "later", at + 2
        elif text[at] == ">":
            gap, at = "next", at + 1
        else:
            raise _syntax_error(text, at, "'>' or '>>'")


def calls_with_results(conversation: Conversation) -> list[CallWithResult]:
    """Return every call of a conversation with its result, in order."""
    messages = conversation.messages
    results = match_results(messages).by_call
    return [
        CallWithResult(call, messages[results[(index, place)]].text if (index, place) in results else None)
        for index, message in enumerate(messages)
        for place, call in enumerate(message.calls)
    ]


def find_pattern(pattern: CallPattern, calls: Sequence[CallWithResult]) -> tuple[int, ...] | None:
    """Return the indexes of the calls that match the steps, or None if the pattern is not found."""
    first = next((index for index, call in enumerate(calls) if _matches_step(pattern.steps[0], call, None)), None)
    if first is None:
        return None
    rest = _follow(pattern.steps[1:], calls, first, set())
    return None if rest is None else (first, *rest)


def _follow(
    steps: Sequence[PatternStep], calls: Sequence[CallWithResult], before: int, failed: set[tuple[int, int]]
) -> tuple[int, ...] | None:
    """Return the indexes of the calls that match the remaining steps, or None. `failed` holds the combinations that failed (remaining
    steps, previous call), so that a chain of `>>` takes at most steps x calls x calls.
    """
    if not steps:
        return ()
    if (len(steps), before) in failed:
        return None
    step = steps[0]
    last = min(before + 2, len(calls)) if step.gap == "next" else len(calls)
    for index in range(before + 1, last):
        if _matches_step(step, calls[index], calls[before]):
            rest = _follow(steps[1:], calls, index, failed)
            if rest is not None:
                return (index, *rest)
    failed.add((len(steps), before))
    return None


def _matches_step(step: PatternStep, candidate: CallWithResult, before: CallWithResult | None) -> bool:
    call = candidate.call
    if call.malformed or not matches_glob(step.name, call.name):
        return False
    return all(key in call.arguments and _matches_argument(pattern, key, call.arguments[key], before) for key, pattern in step.arguments)


def _matches_argument(pattern: ArgumentPattern, key: str, value: Any, before: CallWithResult | None) -> bool:
    if pattern.kind == "result":
        return before is not None and before.result is not None and _is_from_result(before.result, key, value)
    if pattern.kind == "glob":
        return isinstance(value, str) and matches_glob(str(pattern.value), value)
    return exact(pattern.value, value)


def _is_from_result(result: str, key: str, value: Any) -> bool:
    if exact(result, value):
        return True
    try:
        read = parse(result)
    except NotStrict:
        return False
    if isinstance(read, dict):
        return key in read and exact(read[key], value)
    return exact(read, value)


def _read_step(text: str, at: int, gap: Literal["first", "next", "later"]) -> tuple[PatternStep, int]:
    found = _STEP.match(text, at)
    if not found:
        raise _syntax_error(text, at, "a tool name")
    at = found.end()
    arguments: list[tuple[str, ArgumentPattern]] = []
    if at < len(text) and text[at] == "(":
        at += 1
        while not _is_closing(text, at):
            key = _ARGUMENT.match(text, at)
            if not key:
                raise _syntax_error(text, at, "ARGUMENT=VALUE")
            pattern, at = _read_argument(text, key.end(), first=gap == "first")
            arguments.append((key["key"], pattern))
            at = _skip_space(text, at)
            if at < len(text) and text[at] == ",":
                at += 1
            elif not _is_closing(text, at):
                raise _syntax_error(text, at, "',' or ')'")
        at = _skip_space(text, _skip_space(text, at) + 1)
    return PatternStep(found["name"], tuple(arguments), gap), at


def _read_argument(text: str, at: int, *, first: bool) -> tuple[ArgumentPattern, int]:
    for end in _possible_ends(text, at):
        try:
            return ArgumentPattern("value", parse(text[at:end])), end
        except NotStrict:
            continue
    bare = _BARE.match(text, at)
    word = bare[0].strip() if bare else ""
    if not bare or not word:
        raise _syntax_error(text, at, "a value")
    if word == RESULT and first:
        raise BadInput(
            f"pattern {text!r}: {RESULT} is the result of the previous step, so it cannot be used in the first step", f"Example: {EXAMPLE}"
        )
    if word == RESULT:
        return ArgumentPattern("result"), bare.end()
    if word.startswith("$"):
        raise _syntax_error(text, at, f"a value or {RESULT}")
    return (ArgumentPattern("glob", word) if "*" in word or "?" in word else ArgumentPattern("value", word)), bare.end()


def _possible_ends(text: str, at: int) -> list[int]:
    """Return the positions where a JSON value that begins at `at` may end: before any comma or closing parenthesis."""
    return [index for index in range(at + 1, len(text) + 1) if index == len(text) or text[index] in ",)"]


def _is_closing(text: str, at: int) -> bool:
    return _skip_space(text, at) < len(text) and text[_skip_space(text, at)] == ")"


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _syntax_error(text: str, at: int, expected: str) -> BadInput:
    found = repr(text[at : at + 12]) if text[at:].strip() else "the end of the pattern"
    return BadInput(f"pattern {text!r}, character {at + 1}: expected {expected}, got {found}", f"Example: {EXAMPLE}")
