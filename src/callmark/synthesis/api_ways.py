"""What belongs to whom in a planned conversation, and by which operations a key can be found out."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from callmark.calls.schema import properties, required
from callmark.simulation.mock_api.api import Meaning, MockApi, MockApiState
from callmark.simulation.mock_api.names import key_stem, noun_of, words_of
from callmark.simulation.mock_api.rows import Row, Things, leaves
from callmark.simulation.mock_api.shapes import shape
from callmark.synthesis.api_goals import Tell
from callmark.synthesis.api_words import label_of

_CREATING = frozenset({"create", "register", "insert", "new", "make"})
_CHANGING = frozenset({"update", "edit", "change", "modify", "replace", "set", "cancel", "close", "delete", "remove"})


class NoWay(Exception):  # noqa: N818 - it is what the plan has
    """A plan that cannot be carried out: something is not to be had in it."""


class Way(Struct, frozen=True):
    """A lookup that tells a key: what it takes that the user tells, and the things that must be known first."""

    meaning: Meaning
    arguments: dict[str, Any]
    tells: tuple[Tell, ...] = ()
    before: tuple[tuple[str, Any], ...] = ()


class Whose:
    """The things of a made-up API, seen from whoever speaks; `speaker` is a kind of person and a key, None while that is open."""

    def __init__(self, now: MockApiState) -> None:
        self.now = now
        self.speaker: tuple[str, Any] | None = None

    def row(self, kind: str, key: Any) -> Row:
        found = self.now.things.found(kind, key)
        if found is None:
            raise NoWay
        return found

    def belongs_to(self, kind: str, row: Row) -> tuple[str, Any] | None:
        """The person that a thing belongs to, or is; None where it is nobody's."""
        things = self.now.things
        if things.kind(kind).is_person:
            return kind, row[things.kind(kind).key]
        for field in things.kind(kind).fields.values():
            if field.role == "key" and things.kind(field.kind).is_person:
                return field.kind, row.get(field.name)
        for holder, held in things.holders(kind, str(row[things.kind(kind).key])):
            if holder.is_person:
                return holder.name, held[holder.key]
        return None

    def candidates(self, kind: str) -> list[Row]:
        """What the speaker may ask about: their own, and what is nobody's. Without a speaker everything."""
        rows = [row for _, row in self.now.things.rows(kind)]
        return [row for row in rows if self.speaker is None or self.belongs_to(kind, row) in (None, self.speaker)]

    def speaks_for(self, kind: str, row: Row) -> None:
        """Whoever a thing belongs to is who speaks, if that is still open."""
        if self.speaker is None:
            self.speaker = self.belongs_to(kind, row)

    def way(self, meaning: Meaning, kind: str, key: Any) -> Way | None:
        """How an operation tells a key; None where it does not."""
        subject = meaning.subject
        if meaning.operation.writes or subject is None or kind in (meaning.keys.get(name) for name in _needed(meaning)):
            return None
        things = self.now.things
        row = self.row(kind, key) if subject.kind == kind else None
        arguments: Row = {}
        tells: list[Tell] = []
        before: list[tuple[str, Any]] = []
        for name in _needed(meaning):
            other = meaning.keys.get(name)
            if other is not None:
                found = next(self._showing(other, kind, key), None) if row is None else _naming(things, kind, row, other)
                if found is None or (things.kind(other).is_person and (other, found) != self.speaker):
                    return None
                arguments[name] = found
                before.append((other, found))
                continue
            values = leaves(row, name) if row is not None else []
            if not values or not isinstance(values[0], str | int | float) or isinstance(values[0], bool):
                return None
            arguments[name] = values[0]
            tells.append(Tell(label_of(name), str(values[0]), [str(values[0])]))
        if row is None and (not before or subject.kind != before[0][0]):
            return None
        return Way(meaning, arguments, tuple(together(tells)), tuple(before))

    def _showing(self, other: str, kind: str, key: Any) -> Iterator[Any]:
        """The keys of the things whose answer shows this one: that have it inside, name it, or are named by it."""
        things = self.now.things
        for field in things.kind(other).fields.values():
            if field.kind != kind:
                continue
            if things.family.is_derived(other, field):
                naming = things.family.naming(kind, other)
                if naming is not None:
                    yield self.row(kind, key).get(naming.name)
            elif field.role == "key":
                yield from (row[things.kind(other).key] for row in self.candidates(other) if str(row.get(field.name)) == str(key))
        mine = {str(row[things.kind(other).key]) for row in self.candidates(other)}
        held_by = ((holder, held[holder.key]) for holder, held in things.holders(kind, str(key)))
        yield from (own for holder, own in held_by if holder.name == other and str(own) in mine)


def together(tells: list[Tell]) -> list[Tell]:
    """First and last name are told as one."""
    first = next((tell for tell in tells if tell.label in ("first name", "given name")), None)
    last = next((tell for tell in tells if tell.label in ("last name", "surname", "family name")), None)
    if first is None or last is None:
        return tells
    name = Tell("full name", f"{first.text} {last.text}", [*first.values, *last.values])
    return [name, *(tell for tell in tells if tell not in (first, last))]


def new_key(api: MockApi, meaning: Meaning) -> str:
    """The parameter with which whoever creates a thing gives it its key; empty where it creates none, or the API gives out the key.

    That something is created is said by the operation's name, or by its path: things are got one by one from right below it.
    """
    operation, path = meaning.operation, meaning.operation.path.rstrip("/")
    kind = api.kinds.by_name.get(meaning.kind or noun_of(path.rpartition("/")[2]))
    many = meaning.subject is not None and meaning.subject.many
    if kind is None or many or operation.method != "post" or f"{{{meaning.own}}}" in path:
        return ""
    verb = {*words_of(operation.tool.name)[:1]}
    below = any(
        each.operation.method == "get" and each.kind == kind.name and each.operation.path.rstrip("/") == f"{path}/{{{each.own}}}"
        for each in api.meanings.values()
    )
    if verb & _CHANGING or not (below or verb & _CREATING):
        return ""
    schemas = properties(operation.tool.parameters)
    own = [name for name in meaning.keys if meaning.keys[name] == kind.name and f"{{{name}}}" not in path]
    own = [name for name in own if name in kind.aliases or key_stem(name) in ("", kind.name)]  # no `parent_category_id`
    return next((name for name in own if shape(schemas[name]).get("type") != "array"), "")


def _needed(meaning: Meaning) -> list[str]:
    names = required(meaning.operation.tool.parameters)
    return [name for name in properties(meaning.operation.tool.parameters) if name in names]


def _naming(things: Things, kind: str, row: Row, other: str) -> Any:
    """The key of another kind that a row names."""
    field = things.family.naming(kind, other)
    if field is not None:
        return row.get(field.name)
    own = str(row[things.kind(kind).key])
    return next((held[holder.key] for holder, held in things.holders(kind, own) if holder.name == other), None)
