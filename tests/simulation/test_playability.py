from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.simulation.playability import refuse_unknown_functions
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
def test_scenario_with_acceptable_calls_is_playable(call: Call) -> None:
    refuse_unknown_functions(case(call), TOOLS)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (Call("Desk-create_tickets"), "expects Desk-create_tickets, which is no tool that there is. Did you mean Desk-create_ticket?"),
        (Call("zzz"), "expects zzz, which is no tool that there is"),
        (
            Call("Desk-create_ticket", {"titel": "t"}),
            "expects Desk-create_ticket with 'titel', an argument that it does not have. Did you mean",
        ),
        (Call("Desk-create_ticket", {"Title": "t"}), "with 'Title', an argument that it does not have. Did you mean title"),
        (Call("Desk-list_all", {"a": 1}), "with 'a', an argument that it does not have"),
        (Call("Desk-either", {"z": 1}), "with 'z', an argument that it does not have"),
        (Call("", malformed="no name", text='{"arguments": {}}'), r"expects a call that is malformed \(no name\): "),
    ],
    ids=str,
)
def test_scenario_with_unacceptable_call_is_refused_with_its_place(call: Call, sentence: str) -> None:
    with pytest.raises(BadInput, match=f"s.jsonl, line 3: the scenario 's1' .*{sentence}") as raised:
        refuse_unknown_functions(case(Call("Desk-list_all"), call), TOOLS)
    assert raised.value.hint or call.malformed
    with pytest.raises(BadInput, match=sentence):
        refuse_unknown_functions(case(alternatives=((call,),)), TOOLS)


def test_another_ignore_list_counts() -> None:
    scenario = case(Call("Look-up"))
    refuse_unknown_functions(scenario, TOOLS, ignore=("Look-*",))
    with pytest.raises(BadInput, match="expects Look-up"):
        refuse_unknown_functions(scenario, TOOLS)
    with pytest.raises(BadInput, match="expects CommonPlugin-x"):
        refuse_unknown_functions(case(Call("CommonPlugin-x")), TOOLS, ignore=())


def test_scenario_without_expected_calls_or_tools_is_playable() -> None:
    refuse_unknown_functions(case(), TOOLS)
    refuse_unknown_functions(case(Call("zzz")), ())


def test_scenario_without_a_place_is_named_by_its_id() -> None:
    with pytest.raises(BadInput, match=r"^the scenario 'py' expects zzz"):
        refuse_unknown_functions(Case("py", instructions="x", expected=(Call("zzz"),)), TOOLS)
