"""The tasks of the help desk agent: open a ticket, add an action item, change either, explain, and refuse."""

import re
from collections.abc import Callable
from typing import Any

from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.dialogue import (
    ITEM_FORM,
    ITEM_SLOTS,
    MAX_ATTEMPTS,
    SLOT_NAMES,
    TICKET_FORM,
    TICKET_SLOTS,
    AgentDialogue,
    SlotForm,
    Steps,
    TaskCancelled,
    ToolRequest,
)
from callmark.worlds.helpdesk.intents import Intent, IntentKind, find_item_id
from callmark.worlds.helpdesk.language import trim_value
from callmark.worlds.helpdesk.slot_filling import TEXT_SLOTS, capitalize, find_choice, find_slot_name
from callmark.worlds.helpdesk.ticket_search import find_tickets, has_done_item, list_items, resolve_ticket, slots_to_look_up

ABILITIES = "open a ticket, add action items to it, find tickets, change their status or priority, and explain how this desk works"

_REFUSALS = {
    "delete": ("I cannot delete anything: tickets and action items are kept.", "deleting is not possible here"),
    "number": ("I cannot change a ticket's number: it stays the same for good.", "a ticket's number cannot be changed"),
    "budget": ("I cannot approve budgets or spending: that is not for the help desk to decide.", "approving money is not for this desk"),
    "confirmation": ("I cannot leave out the confirmation or the rules of this desk.", "every change has to be confirmed here"),
    "merge": ("I cannot merge tickets.", "tickets cannot be merged here"),
}
_NAMED_STATUS = re.compile(
    r"\b(?:as|to|into|now|is|status)\s+(?:be\s+)?[\"'“]?(?P<status>open|in progress|on hold|resolved|closed|done)\b", re.IGNORECASE
)
_STATUS_VERBS = (
    ("Open", re.compile(r"\bre-?open", re.IGNORECASE)),
    ("Closed", re.compile(r"\bclose\b", re.IGNORECASE)),
    ("Resolved", re.compile(r"\bresolve\b", re.IGNORECASE)),
    ("On Hold", re.compile(r"\bon hold\b", re.IGNORECASE)),
    ("In Progress", re.compile(r"\b(?:in progress|start work)", re.IGNORECASE)),
)
_TITLE_AFTER = re.compile(r"\b(?:ticket|action item|item|task|issue)\s*(?::|–|—|-\s)\s*(?P<title>[^\n]+)", re.IGNORECASE)
_PROSE = re.compile(r"\b(?:i|we|our|my|me|us|you|your|please|it's|is|are|was|has|have|because)\b|[=?]", re.IGNORECASE)


def open_ticket(dialogue: AgentDialogue, text: str) -> Steps[None]:
    """Collect the details, confirm, write, and report the id. Details that the desk rejects are requested again."""
    dialogue.queue_statement("I will open a ticket for you.")
    yield from dialogue.load_choices(TICKET_FORM.slots)
    draft = _prefill(dialogue, text, TICKET_FORM)
    if dialogue.flaws.guesses_priority:
        draft.setdefault("priority", "Medium")
    row = yield from _collect_and_write(
        dialogue, TICKET_FORM, draft, tools.CREATE_TICKET, {}, "Is that correct? Shall I create this ticket?"
    )
    ticket_id = str(row.get("ticket_id", "without a number"))
    dialogue.current_ticket = dialogue.known_tickets[ticket_id] = {
        "status": "Open",
        **draft,
        **row,
        "ticket_id": ticket_id,
        "action_items": [],
    }
    dialogue.queue_statement(f"Ticket {ticket_id} has been created.")


def add_item(dialogue: AgentDialogue, text: str) -> Steps[None]:
    """Add an action item to the named ticket, else to the current one."""
    if dialogue.flaws.forgets_second_item and dialogue.items_added:
        dialogue.queue_statement("I have noted that action item as well.")
        return
    ticket = yield from resolve_ticket(dialogue, text, "Which ticket is the action item for?", is_side_mention=True)
    if ticket["status"] == "Closed":
        dialogue.queue_statement(
            f"{ticket['ticket_id']} is closed, so I cannot add an action item to it. I could open a new ticket instead."
        )
        return
    dialogue.queue_statement(f"I will add an action item to {ticket['ticket_id']}.")
    draft = _prefill(dialogue, re.sub(r"\bTKT-\d+\b", "it", text), ITEM_FORM)
    ticket_id = {"ticket_id": str(ticket["ticket_id"])}
    row = yield from _collect_and_write(
        dialogue, ITEM_FORM, draft, tools.CREATE_ITEM, ticket_id, "Is that correct? Shall I create this action item?"
    )
    dialogue.items_added += 1
    ticket.setdefault("action_items", []).append(row)
    dialogue.queue_statement(f"Action item {row.get('action_item_id')} has been added to {ticket['ticket_id']}.")


