"""What a clerk does for somebody: open a ticket, add an action item, find and change either, explain, and say no."""

import re
from collections.abc import Callable
from typing import Any

from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.clerk import (
    CHANGEABLE,
    ITEM,
    ITEM_CHANGEABLE,
    NAMES,
    PATIENCE,
    TICKET,
    Cancelled,
    Clerk,
    Form,
    Request,
    Session,
)
from callmark.worlds.helpdesk.finding import find, has_done_item, list_items, looked_up_for, which_ticket
from callmark.worlds.helpdesk.language import trimmed
from callmark.worlds.helpdesk.values import TEXTS, capitalised, choice_in, slot_in
from callmark.worlds.helpdesk.wishes import Kind, Wish, item_in

ABILITIES = "open a ticket, add action items to it, find tickets, change their status or priority, and explain how this desk works"

_REFUSALS = {
    "delete": ("I cannot delete anything: tickets and action items are kept.", "deleting is not possible here"),
    "number": ("I cannot change a ticket's number: it stays the same for good.", "a ticket's number cannot be changed"),
    "budget": ("I cannot approve budgets or spending: that is not for the help desk to decide.", "approving money is not for this desk"),
    "confirmation": ("I cannot leave out the confirmation or the rules of this desk.", "every change has to be confirmed here"),
    "merge": ("I cannot merge tickets.", "tickets cannot be merged here"),
}
_STATUS_SAID = re.compile(
    r"\b(?:as|to|into|now|is|status)\s+(?:be\s+)?[\"'“]?(?P<status>open|in progress|on hold|resolved|closed|done)\b", re.IGNORECASE
)
_STATUS_DONE = (
    ("Open", re.compile(r"\bre-?open", re.IGNORECASE)),
    ("Closed", re.compile(r"\bclose\b", re.IGNORECASE)),
    ("Resolved", re.compile(r"\bresolve\b", re.IGNORECASE)),
    ("On Hold", re.compile(r"\bon hold\b", re.IGNORECASE)),
    ("In Progress", re.compile(r"\b(?:in progress|start work)", re.IGNORECASE)),
)
_TITLE_AFTER = re.compile(r"\b(?:ticket|action item|item|task|issue)\s*(?::|–|—|-\s)\s*(?P<title>[^\n]+)", re.IGNORECASE)
_PROSE = re.compile(r"\b(?:i|we|our|my|me|us|you|your|please|it's|is|are|was|has|have|because)\b|[=?]", re.IGNORECASE)


def open_ticket(clerk: Clerk, said: str) -> Session[None]:
    """Collect, read back, write, and tell the id. What the desk refuses is told, asked about again, and tried again."""
    clerk.tell("I will open a ticket for you.")
    yield from clerk.look_up(TICKET.slots)
    draft = _begun(clerk, said, TICKET)
    if clerk.habits.guesses_priority:
        draft.setdefault("priority", "Medium")
    row = yield from _collect(clerk, TICKET, draft, tools.CREATE_TICKET, {}, "Is that correct? Shall I create this ticket?")
    ticket_id = str(row.get("ticket_id", "without a number"))
    clerk.ticket = clerk.known[ticket_id] = {"status": "Open", **draft, **row, "ticket_id": ticket_id, "action_items": []}
    clerk.tell(f"Ticket {ticket_id} has been created.")


def add_item(clerk: Clerk, said: str) -> Session[None]:
    """The same for an action item; it belongs to the ticket that is named, else to the one that was talked of last."""
    if clerk.habits.forgets_second_item and clerk.items_added:
        clerk.tell("I have noted that action item as well.")
        return
    ticket = yield from which_ticket(clerk, said, "Which ticket is the action item for?", in_passing=True)
    if ticket["status"] == "Closed":
        clerk.tell(f"{ticket['ticket_id']} is closed, so I cannot add an action item to it. I could open a new ticket instead.")
        return
    clerk.tell(f"I will add an action item to {ticket['ticket_id']}.")
    draft = _begun(clerk, re.sub(r"\bTKT-\d+\b", "it", said), ITEM)
    ticket_id = {"ticket_id": str(ticket["ticket_id"])}
    row = yield from _collect(clerk, ITEM, draft, tools.CREATE_ITEM, ticket_id, "Is that correct? Shall I create this action item?")
    clerk.items_added += 1
    ticket.setdefault("action_items", []).append(row)
    clerk.tell(f"Action item {row.get('action_item_id')} has been added to {ticket['ticket_id']}.")


