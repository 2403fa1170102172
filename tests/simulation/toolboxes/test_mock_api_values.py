"""Generated values fit their schemas and names, and any OpenAPI file can be mocked."""

import asyncio
import json
import re
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest

from callmark.calls.schema import Schemas
from callmark.errors import BadInput
from callmark.simulation.mock_api.effects import find_effect
from callmark.simulation.mock_api.names import key_stem, plural, resource_noun, singular, split_name, with_article
from callmark.simulation.mock_api.patterns import text_matching
from callmark.simulation.mock_api.relations import ResourceRelations
from callmark.simulation.mock_api.resource_kinds import Field, ResourceKind, ResourceKinds
from callmark.simulation.mock_api.resource_store import ResourceStore
from callmark.simulation.mock_api.sample_data import FIRST_NAMES, LAST_NAMES, TODAY
from callmark.simulation.mock_api.values import ValueContext, ValueGenerator
from callmark.simulation.openapi import read_api
from callmark.simulation.operations import Operation
from callmark.simulation.toolboxes.mock_api import MockApiToolSource
from callmark.types import Call, Tool

MANY = 40  # seeds


def generate(schema: Any, name: str = "value", kind: str = "thing") -> list[Any]:
    return [ValueGenerator(f"seed-{number}").generate(schema, name, ValueContext(kind, f"k{number}")) for number in range(MANY)]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "string", "enum": ["a", "b"]},
        {"type": ["string", "null"], "enum": ["a", None]},
        {"const": 7},
        {"type": "string", "format": "date"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "email"},
        {"type": "string", "format": "uuid"},
        {"type": "string", "format": "uri"},
        {"type": "string", "pattern": "^RL[0-9]{6}$"},
        {"type": "string", "pattern": "^(AB|CD)-[A-Z]{2,4}(_x)?\\d+$"},
        {"type": "string", "pattern": "^(?=.*x)never supported$"},
        {"type": "string", "minLength": 30},
        {"type": "string", "maxLength": 3},
        {"type": "integer", "minimum": 1000, "maximum": 1003},
        {"type": "integer", "maximum": -5},
        {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
        {"type": "integer", "minimum": 5, "maximum": 50, "multipleOf": 5},
        {"type": "number", "minimum": 0.25, "maximum": 0.3},
        {"type": "number", "exclusiveMinimum": 99},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}, "maxItems": 1},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "object", "properties": {"b": {"type": "number"}}}}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"required": ["b"], "properties": {"b": {"const": 1}}}]},
        {"oneOf": [{"type": "null"}, {"type": "integer", "minimum": 5}]},
        {"anyOf": [{"type": "string", "enum": ["p"]}, {"type": "integer"}]},
        {"properties": {"untyped": {"type": "string"}}},
        {},
    ],
)
def test_generated_value_fits_its_schema(schema: dict[str, Any]) -> None:
    wanted = Tool("x", "", {"type": "object", "properties": {"value": schema}})
    is_unsupported = "(?=" in schema.get("pattern", "")
    for value in generate(schema):
        assert is_unsupported or Schemas([wanted]).violations(Call("x", {"value": value})) == []


@pytest.mark.parametrize(
    ("name", "kind", "schema", "looks"),
    [
        ("email", "user", {}, r"[a-z]+\.[a-z]+\d\d@example\.com"),
        ("firstName", "user", {}, r"[A-Z][a-z]+"),
        ("name", "customer", {}, r"[A-Z][a-z]+ [A-Z][a-z]+"),
        ("name", "product", {"example": "Thing"}, r"[A-Z][a-z]+( [A-Z][a-z]+)?"),
        ("zip", "user", {}, r"\d{5}"),
        ("address1", "user", {}, r"\d+ [A-Z]\w+ \w+"),
        ("phone", "user", {}, r"\d{3}-555-01\d\d"),
        ("price", "item", {"type": "number"}, r"\d{1,3}\.\d{1,2}"),
        ("placed_on", "order", {}, r"2025-\d\d-\d\d"),
        ("order_id", "order", {"example": "#W0000000"}, r"#W[1-9]\d{6}"),
        ("order_id", "order", {"description": "The order id, such as '#W0000000'."}, r"#W\d{7}"),
        ("user_id", "user", {"example": "sara_doe_496"}, r"[a-z]+_[a-z]+_\d{3}"),
        ("ticket_id", "ticket", {}, r"TIC-\d{5}"),
        ("seat", "booking", {"example": "A1"}, r"A[1-9]"),
        ("city", "user", {"examples": ["Bonn", "Ulm"]}, r"Bonn|Ulm"),
        ("photoUrl", "pet", {}, r"https://example\.com/\S+"),
        ("doctor", "visit", {}, r"[A-Z][a-z]+ [A-Z][a-z]+"),
        ("plate", "car", {}, r"[A-Z]{3}-\d{4}"),
        ("mrn", "patient", {}, r"[A-Z]{3}-\d{4}"),
        ("iban", "account", {}, r"DE\d{20}"),
        ("flavor", "cake", {}, r"[A-Z][a-z]+"),
    ],
)
def test_generated_value_fits_its_name(name: str, kind: str, schema: dict[str, Any], looks: str) -> None:
    values = generate({"type": "string", **schema}, name, kind)
    assert all(re.fullmatch(looks, str(value)) for value in values), values[:3]
    assert len(set(values)) > 1


