"""The help desk's tool definitions: names, descriptions, JSON Schemas."""

from typing import Any

from callmark import Tool
from callmark.worlds.helpdesk.company import ITEM_STATUSES, PRIORITIES, TICKET_STATUSES, WORKFLOW_TYPES

CREATE_TICKET = "TicketManagementPlugin-create_support_ticket"
UPDATE_TICKET = "TicketManagementPlugin-update_support_ticket"
SEARCH_TICKETS = "TicketManagementPlugin-search_tickets"
GET_TICKET = "TicketManagementPlugin-get_support_ticket"
CREATE_ITEM = "ActionItemPlugin-create_action_item"
UPDATE_ITEM = "ActionItemPlugin-update_action_item"
LIST_ITEMS = "ActionItemPlugin-list_action_items"
LIST_DEPARTMENTS = "ReferenceDataPlugin-list_departments"
LIST_PRIORITIES = "ReferenceDataPlugin-list_priorities"
LIST_WORKFLOW_TYPES = "ReferenceDataPlugin-list_workflow_types"
ASK_CLARIFICATION = "CommonPlugin-ask_clarification"
START_OVER = "CommonPlugin-start_over"
EXPLAIN_WORKFLOW = "CommonPlugin-explain_workflow"


def _text(description: str, *, one_of: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "string", "description": description} | ({"enum": list(one_of)} if one_of else {})


def _tool(name: str, description: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> Tool:
    return Tool(name, description, {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False})


_TICKET_ID = _text("The ticket's id, such as TKT-1001")
_ITEM_ID = _text("The action item's id, such as AI-2001")
_DEPARTMENT = _text("The code of the department that handles it, as returned by ReferenceDataPlugin-list_departments, such as IT")
_PRIORITY = _text("How urgent it is", one_of=tuple(priority.name for priority in PRIORITIES))
_WORKFLOW = _text("How the ticket is processed", one_of=tuple(workflow.name for workflow in WORKFLOW_TYPES))
_TICKET_STATUS = _text("The status", one_of=TICKET_STATUSES)
_TICKET = {
    "title": _text("What it is about, in a few words"),
    "department_code": _DEPARTMENT,
    "priority": _PRIORITY,
    "workflow_type": _WORKFLOW,
    "description": _text("What is wrong or requested, in the user's words"),
    "expected_outcome": _text("What should be true when the ticket is done"),
}
_TICKET_NEEDS = ("title", "department_code", "priority", "workflow_type")
_ITEM = {
    "title": _text("What has to be done, in a few words"),
    "assigned_to": _text("Full name of the person who does it"),
    "description": _text("What exactly has to be done"),
    "due_date": _text("The date by which it must be done, as YYYY-MM-DD"),
}

TOOLS = (
    _tool(CREATE_TICKET, "Open a new support ticket. The user must have confirmed all details.", _TICKET, _TICKET_NEEDS),
    _tool(
        UPDATE_TICKET,
        "Change a support ticket; only the given fields are changed. The user must have confirmed it. A closed ticket cannot be changed.",
        {"ticket_id": _TICKET_ID, **_TICKET, "status": _TICKET_STATUS},
        ("ticket_id",),
    ),
    _tool(
        SEARCH_TICKETS,
        "Find support tickets that match all given filters; without filters, all tickets.",
        {
            "query": _text("Words in the title or the description"),
            "department_code": _DEPARTMENT,
            "priority": _PRIORITY,
            "status": _TICKET_STATUS,
        },
    ),
    _tool(GET_TICKET, "Get a support ticket with all its details and action items.", {"ticket_id": _TICKET_ID}, ("ticket_id",)),
    _tool(
        CREATE_ITEM,
        "Add an action item to a support ticket. The user must have confirmed all details.",
        {"ticket_id": _TICKET_ID, **_ITEM},
        ("ticket_id", "title", "assigned_to", "due_date"),
    ),
    _tool(
        UPDATE_ITEM,
        "Change an action item; only the given fields are changed. The user must have confirmed it.",
        {"action_item_id": _ITEM_ID, **_ITEM, "status": _text("The status", one_of=ITEM_STATUSES)},
        ("action_item_id",),
    ),
    _tool(LIST_ITEMS, "List the action items of a support ticket.", {"ticket_id": _TICKET_ID}, ("ticket_id",)),
    _tool(LIST_DEPARTMENTS, "List the departments: code, name, what they handle.", {}),
    _tool(LIST_PRIORITIES, "List the priorities, from least to most urgent, and what they mean.", {}),
    _tool(LIST_WORKFLOW_TYPES, "List the workflow types and what they mean.", {}),
    _tool(
        ASK_CLARIFICATION,
        "Record a question for the user before asking it.",
        {"question": _text("The question")},
        ("question",),
    ),
    _tool(START_OVER, "Discard the details collected so far that are not written yet, and start over.", {}),
    _tool(EXPLAIN_WORKFLOW, "Explain how the help desk works, for the user.", {}),
)
