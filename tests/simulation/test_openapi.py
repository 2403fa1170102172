"""Tools from OpenAPI files: names, merged parameters, references, invalid files."""

import json
from pathlib import Path
from typing import Any

import pytest

from callmark.calls.schema import Schemas
from callmark.errors import BadInput
from callmark.simulation import openapi_schemas
from callmark.simulation.openapi import is_openapi, openapi_tools, read_openapi
from callmark.simulation.openapi_schemas import look_up
from callmark.types import Tool

PETS = """
openapi: 3.0.3
info: {title: Pets, version: 2024-01-01}
paths:
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, required: true, description: " Which pet ", schema: {type: integer}}
      - $ref: '#/components/parameters/Verbose'
    get:
      operationId: getPet
      summary: One pet
      description: All that is known of it.
      parameters:
        - {name: verbose, in: query, schema: {type: boolean, default: true}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: Authorization, in: header, schema: {type: string}}
        - {name: X-Trace, in: header, content: {application/json: {schema: {type: object}}}}
      responses: {200: {description: fine}}
    put:
      summary: Change it
      requestBody: {$ref: '#/components/requestBodies/Pet'}
  /pets:
    post:
      operationId: add pets!
      requestBody:
        required: true
        description: Many of them
        content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}
    get:
      operationId: getPet
      parameters:
        - {name: born, in: query, schema: {type: string, format: date, default: 2024-01-01}}
        - {name: 'on', in: query, schema: {type: string, enum: [yes, no]}}
components:
  parameters:
    Verbose: {name: verbose, in: query, schema: {type: string}}
  requestBodies:
    Pet:
      required: true
      content:
        application/json; charset=utf-8: {schema: {$ref: '#/components/schemas/Pet'}}
  schemas:
    Named:
      type: object
      required: [id, name]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string, nullable: true, example: Rex}
        petId: {type: string}
    Pet:
      allOf:
        - $ref: '#/components/schemas/Named'
        - type: object
          properties:
            age: {type: number, minimum: 0, exclusiveMinimum: true, x-unit: years}
            kind: {type: string, enum: [cat, dog], nullable: true}
            owner: {allOf: [{$ref: '#/components/schemas/Named'}], nullable: true}
            parents: {type: array, items: {$ref: '#/components/schemas/Pet'}}
"""


@pytest.fixture
def pets(tmp_path: Path) -> dict[str, Tool]:
    path = tmp_path / "pets.yaml"
    path.write_text(PETS, encoding="utf-8")
    return {tool.name: tool for tool in read_openapi(str(path))}


def test_tool_name_is_the_operation_id_or_method_and_path(pets: dict[str, Tool]) -> None:
    assert list(pets) == ["getPet", "put_pets_petId", "getPet_2", "add_pets"]
    assert pets["getPet"].description == "One pet\n\nAll that is known of it."
    assert pets["put_pets_petId"].description == "Change it"
    assert not any(map(Schemas(list(pets.values())).problem, pets))


def test_parameters_of_path_and_operation_are_merged(pets: dict[str, Tool]) -> None:
    assert pets["getPet"].parameters == {
        "type": "object",
        "properties": {
            "petId": {"type": "integer", "description": "Which pet"},
            "verbose": {"type": "boolean", "default": True},
            "X-Trace": {"type": "object"},
        },
        "required": ["petId"],
    }
    assert pets["getPet_2"].parameters["properties"] == {
        "born": {"type": "string", "format": "date", "default": "2024-01-01"},
        "on": {"type": "string", "enum": ["yes", "no"]},
    }


NAMED = {"type": "object", "required": ["name"], "properties": {"name": {"type": ["string", "null"]}, "petId": {"type": "string"}}}


def test_body_properties_are_parameters(pets: dict[str, Tool]) -> None:
    parameters = pets["put_pets_petId"].parameters
    assert parameters["required"] == ["petId", "name"]
    assert parameters["properties"] == {
        "petId": {"type": "integer", "description": "Which pet"},
        "verbose": {"type": "string"},
        "name": {"type": ["string", "null"]},
        "body_petId": {"type": "string"},
        "age": {"type": "number", "exclusiveMinimum": 0},
        "kind": {"type": ["string", "null"], "enum": ["cat", "dog", None]},
        "owner": {"anyOf": [{"allOf": [NAMED]}, {"type": "null"}]},
        "parents": {"type": "array", "items": {}},  # a pet again: cut
    }


def test_body_that_is_not_an_object_is_one_parameter(pets: dict[str, Tool]) -> None:
    parameters = pets["add_pets"].parameters
    assert list(parameters["properties"]) == parameters["required"] == ["body"]
    assert parameters["properties"]["body"]["type"] == "array"
    assert parameters["properties"]["body"]["description"] == "Many of them"


def document(operation: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "paths": {"/x": {"post": operation}}, **more}


def body(schema: Any, kind: str = "application/json") -> dict[str, Any]:
    return {"requestBody": {"content": {kind: {"schema": schema}}}}


