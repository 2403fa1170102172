"""Find the kinds of resources of an API in its responses: an object with a key is a resource (`order`, by `order_id`).

Fields reference other resources by key (`user_id` of an order) or nest them (`items`). Parameters that are keys reference resources too: an
operation returns resources of one kind, and takes keys of this and other kinds.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from callmark.calls.schema import properties as parameters_of
from callmark.simulation.mock_api.names import PEOPLE, RECORDS, is_id, key_stem, resource_noun, split_name
from callmark.simulation.mock_api.schemas import properties, required, simplify_schema
from callmark.simulation.openapi_schemas import NAMED
from callmark.simulation.operations import Operation

_MAX_DEPTH = 8
_WRAPPER_NAMES = frozenset(
    {"data", "result", "results", "item", "items", "payload", "response", "content", "records", "entries", "values", "list"}
)
_SCALAR_TYPES = ("string", "integer", "number")
_PERSONAL = frozenset({"name", "email", "phone", "username", "firstname", "lastname", "login", "birth", "born"})
_NOT_KEYS = frozenset(  # path parameters that many kinds share
    {"name", "title", "type", "kind", "status", "state", "date", "day", "month", "year", "version", "category", "language", "city"}
)


class Field(Struct, frozen=True):
    """A field: a plain value, one or several keys of another kind, or nested resources (`whole`)."""

    name: str
    schema: dict[str, Any]
    role: Literal["plain", "key", "keys", "whole"] = "plain"
    kind: str = ""
    many: bool = False


class ResourceKind(Struct):
    """A kind of resource: the name of its key, all names of the key in responses (`aliases`, the main one first), and its fields."""

    name: str
    key: str
    aliases: tuple[str, ...]
    schemas: dict[str, Any] = {}
    required_fields: set[str] = set()
    fields: dict[str, Field] = {}

    @property
    def is_person(self) -> bool:
        """Return whether the kind is a person, by its name; an account is one if it has personal fields."""
        person_words = {*self.name.split("_")} & PEOPLE
        return bool(person_words - RECORDS) or (bool(person_words) and any(_PERSONAL & {*split_name(name)} for name in self.schemas))


class Subject(Struct, frozen=True):
    """The resources that an operation returns: one or `many` of a kind; `path` are the response fields that lead to them."""

    kind: str
    many: bool
    path: tuple[str, ...] = ()


class ResourceKinds:
    """The kinds that the operations of an API return or take keys of. Resources of the kinds in `created_only` are never read."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._candidates: dict[str, ResourceKind] = {}
        self._kinds_of_fields: dict[str, str] = {}  # by name of the field, once all kinds are known
        self._path_keys = _find_path_keys(operations)
        for is_top in (False, True):
            for operation in operations:
                self._collect(operation.response, _path_noun(operation.path), is_top=is_top, depth=0, top_only=is_top)
        self.by_name: dict[str, ResourceKind] = {}
        named = {kind for operation in operations for kind in self._mentioned_kinds(operation)}
        self.by_name = {name: kind for name, kind in self._candidates.items() if name in named}
        read_operations = [operation for operation in operations if not operation.writes]
        read_kinds = {subject.kind for operation in read_operations if (subject := self.subject(operation)) is not None}
        key_kinds = {kind for operation in operations for kind in self.key_parameters(operation).values()}
        self.created_only = {*self.by_name} - read_kinds - key_kinds
        for kind in self.by_name.values():
            kind.fields = {name: self._field(name, schema, kind) for name, schema in kind.schemas.items()}

    def kind_of_field(self, name: str) -> str:
        """Return the kind that a key with this name identifies; empty if it is not a key, or its kind is unknown."""
        if not self.by_name:
            return self._find_kind_of_field(name)
        if name not in self._kinds_of_fields:
            self._kinds_of_fields[name] = self._find_kind_of_field(name)
        return self._kinds_of_fields[name]

    def _find_kind_of_field(self, name: str) -> str:
        words = split_name(name)
        exact = [kind for kind in self._candidates.values() if not is_id(kind.key) and split_name(kind.key) == words]
        if exact:
            return exact[0].name
        stem = key_stem(name)
        if not stem:
            return ""
        fitting = [kind for kind in self._candidates if stem == kind or stem.endswith(f"_{kind}")]
        return max(fitting, key=len, default="")

    def kind_of_parameter(self, name: str, path: str) -> str:
        """Return the kind that a parameter is a key of, also for `id` in a path; empty if it is not a key."""
        found = self.kind_of_field(name)
        if found or key_stem(name) != "":
            return found
        before, _, _ = path.partition(f"{{{name}}}")
        noun = resource_noun(before.rstrip("/").rpartition("/")[2])
        return noun if noun in self._candidates else ""

    def kind_of_object(self, schema: Any) -> str:
        """Return the kind of an object; empty if it has none."""
        simplified = simplify_schema(schema)
        found = self._detect(simplified, "", is_top=False)
        return found[0] if found is not None and found[0] in self.by_name else ""

    def subject(self, operation: Operation) -> Subject | None:
        """Return what an operation returns; None if it is not a resource."""
        return self._subject(operation.response, _path_noun(operation.path), ())

    def key_parameters(self, operation: Operation) -> dict[str, str]:
        """Return the parameters that are keys, with their kinds; nested ones are left out."""
        named = {name: self.kind_of_parameter(name, operation.path) for name in parameters_of(operation.tool.parameters)}
        return {name: kind for name, kind in named.items() if kind}

    def _mentioned_kinds(self, operation: Operation) -> Iterator[str]:
        subject = self._subject(operation.response, _path_noun(operation.path), (), include_candidates=True)
        if subject is not None:
            yield subject.kind
        yield from self.key_parameters(operation).values()
        for schema in parameters_of(operation.tool.parameters).values():
            inner = simplify_schema(simplify_schema(schema).get("items") or schema)
            yield from filter(None, map(self.kind_of_field, properties(inner)))

    def _subject(self, schema: Any, noun: str, path: tuple[str, ...], *, include_candidates: bool = False) -> Subject | None:
        simplified = simplify_schema(schema)
        many = simplified.get("type") == "array"
        inner = simplify_schema(simplified.get("items")) if many else simplified
        found = self._detect(inner, noun, is_top=True)
        known = self._candidates if include_candidates else self.by_name
        if found is not None and found[0] in known:
            return Subject(found[0], many, path)
        if many or len(path) > 2:
            return None
        containers = [(name, member) for name, member in properties(inner).items() if _is_container(member)]
        nested = (
            self._subject(member, _inner_noun(name, noun), (*path, name), include_candidates=include_candidates)
            for name, member in containers
        )
        return next((subject for subject in nested if subject is not None), None)

    def _collect(self, schema: Any, noun: str, *, is_top: bool, depth: int, top_only: bool) -> None:
        """Collect every kind in a response. A response that starts with the key of another kind counts only if no other response has it."""
        simplified = simplify_schema(schema)
        if simplified.get("type") == "array":
            self._collect(simplified.get("items"), noun, is_top=False if not depth else is_top, depth=depth + 1, top_only=top_only)
            return
        found = self._detect(simplified, noun, is_top=is_top or depth == 0)
        if found is not None:
            name, key, is_certain = found
            is_complete = is_certain or depth > 0
            if is_complete is not top_only or (top_only and name not in self._candidates):
                self._add(name, key, simplified, adds_fields=is_complete or name not in self._candidates)
        if depth < _MAX_DEPTH:
            for field, member in properties(simplified).items():
                if _is_container(member):
                    inner = resource_noun(field) if found is not None else _inner_noun(field, noun)
                    self._collect(member, inner, is_top=False, depth=depth + 1, top_only=top_only)

    def _add(self, name: str, key: str, simplified: Mapping[str, Any], *, adds_fields: bool) -> None:
        kind = self._candidates.setdefault(name, ResourceKind(name, key, (key,), {}, set(required(simplified))))
        if key not in kind.aliases:
            kind.aliases += (key,)
        if adds_fields:
            for field, member in properties(simplified).items():
                kind.schemas.setdefault(field, member)
            kind.required_fields.update(required(simplified))

    def _detect(self, simplified: Mapping[str, Any], noun: str, *, is_top: bool) -> tuple[str, str, bool] | None:
        """Return the kind and the key of an object, and whether they are certain; None if it has no key."""
        fields = {
            name: member
            for name, member in properties(simplified).items()
            if simplify_schema(member).get("type", "string") in _SCALAR_TYPES
        }
        named = simplified.get(NAMED) or simplified.get("title")
        noun = resource_noun(named) if isinstance(named, str) and resource_noun(named) else noun
        for name in fields:
            stem = key_stem(name)
            if stem and (stem == noun or noun.endswith(f"_{stem}")):
                return stem, name, True
        in_path = next((name for name in fields if name in self._path_keys.get(noun, ())), None)
        if in_path is not None:
            return noun, in_path, True
        named_id = next((name for name in fields if key_stem(name) == ""), None)
        if named_id is not None and noun:
            return noun, named_id, True
        first = next(iter(properties(simplified)), "")
        stem = key_stem(first) if first in fields else None
        if not stem:
            return None
        if not is_id(first):
            return (noun or stem, first, True) if noun not in ("", stem) else (stem, first, True)
        return stem, first, not is_top

    def _field(self, name: str, schema: Any, kind: ResourceKind) -> Field:
        simplified = simplify_schema(schema)
        many = simplified.get("type") == "array"
        inner = simplify_schema(simplified.get("items")) if many else simplified
        if inner.get("type", "string") in _SCALAR_TYPES and name not in kind.aliases:
            other = self.kind_of_field(name) or (resource_noun(name) if many and resource_noun(name) in self.by_name else "")
            if other in self.by_name and (other != kind.name or many):
                return Field(name, schema, "keys" if many else "key", other, many)
        elif properties(inner):
            other = self.kind_of_object(inner) or (
                resource_noun(name) if resource_noun(name) in self.by_name and "id" in properties(inner) else ""
            )
            if other and other != kind.name:
                return Field(name, schema, "whole", other, many)
        return Field(name, schema, many=many)


