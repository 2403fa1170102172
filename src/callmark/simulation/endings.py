"""Endings: whether a conversation is over, and why. Looked at after each turn.

completed      the completion condition holds: a model says so; without one, the user is done, and, where that is known, what the expected
               calls lead to is reached. A condition that the user confirms the end holds when the user does.
goodbye        the user is done, but the task is not known to be
transfer       the agent handed over to somebody else, by a call
turn limit     the user has spoken as often as they may
step limit     the agent has called as often in one turn as it may
no progress    the agent says the same thing, or nothing, three times with no call in between, the user does, both do, or the user gives up
"""

import re
from collections.abc import Awaitable, Callable, Sequence

from callmark.calls.globs import fits_glob
from callmark.calls.words import words
from callmark.models.model import ModelError
from callmark.simulation.session import Ask, Session, UserTurn
from callmark.types import Call, Case, Message

COMPLETED = "completed"
GOODBYE = "goodbye"
TRANSFER = "transfer"
TURN_LIMIT = "turn limit"
STEP_LIMIT = "step limit"
NO_PROGRESS = "no progress"
ENDINGS = (COMPLETED, GOODBYE, TRANSFER, TURN_LIMIT, STEP_LIMIT, NO_PROGRESS)

Reached = Callable[[Session], Awaitable[bool | None]]
"""Whether what the expected calls lead to is reached; None where that is not known."""

_HANDING_OVER = (  # a transfer of money, or of anything but the talk, is none
    *("transfer", "*transfer?to*", "*transferto*", "*handoff*", "*hand?off*", "*handover*", "*hand?over*", "*escalate*"),
    *(f"*{whom}*transfer*" for whom in ("human", "agent", "call")),
    *(f"*transfer*{whom}*" for whom in ("human", "agent", "person", "staff", "operator", "support", "call", "chat", "conversation")),
)
MOST_REPEATS = 3
_COMPARED = 4000  # characters of a line that are compared
_LONGEST_JUDGED = 24_000  # characters of a talk that a judge reads, from its end
_USER_ENDS = re.compile(
    r"\b(?:user|customer|client|caller|they|person)\b.{0,60}\b(?:confirm\w*|ends?|ended|says?|said|goodbye|bye|thank\w*|done|finished|"
    r"leaves?|left|satisfied|closes?|closed)\b|\bend of the (?:session|conversation|chat)\b",
    re.IGNORECASE | re.DOTALL,
)
_GIVES_UP = re.compile(r"\bi give up\b|\bgiving up\b|\bgetting nowhere\b|\b(?:round|around) in circles\b", re.IGNORECASE)
_YES = re.compile(r"\b(yes|no|true|false)\b", re.IGNORECASE)
_JUDGE = """You watch a conversation between a user and an assistant. You are given a condition and the conversation so far. \
Answer with one word: YES if the condition holds by now, NO if it does not, or not yet."""


