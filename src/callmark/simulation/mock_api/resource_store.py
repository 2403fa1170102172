"""The resources of a mock API: initial rows of every kind, referenced kinds first, so that every reference points to an existing row.

The rows of a kind are created when a conversation needs the kind, along with the kinds that it depends on: an API may have hundreds of
kinds, and a conversation needs a few. Rows are never modified in place: a change replaces the row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date
from random import Random
from typing import Any

from callmark.simulation.mock_api.names import split_name
from callmark.simulation.mock_api.relations import ResourceRelations
from callmark.simulation.mock_api.resource_kinds import Field, ResourceKind
from callmark.simulation.mock_api.sample_data import TODAY
from callmark.simulation.mock_api.schemas import simplify_schema
from callmark.simulation.mock_api.values import STATUS_WORDS, ValueContext, ValueGenerator

Row = dict[str, Any]
Tables = dict[str, dict[str, Row]]

_PERSON_COUNT, _ROW_COUNT = 3, 5  # of a kind without a parent
_MAX_ROWS, _FEW_ROWS, _MANY_KINDS = 15, 5, 25  # per kind; fewer in an API with many kinds, which must be planned in seconds, too
_CHILD_COUNT = (2, 3)  # per parent
_LATER_EVENT_WORDS = (
    "cancel",
    "return",
    "exchang",
    "refund",
    "clos",
    "complet",
    "delet",
    "resolv",
    "reason",
    "renew",
    "reject",
    "archiv",
    "finish",
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T|$)")
_PAST_WORDS = frozenset({"overdue", "expired", "returned", "completed", "closed", "past", "missed"})
_MAX_TRIES = 6
_COPIED_FIELDS = frozenset({"name", "title", "price", "author", "category"})
_TOTAL_WORDS = frozenset({"total", "subtotal"})


class InitialRows(Mapping[str, Row]):
    """The initial rows of one kind, which are created when they are looked at. Two states that share them have the same rows."""

    def __init__(self, store: "ResourceStore", kind: str) -> None:
        self._store, self._kind = store, kind

    def __getitem__(self, key: str) -> Row:
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def _rows(self) -> dict[str, Row]:
        self._store.load(self._kind)
        return self._store.tables[self._kind]


class ResourceStore:
    """All rows of one conversation. `tables` has the initial, created and changed rows of the kinds that were loaded.

    A row that is read by an unknown key is generated and stored in `looked_up`: reading changes no table.
    """

    def __init__(self, relations: ResourceRelations, seed: str) -> None:
        self.relations = relations
        self.values = ValueGenerator(seed)
        self.tables: Tables = {name: {} for name in relations.kinds.by_name}
        self.looked_up: Tables = {name: {} for name in relations.kinds.by_name}
        self.deleted_unlisted: Tables = {}  # deleted rows that were never in the tables
        self.initial: dict[str, Mapping[str, Row]] = {name: InitialRows(self, name) for name in relations.kinds.by_name}
        self._original: ResourceStore | None = None  # the store that this is a copy of; it has initial rows only
        self._loaded: set[str] = set()
        self._changed: set[str] = set()  # kinds with rows that were created, changed or deleted
        self._deleted: set[tuple[str, str]] = set()
        self._key_counts: dict[str, int] = {}
        self._target = self.tables  # where rows that are created along with another are stored
        self._looked_up_path = ""  # path of the row that is being looked up

    def copy(self) -> "ResourceStore":
        """Return an independent copy."""
        other = object.__new__(ResourceStore)
        other.relations, other.values, other.initial = self.relations, self.values, self.initial
        other.tables = {name: dict(rows) for name, rows in self.tables.items()}
        other.looked_up = {name: dict(rows) for name, rows in self.looked_up.items()}
        other.deleted_unlisted = {name: dict(rows) for name, rows in self.deleted_unlisted.items()}
        other._original = self._original or self
        other._loaded, other._changed = set(self._loaded), set(self._changed)
        other._target, other._looked_up_path = other.tables, ""
        other._deleted, other._key_counts = set(self._deleted), dict(self._key_counts)
        return other

    def load(self, kind: str) -> None:
        """Create the initial rows of a kind, and of all kinds that it depends on, unless they have been created."""
        if kind in self._loaded:
            return
        if self._original is not None:
            self._original.load(kind)
        for name in self.relations.dependency_order(kind):
            if name not in self._loaded:
                self._loaded.add(name)
                if self._original is None:
                    self._create_initial_rows(name)
        if self._original is not None:
            for name in self.relations.dependency_order(kind):
                if name not in self._changed:
                    self.tables[name].update(self._original.tables[name])
                    self._key_counts.setdefault(name, self._original._key_counts.get(name, 0))

    def state(self) -> dict[str, Mapping[str, Row]]:
        """Return all rows by kind and key."""
        found: dict[str, Mapping[str, Row]] = {}
        for name, rows in self.initial.items():
            unlisted = self.deleted_unlisted.get(name, {})
            found[name] = {**self.tables[name], **unlisted} if name in self._changed or unlisted else rows
        return found

    def kind(self, name: str) -> ResourceKind:
        return self.relations.kinds.by_name[name]

    def rows(self, kind: str) -> Iterator[tuple[str, Row]]:
        """Yield all known rows of a kind with their keys."""
        self.load(kind)
        yield from list(self.tables[kind].items())
        yield from list(self.looked_up[kind].items())

    def get(self, kind: str, key: Any) -> Row | None:
        """Return the row with this key; None if it was deleted. A row with an unknown key is generated."""
        self.load(kind)
        text = str(key)
        if (kind, text) in self._deleted:
            return None
        row = self.tables[kind].get(text) or self.looked_up[kind].get(text)
        if row is None:
            numbers = self._key_counts
            # separate key counts, because a lookup must not influence later keys
            self._target, self._looked_up_path, self._key_counts = self.looked_up, f"{kind}/{text}/", {}
            row = self.looked_up[kind][text] = self._new(kind, key, {})
            for name, field in self.relations.parent.items():
                if field.kind == kind and name != kind:
                    self.load(name)
                    for child in self._children(name, field, key):
                        self.looked_up[name].setdefault(str(child[self.kind(name).key]), child)
            self._target, self._looked_up_path, self._key_counts = self.tables, "", numbers
        return row

    def put(self, kind: str, row: Row) -> Row:
        """Store a row."""
        self.load(kind)
        self._changed.add(kind)
        return self._put(kind, row)

    def _put(self, kind: str, row: Row) -> Row:
        text = str(row[self.kind(kind).key])
        self.looked_up[kind].pop(text, None)
        self.tables[kind][text] = row
        self._deleted.discard((kind, text))
        return row

    def delete(self, kind: str, key: Any) -> None:
        """Delete the row with this key."""
        self.load(kind)
        self._changed.add(kind)
        text = str(key)
        self._deleted.add((kind, text))
        if self.tables[kind].pop(text, None) is None and self.looked_up[kind].pop(text, None) is not None:
            self.deleted_unlisted.setdefault(kind, {})[text] = {"deleted": True}

    def create(self, kind: str, given: Mapping[str, Any], *, omitted: Set[str] = frozenset()) -> Row:
        """Create a row with these values, dated today. A given key is used unless it is taken. Optional fields in `omitted`, which the call
        did not give, are left out.
        """
        self.load(kind)
        own_kind = self.kind(kind)
        key = next((given[name] for name in own_kind.aliases if name in given), None)
        if key is None or str(key) in self.tables[kind]:
            key = self._key(own_kind)
        nested = {
            name: value
            for field_name, item in given.items()
            if field_name not in own_kind.fields and isinstance(item, dict)
            for name, value in item.items()
            if name in own_kind.fields and name not in own_kind.aliases
        }
        given = {**self._initial_statuses(own_kind), **nested, **given}
        row = {
            name: value
            for name, value in self._new(kind, key, given).items()
            if name == own_kind.key or name not in omitted - own_kind.required_fields
        }
        for name, value in row.items():
            if name not in given and isinstance(value, str) and _DATE.match(value) and value[:10] < TODAY.isoformat():
                row[name] = TODAY.isoformat() + value[10:]
        return self.put(kind, row)

    def _initial_statuses(self, kind: ResourceKind) -> Row:
        """Return the first value of every status field."""
        found = {}
        for name, field in kind.fields.items():
            choices = simplify_schema(field.schema).get("enum")
            if split_name(name)[-1:] in STATUS_WORDS and isinstance(choices, list) and choices:
                found[name] = choices[0]
        return found

    def with_values(self, kind: str, row: Row, given: Mapping[str, Any]) -> Row:
        """Return the row with these values, nested objects included; values without a field are added."""
        self.load(kind)
        own_kind = self.kind(kind)
        values = dict(row)
        for name, value in given.items():
            if name in own_kind.aliases:
                continue
            field = own_kind.fields.get(name)
            nested = next(
                (field_name for field_name, item in values.items() if field is None and isinstance(item, dict) and name in item), None
            )
            similar_field = next(
                (
                    field_name
                    for field_name in own_kind.fields
                    if field is None and split_name(field_name)[-1:] == split_name(name)[-1:] and field_name not in values
                ),
                None,
            )
            if nested is not None:
                is_replaced = sum(item in given for item in values[nested]) * 2 > len(values[nested])  # such as an address
                remaining = {item: old for item, old in values[nested].items() if item in given or not is_replaced}
                values[nested] = {**remaining, name: value}
            else:
                values[similar_field or name] = self._to_field_value(value, field) if field else value
        return self._update_totals(own_kind, self._copy_referenced_fields(own_kind, values))

    def containers(self, kind: str, key: str, *, people: bool = False) -> Iterator[tuple[ResourceKind, Row]]:
        """Yield the rows in which a row is nested; with `people`, only those of people."""
        own_kind = self.kind(kind)
        for other, field in self.relations.containers.get(kind, ()):
            for _, row in self.rows(other.name) if other.is_person or not people else ():
                nested = row.get(field.name)
                if any(str(item.get(own_kind.key)) == key for item in (nested if isinstance(nested, list) else [nested or {}])):
                    yield other, row

    def _create_initial_rows(self, name: str) -> None:
        """Create the initial rows of a kind: a few per parent."""
        kind = self.kind(name)
        if name in self.relations.owner or name in self.relations.kinds.created_only:  # created with their container, or only on request
            return
        field = self.relations.parent.get(name)
        if field is None or not self.tables[field.kind]:
            for _ in range(_PERSON_COUNT if kind.is_person else _ROW_COUNT):
                self._put(name, self._new(name, self._key(kind), {}))
            return
        limit = _MAX_ROWS if len(self.tables) < _MANY_KINDS else _FEW_ROWS
        for row in list(self.tables[field.kind].values()):
            if len(self.tables[name]) < limit:
                for child in self._children(name, field, row[self.kind(field.kind).key]):
                    self._put(name, child)

    def _children(self, name: str, field: Field, key: Any) -> Iterator[Row]:
        number = self.values.random(name, str(key), "number").randint(*_CHILD_COUNT)
        for _ in range(number):
            yield self._new(name, self._key(self.kind(name)), {field.name: key})

    def _key(self, kind: ResourceKind) -> Any:
        """Return an unused key; during a lookup, it depends only on that lookup."""
        schema = kind.schemas.get(kind.key, {})
        for _ in range(50):
            number = self._key_counts[kind.name] = self._key_counts.get(kind.name, 0) + 1
            key = self._vary_prefix(
                kind, self.values.generate(schema, kind.key, ValueContext(kind.name, f"{self._looked_up_path}{number}")), number
            )
            if (
                str(key) not in self.tables[kind.name]
                and str(key) not in self._target[kind.name]
                and (kind.name, str(key)) not in self._deleted
            ):
                return key
        return f"{kind.name}-{self._key_counts[kind.name]}" if isinstance(key, str) else self._key_counts[kind.name]

    def _vary_prefix(self, kind: ResourceKind, key: Any, number: int) -> Any:
        """Vary the prefix of a key that is a value of another field (`credit_card_4421097`) among the values of that field."""
        for schema in kind.schemas.values() if isinstance(key, str) else ():
            choices = [choice for choice in simplify_schema(schema).get("enum") or () if isinstance(choice, str) and len(choice) > 2]
            prefix = next((choice for choice in choices if key.startswith(f"{choice}_")), None)
            if prefix:
                return self.values.random(kind.name, "begins", str(number)).choice(choices) + key.removeprefix(prefix)
        return key

    def _new(self, name: str, key: Any, given: Mapping[str, Any]) -> Row:
        kind = self.kind(name)
        context = ValueContext(name, str(key))
        random = self.values.random(name, str(key))
        row: Row = {kind.key: key}
        for field in kind.fields.values():
            if field.name == kind.key or self.relations.is_derived(name, field):
                continue
            if field.name in given:
                row[field.name] = self._to_field_value(given[field.name], field)
            elif field.role == "key":
                row[field.name] = self._reference_key(kind, field, row)
            elif field.role in ("keys", "whole"):
                row[field.name] = self._nested_rows(kind, field, row)
            elif field.name not in kind.aliases and not self.is_later_event(kind, field.name):
                row[field.name] = self._plain_value(kind, field, context, random)
        if _PAST_WORDS & {value for value in row.values() if isinstance(value, str)}:
            row |= {
                name: _mirror_into_past(value)
                for name, value in row.items()
                if name not in given and isinstance(value, str) and _DATE.match(value)
            }
        rest = {item: value for item, value in given.items() if item not in row and item not in kind.aliases}
        return self.with_values(name, row, rest) if rest else self._update_totals(kind, self._copy_referenced_fields(kind, row))

    def _plain_value(self, kind: ResourceKind, field: Field, context: ValueContext, random: Random) -> Any:
        """Return a value: the prefix of the key if it is one of the choices; a name is unique in its kind, if possible."""
        choices = simplify_schema(field.schema).get("enum")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, str) and len(choice) > 2 and context.key.startswith(f"{choice}_"):
                return choice
        value = self.values.generate(field.schema, field.name, context, random=random)
        if field.name in ("name", "title") and kind.name not in self.relations.parent and isinstance(value, str):
            taken = {row.get(field.name) for row in self.tables[kind.name].values()}
            for _ in range(_MAX_TRIES if value in taken else 0):
                value = self.values.generate(field.schema, field.name, context, random=random)
                if value not in taken:
                    break
        return value

    def _reference_key(self, kind: ResourceKind, field: Field, row: Row) -> Any:
        """Return the key of a row to reference: one with the same parent, if there is one."""
        rows = list(self.tables[field.kind].items())
        parent = self.relations.parent.get(kind.name)
        if parent is not None and parent.name in row and parent.name != field.name:
            siblings = [item for item in rows if self._belongs(field.kind, item[1], parent.kind, row[parent.name])]
            rows = siblings or rows
            used = {str(item.get(field.name)) for item in self._target[kind.name].values() if item.get(parent.name) == row[parent.name]}
            rows = [item for item in rows if item[0] not in used] or rows
        other = self.kind(field.kind)
        if not rows:
            return self.values.generate(other.schemas.get(other.key, field.schema), other.key, ValueContext(kind.name, str(row[kind.key])))
        return self.values.random(kind.name, str(row[kind.key]), field.name).choice(rows)[1][other.key]

    def _belongs(self, kind: str, row: Row, to: str, key: Any) -> bool:
        reference_field = self.relations.reference_field(kind, to)
        if reference_field is not None:
            return str(row.get(reference_field.name)) == str(key)
        if self.relations.owner.get(kind) == to:
            return any(
                container_kind.name == to and str(container[container_kind.key]) == str(key)
                for container_kind, container in self.containers(kind, str(row[self.kind(kind).key]))
            )
        return False

    def _nested_rows(self, kind: ResourceKind, field: Field, row: Row) -> Any:
        """Return the nested rows of a field: new ones if the row owns them, else existing ones."""
        other = self.kind(field.kind)
        given = simplify_schema(field.schema)
        random = self.values.random(kind.name, str(row[kind.key]), field.name)
        least = given["minItems"] if isinstance(given.get("minItems"), int) else 1
        limit = given["maxItems"] if isinstance(given.get("maxItems"), int) else 3
        number = random.randint(min(least, 5), max(min(least, 5), min(limit, 3))) if field.many else 1
        if self.relations.owner.get(field.kind) == kind.name:
            keys = [self._key(other) for _ in range(number)]
            self._target[field.kind] |= {str(key): self._new(field.kind, key, {}) for key in keys}
        else:
            shuffled = random.sample(list(self.tables[field.kind].values()), len(self.tables[field.kind]))
            parent = self.relations.parent.get(field.kind)
            distinct = list({str(item.get(parent.name)): item for item in shuffled}.values()) if parent is not None else shuffled
            keys = [item[other.key] for item in distinct[:number]]
        nested = keys if field.role == "keys" else [{other.key: key} for key in keys]
        return nested if field.many else nested[0] if nested else None

    def _to_field_value(self, value: Any, field: Field) -> Any:
        """Return a given value as the field stores it: keys of nested rows become objects."""
        if field.role == "whole" and field.many and isinstance(value, list):
            key = self.kind(field.kind).key
            return [item if isinstance(item, dict) else {key: item} for item in value]
        return value

    def _copy_referenced_fields(self, kind: ResourceKind, row: Row) -> Row:
        """Copy fields of referenced rows: a title next to the key of a book is the title of that book."""
        for field in kind.fields.values():
            if field.role == "key" and not self.kind(field.kind).is_person:
                other = self.tables[field.kind].get(str(row.get(field.name)))
                if other is not None:
                    row |= {name: other[name] for name in _COPIED_FIELDS if name in row and name in other and name in kind.fields}
        return row

    def _update_totals(self, kind: ResourceKind, row: Row) -> Row:
        """Set totals to the sum of the prices in the row."""
        totals = [
            name for name in row if split_name(name)[:1] and split_name(name)[0] in _TOTAL_WORDS and isinstance(row[name], int | float)
        ]
        for name, items in list(row.items()) if totals else ():
            field = kind.fields.get(name)
            nested = self.kind(field.kind) if field is not None and field.role == "whole" else None
            prices = [self._price(item, nested) for item in items] if isinstance(items, list) else []
            if prices and all(price is not None for price in prices):
                row |= dict.fromkeys(totals, round(sum(price for price in prices if price is not None), 2))
        return row

    def _price(self, item: Any, kind: ResourceKind | None) -> float | None:
        """Return the price of an item; of one that is only a key, that of its row."""
        if not isinstance(item, dict):
            return None
        row = item
        if kind is not None and kind.key in item and len(item) <= 2:
            row = {**(self._target[kind.name].get(str(item[kind.key])) or self.tables[kind.name].get(str(item[kind.key])) or {}), **item}
        price, number = row.get("price"), row.get("quantity", 1)
        return price * number if isinstance(price, int | float) and isinstance(number, int | float) else None

    def is_later_event(self, kind: ResourceKind, name: str) -> bool:
        """Return whether a field describes an event after the row was created."""
        return name not in kind.required_fields and any(word.startswith(_LATER_EVENT_WORDS) for word in split_name(name))


def values_of(row: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return every value with this name in a row and its nested objects; lists are not searched."""
    found = [row[name]] if name in row else []
    for value in row.values():
        if isinstance(value, dict):
            found += values_of(value, name)
    return found


def _mirror_into_past(day: str) -> str:
    """Return a future date as a past date, at the same distance from today."""
    ahead = date.fromisoformat(day[:10]) - TODAY
    return (TODAY - abs(ahead)).isoformat() + day[10:]
