"""Whole conversations as answers: the simulator is a model that is asked a scenario and plays it, so that runs, their folders, going on
after a kill, budgets and errors are those of every other model.

Each conversation has a toolbox of its own. What it changed, and what the expected calls change in a fresh copy, is recorded. The user
begins. An agent that says nothing at all is heard as silence. What is not the agent's doing raises `ModelError`.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self
from uuid import uuid4

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.state import StateEvaluator
from callmark.models.model import ModelError, Question, Reply
from callmark.simulation.endings import TURN_LIMIT, Endings
from callmark.simulation.session import Agent, Ask, Session, State, ToolSource, User
from callmark.simulation.states import expected_changes, with_reached
from callmark.simulation.voices import Voice
from callmark.types import Case, EndStates, Message, Prediction, Tool

CONCURRENCY = 10
MAX_TURNS = 30


class Simulator:
    """One agent, tested by simulated users. `max_turns`: how often a user may speak."""

    concurrency = CONCURRENCY

    def __init__(
        self,
        label: str,
        agent: Agent,
        user: User,
        tools: ToolSource,
        *,
        voices: Sequence[Voice] = (),
        system: str = "",
        max_turns: int = MAX_TURNS,
        judge: Ask | None = None,
        listed: tuple[Tool, ...] = (),
    ) -> None:
        """`voices` are the models that take part; they are entered and left with it. `listed` are the tools as others were told them, where
        that matters: a conversation with others cannot be held.
        """
        self.label = label
        self._agent = agent
        self._user = user
        self._tools = tools
        self._voices = voices
        self._system = system
        self._max_turns = max_turns
        self._judge = judge
        self._listed = listed
        self._expected: dict[str, asyncio.Task[EndStates]] = {}  # by case: the same for all its trials
        self._inside = AsyncExitStack()

    def fingerprint(self, question: Question) -> bytes | None:
        """None: what is remembered are the answers of the models that take part."""
        return None

    async def ask(self, question: Question) -> Reply:
        """How the conversation of that scenario goes, the `trial`-th time."""
        case = question.case
        try:
            speaker = self._user.of(case, question.trial)
        except BadInput as error:  # what came through a pipe could not be looked at before
            raise ModelError(str(error)) from None
        async with self._tools.opened(f"{case.id}/{question.trial}/{uuid4().hex[:8]}") as toolbox:
            if self._listed and toolbox.tools != self._listed:
                raise ModelError(_changed(self._listed, toolbox.tools))
            before = await toolbox.state()
            states = None if before is None else await self._expected_states(case)
            talk = Session(case, question.trial, toolbox, [Message("system", self._system)] if self._system else [])

            looks = {0: before}  # by how many calls were carried out: nothing else changes it, and to look takes as long as many calls

            async def state() -> State | None:
                carried_out = sum(message.role == "tool" for message in talk.messages)
                if carried_out not in looks:
                    looks[carried_out] = await toolbox.state()
                return looks[carried_out]

            async def reached(talk: Session) -> bool | None:
                now = with_reached(states, before, await state()) if states else None
                numbers = StateEvaluator()(Attempt((), (), prediction=Prediction(case.id, states=now)))
                return bool(numbers["reached"]) if numbers else None

            endings = Endings.of(case, judge=self._judge, reached=reached)
            for _ in range(self._max_turns):
                said = await speaker.speak(talk.heard)
                talk.add_spent(said.usage)
                if said.text:
                    talk.messages.append(Message("user", said.text))
                last = bool(said.done and said.text)
                if last:  # an agent may answer what it is told last, and whether the task is completed is known after that
                    await self._agent.reply(talk)
                ending = await endings.after_user(talk, said)
                if not last and (said.text or not ending):
                    await self._agent.reply(talk)
                talk.ending = ending or talk.ending or await endings.after_agent(talk)
                if talk.ending:
                    break
            talk.ending = talk.ending or TURN_LIMIT
            if states is not None:
                states = with_reached(states, before, await state())
        return _reply(talk, states)

    async def _expected_states(self, case: Case) -> EndStates:
        if case.id not in self._expected:
            self._expected[case.id] = asyncio.create_task(self._replayed(case))
        return await asyncio.shield(self._expected[case.id])

    async def _replayed(self, case: Case) -> EndStates:
        try:
            async with self._tools.opened(f"{case.id}/expected/{uuid4().hex[:8]}") as toolbox:
                return await expected_changes(case.expected, toolbox)
        except ModelError:
            del self._expected[case.id]  # the next conversation tries again
            raise

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._tools)
            await stack.enter_async_context(self._user)
            for voice in self._voices:
                await stack.enter_async_context(voice)
            self._inside = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for task in self._expected.values():
            task.cancel()
        await asyncio.gather(*self._expected.values(), return_exceptions=True)
        self._expected.clear()
        await self._inside.aclose()


def _changed(before: tuple[Tool, ...], now: tuple[Tool, ...]) -> str:
    gone, new = ({tool.name for tool in some} - {tool.name for tool in others} for some, others in ((before, now), (now, before)))
    told = [f"{scrub(min(names))} is {what}" for names, what in ((gone, "gone"), (new, "new")) if names] or ["their schemas are others"]
    return f"the tools are not those that were there at the beginning: {' and '.join(told)}"


def _reply(talk: Session, states: EndStates | None) -> Reply:
    calls = tuple(call for message in talk.messages for call in message.calls)
    last = next((message.text for message in reversed(talk.messages) if message.role == "assistant" and message.text), "")
    usage = talk.usage
    return Reply(
        calls,
        last,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
        transcript=tuple(talk.messages),
        ending=talk.ending,
        states=states,
        misses=talk.misses,
    )
