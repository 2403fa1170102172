"""Read the tasks of a rule-based user, with their slots, from a scenario's data, its expected calls and its instructions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from callmark.calls.matchers import has_matcher, is_matcher
from callmark.calls.schema import properties
from callmark.calls.values import agrees
from callmark.errors import BadInput, EvaluatorError
from callmark.formats.scenarios import TaskData, UserData, read_data
from callmark.simulation.scenario_checks import scenario_name
from callmark.simulation.users.rule_based.concepts import Concept, find_concept, name_words
from callmark.simulation.users.rule_based.instructions import NamedValue, mentioned_texts, named_values, read_wish
from callmark.types import Call, Case, Tool

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PLUGIN_SEPARATOR = re.compile(r"[-.:/]|__")  # between plugin and function name
_STOP_WORDS = re.compile(
    r"a|an|the|my|our|your|this|that|new|some|of|for|to|in|on|with|and|it|its|me|please|about|from|by|at|i|want|need|would|"
    r"like|create|open|make|add|update|change|edit|set|log|file|raise|submit|register|search|find|look|up|list|show|get|"
    r"check|see|close|delete|remove|cancel|report|book|order|give|tell|have|do|support"
)
_UPDATE_VERBS = re.compile(r"\b(?:updat|chang|edit|clos|mov|mark|modif|adjust|reopen|resolv)")
_READ_VERBS = re.compile(r"\b(?:search|find|look|list|show|get|check|see|read|fetch|lookup|view|know|query|explain)\b")


class Slot(Struct, frozen=True):
    """A value that the user knows for a task: name, value, the user's own wording (empty: the value itself), concept, and the choices and
    description in the tools' schemas.
    """

    name: str
    value: Any
    says: str = ""
    concept: Concept | None = None
    choices: tuple[str, ...] = ()
    description: str = ""

    @property
    def label(self) -> str:
        """Return the name that people use for the slot."""
        return self.concept.label if self.concept else " ".join(name_words(self.name))

    @property
    def text(self) -> str:
        """Return the value as text."""
        return format_value(self.value)


class Task(Struct, frozen=True):
    """A goal of the user. `changes` are the values after a change of mind; `words` are nouns that identify the task. `facts` are other
    values that the instructions name: the user says them only if the agent asks for them.
    """

    goal: str
    slots: dict[str, Slot] = {}
    opening: str = ""
    changes: dict[str, Any] = {}
    words: tuple[str, ...] = ()
    facts: dict[str, Slot] = {}

    @property
    def is_lookup(self) -> bool:
        """Return whether the user only wants information."""
        return _READ_VERBS.search(" ".join(self.goal.casefold().split()[:3])) is not None

    @property
    def is_update(self) -> bool:
        """Return whether the user wants to change something that exists."""
        return _UPDATE_VERBS.search(self.goal.casefold()) is not None


def read_user_data(case: Case) -> UserData:
    """Return the user data of a scenario. Invalid data raises `BadInput` that names the scenario and the field."""
    try:
        return read_data(case.data)
    except BadInput as error:
        raise BadInput(f"{scenario_name(case)}: {error}", error.hint) from None


def read_tasks(case: Case) -> tuple[Task, ...]:
    """Return the tasks of a scenario in order, at least one.

    They come from `data.tasks`; without it, from each expected call with arguments; without these, from the instructions. The description
    is for readers: no user says it.
    """
    data = read_user_data(case).tasks
    tasks = _from_calls(case) if data is None else tuple([_from_data(task, case) for task in data])
    named = named_values(case.instructions)
    return tuple([structs.replace(task, facts=_facts(task, named, case)) for task in tasks]) if named else tasks


def format_value(value: Any) -> str:
    """Return a value as people write it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "nothing"
        case list() | tuple():
            parts = [format_value(item) for item in value]
            return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "nothing"
        case dict():
            return ", ".join(f"{key} {format_value(item)}" for key, item in value.items()) or "nothing"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
    return str(value).strip()


def _from_data(data: TaskData, case: Case) -> Task:
    goal = data.goal.strip() or ("get that done" if data.opening else read_wish(case.instructions).goal)
    slots = {name: value for name, value in data.slots.items() if value is not None}
    return Task(
        goal,
        {name: _make_slot(name, value, data.says.get(name, ""), case) for name, value in slots.items()},
        data.opening.strip(),
        data.changes,
        tuple(word.casefold() for word in data.words) or _nouns(goal),
    )


def _from_calls(case: Case) -> tuple[Task, ...]:
    calls = [call for call in case.expected if not call.malformed]
    tasks: list[Task] = []
    for call in [call for call in calls if call.arguments] or calls:
        creates_before = any(not (task.is_lookup or task.is_update) for task in tasks)
        tasks.append(_from_call(call, case, creates_before=creates_before))
    if tasks:
        return tuple(tasks)
    wish = read_wish(case.instructions)
    return (Task(wish.goal, {}, wish.opening, words=_nouns(wish.goal)),)