def change_ticket(dialogue: AgentDialogue, text: str) -> Steps[None]:
    """Confirm the changes, write them and report them. Changes that are not allowed are reported before any question."""
    ticket = yield from resolve_ticket(dialogue, text, "Which ticket should be changed?")
    ticket_id = str(ticket["ticket_id"])
    if ticket["status"] == "Closed":
        dialogue.queue_statement(f"{ticket_id} is closed, and a closed ticket cannot be changed. I could open a new one instead.")
        return
    change: dict[str, str] = {}
    for attempts in range(MAX_ATTEMPTS + 1):
        yield from dialogue.load_choices(slots_to_look_up(text))
        change = _ticket_change(dialogue, text, ticket)
        if change:
            break
        if attempts == MAX_ATTEMPTS:
            raise TaskCancelled("I do not know what to change.")
        slot = find_slot_name(text, TICKET_SLOTS)
        is_unchanged = slot is not None and slot not in TEXT_SLOTS and ticket.get(slot) == find_choice(slot, text, dialogue.choices())
        if is_unchanged and slot:
            dialogue.queue_statement(f"The {SLOT_NAMES[slot]} of {ticket_id} is {ticket[slot]} already.")
            return
        question = (
            f"What should the {SLOT_NAMES[slot]} of {ticket_id} be?" if slot else f"What should be changed in {ticket_id}, and to what?"
        )
        text = yield from dialogue.ask(
            question if attempts < 1 else f"I can change the title, department, priority, status and texts. {question}"
        )
        if slot and not find_slot_name(text, TICKET_SLOTS):
            text = f"{SLOT_NAMES[slot]}: {text}"
    while True:
        if change.get("status") == "Closed":
            done = yield from has_done_item(dialogue, ticket)
            if not done and "Critical" in (ticket["priority"], change.get("priority")):
                dialogue.queue_statement(
                    f"{ticket_id} is critical, and none of its action items is done. So I cannot close it: one has to be done first."
                )
                return
        lines = [f"This is what would change in {ticket_id} ({ticket['title']}):"]
        lines += [f"- {SLOT_NAMES[slot].capitalize()}: {value} (now {ticket.get(slot, 'unknown')})" for slot, value in change.items()]
        is_confirmed = yield from dialogue.confirm(
            TICKET_FORM, change, lines=lines, question="Is that correct? Shall I make this change?", slots=TICKET_SLOTS
        )
        if is_confirmed:
            break
    outcome = yield from dialogue.write(tools.UPDATE_TICKET, {"ticket_id": ticket_id, **change})
    if outcome.error:
        dialogue.queue_statement(f"That was not possible: {outcome.error}.")
        return
    ticket.update(change)
    changed = ", ".join(f"{SLOT_NAMES[slot]} {value}" for slot, value in change.items())
    dialogue.queue_statement(f"Ticket {ticket_id} has been updated: {changed}.")


def change_item(dialogue: AgentDialogue, text: str) -> Steps[None]:
    """Change an action item, which must be named by its id."""
    item_id = find_item_id(text)
    for _ in range(MAX_ATTEMPTS):
        if item_id:
            break
        text += " " + (yield from dialogue.ask("Which action item is it? Please give its number, which begins with AI."))
        item_id = find_item_id(text)
    if item_id is None:
        raise TaskCancelled("Without its number I cannot change an action item.")
    change = _item_change(dialogue, text)
    for _ in range(MAX_ATTEMPTS):
        if change:
            break
        text = yield from dialogue.ask(
            f"What should be changed in {item_id}: its title, status, due date, description, or who it is assigned to?"
        )
        change = _item_change(dialogue, text)
    if not change:
        raise TaskCancelled("I do not know what to change.")
    is_confirmed = False
    while not is_confirmed:
        lines = [f"This is what would change in action item {item_id}:", *_lines(change)]
        is_confirmed = yield from dialogue.confirm(
            ITEM_FORM, change, lines=lines, question="Is that correct? Shall I make this change?", slots=ITEM_SLOTS
        )
    outcome = yield from dialogue.write(tools.UPDATE_ITEM, {"action_item_id": item_id, **change})
    dialogue.queue_statement(f"That was not possible: {outcome.error}." if outcome.error else f"Action item {item_id} has been updated.")


def list_reference_data(dialogue: AgentDialogue, text: str) -> Steps[None]:
    """List the departments, priorities or workflow types."""
    slot = "priority" if "priorit" in text.casefold() else "workflow_type" if "flow" in text.casefold() else "department_code"
    yield from dialogue.load_choices([slot])
    dialogue.queue_statement(f"Your choices are: {', '.join(dict.fromkeys(dialogue.choices()[slot].values()))}.")


