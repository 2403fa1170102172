"""What a user who is no model wants: tasks, each with what they know of it, from a scenario's data or from its expected calls."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from callmark.calls.matchers import has_matcher, is_matcher
from callmark.calls.schema import properties
from callmark.calls.values import agrees
from callmark.errors import BadInput
from callmark.formats.scenarios import TaskData, UserData, read_data
from callmark.simulation.users.rule_based.concepts import Concept, concept_of, name_words
from callmark.types import Call, Case, Tool

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PLUGIN = re.compile(r"[-.:/]|__")  # between a plugin's name and its function's
_DULL = re.compile(
    r"a|an|the|my|our|your|this|that|new|some|of|for|to|in|on|with|and|it|its|me|please|about|from|by|at|i|want|need|would|"
    r"like|create|open|make|add|update|change|edit|set|log|file|raise|submit|register|search|find|look|up|list|show|get|"
    r"check|see|close|delete|remove|cancel|report|book|order|give|tell|have|do|support"
)
_UPDATING = re.compile(r"\b(?:updat|chang|edit|clos|mov|mark|modif|adjust|reopen|resolv)")
_LOOKING = re.compile(r"\b(?:search|find|look|list|show|get|check|see|read|fetch|lookup|view|know|query|explain)\b")


class Slot(Struct, frozen=True):
    """One thing that a user knows of a task: its name, its value, how this person words it (empty: as it is), what kind of thing it is,
    and what else it could be, where the tools say so.
    """

    name: str
    value: Any
    says: str = ""
    concept: Concept | None = None
    others: tuple[str, ...] = ()
    described: str = ""

    @property
    def label(self) -> str:
        """What people call it."""
        return self.concept.label if self.concept else " ".join(name_words(self.name))

    @property
    def text(self) -> str:
        return written(self.value)


class Task(Struct, frozen=True):
    """One thing that a user wants done. `changes` are values that they come to want instead; `words` are nouns by which it is known;
    `looks` says that they only want to know something, `updates` that they want something changed that there is.
    """

    goal: str
    slots: dict[str, Slot] = {}
    opening: str = ""
    changes: dict[str, Any] = {}
    words: tuple[str, ...] = ()

    @property
    def looks(self) -> bool:
        return _LOOKING.search(" ".join(self.goal.casefold().split()[:3])) is not None

    @property
    def updates(self) -> bool:
        return _UPDATING.search(self.goal.casefold()) is not None


def data_of(case: Case) -> UserData:
    """What the user of a scenario goes by. Data that cannot be used raises `BadInput` that names the scenario and the field."""
    try:
        return read_data(case.data)
    except BadInput as error:
        raise BadInput(f"{case.place} ({case.id}): {error}" if case.place else f"{case.id}: {error}", error.hint) from None


def tasks_of(case: Case) -> tuple[Task, ...]:
    """What the user of a scenario wants, in order; at least one thing.

    From `data.tasks`; without any, one of each expected call that has arguments; without those, what the description says.
    """
    given = data_of(case).tasks
    return _from_calls(case) if given is None else tuple([_from_data(task, case) for task in given])


def written(value: Any) -> str:
    """A value as people write it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "nothing"
        case list() | tuple():
            parts = [written(item) for item in value]
            return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "nothing"
        case dict():
            return ", ".join(f"{key} {written(item)}" for key, item in value.items()) or "nothing"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
    return str(value).strip()


def _from_data(given: TaskData, case: Case) -> Task:
    goal = given.goal.strip() or (case.description.strip().rstrip(".") if not given.opening else "get that done") or "get that done"
    slots = {name: value for name, value in given.slots.items() if value is not None}
    return Task(
        goal,
        {name: _slot(name, value, given.says.get(name, ""), case) for name, value in slots.items()},
        given.opening.strip(),
        given.changes,
        tuple(word.casefold() for word in given.words) or _nouns(goal),
    )


def _from_calls(case: Case) -> tuple[Task, ...]:
    calls = [call for call in case.expected if not call.malformed]
    tasks = [_from_call(call, case) for call in [call for call in calls if call.arguments] or calls]
    if tasks:
        return tuple(tasks)
    wish = (case.description or case.instructions).strip()
    return (Task("get that done", {}, wish if wish.endswith((".", "!", "?")) else f"{wish}."),)


def _from_call(call: Call, case: Case) -> Task:
    goal = _goal(call.name)
    slots = {}
    for name, wanted in call.arguments.items():
        for value in _known(wanted):
            slots[name] = _slot(name, value, "", case, next((tool for tool in case.tools if tool.name == call.name), None))
            break
    return Task(goal, slots, "", {}, _nouns(goal))


def _goal(name: str) -> str:
    """`ActionItemPlugin-create_action_item` → `create an action item`."""
    words = _CAMEL.sub("_", _PLUGIN.split(name)[-1] or name).replace("_", " ").casefold().split()
    if len(words) < 2 or words[-1].endswith("s") or words[0] in ("list", "get", "search"):
        return " ".join(words) or "get that done"
    return f"{words[0]} {'an' if words[1][0] in 'aeiou' else 'a'} {' '.join(words[1:])}"


def _nouns(goal: str) -> tuple[str, ...]:
    found = [word.strip(".,;:!?\"'()") for word in goal.casefold().split()]
    return tuple(dict.fromkeys(word for word in found if len(word) > 2 and not _DULL.fullmatch(word)))


def _known(wanted: Any) -> Iterator[Any]:
    """Values that a user could know of what is expected; none of a pattern, which only tells what others have made up."""
    if not is_matcher(wanted):
        if wanted is not None and not has_matcher(wanted):
            yield wanted
        return
    match wanted:
        case {"$literal": value} | {"$similar": value}:
            yield value
        case {"$approx": value} | {"$date": value} | {"$text": value} | {"$contains": value} if agrees(wanted, value):
            yield value
        case {"$optional": value}:
            yield from _known(value)
        case {"$one_of": list(members)}:
            for member in members:
                yield from _known(member)
        case {"$set": list(members)} if not has_matcher(members):
            yield members


def _slot(name: str, value: Any, says: str, case: Case, tool: Tool | None = None) -> Slot:
    described, others = "", []
    for each in [tool] if tool else case.tools:
        part = properties(each.parameters).get(name)
        if isinstance(part, Mapping):
            described = described or str(part.get("description") or "")[:500]
            listed = part.get("enum")
            others += [str(one) for one in listed[:50]] if isinstance(listed, list) else []
    concept = concept_of(name)
    return Slot(name, value, says.strip(), concept, tuple(dict.fromkeys(others)) or (concept.values if concept else ()), described)
