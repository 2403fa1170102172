"""Users of an API who need no model: they know what they want and what they can tell, say it when they are asked, and hear nothing but what
is said to them. The same seed, the same words.
"""

from collections.abc import Sequence
from itertools import takewhile
from random import Random

from callmark.simulation.mock_api.names import singular
from callmark.simulation.session import NullContext, UserTurn
from callmark.simulation.users.rule_based.phrases import CLOSING, CONFIRM
from callmark.synthesis.api_expert import is_told, is_yours, plan_of
from callmark.synthesis.api_goals import Goal, Plan, Tell
from callmark.synthesis.api_lines import USER, Lines
from callmark.types import Case, Message

_UP_FRONT = {"plain": 0.25, "chatty": 0.5, "terse": 0.1, "polite": 0.3}  # how likely something is told before anybody asks
_MOST_LOST = 3
_SHORT = 60  # characters of what is told without a word around it
_POLITE = (" Thank you!", " Thanks in advance.", " Many thanks.", " I would appreciate it.")


class ApiUser(NullContext):
    """Plays scenarios that hold a plan of `api_plans`; any other raises `BadInput`."""

    label = "plan"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def start_session(self, case: Case, trial: int) -> "_Person":
        return _Person(plan_of(case), Random(f"{self._seed}/{case.id}/{trial}/user"))


class _Person:
    def __init__(self, plan: Plan, random: Random) -> None:
        self._plan = plan
        self._random = random
        self._lines = Lines(USER, random)
        self._at = 0
        self._said: list[str] = []
        self._lost = 0
        self._gave_up = False

    async def next_turn(self, heard: Sequence[Message]) -> UserTurn:
        """What they say to what was said last."""
        last = "\n".join(_since_user(heard))
        done = False
        if not self._said:
            text = self._opened()
        elif CLOSING.search(_question(last).lower()):
            text, done = self._went_on(last)
        else:
            text, done = self._answered(last)
        self._said.append(text)
        return UserTurn(text, done, gave_up=self._gave_up)

    @property
    def _goal(self) -> Goal:
        return self._plan.goals[self._at]

    def _opened(self) -> str:
        manner = self._plan.manner
        hello = "" if manner == "terse" else self._lines.say("hello")
        wish = self._lines.say("wish", wish=self._goal.wish)
        text = f"{hello}{wish}" if hello.endswith(", ") else f"{hello}{wish[0].upper()}{wish[1:]}"
        return f"{text}{self._up_front()}{self._manner()}"

    def _went_on(self, last: str) -> tuple[str, bool]:
        """What they want next, or goodbye."""
        over = self._goal.outcome in ("refused", "beyond")
        self._at += 1
        self._lost = 0
        lead = self._lines.say("accept") if over and self._lines.chance(0.6) else ""
        if self._at >= len(self._plan.goals):
            self._at = len(self._plan.goals) - 1
            return f"{lead}{self._lines.say('bye')}", True
        return f"{lead}{self._lines.say('next', wish=self._goal.wish)}{self._up_front()}", False

    def _answered(self, last: str) -> tuple[str, bool]:
        question = _question(last).lower()
        untold = [tell for tell in self._goal.tells if not is_told(tell, self._said)]
        asked = [tell for tell in untold if tell.label.lower() in question]
        if CONFIRM.search(question) and not (asked and "yes" not in question):
            return (self._lines.say("no") if self._goal.outcome == "declined" else self._lines.say("yes")), False
        asked = asked[:1] if asked and asked[0].choice else [tell for tell in asked if not tell.choice]
        if asked:
            self._lost = 0
            return self._told(asked), False
        self._lost += 1
        if self._lost > _MOST_LOST:
            self._gave_up = True
            return self._lines.say("leave"), True
        plain = [tell for tell in untold if not tell.choice]
        return (self._told(plain[:2]) if plain and "?" in last else self._lines.say("lost")), False

    def _told(self, tells: list[Tell]) -> str:
        first = tells[0]
        if first.choice:
            return self._lines.say("choose", text=first.text, Text=first.text[0].upper() + first.text[1:])
        terse = self._plan.manner == "terse" and len(first.text) < _SHORT
        lead = "" if terse else self._lines.say("before")
        if len(tells) == 1:
            return f"{lead}{self._lines.say('tell_terse' if terse else 'tell', **_filled(first))}"
        second = {f"{key}2": value for key, value in _filled(tells[1]).items()}
        both = self._lines.say("both", **_filled(first), **second)
        return lead + both + "".join(self._lines.say("besides", **_filled(tell)) for tell in tells[2:])

    def _up_front(self) -> str:
        """What they tell before they are asked."""
        plain = [tell for tell in self._goal.tells if not tell.choice and not is_told(tell, self._said)]
        told = list(takewhile(lambda _: self._lines.chance(_UP_FRONT[self._plan.manner]), plain[:2]))
        return "".join(self._lines.say("besides", **_filled(tell)) for tell in told)

    def _manner(self) -> str:
        if self._plan.manner == "chatty":
            return self._lines.say("chatty")
        return self._random.choice(_POLITE) if self._plan.manner == "polite" else ""


def _filled(tell: Tell) -> dict[str, str]:
    whose = "my" if is_yours(tell.label) else "the"
    be = "are" if singular(last := tell.label.rpartition(" ")[2]) != last else "is"
    return {"Whose": whose.capitalize(), "whose": whose, "label": tell.label, "be": be, "text": tell.text}


def _question(text: str) -> str:
    """The last paragraph of what was said: where the question stands."""
    return text.strip().rpartition("\n")[2] if "\n" in text else text


def _since_user(heard: Sequence[Message]) -> list[str]:
    said: list[str] = []
    for message in reversed(heard):
        if message.role == "user":
            break
        said.append(message.text)
    return said[::-1]
