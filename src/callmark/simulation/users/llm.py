"""The LLM user: a model that plays the user. It sees the visible messages with the roles swapped: its own turns are the assistant's.

Its system prompt contains the scenario's instructions and the completion condition; it writes ###DONE### when the condition holds, or ends
the conversation in the words that its instructions give for it ("The session is finished"). After a
response that is empty, speaks as the agent, or repeats an earlier turn, one more response is requested, with a hint. A second repetition is
used unchanged; any other second failure is replaced by a fallback turn. Three fallback turns in a row end the conversation (`no progress`).
"""

import re
from collections.abc import Sequence

from callmark.calls.words import words
from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.simulation.closing_words import closing_words, ends_conversation
from callmark.simulation.scenario_checks import scenario_name
from callmark.simulation.session import NullContext, Predict, UserTurn
from callmark.types import Case, Message, Usage

STOP = "###DONE###"
MAX_TURN = 2000  # characters
FALLBACK_TURN = "Sorry, what was that?"  # after two responses that are empty or speak as the agent
_GREETING = "Hello! How can I help you today?"
_SILENCE = "(There was no answer.)"
_SYSTEM_PROMPT = """You play a user who writes to a support assistant. You are the user, never the assistant.

Your instructions:
{instructions}

{completion}

How you write:
- One message at a time, in the user's own words, as somebody would type it in a chat. No labels, no quotes around it, no stage directions.
- Do not give everything away at once, unless your instructions say so: answer what you are asked.
- What your instructions do not say you do not know. Do not make it up; say that you do not know, or have no preference.
- When the assistant reads something back, check it against your instructions before you agree.
- Never speak of functions or tools, of these instructions, or of being simulated.
- When the task is completed, or there is nothing more that you can do, {stop}"""
_WRITE_STOP = f"write {STOP} and nothing after it."
_SAY_CLOSING = 'say "{closing}", as your instructions tell you, and nothing after it.'
_DONE_TOO_SOON = "You have not told the assistant yet what you want. Say it now."
_SPOKE_AS_AGENT = "You are the user, not the assistant. Write the user's next message."
_EMPTY = "Write the user's next message."
_REPEATED = f"You have said exactly that before. Say something new, or {STOP} if the task is completed or cannot be."
_STOP_MARK = re.compile(r"#{2,}\s{0,3}DONE\b\s{0,3}#*|\bDONE\s?###", re.IGNORECASE)
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
    """Simulates every scenario with instructions. `label` is the name of the model."""

    def __init__(self, predict: Predict, label: str) -> None:
        self.label = label
        self._predict = predict

    def start_session(self, case: Case, trial: int) -> "LLMUserSession":
        """Return the user of a scenario; one without instructions raises `BadInput`."""
        if not case.instructions.strip():
            raise BadInput(f"{scenario_name(case)} cannot be simulated because it has no instructions")
        return LLMUserSession(self._predict, case, trial)


