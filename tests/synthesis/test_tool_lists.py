"""Synthesis from a plain list of tools: how the tools are understood, and conversations about them."""

import json
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.simulation.mock_api.api import MockApi
from callmark.simulation.tool_lists.read import read_tool_list
from callmark.simulation.tool_lists.verbs import method_of
from callmark.simulation.toolboxes import complete_spec
from callmark.synthesis.api_world import tool_list_world
from callmark.types import Tool
from tests.conftest import Cli
from tests.real.test_recorded import DATA

TEXT = {"type": "string"}
LIBRARY: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "search_books": ("Search books by title", {"title": TEXT, "limit": {"type": "integer"}}, ["title"]),
    "get_book": ("Get the details of a book", {"book_id": {"type": "string", "description": "such as 'B-1000'"}}, ["book_id"]),
    "find_member_id_by_email": ("Find a member by email", {"email": TEXT}, ["email"]),
    "get_member_details": ("Get the details of a member", {"member_id": TEXT}, ["member_id"]),
    "create_loan": ("Lend a book", {"member_id": TEXT, "book_id": TEXT, "renewable": {"type": "boolean"}}, ["member_id", "book_id"]),
    "close_open_loan": ("Close an open loan. The status is changed to 'closed'.", {"loan_id": TEXT}, ["loan_id"]),
    "delete_loan": ("Delete a loan", {"loan_id": TEXT}, ["loan_id"]),
    "calculate": ("Calculate an expression", {"expression": {"type": "string", "description": "such as '2 + 2'"}}, ["expression"]),
}


def definitions(form: str) -> list[dict[str, Any]]:
    found = []
    for name, (description, properties, required) in LIBRARY.items():
        schema = {"type": "object", "properties": properties, "required": required}
        body = {"name": name, "description": description}
        match form:
            case "openai":
                found.append({"type": "function", "function": {**body, "parameters": schema}})
            case "anthropic":
                found.append({**body, "input_schema": schema})
            case _:
                found.append({**body, "inputSchema": schema})
    return found


def write_tools(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("form", ["openai", "anthropic", "mcp"])
def test_every_form_gives_the_same_operations(tmp_path: Path, form: str, wrap: bool) -> None:
    tools = definitions(form)
    api = read_tool_list(write_tools(tmp_path / "tools.json", {"tools": tools} if wrap else tools))
    assert api == read_tool_list(write_tools(tmp_path / "other.json", definitions("openai")))


def test_resources_and_what_yields_their_keys_are_inferred(tmp_path: Path) -> None:
    api = MockApi(read_tool_list(write_tools(tmp_path / "tools.json", definitions("mcp"))))
    assert set(api.kinds.by_name) == {"book", "member", "loan"}
    understood = {name: (meaning.kind, meaning.key_parameter, meaning.operation.method) for name, meaning in api.meanings.items()}
    assert understood == {
        "search_books": ("book", "", "get"),
        "get_book": ("book", "book_id", "get"),
        "find_member_id_by_email": ("member", "", "get"),
        "get_member_details": ("member", "member_id", "get"),
        "create_loan": ("loan", "", "post"),
        "close_open_loan": ("loan", "loan_id", "put"),
        "delete_loan": ("loan", "loan_id", "delete"),
        "calculate": ("", "", "get"),
    }
    loans = api.kinds.by_name["member"].fields["loans"]
    assert (loans.kind, loans.many) == ("loan", True), "no tool lists loans, so the member's details do"
    assert api.meanings["close_open_loan"].effect.new_values == {"status": "closed"}
    assert api.meanings["close_open_loan"].effect.allowed_values == ("open",)


@pytest.mark.parametrize(("name", "key"), [("book_room", "booking_id"), ("book_room", "room_id"), ("pay_bill", "payment_id")])
def test_what_is_made_by_a_verb_is_the_resource_that_another_tool_takes(tmp_path: Path, name: str, key: str) -> None:
    tools = [(name, {"hotel_id": TEXT}), (f"cancel_{key.removesuffix('_id')}", {key: TEXT})]
    schemas = [{"name": tool, "inputSchema": {"type": "object", "properties": fields, "required": [*fields]}} for tool, fields in tools]
    api = read_tool_list(write_tools(tmp_path / "tools.json", schemas))
    assert key in api.operations[0].response["properties"]


def test_references_to_definitions_are_inlined(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"order_id": {"$ref": "#/definitions/Id"}}, "definitions": {"Id": {"type": "integer"}}}
    path = write_tools(tmp_path / "tools.json", [{"name": "get_order", "inputSchema": schema}])
    (operation,) = read_tool_list(path).operations
    assert operation.tool.parameters["properties"] == {"order_id": {"type": "integer"}}
    assert operation.response["properties"] == {"order_id": {"type": "integer"}}


