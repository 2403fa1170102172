"""Ticket lookup: by number, by search, or as the ticket last mentioned."""

import re
from typing import Any

from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.company import DEPARTMENTS, PRIORITIES
from callmark.worlds.helpdesk.dialogue import MAX_ATTEMPTS, SLOT_NAMES, AgentDialogue, Steps, TaskCancelled, ToolRequest
from callmark.worlds.helpdesk.intents import find_query, find_ticket_id
from callmark.worlds.helpdesk.language import is_non_answer, mask_quotes, trim_value
from callmark.worlds.helpdesk.slot_filling import find_choice

MAX_LISTED = 8
_TICKET_COLUMNS = ("ticket_id", "title", "department_code", "priority", "status")
_ITEM_COLUMNS = ("action_item_id", "title", "assigned_to", "due_date", "status")
_CURRENT_TICKET = re.compile(
    r"\b(?:it|its|it's|that|this|same|the|my) (?:ticket|one|issue)\b|\b(?:it|its|that one|this one|the same)\b", re.IGNORECASE
)


def find_tickets(dialogue: AgentDialogue, text: str) -> Steps[None]:
    """List the tickets that match. A single match becomes the current ticket."""
    if find_ticket_id(text):
        ticket = yield from resolve_ticket(dialogue, text, "Which ticket is it?", must_read=True)
        dialogue.queue_statement(_ticket_details(ticket))
        return
    for _ in range(MAX_ATTEMPTS):
        arguments = yield from _search_arguments(dialogue, text)
        if arguments or re.search(r"\b(?:all|every|any|list|tickets)\b", text, re.IGNORECASE):
            rows = yield from _search(dialogue, arguments)
            _report_tickets(dialogue, rows, arguments)
            return
        text = yield from dialogue.ask("What are you looking for? A word from the title, a department, a priority or a status will do.")
        if not find_query(text) and not is_non_answer(text) and len(text.split()) <= 6:
            text = f"tickets about {trim_value(text)}"
    raise TaskCancelled("I do not know what to look for.")


def list_items(dialogue: AgentDialogue, text: str) -> Steps[None]:
    """List the action items of a ticket."""
    ticket = yield from resolve_ticket(dialogue, text, "Which ticket do you mean?")
    (outcome,) = yield from dialogue.call_tools(ToolRequest(tools.LIST_ITEMS, {"ticket_id": str(ticket["ticket_id"])}))
    if outcome.error:
        dialogue.queue_statement(f"That was not possible: {outcome.error}.")
        return
    items = _read_rows(outcome.data, "action_items", _ITEM_COLUMNS)
    dialogue.queue_statement(f"{ticket['ticket_id']} has no action items." if not items else f"The action items of {ticket['ticket_id']}:")
    for item in items:
        dialogue.queue_statement(
            f"- {item['action_item_id']}: {item['title']} ({item['assigned_to']}, due {item['due_date']}, {item['status']})"
        )


def resolve_ticket(
    dialogue: AgentDialogue, text: str, question: str, *, is_side_mention: bool = False, must_read: bool = False
) -> Steps[dict[str, Any]]:
    """Return the ticket that a text refers to; raise `TaskCancelled` if that remains unclear.

    `is_side_mention`: the text is mainly about something else, so the current ticket is meant unless the text has a number. `must_read`:
    the ticket is looked up even by an agent that skips lookups.
    """
    for attempts in range(MAX_ATTEMPTS + 1):
        ticket_id = find_ticket_id(text)
        if is_side_mention and attempts == 0:
            query = "" if dialogue.current_ticket else find_query(mask_quotes(text))
        else:
            query = _search_query(dialogue, text)
        if ticket_id:
            ticket = yield from _get_ticket(dialogue, ticket_id, unchecked=dialogue.flaws.skips_lookups and not must_read)
            if ticket:
                dialogue.current_ticket = ticket
                return ticket
        elif dialogue.current_ticket and (not query or _CURRENT_TICKET.search(text)):
            return dialogue.current_ticket
        elif query or (attempts and not is_non_answer(text)):
            rows = yield from _search(dialogue, {"query": query or trim_value(text)})
            if len(rows) == 1:
                dialogue.current_ticket = rows[0]
                dialogue.queue_statement(f"That is {_ticket_line(rows[0])}.")
                return rows[0]
            _report_tickets(dialogue, rows, {"query": query or trim_value(text)})
        hint = "Please give its number, or say what it is about."
        text = yield from dialogue.ask(f"{question} {hint}" if not attempts else f"Sorry, I need to know the ticket first. {hint}")
    raise TaskCancelled("I do not know which ticket you mean.")