def explain_workflow(dialogue: AgentDialogue, text: str) -> Steps[None]:
    """Explain how the desk works, with the text of its tool."""
    (outcome,) = yield from dialogue.call_tools(ToolRequest(tools.EXPLAIN_WORKFLOW, {}))
    workflow = outcome.data.get("workflow") if isinstance(outcome.data, dict) else None
    dialogue.queue_statement(str(workflow or f"I can {ABILITIES}."))


def refuse_request(dialogue: AgentDialogue, topic: str) -> None:
    """Refuse and say what can be done instead; rephrase for a user who insists."""
    first, again = _REFUSALS[topic]
    if dialogue.refused_topic == topic:
        dialogue.queue_statement(f"I am sorry, but {again}, whatever the reason. What I can do: {ABILITIES}.")
    else:
        dialogue.queue_statement(f"I am sorry. {first} I can {ABILITIES}.")
    dialogue.refused_topic = topic


TASKS: dict[IntentKind, Callable[[AgentDialogue, str], Steps[None]]] = {
    "open ticket": open_ticket,
    "add item": add_item,
    "find": find_tickets,
    "change ticket": change_ticket,
    "change item": change_item,
    "list items": list_items,
    "list reference": list_reference_data,
    "explain": explain_workflow,
}


def run_task(dialogue: AgentDialogue, intent: Intent) -> Steps[None]:
    """Run the task of an intent, or refuse it."""
    if intent.kind == "refuse":
        refuse_request(dialogue, intent.topic)
        return
    dialogue.refused_topic = ""
    yield from TASKS[intent.kind](dialogue, intent.text)


def _prefill(dialogue: AgentDialogue, text: str, form: SlotForm) -> dict[str, str]:
    """Return the slots that the request already gives, including a title after a colon: `New ticket: Printer jam`."""
    draft = dialogue.read_slots(text, form.slots, noun=form.noun)
    title_match = _TITLE_AFTER.search(text)
    if title_match and "title" not in draft:
        title = trim_value(re.split(r"[,;.](?=\s|$)|\s(?:assigned to|due|for the|for [A-Z]{2})\b", title_match["title"])[0])
        if title and len(title.split()) <= 12 and not _PROSE.search(title):
            draft["title"] = capitalize(title)
    return draft


def _collect_and_write(
    dialogue: AgentDialogue, form: SlotForm, draft: dict[str, str], tool: str, fixed_arguments: dict[str, str], question: str
) -> Steps[dict[str, Any]]:
    """Fill the form, confirm, write, and return the written row. Raise `TaskCancelled` if the desk keeps rejecting it."""
    for _ in range(MAX_ATTEMPTS):
        is_confirmed = False
        while not is_confirmed:
            yield from dialogue.fill_form(form, draft)
            lines = [f"This is the {form.noun} as I have it:", *_lines({slot: draft[slot] for slot in form.slots if slot in draft})]
            is_confirmed = yield from dialogue.confirm(form, draft, lines=lines, question=question, slots=form.slots)
        outcome = yield from dialogue.write(tool, {**fixed_arguments, **draft})
        if not outcome.error:
            return outcome.data if isinstance(outcome.data, dict) else {}
        dialogue.queue_statement(f"That was not possible: {outcome.error}.")
        invalid_slots = [slot for slot in draft if slot in outcome.error]
        if not invalid_slots:
            raise TaskCancelled(f"So I cannot write the {form.noun}.")
        for slot in invalid_slots:
            del draft[slot]
    raise TaskCancelled(f"So I cannot write the {form.noun}.")


def _ticket_change(dialogue: AgentDialogue, text: str, ticket: dict[str, Any]) -> dict[str, str]:
    masked = re.sub(r"\bTKT-\d+\b", "ticket", text)
    changes = dialogue.read_slots(masked, TICKET_SLOTS)
    for slot in ("priority", "department_code", "workflow_type"):
        if not changes and (value := find_choice(slot, masked, dialogue.choices(), exclude=ticket.get(slot))):
            changes[slot] = value
    if "status" not in changes and (status := _find_status(masked)):
        changes["status"] = status
    return {slot: value for slot, value in changes.items() if value != ticket.get(slot)}


def _item_change(dialogue: AgentDialogue, text: str) -> dict[str, str]:
    changes = dialogue.read_slots(text, ITEM_SLOTS, noun=ITEM_FORM.noun)
    if "status" not in changes and (status := find_choice("status", text, dialogue.choices(ITEM_FORM.noun), allow_synonyms=True)):
        changes["status"] = status
    return changes or dialogue.read_changes(text, {}, ITEM_SLOTS, noun=ITEM_FORM.noun)


def _find_status(text: str) -> str | None:
    match = _NAMED_STATUS.search(text)
    if match and match["status"].casefold() != "done":
        return match["status"].title()
    return next((status for status, pattern in _STATUS_VERBS if pattern.search(text)), None)


def _lines(values: dict[str, str]) -> list[str]:
    return [f"- {SLOT_NAMES[slot].capitalize()}: {value}" for slot, value in values.items()]