def test_output_schema_is_the_response(tmp_path: Path) -> None:
    output = {"type": "object", "properties": {"celsius": {"type": "number", "minimum": 3, "maximum": 4}}}
    tool = {"name": "get_weather", "inputSchema": {"type": "object", "properties": {"city": TEXT}}, "outputSchema": output}
    state = MockApi(read_tool_list(write_tools(tmp_path / "tools.json", [tool]))).start("c")
    assert 3 <= json.loads(state.call("get_weather", {"city": "Bonn"}).text)["celsius"] <= 4


@pytest.mark.parametrize("expression, result", [("12 * 3.5", "42"), ("(1 + 2) / 4", "0.75"), ("-3 - 4", "-7")])
def test_mocked_calculator_is_right(tmp_path: Path, expression: str, result: str) -> None:
    state = MockApi(read_tool_list(write_tools(tmp_path / "tools.json", definitions("mcp")))).start("c")
    assert json.loads(state.call("calculate", {"expression": expression}).text) == {"result": result}


@pytest.mark.parametrize("expression", ["2 ** 9999", "__import__('os')", "1 / 0", "9" * 300, "true + 1", ""])
def test_mocked_calculator_evaluates_nothing_but_arithmetic(tmp_path: Path, expression: str) -> None:
    state = MockApi(read_tool_list(write_tools(tmp_path / "tools.json", definitions("mcp")))).start("c")
    assert not json.loads(state.call("calculate", {"expression": expression}).text)["result"].isdigit()


@pytest.mark.parametrize(
    "name, description, read_only, method",
    [
        ("get_order", "", False, "get"),
        ("list_files", "", False, "get"),
        ("create_issue", "", False, "post"),
        ("git_create_branch", "", False, "post"),
        ("update_profile", "", False, "put"),
        ("cancel_order", "", False, "put"),
        ("remove_tag", "", False, "delete"),
        ("create_preview", "", True, "get"),
        ("weather", "Returns the weather of a city.", False, "get"),
        ("tags", "Adds tags to a photo.", False, "post"),
        ("x", "", False, "get"),
    ],
)
def test_what_a_tool_does(name: str, description: str, read_only: bool, method: str) -> None:
    assert method_of(Tool(name, description, {}, read_only)) == method


@pytest.mark.parametrize(
    "content, message",
    [
        ("[]", "tools.json: the list has no tools"),
        ("{", "tools.json: expected a JSON list of tools, got text that is not JSON"),
        ('{"name": "x"}', "tools.json: expected a list of tools, or an object with a key 'tools'"),
        ('[{"description": "x"}]', r"tools.json: tools\[0\]: missing key 'name'"),
        ('[{"name": "x"}, {"name": "x"}]', r"tools.json: tools\[1\]: duplicate tool name 'x'"),
    ],
)
def test_bad_list_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        read_tool_list(str(path))


def test_path_alone_is_a_tool_list_or_an_openapi_file(tmp_path: Path) -> None:
    tools, api = write_tools(tmp_path / "t.json", definitions("mcp")), write_tools(tmp_path / "a.json", {"openapi": "3.1.0", "paths": {}})
    assert (complete_spec(tools), complete_spec(api), complete_spec("mcp:x")) == (f"tools:{tools}", f"openapi:{api}", "mcp:x")
    assert complete_spec(str(tmp_path / "missing.json")) == str(tmp_path / "missing.json")


def test_synth_calls_every_tool_and_says_that_results_are_mocked(tmp_path: Path, cli: Cli) -> None:
    path, out = write_tools(tmp_path / "tools.json", definitions("openai")), tmp_path / "data"
    told = json.loads(cli("synth", "--tools", path, "-n", "40", "-o", out, "--json").out)
    assert (told["accepted"], told["rejected"], told["mocked"]) == (40, 0, True)
    assert not [name for name, calls in told["coverage"]["tools"].items() if not calls]
    assert told["coverage"]["parameters"]["create_loan"]["renewable"], "an optional boolean is used"
    rows = [json.loads(line) for name in ("train", "valid") for line in (out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["results"] for row in rows} == {"mocked"}
    assert "No findings" in cli("lint", "--train", out / "train.jsonl", "--valid", out / "valid.jsonl").out


@pytest.mark.skipif(not DATA.exists(), reason=f"no real data in {DATA}: set CALLMARK_REAL_DATA")
def test_plans_of_the_retail_tools_call_all_fifteen() -> None:
    cases = tool_list_world(str(DATA / "retail" / "tools.json")).plans(60, seed=7)
    assert len({call.name for case in cases for call in case.expected}) == 15
