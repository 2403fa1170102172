"""A model that plays the user. It sees what a user would see, with the roles swapped: what it said itself is the assistant's.

It is told what the scenario's instructions say, and to say ###DONE### when the completion condition holds. What models get wrong in this
part is dealt with: an answer that is empty, that speaks as the agent, or that was given before is asked for once more, with a word of what
was wrong with it. One that was given before is then said again, and one that is no user's is replaced by a line that asks to be told once
more: said three times, these end the conversation (`no progress`).
"""

import re
from collections.abc import Sequence

from callmark.calls.words import words
from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.simulation.session import NullContext, Predict, UserTurn
from callmark.types import Case, Message, Usage

STOP = "###DONE###"
LONGEST_LINE = 2000  # characters of what a user says at once
SPEECHLESS = "Sorry, what was that?"  # said for a model that twice says nothing, or twice speaks as the agent
_GREETING = "Hello! How can I help you today?"
_SILENCE = "(There was no answer.)"
_PROMPT = """You play a user who writes to a support assistant. You are the user, never the assistant.

Your instructions:
{instructions}

{completion}

How you write:
- One message at a time, in the user's own words, as somebody would type it in a chat. No labels, no quotes around it, no stage directions.
- Do not give everything away at once, unless your instructions say so: answer what you are asked.
- What your instructions do not say you do not know. Do not make it up; say that you do not know, or have no preference.
- When the assistant reads something back, check it against your instructions before you agree.
- Never speak of functions or tools, of these instructions, or of being simulated.
- When the task is completed, or there is nothing more that you can do, write {stop} and nothing after it."""
_TOO_SOON = "You have not told the assistant yet what you want. Say it now."
_FLIPPED = "You are the user, not the assistant. Write the user's next message."
_EMPTY = "Write the user's next message."
_REPEATED = f"You have said exactly that before. Say something new, or {STOP} if the task is completed or cannot be."
_STOP = re.compile(r"#{2,}\s{0,3}DONE\b\s{0,3}#*|\bDONE\s?###", re.IGNORECASE)
_USER = r"(?:the )?(?:user|customer|client|me|human|caller|employee)"
_AGENT = r"(?:the )?(?:assistant|agent|support(?: agent| assistant)?|chatbot|bot|helpdesk|help desk|operator|ai|system|tool|function)"
_USER_LABEL = re.compile(rf"^\W{{0,4}}{_USER}\W{{0,3}}:\W{{0,3}}", re.IGNORECASE)
_AGENT_LABEL = re.compile(rf"(?:^|\n)\W{{0,4}}{_AGENT}\W{{0,3}}:", re.IGNORECASE)
_LATER_USER = re.compile(rf"\n\W{{0,4}}{_USER}\W{{0,3}}:", re.IGNORECASE)
_AS_AGENT = re.compile(
    r"\bhow (?:can|may) i (?:help|assist)|\bi(?:'d| would) be happy to (?:help|assist)|\bis there anything else i can|\bas an ai\b|"
    r"\bthank you for (?:contacting|reaching out)|\bi'm here to help",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"\b(?:good ?bye|bye(?: bye| now|-bye)?|farewell|have a (?:nice|great|good|lovely|wonderful) (?:day|one|evening|weekend|"
    r"afternoon)|see you(?: later| soon)?)\b\W{0,10}(?:\w+\W{1,5}){0,2}$",
    re.IGNORECASE,
)
_WRAPPED = re.compile(r"^([\"“'*_])(.*)([\"”'*_])$", re.DOTALL)


class LLMUser(NullContext):
    """Plays every scenario that has instructions; `label` is what the model is called."""

    def __init__(self, ask: Predict, label: str) -> None:
        self.label = label
        self._ask = ask

    def start_session(self, case: Case, trial: int) -> "LLMUserSession":
        """The user of that scenario. Without instructions there is nothing to play: `BadInput`."""
        if not case.instructions.strip():
            raise BadInput(f"{f'{case.place} ({case.id})' if case.place else case.id} has no instructions for a user")
        return LLMUserSession(self._ask, case, trial)


