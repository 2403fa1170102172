"""The arguments of an operation that somebody wants done: which things it is about, and what the user says of the rest."""

from collections.abc import Mapping
from typing import Any

from callmark.calls.schema import properties, required
from callmark.calls.strict import dump
from callmark.simulation.mock_api.api import Meaning
from callmark.simulation.mock_api.names import noun_of, words_of
from callmark.simulation.mock_api.rows import Row, leaves
from callmark.simulation.mock_api.shapes import properties as fields_of
from callmark.simulation.mock_api.shapes import required as needed_of
from callmark.simulation.mock_api.shapes import shape
from callmark.simulation.mock_api.values import About
from callmark.synthesis.api_goals import Tell
from callmark.synthesis.api_needs import Planning, few
from callmark.synthesis.api_ways import NoWay, new_key, together
from callmark.synthesis.api_words import asked_of, dated, is_bare, label_of, spoken

_OPTIONAL = 0.35  # how often something is told that need not be
_ADDRESS = frozenset(
    {"address_1", "address_line_1", "line_1", "street", "street_address", "address_2", "address_line_2", "line_2", "city", "town", "state"}
    | {"province", "zip", "zip_code", "postal_code", "postcode", "country"}
)
_NOT_TOLD = frozenset({"limit", "page", "offset", "per_page", "page_size", "cursor", "sort", "sort_by", "order_by", "fields", "include"})
_SOMEBODY = frozenset({"to", "from", "recipient", "sender", "payee", "beneficiary"})  # by name, in an object of their own
_BETWEEN = {"from": ("origin", "start date"), "to": ("destination", "end date")}
_TRIES = 50  # for a key that nothing has yet
_MOST_DESCRIBED = 4  # objects in one list
_TECHNICAL = frozenset({"api", "token", "signature", "trace", "idempotency", "version", "agent", "encoding"})