def test_same_place_has_the_same_value() -> None:
    context = ValueContext("user", "u1")
    one, other = ValueGenerator("s"), ValueGenerator("s")
    assert [one.generate({"type": "string"}, name, context) for name in ("email", "city")] == [
        other.generate({"type": "string"}, name, context) for name in ("email", "city")
    ]
    first, last = one.person(context)
    assert one.generate({"type": "string"}, "email", context).startswith(f"{first}.{last}".lower())


@pytest.mark.parametrize(
    "pattern", ["[", "(", "a{", "[^a]", "\\p{L}", "(?P<a>b)", "*", "a" * 300, "(" * 150, "a{999}b{999}", "\\", "(((a+)+)+)+"]
)
def test_unsupported_pattern_gives_none_or_a_match(pattern: str) -> None:
    text = text_matching(pattern, Random(1))
    assert text is None or re.search(pattern, text)


@pytest.mark.parametrize("inside", ["a", ""])
def test_deeply_nested_repetition_gives_none(inside: str) -> None:
    assert text_matching("(" * 40 + inside + ")*" * 40, Random(1)) is None


@pytest.mark.parametrize("bound", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
@pytest.mark.parametrize("value", [1e-320, 10**400, -(10**400), float("inf"), float("nan")])
@pytest.mark.parametrize("type_", ["integer", "number"])
def test_unusable_bound_is_ignored(bound: str, value: float, type_: str) -> None:
    assert generate({"type": type_, bound: value}) == generate({"type": type_})


@pytest.mark.parametrize(
    ("name", "future"), [("deliveryDate", True), ("next_visit", True), ("due_on", True), ("date", True), ("created_on", False)]
)
def test_date_is_in_the_future_where_its_name_says_so(name: str, future: bool) -> None:
    assert {value > TODAY.isoformat() for value in generate({"type": "string", "format": "date"}, name)} == {future}


@pytest.mark.parametrize(
    "expected",
    ["an umbrella", "a unit", "a university", "a one-time code", "an hour", "a user", "an unpaid order", "an order", "a house", "a URL"],
)
def test_article_follows_the_sound(expected: str) -> None:
    assert with_article(expected.partition(" ")[2]) == expected


@pytest.mark.parametrize("part", ["a", "a-", "a "])
def test_reading_a_long_description_takes_time_in_proportion_to_its_length(part: str) -> None:
    kind = ResourceKind("order", "id", ("id",), {"status": {"enum": ["pending", "done"]}})

    def seconds(length: int) -> float:
        text = part * (length // len(part))
        operation = Operation(Tool("cancel_order", f"{text}. Cancel a pending order.", {}), "post", "/cancel")
        times = []
        for _ in range(3):
            begun = process_time()
            assert find_effect(operation, kind, text).allowed_values == ("pending",)
            times.append(process_time() - begun)
        return min(times)

    assert seconds(200_000) < 60 * seconds(10_000) + 0.1  # 20 times as long; it would be 400 times as slow if it were quadratic


def test_main_key_of_a_kind_has_precedence() -> None:
    kind = ResourceKind("order", "id", ("id", "order_id", "orderNumber"), {"id": {}}, {"id"}, {"id": Field("id", {})})
    kinds = ResourceKinds([])
    kinds.by_name["order"] = kind
    things = ResourceStore(ResourceRelations(kinds), "s")
    assert things.create("order", {"orderNumber": "n", "order_id": "o", "id": "i"})["id"] == "i"
    assert things.create("order", {"orderNumber": "n", "order_id": "o"})["id"] == "o"


@pytest.mark.parametrize(
    ("name", "words", "noun", "stem"),
    [
        ("order_id", ("order", "id"), "order_id", "order"),
        ("orderIds", ("order", "ids"), "order_ids", "order"),
        ("OrderSummary", ("order", "summary"), "order", None),
        ("categories", ("categories",), "category", None),
        ("movies", ("movies",), "movie", None),
        ("MovieListItem", ("movie", "list", "item"), "movie", None),
        ("id", ("id",), "id", ""),
        ("cardNumber", ("card", "number"), "card_number", "card"),
        ("addresses", ("addresses",), "address", None),
        ("", (), "", None),
        ("日本", (), "", None),
    ],
)
def test_name_is_split_into_words(name: str, words: tuple[str, ...], noun: str, stem: str | None) -> None:
    assert (split_name(name), resource_noun(name), key_stem(name)) == (words, noun, stem)


@pytest.mark.parametrize("noun", ["order", "box", "category", "payment method", "dish", "day", "lens"])
def test_singular_inverts_plural(noun: str) -> None:
    assert singular(plural(noun)) == singular(noun) == noun


def document(tmp_path: Path, answer: Any, **more: Any) -> str:
    content = {"content": {"application/json": {"schema": answer}}} if answer is not None else {}
    operation = {"operationId": "look", "responses": {"200": {"description": "Looked.", **content}}}
    path = tmp_path / "api.json"
    path.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "T"}, "paths": {"/x": {"get": operation}}, **more}), encoding="utf-8")
    return str(path)