class LLMUserSession:
    """A model as the user of one conversation."""

    def __init__(self, ask: Predict, case: Case, trial: int) -> None:
        self._ask = ask
        self._case = case
        self._trial = trial
        self._turn = 0
        self._said: list[str] = []

    async def next_turn(self, heard: Sequence[Message]) -> UserTurn:
        """What the model says next. It is never empty unless it is done; done is also who says goodbye."""
        self._turn += 1
        talk = swapped(heard)
        usage: list[Usage | None] = []
        text, done, problem = await self._asked(talk, heard, usage, "")
        if problem:
            text, done, problem = await self._asked(talk, heard, usage, problem)
        if problem in (_FLIPPED, _EMPTY):
            text = SPEECHLESS
        self._said.append(text)
        return UserTurn(text, done, _sum(usage))

    async def _asked(
        self, talk: Sequence[Message], heard: Sequence[Message], usage: list[Usage | None], problem: str
    ) -> tuple[str, bool, str]:
        messages = (Message("system", instructions_for(self._case)), *talk)
        if problem:
            messages = (*messages[:-1], Message("user", f"{messages[-1].text}\n\n({problem})"))
        number = f"{self._turn}{'-again' if problem else ''}"
        case = Case(f"{self._case.id}/user/{number}", messages)
        answer = await self._ask(case, self._trial)
        if answer.error:
            raise ModelError(answer.error)
        usage.append(answer.usage)
        text, done = read_line(answer.text)
        return text, done, self._problem(text, done, answer.text, heard)

    def _problem(self, text: str, done: bool, whole: str, heard: Sequence[Message]) -> str:
        """What is wrong with an answer, as the model is told it; empty where nothing is."""
        agent = [message.text for message in heard if message.role != "user"]
        if done:
            return "" if agent else _TOO_SOON
        if (
            _AGENT_LABEL.match(whole.strip())
            or _AS_AGENT.search(text)
            or (text and agent and words(text) == words(agent[-1][:LONGEST_LINE]))
        ):
            return _FLIPPED
        if not text:
            return _EMPTY
        if text in self._said:
            return _REPEATED
        return ""


def instructions_for(case: Case) -> str:
    """The system prompt of a model that plays the user of a scenario."""
    completion = case.completion.strip()
    told = (
        f"The task is completed when this holds: {completion}"
        if completion
        else "The task is completed when your instructions are carried out."
    )
    return _PROMPT.format(instructions=case.instructions.strip(), completion=told, stop=STOP)


def swapped(heard: Sequence[Message]) -> tuple[Message, ...]:
    """The talk as the user sees it, in the form in which a model is asked: it begins and ends with the agent, and the two take turns."""
    talk = [Message("user", _GREETING)] if not heard or heard[0].role == "user" else []
    for message in heard:
        role = "assistant" if message.role == "user" else "user"
        if talk and talk[-1].role == role:
            if role == "assistant":
                talk += [Message("user", _SILENCE), Message(role, message.text)]
            else:
                talk[-1] = Message(role, f"{talk[-1].text}\n{message.text}")
        else:
            talk.append(Message(role, message.text))
    if talk[-1].role == "assistant":
        talk.append(Message("user", _SILENCE))
    return tuple(talk)


def read_line(answer: str) -> tuple[str, bool]:
    """What a model says as the user, and whether it is done: up to the stop word, without labels, and without what it says for others."""
    text = answer.strip()
    stop = _STOP.search(text)
    if stop:
        text = text[: stop.start()]
    text = _USER_LABEL.sub("", text.strip(), count=1)
    if _AGENT_LABEL.match(text):  # it speaks as the agent: what it says for itself after that, if anything
        later = _LATER_USER.search(text)
        text = text[later.end() :] if later else text[text.index(":") + 1 :]
    text = _LATER_USER.split(_AGENT_LABEL.split(text, maxsplit=1)[0], maxsplit=1)[0].strip()
    if wrapped := _WRAPPED.match(text):
        text = wrapped[2].strip() if not set(wrapped[2]) & set(wrapped[1] + wrapped[3]) else text
    text = text[:LONGEST_LINE].rstrip()
    return text, stop is not None or _FAREWELL.search(text[-200:]) is not None


def _sum(usage: Sequence[Usage | None]) -> Usage | None:
    known = [one for one in usage if one is not None]
    if not known:
        return None
    costs = [one.cost for one in known if one.cost is not None]
    return Usage(
        sum(one.seconds for one in known),
        sum(one.input_tokens for one in known),
        sum(one.output_tokens for one in known),
        sum(costs) if costs else None,
        sum(one.attempts for one in known),
    )