def _from_call(call: Call, case: Case, *, creates_before: bool) -> Task:
    """Return the task of an expected call. The user knows its arguments; where one is a pattern, the value that the instructions name.

    After a call that creates something, the instructions cannot name the id of the new record, only that of another one.
    """
    goal = _goal(call.name)
    words = _nouns(goal)
    tool = next((tool for tool in case.tools if tool.name == call.name), None)
    slots = {}
    for name, expected in call.arguments.items():
        value = next(_knowable_values(expected), None)
        if value is None and has_matcher(expected) and not (creates_before and _is_id(name)):
            value = _named_in_instructions(name, expected, case, words)
        if value is not None:
            slots[name] = _make_slot(name, value, "", case, tool)
    return Task(goal, slots, "", {}, words)


def _named_in_instructions(name: str, expected: Any, case: Case, task_words: Sequence[str]) -> str | None:
    """Return the value that the instructions name for an argument, if it matches; None without one, or if several could be meant.

    It has the argument's name, or its kind (`id` for `ticket_id`). For a pattern, it may also be any word that matches.
    """
    named = [each for each in named_values(case.instructions) if _matches(expected, each.value)]
    same_name = [each for each in named if name_words(each.name) == name_words(name)]
    concept = find_concept(name)
    same_kind = [each for each in named if concept is not None and (found := find_concept(each.name)) and found.key == concept.key]
    for candidates in (same_name, same_kind):
        about = [each for each in candidates if set(task_words) & set(_nouns(each.heading))]
        values = {each.value for each in about or candidates}
        if len(values) == 1:
            return values.pop()
    if not _is_specific(expected):
        return None
    mentioned = {text for text in mentioned_texts(case.instructions) if _matches(expected, text)}
    return mentioned.pop() if len(mentioned) == 1 else None


def _is_specific(expected: Any) -> bool:
    """Return whether a pattern has at least one character that is not a wildcard, so that few words match it."""
    pattern = str(expected.get("$glob") or expected.get("$regex") or "") if isinstance(expected, Mapping) else ""
    return any(character.isalnum() for character in pattern)


def _matches(expected: Any, text: str) -> bool:
    try:
        return bool(text) and agrees(expected, text)
    except EvaluatorError:  # a pattern that takes too long with this text
        return False


def _is_id(name: str) -> bool:
    concept = find_concept(name)
    return concept is not None and concept.key == "id"


def _facts(task: Task, named: Sequence[NamedValue], case: Case) -> dict[str, Slot]:
    """Return the values in the instructions that are not slots of the task; those under a heading about the task come first."""
    known = {" ".join(name_words(name)) for name in task.slots}
    ordered = sorted(named, key=lambda each: not set(task.words) & set(_nouns(each.heading)))
    facts: dict[str, Slot] = {}
    for each in ordered:
        label = " ".join(name_words(each.name))
        if label not in known:
            facts.setdefault(label, _make_slot(each.name, each.value, "", case))
    return facts


def _goal(name: str) -> str:
    """Return `create an action item` for `ActionItemPlugin-create_action_item`."""
    words = _CAMEL.sub("_", _PLUGIN_SEPARATOR.split(name)[-1] or name).replace("_", " ").casefold().split()
    if len(words) < 2 or words[-1].endswith("s") or words[0] in ("list", "get", "search"):
        return " ".join(words) or "get that done"
    return f"{words[0]} {'an' if words[1][0] in 'aeiou' else 'a'} {' '.join(words[1:])}"


def _nouns(goal: str) -> tuple[str, ...]:
    found = [word.strip(".,;:!?\"'()") for word in goal.casefold().split()]
    return tuple(dict.fromkeys(word for word in found if len(word) > 2 and not _STOP_WORDS.fullmatch(word)))


def _knowable_values(expected: Any) -> Iterator[Any]:
    """Yield the values that a user could know for an expected argument; nothing for a pattern."""
    if not is_matcher(expected):
        if expected is not None and not has_matcher(expected):
            yield expected
        return
    match expected:
        case {"$literal": value} | {"$similar": value}:
            yield value
        case {"$approx": value} | {"$date": value} | {"$text": value} | {"$contains": value} if agrees(expected, value):
            yield value
        case {"$optional": value}:
            yield from _knowable_values(value)
        case {"$one_of": list(members)}:
            for member in members:
                yield from _knowable_values(member)
        case {"$set": list(members)} if not has_matcher(members):
            yield members


def _make_slot(name: str, value: Any, says: str, case: Case, tool: Tool | None = None) -> Slot:
    description, choices = "", []
    for tool_ in [tool] if tool else case.tools:
        schema = properties(tool_.parameters).get(name)
        if isinstance(schema, Mapping):
            description = description or str(schema.get("description") or "")[:500]
            enum = schema.get("enum")
            choices += [str(choice) for choice in enum[:50]] if isinstance(enum, list) else []
    concept = find_concept(name)
    return Slot(name, value, says.strip(), concept, tuple(dict.fromkeys(choices)) or (concept.values if concept else ()), description)
