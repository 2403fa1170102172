"""Imitations of models: `scripted:perfect`, `hasty`, `forgetful`, `chatty`. They see what is expected and err at known rates.

So there is always something to look at without a model, and a measuring rod for the measures: `RATES` says how often each fault is made. An
answer has one fault at most. A fault that cannot be made in a case (there is no argument to forget) is not made, so a rate is per case in
which it can. What is made is graded before it is said, so that the grade of an answer names the fault that was meant and no other.

An answer depends on the seed, the kind, the id of the case and the trial, and on nothing else.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from random import Random
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, get_args

from msgspec import Struct

from callmark.calls.provenance import SOURCES
from callmark.calls.schema import properties, required
from callmark.calls.shapes import named_call
from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.grading.faults import faults
from callmark.grading.grade import best_attempt
from callmark.models.fulfilling import fulfilled
from callmark.models.model import Question, Reply
from callmark.types import Call, Case, FaultKind, Tool
from callmark.wording import nearest

Kind = Literal["perfect", "hasty", "forgetful", "chatty"]
Calls = tuple[Call, ...]
T = TypeVar("T")

RATES: Mapping[Kind, Mapping[FaultKind, float]] = {
    "perfect": {},
    "hasty": {"wrong_tool": 0.08, "wrong_value": 0.15, "extra_argument": 0.03, "malformed_call": 0.02},
    "forgetful": {"no_call": 0.10, "missing_argument": 0.15},
    "chatty": {"no_call": 0.12, "repeated_call": 0.06, "extra_call": 0.06, "unexpected_call": 0.25},
}
KINDS: tuple[Kind, ...] = get_args(Kind)

_TURNS = 64  # replies after which others get a chance to run
_MOST_TRIES = 40  # at making a fault
_LONGEST_COPIED = 100  # characters of a value that is looked for elsewhere
_WHILE_CALLING = ("", "One moment.", "Let me look that up.", "I will see to it.")
_INSTEAD = ("Happy to help! Could you tell me a little more first?", "Of course. Just to be sure: is that what you want?")
_WITHOUT = ("Is there anything else I can do for you?", "You are welcome.", "Let me know how you would like to go on.")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_FORMATS = {"date": re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b"), "email": _EMAIL}
_RUNS = re.compile(r"(?P<digits>[0-9]+)|(?P<capitals>[A-Z]+)|(?P<letters>[a-z]+)|(?P<other>[^0-9A-Za-z]+)")


class ScriptedModel:
    """Raises `BadInput` for a kind that does not exist. A case whose expected calls nothing can fulfil has no reply, which says so."""

    concurrency = 8

    def __init__(self, kind: str, *, seed: int = 0) -> None:
        found = next((one for one in KINDS if one == kind), None)
        if found is None:
            raise BadInput(f"there is no scripted model called {kind!r}{nearest(kind, KINDS)}", f"They are {', '.join(KINDS)}.")
        self.label = f"scripted-{kind}"
        self._kind: Kind = found
        self._seed = seed
        self._asked = 0

    def fingerprint(self, question: Question) -> bytes | None:
        """None: it is made anew sooner than it is looked up."""
        return None

    async def ask(self, question: Question) -> Reply:
        """The expected calls, or what comes of them with a fault."""
        self._asked += 1
        if not self._asked % _TURNS:
            await asyncio.sleep(0)
        case = question.case
        scene = _Scene(case, (), Random(f"{self._seed} {self._kind} {question.trial} {scrub(case.id)}"))
        scene.right = tuple([scene.fulfilled(call) for call in case.expected])
        made = self._with_fault(scene)
        said = _WHILE_CALLING if made else _INSTEAD if case.expected else _WITHOUT
        return Reply(made, scene.chance.choice(said))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def _with_fault(self, scene: "_Scene") -> Calls:
        drawn = scene.chance.random()
        for fault, rate in RATES[self._kind].items():
            if drawn < rate:
                if (fault == "unexpected_call") is bool(scene.right):  # the one that is made where nothing is expected
                    break
                tries = islice(_FAULTY[fault](scene), _MOST_TRIES)
                return next((calls for calls in tries if _is_graded(scene.case, calls, fault)), scene.right)
            drawn -= rate
        return scene.right


class _Scene(Struct):
    """A case, the calls that are right in it, and the dice."""

    case: Case
    right: Calls
    chance: Random

    def shuffled(self, items: Iterable[T]) -> list[T]:
        found = list(items)
        self.chance.shuffle(found)
        return found

    def tool(self, name: str) -> Tool:
        return next((tool for tool in self.case.tools if tool.name == name), Tool(name))

    def other_tools(self) -> list[Tool]:
        """Those that nobody expects to be called."""
        expected = {call.name for call in self.case.expected}
        return self.shuffled(tool for tool in self.case.tools if tool.name not in expected)

    def fulfilled(self, call: Call) -> Call:
        schema = self.tool(call.name).parameters
        return fulfilled(call, lambda key: _made_up(key, schema, self), messages=self.case.messages)

    def replaced(self, index: int, call: Call) -> Calls:
        return (*self.right[:index], call, *self.right[index + 1 :])


def _is_graded(case: Case, calls: Calls, fault: FaultKind) -> bool:
    attempt, _ = best_attempt([case.expected, *case.alternatives], calls, tools=case.tools)
    found = [one.kind for one in faults(attempt)]
    return found == [fault] or (fault == "no_call" and set(found) == {fault})


def _wrong_tool(scene: _Scene) -> Iterator[Calls]:
    for index in scene.shuffled(range(len(scene.right))):
        for tool in scene.other_tools():
            yield scene.replaced(index, _made_up_call(tool, scene))


def _wrong_value(scene: _Scene) -> Iterator[Calls]:
    """Half of them are taken from another message, where something of the same kind stands; the others are hallucinated."""
    ways: tuple[Callable[[Any, _Scene], list[Any]], ...] = (_from_elsewhere, _invented)
    for way in ways if scene.chance.random() < 0.5 else ways[1:]:
        for index, key in scene.shuffled((index, key) for index, call in enumerate(scene.right) for key in call.arguments):
            call = scene.right[index]
            for value in _changed(call.arguments[key], way, scene):
                yield scene.replaced(index, Call(call.name, {**call.arguments, key: value}))


def _missing_argument(scene: _Scene) -> Iterator[Calls]:
    for index, call in scene.shuffled(enumerate(scene.right)):
        needed = required(scene.tool(call.name).parameters)
        for key in scene.shuffled(key for key in call.arguments if key in needed):
            yield scene.replaced(index, Call(call.name, {name: value for name, value in call.arguments.items() if name != key}))


def _extra_argument(scene: _Scene) -> Iterator[Calls]:
    for index, call in scene.shuffled(enumerate(scene.right)):
        schema = scene.tool(call.name).parameters
        for key in scene.shuffled(key for key in properties(schema) if key not in call.arguments):
            for value in _made_up(key, schema, scene):
                yield scene.replaced(index, Call(call.name, {**call.arguments, key: value}))


def _malformed_call(scene: _Scene) -> Iterator[Calls]:
    for index, call in scene.shuffled(enumerate(scene.right)):
        text = dump(call.arguments)
        yield scene.replaced(index, named_call(call.name, text[: scene.chance.randint(1, len(text) - 1)], None))


def _no_call(scene: _Scene) -> Iterator[Calls]:
    yield ()


def _repeated_call(scene: _Scene) -> Iterator[Calls]:
    for call in scene.shuffled(scene.right):
        yield (*scene.right, call)


def _extra_call(scene: _Scene) -> Iterator[Calls]:
    for tool in scene.other_tools():
        yield (*scene.right, _made_up_call(tool, scene))


_FAULTY: Mapping[FaultKind, Callable[[_Scene], Iterator[Calls]]] = {
    "wrong_tool": _wrong_tool,
    "wrong_value": _wrong_value,
    "missing_argument": _missing_argument,
    "extra_argument": _extra_argument,
    "malformed_call": _malformed_call,
    "no_call": _no_call,
    "repeated_call": _repeated_call,
    "extra_call": _extra_call,
    "unexpected_call": _extra_call,
}


def _changed(value: Any, way: Callable[[Any, _Scene], list[Any]], scene: _Scene) -> list[Any]:
    """The value with one thing in it changed, in a few ways; none where there is nothing to change."""
    if isinstance(value, dict):
        keys = scene.shuffled(value)
        return [{**value, key: other} for key in keys[:3] for other in _changed(value[key], way, scene)]
    if isinstance(value, list):
        places = scene.shuffled(range(len(value)))
        return [[*value[:at], other, *value[at + 1 :]] for at in places[:3] for other in _changed(value[at], way, scene)]
    return way(value, scene)


def _invented(value: Any, scene: _Scene) -> list[Any]:
    """Another value that is made like this one: a few letters or digits are others, a number is near."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value + scene.chance.choice((1, 2, 10)), value + 100]
        case float():
            return [round(value * 1.1 + 1, 6)]
        case str():
            digits = [at for at, letter in enumerate(value) if letter.isascii() and letter.isdigit()]
            places = digits or [at for at, letter in enumerate(value) if letter.isascii() and letter.isalpha()]
            return [_misspelt(value, scene.chance.sample(places, min(2, len(places))), scene) for _ in range(3)] if places else []
    return []


