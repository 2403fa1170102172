"""The kinds of things that an API is about, as its answers show them: an object with a key of its own is one (`order`, by `order_id`).

Fields name other things by their keys (`user_id` of an order), or have them inside (`items`). Parameters name things too, so an operation
is about the kind that it answers, and takes keys of it and of others.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from callmark.calls.schema import properties as parameters_of
from callmark.simulation.mock_api.names import PEOPLE, RECORDS, is_id, key_stem, noun_of, words_of
from callmark.simulation.mock_api.shapes import properties, required, shape
from callmark.simulation.openapi import Operation
from callmark.simulation.openapi_schemas import NAMED

_DEEPEST = 8
_WRAPPING = frozenset(
    {"data", "result", "results", "item", "items", "payload", "response", "content", "records", "entries", "values", "list"}
)
_PLAIN = ("string", "integer", "number")
_PERSONAL = frozenset({"name", "email", "phone", "username", "firstname", "lastname", "login", "birth", "born"})
_NO_KEYS = frozenset(  # what a path may end with though many things have it in common
    {"name", "title", "type", "kind", "status", "state", "date", "day", "month", "year", "version", "category", "language", "city"}
)


class Field(Struct, frozen=True):
    """What a field holds: a plain value, or things of a kind, by their keys or whole."""

    name: str
    schema: dict[str, Any]
    role: Literal["plain", "key", "keys", "whole"] = "plain"
    kind: str = ""
    many: bool = False


class Kind(Struct):
    """A kind of things: what its key is called (`aliases`: in other answers too, its own first), and its fields."""

    name: str
    key: str
    aliases: tuple[str, ...]
    schemas: dict[str, Any] = {}
    needed: set[str] = set()
    fields: dict[str, Field] = {}

    @property
    def is_person(self) -> bool:
        """By what it is called; an account is somebody where it says who."""
        of_people = {*self.name.split("_")} & PEOPLE
        return bool(of_people - RECORDS) or (bool(of_people) and any(_PERSONAL & {*words_of(name)} for name in self.schemas))


class Subject(Struct, frozen=True):
    """What an operation answers: things of a kind, one or `many`; `at` are the fields of the answer that lead to them."""

    kind: str
    many: bool
    at: tuple[str, ...] = ()


class Kinds:
    """Those of an API that its operations answer, or take keys of. Those that are `new_only` are made, never asked for."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._all: dict[str, Kind] = {}
        self._in_paths = _keys_in_paths(operations)
        for top in (False, True):
            for operation in operations:
                self._look(operation.response, _path_noun(operation.path), top=top, depth=0, only_top=top)
        self.by_name: dict[str, Kind] = {}
        named = {kind for operation in operations for kind in self._named_by(operation)}
        self.by_name = {name: kind for name, kind in self._all.items() if name in named}
        reads = [each for each in operations if not each.writes]
        shown = {subject.kind for each in reads if (subject := self.subject(each)) is not None}
        self.new_only = {*self.by_name} - shown - {kind for each in operations for kind in self.keys_of(each).values()}
        for kind in self.by_name.values():
            kind.fields = {name: self._field(name, schema, kind) for name, schema in kind.schemas.items()}

    def of_field(self, name: str) -> str:
        """The kind that a key of that name is of; empty where it is no key, or of no kind that is known."""
        words = words_of(name)
        exact = [kind for kind in self._all.values() if not is_id(kind.key) and words_of(kind.key) == words]
        if exact:
            return exact[0].name
        stem = key_stem(name)
        if not stem:
            return ""
        fitting = [kind for kind in self._all if stem == kind or stem.endswith(f"_{kind}")]
        return max(fitting, key=len, default="")

    def of_parameter(self, name: str, path: str) -> str:
        """The kind that a parameter is a key of, also of a mere `id` in a path."""
        found = self.of_field(name)
        if found or key_stem(name) != "":
            return found
        before, _, _ = path.partition(f"{{{name}}}")
        noun = noun_of(before.rstrip("/").rpartition("/")[2])
        return noun if noun in self._all else ""

    def of_object(self, schema: Any) -> str:
        """The kind that an object is of; empty where it is of none."""
        given = shape(schema)
        found = self._detected(given, "", top=False)
        return found[0] if found is not None and found[0] in self.by_name else ""

    def subject(self, operation: Operation) -> Subject | None:
        """What the operation answers; None where that is of no kind."""
        return self._subject(operation.response, _path_noun(operation.path), ())

    def keys_of(self, operation: Operation) -> dict[str, str]:
        """The parameters that are keys, each with its kind; those inside of other parameters left out."""
        named = {name: self.of_parameter(name, operation.path) for name in parameters_of(operation.tool.parameters)}
        return {name: kind for name, kind in named.items() if kind}

    def _named_by(self, operation: Operation) -> Iterator[str]:
        subject = self._subject(operation.response, _path_noun(operation.path), (), every=True)
        if subject is not None:
            yield subject.kind
        yield from self.keys_of(operation).values()
        for schema in parameters_of(operation.tool.parameters).values():
            inner = shape(shape(schema).get("items") or schema)
            yield from filter(None, map(self.of_field, properties(inner)))

    def _subject(self, schema: Any, noun: str, at: tuple[str, ...], *, every: bool = False) -> Subject | None:
        given = shape(schema)
        many = given.get("type") == "array"
        inner = shape(given.get("items")) if many else given
        found = self._detected(inner, noun, top=True)
        known = self._all if every else self.by_name
        if found is not None and found[0] in known:
            return Subject(found[0], many, at)
        if many or len(at) > 2:
            return None
        inside = [(name, each) for name, each in properties(inner).items() if _holds(each)]
        nested = (self._subject(each, _inner_noun(name, noun), (*at, name), every=every) for name, each in inside)
        return next((one for one in nested if one is not None), None)

    def _look(self, schema: Any, noun: str, *, top: bool, depth: int, only_top: bool) -> None:
        """Take note of every kind in an answer. Of an answer itself that goes by another's key, only where nothing else tells of it."""
        given = shape(schema)
        if given.get("type") == "array":
            self._look(given.get("items"), noun, top=False if not depth else top, depth=depth + 1, only_top=only_top)
            return
        found = self._detected(given, noun, top=top or depth == 0)
        if found is not None:
            name, key, sure = found
            whole = sure or depth > 0
            if whole is not only_top or (only_top and name not in self._all):
                self._note(name, key, given, adds=whole or name not in self._all)
        if depth < _DEEPEST:
            for field, each in properties(given).items():
                if _holds(each):
                    inner = noun_of(field) if found is not None else _inner_noun(field, noun)
                    self._look(each, inner, top=False, depth=depth + 1, only_top=only_top)

    def _note(self, name: str, key: str, given: Mapping[str, Any], *, adds: bool) -> None:
        kind = self._all.setdefault(name, Kind(name, key, (key,), {}, set(required(given))))
        if key not in kind.aliases:
            kind.aliases += (key,)
        if adds:
            for field, each in properties(given).items():
                kind.schemas.setdefault(field, each)
            kind.needed.update(required(given))

    def _detected(self, given: Mapping[str, Any], noun: str, *, top: bool) -> tuple[str, str, bool] | None:
        """`(kind, key, whether it is sure)` of an object; None where it has no key."""
        fields = {name: each for name, each in properties(given).items() if shape(each).get("type", "string") in _PLAIN}
        named = given.get(NAMED) or given.get("title")
        noun = noun_of(named) if isinstance(named, str) and noun_of(named) else noun
        for name in fields:
            stem = key_stem(name)
            if stem and (stem == noun or noun.endswith(f"_{stem}")):
                return stem, name, True
        in_path = next((name for name in fields if name in self._in_paths.get(noun, ())), None)
        if in_path is not None:
            return noun, in_path, True
        plain = next((name for name in fields if key_stem(name) == ""), None)
        if plain is not None and noun:
            return noun, plain, True
        first = next(iter(properties(given)), "")
        stem = key_stem(first) if first in fields else None
        if not stem:
            return None
        if not is_id(first):
            return (noun or stem, first, True) if noun not in ("", stem) else (stem, first, True)
        return stem, first, not top

    def _field(self, name: str, schema: Any, kind: Kind) -> Field:
        given = shape(schema)
        many = given.get("type") == "array"
        inner = shape(given.get("items")) if many else given
        if inner.get("type", "string") in _PLAIN and name not in kind.aliases:
            other = self.of_field(name) or (noun_of(name) if many and noun_of(name) in self.by_name else "")
            if other in self.by_name and (other != kind.name or many):
                return Field(name, schema, "keys" if many else "key", other, many)
        elif properties(inner):
            other = self.of_object(inner) or (noun_of(name) if noun_of(name) in self.by_name and "id" in properties(inner) else "")
            if other and other != kind.name:
                return Field(name, schema, "whole", other, many)
        return Field(name, schema, many=many)