@pytest.mark.parametrize(
    ("operation", "properties", "required"),
    [
        ({}, {}, []),
        (body({}), {"body": {}}, []),
        (body({"type": "object", "properties": {"a": {}}, "required": ["a"]}), {"a": {}}, ["a"]),  # although the body is not `required`
        (body({"properties": {"a": {"const": 1}}}, "application/vnd.x+json"), {"a": {"const": 1}}, []),
        (body({"properties": {"a": {}}}, "application/x-www-form-urlencoded"), {"a": {}}, []),
        (body({"type": "string"}, "text/plain"), {}, []),
        (
            body({"oneOf": [{"type": "object", "properties": {"a": {}}}]}),
            {"body": {"oneOf": [{"type": "object", "properties": {"a": {}}}]}},
            [],
        ),
        (body({"properties": {"nullable": {"type": "string"}, "example": {}}}), {"nullable": {"type": "string"}, "example": {}}, []),
    ],
)
def test_parameters_and_required_names_of_every_kind_of_body(
    operation: dict[str, Any], properties: dict[str, Any], required: list[str]
) -> None:
    (tool,) = openapi_tools(document(operation))
    assert tool.parameters == {"type": "object", "properties": properties, "required": required}


def test_oversized_schema_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openapi_schemas, "_MAX_PARTS", 500)
    schemas: dict[str, Any] = {
        f"s{n}": {"properties": {side: {"$ref": f"#/components/schemas/s{n + 1}"} for side in "ab"}} for n in range(60)
    }
    schemas["s60"] = {"type": "string"}
    (tool,) = openapi_tools(document(body({"$ref": "#/components/schemas/s0"}), components={"schemas": schemas}))
    assert len(json.dumps(tool.parameters)) < 50_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("swagger: '2.0'\npaths: {}", "expected OpenAPI 3, got Swagger 2.0"),
        ("openapi: 4.0.0\npaths: {}", "expected OpenAPI 3, got OpenAPI 4.0.0"),
        ("openapi: 3.0.0\npaths: {}", "no operations found"),
        ("openapi: 3.0.0", "no operations found"),
        ("a: [", "not an OpenAPI file"),
        ("hello: there", "not an OpenAPI file"),
        (json.dumps(document({"parameters": [{"name": "a"}]})), "post /x: a parameter lacks 'name' or 'in'"),
        (json.dumps(document(body({"$ref": "other.yaml#/Pet"}))), "post /x: $ref 'other.yaml#/Pet' points outside the file"),
        (
            json.dumps(document(body({"$ref": "#/components/schemas/Pet"}))),
            "post /x: $ref '#/components/schemas/Pet' is not defined in the file",
        ),
        ("openapi: 3.0.0\npaths: &a {/x: *a}", "line 2: the alias *a contains itself"),
    ],
)
def test_invalid_openapi_file_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "api.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as error:
        read_openapi(str(path))
    assert str(error.value).startswith(f"{path}: {expected}")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.json", json.dumps(document({})), True),
        ("a.json", json.dumps({"paths": {"/a": {"description": "a" * 100_000}}, "openapi": "3.0.0"}), True),
        ("a.txt", "openapi: 3.0.0\npaths: {}", True),
        ("a.jsonl", '{"messages": [{"role": "user", "content": "write \\"openapi\\": 3"}]}\n{"messages": []}', False),
        ("a.json", '{"messages": [], "note": "openapi: 3"}', False),
        ("a.json", "", False),
    ],
)
def test_openapi_file_is_detected_by_its_version_key(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert is_openapi(str(tmp_path / name)) is expected


def test_many_operations_with_one_name_get_numbers() -> None:
    paths = {f"/p{n}": {"get": {"operationId": "x" * 70}} for n in range(20_000)}
    names = [tool.name for tool in openapi_tools({"openapi": "3.0.0", "paths": paths})]
    assert len(set(names)) == 20_000
    assert (names[0], names[1], names[-1]) == ("x" * 64, "x" * 62 + "_2", "x" * 58 + "_20000")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(500)}},
        {"type": "string", "enum": [f"v{n}" for n in range(1000)]},
        {"type": "object", "default": {"a": [[n] for n in range(1000)]}},
        {"allOf": [{"type": "object"}] * 900},
    ],
    ids=["properties", "enum", "default", "allOf"],
)
def test_operations_that_share_a_large_schema_are_refused(monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any]) -> None:
    monkeypatch.setattr(openapi_schemas, "MAX_TOTAL", 10_000)
    parameter = {"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/Big"}}
    paths = {f"/p{n}": {"get": {"parameters": [parameter]}} for n in range(100)}
    with pytest.raises(BadInput, match=r"^get /p\d+: the schemas have more than 10,000 values, with references resolved$"):
        openapi_tools({"openapi": "3.0.0", "paths": paths, "components": {"schemas": {"Big": schema}}})


def test_a_reference_without_end_is_refused() -> None:
    parameter = {"name": "a", "in": "query", "schema": {"$ref": "#" + "/a" * 2000}}
    with pytest.raises(BadInput, match=r"get /x: \$ref: expected at most 2,000 characters, got 4,001"):
        openapi_tools({"openapi": "3.0.0", "paths": {"/x": {"get": {"parameters": [parameter]}}}})


TAG: dict[str, Any] = {"type": "string", "maxLength": 3}


@pytest.mark.parametrize(("place", "expected"), [("0", TAG), ("1", None), ("-1", None), ("x", None), ("\u0661", None), ("9" * 9, None)])
def test_reference_may_point_into_a_list(place: str, expected: Any) -> None:
    root = {"components": {"schemas": {"Tag": {"allOf": [TAG]}}}}
    reference = f"#/components/schemas/Tag/allOf/{place}"
    if expected is not None:
        assert look_up(reference, root) == expected
        return
    with pytest.raises(BadInput, match="is not defined in the file"):
        look_up(reference, root)
