"""Somebody at the help desk's counter: asks, listens, looks things up, reads back and waits for a yes before anything is written.

A conversation is a generator: it gives out what is said to the user or which tools are called, and is sent what they answer. So a
conversation that is under way is had again, from its messages, to know what comes next.
"""

import json
import re
from collections.abc import Collection, Generator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple, TypeVar

from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.company import DEPARTMENTS, ITEM_STATUSES, PRIORITIES, TICKET_STATUSES, TODAY, WORKFLOW_TYPES
from callmark.worlds.helpdesk.language import (
    agrees,
    has_no_preference,
    is_leaving,
    is_no,
    is_no_answer,
    wants_to_cancel,
    wants_to_start_over,
)
from callmark.worlds.helpdesk.values import TEXTS, is_change_of_mind, read_change, read_values, slot_in
from callmark.worlds.helpdesk.wishes import Wish, wishes_in

MOST_HEARD = 3000  # characters of one message; nobody tells more than that at a counter
PATIENCE = 3  # times that a thing is asked for in other words

_T = TypeVar("_T")


class Request(NamedTuple):
    """A tool that is called."""

    tool: str
    arguments: dict[str, str]


Turn = str | tuple[Request, ...]
Session = Generator[Turn, Any, _T]


class Outcome(NamedTuple):
    """What came of a request: data, or the sentence of an error."""

    data: Any = None
    error: str = ""


class Habits(NamedTuple):
    """What a clerk does wrong; a careful one nothing."""

    leaves_out: tuple[str, ...] = ()
    guesses_priority: bool = False
    looks_nothing_up: bool = False
    writes_unconfirmed: bool = False
    writes_twice: bool = False
    forgets_second_item: bool = False
    day_late: bool = False


class Form(NamedTuple):
    """What has to be known before something can be written; what stands in one group is asked for at once."""

    noun: str
    groups: tuple[tuple[str, ...], ...]

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(slot for group in self.groups for slot in group)


class StartOver(Exception):  # noqa: N818 - it is what the user wants
    """The user wants to begin again."""


class Cancelled(Exception):  # noqa: N818 - it is what the user wants
    """What was under way is given up; the text says why, if not because the user said so."""


class Leaving(Exception):  # noqa: N818 - it is what the user wants
    """The user says goodbye in the middle of something."""


