"""Ownership of resources in a planned conversation, and lookups that reveal keys."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from callmark.calls.schema import properties, required
from callmark.simulation.mock_api.api import MockApi, MockApiState, OperationMeaning
from callmark.simulation.mock_api.names import key_stem, resource_noun, split_name
from callmark.simulation.mock_api.resource_store import ResourceStore, Row, values_of
from callmark.simulation.mock_api.schemas import simplify_schema
from callmark.synthesis.api_goals import InformAct
from callmark.synthesis.api_phrases import field_label, label_of

_CREATE_VERBS = frozenset({"create", "register", "insert", "new", "make"})
_SEARCH_WORDS = frozenset({"search", "find", "by", "filter", "query", "lookup"})
_CHANGE_VERBS = frozenset({"update", "edit", "change", "modify", "replace", "set", "cancel", "close", "delete", "remove"})


class UnplannableError(Exception):
    """A plan that cannot be executed."""


class Lookup(Struct, frozen=True):
    """A read that reveals a key: its arguments, those that the user says, and the resources that must be known first."""

    meaning: OperationMeaning
    arguments: dict[str, Any]
    informs: tuple[InformAct, ...] = ()
    prerequisites: tuple[tuple[str, Any], ...] = ()


class Ownership:
    """The owners of rows in a mock API. `requester` is the user of the conversation: a kind of person and a key, None while undecided."""

    def __init__(self, state: MockApiState) -> None:
        self.state = state
        self.requester: tuple[str, Any] | None = None

    def row(self, kind: str, key: Any) -> Row:
        """Return a row; a deleted one raises `UnplannableError`."""
        found = self.state.store.get(kind, key)
        if found is None:
            raise UnplannableError
        return found

    def owner_of(self, kind: str, row: Row) -> tuple[str, Any] | None:
        """Return the person that owns a row, or that the row describes; None if it has no owner."""
        store = self.state.store
        if store.kind(kind).is_person:
            return kind, row[store.kind(kind).key]
        for field in store.kind(kind).fields.values():
            if field.role == "key" and store.kind(field.kind).is_person:
                return field.kind, row.get(field.name)
        containers = store.containers(kind, str(row[store.kind(kind).key]), people=True)
        return next(((container_kind.name, container[container_kind.key]) for container_kind, container in containers), None)

    def accessible_rows(self, kind: str) -> list[Row]:
        """Return the rows that the requester may access: their own and those without an owner; all rows without a requester."""
        rows = [row for _, row in self.state.store.rows(kind)]
        return [row for row in rows if self.requester is None or self.owner_of(kind, row) in (None, self.requester)]

    def set_requester(self, kind: str, row: Row) -> None:
        """Make the owner of a row the requester, if there is none yet."""
        if self.requester is None:
            self.requester = self.owner_of(kind, row)

    def find_lookup(self, meaning: OperationMeaning, kind: str, key: Any) -> Lookup | None:
        """Return how an operation reveals a key, or None if it does not."""
        subject = meaning.subject
        if meaning.operation.writes or subject is None or kind in (meaning.keys.get(name) for name in _required_parameters(meaning)):
            return None
        if subject.kind not in (kind, *(meaning.keys.get(name) for name in _required_parameters(meaning))):
            return None  # it shows neither the resource nor one that it gets the key of
        store = self.state.store
        row = self.row(kind, key) if subject.kind == kind else None
        arguments: Row = {}
        informs: list[InformAct] = []
        prerequisites: list[tuple[str, Any]] = []
        for name in _required_parameters(meaning):
            other = meaning.keys.get(name)
            if other is not None:
                found = next(self._keys_that_show(other, kind, key), None) if row is None else _referenced_key(store, kind, row, other)
                if found is None or (store.kind(other).is_person and (other, found) != self.requester):
                    return None
                arguments[name] = found
                prerequisites.append((other, found))
                continue
            values = values_of(row, name) if row is not None else []
            if not values or not isinstance(values[0], str | int | float) or isinstance(values[0], bool):
                return None
            arguments[name] = values[0]
            informs.append(self._inform(kind, name, values[0]))
        is_search = bool(_SEARCH_WORDS & {*split_name(meaning.operation.tool.name)}) and not store.kind(kind).is_person
        if row is not None and not arguments and is_search:
            found_filter = next(self._filters(meaning, row), None)
            if found_filter is not None:
                arguments[found_filter[0]] = found_filter[1]
                informs.append(self._inform(kind, *found_filter))
        if row is None and (not prerequisites or subject.kind != prerequisites[0][0]):
            return None
        return Lookup(meaning, arguments, tuple(merge_names(informs)), tuple(prerequisites))

    def _filters(self, meaning: OperationMeaning, row: Row) -> Iterator[tuple[str, Any]]:
        """Yield optional parameters that find a row by one of its values, with the value."""
        for name, schema in properties(meaning.operation.tool.parameters).items():
            is_plain = simplify_schema(schema).get("type", "string") in ("string", "integer", "number") and name not in meaning.keys
            values = values_of(row, name) if is_plain else []
            if values and isinstance(values[0], str | int | float) and not isinstance(values[0], bool):
                yield name, values[0]

    def _inform(self, kind: str, name: str, value: Any) -> InformAct:
        label, personal = label_of(field_label(name), kind.replace("_", " "), is_person=self.state.store.kind(kind).is_person)
        return InformAct(label, str(value), [str(value)], personal=personal)

    def _keys_that_show(self, other: str, kind: str, key: Any) -> Iterator[Any]:
        """Yield the keys of rows whose responses show this row: they nest it, reference it, or are referenced by it."""
        store = self.state.store
        for field in store.kind(other).fields.values():
            if field.kind != kind:
                continue
            if store.relations.is_derived(other, field):
                reference_field = store.relations.reference_field(kind, other)
                if reference_field is not None:
                    yield self.row(kind, key).get(reference_field.name)
            elif field.role == "key":
                yield from (row[store.kind(other).key] for row in self.accessible_rows(other) if str(row.get(field.name)) == str(key))
        if not any(field.role == "whole" and field.kind == kind for field in store.kind(other).fields.values()):
            return
        accessible = {str(row[store.kind(other).key]) for row in self.accessible_rows(other)}
        container_keys = ((container_kind, container[container_kind.key]) for container_kind, container in store.containers(kind, str(key)))
        yield from (
            container_key
            for container_kind, container_key in container_keys
            if container_kind.name == other and str(container_key) in accessible
        )


def merge_names(informs: list[InformAct]) -> list[InformAct]:
    """Merge first and last name into one full name."""
    first = next((inform for inform in informs if inform.label in ("first name", "given name")), None)
    last = next((inform for inform in informs if inform.label in ("last name", "surname", "family name")), None)
    if first is None or last is None:
        return informs
    name = InformAct("full name", f"{first.text} {last.text}", [*first.values, *last.values], personal=first.personal)
    return [name, *(inform for inform in informs if inform not in (first, last))]


def new_key_parameter(api: MockApi, meaning: OperationMeaning) -> str:
    """Return the parameter for the key of a new resource; empty if nothing is created, or the API chooses the key.

    An operation creates a resource if its name says so, or if single resources are read from directly below its path.
    """
    operation, path = meaning.operation, meaning.operation.path.rstrip("/")
    kind = api.kinds.by_name.get(meaning.kind or resource_noun(path.rpartition("/")[2]))
    many = meaning.subject is not None and meaning.subject.many
    if kind is None or many or operation.method != "post" or f"{{{meaning.key_parameter}}}" in path:
        return ""
    verb = {*split_name(operation.tool.name)[:1]}
    has_item_path = any(
        other.operation.method == "get"
        and other.kind == kind.name
        and other.operation.path.rstrip("/") == f"{path}/{{{other.key_parameter}}}"
        for other in api.meanings.values()
    )
    if verb & _CHANGE_VERBS or not (has_item_path or verb & _CREATE_VERBS):
        return ""
    schemas = properties(operation.tool.parameters)
    candidates = [name for name in meaning.keys if meaning.keys[name] == kind.name and f"{{{name}}}" not in path]
    candidates = [name for name in candidates if name in kind.aliases or key_stem(name) in ("", kind.name)]  # not `parent_category_id`
    return next((name for name in candidates if simplify_schema(schemas[name]).get("type") != "array"), "")


def _required_parameters(meaning: OperationMeaning) -> list[str]:
    names = required(meaning.operation.tool.parameters)
    return [name for name in properties(meaning.operation.tool.parameters) if name in names]


def _referenced_key(store: ResourceStore, kind: str, row: Row, other: str) -> Any:
    """Return the key of another kind that a row references, or of the row it is nested in."""
    field = store.relations.reference_field(kind, other)
    if field is not None:
        return row.get(field.name)
    key = str(row[store.kind(kind).key])
    return next(
        (container[container_kind.key] for container_kind, container in store.containers(kind, key) if container_kind.name == other),
        None,
    )