class LLMUserSession:
    """The LLM user of one conversation."""

    def __init__(self, predict: Predict, case: Case, trial: int) -> None:
        self._predict = predict
        self._case = case
        self._trial = trial
        self._turn_number = 0
        self._turns: list[str] = []
        self._closing = closing_words(case.instructions)

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        """Return the model's next turn. Only a last turn may be empty; a goodbye is a last turn too."""
        self._turn_number += 1
        conversation = swap_roles(messages)
        usage: list[Usage | None] = []
        text, done, problem = await self._request(conversation, messages, usage, "")
        if problem:
            text, done, problem = await self._request(conversation, messages, usage, problem)
        if problem in (_SPOKE_AS_AGENT, _EMPTY):
            text = FALLBACK_TURN
        self._turns.append(text)
        return UserTurn(text, done, _sum_usage(usage))

    async def _request(
        self, conversation: Sequence[Message], messages: Sequence[Message], usage: list[Usage | None], problem: str
    ) -> tuple[str, bool, str]:
        request = (Message("system", user_prompt(self._case)), *conversation)
        if problem:
            request = (*request[:-1], Message("user", f"{request[-1].text}\n\n({problem})"))
        request_id = f"{self._turn_number}{'-again' if problem else ''}"
        case = Case(f"{self._case.id}/user/{request_id}", request)
        prediction = await self._predict(case, self._trial)
        if prediction.error:
            raise ModelError(prediction.error)
        usage.append(prediction.usage)
        text, done = read_user_turn(prediction.text, closing=self._closing)
        return text, done, self._problem(text, done, prediction.text, messages)

    def _problem(self, text: str, done: bool, raw_text: str, messages: Sequence[Message]) -> str:
        """Return a hint about what is wrong with a response; empty if it is fine."""
        agent_texts = [message.text for message in messages if message.role != "user"]
        if done:
            return "" if agent_texts else _DONE_TOO_SOON
        if (
            _AGENT_LABEL.match(raw_text.strip())
            or _AS_AGENT.search(text)
            or (text and agent_texts and words(text) == words(agent_texts[-1][:MAX_TURN]))
        ):
            return _SPOKE_AS_AGENT
        if not text:
            return _EMPTY
        if text in self._turns:
            return _REPEATED
        return ""


def user_prompt(case: Case) -> str:
    """Return the system prompt for the user of a scenario."""
    completion = case.completion.strip()
    condition = (
        f"The task is completed when this holds: {completion}"
        if completion
        else "The task is completed when your instructions are carried out."
    )
    closing = closing_words(case.instructions)
    stop = _SAY_CLOSING.format(closing=closing) if closing else _WRITE_STOP
    return _SYSTEM_PROMPT.format(instructions=case.instructions.strip(), completion=condition, stop=stop)


def swap_roles(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the conversation with roles swapped, as a model expects it: it starts and ends with the agent, and roles alternate."""
    conversation = [Message("user", _GREETING)] if not messages or messages[0].role == "user" else []
    for message in messages:
        role = "assistant" if message.role == "user" else "user"
        if conversation and conversation[-1].role == role:
            if role == "assistant":
                conversation += [Message("user", _SILENCE), Message(role, message.text)]
            else:
                conversation[-1] = Message(role, f"{conversation[-1].text}\n{message.text}")
        else:
            conversation.append(Message(role, message.text))
    if conversation[-1].role == "assistant":
        conversation.append(Message("user", _SILENCE))
    return tuple(conversation)


def read_user_turn(prediction: str, *, closing: str = "") -> tuple[str, bool]:
    """Return the user turn in a response, and whether it is the last: the text up to the stop mark, without labels and other roles.

    A goodbye, the `closing` words of the instructions and a statement that the session is over make it the last, too.
    """
    text = prediction.strip()
    stop = _STOP_MARK.search(text)
    if stop:
        text = text[: stop.start()]
    text = _USER_LABEL.sub("", text.strip(), count=1)
    if _AGENT_LABEL.match(text):  # it speaks as the agent: use the text for the user that follows, if any
        user_label = _LATER_USER.search(text)
        text = text[user_label.end() :] if user_label else text[text.index(":") + 1 :]
    text = _LATER_USER.split(_AGENT_LABEL.split(text, maxsplit=1)[0], maxsplit=1)[0].strip()
    if wrapped := _WRAPPED.match(text):
        text = wrapped[2].strip() if not set(wrapped[2]) & set(wrapped[1] + wrapped[3]) else text
    text = text[:MAX_TURN].rstrip()
    return text, stop is not None or _FAREWELL.search(text[-200:]) is not None or ends_conversation(text, closing)


def _sum_usage(usage: Sequence[Usage | None]) -> Usage | None:
    known = [item for item in usage if item is not None]
    if not known:
        return None
    costs = [item.cost for item in known if item.cost is not None]
    return Usage(
        sum(item.seconds for item in known),
        sum(item.input_tokens for item in known),
        sum(item.output_tokens for item in known),
        sum(costs) if costs else None,
        sum(item.attempts for item in known),
    )
