"""A mock API that can be called. Responses are generated from their schemas, and equal requests get equal responses. Created resources can
be read and listed, changes persist, and deleted resources are not found.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from callmark.calls.schema import Schemas, required
from callmark.calls.schema import properties as parameters_of
from callmark.calls.strict import dump
from callmark.calls.words import words
from callmark.simulation.mock_api.arithmetic import evaluate
from callmark.simulation.mock_api.effects import Effect, find_effect
from callmark.simulation.mock_api.names import is_id, resource_noun, singular, split_name
from callmark.simulation.mock_api.relations import ResourceRelations
from callmark.simulation.mock_api.render import render_row
from callmark.simulation.mock_api.resource_kinds import ResourceKind, ResourceKinds, Subject
from callmark.simulation.mock_api.resource_store import ResourceStore, Row, values_of
from callmark.simulation.mock_api.schemas import properties, simplify_all, simplify_schema
from callmark.simulation.mock_api.values import ValueContext
from callmark.simulation.operations import Api, Operation
from callmark.simulation.session import State, ToolResult
from callmark.types import Call

_MAX_VIOLATIONS = 3  # in an error result
_MAX_CACHED = 64  # initial stores
_COUNT_FIELDS = frozenset(
    {"total", "count", "totalcount", "total_count", "size", "total_items", "totalitems", "number", "results", "matches"}
)
_CREATE_VERBS = frozenset({"create", "add", "register", "place", "insert", "new", "make", "open", "submit", "book", "schedule"})
_EXPRESSIONS = ("expression", "formula", "calculation")
_PAGING_PARAMETERS = frozenset({"limit", "page", "offset", "per_page", "page_size", "cursor", "sort", "order", "sort_by", "order_by"})


class OperationMeaning(Struct, frozen=True):
    """The meaning of an operation: what it returns, which parameters are keys, and which key identifies the resource it works on."""

    operation: Operation
    subject: Subject | None
    keys: dict[str, str]
    key_parameter: str = ""
    effect: Effect = Effect()

    @property
    def kind(self) -> str:
        """Return the kind of resource that the operation works on; empty if there is none."""
        return self.subject.kind if self.subject else self.keys.get(self.key_parameter, "")


class MockApi:
    """The operations of an API and their meanings."""

    def __init__(self, api: Api) -> None:
        operations = tuple(structs.replace(item, response=simplify_all(item.response) if item.response else {}) for item in api.operations)
        self.api = api = structs.replace(api, operations=operations)
        self.kinds = ResourceKinds(api.operations)
        self.relations = ResourceRelations(self.kinds)
        self.meanings = {item.tool.name: self._meaning(item) for item in api.operations}
        self.schemas = Schemas([item.tool for item in api.operations])
        self._initial_stores: dict[str, ResourceStore] = {}

    def start(self, seed: str) -> "MockApiState":
        """Return the API in its initial state for a conversation; the same seed gives the same state."""
        if seed not in self._initial_stores:
            while len(self._initial_stores) >= _MAX_CACHED:
                del self._initial_stores[next(iter(self._initial_stores))]
            self._initial_stores[seed] = ResourceStore(self.relations, seed)
        return MockApiState(self, self._initial_stores[seed].copy())

    def _meaning(self, operation: Operation) -> OperationMeaning:
        subject = self.kinds.subject(operation)
        keys = {name: kind for name, kind in self.kinds.key_parameters(operation).items() if kind in self.kinds.by_name}
        arguments = parameters_of(operation.tool.parameters)
        required_names = required(operation.tool.parameters)
        single_keys = [name for name in keys if simplify_schema(arguments[name]).get("type") != "array"]
        path_keys = [name for name in single_keys if f"{{{name}}}" in operation.path]
        context = subject.kind if subject else ""
        key_parameter = next((name for name in single_keys if keys[name] == context), "")
        if (
            key_parameter
            and key_parameter not in path_keys
            and operation.method == "post"
            and (key_parameter not in required_names or split_name(operation.tool.name)[0] in _CREATE_VERBS)
        ):
            key_parameter = ""  # the key of a new resource
        if subject is None and not _adds_to_collection(operation):
            key_parameter = next(iter([*reversed(path_keys), *single_keys]), "")
        kind = self.kinds.by_name.get(context or keys.get(key_parameter, ""))
        operation_effect = find_effect(operation, kind, self.api.description) if kind is not None and key_parameter else Effect()
        return OperationMeaning(operation, subject, keys, key_parameter, operation_effect)


class MockApiState:
    """The state of the API in one conversation."""

    def __init__(self, api: MockApi, store: ResourceStore) -> None:
        self.store = store
        self._api = api
        self._records: dict[str, dict[str, Row]] = {}

    def state(self) -> State:
        """Return all rows by kind and key, and a record of the calls that changed no row."""
        tables = self.store.state()
        return tables | {name: {**tables.get(name, {}), **rows} for name, rows in self._records.items()}

    def call(self, name: str, raw_arguments: Mapping[str, Any]) -> ToolResult:
        """Execute an operation. Invalid arguments and deleted resources return an error result."""
        meaning = self._api.meanings[name]
        violations = self._api.schemas.violations(Call(name, dict(raw_arguments)))
        if violations:
            rendered = "; ".join(f"{where}: {what}" if where else what for where, what in violations[:_MAX_VIOLATIONS])
            return ToolResult(f"Invalid arguments: {rendered}.", True)
        arguments = {key: value for key, value in raw_arguments.items() if value is not None}
        response = self._execute_write(meaning, arguments) if meaning.operation.writes else self._execute_read(meaning, arguments)
        return response if isinstance(response, ToolResult) else ToolResult(response if isinstance(response, str) else dump(response))

    def _execute_read(self, meaning: OperationMeaning, arguments: Row) -> Any:
        subject = meaning.subject
        if subject is None and (computed := next(filter(None, map(evaluate, map(arguments.get, _EXPRESSIONS))), None)) is not None:
            return {"result": computed}
        if subject is None:
            row = self.store.get(meaning.kind, arguments[meaning.key_parameter]) if meaning.key_parameter in arguments else {}
            return (
                self._not_found(meaning, arguments) if row is None else self._render_response(meaning, arguments, *([row] if row else []))
            )
        if meaning.key_parameter in arguments and not subject.many:
            row = self.store.get(subject.kind, arguments[meaning.key_parameter])
            return self._not_found(meaning, arguments) if row is None else self._render_response(meaning, arguments, row)
        missing_key = next(
            (name for name, kind in meaning.keys.items() if _is_single(arguments, name) and self.store.get(kind, arguments[name]) is None),
            "",
        )
        if missing_key:
            return self._not_found(meaning, arguments, missing_key)
        found = self._find_rows(meaning, subject, arguments)
        return self._render_response(meaning, arguments, *(found if subject.many else found[:1]))

    def _execute_write(self, meaning: OperationMeaning, arguments: Row) -> Any:
        store, operation = self.store, meaning.operation
        if meaning.key_parameter not in arguments:
            if meaning.subject is None or operation.method == "delete":
                self._record(meaning, arguments)
                return self._render_response(meaning, arguments)
            omitted = parameters_of(operation.tool.parameters).keys() - arguments.keys()
            return self._render_response(meaning, arguments, store.create(meaning.kind, arguments, omitted=omitted))
        kind = meaning.kind
        row = store.get(kind, arguments[meaning.key_parameter])
        if row is None:
            return self._not_found(meaning, arguments)
        if operation.method == "delete" and not meaning.effect.new_values:
            store.delete(kind, arguments[meaning.key_parameter])
            return self._render_response(meaning, arguments, row)
        changes = {name: value for name, value in arguments.items() if name != meaning.key_parameter}
        changes |= meaning.effect.changes_to(row) | self._swap_nested(meaning, store.kind(kind), row, arguments)
        changed_row = store.with_values(kind, row, changes) if changes else row
        if changed_row == row:
            self._record(meaning, arguments)
        else:
            store.put(kind, changed_row)
        return self._render_response(meaning, arguments, changed_row)

    def _swap_nested(self, meaning: OperationMeaning, kind: ResourceKind, row: Row, arguments: Row) -> Row:
        """Return the nested rows of a resource, with those in `item_ids` replaced by those in `new_item_ids`."""
        for name in arguments if not meaning.effect.new_values else ():
            old, new = arguments[name], arguments.get(f"new_{name}")
            field = next(
                (item for item in kind.fields.values() if item.role == "whole" and item.many and item.kind == meaning.keys.get(name)), None
            )
            if field is not None and isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
                key = self.store.kind(field.kind).key
                remaining = list(zip(map(str, old), new, strict=True))
                nested = []
                for part in row.get(field.name) or ():
                    pair = next((item for item in remaining if item[0] == str(part.get(key))), None)
                    nested.append({key: pair[1]} if pair else part)
                    remaining = [item for item in remaining if item is not pair]
                return {field.name: nested}
        return {}

    def _find_rows(self, meaning: OperationMeaning, subject: Subject, arguments: Row) -> list[Row]:
        """Return the rows that match the filters. If there are none, matching rows are generated and found from then on."""
        filters = {name: value for name, value in arguments.items() if "_".join(split_name(name)) not in _PAGING_PARAMETERS}
        rows = [row for _, row in self.store.rows(subject.kind)]
        keys = {name: value for name, value in filters.items() if name in meaning.keys}
        for name, value in keys.items():
            rows = [row for row in rows if self._matches_key(subject.kind, row, meaning.keys[name], value)]
        others = {name: value for name, value in filters.items() if name not in keys and self._has_field(subject.kind, name)}
        matching = [row for row in rows if all(_matches(values_of(row, name), value) for name, value in others.items())]
        if not matching and others and not keys:
            matching = [self._generate_matching(meaning, subject, others, number) for number in range(2 if subject.many else 1)]
        if not others and not keys and filters and rows and not subject.many:
            matching = [self.store.values.random(meaning.operation.tool.name, dump(filters)).choice(rows)]
        limit = arguments.get("limit")
        return matching[:limit] if isinstance(limit, int) and limit > 0 else matching

    def _generate_matching(self, meaning: OperationMeaning, subject: Subject, filters: Row, number: int) -> Row:
        kind = self.store.kind(subject.kind)
        context = ValueContext(subject.kind, f"{dump(filters)}/{number}")
        key = self.store.values.generate(kind.schemas.get(kind.key, {}), kind.key, context)
        row = self.store.get(subject.kind, key)
        generated = self.store.with_values(subject.kind, row or {kind.key: key}, filters)
        if row is not None and str(key) in self.store.looked_up[subject.kind]:
            self.store.looked_up[subject.kind][str(key)] = generated
        return generated

    def _matches_key(self, kind: str, row: Row, other_kind: str, value: Any) -> bool:
        own_key = str(row[self.store.kind(kind).key])
        if other_kind == kind:
            return own_key in (map(str, value) if isinstance(value, list) else [str(value)])
        reference_field = self.store.relations.reference_field(kind, other_kind)
        if reference_field is not None:
            return str(row.get(reference_field.name)) == str(value)
        containers = list(self.store.containers(kind, own_key))
        return not any(container_kind.name == other_kind for container_kind, _ in containers) or any(
            str(container[container_kind.key]) == str(value) for container_kind, container in containers
        )

    def _has_field(self, kind: str, name: str) -> bool:
        """Return whether rows of a kind have a field with this name, nested or not."""
        return any(values_of(row, name) for _, row in self.store.rows(kind))

    def _render_response(self, meaning: OperationMeaning, arguments: Row, *rows: Row) -> Any:
        """Return the response for these rows."""
        operation = meaning.operation
        if not operation.response:
            return dump(rows[0]) if rows and not operation.writes else operation.response_description or "OK"
        return self._render(meaning, operation.response, arguments, rows, meaning.subject.path if meaning.subject else None)

    def _render(self, meaning: OperationMeaning, schema: Any, arguments: Row, rows: tuple[Row, ...], path: tuple[str, ...] | None) -> Any:
        response = simplify_schema(schema)
        if path == () and meaning.subject is not None:
            if meaning.subject.many:
                return [render_row(self.store, meaning.kind, row, response.get("items")) for row in rows]
            rendered = render_row(self.store, meaning.kind, rows[0], response) if rows else {}
            known = self.store.kind(meaning.kind).fields
            return rendered | {name: arguments[name] for name in rendered if name in arguments and name not in known}
        fields = properties(response)
        context = ValueContext(resource_noun(meaning.operation.tool.name), dump(arguments))
        if not fields:
            return self.store.values.generate(response, meaning.operation.tool.name, context)
        rendered = {}
        for name, item in fields.items():
            word = "_".join(split_name(name))
            if path and name == path[0]:
                rendered[name] = self._render(meaning, item, arguments, rows, path[1:])
            elif name in arguments:
                rendered[name] = arguments[name]
            elif path is not None and word in _COUNT_FIELDS:
                rendered[name] = len(rows)
            elif path is None and rows and name in rows[0]:
                rendered[name] = rows[0][name]
            else:
                rendered[name] = self.store.values.generate(item, name, context)
        return rendered

    def _record(self, meaning: OperationMeaning, arguments: Row) -> None:
        table = self._records.setdefault(meaning.operation.tool.name, {})
        table[str(len(table) + 1)] = arguments

    def _not_found(self, meaning: OperationMeaning, arguments: Row, name: str = "") -> ToolResult:
        name = name or meaning.key_parameter
        kind = meaning.keys.get(name, meaning.kind).replace("_", " ")
        return ToolResult(f"There is no {kind} {arguments[name]}.", True)


def _adds_to_collection(operation: Operation) -> bool:
    """Return whether an operation adds to a collection, by its path: `POST /books/{id}/reviews`."""
    last = operation.path.rstrip("/").rpartition("/")[2]
    return operation.method == "post" and not last.startswith("{") and "{" in operation.path and singular(last) != last


def _is_single(arguments: Row, name: str) -> bool:
    return isinstance(arguments.get(name), str | int) and is_id(name)


def _matches(found: Any, expected: Any) -> bool:
    """Return whether one of the values equals the expected one, or is a text that contains its words."""
    for value in found:
        if isinstance(value, str) and isinstance(expected, str):
            if words(expected) and {*words(expected)} <= {*words(value)}:
                return True
        elif value == expected or (isinstance(value, list) and expected in value):
            return True
    return False
