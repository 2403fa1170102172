"""Fault injection: calls that differ from the expected calls in exactly one fault of a given kind.

Each candidate is graded before it is used, so that it has the intended fault and no other.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any, TypeVar

from msgspec import Struct

from callmark.calls.schema import properties, required
from callmark.calls.shapes import named_call
from callmark.calls.source_index import SOURCE_ROLES
from callmark.calls.strict import dump
from callmark.grading.evaluators.call import CallEvaluator
from callmark.grading.faults import find_faults
from callmark.grading.grade import best_attempt
from callmark.models.satisfy import satisfy_call
from callmark.types import Call, Case, FaultKind, Tool

Calls = tuple[Call, ...]
T = TypeVar("T")

_MAX_CANDIDATES = 40  # graded for one fault
_MAX_COPIED = 100  # characters of a value that may be replaced by one from another message
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_FORMATS = {"date": re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b"), "email": _EMAIL}
_CHARACTER_RUNS = re.compile(r"(?P<digits>[0-9]+)|(?P<capitals>[A-Z]+)|(?P<letters>[a-z]+)|(?P<other>[^0-9A-Za-z]+)")


class Scene(Struct):
    """A case, calls that satisfy its expected calls, and a random generator."""

    case: Case
    correct: Calls
    random: Random

    @classmethod
    def of(cls, case: Case, random: Random) -> "Scene":
        """Return the scene of a case; raise `ModelError` if no call can satisfy an expected call."""
        scene = cls(case, (), random)
        scene.correct = tuple([scene._satisfy(call) for call in case.expected])
        return scene

    def inject(self, fault: FaultKind) -> Calls:
        """Return the correct calls with the fault added, or unchanged if the fault cannot occur in this case."""
        if (fault == "unexpected_call") is bool(self.correct):  # only possible if no call is expected; all other kinds only if one is
            return self.correct
        candidates = islice(_CANDIDATES[fault](self), _MAX_CANDIDATES)
        return next((calls for calls in candidates if _has_only(fault, calls, self.case)), self.correct)

    def shuffled(self, items: Iterable[T]) -> list[T]:
        found = list(items)
        self.random.shuffle(found)
        return found

    def tool(self, name: str) -> Tool:
        return next((tool for tool in self.case.tools if tool.name == name), Tool(name))

    def other_tools(self) -> list[Tool]:
        """Return the tools without an expected call, shuffled."""
        expected = {call.name for call in self.case.expected}
        return self.shuffled(tool for tool in self.case.tools if tool.name not in expected)

    def _satisfy(self, call: Call) -> Call:
        schema = self.tool(call.name).parameters
        return satisfy_call(call, lambda key: _plausible_values(key, schema, self), messages=self.case.messages)

    def replaced(self, index: int, call: Call) -> Calls:
        return (*self.correct[:index], call, *self.correct[index + 1 :])


def _has_only(fault: FaultKind, calls: Calls, case: Case) -> bool:
    attempt, _ = best_attempt([case.expected, *case.alternatives], calls, tools=case.tools)
    kinds = [found.kind for found in find_faults(attempt, [CallEvaluator()])]
    return kinds == [fault] or (fault == "no_call" and set(kinds) == {fault})


ValueSource = Callable[[Any, Scene], list[Any]]  # wrong values for a value


def _wrong_tool(scene: Scene) -> Iterator[Calls]:
    for index in scene.shuffled(range(len(scene.correct))):
        for tool in scene.other_tools():
            yield scene.replaced(index, _plausible_call(tool, scene))


def _wrong_value(scene: Scene) -> Iterator[Calls]:
    """Yield calls with one wrong value: half of the time copied from another message, if one has the same shape, else hallucinated."""
    sources: tuple[ValueSource, ...] = (_copied_values, _hallucinated_values)
    for source in sources if scene.random.random() < 0.5 else sources[1:]:
        for index, key in scene.shuffled((index, key) for index, call in enumerate(scene.correct) for key in call.arguments):
            call = scene.correct[index]
            for value in _change_value(call.arguments[key], source, scene):
                yield scene.replaced(index, Call(call.name, {**call.arguments, key: value}))


def _missing_argument(scene: Scene) -> Iterator[Calls]:
    for index, call in scene.shuffled(enumerate(scene.correct)):
        needed = required(scene.tool(call.name).parameters)
        for key in scene.shuffled(key for key in call.arguments if key in needed):
            yield scene.replaced(index, Call(call.name, {name: value for name, value in call.arguments.items() if name != key}))


def _extra_argument(scene: Scene) -> Iterator[Calls]:
    for index, call in scene.shuffled(enumerate(scene.correct)):
        schema = scene.tool(call.name).parameters
        for key in scene.shuffled(key for key in properties(schema) if key not in call.arguments):
            for value in _plausible_values(key, schema, scene):
                yield scene.replaced(index, Call(call.name, {**call.arguments, key: value}))


def _malformed_call(scene: Scene) -> Iterator[Calls]:
    for index, call in scene.shuffled(enumerate(scene.correct)):
        text = dump(call.arguments)
        yield scene.replaced(index, named_call(call.name, text[: scene.random.randint(1, len(text) - 1)], None))


def _no_call(scene: Scene) -> Iterator[Calls]:
    yield ()


def _repeated_call(scene: Scene) -> Iterator[Calls]:
    for call in scene.shuffled(scene.correct):
        yield (*scene.correct, call)


def _extra_call(scene: Scene) -> Iterator[Calls]:
    for tool in scene.other_tools():
        yield (*scene.correct, _plausible_call(tool, scene))


_CANDIDATES: Mapping[FaultKind, Callable[[Scene], Iterator[Calls]]] = {
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


def _change_value(value: Any, source: ValueSource, scene: Scene) -> list[Any]:
    """Return variants of the value with one part replaced; empty if there is nothing to replace."""
    if isinstance(value, dict):
        keys = scene.shuffled(value)
        return [{**value, key: other} for key in keys[:3] for other in _change_value(value[key], source, scene)]
    if isinstance(value, list):
        places = scene.shuffled(range(len(value)))
        return [[*value[:at], other, *value[at + 1 :]] for at in places[:3] for other in _change_value(value[at], source, scene)]
    return source(value, scene)


def _hallucinated_values(value: Any, scene: Scene) -> list[Any]:
    """Return other values of the same shape: strings with a few characters replaced, numbers close by."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value + scene.random.choice((1, 2, 10)), value + 100]
        case float():
            return [round(value * 1.1 + 1, 6)]
        case str():
            digits = [at for at, letter in enumerate(value) if letter.isascii() and letter.isdigit()]
            places = digits or [at for at, letter in enumerate(value) if letter.isascii() and letter.isalpha()]
            return [_misspell(value, scene.random.sample(places, min(2, len(places))), scene) for _ in range(3)] if places else []
    return []


