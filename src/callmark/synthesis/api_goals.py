"""What is wanted in a planned conversation with an API, and how it is reached: calls in order, and what the user has to say for each."""

from typing import Literal

from msgspec import Struct

from callmark.types import Call

Outcome = Literal["done", "refused", "declined", "beyond"]


class Tell(Struct, omit_defaults=True):
    """Something that the user tells: `text` is how, `values` are what must have been said for it to be known. Where it is one of several
    that the user is shown first, `choice` is set; `options` are what there is to choose from, if it is few.
    """

    label: str
    text: str
    values: list[str]
    options: list[str] = []
    choice: bool = False


class Step(Struct, omit_defaults=True):
    """A call, and what must be told before it is made: places in the goal's list of tells. Of one that changes something, `does` is what it
    does and `with_` what with, for the user to confirm.
    """

    call: Call
    needs: list[int] = []
    writes: bool = False
    does: str = ""
    with_: list[str] = []


class Goal(Struct, omit_defaults=True):
    """One thing that the user wants. `call` is what does it, perhaps made on the way; `because` is why it is refused."""

    wish: str
    outcome: Outcome
    call: Call | None = None
    because: str = ""
    thing: str = ""
    tells: list[Tell] = []
    steps: list[Step] = []
    branches: list[str] = []


class Plan(Struct, omit_defaults=True):
    """Everything that is wanted in one conversation, in order."""

    type: str
    manner: str
    branches: list[str]
    goals: list[Goal]