def change_ticket(clerk: Clerk, said: str) -> Session[None]:
    """Read the changes back, write them, tell what is different. What cannot be changed is told before anything is asked."""
    ticket = yield from which_ticket(clerk, said, "Which ticket should be changed?")
    ticket_id = str(ticket["ticket_id"])
    if ticket["status"] == "Closed":
        clerk.tell(f"{ticket_id} is closed, and a closed ticket cannot be changed. I could open a new one instead.")
        return
    change: dict[str, str] = {}
    for tries in range(PATIENCE + 1):
        yield from clerk.look_up(looked_up_for(said))
        change = _ticket_change(clerk, said, ticket)
        if change:
            break
        if tries == PATIENCE:
            raise Cancelled("I do not know what to change.")
        slot = slot_in(said, CHANGEABLE)
        same = slot is not None and slot not in TEXTS and ticket.get(slot) == choice_in(slot, said, clerk.choices())
        if same and slot:
            clerk.tell(f"The {NAMES[slot]} of {ticket_id} is {ticket[slot]} already.")
            return
        asked = f"What should the {NAMES[slot]} of {ticket_id} be?" if slot else f"What should be changed in {ticket_id}, and to what?"
        said = yield from clerk.ask(asked if tries < 1 else f"I can change the title, department, priority, status and texts. {asked}")
        if slot and not slot_in(said, CHANGEABLE):
            said = f"{NAMES[slot]}: {said}"
    while True:
        if change.get("status") == "Closed":
            done = yield from has_done_item(clerk, ticket)
            if not done and "Critical" in (ticket["priority"], change.get("priority")):
                clerk.tell(
                    f"{ticket_id} is critical, and none of its action items is done. So I cannot close it: one has to be done first."
                )
                return
        lines = [f"This is what would change in {ticket_id} ({ticket['title']}):"]
        lines += [f"- {NAMES[slot].capitalize()}: {value} (now {ticket.get(slot, 'unknown')})" for slot, value in change.items()]
        sure = yield from clerk.confirm(
            TICKET, change, lines=lines, question="Is that correct? Shall I make this change?", slots=CHANGEABLE
        )
        if sure:
            break
    outcome = yield from clerk.write(tools.UPDATE_TICKET, {"ticket_id": ticket_id, **change})
    if outcome.error:
        clerk.tell(f"That was not possible: {outcome.error}.")
        return
    ticket.update(change)
    changed = ", ".join(f"{NAMES[slot]} {value}" for slot, value in change.items())
    clerk.tell(f"Ticket {ticket_id} has been updated: {changed}.")


def change_item(clerk: Clerk, said: str) -> Session[None]:
    """The same for an action item, which has to be named by its id."""
    item_id = item_in(said)
    for _ in range(PATIENCE):
        if item_id:
            break
        said += " " + (yield from clerk.ask("Which action item is it? Please give its number, which begins with AI."))
        item_id = item_in(said)
    if item_id is None:
        raise Cancelled("Without its number I cannot change an action item.")
    change = _item_change(clerk, said)
    for _ in range(PATIENCE):
        if change:
            break
        said = yield from clerk.ask(
            f"What should be changed in {item_id}: its title, status, due date, description, or who it is assigned to?"
        )
        change = _item_change(clerk, said)
    if not change:
        raise Cancelled("I do not know what to change.")
    sure = False
    while not sure:
        lines = [f"This is what would change in action item {item_id}:", *_lines(change)]
        sure = yield from clerk.confirm(
            ITEM, change, lines=lines, question="Is that correct? Shall I make this change?", slots=ITEM_CHANGEABLE
        )
    outcome = yield from clerk.write(tools.UPDATE_ITEM, {"action_item_id": item_id, **change})
    clerk.tell(f"That was not possible: {outcome.error}." if outcome.error else f"Action item {item_id} has been updated.")


def list_reference(clerk: Clerk, said: str) -> Session[None]:
    """Tell which departments, priorities or workflow types there are."""
    slot = "priority" if "priorit" in said.casefold() else "workflow_type" if "flow" in said.casefold() else "department_code"
    yield from clerk.look_up([slot])
    clerk.tell(f"Your choices are: {', '.join(dict.fromkeys(clerk.choices()[slot].values()))}.")


