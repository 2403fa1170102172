"""Draft a scenario from a recorded conversation: what the user said, and the calls that changed something.

The messages of the user become a script and instructions, the calls that change something expected calls. Calls that only read, that
failed, or that are malformed are not expected. Values that another run would not repeat become matchers, unless the user said them:

    an id that a call made before            {"$glob": "TKT-*"}, or {"$any": true} where it has no fixed start
    a UUID                                   {"$regex": …}
    a date with a time                       {"$any": true}
    a text of six words or more              {"$text": …, "$ratio": 0.6}

A draft is for a person to check: the scenario type is `draft`.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from callmark.calls.matchers import wrap_literal
from callmark.calls.messages import message_texts
from callmark.calls.provenance import find_origins
from callmark.calls.results import match_results
from callmark.calls.strict import NotStrict, parse
from callmark.errors import BadInput
from callmark.types import Call, Case, Conversation, Message, Tool

TYPE = "draft"
COMPLETION = "The agent has done what the user asked for"
_LONG = 6  # words from which a text is not expected word by word
_RATIO = 0.6
_MAX_TEXT = 2000  # characters up to which texts are compared by their words
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*")
_ID_START = re.compile(r"[^0-9A-Za-z]*[A-Za-z]+(?:[^0-9A-Za-z]+|(?=[0-9]))")  # the fixed part of TKT-1042 or #W1042
_ANY = {"$any": True}
_SAID = frozenset({"user", "system", "developer"})


class _Result(Struct):
    is_error: Any = None


_decode_result = msgspec.json.Decoder(_Result).decode


class Draft(Struct, frozen=True):
    """A drafted scenario, the tools that were called and only read, and how many calls are not expected for another reason, by reason."""

    case: Case
    reading: frozenset[str]
    left_out: Counter[str]


def draft_scenario(conversation: Conversation, is_read_only: Callable[[Tool], bool]) -> Draft:
    """Return the draft of a scenario. A conversation in which the user says nothing raises `BadInput`."""
    lines = [message.text.strip() for message in conversation.messages if message.role == "user" and message.text.strip()]
    if not lines:
        raise BadInput(f"{conversation.id}: the user says nothing, so there is nothing to draft a scenario from")
    tools = {tool.name: tool for tool in conversation.tools}
    reading = frozenset(call.name for call in conversation.calls if is_read_only(tools.get(call.name, Tool(call.name))))
    failed = _failed_calls(conversation)
    varying = _varying_values(conversation, reading)
    expected: list[Call] = []
    left_out: Counter[str] = Counter()
    for index, message in enumerate(conversation.messages):
        for place, call in enumerate(message.calls):
            if call.name in reading:
                continue
            if call.malformed or (index, place) in failed:
                left_out["malformed calls" if call.malformed else "calls that failed"] += 1
                continue
            values = varying.get((index, place), frozenset())
            said = [one.text for one in conversation.messages[:index] if one.role in _SAID]
            arguments = {key: _expected_value(value, values, said) for key, value in call.arguments.items()}
            expected.append(Call(call.name, arguments))
    case = Case(
        conversation.id,
        (),
        conversation.tools,
        conversation.place,
        expected=tuple(expected),
        instructions=_instructions(lines),
        completion=COMPLETION,
        description=f"Draft from a recorded conversation: {lines[0][:100]}",
        scenario_type=TYPE,
        data={"script": lines},
    )
    return Draft(case, reading, left_out)


def _instructions(lines: Sequence[str]) -> str:
    said = "\n".join(f"- {line}" for line in lines)
    return f"You want what this user wanted. In a recorded conversation, the user said, in this order:\n{said}\nDo not ask for more."


def _failed_calls(conversation: Conversation) -> set[tuple[int, int]]:
    """Return the calls whose result says that they failed."""
    texts = message_texts(conversation)
    matched = match_results(conversation.messages).by_call
    return {call for call, result in matched.items() if _says_error(conversation.messages[result], bytes(texts[result]))}


def _says_error(message: Message, text: bytes) -> bool:
    if _decode_result(text).is_error is True:
        return True
    if message.text.lstrip()[:5].lower() == "error":
        return True
    try:
        value = parse(message.text)
    except NotStrict:
        return False
    return isinstance(value, dict) and bool(value.get("error"))


def _varying_values(conversation: Conversation, reading: frozenset[str]) -> dict[tuple[int, int], frozenset[str | int | float]]:
    """Return the values of each call that a call before it has made: they are in its result, and nobody has said them."""
    messages = conversation.messages
    results = {result: messages[at].calls[place].name for (at, place), result in match_results(messages).by_call.items()}
    made = frozenset(result for result, name in results.items() if name not in reading)
    elsewhere = [message if index not in made else structs.replace(message, text="") for index, message in enumerate(messages)]
    there = {
        (origin.message, origin.call, origin.path, str(origin.value)) for origin in find_origins(elsewhere) if origin.source is not None
    }
    varying: dict[tuple[int, int], set[str | int | float]] = {}
    for origin in find_origins(messages):
        if origin.source in made and (origin.message, origin.call, origin.path, str(origin.value)) not in there:
            varying.setdefault((origin.message, origin.call), set()).add(origin.value)
    return {call: frozenset(values) for call, values in varying.items()}


def _expected_value(value: Any, varying: frozenset[str | int | float], said: Sequence[str]) -> Any:
    """Return what is expected in place of a recorded value, at any depth."""
    if isinstance(value, dict):
        inner = {key: _expected_value(item, varying, said) for key, item in value.items()}
        return inner if inner != value else wrap_literal(value)
    if isinstance(value, list):
        return [_expected_value(item, varying, said) for item in value]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    if not isinstance(value, str):
        return _ANY if value in varying else value
    if any(value.strip().casefold() in text.casefold() for text in said):
        return value
    if value in varying and any(character.isdigit() for character in value):
        start = _ID_START.match(value)
        return {"$glob": f"{start[0]}*"} if start and "*" not in start[0] and "?" not in start[0] else _ANY
    if _UUID.fullmatch(value):
        return {"$regex": _UUID.pattern}
    if _TIME.fullmatch(value):
        return _ANY
    if len(value.split()) >= _LONG:
        return {"$text": value, "$ratio": _RATIO} if len(value) <= _MAX_TEXT else _ANY
    return value
