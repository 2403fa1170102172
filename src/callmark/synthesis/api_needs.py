"""How a conversation gets at what an operation needs: the user says it, or another operation tells it, which needs something itself.

Everything is tried on the made-up API as it will be in that conversation, so a plan holds only what will be so.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from callmark.calls.schema import required
from callmark.calls.strict import dump
from callmark.simulation.mock_api.api import Meaning, MockApi
from callmark.simulation.mock_api.names import is_id, plural, words_of
from callmark.simulation.mock_api.rows import Row
from callmark.simulation.mock_api.shapes import shape
from callmark.simulation.mock_api.stock import LIKE
from callmark.synthesis.api_goals import Step, Tell
from callmark.synthesis.api_seen import Seen
from callmark.synthesis.api_ways import NoWay, Way, Whose, new_key
from callmark.synthesis.api_words import deed_of, described, label_of, option, spoken, thing_of, traits
from callmark.types import Call

_DEEPEST = 3  # lookups that lead to one another
_MOST_SHOWN = 5  # things to choose from
_MOST_FIELDS = 7  # of a thing that is described where its key is told
_LONGEST_TOLD = 20  # characters of a key that is told beside a name
_LONGEST_SAID = 14  # characters of a key that people say
_SAID = 0.45  # how often a key is said that could be looked up
_UNSPEAKABLE = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{20,}")


class Planning:
    """One conversation as it is planned, call by call."""

    def __init__(self, api: MockApi, case: str, random: Random) -> None:
        self.api = api
        self.now = api.opened(case)
        self.random = random
        self.whose = Whose(self.now)
        self.seen = Seen(api.kinds)
        self.tells: list[Tell] = []
        self.steps: list[Step] = []
        self.branches: list[str] = []
        self._pending: list[int] = []
        self._said: set[str] = set()
        self._settled: set[tuple[str, str]] = set()
        self._called: set[str] = set()

    def next_goal(self) -> None:
        """Begin with what is wanted next; what is known stays known."""
        self.tells, self.steps, self.branches, self._pending = [], [], [], []

    def tell(self, tell: Tell) -> None:
        """The user has to tell this before the next call, if they have not yet."""
        if any(value.casefold() not in self._said for value in tell.values):
            self._said.update(value.casefold() for value in tell.values)
            self._pending.append(len(self.tells))
            self.tells.append(tell)

    def call(self, meaning: Meaning, arguments: Row) -> None:
        """Make a call, once all is told that it needs. Made before, it is not made again. One that is refused raises `NoWay`."""
        name = meaning.operation.tool.name
        made = f"{name} {dump(arguments)}"
        if made in self._called and not meaning.operation.writes:
            return
        writes = meaning.operation.writes
        does, summary = (deed_of(meaning), self._summed_up(meaning, arguments)) if writes else ("", [])
        answer = self.now.call(name, arguments)
        if answer.is_error:
            raise NoWay
        self._called.add(made)
        self.seen.add(meaning, answer.text)
        self.steps.append(Step(Call(name, arguments), self._pending, writes, does, summary))
        self._pending = []

    def _summed_up(self, meaning: Meaning, arguments: Row) -> list[str]:
        """The arguments as somebody reads them; things that have a name by that too."""
        lines = []
        new = new_key(self.api, meaning)
        for name, value in arguments.items():
            kind = meaning.keys.get(name, "") if name != new else ""
            each_of = value if isinstance(value, list) else [value]
            texts = [self._called_by(kind, each, whole=name != meaning.own) if kind else spoken(each) for each in each_of]
            what = thing_of(name) if kind else label_of(name)
            lines.append(f"{kind.replace('_', ' ') if kind and what == 'ID' else what}: {', '.join(texts)}")
        return lines

    def _called_by(self, kind: str, key: Any, *, whole: bool) -> str:
        told = self.seen.beside(kind, key).get(str(key), {})
        named = next((name for name in told if name in self.now.things.kind(kind).aliases), "")
        name = next((told[word] for word in ("name", "title") if isinstance(told.get(word), str)), "")
        name = name or (described(told, named) if whole and not self.now.things.kind(kind).is_person else "")
        if not name or len(told) >= _MOST_FIELDS:
            return str(key)
        return f"{name} ({key})" if len(str(key)) <= _LONGEST_TOLD else name

    def was_called(self, meaning: Meaning, arguments: Row) -> bool:
        return f"{meaning.operation.tool.name} {dump(arguments)}" in self._called

    def identified(self) -> None:
        """Who speaks is known: found by what they tell of themselves, and looked up, as far as the API can do that."""
        if self.whose.speaker is not None and self._ways(*self.whose.speaker, 0):
            self.known(*self.whose.speaker)
            self.looked_at(*self.whose.speaker)

    def by_key(self, kind: str) -> Meaning | None:
        """The operation that tells of one thing by its key alone."""
        for meaning in self.api.meanings.values():
            subject = meaning.subject
            alone = not meaning.operation.writes and required(meaning.operation.tool.parameters) == {meaning.own}
            if subject is not None and subject.kind == kind and not subject.many and alone and meaning.keys.get(meaning.own) == kind:
                return meaning
        return None

    def looked_at(self, kind: str, key: Any) -> None:
        """The thing has been looked up by its key, if there is an operation for that."""
        meaning = self.by_key(kind)
        if meaning is not None:
            self.call(meaning, {meaning.own: key})

    def is_settled(self, kind: str, key: Any) -> bool:
        """Whether it is clear by now that this one is meant."""
        return (kind, str(key)) in self._settled

    def known(self, kind: str, key: Any, *, label: str = "", among: Sequence[Any] = (), depth: int = 0) -> None:
        """The key is known, and that it is this one that is meant: said by the user, or told by an operation and chosen, from those that
        it can only be `among`.
        """
        if (kind, str(key)) in self._settled:
            return
        noun = kind.replace("_", " ")
        shown = self.seen.beside(kind, key)
        if len(shown.get(str(key), {})) < 2:  # nothing is known of it, or no more than its key
            ways = [] if shown else self._ways(kind, key, depth)
            if self.now.things.kind(kind).is_person:  # nobody names something of theirs to be found by it
                ways = [way for way in ways if all(self.is_settled(*other) or self._is_clear(kind, key, *other) for other in way.before)]
            if not (ways or shown) or self._is_said(kind, key):
                self.branches.append(f"{noun}: told by the user")
                self.tell(Tell(label or _key_label(kind, self.now.things.kind(kind).key), str(key), [str(key)]))
                self._settled.add((kind, str(key)))
                return
            if ways:
                self.branches.append(f"{noun}: looked up")
                self._looked_up(kind, key, self.random.choice(ways), depth)
        self._chosen(kind, key, label if among and label else noun, among)
        self._settled.add((kind, str(key)))

    def is_taken(self, kind: str, key: Any) -> bool:
        """Whether a thing has the key, or had it when it was spoken of."""
        there = any(each == str(key) for each, _ in self.now.things.rows(kind))
        return there or self.seen.names(kind, key) or self.is_settled(kind, key)

    def given_out(self, kind: str, key: Any, label: str) -> None:
        """The user tells the key that something new is to have; whoever speaks of that thing later means this one."""
        self.branches.append(f"{kind.replace('_', ' ')}: new key told by the user")
        self.tell(Tell(label, str(key), [str(key)]))
        self._settled.add((kind, str(key)))

    def _looked_up(self, kind: str, key: Any, way: Way, depth: int) -> None:
        for other in way.before:
            if not self._is_clear(kind, key, *other):
                self.known(*other, depth=depth + 1)
        for tell in way.tells:
            self.tell(tell)
        self.call(way.meaning, way.arguments)
        if not self.seen.shows(kind, key):
            raise NoWay

    def _is_clear(self, kind: str, key: Any, other: str, other_key: Any) -> bool:
        """Whether an answer has named the other thing, and it is the one that this one belongs to: then nobody has to say so."""
        naming = self.now.things.family.naming(kind, other)
        return (
            naming is not None and self.seen.names(other, other_key) and str(self.whose.row(kind, key).get(naming.name)) == str(other_key)
        )

    def _chosen(self, kind: str, key: Any, noun: str, among: Sequence[Any]) -> None:
        """Of several that were shown, the user says which."""
        only = set(map(str, among))
        others = {each: told for each, told in self.seen.beside(kind, key).items() if not only or each in only}
        if len(others) < 2:
            return
        if self.now.things.kind(kind).is_person:
            self._named(others, str(key))
            return
        if min(map(len, others.values())) < 2 and self.by_key(kind) is not None:
            others = self._looked_through(kind, key, list(others))
        named = next((name for name in others[str(key)] if name in self.now.things.kind(kind).aliases), "")
        mine = traits(others[str(key)], named)
        theirs = [trait for other, told in others.items() if other != str(key) for trait in traits(told, named)]
        trait = next((each for each in mine if each and each not in theirs), str(key))
        listed = [str(key), *(other for other in others if other != str(key))][:_MOST_SHOWN]
        options = [option(others[each], named) for each in others if each in listed]
        self.branches.append(f"{noun}: chosen from several")
        self.tell(Tell(noun, _pointed_at(trait, kind), [trait], options, True))

    def _named(self, others: Mapping[str, Mapping[str, Any]], key: str) -> None:
        """Of several people, the user says who: by name, or whatever else of theirs is not another's too. People are not shown to choose
        from; whoever was found by what is theirs has said it.
        """
        told = {each: dict(_personal(fields)) for each, fields in others.items()}
        for label, text in told[key].items():
            if all(text != theirs.get(label) for each, theirs in told.items() if each != key):
                self.tell(Tell(label, text, [text]))
                return
        self.tell(Tell("ID", key, [key]))

    def _looked_through(self, kind: str, key: Any, keys: list[str]) -> dict[str, dict[str, Any]]:
        """Each of several that were told by their keys alone, looked up in their order: as many as have a place, this one among them."""
        own = self.now.things.kind(kind).key
        first = keys[: _MOST_SHOWN - 1]
        keys = first if str(key) in first else [*first[:-1], str(key)]
        for each in keys:
            self.looked_at(kind, self.whose.row(kind, each)[own])
        return {each: self.seen.beside(kind, each).get(each, {}) for each in keys}

    def _is_said(self, kind: str, key: Any) -> bool:
        """Whether the user says the key rather than having it looked up."""
        taken = any(meaning.keys.get(meaning.own) == kind for meaning in self.api.meanings.values())
        speakable = len(str(key)) <= _LONGEST_SAID and not _UNSPEAKABLE.match(str(key))
        person = self.now.things.kind(kind).is_person
        return taken and speakable and not person and self.random.random() < _SAID

    def _ways(self, kind: str, key: Any, depth: int) -> list[Way]:
        """The lookups that tell a key: those for which the fewest others have to be made clear first."""
        if depth >= _DEEPEST:
            return []
        ways = [way for meaning in self.api.meanings.values() if (way := self.whose.way(meaning, kind, key)) is not None]
        hard = {id(way): sum(not self._is_clear(kind, key, *other) for other in way.before) for way in ways}
        return [way for way in ways if hard[id(way)] == min(hard.values())]


def _personal(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What somebody says to be told from others, as an answer shows it, the best first."""
    name = told.get("name")
    inside = name if isinstance(name, dict) else {}
    texts = {"_".join(words_of(each)): value for each, value in (*told.items(), *inside.items()) if isinstance(value, str) and value}
    if "first_name" in texts and "last_name" in texts:
        yield "full name", f"{texts['first_name']} {texts['last_name']}"
    for each, label in (("name", "name"), ("email", "email address"), ("phone", "phone number")):
        if each in texts:
            yield label, texts[each]


def _pointed_at(trait: str, kind: str) -> str:
    """How somebody says which one: goods by `the`, what has a title of its own by that."""
    goods = LIKE.get(kind.rpartition("_")[2], kind) == "product"
    return f"the {trait}" if goods and trait.istitle() else trait


def _key_label(kind: str, key: str) -> str:
    words = words_of(key)
    noun = kind.replace("_", " ")
    return label_of(key) if len(words) > 1 else f"{noun} {'ID' if is_id(key) else label_of(key)}"


def few(schema: Any) -> list[str]:
    """The values to choose from, where they are few enough to be told."""
    choices = shape(schema).get("enum")
    found = [str(choice) for choice in choices if choice is not None] if isinstance(choices, list) else []
    return found if len(found) <= 6 else []


def several(kind: str) -> str:
    return plural(kind.replace("_", " "))