def _misspelt(text: str, places: list[int], scene: _Scene) -> str:
    letters = list(text)
    for at in places:
        alike = "0123456789" if letters[at].isdigit() else "ABCDEFGHKLMNPRST" if letters[at].isupper() else "abcdefghklmnprst"
        letters[at] = scene.chance.choice(alike.replace(letters[at], ""))
    return "".join(letters)


def _from_elsewhere(value: Any, scene: _Scene) -> list[Any]:
    """Other values of the same kind that stand in the talk; none for words and for what is too short to have a kind."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return []
    text = str(value)
    pattern = _like(text)
    if pattern is None:
        return []
    texts = [message.text for message in scene.case.messages if message.role in SOURCES]
    found = {other for said in texts for other in pattern.findall(said)} - {text}
    return [type(value)(other) for other in scene.shuffled(sorted(found))[:5]]


def _like(text: str) -> re.Pattern[str] | None:
    """What is written in the same way: an e-mail address, or as many digits between letters and signs of the same sort."""
    if len(text) > _LONGEST_COPIED:
        return None
    if _EMAIL.fullmatch(text):
        return _EMAIL
    if sum(letter.isdigit() for letter in text) < 2:
        return None
    parts = []
    for run in _RUNS.finditer(text):
        match run.lastgroup:
            case "digits":
                parts.append(f"[0-9]{{{len(run[0])}}}")
            case "capitals":
                parts.append("[A-Z]{1,40}")
            case "letters":
                parts.append("[a-z]{1,40}")
            case _:
                parts.append(re.escape(run[0]))
    return re.compile(rf"(?<![\w#]){''.join(parts)}(?!\w)", re.ASCII)


def _made_up_call(tool: Tool, scene: _Scene) -> Call:
    """A plausible call of a tool: what it needs, from where these things were last said."""
    needed = required(tool.parameters)
    values = {key: _made_up(key, tool.parameters, scene) for key in properties(tool.parameters) if key in needed}
    return Call(tool.name, {key: given[0] for key, given in values.items()})


def _made_up(key: str, schema: Mapping[str, Any], scene: _Scene) -> list[Any]:
    """Plausible values of a parameter, the best first: what it is given here, or was in this talk, what the schema lists, what fits its
    type. There is always one.
    """
    messages = scene.case.messages
    given = [call.arguments[key] for call in scene.right if key in call.arguments]
    given += [call.arguments[key] for message in reversed(messages) for call in message.calls if key in call.arguments]
    found = properties(schema).get(key)
    part = found if isinstance(found, dict) else {}
    listed = part["enum"] if isinstance(part.get("enum"), list) else [part["const"]] if "const" in part else []
    kinds = part.get("type")
    kind = next((one for one in kinds if one != "null"), "") if isinstance(kinds, list) else kinds
    least = part.get("minimum")
    first = int(least) if isinstance(least, int | float) else 1
    match kind:
        case "integer":
            typed: list[Any] = [first, first + 1]
        case "number":
            typed = [float(first), first + 1.5]
        case "boolean":
            typed = [True, False]
        case "array":
            typed = [[]]
        case "object":
            typed = [{}]
        case _:
            written = _FORMATS.get(str(part.get("format"))) or re.compile(rf'"{re.escape(key)}": ?"([^"\\]{{1,60}})"')
            typed = [text for message in reversed(messages) for text in written.findall(message.text)[:3]]
            typed += [f"the {key.replace('_', ' ')}", f"some {key.replace('_', ' ')}"]
    return [*given, *scene.shuffled(listed), *typed]
