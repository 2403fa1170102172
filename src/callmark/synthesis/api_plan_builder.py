"""Build the plan of a conversation call by call: the user says what a call needs, or a lookup reveals it, which has needs of its own.

Every call is executed on the mock API in the state of that conversation, so every planned call will succeed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from callmark.calls.schema import required
from callmark.calls.strict import dump
from callmark.simulation.mock_api.api import MockApi, OperationMeaning
from callmark.simulation.mock_api.names import is_id, plural, split_name
from callmark.simulation.mock_api.resource_store import Row
from callmark.simulation.mock_api.sample_data import SIMILAR_KINDS
from callmark.synthesis.api_goals import InformAct, Step
from callmark.synthesis.api_lookups import Lookup, Ownership, UnplannableError, new_key_parameter
from callmark.synthesis.api_observed import ObservedResources
from callmark.synthesis.api_phrases import (
    describe_row,
    distinguishing_traits,
    field_label,
    format_option,
    format_value,
    is_personal,
    phrase_action,
    reference_label,
)
from callmark.types import Call

_MAX_LOOKUP_DEPTH = 3  # of lookups that need lookups
_MAX_OPTIONS = 5  # to choose from
_MAX_FIELDS = 7  # of a row that is described next to its key
_MAX_SHOWN_KEY = 20  # characters of a key that is shown next to a name
_MAX_SPOKEN_KEY = 14  # characters of a key that users say
_SPOKEN_KEY_RATE = 0.45  # probability that the user says a key that could be looked up
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{20,}")


class PlanBuilder:
    """The plan of one conversation under construction."""

    def __init__(self, api: MockApi, case: str, random: Random) -> None:
        self.api = api
        self.state = api.start(case)
        self.random = random
        self.ownership = Ownership(self.state)
        self.observed = ObservedResources(api.kinds)
        self.informs: list[InformAct] = []
        self.steps: list[Step] = []
        self.branches: list[str] = []
        self._pending: list[int] = []
        self._informed: set[str] = set()
        self._identified: set[tuple[str, str]] = set()
        self._calls: set[str] = set()

    def start_next_goal(self) -> None:
        """Start the next goal; known values stay known."""
        self.informs, self.steps, self.branches, self._pending = [], [], [], []

    def require_inform(self, inform: InformAct) -> None:
        """Let the user say something before the next call, unless they have said it already."""
        if any(value.casefold() not in self._informed for value in inform.values):
            self._informed.update(value.casefold() for value in inform.values)
            self._pending.append(len(self.informs))
            self.informs.append(inform)

    def add_call(self, meaning: OperationMeaning, arguments: Row) -> None:
        """Add a call; a repeated read is skipped. A call that returns an error raises `UnplannableError`."""
        name = meaning.operation.tool.name
        signature = f"{name} {dump(arguments)}"
        if signature in self._calls and not meaning.operation.writes:
            return
        writes = meaning.operation.writes
        action, summary = (phrase_action(meaning), self._summarize(meaning, arguments)) if writes else ("", [])
        result = self.state.call(name, arguments)
        if result.is_error:
            raise UnplannableError
        self._calls.add(signature)
        self.observed.add(meaning, result.text)
        self.steps.append(Step(Call(name, arguments), self._pending, writes, action, summary))
        self._pending = []

    def _summarize(self, meaning: OperationMeaning, arguments: Row) -> list[str]:
        """Return the arguments as readable lines, with the names of resources."""
        lines = []
        new = new_key_parameter(self.api, meaning)
        for name, value in arguments.items():
            kind = meaning.keys.get(name, "") if name != new else ""
            items = value if isinstance(value, list) else [value]
            texts = [
                self._display_name(kind, item, with_description=name != meaning.key_parameter) if kind else format_value(item)
                for item in items
            ]
            what = reference_label(name) if kind else field_label(name)
            lines.append(f"{kind.replace('_', ' ') if kind and what == 'ID' else what}: {', '.join(texts)}")
        return lines

    def _display_name(self, kind: str, key: Any, *, with_description: bool) -> str:
        fields = self.observed.listed_with(kind, key).get(str(key), {})
        key_name = next((name for name in fields if name in self.state.store.kind(kind).aliases), "")
        name = next((fields[word] for word in ("name", "title") if isinstance(fields.get(word), str)), "")
        is_described = with_description and not self.state.store.kind(kind).is_person and len(fields) < _MAX_FIELDS
        name = name or (describe_row(fields, key_name) if is_described else "")
        if not name:
            return str(key)
        return f"{name} ({key})" if len(str(key)) <= _MAX_SHOWN_KEY else name

    def was_called(self, meaning: OperationMeaning, arguments: Row) -> bool:
        return f"{meaning.operation.tool.name} {dump(arguments)}" in self._calls

    def identify_requester(self) -> None:
        """Look up the requester by details that they say, if the API supports it."""
        if self.ownership.requester is not None and self._lookups(*self.ownership.requester, 0):
            self.identify(*self.ownership.requester)
            self.read_row(*self.ownership.requester)

    def read_by_key(self, kind: str) -> OperationMeaning | None:
        """Return the operation that reads one resource by its key alone, or None."""
        for meaning in self.api.meanings.values():
            subject = meaning.subject
            alone = not meaning.operation.writes and required(meaning.operation.tool.parameters) == {meaning.key_parameter}
            if (
                subject is not None
                and subject.kind == kind
                and not subject.many
                and alone
                and meaning.keys.get(meaning.key_parameter) == kind
            ):
                return meaning
        return None

    def read_row(self, kind: str, key: Any) -> None:
        """Add the read of a resource by its key, if there is an operation for it."""
        meaning = self.read_by_key(kind)
        if meaning is not None:
            self.add_call(meaning, {meaning.key_parameter: key})

    def is_identified(self, kind: str, key: Any) -> bool:
        """Return whether the conversation has identified this resource as the one meant."""
        return (kind, str(key)) in self._identified

    def identify(self, kind: str, key: Any, *, label: str = "", candidates: Sequence[Any] = (), depth: int = 0) -> None:
        """Identify a resource as the one meant: the user says its key, or a lookup reveals it and the user chooses it.

        If `candidates` are given, the user chooses among them only.
        """
        if (kind, str(key)) in self._identified:
            return
        noun = kind.replace("_", " ")
        shown = self.observed.listed_with(kind, key)
        if len(shown.get(str(key), {})) < 2:  # not shown yet, or only its key
            lookups = [] if shown else self._lookups(kind, key, depth)
            if self.state.store.kind(kind).is_person:  # people do not identify themselves by things they own
                lookups = [
                    lookup
                    for lookup in lookups
                    if all(self.is_identified(*other) or self._is_implied(kind, key, *other) for other in lookup.prerequisites)
                ]
            if not (lookups or shown) or self._is_key_spoken(kind, key):
                self.branches.append(f"{noun}: told by the user")
                key_label = label or _key_label(kind, self.state.store.kind(kind).key)
                self.require_inform(InformAct(key_label, str(key), [str(key)], personal=is_personal(key_label)))
                self._identified.add((kind, str(key)))
                return
            if lookups:
                self.branches.append(f"{noun}: looked up")
                self._add_lookup(kind, key, self.random.choice(lookups), depth)
        self._add_choice(kind, key, label if candidates and label else noun, candidates)
        self._identified.add((kind, str(key)))

    def is_key_taken(self, kind: str, key: Any) -> bool:
        """Return whether a key is in use, or was mentioned before."""
        exists = any(item == str(key) for item, _ in self.state.store.rows(kind))
        return exists or self.observed.mentions(kind, key) or self.is_identified(kind, key)

    def assign_new_key(self, kind: str, key: Any, label: str) -> None:
        """Let the user say the key of a new resource, which identifies it from then on."""
        self.branches.append(f"{kind.replace('_', ' ')}: new key told by the user")
        self.require_inform(InformAct(label, str(key), [str(key)]))
        self._identified.add((kind, str(key)))

    def _add_lookup(self, kind: str, key: Any, lookup: Lookup, depth: int) -> None:
        for other in lookup.prerequisites:
            if not self._is_implied(kind, key, *other):
                self.identify(*other, depth=depth + 1)
        for inform in lookup.informs:
            self.require_inform(inform)
        self.add_call(lookup.meaning, lookup.arguments)
        if not self.observed.shows(kind, key):
            raise UnplannableError

    def _is_implied(self, kind: str, key: Any, other: str, other_key: Any) -> bool:
        """Return whether the user need not say the other resource: a response has mentioned it, and this one references it."""
        reference_field = self.state.store.relations.reference_field(kind, other)
        return (
            reference_field is not None
            and self.observed.mentions(other, other_key)
            and str(self.ownership.row(kind, key).get(reference_field.name)) == str(other_key)
        )

    def _add_choice(self, kind: str, key: Any, noun: str, candidates: Sequence[Any]) -> None:
        """Let the user choose one of the resources that were shown."""
        allowed = set(map(str, candidates))
        others = {item: fields for item, fields in self.observed.listed_with(kind, key).items() if not allowed or item in allowed}
        if len(others) < 2:
            return
        if self.state.store.kind(kind).is_person:
            self._add_personal_detail(others, str(key))
            return
        if min(map(len, others.values())) < 2 and self.read_by_key(kind) is not None:
            others = self._read_all(kind, key, list(others))
        key_name = next((name for name in others[str(key)] if name in self.state.store.kind(kind).aliases), "")
        own_traits = distinguishing_traits(others[str(key)], key_name)
        other_traits = [trait for other, fields in others.items() if other != str(key) for trait in distinguishing_traits(fields, key_name)]
        trait = next((item for item in own_traits if item and item not in other_traits), str(key))
        shown = [str(key), *(other for other in others if other != str(key))][:_MAX_OPTIONS]
        options = [format_option(others[item], key_name, long_keys=trait == str(key)) for item in others if item in shown]
        self.branches.append(f"{noun}: chosen from several")
        self.require_inform(InformAct(noun, _refer_to(trait, kind), [trait], options, True))

    def _add_personal_detail(self, others: Mapping[str, Mapping[str, Any]], key: str) -> None:
        """Let the user identify one of several people by a unique detail. People are not shown as a choice."""
        details = {item: dict(_personal_details(fields)) for item, fields in others.items()}
        for label, text in details[key].items():
            if all(text != theirs.get(label) for item, theirs in details.items() if item != key):
                self.require_inform(InformAct(label, text, [text], personal=True))
                return
        self.require_inform(InformAct("ID", key, [key], personal=True))

    def _read_all(self, kind: str, key: Any, keys: list[str]) -> dict[str, dict[str, Any]]:
        """Read resources of which only the keys were shown, up to the maximum number of options, including this one."""
        key_name = self.state.store.kind(kind).key
        first = keys[: _MAX_OPTIONS - 1]
        keys = first if str(key) in first else [*first[:-1], str(key)]
        for item in keys:
            self.read_row(kind, self.ownership.row(kind, item)[key_name])
        return {item: self.observed.listed_with(kind, item).get(item, {}) for item in keys}

    def _is_key_spoken(self, kind: str, key: Any) -> bool:
        """Return whether the user says the key instead of having it looked up."""
        is_parameter = any(meaning.keys.get(meaning.key_parameter) == kind for meaning in self.api.meanings.values())
        is_short = len(str(key)) <= _MAX_SPOKEN_KEY and not _UUID.match(str(key))
        is_person = self.state.store.kind(kind).is_person
        return is_parameter and is_short and not is_person and self.random.random() < _SPOKEN_KEY_RATE

    def _lookups(self, kind: str, key: Any, depth: int) -> list[Lookup]:
        """Return the lookups that reveal a key and need the fewest other lookups."""
        if depth >= _MAX_LOOKUP_DEPTH:
            return []
        lookups = [
            lookup for meaning in self.api.meanings.values() if (lookup := self.ownership.find_lookup(meaning, kind, key)) is not None
        ]
        effort = {id(lookup): sum(not self._is_implied(kind, key, *other) for other in lookup.prerequisites) for lookup in lookups}
        return [lookup for lookup in lookups if effort[id(lookup)] == min(effort.values())]


def _personal_details(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield personal details of a row that distinguish a person from others, best first."""
    name = fields.get("name")
    inside = name if isinstance(name, dict) else {}
    texts = {"_".join(split_name(item)): value for item, value in (*fields.items(), *inside.items()) if isinstance(value, str) and value}
    if "first_name" in texts and "last_name" in texts:
        yield "full name", f"{texts['first_name']} {texts['last_name']}"
    for item, label in (("name", "name"), ("email", "email address"), ("phone", "phone number")):
        if item in texts:
            yield label, texts[item]


def _refer_to(trait: str, kind: str) -> str:
    """Return how a user refers to a row: products with `the`, titles unchanged."""
    goods = SIMILAR_KINDS.get(kind.rpartition("_")[2], kind) == "product"
    return f"the {trait}" if goods and trait.istitle() else trait


def _key_label(kind: str, key: str) -> str:
    words = split_name(key)
    noun = kind.replace("_", " ")
    is_complete = len(words) > 1 or words[:1] == ("username",)
    return field_label(key) if is_complete else f"{noun} {'ID' if is_id(key) else field_label(key)}"


def plural_label(kind: str) -> str:
    """Return the plural of a kind as words."""
    return plural(kind.replace("_", " "))
