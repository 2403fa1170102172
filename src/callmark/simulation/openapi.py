"""Tools from an OpenAPI 3 file, JSON or YAML: each operation is a tool that takes its parameters and the properties of its JSON body.

A tool is called by its operationId, or by its method and path. `$ref` is resolved in place, inside of the file only; where a schema comes
back to itself, or would grow without measure, it is cut to `{}`. What OpenAPI 3.0 says in words of its own is said in JSON Schema's.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import unquote

from callmark.calls.strict import NotStrict, parse, scrub
from callmark.errors import BadInput
from callmark.formats.rows import Rows
from callmark.types import Tool

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_PLACES = ("path", "query", "header")
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})  # headers that OpenAPI says are none
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_NO_SCHEMA = frozenset({"xml", "discriminator", "externalDocs", "example", "nullable", "readOnly", "writeOnly"})
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})  # the keys in these are names, not words of a schema
_AS_IT_IS = frozenset({"default", "const", "enum", "examples"})
_HEAD = 1 << 16  # bytes in which a file of OpenAPI says that it is one
_MARK = re.compile(rb"""["']?(?:openapi|swagger)["']?\s*:""")
_LONGEST_NAME = 64
_MOST_PARTS = 5000  # of the schema of one tool
_MOST_VALUES = 5_000_000  # of a document


def is_openapi(path: str) -> bool:
    """Whether a file is one of OpenAPI (or Swagger, its ancestor), told by its name and its beginning; a pipe never is."""
    if path.endswith((".yaml", ".yml")):
        return True
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    return _MARK.search(head) is not None and _document(Rows(path).whole()) is not None


def read_openapi(path: str) -> tuple[Tool, ...]:
    """The tools of a file; one that is no OpenAPI 3, has no operations, or refers to other files raises `BadInput`."""
    text = Rows(path).whole()
    try:
        document = _document(text)
        if document is None:
            raise BadInput("it is no OpenAPI file, JSON or YAML with openapi: 3.x was expected")
        return openapi_tools(document)
    except BadInput as error:
        raise BadInput(f"{scrub(path)}: {error}", error.hint) from None


def openapi_tools(document: Mapping[str, Any]) -> tuple[Tool, ...]:
    """The tools of a document, in its order."""
    version = str(document.get("openapi", ""))
    if not version.startswith("3."):
        said = f"OpenAPI {version}" if version else f"Swagger {document.get('swagger')}"
        raise BadInput(f"it is {said}, OpenAPI 3 was expected", "Convert it first." if not version else "")
    paths = document.get("paths")
    tools: dict[str, Tool] = {}
    for path, item in paths.items() if isinstance(paths, dict) else ():
        shared = _resolved(item, document, f"paths.{path}")
        for method in _METHODS:
            operation = shared.get(method)
            if isinstance(operation, dict):
                name = _name(str(operation.get("operationId") or f"{method} {path}"), tools)
                try:
                    tools[name] = _tool(name, operation, shared, document)
                except BadInput as error:
                    raise BadInput(f"{method} {path}: {error}", error.hint) from None
                except RecursionError:
                    raise BadInput(f"{method} {path}: its schema is nested deeper than any that people write") from None
    if not tools:
        raise BadInput("it has no operations, paths with get, post and the like were expected")
    return tuple(tools.values())


def _document(text: bytes) -> dict[str, Any] | None:
    """The document in a JSON or YAML text; None where it is something else."""
    try:
        value: Any = parse(text)
    except NotStrict:
        value = None if text.startswith((b"{", b"[")) else _yaml(text)
    if not _is_measured(value):
        raise BadInput(f"it has more than {_MOST_VALUES:,} values in it, anchors resolved")
    return value if isinstance(value, dict) and ("openapi" in value or "swagger" in value) else None


def inlined(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with everything that it refers to in its place. Raises `BadInput` for a `$ref` to elsewhere, or to nothing."""
    found = _Inlining(root).schema(schema, ())
    return found if isinstance(found, dict) else {}


def _tool(name: str, operation: Mapping[str, Any], item: Mapping[str, Any], document: Mapping[str, Any]) -> Tool:
    inlining = _Inlining(document)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in _parameters(operation, item, document):
        schema = inlining.schema(_parameter_schema(parameter), ())
        schema = dict(schema) if isinstance(schema, dict) else {}
        if isinstance(parameter.get("description"), str):
            schema["description"] = parameter["description"].strip()
        properties[parameter["name"]] = schema
        if parameter.get("required") is True or parameter.get("in") == "path":
            required.append(parameter["name"])
    body = _resolved(operation.get("requestBody") or {}, document, "requestBody")
    for key, schema, needed in _body(body, inlining):
        key = f"body_{key}" if key in properties else key
        properties[key] = schema
        if needed:
            required.append(key)
    said = [text.strip() for key in ("summary", "description") if isinstance(text := operation.get(key), str) and text.strip()]
    description = "\n\n".join(dict.fromkeys(said))
    return Tool(name, description, {"type": "object", "properties": properties, "required": required})


def _parameters(operation: Mapping[str, Any], item: Mapping[str, Any], document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those of the path and those of the operation, which go before; cookies and the headers that are none are left out."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for listed in (item.get("parameters"), operation.get("parameters")):
        for each in listed if isinstance(listed, list) else ():
            parameter = _resolved(each, document, "parameters")
            name, place = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not isinstance(place, str):
                raise BadInput("a parameter has no name, or does not say in what it goes")
            if place in _PLACES and not (place == "header" and name.lower() in _NOT_PARAMETERS):
                found[name, place] = parameter
    return list({name: parameter for (name, _), parameter in found.items()}.values())


def _parameter_schema(parameter: Mapping[str, Any]) -> Any:
    content = parameter.get("content")
    if isinstance(content, dict):
        return next((media.get("schema") for media in content.values() if isinstance(media, dict)), {})
    return parameter.get("schema", {})


def _body(body: Mapping[str, Any], inlining: "_Inlining") -> Iterator[tuple[str, Any, bool]]:
    """The properties of a body that is an object, each with whether it must be given; any other body as one called `body`."""
    content = body.get("content")
    media = {kind.partition(";")[0].strip().lower(): each for kind, each in content.items()} if isinstance(content, dict) else {}
    kinds = [kind for kind in media if kind == "application/json"] + [kind for kind in media if kind.endswith(("+json", "/json", "*/*"))]
    kind = next((kind for kind in [*kinds, *_FORMS] if isinstance(media.get(kind), dict)), None)
    if kind is None:
        return
    needed = body.get("required") is True
    schema = inlining.schema(media[kind].get("schema", {}), ())
    merged = _merged(schema) if isinstance(schema, dict) else None
    if merged is None:
        said = body.get("description")
        yield "body", {**schema, "description": said} if isinstance(said, str) and isinstance(schema, dict) else schema, needed
        return
    for name, value in merged["properties"].items():
        yield name, value, needed and name in merged["required"]


def _merged(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Properties and required names of an object, those of its `allOf` too; None for what is no plain object."""
    if "anyOf" in schema or "oneOf" in schema or schema.get("type", "object") not in ("object", ["object", "null"]):
        return None
    parts = [_merged(part) if isinstance(part, dict) else None for part in schema.get("allOf", ())]
    properties: dict[str, Any] = {}
    required: list[str] = []
    for part in parts:
        if part is None:
            return None
        properties |= part["properties"]
        required += part["required"]
    properties |= schema.get("properties", {})
    required += schema.get("required", [])
    return {"properties": properties, "required": required} if properties else None


class _Inlining:
    """Puts what is referred to in its place, and says it in JSON Schema's words. For the schemas of one tool."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MOST_PARTS

    def schema(self, value: Any, inside: tuple[str, ...]) -> Any:
        """`inside` are the references that led here; one of them again is a cycle."""
        if isinstance(value, list):
            return [self.schema(item, inside) for item in value]
        if not isinstance(value, dict):
            return value
        self._left -= 1
        if self._left < 0:
            return {}
        reference = value.get("$ref")
        if isinstance(reference, str):
            if reference in inside:
                return {}
            target = self.schema(_found(reference, self._root), (*inside, reference))
            beside = {key: item for key, item in value.items() if key != "$ref"}
            return {**target, **self.schema(beside, inside)} if beside and isinstance(target, dict) else target
        return _plain({key: self._item(key, item, inside) for key, item in value.items() if isinstance(key, str)})

    def _item(self, key: str, item: Any, inside: tuple[str, ...]) -> Any:
        if key in _AS_IT_IS:
            return item
        if key in _BY_NAME and isinstance(item, dict):
            return {str(name): self.schema(each, inside) for name, each in item.items() if not _is_read_only(each)}
        return self.schema(item, inside)


def _is_read_only(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("readOnly") is True


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of OpenAPI 3.0 in the words of JSON Schema."""
    plain = {key: value for key, value in schema.items() if key not in _NO_SCHEMA and not key.startswith("x-")}
    for limit, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(plain.get(limit), bool) and plain.pop(limit) and bound in plain:
            plain[limit] = plain.pop(bound)
    if isinstance(plain.get("required"), list) and isinstance(plain.get("properties"), dict):
        plain["required"] = [name for name in plain["required"] if name in plain["properties"]]
    if schema.get("nullable") is True:
        if isinstance(plain.get("type"), str):
            plain["type"] = [plain["type"], "null"]
            if isinstance(plain.get("enum"), list) and None not in plain["enum"]:
                plain["enum"] = [*plain["enum"], None]
        elif plain:
            plain = {"anyOf": [plain, {"type": "null"}]}
    return plain


def _resolved(value: Any, document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The object that stands there, or that is referred to from there."""
    for _ in range(10):
        if not isinstance(value, dict):
            raise BadInput(f"{where} is not an object")
        if not isinstance(value.get("$ref"), str):
            return value
        value = _found(value["$ref"], document)
    raise BadInput(f"{where} refers to itself")


def _found(reference: str, root: Mapping[str, Any]) -> Any:
    if not reference.startswith("#"):
        raise BadInput(f"it refers to {reference!r}, which is outside of the file", "Bundle it into one file first.")
    place: Any = root
    for step in reference[1:].strip("/").split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if key:
            place = place.get(key) if isinstance(place, Mapping) else None
    if place is None:
        raise BadInput(f"it refers to {reference!r}, which is not there")
    return place


def _name(given: str, taken: Mapping[str, Any]) -> str:
    """A name that tools may have, and that no other has."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", given).strip("_")[:_LONGEST_NAME] or "operation"
    number = 1
    unique = name
    while unique in taken:
        number += 1
        unique = f"{name[: _LONGEST_NAME - len(str(number)) - 1]}_{number}"
    return unique


def _yaml(text: bytes) -> Any:
    """The value of a YAML text; None for what is none. Dates stay text, and only true and false are booleans, as in JSON."""
    import yaml

    class Plain(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] not in ("timestamp", "bool")]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    Plain.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("true|false", re.IGNORECASE), list("tTfF"))
    try:
        return yaml.load(text, Loader=Plain)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _is_measured(value: Any) -> bool:
    """Whether it is no larger than any document that people write: YAML's anchors can make much, or an endless thing, of little."""
    rest = [value]
    for _ in range(_MOST_VALUES):
        if not rest:
            return True
        item = rest.pop()
        if isinstance(item, dict | list):
            rest.extend(item.values() if isinstance(item, dict) else item)
    return False
