"""The help desk's backend: what its tools do and refuse, and that the same seed gives the same bytes."""

import json
from typing import Any

import pytest

from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.desk import Desk

TICKET = {
    "title": "Server performance degradation",
    "department_code": "IT",
    "priority": "Critical",
    "workflow_type": "Expedited",
    "description": "Main application server is experiencing significant performance degradation",
    "expected_outcome": "Server performance restored to normal levels",
}
ITEM = {
    "title": "Increase server memory allocation",
    "assigned_to": "John Smith",
    "description": "Allocate additional memory resources to the main application server",
    "due_date": "2025-05-10",
}


@pytest.fixture(scope="module")
def seeded() -> Desk:
    return Desk(7)


@pytest.fixture
def desk(seeded: Desk) -> Desk:
    return seeded.copy()


def call_tool(desk: Desk, tool: str, arguments: dict[str, Any]) -> Any:
    result = desk.call(tool, arguments)
    assert not result.is_error, result.text
    return json.loads(result.text)


def find_ticket(desk: Desk, **fields: str) -> str:
    return next(key for key, row in desk.state()["tickets"].items() if fields.items() <= row.items())


def test_same_seed_gives_the_same_bytes() -> None:
    assert json.dumps(Desk(7).state()) == json.dumps(Desk(7).state())
    assert Desk(7).state() != Desk(8).state()


def test_desk_starts_with_forty_tickets_and_thirty_action_items(desk: Desk) -> None:
    state = desk.state()
    assert list(state["tickets"]) == [f"TKT-{number}" for number in range(1001, 1041)]
    assert list(state["action_items"]) == [f"AI-{number}" for number in range(2001, 2031)]
    assert len({row["title"] for row in state["tickets"].values()}) == 40
    assert {row["status"] for row in state["tickets"].values()} == {"Open", "In Progress", "On Hold", "Resolved", "Closed"}
    assert all(state["tickets"][item["ticket_id"]]["status"] != "Closed" for item in state["action_items"].values())
    assert not [row for row in state["tickets"].values() if (row["priority"], row["status"]) == ("Critical", "Closed")]


def test_lob_evaluation_example_works(desk: Desk) -> None:
    ticket = call_tool(desk, tools.CREATE_TICKET, TICKET)
    assert (ticket["ticket_id"], ticket["status"]) == ("TKT-1041", "Open")
    item = call_tool(desk, tools.CREATE_ITEM, {"ticket_id": ticket["ticket_id"], **ITEM})
    assert item["action_item_id"] == "AI-2031"
    assert desk.state()["tickets"]["TKT-1041"] == {**TICKET, "status": "Open"}
    assert desk.state()["action_items"]["AI-2031"] == {**ITEM, "ticket_id": "TKT-1041", "status": "Open"}
    assert call_tool(desk, tools.GET_TICKET, {"ticket_id": "TKT-1041"})["action_items"] == [item]


def test_copies_are_independent(seeded: Desk) -> None:
    first, other = seeded.copy(), seeded.copy()
    call_tool(first, tools.CREATE_TICKET, TICKET)
    assert "TKT-1041" not in other.state()["tickets"]
    assert call_tool(other, tools.CREATE_TICKET, {**TICKET, "title": "Another"})["ticket_id"] == "TKT-1041"
    assert first.state()["tickets"]["TKT-1041"]["title"] != "Another"


def test_update_changes_only_the_given_fields(desk: Desk) -> None:
    ticket_id = find_ticket(desk, status="Open", priority="Low")
    before = desk.state()["tickets"][ticket_id]
    call_tool(desk, tools.UPDATE_TICKET, {"ticket_id": ticket_id, "priority": "High", "title": None})
    assert desk.state()["tickets"][ticket_id] == {**before, "priority": "High"}
    item_id = call_tool(desk, tools.CREATE_ITEM, {"ticket_id": ticket_id, **ITEM})["action_item_id"]
    call_tool(desk, tools.UPDATE_ITEM, {"action_item_id": item_id, "status": "Done"})
    assert desk.state()["action_items"][item_id] == {**ITEM, "ticket_id": ticket_id, "status": "Done"}


@pytest.mark.parametrize(
    "arguments, matches",
    [
        ({}, lambda row: True),
        ({"department_code": "IT"}, lambda row: row["department_code"] == "IT"),
        ({"status": "Open", "priority": "High"}, lambda row: (row["status"], row["priority"]) == ("Open", "High")),
        ({"query": "PRINTER"}, lambda row: "printer" in (row["title"] + row["description"]).lower()),
        ({"query": "the door that does not lock"}, lambda row: row["title"] == "Door does not lock"),
        ({"query": "no such words anywhere"}, lambda row: False),
    ],
)
def test_search_returns_exactly_the_matching_tickets(desk: Desk, arguments: dict[str, str], matches: Any) -> None:
    found = call_tool(desk, tools.SEARCH_TICKETS, arguments)
    expected = [key for key, row in desk.state()["tickets"].items() if matches(row)]
    assert found["count"] == len(expected)
    assert [row["ticket_id"] for row in found["tickets"]] == expected[:20]


