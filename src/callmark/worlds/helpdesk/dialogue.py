"""One conversation of a help desk agent: it asks, looks up, reads back, and waits for a yes before it writes.

A conversation is a generator: it yields the agent's texts and tool calls, and is sent the user's replies and the results. To find the next
step of a conversation in progress, its messages are replayed.
"""

import json
import re
from collections.abc import Collection, Generator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple, TypeVar

from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.company import DEPARTMENTS, ITEM_STATUSES, PRIORITIES, TICKET_STATUSES, TODAY, WORKFLOW_TYPES
from callmark.worlds.helpdesk.intents import Intent, detect_intents
from callmark.worlds.helpdesk.language import (
    has_no_preference,
    is_goodbye,
    is_no,
    is_non_answer,
    is_yes,
    wants_to_cancel,
    wants_to_start_over,
)
from callmark.worlds.helpdesk.slot_filling import TEXT_SLOTS, extract_changes, extract_slots, find_slot_name, is_change_of_mind

MAX_MESSAGE_LENGTH = 3000  # characters of a user message; the rest is ignored
MAX_ATTEMPTS = 3  # times that the agent asks for the same thing

_T = TypeVar("_T")


class ToolRequest(NamedTuple):
    """A tool call to make."""

    tool: str
    arguments: dict[str, str]


Turn = str | tuple[ToolRequest, ...]
Steps = Generator[Turn, Any, _T]


class ToolOutcome(NamedTuple):
    """The result of a tool call: data, or an error sentence."""

    data: Any = None
    error: str = ""


class AgentFlaws(NamedTuple):
    """The flaws of an agent. A careful agent has none."""

    omitted_slots: tuple[str, ...] = ()
    guesses_priority: bool = False
    skips_lookups: bool = False
    skips_confirmation: bool = False
    repeats_writes: bool = False
    forgets_second_item: bool = False
    shifts_due_dates: bool = False


class SlotForm(NamedTuple):
    """The slots to fill before a record can be written. The agent asks for all slots of a group at once."""

    noun: str
    groups: tuple[tuple[str, ...], ...]

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(slot for group in self.groups for slot in group)


class StartOver(Exception):  # noqa: N818 - control flow, not an error
    """The user wants to start over."""


class TaskCancelled(Exception):  # noqa: N818 - control flow, not an error
    """The task in progress is abandoned. The text says why; it is empty if the user cancels."""


class UserLeft(Exception):  # noqa: N818 - control flow, not an error
    """The user says goodbye in the middle of a task."""


TICKET_FORM = SlotForm("ticket", (("title", "department_code"), ("priority", "workflow_type"), ("description",), ("expected_outcome",)))
ITEM_FORM = SlotForm("action item", (("title",), ("assigned_to", "due_date"), ("description",)))
TICKET_SLOTS = (*TICKET_FORM.slots, "status")
ITEM_SLOTS = (*ITEM_FORM.slots, "status")
SLOT_NAMES = {
    "title": "title",
    "department_code": "department",
    "priority": "priority",
    "workflow_type": "workflow type",
    "description": "description",
    "expected_outcome": "expected outcome",
    "status": "status",
    "assigned_to": "assigned to",
    "due_date": "due date",
}
_LOOKUPS = {
    "department_code": tools.LIST_DEPARTMENTS,
    "priority": tools.LIST_PRIORITIES,
    "workflow_type": tools.LIST_WORKFLOW_TYPES,
}
_KNOWN_ROWS = {
    "department_code": [department._asdict() for department in DEPARTMENTS],
    "priority": [priority._asdict() for priority in PRIORITIES],
    "workflow_type": [workflow._asdict() for workflow in WORKFLOW_TYPES],
}
_DEFAULTS = {"priority": "Medium", "workflow_type": "Standard"}  # for a user without a preference; read back like other values
_CONFIRM_AGAIN = (
    "Please say yes if all of that is right, or tell me what to change.",
    "I write nothing without a clear yes. A yes or a no is enough, or the detail that is wrong.",
)
_FURTHER_REQUEST = re.compile(r"\b(?:another|also|second|next|more|then|after(?:wards)?|additional(?:ly)?|new|too|third)\b", re.IGNORECASE)