def explain(clerk: Clerk, said: str) -> Session[None]:
    """Tell how the desk works, in its own words."""
    (outcome,) = yield from clerk.do(Request(tools.EXPLAIN_WORKFLOW, {}))
    told = outcome.data.get("workflow") if isinstance(outcome.data, dict) else None
    clerk.tell(str(told or f"I can {ABILITIES}."))


def refuse(clerk: Clerk, about: str) -> None:
    """Say no, and what can be done instead; to somebody who insists, in other words."""
    first, again = _REFUSALS[about]
    if clerk.refused == about:
        clerk.tell(f"I am sorry, but {again}, whatever the reason. What I can do: {ABILITIES}.")
    else:
        clerk.tell(f"I am sorry. {first} I can {ABILITIES}.")
    clerk.refused = about


ERRANDS: dict[Kind, Callable[[Clerk, str], Session[None]]] = {
    "open ticket": open_ticket,
    "add item": add_item,
    "find": find,
    "change ticket": change_ticket,
    "change item": change_item,
    "list items": list_items,
    "list reference": list_reference,
    "explain": explain,
}


def run(clerk: Clerk, wish: Wish) -> Session[None]:
    """Do what is wished for, or say that it cannot be done."""
    if wish.kind == "refuse":
        refuse(clerk, wish.about)
        return
    clerk.refused = ""
    yield from ERRANDS[wish.kind](clerk, wish.said)


def _begun(clerk: Clerk, said: str, form: Form) -> dict[str, str]:
    """What was said already when it was asked for, a title after a colon included: `New ticket: Printer jam`."""
    draft = clerk.read(said, form.slots, noun=form.noun)
    after = _TITLE_AFTER.search(said)
    if after and "title" not in draft:
        title = trimmed(re.split(r"[,;.](?=\s|$)|\s(?:assigned to|due|for the|for [A-Z]{2})\b", after["title"])[0])
        if title and len(title.split()) <= 12 and not _PROSE.search(title):
            draft["title"] = capitalised(title)
    return draft


def _collect(clerk: Clerk, form: Form, draft: dict[str, str], tool: str, fixed: dict[str, str], question: str) -> Session[dict[str, Any]]:
    """Everything that the form wants, confirmed and written: the row that came of it."""
    for _ in range(PATIENCE):
        sure = False
        while not sure:
            yield from clerk.fill(form, draft)
            lines = [f"This is the {form.noun} as I have it:", *_lines({slot: draft[slot] for slot in form.slots if slot in draft})]
            sure = yield from clerk.confirm(form, draft, lines=lines, question=question, slots=form.slots)
        outcome = yield from clerk.write(tool, {**fixed, **draft})
        if not outcome.error:
            return outcome.data if isinstance(outcome.data, dict) else {}
        clerk.tell(f"That was not possible: {outcome.error}.")
        wrong = [slot for slot in draft if slot in outcome.error]
        if not wrong:
            raise Cancelled(f"So I cannot write the {form.noun}.")
        for slot in wrong:
            del draft[slot]
    raise Cancelled(f"So I cannot write the {form.noun}.")


def _ticket_change(clerk: Clerk, said: str, ticket: dict[str, Any]) -> dict[str, str]:
    plain = re.sub(r"\bTKT-\d+\b", "ticket", said)
    found = clerk.read(plain, CHANGEABLE)
    for slot in ("priority", "department_code", "workflow_type"):
        if not found and (value := choice_in(slot, plain, clerk.choices(), besides=ticket.get(slot))):
            found[slot] = value
    if "status" not in found and (status := _status_in(plain)):
        found["status"] = status
    return {slot: value for slot, value in found.items() if value != ticket.get(slot)}


def _item_change(clerk: Clerk, said: str) -> dict[str, str]:
    found = clerk.read(said, ITEM_CHANGEABLE, noun=ITEM.noun)
    if "status" not in found and (status := choice_in("status", said, clerk.choices(ITEM.noun), loose=True)):
        found["status"] = status
    return found or clerk.read_change(said, {}, ITEM_CHANGEABLE, noun=ITEM.noun)


def _status_in(said: str) -> str | None:
    named = _STATUS_SAID.search(said)
    if named and named["status"].casefold() != "done":
        return named["status"].title()
    return next((status for status, pattern in _STATUS_DONE if pattern.search(said)), None)


def _lines(values: dict[str, str]) -> list[str]:
    return [f"- {NAMES[slot].capitalize()}: {value}" for slot, value in values.items()]
