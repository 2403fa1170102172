from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.simulation.scenario_checks import check_expected_calls
from callmark.types import Call, Case, Place, Tool

OPEN_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {}}, "additionalProperties": True}
TOOLS = (
    Tool("Desk-create_ticket", "", {"type": "object", "properties": {"title": {"type": "string"}, "priority": {"type": "string"}}}),
    Tool("Desk-list_all", "", {"type": "object", "properties": {}}),
    Tool("Desk-open", "", OPEN_SCHEMA),
    Tool("Desk-no_schema"),
    Tool("Desk-either", "", {"anyOf": [{"properties": {"x": {}}}, {"$ref": "#/$defs/y"}], "$defs": {"y": {"properties": {"y": {}}}}}),
)


def case(*expected: Call, **more: Any) -> Case:
    return Case("s1", place=Place("s.jsonl", 3), instructions="x", expected=expected, **more)


@pytest.mark.parametrize(
    "call",
    [
        Call("Desk-create_ticket", {"title": "t"}),
        Call("DESK-Create_Ticket", {"title": {"$any": True}}),
        Call("Desk-list_all"),
        Call("Desk-open", {"whatever": 1}),
        Call("Desk-no_schema", {"whatever": 1}),
        Call("Desk-either", {"x": 1, "y": 2}),
        Call("CommonPlugin-anything", {"whatever": 1}),
        Call("My-ask_clarification"),
    ],
    ids=str,
)
def test_scenario_with_acceptable_calls_passes(call: Call) -> None:
    check_expected_calls(case(call), TOOLS)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (
            Call("Desk-create_tickets"),
            "it expects Desk-create_tickets, which is not one of the available tools. Did you mean Desk-create_ticket?",
        ),
        (Call("zzz"), "it expects zzz, which is not one of the available tools"),
        (
            Call("Desk-create_ticket", {"titel": "t"}),
            "it expects Desk-create_ticket with 'titel', which is not one of its parameters. Did you mean title",
        ),
        (Call("Desk-create_ticket", {"Title": "t"}), "with 'Title', which is not one of its parameters. Did you mean title"),
        (Call("Desk-list_all", {"a": 1}), "with 'a', which is not one of its parameters"),
        (Call("Desk-either", {"z": 1}), "with 'z', which is not one of its parameters"),
        (Call("", malformed="no name", text='{"arguments": {}}'), r"an expected call is malformed \(no name\): "),
    ],
    ids=str,
)
def test_scenario_with_unacceptable_call_is_refused_with_file_and_line(call: Call, sentence: str) -> None:
    with pytest.raises(BadInput, match=f"^s.jsonl, line 3: scenario 's1' cannot be simulated because .*{sentence}") as raised:
        check_expected_calls(case(Call("Desk-list_all"), call), TOOLS)
    assert raised.value.hint or call.malformed
    with pytest.raises(BadInput, match=sentence):
        check_expected_calls(case(alternatives=((call,),)), TOOLS)


def test_ignore_list_can_be_replaced() -> None:
    scenario = case(Call("Look-up"))
    check_expected_calls(scenario, TOOLS, ignore=("Look-*",))
    with pytest.raises(BadInput, match="it expects Look-up"):
        check_expected_calls(scenario, TOOLS)
    with pytest.raises(BadInput, match="it expects CommonPlugin-x"):
        check_expected_calls(case(Call("CommonPlugin-x")), TOOLS, ignore=())


def test_scenario_without_expected_calls_or_tools_passes() -> None:
    check_expected_calls(case(), TOOLS)
    check_expected_calls(case(Call("zzz")), ())


def test_scenario_without_a_place_is_named_by_its_id() -> None:
    with pytest.raises(BadInput, match=r"^scenario 'py' cannot be simulated because it expects zzz"):
        check_expected_calls(Case("py", instructions="x", expected=(Call("zzz"),)), TOOLS)
