"""A user that is independent of the rule-based user, with other words and other ways to answer. Goals and values come from the scenario."""

import re
from collections.abc import Sequence
from datetime import date
from random import Random
from types import TracebackType
from typing import Any, Self

from callmark.simulation.session import UserTurn
from callmark.types import Case, Message

DEPARTMENTS = {
    "IT": ("Send it to the computer people, I mean IT.", "Information Technology ought to have a look.", "IT"),
    "HR": ("That is something for Human Resources.", "HR should sort this out.", "Human Resources, surely."),
    "FIN": ("Finance will have to deal with it.", "That would be the Finance folks.", "FIN"),
    "FAC": ("Facilities looks after such things.", "Pass it on to Facilities.", "FAC"),
    "OPS": ("It lands on the desk of Operations.", "Operations, they run the place.", "OPS it is."),
    "LEGAL": ("One for Legal.", "The Legal team needs to see this.", "Legal"),
    "MKT": ("Marketing should pick this up.", "Marketing, since they own it.", "MKT"),
    "CS": ("Customer Service takes care of these.", "Our Customer Service colleagues.", "CS, that is Customer Service."),
}
PRIORITIES = {
    "Low": ("There is no rush whatsoever, low will do.", "Low."),
    "Medium": ("Somewhere in the middle, so Medium.", "I would not call it more than medium."),
    "High": ("Fairly pressing, so High.", "High, we really need this."),
    "Critical": ("It could not be more pressing: Critical.", "Critical! Nothing works here."),
}
WORKFLOWS = {
    "Standard": ("The normal road, Standard.", "Standard is fine by me."),
    "Expedited": ("Push it to the front: Expedited.", "Expedited, please."),
    "Scheduled": ("Put it on the calendar, Scheduled.", "Scheduled would suit us."),
    "Compliance": ("It has to go the Compliance route.", "Compliance."),
}
VALUE_TEMPLATES = {
    "title": ('Put "{0}" as the heading.', "As a heading I would take: {0}", "{0}"),
    "description": ("Here is the story: {0}", '"{0}"', "{0}."),
    "expected_outcome": ("I will be content once this is so: {0}", 'When all is done: "{0}"', "{0}."),
    "assigned_to": ("{0} will see to it.", "Hand it to {0}, please.", "{0}"),
    "query": ('It goes by the name of "{0}".', "The heading was {0}", '"{0}"'),
    "ticket_id": ("It is number {0}.", "{0}", "{0}, says my e-mail."),
    "status": ("From now on it is {0}.", "{0}, please.", "{0}"),
}
SLOT_WORDS = {  # words in a question about a slot
    "ticket_id": r"\bnumber\b|\bwhich ticket\b|\bticket id\b",
    "query": r"\bwhich ticket\b|\bsearch\b|\blook for\b|\bfind\b|\bcalled\b",
    "title": r"\btitle\b|\bsubject\b|\bheading\b|\bheadline\b|\bcall it\b|\bin a few words\b",
    "department_code": r"\bdepartments?\b|\bteam\b|\bwho handles\b",
    "priority": r"\bpriority\b|\burgent\b|\burgency\b",
    "workflow_type": r"\bworkflow\b|\bworked on\b",
    "expected_outcome": r"\boutcome\b|\bresult\b|\bwhen it is done\b|\bgoal\b",
    "description": r"\bdescri\w+|\bdetails?\b|\bwhat (?:exactly )?(?:is wrong|happened)\b|\bto be done\b",
    "assigned_to": r"\bassign\w*|\bwho (?:should|is going to|will|does)\b|\bresponsible\b",
    "due_date": r"\bdue\b|\bby when\b|\bdeadline\b|\bwhich day\b|\bdate\b",
    "status": r"\bstatus\b",
}
READING_BACK = (
    r"(?:\bcorrect|\bright|\bgo ahead|\bconfirm\w*|\bshall i\b|\bshould i\b|\bok(?:ay)?|\bdo you agree|\bis that (?:it|so)|\byes or no)\b"
    r"[^?]*\?"
)
MORE = r"\banything (?:else|more)\b|\bsomething else\b|\belse\b[^?]*\?"
REFUSED = r"\bcannot\b|\bcan't\b|\bnot allowed\b|\bnot possible\b|\bunable\b|\bnever\b|\bsorry\b|\bafraid\b"
UNCLEAR = r"\bunderstand\b|\bwould you like to\b|\bwhich of these\b|\bwhat you need\b"
YES = ("That is it, do it.", "Looks fine to me, you may save it.", "Exactly so, put it in.", "Yes, every word of it.", "Agreed.")
THANKS = ("Grand, we are finished here then. Cheers!", "That does it for me, so long!", "All sorted, thank you very much. Bye.")
INSIST = ("Surely there is some way around that?", "Come on, nobody is going to notice.", "Oh please, make it happen anyway.")
ACCEPTED = ("Well, if that is how it is. Bye then.", "Fine, I can live with that. So long!", "Pity. I shall leave it at that, goodbye.")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


