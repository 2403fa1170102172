"""Agents: who is tested. With tools, callmark carries out the calls that the agent makes, and hands back their results; without, the agent
is a whole chatbot that does so itself, and reports its calls.

    any model of `run`           with tools: asked again and again until it says something to the user instead of calling
    python:module:function       without tools: called with what was said so far, gives what it says and the calls that it made
    chatbot:URL                  the same over HTTP (see `chatbot`)

A call that cannot be read is answered by an error result, as a tool would. Too many answers with calls in one turn end the conversation:
`step limit`.
"""

from msgspec import structs

from callmark.simulation.endings import STEP_LIMIT
from callmark.simulation.session import Result, Session
from callmark.simulation.voices import Voice
from callmark.types import Call, Case, Message, Prediction, Tool

MOST_CALLS = 100  # in one answer; what is more is not carried out


class ModelAgent:
    """A model that calls the conversation's tools."""

    def __init__(self, voice: Voice, *, most_steps: int) -> None:
        self._voice = voice
        self._most_steps = most_steps

    async def reply(self, talk: Session) -> None:
        """Ask until it says something, carrying out what it calls."""
        for _ in range(self._most_steps):
            answer = await _answer(self._voice, talk, talk.messages, talk.toolbox.tools)
            calls = with_ids(answer.calls, talk)
            talk.messages.append(Message("assistant", answer.text, calls))
            if not calls:
                return
            for place, call in enumerate(calls):
                result = await _carried_out(call, talk) if place < MOST_CALLS else _TOO_MANY
                talk.misses += result.missed
                talk.messages.append(Message("tool", result.text, (), call.id, call.name))
        talk.ending = STEP_LIMIT


class ReportingAgent:
    """A whole chatbot: asked with what the user sees, it reports the calls that it made in its turn."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice

    async def reply(self, talk: Session) -> None:
        """What it called, then what it said."""
        answer = await _answer(self._voice, talk, talk.heard, ())
        if answer.calls:
            talk.messages.append(Message("assistant", "", with_ids(answer.calls, talk)))
        talk.messages.append(Message("assistant", answer.text))


async def _answer(voice: Voice, talk: Session, messages: list[Message], tools: tuple[Tool, ...]) -> Prediction:
    answer = await voice.ask(Case(talk.case.id, tuple(messages), tools, talk.case.place), talk.trial)
    talk.add_spent(answer.usage)
    return answer


def with_ids(calls: tuple[Call, ...], talk: Session) -> tuple[Call, ...]:
    """The calls with ids that no other call of the talk has, so that a result belongs to one of them."""
    taken = {call.id for message in talk.messages for call in message.calls}
    named = []
    for call in calls:
        if call.id is None or call.id in taken:
            number = len(taken) + 1
            while f"call_{number}" in taken:
                number += 1
            call = structs.replace(call, id=f"call_{number}")
        taken.add(call.id)
        named.append(call)
    return tuple(named)


_TOO_MANY = Result(f"More than {MOST_CALLS} calls at once are not carried out.", is_error=True)


async def _carried_out(call: Call, talk: Session) -> Result:
    if call.malformed:
        return Result(f"The call cannot be read: {call.malformed}.", is_error=True)
    return await talk.toolbox.call(call)