def test_critical_ticket_closes_only_with_a_done_action_item(desk: Desk) -> None:
    ticket = call_tool(desk, tools.CREATE_TICKET, TICKET)["ticket_id"]
    closing = {"ticket_id": ticket, "status": "Closed"}
    assert "none of its action items is Done" in desk.call(tools.UPDATE_TICKET, closing).text
    assert desk.call(tools.UPDATE_TICKET, {**closing, "priority": "Low"}).is_error
    item = call_tool(desk, tools.CREATE_ITEM, {"ticket_id": ticket, **ITEM})["action_item_id"]
    call_tool(desk, tools.UPDATE_ITEM, {"action_item_id": item, "status": "Done"})
    assert call_tool(desk, tools.UPDATE_TICKET, closing)["status"] == "Closed"


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("delete_ticket", {}, "there is no tool 'delete_ticket'"),
    (tools.CREATE_TICKET, {}, "title, department_code, priority, workflow_type are missing"),
    (tools.CREATE_TICKET, {**TICKET, "title": "  "}, 'title: expected a non-empty string, got "  "'),
    (tools.CREATE_TICKET, {**TICKET, "title": 7}, "title: expected a non-empty string, got 7"),
    (tools.CREATE_TICKET, {**TICKET, "title": "\ud800"}, 'title: expected a non-empty string, got "\\ud800"'),
    (tools.CREATE_TICKET, {**TICKET, "priority": "Urgent"}, 'priority: expected one of Low, Medium, High, Critical; got "Urgent"'),
    (tools.CREATE_TICKET, {**TICKET, "department_code": "XX"}, "department_code: expected one of IT (Information Technology), HR"),
    (tools.CREATE_TICKET, {**TICKET, "colour": "red"}, '"colour" is not an argument'),
    (tools.UPDATE_TICKET, {"ticket_id": "TKT-9"}, "there is no ticket 'TKT-9'"),
    (tools.UPDATE_TICKET, {"ticket_id": "TKT-1001"}, "no changes for TKT-1001"),
    (tools.SEARCH_TICKETS, {"status": "open"}, "status: expected one of Open"),
    (tools.SEARCH_TICKETS, {"department_code": "it"}, 'got "it"'),
    (tools.GET_TICKET, {"ticket_id": "1001"}, "there is no ticket '1001'"),
    (tools.CREATE_ITEM, {"ticket_id": "TKT-1001", **ITEM, "due_date": "soon"}, 'due_date: expected a date such as 2025-05-10, got "soon"'),
    (tools.CREATE_ITEM, {"ticket_id": "TKT-1001", **ITEM, "due_date": "2025-02-30"}, 'got "2025-02-30"'),
    (tools.CREATE_ITEM, {"ticket_id": "TKT-1001", **ITEM, "due_date": "20250510"}, 'got "20250510"'),
    (tools.CREATE_ITEM, {"ticket_id": "TKT-1", **ITEM}, "there is no ticket 'TKT-1'"),
    (tools.UPDATE_ITEM, {"action_item_id": "AI-1", "status": "Done"}, "there is no action item 'AI-1'"),
    (tools.UPDATE_ITEM, {"action_item_id": "AI-2001"}, "no changes for AI-2001"),
    (tools.LIST_ITEMS, {"ticket_id": ""}, 'ticket_id: expected a non-empty string, got ""'),
]


@pytest.mark.parametrize("tool, arguments, sentence", REFUSED, ids=range(len(REFUSED)))
def test_invalid_call_is_refused_and_changes_nothing(desk: Desk, tool: str, arguments: dict[str, Any], sentence: str) -> None:
    before = desk.state()
    result = desk.call(tool, arguments)
    assert result.is_error
    assert sentence in result.text
    assert desk.state() == before


def test_closed_ticket_cannot_be_changed(desk: Desk) -> None:
    closed = find_ticket(desk, status="Closed")
    before = desk.state()
    assert "is closed and cannot be changed" in desk.call(tools.UPDATE_TICKET, {"ticket_id": closed, "status": "Open"}).text
    assert "is closed" in desk.call(tools.CREATE_ITEM, {"ticket_id": closed, **ITEM}).text
    assert desk.state() == before


def test_every_argument_of_every_tool_is_described() -> None:
    assert len(tools.TOOLS) == 13
    for tool in tools.TOOLS:
        assert tool.description
        assert set(tool.parameters["required"]) <= set(tool.parameters["properties"])
        assert all(argument["description"] for argument in tool.parameters["properties"].values())