class Endings:
    """What ends one conversation; a new one for each. What was said before is remembered, so each turn is to be shown once."""

    def __init__(self, case: Case, judge: Ask | None, reached: Reached | None) -> None:
        self._case = case
        self._judge = judge
        self._reached = reached
        self._asked = 0
        self._agent: list[str] = []  # what the agent said, turn by turn, since its last call
        self._user: list[str] = []
        self._pairs: dict[tuple[str, str], int] = {}

    @classmethod
    def of(cls, case: Case, *, judge: Ask | None = None, reached: Reached | None = None) -> "Endings":
        """The endings of a conversation about that scenario. Without a `judge` words decide, and what is `reached`."""
        return cls(case, judge, reached)

    async def after_user(self, talk: Session, utterance: UserTurn) -> str:
        """The ending, after the user spoke; empty while the conversation goes on."""
        self._user.append(_line(utterance.text))
        if utterance.done:
            if utterance.gave_up or _GIVES_UP.search(utterance.text[-_COMPARED:]):
                return NO_PROGRESS
            return COMPLETED if await self._is_completed(talk) else GOODBYE
        return NO_PROGRESS if _is_repeated(self._user) else ""

    async def after_agent(self, talk: Session) -> str:
        """The ending, after the agent's turn; empty while the conversation goes on."""
        turn = _last_turn(talk.messages)
        calls = [call for message in turn for call in message.calls]
        if any(self._hands_over(call) for call in calls):
            return TRANSFER
        if calls:
            self._agent.clear()
            self._user = self._user[-1:]
            self._pairs.clear()
        if self._judge is not None and self._case.completion and await self._judged(talk, self._judge):
            return COMPLETED
        said = _line("\n".join(message.text for message in turn if message.text))
        if calls and not said:
            return ""
        self._agent.append(said)
        pair = (self._user[-1] if self._user else "", said)
        self._pairs[pair] = self._pairs.get(pair, 0) + 1
        return NO_PROGRESS if _is_repeated(self._agent) or self._pairs[pair] >= MOST_REPEATS else ""

    async def _is_completed(self, talk: Session) -> bool:
        """Whether the task is, now that the user is done. Nothing is before the agent has said or done anything."""
        if not any(message.role == "assistant" for message in talk.messages):
            return False
        condition = self._case.completion
        if self._judge is not None and condition:
            return await self._judged(talk, self._judge)
        if _USER_ENDS.search(condition):
            return True
        reached = await self._reached(talk) if self._reached else None
        return bool(condition) if reached is None else reached

    async def _judged(self, talk: Session, judge: Ask) -> bool:
        self._asked += 1
        messages = (Message("system", _JUDGE), Message("user", question(self._case.completion, talk.heard)))
        answer = await judge(Case(f"{self._case.id}/ending/{self._asked}", messages), talk.trial)
        talk.add_spent(answer.usage)
        if answer.error:
            raise ModelError(answer.error)
        return says_yes(answer.text)

    def _hands_over(self, call: Call) -> bool:
        """Whether a call hands over to somebody else. One that is expected, with others to follow, does not."""
        if call.malformed or not hands_over(call.name):
            return False
        return call.name.casefold() not in [expected.name.casefold() for expected in self._case.expected[:-1]]


def hands_over(name: str) -> bool:
    """Whether a tool of that name hands the talk over to somebody else: `transfer_to_human`, `escalate`; not `transfer_money`."""
    return any(fits_glob(pattern, name.casefold()) for pattern in _HANDING_OVER)


def question(condition: str, heard: Sequence[Message]) -> str:
    """What a judge is asked: the condition, and what was said. Of a very long talk the end."""
    talk = "\n".join(f"{'User' if message.role == 'user' else 'Assistant'}: {message.text}" for message in heard)
    return f"Condition: {condition}\n\nConversation:\n{talk[-_LONGEST_JUDGED:]}\n\nDoes the condition hold by now? Answer YES or NO."


def says_yes(answer: str) -> bool:
    """Whether a judge says yes: by the first yes or no in the answer. An answer with neither is a no."""
    found = _YES.search(answer[:_COMPARED])
    return found is not None and found[1].casefold() in ("yes", "true")


def _last_turn(messages: Sequence[Message]) -> list[Message]:
    """Everything since the user spoke last."""
    start = next((index for index in range(len(messages) - 1, -1, -1) if messages[index].role == "user"), -1)
    return [message for message in messages[start + 1 :] if message.role == "assistant"]


def _is_repeated(lines: Sequence[str]) -> bool:
    return len(lines) >= MOST_REPEATS and len(set(lines[-MOST_REPEATS:])) == 1


def _line(text: str) -> str:
    """A line as it is compared. The words of a very long one are its beginning, its end and how long it is."""
    if len(text) > _COMPARED:
        text = f"{text[: _COMPARED // 2]} {len(text)} {text[-_COMPARED // 2 :]}"
    return " ".join(words(text)) or text.strip()
