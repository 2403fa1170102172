"""Read tools from an OpenAPI 3 file (JSON or YAML): each operation is a tool with its parameters and the properties of its JSON body.

A tool is named after its operationId, else after its method and path. References inside the file are inlined; a schema that refers to
itself, or grows too large, is cut to `{}`. OpenAPI 3.0 schemas are translated to JSON Schema.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from callmark.calls.schema import types_fit
from callmark.calls.strict import NotStrict, parse, scrub
from callmark.calls.yaml_text import InvalidYaml, read_yaml
from callmark.errors import BadInput
from callmark.formats.rows import Rows
from callmark.simulation.openapi_schemas import ReferenceInliner, SchemaBudget, resolve
from callmark.simulation.operations import Api, Operation
from callmark.types import Tool

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_LOCATIONS = ("path", "query", "header")
_RESERVED_HEADERS = frozenset({"accept", "content-type", "authorization"})  # not parameters, by the OpenAPI specification
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_HEAD = 1 << 16  # bytes to search for the version key
_MAX_SEARCHED = 1 << 25  # bytes of a JSON object to search whole
_VERSION_KEY = re.compile(rb"""["']?(?:openapi|swagger)["']?\s*:""")
_MAX_NAME = 64

_T = TypeVar("_T")


def is_openapi(path: str) -> bool:
    """Return whether a file is OpenAPI (or Swagger), judging by its name and its version key; False for a pipe. The key may come last."""
    if path.endswith((".yaml", ".yml")):
        return True
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(_HEAD)
        if head.lstrip()[:1] == b"{" and os.path.getsize(path) <= _MAX_SEARCHED:
            head += file.read()
    return _VERSION_KEY.search(head) is not None and _document(Rows(path).read_all()) is not None


def read_openapi(path: str) -> tuple[Tool, ...]:
    """Return the tools of a file. A file that is not OpenAPI 3, has no operations or refers to other files raises `BadInput`."""
    return _read(path, openapi_tools)


def read_api(path: str) -> Api:
    """Return the API of a file, with response schemas. Raises `BadInput` like `read_openapi`."""
    return _read(path, _api)


def openapi_tools(document: Mapping[str, Any]) -> tuple[Tool, ...]:
    """Return the tools of a document, in order."""
    return tuple(each.tool for each in _operations(document, responses=False))


def _read(path: str, reader: Callable[[dict[str, Any]], _T]) -> _T:
    text = Rows(path).read_all()
    try:
        document = _document(text)
        if document is None:
            raise BadInput("not an OpenAPI file: expected JSON or YAML with openapi: 3.x")
        return reader(document)
    except BadInput as error:
        raise BadInput(f"{scrub(path)}: {error}", error.hint) from None


def _api(document: Mapping[str, Any]) -> Api:
    info = document.get("info")
    texts = {key: text.strip() for key, text in info.items() if isinstance(text, str)} if isinstance(info, dict) else {}
    return Api(texts.get("title", ""), texts.get("description", ""), _operations(document, responses=True))


def _operations(document: Mapping[str, Any], *, responses: bool) -> tuple[Operation, ...]:
    version = str(document.get("openapi", ""))
    if not version.startswith("3."):
        found_version = f"OpenAPI {version}" if version else f"Swagger {document.get('swagger')}"
        raise BadInput(f"expected OpenAPI 3, got {found_version}", "Convert it to OpenAPI 3 first." if not version else "")
    paths = document.get("paths")
    found: dict[str, Operation] = {}
    numbers: dict[str, int] = {}
    budget = SchemaBudget()
    for path, item in paths.items() if isinstance(paths, dict) else ():
        shared = resolve(item, document, f"paths.{path}")
        for method in _METHODS:
            operation = shared.get(method)
            if isinstance(operation, dict):
                name = _name(str(operation.get("operationId") or f"{method} {path}"), found, numbers)
                try:
                    tool = _tool(name, operation, shared, document, budget)
                    summary = str(operation.get("summary") or "").strip()
                    found[name] = Operation(
                        tool, method, str(path), summary, *(_response(operation, document, budget) if responses else ())
                    )
                except BadInput as error:
                    raise BadInput(f"{method} {path}: {error}", error.hint) from None
                except RecursionError:
                    raise BadInput(f"{method} {path}: the schema is nested too deeply") from None
    if not found:
        raise BadInput("no operations found: expected paths with methods such as get or post")
    return tuple(found.values())


def _response(operation: Mapping[str, Any], document: Mapping[str, Any], budget: SchemaBudget) -> tuple[dict[str, Any], str]:
    """Return the schema and the description of the first successful response; both empty if there is none."""
    responses = operation.get("responses")
    by_status = {str(status): each for status, each in responses.items()} if isinstance(responses, dict) else {}
    status = min((status for status in by_status if status.upper().startswith("2")), default="default" if "default" in by_status else "")
    if not status:
        return {}, ""
    response = resolve(by_status[status], document, f"responses.{status}")
    description = str(response.get("description") or "").strip()
    media = _json_media(response)
    schema = ReferenceInliner(document, budget=budget, for_responses=True).schema(media.get("schema", {}), ())
    schema = dict(schema) if isinstance(schema, dict) else {}
    examples = media.get("examples")
    values = [media["example"]] if "example" in media else []
    for each in examples.values() if isinstance(examples, dict) else ():
        example = resolve(each, document, "examples")
        values += [example["value"]] if "value" in example else []
    if values and "example" not in schema:
        schema["example"] = values[0]
    return schema, description


def _json_media(holder: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """Return the media type object for JSON, in any spelling, else for one of the `others`; empty if there is none."""
    content = holder.get("content")
    media = {str(kind).partition(";")[0].strip().lower(): each for kind, each in content.items()} if isinstance(content, dict) else {}
    kinds = [kind for kind in media if kind == "application/json"] + [kind for kind in media if kind.endswith(("+json", "/json", "*/*"))]
    return next((media[kind] for kind in [*kinds, *others] if isinstance(media.get(kind), dict)), {})


def _document(text: bytes) -> dict[str, Any] | None:
    """Return the OpenAPI document in a JSON or YAML text, or None if it is something else."""
    try:
        value: Any = parse(text)
    except NotStrict as problem:
        if str(problem).startswith("nesting"):
            raise BadInput(f"cannot be parsed: {problem}") from None
        if text.startswith((b"{", b"[")):
            return None
        try:
            value = read_yaml(text, "", json_booleans=True)
        except InvalidYaml:
            return None
    return value if isinstance(value, dict) and ("openapi" in value or "swagger" in value) else None


def _tool(name: str, operation: Mapping[str, Any], item: Mapping[str, Any], document: Mapping[str, Any], budget: SchemaBudget) -> Tool:
    inliner = ReferenceInliner(document, budget=budget)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in _parameters(operation, item, document):
        schema = inliner.schema(_parameter_schema(parameter), ())
        schema = dict(schema) if isinstance(schema, dict) else {}
        if isinstance(parameter.get("description"), str):
            schema["description"] = parameter["description"].strip()
        schema = _with_example(schema, parameter)
        properties[parameter["name"]] = schema
        if parameter.get("required") is True or parameter.get("in") == "path":
            required.append(parameter["name"])
    body = resolve(operation.get("requestBody") or {}, document, "requestBody")
    for key, schema, is_required in _body(body, inliner):
        key = f"body_{key}" if key in properties else key
        properties[key] = schema
        if is_required:
            required.append(key)
    texts = [text.strip() for key in ("summary", "description") if isinstance(text := operation.get(key), str) and text.strip()]
    description = "\n\n".join(dict.fromkeys(texts))
    return Tool(name, description, {"type": "object", "properties": properties, "required": required})


def _with_example(schema: dict[str, Any], parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter with the parameter's own example, if the schema has none. One that does not fit is left out."""
    named = parameter.get("examples")
    values = [each["value"] for each in named.values() if isinstance(each, dict) and "value" in each] if isinstance(named, dict) else []
    values = [parameter["example"]] if "example" in parameter else values
    fitting = [value for value in values if types_fit(value, schema, schema)]
    return schema if not fitting or schema.keys() & {"example", "examples", "enum"} else {**schema, "examples": fitting}


def _parameters(operation: Mapping[str, Any], item: Mapping[str, Any], document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters of path and operation; the operation overrides the path. Cookies and reserved headers are left out."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for listed in (item.get("parameters"), operation.get("parameters")):
        for each in listed if isinstance(listed, list) else ():
            parameter = resolve(each, document, "parameters")
            name, location = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not isinstance(location, str):
                raise BadInput("a parameter lacks 'name' or 'in'")
            if location in _LOCATIONS and not (location == "header" and name.lower() in _RESERVED_HEADERS):
                found[name, location] = parameter
    return list({name: parameter for (name, _), parameter in found.items()}.values())


def _parameter_schema(parameter: Mapping[str, Any]) -> Any:
    content = parameter.get("content")
    if isinstance(content, dict):
        return next((media.get("schema") for media in content.values() if isinstance(media, dict)), {})
    return parameter.get("schema", {})


def _body(body: Mapping[str, Any], inliner: ReferenceInliner) -> Iterator[tuple[str, Any, bool]]:
    """Yield the properties of an object body, each with whether it is required; any other body as one property named `body`.

    A property that the schema requires is required even if the body itself is optional: a call without it would send no body.
    """
    media = _json_media(body, *_FORMS)
    if not media:
        return
    schema = inliner.schema(media.get("schema", {}), ())
    merged = _merged(schema) if isinstance(schema, dict) else None
    if merged is None:
        text = body.get("description")
        described = {**schema, "description": text} if isinstance(text, str) and isinstance(schema, dict) else schema
        yield "body", described, body.get("required") is True
        return
    for name, value in merged["properties"].items():
        yield name, value, name in merged["required"]


def _merged(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the properties and required names of an object schema, including its `allOf`; None for any other schema."""
    if "anyOf" in schema or "oneOf" in schema or schema.get("type", "object") not in ("object", ["object", "null"]):
        return None
    all_of, own, own_required = schema.get("allOf", []), schema.get("properties", {}), schema.get("required", [])
    if not isinstance(all_of, list) or not isinstance(own, dict) or not isinstance(own_required, list):
        return None
    parts = [_merged(part) if isinstance(part, dict) else None for part in all_of]
    properties: dict[str, Any] = {}
    required: list[Any] = []
    for part in parts:
        if part is None:
            return None
        properties |= part["properties"]
        required += part["required"]
    properties |= own
    required += own_required
    return {"properties": properties, "required": required} if properties else None


def _name(given: str, taken: Mapping[str, Any], numbers: dict[str, int]) -> str:
    """Return a valid tool name that is not taken. `numbers` has the last number that was added to each name."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", given).strip("_")[:_MAX_NAME] or "operation"
    number = numbers.get(name, 1)
    unique = name if number == 1 else _numbered(name, number)
    while unique in taken:
        number += 1
        unique = _numbered(name, number)
    numbers[name] = number
    return unique


def _numbered(name: str, number: int) -> str:
    return f"{name[: _MAX_NAME - len(str(number)) - 1]}_{number}"