class AgentDialogue:
    """The state of one conversation: `current_ticket` is the last mentioned ticket, `known_tickets` are all tickets that were looked up."""

    def __init__(self, offered: Collection[str], flaws: AgentFlaws) -> None:
        self.flaws = flaws
        self.current_ticket: dict[str, Any] | None = None
        self.known_tickets: dict[str, dict[str, Any]] = {}
        self.pending_intents: list[Intent] = []
        self.refused_topic = ""
        self.items_added = 0
        self.misunderstandings = 0
        self._tool_names = offered
        self._queued_statements: list[str] = []
        self._choices: dict[str, dict[str, str]] = {}

    def queue_statement(self, sentence: str) -> None:
        """Queue a sentence to be said before the next question."""
        self._queued_statements.append(sentence)

    def say(self, question: str) -> Steps[str]:
        """Say the queued sentences and the question, and return the user's reply, whatever it is."""
        message = "\n".join([*self._queued_statements, question])
        self._queued_statements.clear()
        answer: str = yield message
        return answer[:MAX_MESSAGE_LENGTH]

    def ask(self, question: str) -> Steps[str]:
        """Return the answer to a question. A user who wants to start over, cancel or leave raises the matching exception."""
        answer = yield from self.say(question)
        if wants_to_start_over(answer):
            raise StartOver
        if wants_to_cancel(answer):
            raise TaskCancelled
        if is_goodbye(answer):
            raise UserLeft
        return answer

    def call_tools(self, *requests: ToolRequest) -> Steps[list[ToolOutcome]]:
        """Call tools in parallel and return their outcomes. A tool that is not listed is not called; its outcome is an error."""
        allowed = tuple(request for request in requests if request.tool in self._tool_names)
        texts: list[str] = (yield allowed) if allowed else []
        answers = iter([_read_outcome(text) for text in texts])
        unknown = ToolOutcome(error="that cannot be done here at the moment")
        return [next(answers, unknown) if request.tool in self._tool_names else unknown for request in requests]

    def write(self, tool: str, arguments: Mapping[str, str]) -> Steps[ToolOutcome]:
        """Call a tool that changes something."""
        order = ("ticket_id", "action_item_id", *TICKET_FORM.slots, *ITEM_FORM.slots, "status")
        values = {slot: arguments[slot] for slot in dict.fromkeys(order) if slot in arguments and slot not in self.flaws.omitted_slots}
        if self.flaws.shifts_due_dates and "due_date" in values:
            values["due_date"] = (date.fromisoformat(values["due_date"]) + timedelta(days=1)).isoformat()
        if self.flaws.guesses_priority and tool == tools.CREATE_TICKET:  # whatever the user says
            values["priority"] = "Medium"
        (outcome,) = yield from self.call_tools(ToolRequest(tool, values))
        if self.flaws.repeats_writes:
            yield from self.call_tools(ToolRequest(tool, values))
        return outcome

    def load_choices(self, slots: Collection[str]) -> Steps[None]:
        """Look up the departments, priorities and workflow types for these slots, each once per conversation."""
        slots_to_load = [slot for slot in _LOOKUPS if slot in slots and slot not in self._choices]
        rows: dict[str, Any] = {slot: _KNOWN_ROWS[slot] for slot in slots_to_load}
        if not self.flaws.skips_lookups:
            outcomes = yield from self.call_tools(*[ToolRequest(_LOOKUPS[slot], {}) for slot in slots_to_load])
            rows |= {slot: outcome.data for slot, outcome in zip(slots_to_load, outcomes, strict=True) if _are_named_rows(outcome.data)}
        for slot in slots_to_load:
            self._choices[slot] = {
                str(row[key]).casefold(): str(row.get("code", row["name"])) for row in rows[slot] for key in ("code", "name") if key in row
            }

    def read_slots(
        self, answer: str, slots: Collection[str], requested_slots: Sequence[str] = (), *, noun: str = "ticket"
    ) -> dict[str, str]:
        """Return the values that an answer gives for these slots."""
        return extract_slots(answer, slots, requested_slots=requested_slots, choices=self.choices(noun), today=TODAY)

    def read_changes(self, answer: str, current: Mapping[str, str], slots: Collection[str], *, noun: str = "ticket") -> dict[str, str]:
        """Return the values in an answer that differ from the current ones."""
        return extract_changes(answer, current, slots, choices=self.choices(noun), today=TODAY)

    def choices(self, noun: str = "ticket") -> dict[str, dict[str, str]]:
        """Return the spoken form and the value of each choice, for each slot with fixed choices."""
        statuses = ITEM_STATUSES if noun == ITEM_FORM.noun else TICKET_STATUSES
        return {**self._choices, "status": {status.casefold(): status for status in statuses}}

    def fill_form(self, form: SlotForm, draft: dict[str, str]) -> Steps[None]:
        """Ask for missing slots until none is missing. Raise `TaskCancelled` if repeated questions bring nothing new."""
        attempts = 0
        while missing_slots := self._missing_slots(form, draft):
            answer = yield from self.ask(self._form_question(form, missing_slots, attempts))
            before = dict(draft)
            if draft and all(slot in TEXT_SLOTS for slot in missing_slots) and is_change_of_mind(answer):
                draft |= self.read_changes(
                    answer, draft, [slot for slot in form.slots if slot in draft and slot not in TEXT_SLOTS], noun=form.noun
                )
            if draft == before and not _is_no_slot_answer(answer):
                draft |= self.read_slots(answer, form.slots, missing_slots, noun=form.noun)
            if draft == before:
                other_slots = [slot for slot in form.slots if slot in self._choices and slot not in draft]
                draft |= self.read_slots(answer, form.slots, other_slots, noun=form.noun)
            defaults = (
                {slot: _DEFAULTS[slot] for slot in missing_slots if slot in _DEFAULTS}
                if draft == before and has_no_preference(answer)
                else {}
            )
            if defaults:
                draft |= defaults
                self.queue_statement(
                    f"Then I put what is usual: {_join_words(list(defaults.values()))}. You can change it when I read it back."
                )
            attempts = 0 if draft != before else attempts + 1
            if attempts > MAX_ATTEMPTS:
                raise TaskCancelled(f"Without the {SLOT_NAMES[missing_slots[0]]} I cannot write the {form.noun}, so I leave it for now.")

    def confirm(self, form: SlotForm, draft: dict[str, str], *, lines: Sequence[str], question: str, slots: Collection[str]) -> Steps[bool]:
        """Read the draft back and return whether the user says yes; False if the draft was changed and must be read back again."""
        if self.flaws.skips_confirmation:
            return True
        for again in range(1 + len(_CONFIRM_AGAIN)):
            answer = yield from self.ask(("\n".join(lines), *_CONFIRM_AGAIN)[again] + f"\n{question}")
            if self._confirms_with_request(answer):
                return True
            if further_intents := [
                intent for intent in detect_intents(answer) if intent.kind in ("open ticket", "add item") and form.noun not in intent.kind
            ]:
                self.pending_intents += further_intents
                self.queue_statement("One thing after the other.")
                continue
            change = self.read_changes(answer, draft, slots, noun=form.noun)
            if not change and is_yes(answer):
                return True
            if not change and (is_no(answer) or find_slot_name(answer, slots)):
                change = yield from self._ask_for_change(form, draft, slots, answer)
            if change:
                draft |= change
                self.queue_statement(f"All right, I have changed the {_join_words([SLOT_NAMES[slot] for slot in change])}.")
                return False
        raise TaskCancelled(f"I am not sure whether that is right, so I do not write the {form.noun}.")

    def _ask_for_change(self, form: SlotForm, draft: Mapping[str, str], slots: Collection[str], answer: str) -> Steps[dict[str, str]]:
        """Ask a user who said no what to change."""
        slot = find_slot_name(answer, slots)
        if slot is None:
            answer = yield from self.ask("What should I change?")
            change = self.read_changes(answer, draft, slots, noun=form.noun)
            slot = find_slot_name(answer, slots)
            if change or slot is None:
                return change
        answer = yield from self.ask(f"What should the {SLOT_NAMES[slot]} be instead?")
        return self.read_slots(answer, slots, (slot,), noun=form.noun)

    def _confirms_with_request(self, answer: str) -> bool:
        """Return whether the reply is a yes followed by another request, which is queued: `Yes. I also need an action item.`"""
        sentences = re.split(r"(?<=[.!;])\s+|,?\s+and\s+(?=also|then|i\b)|,\s+(?=then|also)", answer, maxsplit=1, flags=re.IGNORECASE)
        if len(sentences) < 2 or not is_yes(sentences[0]) or not _FURTHER_REQUEST.search(sentences[1]):
            return False
        further_requests = detect_intents(sentences[1])
        self.pending_intents += further_requests
        return bool(further_requests)

    def _missing_slots(self, form: SlotForm, draft: Mapping[str, str]) -> list[str]:
        for group in form.groups:
            missing = [slot for slot in group if slot not in draft and slot not in self.flaws.omitted_slots]
            if missing:
                return missing
        return []

    def _form_question(self, form: SlotForm, missing_slots: Sequence[str], attempts: int) -> str:
        requested_slots = [_slot_question(slot, form.noun, self._choices.get(slot, {})) for slot in missing_slots]
        first, *rest = requested_slots
        question = first[:1].upper() + first[1:] + "".join(f", and {each}" for each in rest) + "?"
        if attempts == 0:
            return question
        slot_names = _join_words([SLOT_NAMES[slot] for slot in missing_slots])
        if attempts == 1:
            return f"Sorry, I did not get the {slot_names}. {_EXAMPLES[missing_slots[-1]]} {question}"
        return (
            f"I still need the {slot_names} for the {form.noun}. You can also tell me to start over or to cancel it. Otherwise: {question}"
        )


