"""A made-up API that can be called. What it answers is made from the schemas of its answers; who asks twice gets the same answer, what was
made can be got and listed, what was changed stays changed, what was deleted is gone.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from callmark.calls.schema import Schemas, required
from callmark.calls.schema import properties as parameters_of
from callmark.calls.strict import dump
from callmark.calls.words import words
from callmark.simulation.mock_api.effects import Effect, effect
from callmark.simulation.mock_api.family import Family
from callmark.simulation.mock_api.kinds import Kind, Kinds, Subject
from callmark.simulation.mock_api.names import is_id, noun_of, singular, words_of
from callmark.simulation.mock_api.render import shown
from callmark.simulation.mock_api.rows import Row, Things, leaves
from callmark.simulation.mock_api.shapes import properties, shape, shaped
from callmark.simulation.mock_api.values import About
from callmark.simulation.openapi import Api, Operation
from callmark.simulation.session import ToolResult
from callmark.types import Call

_MOST_TOLD = 3  # things that are wrong with a call
_KEPT = 64  # beginnings of conversations that are remembered
_COUNTS = frozenset({"total", "count", "totalcount", "total_count", "size", "total_items", "totalitems", "number", "results", "matches"})
_MAKING = frozenset({"create", "add", "register", "place", "insert", "new", "make", "open", "submit", "book", "schedule"})
_PAGES = frozenset({"limit", "page", "offset", "per_page", "page_size", "cursor", "sort", "order", "sort_by", "order_by"})


class Meaning(Struct, frozen=True):
    """What an operation is about: what it answers, which of its parameters are keys, and of them the one that says what is meant."""

    operation: Operation
    subject: Subject | None
    keys: dict[str, str]
    own: str = ""
    effect: Effect = Effect()

    @property
    def kind(self) -> str:
        """The kind of things that it is about; empty where there is none."""
        return self.subject.kind if self.subject else self.keys.get(self.own, "")


class MockApi:
    """The operations of an API, understood as far as they can be."""

    def __init__(self, api: Api) -> None:
        operations = tuple(structs.replace(each, response=shaped(each.response) if each.response else {}) for each in api.operations)
        self.api = api = structs.replace(api, operations=operations)
        self.kinds = Kinds(api.operations)
        self.family = Family(self.kinds)
        self.meanings = {each.tool.name: self._meaning(each) for each in api.operations}
        self.schemas = Schemas([each.tool for each in api.operations])
        self._begun: dict[str, Things] = {}

    def opened(self, seed: str) -> "MockApiState":
        """The API as it is at the beginning of a conversation; the same for the same seed."""
        if seed not in self._begun:
            while len(self._begun) >= _KEPT:
                del self._begun[next(iter(self._begun))]
            self._begun[seed] = Things(self.family, seed)
        return MockApiState(self, self._begun[seed].copy())

    def _meaning(self, operation: Operation) -> Meaning:
        subject = self.kinds.subject(operation)
        keys = {name: kind for name, kind in self.kinds.keys_of(operation).items() if kind in self.kinds.by_name}
        given = parameters_of(operation.tool.parameters)
        needed = required(operation.tool.parameters)
        single = [name for name in keys if shape(given[name]).get("type") != "array"]
        in_path = [name for name in single if f"{{{name}}}" in operation.path]
        about = subject.kind if subject else ""
        own = next((name for name in single if keys[name] == about), "")
        if own and own not in in_path and operation.method == "post" and (own not in needed or words_of(operation.tool.name)[0] in _MAKING):
            own = ""  # a key that something new is to have
        if subject is None and not _makes(operation):
            own = next(iter([*reversed(in_path), *single]), "")
        kind = self.kinds.by_name.get(about or keys.get(own, ""))
        does = effect(operation, kind, self.api.description) if kind is not None and own else Effect()
        return Meaning(operation, subject, keys, own, does)


class MockApiState:
    """The API in one conversation."""

    def __init__(self, api: MockApi, things: Things) -> None:
        self.things = things
        self._api = api
        self._records: dict[str, dict[str, Row]] = {}

    def state(self) -> dict[str, dict[str, Row]]:
        """Everything that there is, by kind and key, and what was done that shows nowhere else."""
        tables = {name: {**rows, **self.things.unseen.get(name, {})} for name, rows in self.things.tables.items()}
        return tables | {name: {**tables.get(name, {}), **rows} for name, rows in self._records.items()}

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Carry out an operation that there is. Arguments that its schema does not allow, and what is not there (any more), are errors."""
        meaning = self._api.meanings[name]
        wrong = self._api.schemas.violations(Call(name, dict(arguments)))
        if wrong:
            told = "; ".join(f"{where}: {what}" if where else what for where, what in wrong[:_MOST_TOLD])
            return ToolResult(f"The arguments are not valid: {told}.", True)
        given = {key: value for key, value in arguments.items() if value is not None}
        answer = self._written(meaning, given) if meaning.operation.writes else self._read(meaning, given)
        return answer if isinstance(answer, ToolResult) else ToolResult(answer if isinstance(answer, str) else dump(answer))

    def _read(self, meaning: Meaning, given: Row) -> Any:
        subject = meaning.subject
        if subject is None:
            row = self.things.found(meaning.kind, given[meaning.own]) if meaning.own in given else {}
            return self._missing(meaning, given) if row is None else self._told(meaning, given, *([row] if row else []))
        if meaning.own in given and not subject.many:
            row = self.things.found(subject.kind, given[meaning.own])
            return self._missing(meaning, given) if row is None else self._told(meaning, given, row)
        gone = next(
            (name for name, kind in meaning.keys.items() if _is_single(given, name) and self.things.found(kind, given[name]) is None), ""
        )
        if gone:
            return self._missing(meaning, given, gone)
        found = self._matching(meaning, subject, given)
        return self._told(meaning, given, *(found if subject.many else found[:1]))

    def _written(self, meaning: Meaning, given: Row) -> Any:
        things, operation = self.things, meaning.operation
        if meaning.own not in given:
            if meaning.subject is None or operation.method == "delete":
                self._record(meaning, given)
                return self._told(meaning, given)
            left_out = parameters_of(operation.tool.parameters).keys() - given.keys()
            return self._told(meaning, given, things.create(meaning.kind, given, left_out=left_out))
        kind = meaning.kind
        row = things.found(kind, given[meaning.own])
        if row is None:
            return self._missing(meaning, given)
        if operation.method == "delete" and not meaning.effect.sets:
            things.delete(kind, given[meaning.own])
            return self._told(meaning, given, row)
        rest = {name: value for name, value in given.items() if name != meaning.own}
        rest |= meaning.effect.applied(row) | self._swapped(meaning, things.kind(kind), row, given)
        now = things.changed(kind, row, rest) if rest else row
        if now == row:
            self._record(meaning, given)
        else:
            things.put(kind, now)
        return self._told(meaning, given, now)

    def _swapped(self, meaning: Meaning, kind: Kind, row: Row, given: Row) -> Row:
        """What is inside of a thing, where `item_ids` are to be replaced by `new_item_ids`."""
        for name in given if not meaning.effect.sets else ():
            old, new = given[name], given.get(f"new_{name}")
            field = next(
                (each for each in kind.fields.values() if each.role == "whole" and each.many and each.kind == meaning.keys.get(name)), None
            )
            if field is not None and isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
                key = self.things.kind(field.kind).key
                left = list(zip(map(str, old), new, strict=True))
                held = []
                for part in row.get(field.name) or ():
                    pair = next((each for each in left if each[0] == str(part.get(key))), None)
                    held.append({key: pair[1]} if pair else part)
                    left = [each for each in left if each is not pair]
                return {field.name: held}
        return {}

    def _matching(self, meaning: Meaning, subject: Subject, given: Row) -> list[Row]:
        """The things that fit what was asked for. Where nothing does but should, they are made up to fit, and fit from then on."""
        asked = {name: value for name, value in given.items() if "_".join(words_of(name)) not in _PAGES}
        rows = [row for _, row in self.things.rows(subject.kind)]
        keys = {name: value for name, value in asked.items() if name in meaning.keys}
        for name, value in keys.items():
            rows = [row for row in rows if self._fits_key(subject.kind, row, meaning.keys[name], value)]
        others = {name: value for name, value in asked.items() if name not in keys and self._is_told(subject.kind, name)}
        fitting = [row for row in rows if all(_fits(leaves(row, name), value) for name, value in others.items())]
        if not fitting and others and not keys:
            fitting = [self._made_to_fit(meaning, subject, others, number) for number in range(2 if subject.many else 1)]
        if not others and not keys and asked and rows and not subject.many:
            fitting = [self.things.values.random(meaning.operation.tool.name, dump(asked)).choice(rows)]
        limit = given.get("limit")
        return fitting[:limit] if isinstance(limit, int) and limit > 0 else fitting

    def _made_to_fit(self, meaning: Meaning, subject: Subject, asked: Row, number: int) -> Row:
        kind = self.things.kind(subject.kind)
        about = About(subject.kind, f"{dump(asked)}/{number}")
        key = self.things.values.made(kind.schemas.get(kind.key, {}), kind.key, about)
        row = self.things.found(subject.kind, key)
        made = self.things.changed(subject.kind, row or {kind.key: key}, asked)
        if row is not None and str(key) in self.things.asked_for[subject.kind]:
            self.things.asked_for[subject.kind][str(key)] = made
        return made

    def _fits_key(self, kind: str, row: Row, of: str, value: Any) -> bool:
        own = self.things.kind(kind)
        if of == kind:
            return str(row[own.key]) in (map(str, value) if isinstance(value, list) else [str(value)])
        naming = self.things.family.naming(kind, of)
        if naming is not None:
            return str(row.get(naming.name)) == str(value)
        holders = list(self.things.holders(kind, str(row[own.key])))
        return not any(holder.name == of for holder, _ in holders) or any(str(held[holder.key]) == str(value) for holder, held in holders)

    def _is_told(self, kind: str, name: str) -> bool:
        """Whether things of a kind have a field of that name, be it inside of another."""
        return any(leaves(row, name) for _, row in self.things.rows(kind))

    def _told(self, meaning: Meaning, given: Row, *rows: Row) -> Any:
        """The answer, from the things that it is about."""
        operation = meaning.operation
        if not operation.response:
            return dump(rows[0]) if rows and not operation.writes else operation.response_description or "OK"
        return self._answer(meaning, operation.response, given, rows, meaning.subject.at if meaning.subject else None)

    def _answer(self, meaning: Meaning, schema: Any, given: Row, rows: tuple[Row, ...], at: tuple[str, ...] | None) -> Any:
        answer = shape(schema)
        if at == () and meaning.subject is not None:
            if meaning.subject.many:
                return [shown(self.things, meaning.kind, row, answer.get("items")) for row in rows]
            told = shown(self.things, meaning.kind, rows[0], answer) if rows else {}
            known = self.things.kind(meaning.kind).fields
            return told | {name: given[name] for name in told if name in given and name not in known}
        fields = properties(answer)
        about = About(noun_of(meaning.operation.tool.name), dump(given))
        if not fields:
            return self.things.values.made(answer, meaning.operation.tool.name, about)
        told = {}
        for name, each in fields.items():
            word = "_".join(words_of(name))
            if at and name == at[0]:
                told[name] = self._answer(meaning, each, given, rows, at[1:])
            elif name in given:
                told[name] = given[name]
            elif at is not None and word in _COUNTS:
                told[name] = len(rows)
            elif at is None and rows and name in rows[0]:
                told[name] = rows[0][name]
            else:
                told[name] = self.things.values.made(each, name, about)
        return told

    def _record(self, meaning: Meaning, given: Row) -> None:
        table = self._records.setdefault(meaning.operation.tool.name, {})
        table[str(len(table) + 1)] = given

    def _missing(self, meaning: Meaning, given: Row, name: str = "") -> ToolResult:
        name = name or meaning.own
        kind = meaning.keys.get(name, meaning.kind).replace("_", " ")
        return ToolResult(f"There is no {kind} {given[name]}.", True)


def _makes(operation: Operation) -> bool:
    """Whether it puts something into a collection (`POST /books/{id}/reviews`), by its path."""
    last = operation.path.rstrip("/").rpartition("/")[2]
    return operation.method == "post" and not last.startswith("{") and "{" in operation.path and singular(last) != last


def _is_single(given: Row, name: str) -> bool:
    return isinstance(given.get(name), str | int) and is_id(name)


def _fits(found: Any, wanted: Any) -> bool:
    """Whether one of the values is the wanted one, or a text with its words in it."""
    for value in found:
        if isinstance(value, str) and isinstance(wanted, str):
            if words(wanted) and {*words(wanted)} <= {*words(value)}:
                return True
        elif value == wanted or (isinstance(value, list) and wanted in value):
            return True
    return False