def looked(path: str) -> str:
    async def converse() -> str:
        async with MockApiToolSource("openapi:x", read_api(path)) as source, source.open_toolbox("c/0/x") as toolbox:
            await toolbox.state()
            return (await toolbox.call(Call("look", {}))).text

    return asyncio.run(converse())


_TREE = {
    "type": "object",
    "required": ["tree_id", "children"],
    "properties": {
        "tree_id": {"type": "string"},
        "parent": {"$ref": "#/components/schemas/Tree"},
        "children": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Tree"}},
    },
}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "Looked."),
        ({}, "Looked."),
        ({"$ref": "#/components/schemas/Tree"}, '{"tree_id":"TRE-'),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}, '[{"tree_id":"TRE-'),
        ({"type": "string", "enum": [f"v{number}" for number in range(20_000)]}, "v"),
        ({"type": "object", "properties": {"a": {"type": "strange"}}}, '{"a":"'),
        ({"type": "object", "properties": {"a": True, "b": []}}, '{"a":"'),
        ({"type": "array"}, "[]"),
        ({"type": "array", "minItems": 10**9, "items": {"type": "integer"}}, "["),
        ({"type": "string", "minLength": 10**9}, ""),
        ({"type": "integer", "minimum": 10, "maximum": 1}, "1"),
    ],
)
def test_any_response_schema_works(tmp_path: Path, answer: Any, expected: str) -> None:
    text = looked(document(tmp_path, answer, components={"schemas": {"Tree": _TREE}}))
    assert text.startswith(expected)
    assert len(text) < 5000


def test_operation_without_responses_returns_ok(tmp_path: Path) -> None:
    path = tmp_path / "api.json"
    path.write_text('{"openapi": "3.0.0", "paths": {"/x": {"get": {"operationId": "look"}}}}', encoding="utf-8")
    assert looked(str(path)) == "OK"


@pytest.mark.parametrize("depth", [150, 10_000])
def test_deep_nesting_is_refused_or_cut(tmp_path: Path, depth: int) -> None:
    answer = '{"type":"array","items":' * depth + '{"type":"string"}' + "}" * depth
    whole = document(tmp_path, "HERE")
    Path(whole).write_text(Path(whole).read_text(encoding="utf-8").replace('"HERE"', answer), encoding="utf-8")
    if depth < 200:
        assert looked(whole).startswith("[")
    else:
        with pytest.raises(BadInput, match="cannot be parsed: nesting deeper than 200"):
            looked(whole)