def _holds(schema: Any) -> bool:
    """Whether it is, or is a list of, an object."""
    given = shape(schema)
    return given.get("type") in ("object", "array")


def _inner_noun(name: str, outer: str) -> str:
    """What a field of an answer that only wraps another is about: `{"data": …}` of a movie is a movie."""
    return outer if name.lower() in _WRAPPING else noun_of(name)


def _keys_in_paths(operations: Sequence[Operation]) -> dict[str, set[str]]:
    """By what things are told apart in paths, whatever it is called: `plate` of a vehicle, for `/vehicles/{plate}`."""
    found: dict[str, set[str]] = {}
    for operation in operations:
        for before, part in pairwise(part for part in operation.path.split("/") if part):
            name = part[1:-1]
            if part == f"{{{name}}}" and "{" not in before and key_stem(name) is None and name.lower() not in _NO_KEYS:
                found.setdefault(noun_of(before), set()).add(name)
    return found


def _path_noun(path: str) -> str:
    """What a path is about: the last of its parts that names a collection, before what is done with it."""
    parts = [part for part in path.split("/") if part]
    for index in range(len(parts) - 1, -1, -1):
        if parts[index].startswith("{") and index and not parts[index - 1].startswith("{") and index >= len(parts) - 2:
            return noun_of(parts[index - 1])
    plain = [part for part in parts if not part.startswith("{")]
    return noun_of(plain[-1]) if plain else ""
