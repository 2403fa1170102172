"""Plan the arguments of an operation: keys of resources, and values that the user says."""

from collections.abc import Mapping
from typing import Any

from callmark.calls.schema import properties, required
from callmark.simulation.mock_api.api import OperationMeaning
from callmark.simulation.mock_api.names import resource_noun, split_name
from callmark.simulation.mock_api.resource_store import Row, values_of
from callmark.simulation.mock_api.schemas import properties as schema_properties
from callmark.simulation.mock_api.schemas import required as schema_required
from callmark.simulation.mock_api.schemas import simplify_schema
from callmark.simulation.mock_api.values import ValueContext
from callmark.synthesis.api_goals import InformAct
from callmark.synthesis.api_informs import PERSON_FIELDS, inform_of
from callmark.synthesis.api_lookups import UnplannableError, merge_names, new_key_parameter
from callmark.synthesis.api_phrases import field_label
from callmark.synthesis.api_plan_builder import PlanBuilder

_OPTIONAL_RATE, _OPTIONAL_KEY_RATE = 0.35, 0.1  # probability that an optional argument is given: any, or a key
_MAX_OPTIONAL = 2
_MAX_LEAF_DEPTH = 3
_MAX_LEAVES = 8  # values in an optional object or list
_ADDRESS = frozenset(
    {"address_1", "address_line_1", "line_1", "street", "street_address", "address_2", "address_line_2", "line_2", "city", "town", "state"}
    | {"province", "zip", "zip_code", "postal_code", "postcode", "country"}
)
_NOT_SPOKEN = frozenset(
    {"page", "offset", "cursor", "after", "before", "starting_after", "ending_before", "fields", "include", "expand", "embed"}
)
_MAX_TRIES = 50  # for an unused key
_MAX_OBJECTS = 4  # in one list
_TECHNICAL_WORDS = frozenset({"api", "token", "signature", "trace", "idempotency", "version", "agent", "encoding"})


