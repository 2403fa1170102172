"""A world of notes: plan number 3 wants the note n3. Its expert can be told to go wrong at some plans, each in a way of its own."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from callmark.models.model import ModelError
from callmark.simulation.endings import STEP_LIMIT
from callmark.simulation.session import Session, UserTurn
from callmark.types import Call, Case, Message

TOOLS = '''
class Notes:
    """Notes of one conversation."""

    def __init__(self):
        self.notes = {}

    def add_note(self, title: str, text: str = "") -> str:
        """Add a note."""
        self.notes[f"N-{len(self.notes) + 1}"] = {"title": title, "text": text}
        return f"N-{len(self.notes)}"

    def transfer(self) -> str:
        """Hand over to a person."""
        return "Handed over."

    def state(self):
        return {"notes": self.notes}


def add_note(title: str, text: str = "") -> str:
    """Add a note, and tell nobody what there is."""
    return "N-1"
'''
RULES = {"rules": [{"id": "few", "says": "One note is enough.", "at_most": {"times": 1, "calls": "add_note"}}]}


class NotesWorld:
    """`wrong` says of plans by number what goes wrong: a word of `Clerk`. `plans` ends at `most`."""

    label = "the notes"
    tools: tuple[str, ...] = ("python:notes:Notes",)
    system = "Write down what people want."
    rules: dict[str, Any] = RULES
    branches = ("even", "odd", "never")
    made_up = False

    def __init__(self, wrong: Mapping[int, str] | None = None, *, most: int = 1000) -> None:
        self.wrong = dict(wrong or {})
        self.most = most
        self.asked: list[tuple[int, int]] = []  # how many plans from which one on
        self.held: list[str] = []

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        self.asked.append((number, start))
        return [self._plan(index, seed) for index in range(start, min(start + number, self.most))]

    def _plan(self, index: int, seed: int) -> Case:
        plan = {"number": index, "title": f"n{index}", "branches": ["odd" if index % 2 else "even"], "seed": seed}
        expected = (Call("add_note", {"title": f"n{index}"}),)
        return Case(f"add-{index:04}", instructions=f"Have n{index} added.", scenario_type="add", expected=expected, data={"plan": plan})

    def expert(self) -> "Clerk":
        return Clerk(self)

    def user(self, seed: int) -> "Customers":
        return Customers()


class Clerk:
    def __init__(self, world: NotesWorld) -> None:
        self._world = world

    async def reply(self, talk: Session) -> None:
        number = talk.case.data["plan"]["number"]
        wrong = self._world.wrong.get(number, "")
        if talk.messages[-1].text.startswith("Thanks"):
            talk.messages.append(Message("assistant", f"Goodbye, number {number}."))
            return
        self._world.held.append(talk.case.id)
        if wrong == "error":
            raise ModelError("the clerk fell ill")
        if wrong == "says nothing":
            talk.messages.append(Message("assistant", ""))
        title = "hallucinated" if wrong == "invents" else f"n{number - 1}" if wrong == "other note" else f"n{number}"
        arguments = {"titel": title} if wrong == "misspells" else {"title": title}
        for place in range(2 if wrong == "twice" else 0 if wrong == "nothing" else 1):
            await self._call(talk, Call("add_note", arguments, "call_1" if wrong == "same id" else f"call_{place}"))
        if wrong == "hands over":
            await self._call(talk, Call("transfer", {}, "call_9"))
        if wrong == "never ends":
            talk.ending = STEP_LIMIT
        talk.messages.append(Message("assistant", f"It is there now, number {number}."))

    async def _call(self, talk: Session, call: Call) -> None:
        talk.messages.append(Message("assistant", "", (call,)))
        result = await talk.toolbox.call(call)
        talk.messages.append(Message("tool", result.text, (), call.id, call.name))


class Customers:
    label = "customer"

    def of(self, case: Case, trial: int) -> "Customer":
        return Customer(case.data["plan"])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


class Customer:
    """Says enough of its own that no two conversations are alike; of number 1000 on all say the same."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._number = plan["number"]

    async def speak(self, heard: Sequence[Message]) -> UserTurn:
        if heard:
            return UserTurn("Thanks, bye.", True)
        words = " ".join(f"w{self._number}x{place}" for place in range(30))
        return UserTurn(f"Add the notes n{self._number} and n{self._number - 1}: {words}")
