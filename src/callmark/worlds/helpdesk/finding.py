"""How a clerk finds what somebody talks of: by its number, by a search, or because it is what was talked of last."""

import re
from typing import Any

from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.clerk import NAMES, PATIENCE, Cancelled, Clerk, Request, Session
from callmark.worlds.helpdesk.company import DEPARTMENTS, PRIORITIES
from callmark.worlds.helpdesk.language import is_no_answer, trimmed, without_quotes
from callmark.worlds.helpdesk.values import choice_in
from callmark.worlds.helpdesk.wishes import query_in, ticket_in

MOST_LISTED = 8
_SEEN = ("ticket_id", "title", "department_code", "priority", "status")
_ITEM_SEEN = ("action_item_id", "title", "assigned_to", "due_date", "status")
_THIS_ONE = re.compile(
    r"\b(?:it|its|it's|that|this|same|the|my) (?:ticket|one|issue)\b|\b(?:it|its|that one|this one|the same)\b", re.IGNORECASE
)


def find(clerk: Clerk, said: str) -> Session[None]:
    """Tell which tickets there are. A single one that is found is the one that is talked of from then on."""
    if ticket_in(said):
        ticket = yield from which_ticket(clerk, said, "Which ticket is it?", to_read=True)
        clerk.tell(_details(ticket))
        return
    for _ in range(PATIENCE):
        arguments = yield from _search_for(clerk, said)
        if arguments or re.search(r"\b(?:all|every|any|list|tickets)\b", said, re.IGNORECASE):
            rows = yield from _search(clerk, arguments)
            _tell_found(clerk, rows, arguments)
            return
        said = yield from clerk.ask("What are you looking for? A word from the title, a department, a priority or a status will do.")
        if not query_in(said) and not is_no_answer(said) and len(said.split()) <= 6:
            said = f"tickets about {trimmed(said)}"
    raise Cancelled("I do not know what to look for.")


def list_items(clerk: Clerk, said: str) -> Session[None]:
    """Tell which action items a ticket has."""
    ticket = yield from which_ticket(clerk, said, "Which ticket do you mean?")
    (outcome,) = yield from clerk.do(Request(tools.LIST_ITEMS, {"ticket_id": str(ticket["ticket_id"])}))
    if outcome.error:
        clerk.tell(f"That was not possible: {outcome.error}.")
        return
    items = _rows(outcome.data, "action_items", _ITEM_SEEN)
    clerk.tell(f"{ticket['ticket_id']} has no action items." if not items else f"The action items of {ticket['ticket_id']}:")
    for item in items:
        clerk.tell(f"- {item['action_item_id']}: {item['title']} ({item['assigned_to']}, due {item['due_date']}, {item['status']})")


def which_ticket(clerk: Clerk, said: str, question: str, *, in_passing: bool = False, to_read: bool = False) -> Session[dict[str, Any]]:
    """The ticket that is meant. `in_passing`: the words are about something else as well, so that the ticket of before is meant unless
    a number says otherwise. `to_read`: it is
    looked at for its own sake, so that nobody gets around looking.
    """
    for tries in range(PATIENCE + 1):
        ticket_id = ticket_in(said)
        if in_passing and tries == 0:
            query = "" if clerk.ticket else query_in(without_quotes(said))
        else:
            query = _query(clerk, said)
        if ticket_id:
            found = yield from _get(clerk, ticket_id, blindly=clerk.habits.looks_nothing_up and not to_read)
            if found:
                clerk.ticket = found
                return found
        elif clerk.ticket and (not query or _THIS_ONE.search(said)):
            return clerk.ticket
        elif query or (tries and not is_no_answer(said)):
            rows = yield from _search(clerk, {"query": query or trimmed(said)})
            if len(rows) == 1:
                clerk.ticket = rows[0]
                clerk.tell(f"That is {_brief(rows[0])}.")
                return rows[0]
            _tell_found(clerk, rows, {"query": query or trimmed(said)})
        hint = "Please give its number, or say what it is about."
        said = yield from clerk.ask(f"{question} {hint}" if not tries else f"Sorry, I need to know the ticket first. {hint}")
    raise Cancelled("I do not know which ticket you mean.")


def _rows(data: Any, table: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """The rows in what a tool gave back. Raises `Cancelled` where it is something else than this desk gives."""
    rows = data.get(table) if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and all(name in row for name in columns) for row in rows):
        raise Cancelled("The desk gave an answer that I cannot read.")
    return rows


