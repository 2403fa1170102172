"""The plan of a conversation about an API: the user's goals, the calls that reach them, and what the user has to say for each."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from callmark.types import Call

Outcome = Literal["done", "refused", "declined", "beyond", "failed"]  # refused by the rules; failed: the tool returns an error


class InformAct(Struct, omit_defaults=True):
    """Something that the user says: `text` is the wording, `values` are the texts that have to appear in the user's turns.

    `choice`: the user picks one of several that the agent shows first; `options` are the choices, if there are few. `personal`: it is a
    detail of the user, `your email address`. `flag`: it is a yes or a no, and `text` is a sentence. `optional`: no call needs it, so the
    user says it without being asked.
    """

    label: str
    text: str
    values: list[str]
    options: list[str] = []
    choice: bool = False
    personal: bool = False
    flag: bool = False
    optional: bool = False


class Step(Struct, omit_defaults=True):
    """A call, and what the user must say before it: `needs` are indexes into the goal's `informs`.

    For a write, the user confirms `action` and `details`.
    """

    call: Call
    needs: list[int] = []
    writes: bool = False
    action: str = ""
    details: list[str] = []


class Goal(Struct, omit_defaults=True):
    """A goal of the user. `call` is the call that reaches it, possibly one of an earlier step; `reason` is why it is refused."""

    wish: str
    outcome: Outcome
    call: Call | None = None
    reason: str = ""
    noun: str = ""
    informs: list[InformAct] = []
    steps: list[Step] = []
    branches: list[str] = []


class ConversationPlan(Struct, omit_defaults=True):
    """The goals of one conversation, in order."""

    type: str
    style: str
    branches: list[str]
    goals: list[Goal]


def failed_calls(plan: Any) -> list[Call]:
    """Return the calls that return an error by plan, of the `data.plan` of a scenario; none if it is not such a plan."""
    try:
        goals = msgspec.convert(plan, ConversationPlan).goals
    except msgspec.ValidationError:
        return []
    return [goal.call for goal in goals if goal.outcome == "failed" and goal.call is not None]
