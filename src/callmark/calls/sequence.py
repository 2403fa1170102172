"""Patterns over the sequence of calls: `find_* > get_user_details(user_id=$result)`.

    NAME              a call whose name matches the glob (`*` any run, `?` one character; case-sensitive)
    NAME(arg=value)   … and whose argument has that value: JSON, or a bare word that may be a glob; separate several with commas
    NAME(arg=$result) … and whose argument is the result of the previous step: its whole text, or its field of that name
    A > B             B is the next call after the first A
    A >> B            some call after the first A is B

Steps are matched from left to right. The first step is always the first call that matches it; after `>>`, every later call is tried. A
malformed call matches no step, but counts as a call in the sequence.

Patterns are matched in linear time: results and arguments that must be equal are found by their keys. Where too many have the same key and
are not equal, or have no key, `BadInput` is raised (`ComparisonBudget`).
"""

import json
import re
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, product
from typing import Any, Literal

from msgspec import Struct

from callmark.calls.globs import matches_glob
from callmark.calls.results import match_results
from callmark.calls.strict import NotStrict, parse
from callmark.calls.value_keys import ComparisonBudget, value_key
from callmark.calls.values import exact
from callmark.errors import BadInput
from callmark.types import Call, Conversation

RESULT = "$result"
MAX_STEPS = 50
EXAMPLE = "find_* > get_user_details(user_id=$result)"

_MAX_RESULTS = 3  # arguments of one step that come from the previous result, and are found by their keys
_raw_decode = json.JSONDecoder().raw_decode
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
    first = next((index for index, call in enumerate(calls) if _matches_alone(pattern.steps[0], call.call)), None)
    if first is None:
        return None
    following: list[_Followers] = []  # of the second step, the third and so on
    followers: _Followers | None = None
    for step in reversed(pattern.steps[1:]):
        matching = [index for index, call in enumerate(calls) if _matches_alone(step, call.call)]
        if followers is not None:
            matching = [index for index in matching if followers.first(index) is not None]
        followers = _Followers(step, calls, matching)
        following.insert(0, followers)
    found = [first]
    for followers in following:
        index = followers.first(found[-1])
        if index is None:
            return None
        found.append(index)
    return tuple(found)


def last_calls(pattern: CallPattern, calls: Sequence[CallWithResult]) -> list[int]:
    """Return the calls at which a match of the pattern can end, wherever it begins."""
    ends = [index for index, call in enumerate(calls) if _matches_alone(pattern.steps[0], call.call)]
    for step in pattern.steps[1:]:
        matching = [index for index, call in enumerate(calls) if _matches_alone(step, call.call)]
        ends = _ends_after(step, calls, ends, matching)
    return ends


class _Followers:
    """The calls that match a step by themselves, to find the first one that may follow a given call."""

    def __init__(self, step: PatternStep, calls: Sequence[CallWithResult], matching: list[int]) -> None:
        self._step, self._calls, self._matching = step, calls, matching
        self._known = frozenset(matching)
        self._by_key: dict[Hashable, list[int]] = {}
        self._budget = ComparisonBudget()
        if _takes_results(step):
            for index in matching:
                self._by_key.setdefault(_argument_key(step, calls[index].call), []).append(index)

    def first(self, before: int) -> int | None:
        """Return the first call that may follow this one, or None."""
        if self._step.gap == "next":
            return before + 1 if before + 1 in self._known and _takes(self._step, self._calls[before], self._calls[before + 1]) else None
        found = [self._first_of(group, before) for group in self._groups(before)]
        return min((index for index in found if index is not None), default=None)

    def _groups(self, before: int) -> Iterator[list[int]]:
        """Yield the lists of calls among which may be one that follows, each in order."""
        if not _takes_results(self._step):
            yield self._matching
        elif self._calls[before].result is not None:
            keys = _result_keys(self._step, self._calls[before])
            yield from [self._matching] if None in keys else (self._by_key[key] for key in (*keys, None) if key in self._by_key)

    def _first_of(self, group: list[int], before: int) -> int | None:
        for at in range(bisect_right(group, before), len(group)):
            if _takes(self._step, self._calls[before], self._calls[group[at]]):
                return group[at]
            self._budget.spend()
        return None


