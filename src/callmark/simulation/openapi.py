"""Tools from an OpenAPI 3 file, JSON or YAML: each operation is a tool that takes its parameters and the properties of its JSON body.

A tool is called by its operationId, or by its method and path. `$ref` is resolved in place, inside of the file only; where a schema comes
back to itself, or would grow without measure, it is cut to `{}`. What OpenAPI 3.0 says in words of its own is said in JSON Schema's.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from msgspec import Struct

from callmark.calls.strict import NotStrict, parse, scrub
from callmark.errors import BadInput
from callmark.formats.rows import Rows
from callmark.simulation.openapi_schemas import Inlining, resolved
from callmark.types import Tool

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_PLACES = ("path", "query", "header")
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})  # headers that OpenAPI says are none
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_HEAD = 1 << 16  # bytes in which a file of OpenAPI says that it is one
_MARK = re.compile(rb"""["']?(?:openapi|swagger)["']?\s*:""")
_LONGEST_NAME = 64
_MOST_VALUES = 5_000_000  # of a document

_Found = TypeVar("_Found")


def is_openapi(path: str) -> bool:
    """Whether a file is one of OpenAPI (or Swagger, its ancestor), told by its name and its beginning; a pipe never is."""
    if path.endswith((".yaml", ".yml")):
        return True
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    return _MARK.search(head) is not None and _document(Rows(path).whole()) is not None


class Operation(Struct, frozen=True):
    """An operation as a tool, and what it answers where all goes well: `answer` is the schema of it, empty where it is not told, and `said`
    is what the document says that the answer is.
    """

    tool: Tool
    method: str
    path: str
    summary: str = ""
    answer: dict[str, Any] = {}
    said: str = ""

    @property
    def writes(self) -> bool:
        """Whether it may change something, by its method."""
        return self.method not in ("get", "head", "options", "trace")


class Api(Struct, frozen=True):
    title: str
    description: str
    operations: tuple[Operation, ...]


def read_openapi(path: str) -> tuple[Tool, ...]:
    """The tools of a file; one that is no OpenAPI 3, has no operations, or refers to other files raises `BadInput`."""
    return _read(path, openapi_tools)


def read_api(path: str) -> Api:
    """Everything that a file says: what it is about, its operations and their answers. Raises `BadInput` as `read_openapi` does."""
    return _read(path, _api)


def openapi_tools(document: Mapping[str, Any]) -> tuple[Tool, ...]:
    """The tools of a document, in its order."""
    return tuple(each.tool for each in _operations(document, answers=False))


def _read(path: str, reader: Callable[[dict[str, Any]], _Found]) -> _Found:
    text = Rows(path).whole()
    try:
        document = _document(text)
        if document is None:
            raise BadInput("it is no OpenAPI file, JSON or YAML with openapi: 3.x was expected")
        return reader(document)
    except BadInput as error:
        raise BadInput(f"{scrub(path)}: {error}", error.hint) from None


def _api(document: Mapping[str, Any]) -> Api:
    info = document.get("info")
    said = {key: text.strip() for key, text in info.items() if isinstance(text, str)} if isinstance(info, dict) else {}
    return Api(said.get("title", ""), said.get("description", ""), _operations(document, answers=True))


def _operations(document: Mapping[str, Any], *, answers: bool) -> tuple[Operation, ...]:
    version = str(document.get("openapi", ""))
    if not version.startswith("3."):
        said = f"OpenAPI {version}" if version else f"Swagger {document.get('swagger')}"
        raise BadInput(f"it is {said}, OpenAPI 3 was expected", "Convert it first." if not version else "")
    paths = document.get("paths")
    found: dict[str, Operation] = {}
    for path, item in paths.items() if isinstance(paths, dict) else ():
        shared = resolved(item, document, f"paths.{path}")
        for method in _METHODS:
            operation = shared.get(method)
            if isinstance(operation, dict):
                name = _name(str(operation.get("operationId") or f"{method} {path}"), found)
                try:
                    tool = _tool(name, operation, shared, document)
                    summary = str(operation.get("summary") or "").strip()
                    found[name] = Operation(tool, method, str(path), summary, *(_answer(operation, document) if answers else ()))
                except BadInput as error:
                    raise BadInput(f"{method} {path}: {error}", error.hint) from None
                except RecursionError:
                    raise BadInput(f"{method} {path}: its schema is nested deeper than any that people write") from None
    if not found:
        raise BadInput("it has no operations, paths with get, post and the like were expected")
    return tuple(found.values())


def _answer(operation: Mapping[str, Any], document: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The schema of the first answer that is a success, and what is said of it."""
    responses = operation.get("responses")
    told = {str(status): each for status, each in responses.items()} if isinstance(responses, dict) else {}
    status = min((status for status in told if status.upper().startswith("2")), default="default" if "default" in told else "")
    if not status:
        return {}, ""
    response = resolved(told[status], document, f"responses.{status}")
    said = str(response.get("description") or "").strip()
    media = _json_media(response)
    schema = Inlining(document, of_answers=True).schema(media.get("schema", {}), ())
    schema = dict(schema) if isinstance(schema, dict) else {}
    examples = media.get("examples")
    shown = [media["example"]] if "example" in media else []
    for each in examples.values() if isinstance(examples, dict) else ():
        example = resolved(each, document, "examples")
        shown += [example["value"]] if "value" in example else []
    if shown and "example" not in schema:
        schema["example"] = shown[0]
    return schema, said


def _json_media(holder: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """What stands under JSON's media type, whatever it is called here, or under one of the others; empty where none does."""
    content = holder.get("content")
    media = {str(kind).partition(";")[0].strip().lower(): each for kind, each in content.items()} if isinstance(content, dict) else {}
    kinds = [kind for kind in media if kind == "application/json"] + [kind for kind in media if kind.endswith(("+json", "/json", "*/*"))]
    return next((media[kind] for kind in [*kinds, *others] if isinstance(media.get(kind), dict)), {})


def _document(text: bytes) -> dict[str, Any] | None:
    """The document in a JSON or YAML text; None where it is something else."""
    try:
        value: Any = parse(text)
    except NotStrict as problem:
        if str(problem).startswith("nesting"):
            raise BadInput(f"it cannot be read: {problem}") from None
        value = None if text.startswith((b"{", b"[")) else _yaml(text)
    if not _is_measured(value):
        raise BadInput(f"it has more than {_MOST_VALUES:,} values in it, anchors resolved")
    return value if isinstance(value, dict) and ("openapi" in value or "swagger" in value) else None


def inlined(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with everything that it refers to in its place. Raises `BadInput` for a `$ref` to elsewhere, or to nothing."""
    found = Inlining(root).schema(schema, ())
    return found if isinstance(found, dict) else {}


def _tool(name: str, operation: Mapping[str, Any], item: Mapping[str, Any], document: Mapping[str, Any]) -> Tool:
    inlining = Inlining(document)
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
    body = resolved(operation.get("requestBody") or {}, document, "requestBody")
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
            parameter = resolved(each, document, "parameters")
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


def _body(body: Mapping[str, Any], inlining: Inlining) -> Iterator[tuple[str, Any, bool]]:
    """The properties of a body that is an object, each with whether it must be given; any other body as one called `body`."""
    media = _json_media(body, *_FORMS)
    if not media:
        return
    needed = body.get("required") is True
    schema = inlining.schema(media.get("schema", {}), ())
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