def _is_container(schema: Any) -> bool:
    """Return whether a schema is an object or an array."""
    simplified = simplify_schema(schema)
    return simplified.get("type") in ("object", "array")


def _inner_noun(name: str, outer: str) -> str:
    """Return the noun for a field of a response; for a wrapper such as `data`, the noun of the response."""
    return outer if name.lower() in _WRAPPER_NAMES else resource_noun(name)


def _find_path_keys(operations: Sequence[Operation]) -> dict[str, set[str]]:
    """Return the keys in paths, by noun: `plate` of a vehicle, for `/vehicles/{plate}`."""
    found: dict[str, set[str]] = {}
    for operation in operations:
        for before, part in pairwise(part for part in operation.path.split("/") if part):
            name = part[1:-1]
            if part == f"{{{name}}}" and "{" not in before and key_stem(name) is None and name.lower() not in _NOT_KEYS:
                found.setdefault(resource_noun(before), set()).add(name)
    return found


def _path_noun(path: str) -> str:
    """Return the noun of a path: its last segment that names a collection."""
    parts = [part for part in path.split("/") if part]
    for index in range(len(parts) - 1, -1, -1):
        if parts[index].startswith("{") and index and not parts[index - 1].startswith("{") and index >= len(parts) - 2:
            return resource_noun(parts[index - 1])
    nouns = [part for part in parts if not part.startswith("{")]
    return resource_noun(nouns[-1]) if nouns else ""