def test_wrapped_response_has_the_inner_kind(tmp_path: Path) -> None:
    movie = {"type": "object", "properties": {"id": {"type": "integer"}, "title": {"type": "string"}}}
    page = {
        "type": "object",
        "properties": {"data": {"properties": {"total": {"type": "integer"}, "items": {"type": "array", "items": movie}}}},
    }
    operations = {
        "/movies": {"get": {"operationId": "look", "responses": {"200": {"content": {"application/json": {"schema": page}}}}}},
        "/movies/{id}": {"delete": {"operationId": "drop", "parameters": [{"name": "id", "in": "path", "schema": {"type": "integer"}}]}},
    }
    path = tmp_path / "api.json"
    path.write_text(json.dumps({"openapi": "3.0.0", "paths": operations}), encoding="utf-8")

    async def converse() -> tuple[Any, Any]:
        async with MockApiToolSource("openapi:x", read_api(str(path))) as source, source.open_toolbox("c/0/x") as toolbox:
            before = json.loads((await toolbox.call(Call("look", {}))).text)
            await toolbox.call(Call("drop", {"id": before["data"]["items"][0]["id"]}))
            return before, json.loads((await toolbox.call(Call("look", {}))).text)

    before, after = asyncio.run(converse())
    assert before["data"]["total"] == len(before["data"]["items"]) > 1
    assert after == {"data": {"total": before["data"]["total"] - 1, "items": before["data"]["items"][1:]}}


def test_path_parameter_is_a_key_regardless_of_its_name() -> None:
    kinds = ResourceKinds(read_api(str(Path(__file__).parents[2] / "synthesis" / "clinic_api.yaml")).operations)
    assert {name: kind.key for name, kind in kinds.by_name.items()} == {"patient": "mrn", "appointment": "number", "car": "plate"}
    assert kinds.kind_of_parameter("plate", "/fuel") == "car"


@pytest.mark.parametrize(("fields", "person"), [(["iban", "balance"], False), (["iban", "email"], True)])
def test_account_with_personal_fields_is_a_person(fields: list[str], person: bool) -> None:
    assert ResourceKind("account", "iban", ("iban",), {field: {} for field in fields}).is_person is person


def test_kinds_are_found_by_keys() -> None:
    kinds = ResourceKinds(read_api(str(Path(__file__).parents[2] / "synthesis" / "retail_api.yaml")).operations)
    assert {name: kind.key for name, kind in kinds.by_name.items()} == {
        "user": "user_id",
        "payment_method": "payment_method_id",
        "product": "product_id",
        "item": "item_id",
        "order": "order_id",
        "coupon": "coupon_code",
    }
    assert kinds.kind_of_field("new_item_ids") == "item"
    assert kinds.kind_of_field("reason") == ""
    assert kinds.by_name["user"].fields["orders"].role == "keys"
    assert kinds.by_name["order"].fields["items"].role == "whole"
    assert kinds.created_only == {"coupon"}


def test_person_in_another_resource_has_the_name_of_a_person() -> None:
    guest = {"type": "object", "properties": {"name": {"type": "string"}, "email": {"type": "string"}}}
    values = ValueGenerator("s")
    found = values.generate(guest, "guest", ValueContext("booking", "B-1"))
    first, last = found["name"].split()
    assert (first in FIRST_NAMES, last in LAST_NAMES) == (True, True)
    assert found["email"].startswith(f"{first}.{last}".lower())
    assert values.generate(guest, "mainGuest", ValueContext("booking", "B-2")) != found


@pytest.mark.parametrize("example, is_sum", [("2 + 2", True), ("10 * 2.5 - 1", True), ("2025-01-02", False), ("two plus 2", False)])
def test_example_of_a_calculation_gives_other_calculations(example: str, is_sum: bool) -> None:
    schema = {"type": "string", "description": f"An expression such as '{example}'"}
    values = ValueGenerator("s")
    found = {values.generate(schema, "expression", ValueContext("", str(number))) for number in range(20)}
    assert (len(found) > 10, found == {example}) == (is_sum, not is_sum)
    assert not is_sum or all(len(value.split()) == len(example.split()) for value in found)