def opening(task: dict[str, Any], chance: Random) -> str:
    """Return the first sentence about a task."""
    goal, slots = str(task["goal"]), task["slots"]
    if "action item" in goal and "ticket_id" in slots:
        number = slots["ticket_id"]
        return chance.choice(
            (f"Somebody has to do something about {number}; put an action item on it, will you?", f"{number} needs an action item.")
        )
    if "second" in goal:
        return chance.choice(("Then I have yet another action item.", "And a further action item on top of that, please."))
    if "action item" in goal:
        return chance.choice(
            (
                "There is an action item that goes with it.",
                "Fine. Next comes an action item for the very same ticket.",
                "I also want an action item on it.",
            )
        )
    if "open" in goal:
        return chance.choice(
            (
                "Morning! Would you kindly log a ticket?",
                "I want to report a fault.",
                "I have to get a ticket started with you.",
                "Ticket needed over here!",
            )
        )
    if goal.startswith("change the priority") and "query" in slots:
        return f'I wish to have "{slots["query"]}" ranked differently, its priority does not fit any more.'
    if goal.startswith("change the priority"):
        return f"The priority of {slots['ticket_id']} has to become {slots['priority']}."
    if goal.startswith("change the status"):
        return f"Regarding {slots['ticket_id']}: its status is no longer what you have on file."
    if goal.startswith("hand a ticket over"):
        return f'A ticket of ours sits with the wrong department, the one about "{slots["query"]}".'
    return chance.choice((f"I want you to {goal}.", f"Kindly {goal}.", f"My wish is simple: {goal}."))


class OtherUser:
    """Simulates every scenario with tasks."""

    label = "independent user"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def start_session(self, case: Case, trial: int) -> "OtherUserSession":
        return OtherUserSession(case, Random(f"{self._seed} {case.id} {trial}"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


class OtherUserSession:
    def __init__(self, case: Case, chance: Random) -> None:
        self._tasks = list(case.data["tasks"])
        self._forbidden = not case.expected
        self._chance = chance
        self._task: dict[str, Any] = {}
        self._told: dict[str, Any] = {}
        self._changes: dict[str, Any] = {}
        self._insisted = 0

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        if not messages:
            return self._begin()
        text = messages[-1].text
        if self._forbidden and re.search(REFUSED, text, re.IGNORECASE):
            self._insisted += 1
            return UserTurn(self._one(INSIST)) if self._insisted == 1 else UserTurn(self._one(ACCEPTED), done=True)
        if re.search(r"\b(?:say|clear|a) yes\b", text, re.IGNORECASE):
            return UserTurn("Yes.")
        if re.search(READING_BACK, text, re.IGNORECASE) and self._is_told(text):
            return self._confirm()
        if re.search(UNCLEAR, text, re.IGNORECASE):
            return UserTurn(self._one((f"Let me put it plainly: I want to {self._task['goal']}.", f"My errand: {self._task['goal']}.")))
        requested = self._asked_for(text)
        if requested:
            return self._tell(requested)
        if re.search(MORE, text, re.IGNORECASE) and self._told:
            return self._begin() if self._tasks else UserTurn(self._one(ACCEPTED if self._forbidden else THANKS), done=True)
        return self._tell([slot for slot in self._task["slots"] if slot not in self._told][:2] or list(self._task["slots"])[:1])

    def _begin(self) -> UserTurn:
        self._task = self._tasks.pop(0)
        self._changes = dict(self._task.get("changes", {}))
        text = opening(self._task, self._chance)
        self._told = {slot: value for slot, value in self._task["slots"].items() if str(value) in text}
        return UserTurn(text)

    def _is_told(self, text: str) -> bool:
        """Return whether everything was said or read back; if not, the user says the rest instead of yes."""
        return all(slot in self._told or str(value).casefold() in text.casefold() for slot, value in self._task["slots"].items())

    def _confirm(self) -> UserTurn:
        if not self._changes:
            return UserTurn(self._one(YES))
        slot, value = self._changes.popitem()
        self._told[slot] = value
        name = slot.removesuffix("_code").replace("_", " ")
        return UserTurn(
            self._one(
                (f"Hang on. Make the {name} {value} instead.", f"One correction: {name} {value}.", f"Wait, the {name} ought to be {value}.")
            )
        )

    def _asked_for(self, text: str) -> list[str]:
        """Return the slots that the questions ask for, in order."""
        questions = " ".join(re.findall(r"[^.!?\n]*\?", text)) or text
        found = {slot: match.start() for slot in self._task["slots"] if (match := re.search(SLOT_WORDS[slot], questions, re.IGNORECASE))}
        new = [slot for slot in sorted(found, key=lambda slot: found[slot]) if slot not in self._told]
        return new[:2] or ([] if re.search(MORE, text, re.IGNORECASE) else list(found)[:1])

    def _tell(self, slots: Sequence[str]) -> UserTurn:
        words = []
        for slot in slots:
            value = self._told.setdefault(slot, self._task["slots"][slot])
            words.append(self._worded(slot, str(value)))
        return UserTurn("\n".join(words))

    def _worded(self, slot: str, value: str) -> str:
        for table in (DEPARTMENTS, PRIORITIES, WORKFLOWS):
            if slot in ("department_code", "priority", "workflow_type") and value in table:
                return self._one(table[value])
        if slot == "due_date":
            day = date.fromisoformat(value)
            month = MONTHS[day.month - 1]
            return self._one(
                (f"No later than {day.day} {month} {day.year}.", f"{month} {day.day}, {day.year} at the latest.", f"Until {value}.")
            )
        return self._one(VALUE_TEMPLATES[slot]).format(value)

    def _one(self, choices: Sequence[str]) -> str:
        return self._chance.choice(list(choices))