def _ends_after(step: PatternStep, calls: Sequence[CallWithResult], ends: list[int], matching: list[int]) -> list[int]:
    """Return the matching calls that may follow one of the ends."""
    known = frozenset(ends)
    if step.gap == "next":
        return [index for index in matching if index - 1 in known and _takes(step, calls[index - 1], calls[index])]
    if not _takes_results(step):
        return [index for index in matching if ends and index > ends[0]]
    found = []
    budget = ComparisonBudget()
    by_key: dict[Hashable, list[int]] = {}  # the ends so far, by what their results may be equal to; None: anything
    position = 0
    for index in matching:
        while position < len(ends) and ends[position] < index:
            for key in _result_keys(step, calls[ends[position]]):
                by_key.setdefault(key, []).append(ends[position])
            position += 1
        key = _argument_key(step, calls[index].call)
        for end in ends[:position] if key is None else chain(by_key.get(key, ()), by_key.get(None, ())):
            if _takes(step, calls[end], calls[index]):
                found.append(index)
                break
            budget.spend()
    return found


def _matches_alone(step: PatternStep, call: Call) -> bool:
    """Return whether a call matches a step, apart from the arguments that come from the previous result."""
    if call.malformed or not matches_glob(step.name, call.name):
        return False
    return all(key in call.arguments and _matches_argument(pattern, call.arguments[key]) for key, pattern in step.arguments)


def _matches_argument(pattern: ArgumentPattern, value: Any) -> bool:
    if pattern.kind == "glob":
        return isinstance(value, str) and matches_glob(str(pattern.value), value)
    return pattern.kind == "result" or exact(pattern.value, value)


def _takes_results(step: PatternStep) -> bool:
    return any(pattern.kind == "result" for _, pattern in step.arguments)


def _takes(step: PatternStep, before: CallWithResult, candidate: CallWithResult) -> bool:
    """Return whether the arguments that must come from the previous result do. The step matches otherwise."""
    values = [(key, candidate.call.arguments[key]) for key, pattern in step.arguments if pattern.kind == "result"]
    return not values or (before.result is not None and all(_is_from_result(before.result, key, value) for key, value in values))


def _is_from_result(result: str, key: str, value: Any) -> bool:
    return any(exact(candidate, value) for candidate in _result_values(result, key))


def _result_values(result: str, key: str) -> list[Any]:
    """Return what an argument may be equal to: the text of the result, and its field of that name or, if it is not an object, its value."""
    try:
        read = parse(result)
    except NotStrict:
        return [result]
    if isinstance(read, dict):
        return [result, read[key]] if key in read else [result]
    return [result, read]


def _argument_key(step: PatternStep, call: Call) -> Hashable:
    """Return a key of the arguments that come from the previous result; None if they have none."""
    names = [key for key, pattern in step.arguments if pattern.kind == "result"][:_MAX_RESULTS]
    keys = tuple(value_key(call.arguments[name]) for name in names)
    return None if None in keys else keys


def _result_keys(step: PatternStep, call: CallWithResult) -> list[Hashable]:
    """Return the keys of the arguments that a result may provide; None among them if it may provide any, and none without a result."""
    if call.result is None:
        return []
    names = [key for key, pattern in step.arguments if pattern.kind == "result"][:_MAX_RESULTS]
    values = [{value_key(value) for value in _result_values(call.result, name)} for name in names]
    return [None] if any(None in keys for keys in values) else list(product(*values))


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
    end = _json_end(text, at)
    if end is not None:
        return ArgumentPattern("value", parse(text[at:end])), end
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


def _json_end(text: str, at: int) -> int | None:
    """Return where the JSON value that begins at `at` ends: before a comma or closing parenthesis. None if there is no such value."""
    try:
        end = _skip_space(text, _raw_decode(text, _skip_space(text, at))[1])
        parse(text[at:end])
    except (ValueError, RecursionError):
        return None
    return end if end == len(text) or text[end] in ",)" else None


def _is_closing(text: str, at: int) -> bool:
    return _skip_space(text, at) < len(text) and text[_skip_space(text, at)] == ")"


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _syntax_error(text: str, at: int, expected: str) -> BadInput:
    found = repr(text[at : at + 12]) if text[at:].strip() else "the end of the pattern"
    return BadInput(f"pattern {text!r}, character {at + 1}: expected {expected}, got {found}", f"Example: {EXAMPLE}")
