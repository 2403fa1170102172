"""The things of a made-up API: some of every kind to begin with, those that others belong to first, so that what names another names one
that is there. Rows are never changed in place: a change is a new row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date
from random import Random
from typing import Any

from callmark.simulation.mock_api.family import Family
from callmark.simulation.mock_api.kinds import Field, Kind
from callmark.simulation.mock_api.names import words_of
from callmark.simulation.mock_api.shapes import shape
from callmark.simulation.mock_api.stock import TODAY
from callmark.simulation.mock_api.values import STAGES, About, Values

Row = dict[str, Any]
Tables = dict[str, dict[str, Row]]

_PEOPLE, _THINGS = 3, 5  # of a kind that belongs to nobody
_MOST, _MOST_IN_ALL = 24, 1500  # of a kind, and of all kinds together, so that a large API is not made up for minutes
_EACH = (2, 3)  # that belong to one of another kind
_LATER = ("cancel", "return", "exchang", "refund", "clos", "complet", "delet", "resolv", "reason", "renew", "reject", "archiv", "finish")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?:T|$)")
_OVER = frozenset({"overdue", "expired", "returned", "completed", "closed", "past", "missed"})
_TRIES = 6
_COPIED = frozenset({"name", "title", "price", "author", "category"})
_TOTALS = frozenset({"total", "subtotal"})


class Things:
    """All things of one conversation. `tables` are those that were there at first or were made or changed since; what was only ever asked
    for, by a key that nobody gave out, is made up too, but kept apart: to ask for a thing changes nothing.
    """

    def __init__(self, family: Family, seed: str) -> None:
        self.family = family
        self.values = Values(seed)
        self.tables: Tables = {name: {} for name in family.kinds.by_name}
        self.asked_for: Tables = {name: {} for name in family.kinds.by_name}
        self.unseen: Tables = {}  # gone before anybody could see in the tables that they were there
        self._gone: set[tuple[str, str]] = set()
        self._number: dict[str, int] = {}
        self._kept = self.tables  # where what is made with something else goes
        self._for = ""  # what was asked for, while it and what belongs to it are made
        for name in family.order:
            self._fill(name)

    def copy(self) -> "Things":
        """The same things, to be changed on their own."""
        other = object.__new__(Things)
        other.family, other.values = self.family, self.values
        other.tables = {name: dict(rows) for name, rows in self.tables.items()}
        other.asked_for = {name: dict(rows) for name, rows in self.asked_for.items()}
        other.unseen = {name: dict(rows) for name, rows in self.unseen.items()}
        other._kept, other._for = other.tables, ""
        other._gone, other._number = set(self._gone), dict(self._number)
        return other

    def kind(self, name: str) -> Kind:
        return self.family.kinds.by_name[name]

    def rows(self, kind: str) -> Iterator[tuple[str, Row]]:
        """Everything of a kind that is known by now, with its key."""
        yield from list(self.tables[kind].items())
        yield from list(self.asked_for[kind].items())

    def found(self, kind: str, key: Any) -> Row | None:
        """The thing of that key; None where it was deleted. One that nobody has heard of is made up."""
        text = str(key)
        if (kind, text) in self._gone:
            return None
        row = self.tables[kind].get(text) or self.asked_for[kind].get(text)
        if row is None:
            numbers = self._number
            self._kept, self._for, self._number = self.asked_for, f"{kind}/{text}/", {}  # a later key is as if nobody had asked
            row = self.asked_for[kind][text] = self._new(kind, key, {})
            for name, field in self.family.parent.items():
                if field.kind == kind and name != kind:
                    for made in self._children(name, field, key):
                        self.asked_for[name].setdefault(str(made[self.kind(name).key]), made)
            self._kept, self._for, self._number = self.tables, "", numbers
        return row

    def put(self, kind: str, row: Row) -> Row:
        """Keep a row as it is now."""
        text = str(row[self.kind(kind).key])
        self.asked_for[kind].pop(text, None)
        self.tables[kind][text] = row
        self._gone.discard((kind, text))
        return row

    def delete(self, kind: str, key: Any) -> None:
        text = str(key)
        self._gone.add((kind, text))
        if self.tables[kind].pop(text, None) is None and self.asked_for[kind].pop(text, None) is not None:
            self.unseen.setdefault(kind, {})[text] = {"deleted": True}

    def create(self, kind: str, given: Mapping[str, Any], *, left_out: Set[str] = frozenset()) -> Row:
        """A new thing with these values, as of today. A key that is given is its key, if no other thing has it. What could have been given
        and was `left_out` it does not have.
        """
        own = self.kind(kind)
        key = next((given[name] for name in own.aliases if name in given), None)
        if key is None or str(key) in self.tables[kind]:
            key = self._key(own)
        inside = {
            name: value
            for at, each in given.items()
            if at not in own.fields and isinstance(each, dict)
            for name, value in each.items()
            if name in own.fields and name not in own.aliases
        }
        given = {**self._first_stages(own), **inside, **given}
        row = {name: value for name, value in self._new(kind, key, given).items() if name == own.key or name not in left_out - own.needed}
        for name, value in row.items():
            if name not in given and isinstance(value, str) and _DAY.match(value) and value[:10] < TODAY.isoformat():
                row[name] = TODAY.isoformat() + value[10:]
        return self.put(kind, row)

    def _first_stages(self, kind: Kind) -> Row:
        """How far a thing is that is new: the first value of each field that says it."""
        found = {}
        for name, field in kind.fields.items():
            choices = shape(field.schema).get("enum")
            if words_of(name)[-1:] in STAGES and isinstance(choices, list) and choices:
                found[name] = choices[0]
        return found

    def changed(self, kind: str, row: Row, given: Mapping[str, Any]) -> Row:
        """The row with these values, by the names of its fields, those inside of others too; what it has no field for stands beside."""
        own = self.kind(kind)
        now = dict(row)
        for name, value in given.items():
            if name in own.aliases:
                continue
            field = own.fields.get(name)
            inside = next((at for at, each in now.items() if field is None and isinstance(each, dict) and name in each), None)
            longer = next((at for at in own.fields if field is None and words_of(at)[-1:] == words_of(name)[-1:] and at not in now), None)
            if inside is not None:
                whole = sum(each in given for each in now[inside]) * 2 > len(now[inside])  # an address that is given is given whole
                kept = {each: old for each, old in now[inside].items() if each in given or not whole}
                now[inside] = {**kept, name: value}
            else:
                now[longer or name] = self._given(value, field) if field else value
        return self._summed(self._copied(own, now))

    def holders(self, kind: str, key: str) -> Iterator[tuple[Kind, Row]]:
        """The things that have this one inside of them."""
        own = self.kind(kind)
        for other in self.family.kinds.by_name.values():
            for field in other.fields.values():
                if field.role == "whole" and field.kind == kind and not self.family.is_derived(other.name, field):
                    for _, row in self.rows(other.name):
                        inside = row.get(field.name)
                        if any(str(each.get(own.key)) == key for each in (inside if isinstance(inside, list) else [inside or {}])):
                            yield other, row

    def _fill(self, name: str) -> None:
        """Make some of a kind, a few for each that they belong to."""
        kind = self.kind(name)
        if name in self.family.owner or name in self.family.kinds.new_only:  # made with what they are in, or not before they are wanted
            return
        field = self.family.parent.get(name)
        if field is None or not self.tables[field.kind]:
            for _ in range(_PEOPLE if kind.is_person else _THINGS):
                self.put(name, self._new(name, self._key(kind), {}))
            return
        most = max(min(_MOST, _MOST_IN_ALL // len(self.tables)), _EACH[1])
        for row in list(self.tables[field.kind].values()):
            if len(self.tables[name]) < most:
                for made in self._children(name, field, row[self.kind(field.kind).key]):
                    self.put(name, made)

    def _children(self, name: str, field: Field, key: Any) -> Iterator[Row]:
        number = self.values.random(name, str(key), "number").randint(*_EACH)
        for _ in range(number):
            yield self._new(name, self._key(self.kind(name)), {field.name: key})

    def _key(self, kind: Kind) -> Any:
        """A key that nothing has yet; of what is only asked for it depends on that, not on what else was made."""
        schema = kind.schemas.get(kind.key, {})
        for _ in range(50):
            number = self._number[kind.name] = self._number.get(kind.name, 0) + 1
            key = self._varied(kind, self.values.made(schema, kind.key, About(kind.name, f"{self._for}{number}")), number)
            if str(key) not in self.tables[kind.name] and str(key) not in self._kept[kind.name] and (kind.name, str(key)) not in self._gone:
                return key
        return f"{kind.name}-{self._number[kind.name]}" if isinstance(key, str) else self._number[kind.name]

    def _varied(self, kind: Kind, key: Any, number: int) -> Any:
        """A key that begins with one of several values of another field (`credit_card_4421097`) may begin with any of them."""
        for schema in kind.schemas.values() if isinstance(key, str) else ():
            choices = [choice for choice in shape(schema).get("enum") or () if isinstance(choice, str) and len(choice) > 2]
            begins = next((choice for choice in choices if key.startswith(f"{choice}_")), None)
            if begins:
                return self.values.random(kind.name, "begins", str(number)).choice(choices) + key.removeprefix(begins)
        return key

    def _new(self, name: str, key: Any, given: Mapping[str, Any]) -> Row:
        kind = self.kind(name)
        about = About(name, str(key))
        random = self.values.random(name, str(key))
        row: Row = {kind.key: key}
        for field in kind.fields.values():
            if field.name == kind.key or self.family.is_derived(name, field):
                continue
            if field.name in given:
                row[field.name] = self._given(given[field.name], field)
            elif field.role == "key":
                row[field.name] = self._named(kind, field, row)
            elif field.role in ("keys", "whole"):
                row[field.name] = self._held(kind, field, row)
            elif field.name not in kind.aliases and not self.is_later(kind, field.name):
                row[field.name] = self._plain(kind, field, about, random)
        if _OVER & {value for value in row.values() if isinstance(value, str)}:
            row |= {name: _past(value) for name, value in row.items() if name not in given and isinstance(value, str) and _DAY.match(value)}
        rest = {each: value for each, value in given.items() if each not in row and each not in kind.aliases}
        return self.changed(name, row, rest) if rest else self._summed(self._copied(kind, row))

    def _plain(self, kind: Kind, field: Field, about: About, random: Random) -> Any:
        """A value; a name that nothing else of the kind has, if there is one, and of a key that begins with one of the values that one."""
        choices = shape(field.schema).get("enum")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, str) and len(choice) > 2 and about.key.startswith(f"{choice}_"):
                return choice
        value = self.values.made(field.schema, field.name, about, random=random)
        if field.name in ("name", "title") and kind.name not in self.family.parent and isinstance(value, str):
            taken = {row.get(field.name) for row in self.tables[kind.name].values()}
            for _ in range(_TRIES if value in taken else 0):
                value = self.values.made(field.schema, field.name, about, random=random)
                if value not in taken:
                    break
        return value

    def _named(self, kind: Kind, field: Field, row: Row) -> Any:
        """The key of one that a thing may name: of those that belong to the same other thing, if there are any."""
        rows = list(self.tables[field.kind].items())
        parent = self.family.parent.get(kind.name)
        if parent is not None and parent.name in row and parent.name != field.name:
            same = [each for each in rows if self._belongs(field.kind, each[1], parent.kind, row[parent.name])]
            rows = same or rows
            used = {str(each.get(field.name)) for each in self._kept[kind.name].values() if each.get(parent.name) == row[parent.name]}
            rows = [each for each in rows if each[0] not in used] or rows
        other = self.kind(field.kind)
        if not rows:
            return self.values.made(other.schemas.get(other.key, field.schema), other.key, About(kind.name, str(row[kind.key])))
        return self.values.random(kind.name, str(row[kind.key]), field.name).choice(rows)[1][other.key]

    def _belongs(self, kind: str, row: Row, to: str, key: Any) -> bool:
        naming = self.family.naming(kind, to)
        if naming is not None:
            return str(row.get(naming.name)) == str(key)
        if self.family.owner.get(kind) == to:
            return any(
                holder.name == to and str(held[holder.key]) == str(key)
                for holder, held in self.holders(kind, str(row[self.kind(kind).key]))
            )
        return False

    def _held(self, kind: Kind, field: Field, row: Row) -> Any:
        """What a thing has inside of it: its own, made now, or some that are there."""
        other = self.kind(field.kind)
        given = shape(field.schema)
        random = self.values.random(kind.name, str(row[kind.key]), field.name)
        least = given["minItems"] if isinstance(given.get("minItems"), int) else 1
        most = given["maxItems"] if isinstance(given.get("maxItems"), int) else 3
        number = random.randint(min(least, 5), max(min(least, 5), min(most, 3))) if field.many else 1
        if self.family.owner.get(field.kind) == kind.name:
            made = [self._key(other) for _ in range(number)]
            self._kept[field.kind] |= {str(key): self._new(field.kind, key, {}) for key in made}
        else:
            known = random.sample(list(self.tables[field.kind].values()), len(self.tables[field.kind]))
            parent = self.family.parent.get(field.kind)
            apart = list({str(each.get(parent.name)): each for each in known}.values()) if parent is not None else known
            made = [each[other.key] for each in apart[:number]]
        held = made if field.role == "keys" else [{other.key: key} for key in made]
        return held if field.many else held[0] if held else None

    def _given(self, value: Any, field: Field) -> Any:
        """A value as it was given; keys of things that are to be inside become such, other objects get what they lack."""
        if field.role == "whole" and field.many and isinstance(value, list):
            key = self.kind(field.kind).key
            return [each if isinstance(each, dict) else {key: each} for each in value]
        return value

    def _copied(self, kind: Kind, row: Row) -> Row:
        """A title that stands beside the key of a book is that book's."""
        for field in kind.fields.values():
            if field.role == "key" and not self.kind(field.kind).is_person:
                other = self.tables[field.kind].get(str(row.get(field.name)))
                if other is not None:
                    row |= {name: other[name] for name in _COPIED if name in row and name in other and name in kind.fields}
        return row

    def _summed(self, row: Row) -> Row:
        """A total is the sum of the prices beside it."""
        totals = [name for name in row if words_of(name)[:1] and words_of(name)[0] in _TOTALS and isinstance(row[name], int | float)]
        for items in row.values() if totals else ():
            prices = [self._price(item) for item in items] if isinstance(items, list) else []
            if prices and all(price is not None for price in prices):
                row |= dict.fromkeys(totals, round(sum(price for price in prices if price is not None), 2))
        return row

    def _price(self, item: Any) -> float | None:
        if not isinstance(item, dict):
            return None
        whole = item
        for kind in self.family.kinds.by_name.values():
            if kind.key in item and len(item) <= 2:
                whole = {**(self.tables[kind.name].get(str(item[kind.key])) or {}), **item}
                break
        price, number = whole.get("price"), whole.get("quantity", 1)
        return price * number if isinstance(price, int | float) and isinstance(number, int | float) else None

    def is_later(self, kind: Kind, name: str) -> bool:
        """Whether a field tells of something that has not happened to a thing when it is new."""
        return name not in kind.needed and any(word.startswith(_LATER) for word in words_of(name))


def leaves(row: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Every value of that name in a row, at any depth, lists left out."""
    found = [row[name]] if name in row else []
    for value in row.values():
        if isinstance(value, dict):
            found += leaves(value, name)
    return found


def _past(day: str) -> str:
    """A day as far before today as it was to come."""
    ahead = date.fromisoformat(day[:10]) - TODAY
    return (TODAY - abs(ahead)).isoformat() + day[10:]