class Arguments:
    """Those of one call, found one after the other. `of` is the thing that it is about."""

    def __init__(self, planning: Planning, meaning: Meaning, of: Row | None) -> None:
        self.values: Row = {}
        self._planning = planning
        self._meaning = meaning
        self._of = of
        self._schemas = properties(meaning.operation.tool.parameters)
        self._number = planning.random.randint(1, 10**6)
        self._described = 0

    def found(self) -> Row:
        """All that must be given, and some that may be. What comes from other operations is looked up, what the user knows is told."""
        plain: list[str] = []
        new = new_key(self._planning.api, self._meaning)
        for name in self._names():
            kind = self._meaning.keys.get(name)
            if kind is None:
                plain.append(name)
            elif name == new:
                self.values[name] = self._new_key(name, kind)
            elif name not in self.values:
                self._key(name, kind)
        tells: list[Tell] = []
        address = [name for name in plain if "_".join(words_of(name)) in _ADDRESS]
        for name in plain:
            self.values[name] = self._value(name)
        if len(address) > 2:
            texts = [str(self.values[name]) for name in address]
            tells.append(Tell("new address" if self._meaning.own else "address", ", ".join(texts), texts))
            plain = [name for name in plain if name not in address]
        tells += [self._told(name, self.values[name]) for name in plain]
        for tell in together(tells):
            self._planning.tell(tell)
        order = list(self._schemas)
        return {name: self.values[name] for name in sorted(self.values, key=order.index)}

    def _names(self) -> list[str]:
        needed = required(self._meaning.operation.tool.parameters)
        if not needed and self._meaning.operation.writes:
            needed = frozenset(self._meaning.keys)  # nothing must be given, but what it is about is
        may = [name for name in self._schemas if name not in needed and name not in self._meaning.keys and _is_told(name)]
        may = [name for name in may if shape(self._schemas[name]).get("type", "string") in ("string", "integer", "number")]
        chosen = [name for name in may if self._planning.random.random() < _OPTIONAL]
        changes = self._meaning.operation.writes and not (needed - {self._meaning.own}) and not self._meaning.effect.sets
        if may and not chosen and changes and self._meaning.operation.method in ("put", "patch", "post"):
            chosen = [self._planning.random.choice(may)]
        return [name for name in self._schemas if name in needed or name in chosen[:2]]

    def _key(self, name: str, kind: str) -> None:
        planning = self._planning
        many = shape(self._schemas[name]).get("type") == "array"
        found: list[Any] = []
        among: list[Any] = []
        twin = name.removeprefix("new_") if name.startswith("new_") else ""
        if twin in self.values and isinstance(self.values[twin], list):
            for key in self.values[twin]:
                others = self._others(kind, key)
                found.append(planning.random.choice(others))
                among += others
        else:
            inside = self._inside(kind)
            rows = inside or planning.whose.candidates(kind)
            now = (self._of or {}).get(name)
            key = planning.now.things.kind(kind).key
            rows = [row for row in rows if row[key] != now] or rows
            if not rows:
                raise NoWay
            row = planning.random.choice(rows)
            planning.whose.speaks_for(kind, row)
            found, among = [row[key]], [other[key] for other in inside]
        for each in found:
            planning.known(kind, each, label=_named(name) if among else label_of(name) if not many else "", among=among)
        self.values[name] = found if many else found[0]

    def _new_key(self, name: str, kind: str) -> Any:
        """A key for something new, of the form that those have that are there, and none of theirs."""
        planning, own = self._planning, self._planning.now.things.kind(kind)
        schema = {**shape(own.schemas.get(own.key, {})), **shape(self._schemas[name])}
        for number in range(_TRIES):
            key = planning.now.things.values.made(schema, own.key, About(kind, f"{self._number + number}"))
            if not planning.is_taken(kind, key):
                planning.given_out(kind, key, f"{label_of(own.key)} for the new {kind.replace('_', ' ')}")
                return key
        raise NoWay

    def _inside(self, kind: str) -> list[Row]:
        """What the thing that it is about has inside; empty where it has nothing of the kind."""
        subject = self._meaning.kind
        things = self._planning.now.things
        if self._of is None or subject not in things.tables:
            return []
        found: list[Row] = []
        for field in things.kind(subject).fields.values():
            if field.kind == kind and field.role == "whole" and isinstance(self._of.get(field.name), list):
                found += [self._planning.whose.row(kind, part[things.kind(kind).key]) for part in self._of[field.name]]
        return found

    def _others(self, kind: str, key: Any) -> list[Any]:
        """Those that belong to the same, and can be had."""
        things = self._planning.now.things
        row, own = self._planning.whose.row(kind, key), things.kind(kind).key
        parent = things.family.parent.get(kind)
        rows = [each for _, each in things.rows(kind) if each[own] != key and each.get("available", True) is not False]
        same = [each for each in rows if parent is None or each.get(parent.name) == row.get(parent.name)]
        if not same:
            raise NoWay
        return [each[own] for each in same]

    def _value(self, name: str) -> Any:
        """What the user says: of what they look for, how it is; of what they want, something new."""
        planning, meaning = self._planning, self._meaning
        schema = self._schemas[name]
        if not meaning.operation.writes and meaning.subject is not None:
            rows = [row for row in planning.whose.candidates(meaning.subject.kind) if leaves(row, name)]
            told = leaves(planning.random.choice(rows), name)[0] if rows else None
            if isinstance(told, str | int | float) and not isinstance(told, bool):
                return told
        value = self._made(schema, name)
        if self._of is not None and value in leaves(self._of, name) and "_".join(words_of(name)) not in _ADDRESS:
            self._number += 1
            value = self._made(schema, name)
        return value

    def _made(self, schema: Any, name: str, inside: str = "") -> Any:
        """A value; `inside` is what the object that it stands in is called."""
        given = shape(schema)
        if given.get("type") == "array" and fields_of(shape(given.get("items"))):
            least = given["minItems"] if isinstance(given.get("minItems"), int) else 1
            if least > _MOST_DESCRIBED:
                raise NoWay
            return [self._object(shape(given["items"]), name) for _ in range(max(least, 1))]
        if given.get("type") == "object" and fields_of(given):
            return self._object(given, name)
        kind = self._planning.api.kinds.by_name.get(self._meaning.kind)
        shown = kind.schemas.get(name, {}) if kind is not None else {}  # answers have examples where tools have none
        if shape(shown).get("type") == given.get("type"):
            schema = {**{word: shown[word] for word in ("example", "items") if word in shown}, **given}
            schema |= {"items": {**shape(shown["items"]), **shape(given.get("items"))}} if "items" in shown else {}
        about = "person" if inside in _SOMEBODY else noun_of(inside) or self._meaning.kind or "wish"
        return self._planning.now.things.values.made(schema, name, About(about, f"{self._whose()}{inside and self._next()}"))

    def _next(self) -> int:
        self._described += 1
        return self._described

    def _object(self, given: Mapping[str, Any], inside: str) -> Row:
        """An object that the user describes; the things that it names are looked up."""
        found: Row = {}
        for name, schema in fields_of(given).items():
            kind = self._planning.api.kinds.of_field(name)
            if name not in needed_of(given) and needed_of(given):
                continue
            if kind in self._planning.now.things.tables and inside not in _SOMEBODY:
                rows = self._planning.whose.candidates(kind)
                if not rows:
                    raise NoWay
                found[name] = self._planning.random.choice(rows)[self._planning.now.things.kind(kind).key]
                self._planning.known(kind, found[name])
            else:
                found[name] = self._made(schema, name, inside)
        return found

    def _whose(self) -> str:
        """Who a new value belongs to: the speaker, by name, so that a new email is theirs."""
        number = self._number
        if self._planning.whose.speaker is None:
            return str(number)
        row = self._planning.whose.row(*self._planning.whose.speaker)
        first, last = leaves(row, "first_name") or leaves(row, "firstName"), leaves(row, "last_name") or leaves(row, "lastName")
        names = [*first[:1], *last[:1]] if first and last else str((leaves(row, "name") or [""])[0]).split()[:2]
        return f"{names[0]}_{names[1]}_{number % 9000 + 1000}".lower() if len(names) == 2 and all(map(str.isalpha, names)) else str(number)

    def _told(self, name: str, value: Any) -> Tell:
        schema = self._schemas[name]
        changes = self._meaning.operation.writes and self._of is not None and bool(leaves(self._of, name))
        asked = _BETWEEN[name][shape(schema).get("format") in ("date", "date-time")] if name in _BETWEEN else asked_of(name)
        label = f"new {asked}" if changes else asked
        if isinstance(value, bool):
            text = f"{'with' if value else 'without'} {label}"
            return Tell(label, text, [text])
        if few(schema) or shape(schema).get("enum"):
            text = str(value).replace("_", " ")
            return Tell(label, text, [text], [choice.replace("_", " ") for choice in few(schema)])
        if isinstance(value, dict | list):
            kinds = self._planning.api.kinds
            told = [(at, each) for at, each in _leaves(value, name) if each is not None and (name in _SOMEBODY or not kinds.of_field(at))]
            texts = [f"{label_of(at)} {spoken(each)}" if at != name and is_bare(at, each) else spoken(each) for at, each in told]
            return Tell(label, ", ".join(texts) or spoken(value), [spoken(each) for _, each in told if not isinstance(each, bool)])
        if isinstance(value, str):
            text = f'"{value}"' if len(value.split()) > 2 and "," not in value else value
            return Tell(label, dated(text, long=self._planning.random.random() < 0.5), [value])
        return Tell(label, dump(value), [dump(value)])


def _is_told(name: str) -> bool:
    """Whether people tell it, rather than machines."""
    return "_".join(words_of(name)) not in _NOT_TOLD and not {*words_of(name)} & _TECHNICAL


def _named(name: str) -> str:
    """What one of several keys is a key of: `new item` for `new_item_ids`."""
    return " ".join(words_of(name)[:-1]) or label_of(name)


def _leaves(value: Any, name: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in _leaves(each, key)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each, name)]
    return [(name, value)]
