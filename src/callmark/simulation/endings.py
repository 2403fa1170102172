"""Detect whether a simulated conversation has ended, and why, after every turn.

completed      the completion condition holds: a judge model says so; without a judge, the user is done and the expected end state, if
               known, is reached. A condition about the user ending the conversation holds when the user is done; if it is about nothing
               else, no judge is asked.
goodbye        the user is done, but it is not certain that the task is completed
transfer       the agent transferred the conversation with a call
turn limit     the user reached the maximum number of turns
step limit     the agent reached the maximum number of responses with calls in one turn
model failure  the agent's framework gave up on what its model returned
no progress    agent, user or both repeat themselves three times without a call in between, or the user gives up
user_did_not_understand
               one of the last two, after turns of the agent that a rule-based user did not understand: not the agent's failure
"""

import re
from collections.abc import Awaitable, Callable, Sequence

from callmark.calls.globs import matches_glob
from callmark.calls.words import words
from callmark.models.model import ModelError
from callmark.simulation.session import Predict, Session, UserTurn
from callmark.types import Call, Case, Message

COMPLETED = "completed"
GOODBYE = "goodbye"
TRANSFER = "transfer"
TURN_LIMIT = "turn limit"
STEP_LIMIT = "step limit"
MODEL_FAILURE = "model failure"
NO_PROGRESS = "no progress"
USER_DID_NOT_UNDERSTAND = "user_did_not_understand"
ENDINGS = (COMPLETED, GOODBYE, TRANSFER, TURN_LIMIT, STEP_LIMIT, MODEL_FAILURE, NO_PROGRESS, USER_DID_NOT_UNDERSTAND)

StateCheck = Callable[[], Awaitable[bool | None]]  # whether the expected end state is reached; None if unknown

MAX_REPEATS = 3
_TRANSFER_TOOLS = (  # only transfers of the conversation, not `transfer_money`
    *("transfer", "*transfer?to*", "*transferto*", "*handoff*", "*hand?off*", "*handover*", "*hand?over*", "*escalate*"),
    *(f"*{target}*transfer*" for target in ("human", "agent", "call")),
    *(f"*transfer*{target}*" for target in ("human", "agent", "person", "staff", "operator", "support", "call", "chat", "conversation")),
)
_MAX_COMPARED = 4000  # characters of a turn
_MAX_JUDGED = 24_000  # characters of a conversation, from its end
_USER_ENDS = re.compile(
    r"\b(?:user|customer|client|caller|they|person)\b.{0,60}\b(?:confirm\w*|ends?|ended|says?|said|goodbye|bye|thank\w*|done|finished|"
    r"leaves?|left|satisfied|closes?|closed)\b|\bend of the (?:session|conversation|chat)\b",
    re.IGNORECASE | re.DOTALL,
)
_ONLY_USER_ENDS = re.compile(
    r"\W*(?:the )?(?:user|customer|client|caller)(?: has)? (?:(?:confirms?|confirmed) (?:that |the end of )?|ends?|ended|closes?|closed|"
    r"finishes|finished|leaves?|left)\W*(?:(?:the |this |their |its )?(?:session|conversation|chat|dialogue|dialog)(?: is| has)?"
    r"(?: over| finished| done| ended| complete| completed)?)\W*|\W*(?:the )?(?:user|customer|client|caller)(?: has)? (?:says|said) "
    r"(?:good ?)?bye\W*",
    re.IGNORECASE,
)
_GIVES_UP = re.compile(r"\bi give up\b|\bgiving up\b|\bgetting nowhere\b|\b(?:round|around) in circles\b", re.IGNORECASE)
_YES_OR_NO = re.compile(r"\b(yes|no|true|false)\b", re.IGNORECASE)
_JUDGE_PROMPT = """You watch a conversation between a user and an assistant. You are given a condition and the conversation so far. \
Answer with one word: YES if the condition holds by now, NO if it does not, or not yet."""