def _read_outcome(text: str) -> ToolOutcome:
    """Return the data of a JSON result. Any other text is an error."""
    try:
        data = json.loads(text)
    except ValueError:
        return ToolOutcome(error=text.strip() or "nothing came back")
    if isinstance(data, dict) and "error" in data:
        return ToolOutcome(error=str(data["error"]))
    return ToolOutcome(data) if isinstance(data, dict | list) else ToolOutcome(error=text)


def _are_named_rows(data: Any) -> bool:
    return isinstance(data, list) and bool(data) and all(isinstance(row, dict) and "name" in row for row in data)


def _slot_question(slot: str, noun: str, message: Mapping[str, str]) -> str:
    values = dict.fromkeys(message.values())
    if slot == "department_code":
        return f"which department is it for ({', '.join(values)})"
    if slot in ("priority", "workflow_type"):
        return f"what is the {SLOT_NAMES[slot]} ({', '.join(values)})"
    if slot == "assigned_to":
        return "who should it be assigned to"
    return f"what is the {SLOT_NAMES[slot]}" + (f" of the {noun}" if slot in ("title", "description") else "")


def _is_no_slot_answer(answer: str) -> bool:
    """Return whether the user repeats the request or asks a question instead of giving a detail."""
    if is_non_answer(answer):
        return True
    is_short = len(answer.split()) <= 14 and re.match(r"\W*(?:i|can|could|please)\b", answer, re.IGNORECASE) is not None
    return is_short and any(intent.kind in ("open ticket", "add item", "find") for intent in detect_intents(answer))


def _join_words(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_EXAMPLES = {
    "title": "A few words are enough, such as: Printer does not print.",
    "department_code": "The code of the department or its name, such as Finance, will do.",
    "priority": "One of the words will do.",
    "workflow_type": "One of the words will do.",
    "description": "One sentence about what is wrong or wanted is enough.",
    "expected_outcome": "One sentence about how it should be in the end is enough.",
    "assigned_to": "A name is enough.",
    "due_date": "A day such as 2025-05-10 or May 10 is best.",
}
