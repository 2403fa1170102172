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
_DEPARTMENT = _text("The code of the department that handles it, as ReferenceDataPlugin-list_departments gives it, such as IT")
_PRIORITY = _text("How urgent it is", one_of=tuple(priority.name for priority in PRIORITIES))
_WORKFLOW = _text("How it is worked on", one_of=tuple(workflow.name for workflow in WORKFLOW_TYPES))
_TICKET_STATUS = _text("Where it stands", one_of=TICKET_STATUSES)
_TICKET = {
    "title": _text("What it is about, in a few words"),
    "department_code": _DEPARTMENT,
    "priority": _PRIORITY,
    "workflow_type": _WORKFLOW,
    "description": _text("What is wrong or wanted, in the user's words"),
    "expected_outcome": _text("How it will be when the ticket is done"),
}
_TICKET_NEEDS = ("title", "department_code", "priority", "workflow_type")
_ITEM = {
    "title": _text("What is to be done, in a few words"),
    "assigned_to": _text("Full name of the person who does it"),
    "description": _text("What exactly is to be done"),
    "due_date": _text("The day by which it is done, as YYYY-MM-DD"),
}

TOOLS = (
    _tool(CREATE_TICKET, "Open a new support ticket. The user must have confirmed all of it.", _TICKET, _TICKET_NEEDS),
    _tool(
        UPDATE_TICKET,
        "Change a support ticket; only what is given is changed. The user must have confirmed it. A closed ticket cannot be changed.",
        {"ticket_id": _TICKET_ID, **_TICKET, "status": _TICKET_STATUS},
        ("ticket_id",),
    ),
    _tool(
        SEARCH_TICKETS,
        "Find support tickets. All that is given must fit; with nothing given it finds all of them.",
        {
            "query": _text("Words that stand in the title or in the description"),
            "department_code": _DEPARTMENT,
            "priority": _PRIORITY,
            "status": _TICKET_STATUS,
        },
    ),
    _tool(GET_TICKET, "One support ticket with all that is known about it.", {"ticket_id": _TICKET_ID}, ("ticket_id",)),
    _tool(
        CREATE_ITEM,
        "Add an action item to a support ticket. The user must have confirmed all of it.",
        {"ticket_id": _TICKET_ID, **_ITEM},
        ("ticket_id", "title", "assigned_to", "due_date"),
    ),
    _tool(
        UPDATE_ITEM,
        "Change an action item; only what is given is changed. The user must have confirmed it.",
        {"action_item_id": _ITEM_ID, **_ITEM, "status": _text("Where it stands", one_of=ITEM_STATUSES)},
        ("action_item_id",),
    ),
    _tool(LIST_ITEMS, "The action items of a support ticket.", {"ticket_id": _TICKET_ID}, ("ticket_id",)),
    _tool(LIST_DEPARTMENTS, "The departments: code, name, what they handle.", {}),
    _tool(LIST_PRIORITIES, "The priorities, from the least to the most urgent, and what they mean.", {}),
    _tool(LIST_WORKFLOW_TYPES, "The workflow types and what they mean.", {}),
    _tool(
        ASK_CLARIFICATION,
        "Note that something has to be asked of the user, before it is asked.",
        {"question": _text("The question")},
        ("question",),
    ),
    _tool(START_OVER, "Forget what was collected so far and not written yet, and begin again.", {}),
    _tool(EXPLAIN_WORKFLOW, "How the help desk works, to be told to the user.", {}),
)