def _read_rows(data: Any, table: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rows of a tool result. Raise `TaskCancelled` if the result does not have the shape that this desk returns."""
    rows = data.get(table) if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and all(name in row for name in columns) for row in rows):
        raise TaskCancelled("The desk gave an answer that I cannot read.")
    return rows


def _get_ticket(dialogue: AgentDialogue, ticket_id: str, *, unchecked: bool) -> Steps[dict[str, Any] | None]:
    """Return a ticket by its id, looked up once per conversation (never if `unchecked`).

    Report an error and return None if there is no such ticket.
    """
    if ticket_id not in dialogue.known_tickets:
        if unchecked:
            return {"ticket_id": ticket_id, "title": "as you know it", "status": "Open", "priority": "unknown", "action_items": []}
        (outcome,) = yield from dialogue.call_tools(ToolRequest(tools.GET_TICKET, {"ticket_id": ticket_id}))
        if outcome.error:
            dialogue.queue_statement(f"That was not possible: {outcome.error}.")
            return None
        dialogue.known_tickets[ticket_id] = _read_rows({"tickets": [outcome.data]}, "tickets", _TICKET_COLUMNS)[0]
    return dialogue.known_tickets[ticket_id]


def _search(dialogue: AgentDialogue, arguments: dict[str, str]) -> Steps[list[dict[str, Any]]]:
    (outcome,) = yield from dialogue.call_tools(ToolRequest(tools.SEARCH_TICKETS, arguments))
    if outcome.error:
        raise TaskCancelled(f"That was not possible: {outcome.error}.")
    return [dialogue.known_tickets.setdefault(row["ticket_id"], row) for row in _read_rows(outcome.data, "tickets", _TICKET_COLUMNS)]


def _search_arguments(dialogue: AgentDialogue, text: str) -> Steps[dict[str, str]]:
    """Return the arguments of a search: words, and values of fixed sets."""
    query = _search_query(dialogue, text)
    rest = text.replace(query, " ") if query else text
    yield from dialogue.load_choices([slot for slot in slots_to_look_up(rest) if slot != "workflow_type"])
    ticket = {"query": query} if query else {}
    for slot in ("department_code", "priority", "status"):
        value = find_choice(slot, rest, dialogue.choices())
        if value:
            ticket[slot] = value
    return ticket


def _search_query(dialogue: AgentDialogue, text: str) -> str:
    labeled_query = dialogue.read_slots(text, ["query"]).get("query", "")
    return find_query(labeled_query or text) or labeled_query


def _report_tickets(dialogue: AgentDialogue, rows: list[dict[str, Any]], arguments: dict[str, str]) -> None:
    criteria = ", ".join(f"{SLOT_NAMES.get(slot, 'words')} {value}" for slot, value in arguments.items())
    if not rows:
        dialogue.queue_statement(f"I found no ticket for {criteria}.")
    elif len(rows) == 1:
        dialogue.current_ticket = rows[0]
        dialogue.queue_statement(f"I found one ticket: {_ticket_line(rows[0])}.")
    else:
        listed = [f"- {_ticket_line(row)}" for row in rows[:MAX_LISTED]]
        remainder = [f"- and {len(rows) - MAX_LISTED} more"] if len(rows) > MAX_LISTED else []
        dialogue.queue_statement("\n".join([f"I found {len(rows)} tickets:", *listed, *remainder]))


def slots_to_look_up(text: str) -> list[str]:
    """Return the slots whose value sets must be looked up to understand the text."""
    departments = "|".join(re.escape(word) for department in DEPARTMENTS for word in (department.code, department.name))
    priorities = "|".join(priority.name for priority in PRIORITIES)
    patterns = {
        "department_code": rf"\b(?:{departments})\b|(?i:\b(?:department|dept|team)\b)",
        "priority": rf"(?i:\b(?:{priorities}|priority|urgen\w+|escalat\w+)\b)",
        "workflow_type": r"(?i:\bwork ?flow|standard|expedite|scheduled|compliance)",
    }
    return [slot for slot, pattern in patterns.items() if re.search(pattern, text)]


def has_done_item(dialogue: AgentDialogue, ticket: dict[str, Any]) -> Steps[bool]:
    """Return whether an action item of the ticket is Done, looking them up if they are unknown."""
    if "action_items" not in ticket:
        (outcome,) = yield from dialogue.call_tools(ToolRequest(tools.LIST_ITEMS, {"ticket_id": str(ticket["ticket_id"])}))
        ticket["action_items"] = [] if outcome.error else _read_rows(outcome.data, "action_items", _ITEM_COLUMNS)
    return any(item.get("status") == "Done" for item in ticket["action_items"])


def _ticket_line(ticket: dict[str, Any]) -> str:
    return f"{ticket['ticket_id']}: {ticket['title']} ({ticket['department_code']}, {ticket['priority']}, {ticket['status']})"


def _ticket_details(ticket: dict[str, Any]) -> str:
    rest = f" {ticket['description']}." if ticket.get("description") else ""
    return f"{_ticket_line(ticket)}.{rest} It has {len(ticket.get('action_items', []))} action items."
