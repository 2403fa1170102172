"""Plan the arguments of an operation: keys of resources, and values that the user says."""

from collections.abc import Mapping
from typing import Any

from callmark.calls.schema import properties, required
from callmark.calls.strict import dump
from callmark.simulation.mock_api.api import OperationMeaning
from callmark.simulation.mock_api.names import resource_noun, split_name
from callmark.simulation.mock_api.resource_store import Row, values_of
from callmark.simulation.mock_api.schemas import properties as schema_properties
from callmark.simulation.mock_api.schemas import required as schema_required
from callmark.simulation.mock_api.schemas import simplify_schema
from callmark.simulation.mock_api.values import ValueContext
from callmark.synthesis.api_goals import InformAct
from callmark.synthesis.api_lookups import UnplannableError, merge_names, new_key_parameter
from callmark.synthesis.api_phrases import field_label, format_date, format_value, needs_label, question_label
from callmark.synthesis.api_plan_builder import PlanBuilder, few_choices

_OPTIONAL_RATE = 0.35  # probability that an optional argument is given
_ADDRESS = frozenset(
    {"address_1", "address_line_1", "line_1", "street", "street_address", "address_2", "address_line_2", "line_2", "city", "town", "state"}
    | {"province", "zip", "zip_code", "postal_code", "postcode", "country"}
)
_NOT_SPOKEN = frozenset({"limit", "page", "offset", "per_page", "page_size", "cursor", "sort", "sort_by", "order_by", "fields", "include"})
_PERSON_FIELDS = frozenset({"to", "from", "recipient", "sender", "payee", "beneficiary"})  # objects that describe a person
_RANGE_LABELS = {"from": ("origin", "start date"), "to": ("destination", "end date")}
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

    def plan(self) -> Row:
        """Return the required arguments and some optional ones; keys are looked up, the user says the rest."""
        spoken: list[str] = []
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
            informs.append(InformAct("new address" if self._meaning.key_parameter else "address", ", ".join(texts), texts))
            spoken = [name for name in spoken if name not in address]
        informs += [self._inform(name, self.values[name]) for name in spoken]
        for inform in merge_names(informs):
            self._builder.require_inform(inform)
        order = list(self._schemas)
        return {name: self.values[name] for name in sorted(self.values, key=order.index)}

    def _names(self) -> list[str]:
        required_fields = required(self._meaning.operation.tool.parameters)
        if not required_fields and self._meaning.operation.writes:
            required_fields = frozenset(self._meaning.keys)  # nothing is required, but the resource must be identified
        optional = [name for name in self._schemas if name not in required_fields and name not in self._meaning.keys and _is_spoken(name)]
        optional = [
            name for name in optional if simplify_schema(self._schemas[name]).get("type", "string") in ("string", "integer", "number")
        ]
        chosen = [name for name in optional if self._builder.random.random() < _OPTIONAL_RATE]
        changes = (
            self._meaning.operation.writes and not (required_fields - {self._meaning.key_parameter}) and not self._meaning.effect.new_values
        )
        if optional and not chosen and changes and self._meaning.operation.method in ("put", "patch", "post"):
            chosen = [self._builder.random.choice(optional)]
        return [name for name in self._schemas if name in required_fields or name in chosen[:2]]

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
            rows = [row for row in rows if row[key] != current] or rows
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
            existing = values_of(builder.random.choice(rows), name)[0] if rows else None
            if isinstance(existing, str | int | float) and not isinstance(existing, bool):
                return existing
        value = self._generate(schema, name)
        if self._target is not None and value in values_of(self._target, name) and "_".join(split_name(name)) not in _ADDRESS:
            self._number += 1
            value = self._generate(schema, name)
        return value

    def _generate(self, schema: Any, name: str, container_name: str = "") -> Any:
        """Generate a value; `container_name` is the name of the object that contains it."""
        simplified = simplify_schema(schema)
        if simplified.get("type") == "array" and schema_properties(simplify_schema(simplified.get("items"))):
            least = simplified["minItems"] if isinstance(simplified.get("minItems"), int) else 1
            if least > _MAX_OBJECTS:
                raise UnplannableError
            return [self._object(simplify_schema(simplified["items"]), name) for _ in range(max(least, 1))]
        if simplified.get("type") == "object" and schema_properties(simplified):
            return self._object(simplified, name)
        kind = self._builder.api.kinds.by_name.get(self._meaning.kind)
        response_schema = kind.schemas.get(name, {}) if kind is not None else {}  # responses may have examples that parameters lack
        if simplify_schema(response_schema).get("type") == simplified.get("type"):
            schema = {**{word: response_schema[word] for word in ("example", "items") if word in response_schema}, **simplified}
            schema |= (
                {"items": {**simplify_schema(response_schema["items"]), **simplify_schema(simplified.get("items"))}}
                if "items" in response_schema
                else {}
            )
        kind_name = "person" if container_name in _PERSON_FIELDS else resource_noun(container_name) or self._meaning.kind or "wish"
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
            if kind in self._builder.state.store.tables and container_name not in _PERSON_FIELDS:
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
        schema = self._schemas[name]
        changes = self._meaning.operation.writes and self._target is not None and bool(values_of(self._target, name))
        question = (
            _RANGE_LABELS[name][simplify_schema(schema).get("format") in ("date", "date-time")]
            if name in _RANGE_LABELS
            else question_label(name)
        )
        label = f"new {question}" if changes else question
        if isinstance(value, bool):
            text = f"{'with' if value else 'without'} {label}"
            return InformAct(label, text, [text])
        if few_choices(schema) or simplify_schema(schema).get("enum"):
            text = str(value).replace("_", " ")
            return InformAct(label, text, [text], [choice.replace("_", " ") for choice in few_choices(schema)])
        if isinstance(value, dict | list):
            kinds = self._builder.api.kinds
            spoken_values = [
                (field_name, item)
                for field_name, item in _leaf_values(value, name)
                if item is not None and (name in _PERSON_FIELDS or not kinds.kind_of_field(field_name))
            ]
            texts = [
                f"{field_label(field_name)} {format_value(item)}"
                if field_name != name and needs_label(field_name, item)
                else format_value(item)
                for field_name, item in spoken_values
            ]
            return InformAct(
                label,
                ", ".join(texts) or format_value(value),
                [format_value(item) for _, item in spoken_values if not isinstance(item, bool)],
            )
        if isinstance(value, str):
            text = f'"{value}"' if len(value.split()) > 2 and "," not in value else value
            return InformAct(label, format_date(text, long=self._builder.random.random() < 0.5), [value])
        return InformAct(label, dump(value), [dump(value)])


def _is_spoken(name: str) -> bool:
    """Return whether a person would say such a value; others are only set by programs."""
    return "_".join(split_name(name)) not in _NOT_SPOKEN and not {*split_name(name)} & _TECHNICAL_WORDS


def _reference_noun(name: str) -> str:
    """Return what a list of keys refers to: `new item` for `new_item_ids`."""
    return " ".join(split_name(name)[:-1]) or field_label(name)


def _leaf_values(value: Any, name: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _leaf_values(item, key)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaf_values(item, name)]
    return [(name, value)]