TICKET = Form("ticket", (("title", "department_code"), ("priority", "workflow_type"), ("description",), ("expected_outcome",)))
ITEM = Form("action item", (("title",), ("assigned_to", "due_date"), ("description",)))
CHANGEABLE = (*TICKET.slots, "status")
ITEM_CHANGEABLE = (*ITEM.slots, "status")
NAMES = {
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
_WITHOUT_LOOKING = {
    "department_code": [department._asdict() for department in DEPARTMENTS],
    "priority": [priority._asdict() for priority in PRIORITIES],
    "workflow_type": [workflow._asdict() for workflow in WORKFLOW_TYPES],
}
_USUAL = {"priority": "Medium", "workflow_type": "Standard"}  # for somebody who has no preference; it is read back like the rest
_CONFIRM_AGAIN = (
    "Please say yes if all of that is right, or tell me what to change.",
    "I write nothing without a clear yes. A yes or a no is enough, or the detail that is wrong.",
)
_MORE = re.compile(r"\b(?:another|also|second|next|more|then|after(?:wards)?|additional(?:ly)?|new|too|third)\b", re.IGNORECASE)


class Clerk:
    """What one clerk knows in one conversation. `ticket` is the one that was talked of last; `known` are all that were seen."""

    def __init__(self, offered: Collection[str], habits: Habits) -> None:
        self.habits = habits
        self.ticket: dict[str, Any] | None = None
        self.known: dict[str, dict[str, Any]] = {}
        self.waiting: list[Wish] = []
        self.refused = ""
        self.items_added = 0
        self.misunderstood = 0
        self._offered = offered
        self._told: list[str] = []
        self._choices: dict[str, dict[str, str]] = {}

    def tell(self, sentence: str) -> None:
        """Have something said before the next question."""
        self._told.append(sentence)

    def listen(self, question: str) -> Session[str]:
        """Say what there is to be said, and hear the answer, whatever it is."""
        said = "\n".join([*self._told, question])
        self._told.clear()
        heard: str = yield said
        return heard[:MOST_HEARD]

    def ask(self, question: str) -> Session[str]:
        """The answer to a question; somebody who wants out of it is let go."""
        heard = yield from self.listen(question)
        if wants_to_start_over(heard):
            raise StartOver
        if wants_to_cancel(heard):
            raise Cancelled
        if is_leaving(heard):
            raise Leaving
        return heard

    def do(self, *requests: Request) -> Session[list[Outcome]]:
        """Call tools, all at once, and have what came of each. One that is not offered is an error, and not called."""
        possible = tuple(request for request in requests if request.tool in self._offered)
        texts: list[str] = (yield possible) if possible else []
        answers = iter([_outcome(text) for text in texts])
        unknown = Outcome(error="that cannot be done here at the moment")
        return [next(answers, unknown) if request.tool in self._offered else unknown for request in requests]

    def write(self, tool: str, arguments: Mapping[str, str]) -> Session[Outcome]:
        """Call a tool that changes something."""
        order = ("ticket_id", "action_item_id", *TICKET.slots, *ITEM.slots, "status")
        written = {slot: arguments[slot] for slot in dict.fromkeys(order) if slot in arguments and slot not in self.habits.leaves_out}
        if self.habits.day_late and "due_date" in written:
            written["due_date"] = (date.fromisoformat(written["due_date"]) + timedelta(days=1)).isoformat()
        if self.habits.guesses_priority and tool == tools.CREATE_TICKET:  # and stays with it, whatever the user says to it
            written["priority"] = "Medium"
        (outcome,) = yield from self.do(Request(tool, written))
        if self.habits.writes_twice:
            yield from self.do(Request(tool, written))
        return outcome

    def look_up(self, slots: Collection[str]) -> Session[None]:
        """Know which departments, priorities and workflow types there are; each is looked up once in a conversation."""
        wanted = [slot for slot in _LOOKUPS if slot in slots and slot not in self._choices]
        rows: dict[str, Any] = {slot: _WITHOUT_LOOKING[slot] for slot in wanted}
        if not self.habits.looks_nothing_up:
            outcomes = yield from self.do(*[Request(_LOOKUPS[slot], {}) for slot in wanted])
            rows |= {slot: outcome.data for slot, outcome in zip(wanted, outcomes, strict=True) if _named_rows(outcome.data)}
        for slot in wanted:
            self._choices[slot] = {
                str(row[key]).casefold(): str(row.get("code", row["name"])) for row in rows[slot] for key in ("code", "name") if key in row
            }

    def read(self, heard: str, slots: Collection[str], asked: Sequence[str] = (), *, noun: str = "ticket") -> dict[str, str]:
        """What an answer says about these slots."""
        return read_values(heard, slots, asked=asked, choices=self.choices(noun), today=TODAY)

    def read_change(self, heard: str, now: Mapping[str, str], slots: Collection[str], *, noun: str = "ticket") -> dict[str, str]:
        """What an answer makes different from what it is now."""
        return read_change(heard, now, slots, choices=self.choices(noun), today=TODAY)

    def choices(self, noun: str = "ticket") -> dict[str, dict[str, str]]:
        """Of each argument with a fixed set: how a value is said, and the value."""
        statuses = ITEM_STATUSES if noun == ITEM.noun else TICKET_STATUSES
        return {**self._choices, "status": {status.casefold(): status for status in statuses}}

    def fill(self, form: Form, draft: dict[str, str]) -> Session[None]:
        """Ask for what is missing until nothing is. Raises `Cancelled` when asking again and again is no use."""
        tries = 0
        while wanting := self._missing(form, draft):
            heard = yield from self.ask(self._question(form, wanting, tries))
            before = dict(draft)
            if draft and all(slot in TEXTS for slot in wanting) and is_change_of_mind(heard):
                draft |= self.read_change(
                    heard, draft, [slot for slot in form.slots if slot in draft and slot not in TEXTS], noun=form.noun
                )
            if draft == before and not _asks_again(heard):
                draft |= self.read(heard, form.slots, wanting, noun=form.noun)
            if draft == before:
                others = [slot for slot in form.slots if slot in self._choices and slot not in draft]
                draft |= self.read(heard, form.slots, others, noun=form.noun)
            usual = {slot: _USUAL[slot] for slot in wanting if slot in _USUAL} if draft == before and has_no_preference(heard) else {}
            if usual:
                draft |= usual
                self.tell(f"Then I put what is usual: {_listed(list(usual.values()))}. You can change it when I read it back.")
            tries = 0 if draft != before else tries + 1
            if tries > PATIENCE:
                raise Cancelled(f"Without the {NAMES[wanting[0]]} I cannot write the {form.noun}, so I leave it for now.")

    def confirm(self, form: Form, draft: dict[str, str], *, lines: Sequence[str], question: str, slots: Collection[str]) -> Session[bool]:
        """Read back and wait for a yes. False: something was changed, and has to be read back anew."""
        if self.habits.writes_unconfirmed:
            return True
        for again in range(1 + len(_CONFIRM_AGAIN)):
            heard = yield from self.ask(("\n".join(lines), *_CONFIRM_AGAIN)[again] + f"\n{question}")
            if self._agrees_and_wants_more(heard):
                return True
            if later := [wish for wish in wishes_in(heard) if wish.kind in ("open ticket", "add item") and form.noun not in wish.kind]:
                self.waiting += later
                self.tell("One thing after the other.")
                continue
            change = self.read_change(heard, draft, slots, noun=form.noun)
            if not change and agrees(heard):
                return True
            if not change and (is_no(heard) or slot_in(heard, slots)):
                change = yield from self._changed(form, draft, slots, heard)
            if change:
                draft |= change
                self.tell(f"All right, I have changed the {_listed([NAMES[slot] for slot in change])}.")
                return False
        raise Cancelled(f"I am not sure whether that is right, so I do not write the {form.noun}.")

    def _changed(self, form: Form, draft: Mapping[str, str], slots: Collection[str], heard: str) -> Session[dict[str, str]]:
        """What somebody who said no wants instead."""
        slot = slot_in(heard, slots)
        if slot is None:
            heard = yield from self.ask("What should I change?")
            change = self.read_change(heard, draft, slots, noun=form.noun)
            slot = slot_in(heard, slots)
            if change or slot is None:
                return change
        heard = yield from self.ask(f"What should the {NAMES[slot]} be instead?")
        return self.read(heard, slots, (slot,), noun=form.noun)

    def _agrees_and_wants_more(self, heard: str) -> bool:
        """Whether it is a yes and then something else that is wanted, which is kept for later: `Yes. I also need an action item.`"""
        sentences = re.split(r"(?<=[.!;])\s+|,?\s+and\s+(?=also|then|i\b)|,\s+(?=then|also)", heard, maxsplit=1, flags=re.IGNORECASE)
        if len(sentences) < 2 or not agrees(sentences[0]) or not _MORE.search(sentences[1]):
            return False
        more = wishes_in(sentences[1])
        self.waiting += more
        return bool(more)

    def _missing(self, form: Form, draft: Mapping[str, str]) -> list[str]:
        for group in form.groups:
            missing = [slot for slot in group if slot not in draft and slot not in self.habits.leaves_out]
            if missing:
                return missing
        return []

    def _question(self, form: Form, wanting: Sequence[str], tries: int) -> str:
        asked = [_asked(slot, form.noun, self._choices.get(slot, {})) for slot in wanting]
        first, *rest = asked
        question = first[:1].upper() + first[1:] + "".join(f", and {each}" for each in rest) + "?"
        if tries == 0:
            return question
        named = _listed([NAMES[slot] for slot in wanting])
        if tries == 1:
            return f"Sorry, I did not get the {named}. {_EXAMPLES[wanting[-1]]} {question}"
        return f"I still need the {named} for the {form.noun}. You can also tell me to start over or to cancel it. Otherwise: {question}"


def _outcome(text: str) -> Outcome:
    """Data where it is JSON; whatever else a tool says is an error."""
    try:
        data = json.loads(text)
    except ValueError:
        return Outcome(error=text.strip() or "nothing came back")
    if isinstance(data, dict) and "error" in data:
        return Outcome(error=str(data["error"]))
    return Outcome(data) if isinstance(data, dict | list) else Outcome(error=text)


def _named_rows(data: Any) -> bool:
    return isinstance(data, list) and bool(data) and all(isinstance(row, dict) and "name" in row for row in data)


def _asked(slot: str, noun: str, said: Mapping[str, str]) -> str:
    values = dict.fromkeys(said.values())
    if slot == "department_code":
        return f"which department is it for ({', '.join(values)})"
    if slot in ("priority", "workflow_type"):
        return f"what is the {NAMES[slot]} ({', '.join(values)})"
    if slot == "assigned_to":
        return "who should it be assigned to"
    return f"what is the {NAMES[slot]}" + (f" of the {noun}" if slot in ("title", "description") else "")


def _asks_again(heard: str) -> bool:
    """Whether somebody who was asked for a detail says once more what they want, or asks something back."""
    if is_no_answer(heard):
        return True
    brief = len(heard.split()) <= 14 and re.match(r"\W*(?:i|can|could|please)\b", heard, re.IGNORECASE) is not None
    return brief and any(wish.kind in ("open ticket", "add item", "find") for wish in wishes_in(heard))


def _listed(words: Sequence[str]) -> str:
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
