"""Ground truth in the shape of the LOB evaluation: a JSON array without ids and descriptions, the business data in the instructions; its
templates and tables; tools with its names, and an agent that asks for one parameter after the other.
"""

import json
from pathlib import Path
from typing import Any

_INSTRUCTIONS = """
You are playing a person who talks to a chatbot assistant.

Rules:
- Never correct the assistant.
- Once your task is completed, you must end the conversation by saying "the session is finished".

Here is the data that you know:
Support Ticket data:
- id: "TKT-{number}"
- title: "{title}"
- department_code: "IT"
- priority: "High"

Action Item data:
- title: "Order parts"
- assignee: "Ada Byron"
- due_date: "2025-05-31"

Here is your task:
{task}

Begin the conversation. Respond as the user.
"""
_END = "The user has confirmed the end of the session."
_TICKET = "TicketManagementPlugin-create_support_ticket"
_ITEM = "ActionItemPlugin-create_action_item"
_UPDATE = "ActionItemPlugin-update_action_item"

TOOLS = """
def make():
    def create_ticket(title: str, department_code: str, priority: str, customer_visible: str = "False") -> dict:
        return {"ticket_id": "TKT-9001"}

    def create_item(title: str, assignee: str, due_date: str) -> dict:
        return {"action_id": "ACT-901"}

    def update_item(action_id: str, assignee: str, due_date: str) -> dict:
        return {"updated": action_id}

    return {
        "TicketManagementPlugin-create_support_ticket": create_ticket,
        "ActionItemPlugin-create_action_item": create_item,
        "ActionItemPlugin-update_action_item": update_item,
    }
"""

AGENT = r"""
import re

LEADS = r"^(?:It's|The [\w ]+? is|Please write:|[A-Z][\w ]*:|Oh, |I'd say )\s*|,? please\.?$"


def form(messages, tools):
    if messages[-1]["role"] == "tool":
        return "It is done. Is there anything else?"
    turns = messages[max([0] + [at + 2 for at, message in enumerate(messages) if message["role"] == "tool"]):]
    said = turns[0]["content"].lower() if turns else ""
    for tool in tools:
        name = tool["function"]["name"]
        goal = name.partition("-")[2].split("_")
        if goal[0] in said and goal[-1] in said:
            break
    else:
        return "Goodbye!"
    values = {}
    for question, answer in zip(turns[1::2], turns[2::2]):
        values[question["content"][12:-1].replace(" ", "_")] = re.sub(LEADS, "", answer["content"]).strip(' ".')
    for parameter in tool["function"]["parameters"]["properties"]:
        if parameter not in values:
            return f"What is the {parameter.replace('_', ' ')}?"
    return {"tool_calls": [{"name": name, "arguments": values}]}


def foreign(messages, tools):
    return f"Wie lautet die Antwort auf Frage {len(messages)}?"
"""

TEMPLATES = [
    {
        "scenario_name": "create_ticket_and_action_item",
        "user_instructions": "Create a new support ticket and an action item for it.",
        "task_completion": _END,
        "expected_function_calls": [
            {
                "functionName": _TICKET,
                "arguments": {
                    "title": "{ticket.title}",
                    "department_code": "{ticket.department_code}",
                    "priority": "{ticket.priority}",
                    "customer_visible": "{ticket.customer_visible}",
                },
            },
            {
                "functionName": _ITEM,
                "arguments": {"title": "{action.title}", "assignee": "{action.assignee}", "due_date": "{action.due_date}"},
            },
        ],
    },
    {
        "scenario_name": "update_action_item_assignee",
        "user_instructions": "Update the assignee and due date of the action item ACT-003",
        "task_completion": _END,
        "expected_function_calls": [
            {
                "functionName": _UPDATE,
                "arguments": {"action_id": "ACT-003", "assignee": "{action.assignee}", "due_date": "{action.due_date}"},
            }
        ],
    },
]
TICKETS = """Support Ticket ID,Title,Department Code,Priority,Customer Visible
TKT-1,Server down,IT,Critical,False
TKT-2,Badge lost,HR,Low,True
"""
ITEMS = """Action Item ID,Parent Ticket ID,Title,Assignee,Due Date
ACT-1,TKT-1,Restart it,Jo Smith,2025-05-10
ACT-2,TKT-2,Print a badge,Li Wei,2025-06-01
"""


def row(number: int) -> dict[str, Any]:
    """Return a scenario: tickets with an action item, and updates of an action item, by turns."""
    title = f"Audit {number}"
    ticket = {
        "functionName": _TICKET,
        "arguments": {"title": title, "department_code": "IT", "priority": "High", "customer_visible": "False"},
    }
    item = {"functionName": _ITEM, "arguments": {"title": "Order parts", "assignee": "Ada Byron", "due_date": "2025-05-31"}}
    update = {
        "functionName": _UPDATE,
        "arguments": {"action_id": f"ACT-00{number}", "assignee": "Ada Byron", "due_date": "2025-05-31"},
    }
    is_update = number % 2 == 1
    task = f"Update the action item ACT-00{number}." if is_update else "Create a new support ticket and a new action item for it."
    return {
        "scenarioType": "update_action_item_assignee" if is_update else "create_ticket_and_action_item",
        "instructions": _INSTRUCTIONS.format(number=20000 + number, title=title, task=task),
        "task_completion_condition": _END,
        "expected_function_calls": [update] if is_update else [ticket, item],
    }


def write_ground_truth(folder: Path) -> Path:
    """Write a folder as in the LOB evaluation: a dataset, its templates and tables, and files that are not scenarios."""
    ground_truth = folder / "ground-truth"
    ground_truth.mkdir()
    (ground_truth / "support_ticket_eval_dataset.json").write_text(
        json.dumps([row(number) for number in range(6)], indent=4), encoding="utf-8"
    )
    (ground_truth / "test_scenarios_templates.json").write_text(json.dumps(TEMPLATES, indent=2), encoding="utf-8")
    (ground_truth / "dummy_support_tickets.csv").write_text(TICKETS, encoding="utf-8")
    (ground_truth / "dummy_action_items.csv").write_text(ITEMS, encoding="utf-8")
    (ground_truth / "README.md").write_text("# Ground truth", encoding="utf-8")
    (folder / "lob_tools.py").write_text(TOOLS, encoding="utf-8")
    (folder / "lob_agent.py").write_text(AGENT, encoding="utf-8")
    return ground_truth