class ArgumentPlanner:
    """Plans the arguments of one call. `target` is the resource that the call works on."""

    def __init__(self, builder: PlanBuilder, meaning: OperationMeaning, target: Row | None) -> None:
        self.values: Row = {}
        self._builder = builder
        self._meaning = meaning
        self._target = target
        self._schemas = properties(meaning.operation.tool.parameters)
        self._number = builder.random.randint(1, 10**6)
        self._object_count = 0
        self._found: Row = {}  # the row that a search is for

    def plan(self) -> Row:
        """Return the required arguments and some optional ones; keys are looked up, the user says the rest."""
        spoken: list[str] = []
        required_fields = required(self._meaning.operation.tool.parameters)
        new = new_key_parameter(self._builder.api, self._meaning)
        for name in self._names():
            kind = self._meaning.keys.get(name)
            if kind is None:
                spoken.append(name)
            elif name == new:
                self.values[name] = self._new_key(name, kind)
            elif name not in self.values:
                self._choose_key(name, kind)
        informs: list[InformAct] = []
        address = [name for name in spoken if "_".join(split_name(name)) in _ADDRESS]
        for name in spoken:
            self.values[name] = self._value(name)
        if len(address) > 2:
            texts = [str(self.values[name]) for name in address]
            label = "new address" if self._meaning.key_parameter else "address"
            informs.append(InformAct(label, ", ".join(texts), texts, personal=True, optional=not required_fields & {*address}))
            spoken = [name for name in spoken if name not in address]
        for name in spoken:
            informs.append(self._inform(name, self.values[name]))
            informs[-1].optional = name not in required_fields
        for inform in merge_names(informs):
            self._builder.require_inform(inform)
        order = list(self._schemas)
        return {name: self.values[name] for name in sorted(self.values, key=order.index)}

    def _names(self) -> list[str]:
        """Return the names of the arguments to give: the required ones, and at most two optional ones."""
        random, meaning = self._builder.random, self._meaning
        required_fields = required(meaning.operation.tool.parameters)
        if not required_fields and meaning.operation.writes:
            required_fields = frozenset(meaning.keys)  # nothing is required, but the resource must be identified
        optional = [name for name, schema in self._schemas.items() if name not in required_fields and self._can_be_said(name, schema)]
        plain = [name for name in optional if name not in meaning.keys]
        chosen = [name for name in optional if random.random() < (_OPTIONAL_RATE if name in plain else _OPTIONAL_KEY_RATE)]
        chosen = random.sample(chosen, min(len(chosen), _MAX_OPTIONAL))
        changes = meaning.operation.writes and not (required_fields - {meaning.key_parameter}) and not meaning.effect.new_values
        if plain and not chosen and changes and meaning.operation.method in ("put", "patch", "post"):
            chosen = [random.choice(plain)]
        return [name for name in self._schemas if name in required_fields or name in chosen]

    def _can_be_said(self, name: str, schema: Any) -> bool:
        """Return whether a person would say such a value, and it is not too long to say."""
        simplified = simplify_schema(schema)
        if not _is_spoken(name) or simplified.get("type") == "null" or simplified.get("format") == "binary":
            return False
        if name in self._meaning.keys:
            return name != new_key_parameter(self._builder.api, self._meaning) and not name.startswith("new_")
        return 0 < _leaf_count(simplified) <= _MAX_LEAVES

    def _choose_key(self, name: str, kind: str) -> None:
        builder = self._builder
        many = simplify_schema(self._schemas[name]).get("type") == "array"
        found: list[Any] = []
        candidates: list[Any] = []
        old_name = name.removeprefix("new_") if name.startswith("new_") else ""
        if old_name in self.values and isinstance(self.values[old_name], list):
            for key in self.values[old_name]:
                others = self._alternatives(kind, key)
                found.append(builder.random.choice(others))
                candidates += others
        else:
            nested_rows = self._nested_rows(kind)
            rows = nested_rows or builder.ownership.accessible_rows(kind)
            current = (self._target or {}).get(name)
            key = builder.state.store.kind(kind).key
            others = [row for row in rows if row[key] != current]
            rows = others if others or self._is_replaced(name) else rows
            if not rows:
                raise UnplannableError
            row = builder.random.choice(rows)
            builder.ownership.set_requester(kind, row)
            found, candidates = [row[key]], [other[key] for other in nested_rows]
        for item in found:
            builder.identify(
                kind, item, label=_reference_noun(name) if candidates else field_label(name) if not many else "", candidates=candidates
            )
        self.values[name] = found if many else found[0]

    def _is_replaced(self, name: str) -> bool:
        """Return whether the operation is about replacing this key of the target, so that the same key would change nothing."""
        words = {*split_name(self._meaning.operation.tool.name)} - {*split_name(self._meaning.kind)}
        return self._meaning.operation.writes and bool({*split_name(resource_noun(name) or name)} & words)

    def _new_key(self, name: str, kind: str) -> Any:
        """Return an unused key for a new resource, in the form of existing keys."""
        builder, resource_kind = self._builder, self._builder.state.store.kind(kind)
        schema = {**simplify_schema(resource_kind.schemas.get(resource_kind.key, {})), **simplify_schema(self._schemas[name])}
        for number in range(_MAX_TRIES):
            key = builder.state.store.values.generate(schema, resource_kind.key, ValueContext(kind, f"{self._number + number}"))
            if not builder.is_key_taken(kind, key):
                builder.assign_new_key(kind, key, f"{field_label(resource_kind.key)} for the new {kind.replace('_', ' ')}")
                return key
        raise UnplannableError

    def _nested_rows(self, kind: str) -> list[Row]:
        """Return the rows of a kind that are nested in the target."""
        subject = self._meaning.kind
        store = self._builder.state.store
        if self._target is None or subject not in store.tables:
            return []
        found: list[Row] = []
        for field in store.kind(subject).fields.values():
            if field.kind == kind and field.role == "whole" and isinstance(self._target.get(field.name), list):
                found += [self._builder.ownership.row(kind, part[store.kind(kind).key]) for part in self._target[field.name]]
        return found

    def _alternatives(self, kind: str, key: Any) -> list[Any]:
        """Return the keys of available rows with the same parent."""
        store = self._builder.state.store
        row, key_name = self._builder.ownership.row(kind, key), store.kind(kind).key
        parent = store.relations.parent.get(kind)
        rows = [item for _, item in store.rows(kind) if item[key_name] != key and item.get("available", True) is not False]
        siblings = [item for item in rows if parent is None or item.get(parent.name) == row.get(parent.name)]
        if not siblings:
            raise UnplannableError
        return [item[key_name] for item in siblings]

    def _value(self, name: str) -> Any:
        """Return a value that the user says: for a search, a value of an existing row; for a change, a new one."""
        builder, meaning = self._builder, self._meaning
        schema = self._schemas[name]
        if not meaning.operation.writes and meaning.subject is not None:
            rows = [row for row in builder.ownership.accessible_rows(meaning.subject.kind) if values_of(row, name)]
            self._found = self._found or (builder.random.choice(rows) if rows else {})
            found = values_of(self._found, name) or (values_of(builder.random.choice(rows), name) if rows else [])
            taken = [value for value in self.values.values() if isinstance(value, str)]
            existing = next((value for value in found if value not in taken), None)
            if isinstance(existing, str | int | float) and not isinstance(existing, bool):
                return existing
        value = self._generate(schema, name)
        is_address = "_".join(split_name(name)) in _ADDRESS
        current: list[Any] = [] if self._target is None or is_address else [*values_of(self._target, name)]
        current += [other for other in self.values.values() if isinstance(other, str) and isinstance(value, str) and " " not in value]
        if value in current:
            self._number += 1
            value = self._generate(schema, name)
        if value in current and isinstance(value, str) and "enum" not in simplify_schema(schema):
            value = self._generate({"type": "string"}, name, with_examples=False)
        return value

    def _generate(self, schema: Any, name: str, container_name: str = "", *, with_examples: bool = True) -> Any:
        """Generate a value; `container_name` is the name of the object that contains it. `with_examples`: like those of the response."""
        simplified = simplify_schema(schema)
        if simplified.get("type") == "array" and schema_properties(simplify_schema(simplified.get("items"))):
            least = simplified["minItems"] if isinstance(simplified.get("minItems"), int) else 1
            if least > _MAX_OBJECTS:
                raise UnplannableError
            return [self._object(simplify_schema(simplified["items"]), name) for _ in range(max(least, 1))]
        if simplified.get("type") == "object" and schema_properties(simplified):
            return self._object(simplified, name)
        kind = self._builder.api.kinds.by_name.get(self._meaning.kind)
        response_schema = (
            kind.schemas.get(name, {}) if kind is not None and with_examples else {}
        )  # responses may have examples that parameters lack
        if simplify_schema(response_schema).get("type") == simplified.get("type"):
            schema = {**{word: response_schema[word] for word in ("example", "items") if word in response_schema}, **simplified}
            schema |= (
                {"items": {**simplify_schema(response_schema["items"]), **simplify_schema(simplified.get("items"))}}
                if "items" in response_schema
                else {}
            )
        kind_name = "person" if container_name in PERSON_FIELDS else resource_noun(container_name) or self._meaning.kind or "wish"
        return self._builder.state.store.values.generate(
            schema, name, ValueContext(kind_name, f"{self._context_key()}{container_name and self._next_object()}")
        )

    def _next_object(self) -> int:
        self._object_count += 1
        return self._object_count

    def _object(self, simplified: Mapping[str, Any], container_name: str) -> Row:
        """Generate an object that the user describes; resources it references are identified."""
        found: Row = {}
        for name, schema in schema_properties(simplified).items():
            kind = self._builder.api.kinds.kind_of_field(name)
            if name not in schema_required(simplified) and schema_required(simplified):
                continue
            if kind in self._builder.state.store.tables and container_name not in PERSON_FIELDS:
                rows = self._builder.ownership.accessible_rows(kind)
                if not rows:
                    raise UnplannableError
                found[name] = self._builder.random.choice(rows)[self._builder.state.store.kind(kind).key]
                self._builder.identify(kind, found[name])
            else:
                found[name] = self._generate(schema, name, container_name)
        return found

    def _context_key(self) -> str:
        """Return the key that new values depend on: the requester's name, so that a new email address contains it."""
        number = self._number
        if self._builder.ownership.requester is None:
            return str(number)
        row = self._builder.ownership.row(*self._builder.ownership.requester)
        first, last = values_of(row, "first_name") or values_of(row, "firstName"), values_of(row, "last_name") or values_of(row, "lastName")
        names = [*first[:1], *last[:1]] if first and last else str((values_of(row, "name") or [""])[0]).split()[:2]
        return f"{names[0]}_{names[1]}_{number % 9000 + 1000}".lower() if len(names) == 2 and all(map(str.isalpha, names)) else str(number)

    def _inform(self, name: str, value: Any) -> InformAct:
        schema, kinds = self._schemas[name], self._builder.api.kinds
        kind = kinds.by_name.get(self._meaning.kind)
        return inform_of(
            name,
            value,
            schema,
            noun=self._meaning.kind.replace("_", " ") if kind is not None else "",
            is_person=kind is not None and kind.is_person,
            changes=self._meaning.operation.writes and self._target is not None and bool(values_of(self._target, name)),
            is_known=lambda field: name not in PERSON_FIELDS and bool(kinds.kind_of_field(field)),
            long_dates=self._builder.random.random() < 0.5,
        )


def _is_spoken(name: str) -> bool:
    """Return whether a person would say such a value; others are only set by programs."""
    return "_".join(split_name(name)) not in _NOT_SPOKEN and not {*split_name(name)} & _TECHNICAL_WORDS


def _leaf_count(simplified: Mapping[str, Any], depth: int = 0) -> int:
    """Return how many values the user would say; 0 if there are none, or the schema does not say which."""
    if depth > _MAX_LEAF_DEPTH:
        return 0
    match simplified.get("type"):
        case "object":
            fields, needed = schema_properties(simplified), schema_required(simplified)
            counts = [_leaf_count(simplify_schema(fields[name]), depth + 1) for name in fields if name in needed or not needed]
            return sum(counts) if all(counts) else 0
        case "array":
            least = simplified["minItems"] if isinstance(simplified.get("minItems"), int) else 1
            return max(least, 1) * _leaf_count(simplify_schema(simplified.get("items")), depth + 1)
    return 1


def _reference_noun(name: str) -> str:
    """Return what a list of keys refers to: `new item` for `new_item_ids`."""
    return " ".join(split_name(name)[:-1]) or field_label(name)
