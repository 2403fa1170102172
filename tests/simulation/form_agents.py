"""Small agents with different wordings for testing users, written independently of them."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from callmark.simulation.session import User, UserTurn
from callmark.types import Case, Message

AgentFunction = Callable[[Sequence[Message]], str]

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


async def converse(user: User, agent: AgentFunction, case: Case, *, trial: int = 0, max_turns: int = 40) -> tuple[list[Message], bool]:
    """Return the messages of a conversation, and whether the user ended it."""
    session = user.start_session(case, trial)
    conversation: list[Message] = []
    for _ in range(max_turns):
        turn: UserTurn = await session.next_turn([message for message in conversation if message.text])
        conversation.append(Message("user", turn.text))
        if turn.done:
            return conversation, True
        conversation.append(Message("assistant", agent(conversation)))
    return conversation, False


def lines(conversation: Sequence[Message], role: str = "user") -> list[str]:
    return [message.text for message in conversation if message.role == role]


class FormAgent:
    """Asks for one value at a time, reads all values back, and submits the form after a yes. `submitted` are the submitted forms.

    `misread`: values that it reads back wrongly until the user corrects them. A form starts when the user says its name.
    """

    def __init__(self, forms: dict[str, dict[str, str]], *, misread: dict[str, str] | None = None, known: Sequence[str] = ()) -> None:
        self.forms = forms
        self.submitted: list[dict[str, str]] = []
        self._misread = dict(misread or {})
        self._known = [str(value) for value in (*SERVER.values(), *MEMORY.values(), *known)]
        self._form = ""
        self._values: dict[str, str] = {}
        self._requested = ""
        self._read_back = False

    def __call__(self, conversation: Sequence[Message]) -> str:
        turn = conversation[-1].text
        if not self._form:
            started = next((form for form in reversed(self.forms) if form in turn.casefold()), "")
            if not started:
                return "Welcome. Do you want a " + " or a ".join(self.forms) + "?"
            self._form, self._values, self._read_back = started, {}, False
            return self._next()
        if self._read_back:
            return self._confirm(turn)
        self._values[self._requested] = self._extract(turn)
        return self._next()

    def _confirm(self, turn: str) -> str:
        if re.match(r"\W*(yes|yep|sure|correct|that's right|right|ok)\b", turn, re.IGNORECASE):
            self.submitted.append({name: self._misread.get(name, value) for name, value in self._values.items()})
            self._form, self._read_back, self._misread = "", False, {}
            return f"The {len(self.submitted)}. entry was saved under TKT-{len(self.submitted):04}. Is there anything else?"
        for name in self._values:
            if name.replace("_", " ").removesuffix(" code") in turn.casefold():
                self._misread.pop(name, None)
                self._values[name] = self._extract(turn[turn.casefold().index(name.replace("_", " ").removesuffix(" code")) :])
        return self._next()

    def _extract(self, turn: str) -> str:
        found = [value for value in self._known if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", turn)]
        return max(found, key=len) if found else turn

    def _next(self) -> str:
        questions = self.forms[self._form]
        self._requested = next((name for name in questions if name not in self._values), "")
        if self._requested:
            return questions[self._requested]
        self._read_back = True
        shown = {name: self._misread.get(name, value) for name, value in self._values.items()}
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


def everything_at_once() -> AgentFunction:
    """Return an agent that asks for all values in one message, and acts after a yes."""

    def agent(conversation: Sequence[Message]) -> str:
        turn = len(lines(conversation))
        if turn == 1:
            return (
                "Certainly! To file that I'll need the following information:\n"
                "1. **Subject** – a few words\n2. **Department**\n3. **Urgency** (Low, Medium, High, Critical)\n"
                "4. **Workflow** (Standard / Expedited)\n5. **Details** of the problem\n6. **Desired result**"
            )
        if turn == 2:
            return "Thank you. I am going to submit the request with what you have told me. May I go ahead?"
        return "Your request has been submitted, the reference is REQ-881. Have a nice day!"

    return agent


def refusing() -> AgentFunction:
    return lambda conversation: "I'm sorry, but deleting tickets is not something I am allowed to do."


def repeating(text: str) -> AgentFunction:
    return lambda conversation: text


def offering() -> AgentFunction:
    """Return an agent that shows what it found, and lets the user choose."""

    def agent(conversation: Sequence[Message]) -> str:
        turn = conversation[-1].text
        if "TKT-0007" in turn:
            return "I have closed TKT-0007. Can I do anything else for you?"
        if len(lines(conversation)) > 4:
            return "Please pick one of the numbers above."
        found = ("TKT-0003: Printer jams on floor 2", "TKT-0007: VPN drops every hour", "TKT-0009: Door badge broken")
        return "\n".join(
            ["Several tickets match:", *(f"{number}. {line}" for number, line in enumerate(found, 1)), "Which one do you mean?"]
        )

    return agent


def hasty() -> AgentFunction:
    """Return an agent that acts at once, without asking for confirmation."""

    def agent(conversation: Sequence[Message]) -> str:
        return "Ticket TKT-0001 created." if len(lines(conversation)) == 1 else "Ticket TKT-0001 updated."

    return agent