class EndingDetector:
    """Detects the ending of one conversation. It keeps state between turns: call it exactly once per turn.

    Without a `judge`, the user's words and `is_state_reached` determine completion.
    """

    def __init__(self, case: Case, *, judge: Predict | None = None, is_state_reached: StateCheck | None = None) -> None:
        self._case = case
        self._judge = judge
        self._is_state_reached = is_state_reached
        self._judgments = 0
        self._agent_turns: list[str] = []  # since the agent's last call
        self._user_turns: list[str] = []
        self._exchanges: dict[tuple[str, str], int] = {}
        self._did_not_understand = False

    async def after_user(self, session: Session, turn: UserTurn) -> str:
        """Return the ending after a user turn; empty while the conversation continues."""
        self._user_turns.append(_normalize(turn.text))
        self._did_not_understand = turn.did_not_understand
        if turn.done:
            if turn.gave_up or _GIVES_UP.search(turn.text[-_MAX_COMPARED:]):
                return self._without_progress(NO_PROGRESS)
            return COMPLETED if await self._is_completed(session) else GOODBYE
        return self._without_progress(NO_PROGRESS) if _is_repeated(self._user_turns) else ""

    def at_turn_limit(self) -> str:
        """Return the ending of a conversation in which the user has reached the maximum number of turns."""
        return self._without_progress(TURN_LIMIT)

    def _without_progress(self, ending: str) -> str:
        return USER_DID_NOT_UNDERSTAND if self._did_not_understand else ending

    async def after_agent(self, session: Session) -> str:
        """Return the ending after an agent turn; empty while the conversation continues."""
        messages = _last_agent_turn(session.messages)
        calls = [call for message in messages for call in message.calls]
        if any(self._transfers(call) for call in calls):
            return TRANSFER
        if calls:
            self._agent_turns.clear()
            self._user_turns = self._user_turns[-1:]
            self._exchanges.clear()
        condition = self._case.completion
        if (
            self._judge is not None
            and condition
            and not is_about_user_only(condition)
            and await self._is_judged_complete(session, self._judge)
        ):
            return COMPLETED
        text = _normalize("\n".join(message.text for message in messages if message.text))
        if calls and not text:
            return ""
        self._agent_turns.append(text)
        exchange = (self._user_turns[-1] if self._user_turns else "", text)
        self._exchanges[exchange] = self._exchanges.get(exchange, 0) + 1
        is_stuck = _is_repeated(self._agent_turns) or self._exchanges[exchange] >= MAX_REPEATS
        return self._without_progress(NO_PROGRESS) if is_stuck else ""

    async def _is_completed(self, session: Session) -> bool:
        """Return whether the task is completed when the user is done; never before the agent's first turn."""
        if not any(message.role == "assistant" for message in session.messages):
            return False
        condition = self._case.completion
        if is_about_user_only(condition):
            return True
        if self._judge is not None and condition:
            return await self._is_judged_complete(session, self._judge, user_is_done=True)
        if _USER_ENDS.search(condition):
            return True
        reached = await self._is_state_reached() if self._is_state_reached else None
        return bool(condition) if reached is None else reached

    async def _is_judged_complete(self, session: Session, judge: Predict, *, user_is_done: bool = False) -> bool:
        self._judgments += 1
        prompt = judge_prompt(self._case.completion, session.visible_messages, user_is_done=user_is_done)
        messages = (Message("system", _JUDGE_PROMPT), Message("user", prompt))
        prediction = await judge(Case(f"{self._case.id}/ending/{self._judgments}", messages), session.trial)
        session.add_usage(prediction.usage)
        if prediction.error:
            raise ModelError(prediction.error)
        return is_judged_yes(prediction.text)

    def _transfers(self, call: Call) -> bool:
        """Return whether a call ends the conversation with a transfer. A transfer that is expected before other calls does not."""
        if call.malformed or not is_transfer(call.name):
            return False
        return call.name.casefold() not in [expected.name.casefold() for expected in self._case.expected[:-1]]


def is_transfer(name: str) -> bool:
    """Return whether a tool with this name transfers the conversation: `transfer_to_human`, `escalate`; not `transfer_money`."""
    return any(matches_glob(pattern, name.casefold()) for pattern in _TRANSFER_TOOLS)


def is_about_user_only(condition: str) -> bool:
    """Return whether a completion condition says only that the user ends the session: it holds when the user is done, without a judge."""
    return _ONLY_USER_ENDS.fullmatch(condition) is not None


def judge_prompt(condition: str, messages: Sequence[Message], *, user_is_done: bool = False) -> str:
    """Return the question for a judge: the condition and the conversation; only the end of a very long one.

    `user_is_done` is said to the judge, who does not see the mark that an LLM user may end the conversation with.
    """
    conversation = "\n".join(f"{'User' if message.role == 'user' else 'Assistant'}: {message.text}" for message in messages)
    done = "\n(The user has ended the session.)" if user_is_done else ""
    question = "Does the condition hold by now? Answer YES or NO."
    return f"Condition: {condition}\n\nConversation:\n{conversation[-_MAX_JUDGED:]}{done}\n\n{question}"


def is_judged_yes(text: str) -> bool:
    """Return whether the first yes or no in a judge's response is a yes; a response with neither counts as no."""
    found = _YES_OR_NO.search(text[:_MAX_COMPARED])
    return found is not None and found[1].casefold() in ("yes", "true")


def _last_agent_turn(messages: Sequence[Message]) -> list[Message]:
    """Return the agent's messages since the user's last one."""
    start = next((index for index in range(len(messages) - 1, -1, -1) if messages[index].role == "user"), -1)
    return [message for message in messages[start + 1 :] if message.role == "assistant"]


def _is_repeated(turns: Sequence[str]) -> bool:
    return len(turns) >= MAX_REPEATS and len(set(turns[-MAX_REPEATS:])) == 1


def _normalize(text: str) -> str:
    """Return the words of a turn for comparison; for a very long turn, those of its start and end, with its length."""
    if len(text) > _MAX_COMPARED:
        text = f"{text[: _MAX_COMPARED // 2]} {len(text)} {text[-_MAX_COMPARED // 2 :]}"
    return " ".join(words(text)) or text.strip()
