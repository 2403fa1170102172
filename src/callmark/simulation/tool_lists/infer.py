"""Infer the operations of a tool list: which resource a tool works on, which tool yields the id that another needs, and what each returns.

`get_order_details(order_id)` reads an order, `cancel_pending_order(order_id)` changes one that is pending, `find_user_id_by_email(email)`
yields the id of a user. The fields of a resource are the parameters of the tools that work on it. A resource that no tool lists belongs to
a resource whose tool mentions it, else to the person whose details can be read. An output schema is used where there is one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from callmark.calls.schema import properties
from callmark.simulation.mock_api.names import PEOPLE, is_id, key_stem, plural, resource_noun, singular, split_name
from callmark.simulation.mock_api.sample_data import SIMILAR_KINDS
from callmark.simulation.mock_api.schemas import simplify_schema
from callmark.simulation.operations import Api, Operation
from callmark.simulation.tool_lists.verbs import CREATE, LIST, find_verb, method_of
from callmark.types import Tool

_PREPOSITIONS = frozenset({"by", "for", "from", "to", "with", "in", "of", "on", "at", "using", "and"})
_CHANGED_TO = re.compile(r"status[^.]{0,60}?(?:to|becomes|is|as)\s+['\"“`]([^'\"”`]{2,40})['\"”`]", re.IGNORECASE)
_STATUS_ADJECTIVES = frozenset({"pending", "open", "active", "overdue", "upcoming", "outstanding", "unpaid", "paid", "running", "archived"})
_NOT_FIELDS = frozenset({"limit", "page", "offset", "per_page", "page_size", "cursor", "sort", "sort_by", "order_by", "fields", "include"})
_FREE_TEXTS = frozenset({"query", "keyword", "keywords", "search", "q", "filter", "expression", "reason", "summary"})
_MAX_DESCRIPTION = 2000  # characters that are read
_PRICE = {"type": "number", "minimum": 5, "maximum": 300}
_OPTIONS = {
    "type": "object",
    "properties": {
        "color": {"type": "string", "enum": ["black", "white", "red", "navy", "olive"]},
        "size": {"type": "string", "enum": ["small", "medium", "large"]},
    },
}
_MADE_BY = {  # what is made by doing this to something else: `book_room` makes a booking
    "book": ("booking", "reservation"),
    "reserve": ("reservation", "booking"),
    "rent": ("rental",),
    "subscribe": ("subscription",),
    "pay": ("payment",),
    "register": ("registration",),
    "enroll": ("enrollment",),
}


class ToolDefinition(Struct, frozen=True):
    """A tool, and the schema of its results; empty if that is unknown."""

    tool: Tool
    output: dict[str, Any] = {}


class _InferredTool(Struct):
    """How a tool is understood: its verb, its resource (empty if there is none), and which parameters are keys of which resource."""

    definition: ToolDefinition
    verb: str
    method: str
    keys: dict[str, str]
    kind: str = ""
    many: bool = False
    only_key: bool = False

    @property
    def tool(self) -> Tool:
        return self.definition.tool

    @property
    def single_keys(self) -> list[str]:
        return [name for name in self.keys if not _is_list(properties(self.tool.parameters)[name])]

    @property
    def own_key(self) -> str:
        """Return the parameter that names the resource that the tool works on; empty if there is none."""
        return next((name for name in self.single_keys if self.keys[name] == self.kind), "")


class _Resource(Struct):
    """A resource: the name and schema of its key, its own fields, the resources that it lists, and the statuses that it may have."""

    name: str
    key: str
    key_schema: dict[str, Any]
    fields: dict[str, Any] = {}
    nested: dict[str, bool] = {}  # resource → whether it is shown whole, not only by its key
    statuses: list[str] = []
    parent: str = ""

    @property
    def is_person(self) -> bool:
        return bool({*self.name.split("_")} & PEOPLE)

    @property
    def is_goods(self) -> bool:
        return SIMILAR_KINDS.get(self.name.rpartition("_")[2], self.name) == "product"


def infer_api(definitions: Sequence[ToolDefinition]) -> Api:
    """Return the API of a tool list. A tool that works on no resource returns a plain result; no tools give no operations."""
    inference = _ApiInference(definitions)
    identifying = [
        reading.tool.name
        for reading in inference.readings
        if reading.method == "get"
        and reading.only_key
        and reading.kind in inference.resources
        and inference.resources[reading.kind].is_person
    ]
    description = f"Identify the customer first, with {' or '.join(identifying)}." if identifying else ""
    return Api("", description, tuple(map(inference.operation, inference.readings)))


class _ApiInference:
    def __init__(self, definitions: Sequence[ToolDefinition]) -> None:
        self.readings = [
            _InferredTool(definition, find_verb(definition.tool), method_of(definition.tool), {}) for definition in definitions
        ]
        nouns = {word for reading in self.readings for word in map(singular, split_name(reading.tool.name))}
        for reading in self.readings:
            reading.keys = dict(_keys(reading.tool, nouns))
        known = {kind for reading in self.readings for kind in reading.keys.values() if kind}
        for reading in self.readings:
            self._understand(reading, known)
        self.resources: dict[str, _Resource] = {}
        for reading in self.readings:
            self._collect_keys(reading)
        for kind in (reading.kind for reading in self.readings if reading.kind):
            self.resources.setdefault(kind, _Resource(kind, f"{kind}_id", {"type": "string"}))  # a tool yields it, and none takes its key
        for reading in self.readings:
            self._collect_fields(reading)
        self._attach_unlisted()
        self._add_names()

    def operation(self, reading: _InferredTool) -> Operation:
        """Return a tool as an operation."""
        tool, output = reading.tool, reading.definition.output
        summary = re.split(r"(?<=\w)[.!?](?:\s|$)", tool.description.strip(), maxsplit=1)[0] if tool.description else ""
        path = self._path(reading)
        if output:
            return Operation(tool, reading.method, path, summary, output)
        resource = self.resources.get(reading.kind)
        if resource is None:
            response: dict[str, Any] = {} if reading.method != "get" else {"type": "object", "properties": {"result": {"type": "string"}}}
            return Operation(tool, reading.method, path, summary, response, "Done.")
        if reading.method == "delete":
            return Operation(tool, "delete", path, summary, {}, f"The {reading.kind.replace('_', ' ')} has been deleted.")
        if reading.only_key:
            shown = {
                "type": "object",
                "title": resource.name,
                "properties": {resource.key: resource.key_schema},
                "required": [resource.key],
            }
        elif reading.many:
            shown = self._schema(resource, brief=True)
        else:
            shown = self._schema(resource)
        many = {"type": "object", "properties": {plural(resource.name): {"type": "array", "items": shown}}}
        return Operation(tool, reading.method, path, summary, many if reading.many else shown)

    def _understand(self, reading: _InferredTool, known: set[str]) -> None:
        """Find the resource that a tool works on: one in its name of which it takes one key, else the first in its name."""
        words = [word for word in split_name(reading.tool.name) if word != reading.verb]
        cut = next((index for index, word in enumerate(words) if word in _PREPOSITIONS), len(words))
        before, after = _mentioned(words[:cut], known), _mentioned(words[cut:], known)
        singles = {reading.keys[name] for name in reading.single_keys}
        targets = [kind for kind in (*after, *before) if kind in singles] if "by" not in words else [k for k in before if k in singles]
        if reading.verb in CREATE and targets and before and before[0] not in singles:
            targets = []  # `create_review_for_product` creates a review
        made = [kind for kind in _MADE_BY.get(reading.verb, ()) if kind in known and kind not in singles]
        own = made or targets or before
        noun = "_".join([*words[: max(cut - 1, 0)], *map(singular, words[max(cut - 1, 0) : cut])])
        if "" in reading.keys.values() and not own:  # a bare `id` is that of what the name says
            own = [resource_noun(noun)] if noun else []
        reading.kind = own[0] if own else resource_noun(noun) if noun and (reading.verb in CREATE | LIST) else ""
        reading.keys = {name: kind or reading.kind for name, kind in reading.keys.items() if kind or reading.kind}
        reading.only_key = bool(reading.kind) and reading.method == "get" and bool({"id", "ids"} & {*words[:cut]})
        is_plural = any(singular(word) != word for word in words[:cut])
        reading.many = reading.method == "get" and not reading.own_key and not reading.only_key and (is_plural or reading.verb in LIST)

    def _collect_keys(self, reading: _InferredTool) -> None:
        schemas = properties(reading.tool.parameters)
        for name, kind in reading.keys.items():
            schema = simplify_schema(schemas[name])
            if schema.get("type") == "array":
                schema = {
                    **simplify_schema(schema.get("items")),
                    **({"description": schema["description"]} if "description" in schema else {}),
                }
            key = name.removesuffix("s") if name.lower().endswith(("ids", "codes", "numbers")) else name
            if name.startswith("new_") or (kind in self.resources and len(key) >= len(self.resources[kind].key)):
                continue
            key = key if key_stem(key) in ("", kind) else f"{kind}_id"
            self.resources[kind] = _Resource(kind, key, schema)

    def _collect_fields(self, reading: _InferredTool) -> None:
        resource = self.resources.get(reading.kind)
        if resource is None:
            return
        for name, schema in properties(reading.tool.parameters).items():
            kind = reading.keys.get(name, "")
            plain = "_".join(split_name(name))
            if kind and kind != resource.name and not name.startswith("new_"):
                if _is_list(schema):
                    resource.nested[kind] = True
                else:
                    resource.fields.setdefault(self.resources[kind].key, self.resources[kind].key_schema)
            elif not kind and plain not in _NOT_FIELDS | _FREE_TEXTS and isinstance(schema, dict):
                resource.fields.setdefault(name, schema)
        words = split_name(reading.tool.name)
        noun = reading.kind.split("_")[0]
        position = next((index for index, word in enumerate(words) if singular(word) == noun), 0)
        adjectives = [word for word in words[:position] if word != reading.verb and (word in _STATUS_ADJECTIVES or word.endswith("ed"))]
        for status in (*adjectives, *(found.lower() for found in _CHANGED_TO.findall(reading.tool.description[:_MAX_DESCRIPTION]))):
            if status not in resource.statuses:
                resource.statuses.append(status)

    def _attach_unlisted(self) -> None:
        """Attach each resource whose keys no tool yields to one that mentions it, or to the person whose details can be read."""
        yielded = {reading.kind for reading in self.readings if reading.method == "get" and not reading.own_key}
        readable = {reading.kind for reading in self.readings if reading.method == "get" and reading.own_key}
        people = [resource for resource in self.resources.values() if resource.is_person and resource.name in readable]
        for resource in list(self.resources.values()):
            if resource.name in yielded or resource.is_person:
                continue
            mentioning = [
                self.resources[reading.kind]
                for reading in self.readings
                if reading.method == "get" and reading.kind in self.resources and _mentions(reading.tool.description, resource.name)
            ]
            owner = next((other for other in mentioning if other is not resource and other.name in readable), None)
            owner = owner or (people[0] if people and not any(resource.name in other.nested for other in self.resources.values()) else None)
            if owner is not None and resource.name not in owner.fields:
                resource.fields = {owner.key: owner.key_schema, **resource.fields}
                resource.parent = owner.name
                owner.nested[resource.name] = resource.name not in readable

    def _add_names(self) -> None:
        listed = {reading.kind for reading in self.readings if reading.many}
        nested = {name for resource in self.resources.values() for name in resource.nested}
        for resource in self.resources.values():
            names = {"_".join(split_name(name)) for name in resource.fields}
            if len(resource.statuses) > 1 and "status" not in names:
                resource.fields["status"] = {"type": "string", "enum": resource.statuses}
            if resource.is_person and not names & {"name", "first_name", "full_name"}:
                resource.fields |= {"name": {"type": "string"}}
            if resource.is_goods:
                resource.fields |= {"price": _PRICE, "options": _OPTIONS} if resource.parent else {}
                resource.fields |= {"available": {"type": "boolean"}} if resource.parent else {}
            if resource.name in listed | nested and not resource.is_person and not names & {"name", "title"}:
                parent = self.resources.get(resource.parent)
                if resource.is_goods or resource.name in listed or parent is None:
                    resource.fields |= {"name": {"type": "string"}}

    def _schema(self, resource: _Resource, *, brief: bool = False) -> dict[str, Any]:
        """Return the schema of a resource; `brief` without what it lists."""
        shown = {resource.key: resource.key_schema, **resource.fields}
        for name, whole in {} if brief else resource.nested.items():
            other = self.resources[name]
            fields = {other.key: other.key_schema}
            if whole:
                fields |= {field: schema for field, schema in other.fields.items() if field != resource.key}
            item = {"type": "object", "title": name, "properties": fields, "required": [*fields]} if whole else other.key_schema
            shown[plural(name)] = {"type": "array", "minItems": 1, "maxItems": 3, "items": item}
        if any(self.resources[name].is_goods for name in resource.nested) and not resource.is_goods:
            shown["total"] = {"type": "number"}
        return {
            "type": "object",
            "title": resource.name,
            "properties": shown,
            "required": [resource.key, *(["name"] if "name" in shown else [])],
        }

    def _path(self, reading: _InferredTool) -> str:
        """Return a path in the style of HTTP APIs: `/orders/{order_id}/cancel`."""
        if not reading.kind:
            return f"/{'-'.join(split_name(reading.tool.name)) or 'tool'}"
        collection, key = f"/{plural(reading.kind)}", reading.own_key
        if not key:
            return collection
        is_plain = reading.method in ("get", "delete") or reading.verb in ("update", "put", "patch", "modify", "edit")
        return f"{collection}/{{{key}}}" if is_plain else f"{collection}/{{{key}}}/{reading.verb or 'change'}"


def _keys(tool: Tool, nouns: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters that are keys, each with its resource; empty for a bare `id`. A code or number is a key only if a tool is named
    after its resource.
    """
    for name, schema in properties(tool.parameters).items():
        stem = key_stem(name)
        kind = simplify_schema(schema)
        inner = simplify_schema(kind.get("items")) if kind.get("type") == "array" else kind
        if stem is None or inner.get("type", "string") not in ("string", "integer") or "enum" in inner:
            continue
        words = stem.removeprefix("new_").split("_")
        if is_id(name) or {*words} <= nouns:
            yield name, "_".join([*words[:-1], singular(words[-1])])


def _mentioned(words: Sequence[str], kinds: set[str]) -> list[str]:
    """Return the kinds whose words appear in a row among these, in order; the longest first at each place."""
    singulars = list(map(singular, words))
    found: list[str] = []
    for index in range(len(singulars)):
        here = [kind for kind in kinds if kind and singulars[index : index + len(kind.split("_"))] == kind.split("_")]
        found += [kind for kind in (max(here, key=len, default=""),) if kind and kind not in found]
    return found


def _mentions(text: str, kind: str) -> bool:
    noun, text = kind.replace("_", " "), text[:_MAX_DESCRIPTION]
    if noun[:-1].lower() not in text.lower():  # much faster than the search, and most tools mention few resources
        return False
    return re.search(rf"\b(?:{re.escape(noun)}|{re.escape(plural(noun))})\b", text, re.IGNORECASE) is not None


def _is_list(schema: Any) -> bool:
    simplified: Mapping[str, Any] = simplify_schema(schema)
    return simplified.get("type") == "array"