def _misspell(text: str, places: list[int], scene: Scene) -> str:
    letters = list(text)
    for at in places:
        alike = "0123456789" if letters[at].isdigit() else "ABCDEFGHKLMNPRST" if letters[at].isupper() else "abcdefghklmnprst"
        letters[at] = scene.random.choice(alike.replace(letters[at], ""))
    return "".join(letters)


def _copied_values(value: Any, scene: Scene) -> list[Any]:
    """Return other values of the same shape from the conversation; empty for plain words and for values that are too short."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return []
    text = str(value)
    pattern = _shape_of(text)
    if pattern is None:
        return []
    texts = [message.text for message in scene.case.messages if message.role in SOURCE_ROLES]
    found = {other for source in texts for other in pattern.findall(source)} - {text}
    return [type(value)(other) for other in scene.shuffled(sorted(found))[:5]]


def _shape_of(text: str) -> re.Pattern[str] | None:
    """Return a pattern for strings of the same shape: an e-mail address, or the same digit counts, letter case and punctuation."""
    if len(text) > _MAX_COPIED:
        return None
    if _EMAIL.fullmatch(text):
        return _EMAIL
    if sum(letter.isdigit() for letter in text) < 2:
        return None
    parts = []
    for run in _CHARACTER_RUNS.finditer(text):
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


def _plausible_call(tool: Tool, scene: Scene) -> Call:
    """Return a plausible call of a tool: its required arguments, with the values used last."""
    needed = required(tool.parameters)
    values = {key: _plausible_values(key, tool.parameters, scene) for key in properties(tool.parameters) if key in needed}
    return Call(tool.name, {key: candidates[0] for key, candidates in values.items()})


def _plausible_values(key: str, schema: Mapping[str, Any], scene: Scene) -> list[Any]:
    """Return plausible values of a parameter, best first. There is always at least one.

    They come from the correct calls, from earlier calls in the conversation and from the schema's enum, or have the right type.
    """
    messages = scene.case.messages
    used = [call.arguments[key] for call in scene.correct if key in call.arguments]
    used += [call.arguments[key] for message in reversed(messages) for call in message.calls if key in call.arguments]
    found = properties(schema).get(key)
    part = found if isinstance(found, dict) else {}
    listed = part["enum"] if isinstance(part.get("enum"), list) else [part["const"]] if "const" in part else []
    kinds = part.get("type")
    kind = next((name for name in kinds if name != "null"), "") if isinstance(kinds, list) else kinds
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
    return [*used, *scene.shuffled(listed), *typed]
