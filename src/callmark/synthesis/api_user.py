"""The rule-based user of an API: follows a plan, answers questions, and sees only visible messages. The same seed gives the same words."""

from collections.abc import Sequence
from itertools import takewhile
from random import Random

from callmark.simulation.mock_api.names import singular
from callmark.simulation.session import NullContext, UserTurn
from callmark.simulation.users.rule_based.phrases import ASKS_ANYTHING_ELSE, ASKS_CONFIRMATION
from callmark.synthesis.api_expert import is_informed, read_plan
from callmark.synthesis.api_goals import ConversationPlan, Goal, InformAct
from callmark.synthesis.api_utterances import USER, UtteranceTemplates
from callmark.types import Case, Message

_VOLUNTEER_RATE = {"plain": 0.25, "chatty": 0.5, "terse": 0.1, "polite": 0.3}  # probability that the user says something before being asked
_MAX_CONFUSED = 3
_MAX_BARE_TEXT = 60  # characters
_POLITE_ENDINGS = (" Thank you!", " Thanks in advance.", " Many thanks.", " I would appreciate it.")


class ApiUser(NullContext):
    """Simulates scenarios with a plan from `api_plans`; any other scenario raises `BadInput`."""

    label = "plan"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def start_session(self, case: Case, trial: int) -> "ApiUserSession":
        return ApiUserSession(read_plan(case), Random(f"{self._seed}/{case.id}/{trial}/user"))


class ApiUserSession:
    """The user of one conversation."""

    def __init__(self, plan: ConversationPlan, random: Random) -> None:
        self._plan = plan
        self._random = random
        self._templates = UtteranceTemplates(USER, random)
        self._goal_index = 0
        self._turns: list[str] = []
        self._confused_turns = 0
        self._gave_up = False

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        """Return the answer to the agent's last turn."""
        last = "\n".join(_last_agent_texts(messages))
        is_done = False
        if not self._turns:
            text = self._open()
        elif ASKS_ANYTHING_ELSE.search(_question(last).lower()):
            text, is_done = self._next_goal(last)
        else:
            text, is_done = self._answer(last)
        self._turns.append(text)
        return UserTurn(text, is_done, gave_up=self._gave_up)

    @property
    def _goal(self) -> Goal:
        return self._plan.goals[self._goal_index]

    def _open(self) -> str:
        style = self._plan.style
        hello = "" if style == "terse" else self._templates.say("hello")
        wish = self._templates.say("wish", wish=self._goal.wish)
        text = f"{hello}{wish}" if hello.endswith(", ") else f"{hello}{wish[0].upper()}{wish[1:]}"
        return f"{text}{self._volunteer()}{self._style_ending()}"

    def _next_goal(self, last: str) -> tuple[str, bool]:
        """Return the next wish, or a goodbye."""
        was_rejected = self._goal.outcome in ("refused", "beyond", "failed")
        self._goal_index += 1
        self._confused_turns = 0
        prefix = self._templates.say("accept") if was_rejected and self._templates.happens(0.6) else ""
        if self._goal_index >= len(self._plan.goals):
            self._goal_index = len(self._plan.goals) - 1
            return f"{prefix}{self._templates.say('bye')}", True
        return f"{prefix}{self._templates.say('next', wish=self._goal.wish)}{self._volunteer()}", False

    def _answer(self, last: str) -> tuple[str, bool]:
        question = _question(last).lower()
        unsaid = [inform for inform in self._goal.informs if not is_informed(inform, self._turns)]
        requested = [inform for inform in unsaid if inform.label.lower() in question]
        if ASKS_CONFIRMATION.search(question) and not (requested and "yes" not in question):
            return (self._templates.say("no") if self._goal.outcome == "declined" else self._templates.say("yes")), False
        requested = requested[:1] if requested and requested[0].choice else [inform for inform in requested if not inform.choice]
        if requested:
            self._confused_turns = 0
            return self._inform(requested), False
        self._confused_turns += 1
        if self._confused_turns > _MAX_CONFUSED:
            self._gave_up = True
            return self._templates.say("leave"), True
        direct = [inform for inform in unsaid if not inform.choice]
        return (self._inform(direct[:2]) if direct and "?" in last else self._templates.say("lost")), False

    def _inform(self, informs: list[InformAct]) -> str:
        first = informs[0]
        if first.choice:
            return self._templates.say("choose", text=first.text, Text=_capitalized(first.text))
        if any(inform.flag for inform in informs):
            acts = [(inform, "tell_flag" if inform.flag else "tell") for inform in informs]
            return self._templates.say("before") + " ".join(self._templates.say(act, **_template_fields(inform)) for inform, act in acts)
        terse = self._plan.style == "terse" and len(first.text) < _MAX_BARE_TEXT
        prefix = "" if terse else self._templates.say("before")
        if len(informs) == 1:
            return f"{prefix}{self._templates.say('tell_terse' if terse else 'tell', **_template_fields(first))}"
        second = {f"{key}2": value for key, value in _template_fields(informs[1]).items()}
        both = self._templates.say("both", **_template_fields(first), **second)
        return prefix + both + "".join(self._templates.say("also", **_template_fields(inform)) for inform in informs[2:])

    def _volunteer(self) -> str:
        """Return what the user says without being asked: what is optional, and sometimes the first of what the agent would ask for."""
        direct = [inform for inform in self._goal.informs if not inform.choice and not is_informed(inform, self._turns)]
        optional, needed = [inform for inform in direct if inform.optional], [inform for inform in direct if not inform.optional]
        volunteered = list(takewhile(lambda _: self._templates.happens(_VOLUNTEER_RATE[self._plan.style]), needed[:2]))
        return "".join(
            self._templates.say("also_flag" if inform.flag else "also", **_template_fields(inform)) for inform in (*volunteered, *optional)
        )

    def _style_ending(self) -> str:
        if self._plan.style == "chatty":
            return self._templates.say("chatty")
        return self._random.choice(_POLITE_ENDINGS) if self._plan.style == "polite" else ""


def _template_fields(inform: InformAct) -> dict[str, str]:
    determiner = "my" if inform.personal else "the"
    be = "are" if singular(last := inform.label.rpartition(" ")[2]) != last else "is"
    own = {"Determiner": determiner.capitalize(), "determiner": determiner, "label": inform.label, "be": be}
    return {**own, "text": inform.text, "Text": _capitalized(inform.text)}


def _capitalized(text: str) -> str:
    """Return a sentence with a capital; an identifier stays as it is."""
    return text[:1].upper() + text[1:] if " " in text or text.isalpha() else text


def _question(text: str) -> str:
    """Return the last line, which has the question."""
    return text.strip().rpartition("\n")[2] if "\n" in text else text


def _last_agent_texts(messages: Sequence[Message]) -> list[str]:
    texts: list[str] = []
    for message in reversed(messages):
        if message.role == "user":
            break
        texts.append(message.text)
    return texts[::-1]
