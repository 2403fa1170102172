"""A world of notes: plan 3 asks for the note n3. Its expert makes configured mistakes in some plans."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from callmark.models.model import ModelError
from callmark.simulation.endings import STEP_LIMIT
from callmark.simulation.session import Session, UserTurn
from callmark.synthesis.world import World
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
        """Transfer to a person."""
        return "Transferred."

    def state(self):
        return {"notes": self.notes}


def add_note(title: str, text: str = "") -> str:
    """Add a note, without a state."""
    return "N-1"
'''
RULES = {"rules": [{"id": "few", "says": "One note is enough.", "at_most": {"times": 1, "calls": "add_note"}}]}


class NotesWorld(World):
    """`mistakes` maps the number of a plan to a mistake of `NotesExpert`; there are `max_plans` plans."""

    label = "the notes"
    tools: tuple[str, ...] = ("python:notes:Notes",)
    policy = "Write down what people want."
    rules: dict[str, Any] = RULES
    branches = ("even", "odd", "never")

    def __init__(self, mistakes: Mapping[int, str] | None = None, *, max_plans: int = 1000) -> None:
        self.mistakes = dict(mistakes or {})
        self.max_plans = max_plans
        self.requests: list[tuple[int, int]] = []  # number of plans, index of the first
        self.simulated: list[str] = []

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        self.requests.append((number, start))
        return [self._plan(index, seed) for index in range(start, min(start + number, self.max_plans))]

    def _plan(self, index: int, seed: int) -> Case:
        plan = {"number": index, "title": f"n{index}", "branches": ["odd" if index % 2 else "even"], "seed": seed}
        expected = (Call("add_note", {"title": f"n{index}"}),)
        return Case(f"add-{index:04}", instructions=f"Have n{index} added.", scenario_type="add", expected=expected, data={"plan": plan})

    def expert(self) -> "NotesExpert":
        return NotesExpert(self)

    def user(self, seed: int) -> "NotesUser":
        return NotesUser()


class NotesExpert:
    def __init__(self, world: NotesWorld) -> None:
        self._world = world

    async def reply(self, session: Session) -> None:
        number = session.case.data["plan"]["number"]
        mistake = self._world.mistakes.get(number, "")
        if session.messages[-1].text.startswith("Thanks"):
            session.messages.append(Message("assistant", f"Goodbye, number {number}."))
            return
        self._world.simulated.append(session.case.id)
        if mistake == "error":
            raise ModelError("the agent failed")
        if mistake == "says nothing":
            session.messages.append(Message("assistant", ""))
        title = "hallucinated" if mistake == "hallucinates" else f"n{number - 1}" if mistake == "other note" else f"n{number}"
        arguments = {"titel": title} if mistake == "misspells" else {"title": title}
        for index in range(2 if mistake == "twice" else 0 if mistake == "nothing" else 1):
            await self._call(session, Call("add_note", arguments, "call_1" if mistake == "same id" else f"call_{index}"))
        if mistake == "transfers":
            await self._call(session, Call("transfer", {}, "call_9"))
        if mistake == "never ends":
            session.ending = STEP_LIMIT
        session.messages.append(Message("assistant", f"It is there now, number {number}."))

    async def _call(self, session: Session, call: Call) -> None:
        session.messages.append(Message("assistant", "", (call,)))
        result = await session.toolbox.call(call)
        session.messages.append(Message("tool", result.text, (), call.id, call.name))


class NotesUser:
    label = "customer"

    def start_session(self, case: Case, trial: int) -> "NotesUserSession":
        return NotesUserSession(case.data["plan"])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


class NotesUserSession:
    """Says enough unique words that no two conversations are near-duplicates."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._number = plan["number"]

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        if messages:
            return UserTurn("Thanks, bye.", True)
        words = " ".join(f"w{self._number}x{index}" for index in range(30))
        return UserTurn(f"Add the notes n{self._number} and n{self._number - 1}: {words}")
