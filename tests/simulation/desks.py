"""Little agents of different wording that the users' tests talk to. None of them is made for any user, nor a user for them."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from callmark.simulation.session import User, UserTurn
from callmark.types import Case, Message

Desk = Callable[[Sequence[Message]], str]

SERVER = {
    "title": "Server performance degradation",
    "department_code": "IT",
    "priority": "Critical",
    "workflow_type": "Expedited",
    "description": "Main application server is experiencing significant performance degradation",
    "expected_outcome": "Server performance restored to normal levels",
}
MEMORY = {
    "title": "Increase server memory allocation",
    "assigned_to": "John Smith",
    "description": "Allocate additional memory resources to the main application server",
    "due_date": "2025-05-10",
}


def scenario(*tasks: dict[str, Any], case_id: str = "s1", **data: Any) -> Case:
    return Case(case_id, instructions="…", completion="The user has confirmed the end of the session", data={"tasks": list(tasks), **data})


def ticket(**changes: Any) -> dict[str, Any]:
    return {"goal": "open a support ticket", "slots": SERVER, "words": ["ticket"], **changes}


def action_item(**changes: Any) -> dict[str, Any]:
    return {"goal": "add an action item for it", "slots": MEMORY, "words": ["action item"], **changes}


async def converse(user: User, desk: Desk, case: Case, *, trial: int = 0, most: int = 40) -> tuple[list[Message], bool]:
    """How it goes, and whether the user took their leave."""
    speaker = user.start_session(case, trial)
    talk: list[Message] = []
    for _ in range(most):
        said: UserTurn = await speaker.next_turn([message for message in talk if message.text])
        talk.append(Message("user", said.text))
        if said.done:
            return talk, True
        talk.append(Message("assistant", desk(talk)))
    return talk, False


def lines(talk: Sequence[Message], role: str = "user") -> list[str]:
    return [message.text for message in talk if message.role == role]


class Form:
    """Asks for one thing at a time, takes down what it is told, reads it back, and acts on a yes. `filed` is what it has taken down.

    `spoiled`: values that it reads back wrongly until it is corrected. A form after the first is begun when its word is said.
    """

    def __init__(self, forms: dict[str, dict[str, str]], *, spoiled: dict[str, str] | None = None, known: Sequence[str] = ()) -> None:
        self.forms = forms
        self.filed: list[dict[str, str]] = []
        self._spoiled = dict(spoiled or {})
        self._known = [str(value) for value in (*SERVER.values(), *MEMORY.values(), *known)]
        self._form = ""
        self._values: dict[str, str] = {}
        self._asked = ""
        self._read_back = False

    def __call__(self, talk: Sequence[Message]) -> str:
        said = talk[-1].text
        if not self._form:
            begun = next((form for form in reversed(self.forms) if form in said.casefold()), "")
            if not begun:
                return "Welcome. Do you want a " + " or a ".join(self.forms) + "?"
            self._form, self._values, self._read_back = begun, {}, False
            return self._next()
        if self._read_back:
            return self._decided(said)
        self._values[self._asked] = self._taken(said)
        return self._next()

    def _decided(self, said: str) -> str:
        if re.match(r"\W*(yes|yep|sure|correct|that's right|right|ok)\b", said, re.IGNORECASE):
            self.filed.append({name: self._spoiled.get(name, value) for name, value in self._values.items()})
            self._form, self._read_back, self._spoiled = "", False, {}
            return f"The {len(self.filed)}. entry was saved under TKT-{len(self.filed):04}. Is there anything else?"
        for name in self._values:
            if name.replace("_", " ").removesuffix(" code") in said.casefold():
                self._spoiled.pop(name, None)
                self._values[name] = self._taken(said[said.casefold().index(name.replace("_", " ").removesuffix(" code")) :])
        return self._next()

    def _taken(self, said: str) -> str:
        found = [value for value in self._known if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", said)]
        return max(found, key=len) if found else said

    def _next(self) -> str:
        questions = self.forms[self._form]
        self._asked = next((name for name in questions if name not in self._values), "")
        if self._asked:
            return questions[self._asked]
        self._read_back = True
        shown = {name: self._spoiled.get(name, value) for name, value in self._values.items()}
        return "\n".join(["This is what I have:", *(f"- **{name}**: {value}" for name, value in shown.items()), "Is that right?"])


TICKET_FORM = {
    "title": "What should we call it?",
    "department_code": "Whose area is it, which department?",
    "priority": "How urgent is it?",
    "workflow_type": "Shall it go the Standard or the Expedited way?",
    "description": "What is the problem, in your own words?",
    "expected_outcome": "What do you expect as the outcome?",
}
ITEM_FORM = {
    "title": "Title of the action item?",
    "assigned_to": "Who takes care of it?",
    "description": "What has to be done?",
    "due_date": "By when?",
}


def everything_at_once() -> Desk:
    """Asks for all there is in one message, and acts on a yes."""

    def desk(talk: Sequence[Message]) -> str:
        turn = len(lines(talk))
        if turn == 1:
            return (
                "Certainly! To file that I'll need the following information:\n"
                "1. **Subject** – a few words\n2. **Department**\n3. **Urgency** (Low, Medium, High, Critical)\n"
                "4. **Workflow** (Standard / Expedited)\n5. **Details** of the problem\n6. **Desired result**"
            )
        if turn == 2:
            return "Thank you. I am going to submit the request with what you have told me. May I go ahead?"
        return "Your request has been submitted, the reference is REQ-881. Have a nice day!"

    return desk


def refusing() -> Desk:
    return lambda talk: "I'm sorry, but deleting tickets is not something I am allowed to do."


def repeating(text: str) -> Desk:
    return lambda talk: text


def offering() -> Desk:
    """Shows what it has found, and lets the user choose."""

    def desk(talk: Sequence[Message]) -> str:
        said = talk[-1].text
        if "TKT-0007" in said:
            return "I have closed TKT-0007. Can I do anything else for you?"
        if len(lines(talk)) > 4:
            return "Please pick one of the numbers above."
        found = ("TKT-0003: Printer jams on floor 2", "TKT-0007: VPN drops every hour", "TKT-0009: Door badge broken")
        return "\n".join(
            ["Several tickets match:", *(f"{number}. {line}" for number, line in enumerate(found, 1)), "Which one do you mean?"]
        )

    return desk


def hasty() -> Desk:
    """Acts at once, and asks nobody."""

    def desk(talk: Sequence[Message]) -> str:
        return "Ticket TKT-0001 created." if len(lines(talk)) == 1 else "Ticket TKT-0001 updated."

    return desk