def _get(clerk: Clerk, ticket_id: str, *, blindly: bool) -> Session[dict[str, Any] | None]:
    """A ticket by its id, looked at once in a conversation (never `blindly`); None, and told, where there is none."""
    if ticket_id not in clerk.known:
        if blindly:
            return {"ticket_id": ticket_id, "title": "as you know it", "status": "Open", "priority": "unknown", "action_items": []}
        (outcome,) = yield from clerk.do(Request(tools.GET_TICKET, {"ticket_id": ticket_id}))
        if outcome.error:
            clerk.tell(f"That was not possible: {outcome.error}.")
            return None
        clerk.known[ticket_id] = _rows({"tickets": [outcome.data]}, "tickets", _SEEN)[0]
    return clerk.known[ticket_id]


def _search(clerk: Clerk, arguments: dict[str, str]) -> Session[list[dict[str, Any]]]:
    (outcome,) = yield from clerk.do(Request(tools.SEARCH_TICKETS, arguments))
    if outcome.error:
        raise Cancelled(f"That was not possible: {outcome.error}.")
    return [clerk.known.setdefault(row["ticket_id"], row) for row in _rows(outcome.data, "tickets", _SEEN)]


def _search_for(clerk: Clerk, said: str) -> Session[dict[str, str]]:
    """The arguments of a search: words, and what of the fixed sets is named besides them."""
    query = _query(clerk, said)
    rest = said.replace(query, " ") if query else said
    yield from clerk.look_up([slot for slot in looked_up_for(rest) if slot != "workflow_type"])
    found = {"query": query} if query else {}
    for slot in ("department_code", "priority", "status"):
        value = choice_in(slot, rest, clerk.choices())
        if value:
            found[slot] = value
    return found


def _query(clerk: Clerk, said: str) -> str:
    named = clerk.read(said, ["query"]).get("query", "")
    return query_in(named or said) or named


def _tell_found(clerk: Clerk, rows: list[dict[str, Any]], arguments: dict[str, str]) -> None:
    by = ", ".join(f"{NAMES.get(slot, 'words')} {value}" for slot, value in arguments.items())
    if not rows:
        clerk.tell(f"I found no ticket for {by}.")
    elif len(rows) == 1:
        clerk.ticket = rows[0]
        clerk.tell(f"I found one ticket: {_brief(rows[0])}.")
    else:
        shown = [f"- {_brief(row)}" for row in rows[:MOST_LISTED]]
        more = [f"- and {len(rows) - MOST_LISTED} more"] if len(rows) > MOST_LISTED else []
        clerk.tell("\n".join([f"I found {len(rows)} tickets:", *shown, *more]))


def looked_up_for(said: str) -> list[str]:
    """The slots whose sets have to be looked up to understand what was said."""
    departments = "|".join(re.escape(word) for department in DEPARTMENTS for word in (department.code, department.name))
    priorities = "|".join(priority.name for priority in PRIORITIES)
    meant = {
        "department_code": rf"\b(?:{departments})\b|(?i:\b(?:department|dept|team)\b)",
        "priority": rf"(?i:\b(?:{priorities}|priority|urgen\w+|escalat\w+)\b)",
        "workflow_type": r"(?i:\bwork ?flow|standard|expedite|scheduled|compliance)",
    }
    return [slot for slot, pattern in meant.items() if re.search(pattern, said)]


def has_done_item(clerk: Clerk, ticket: dict[str, Any]) -> Session[bool]:
    if "action_items" not in ticket:
        (outcome,) = yield from clerk.do(Request(tools.LIST_ITEMS, {"ticket_id": str(ticket["ticket_id"])}))
        ticket["action_items"] = [] if outcome.error else _rows(outcome.data, "action_items", _ITEM_SEEN)
    return any(item.get("status") == "Done" for item in ticket["action_items"])


def _brief(ticket: dict[str, Any]) -> str:
    return f"{ticket['ticket_id']}: {ticket['title']} ({ticket['department_code']}, {ticket['priority']}, {ticket['status']})"


def _details(ticket: dict[str, Any]) -> str:
    rest = f" {ticket['description']}." if ticket.get("description") else ""
    return f"{_brief(ticket)}.{rest} It has {len(ticket.get('action_items', []))} action items."
