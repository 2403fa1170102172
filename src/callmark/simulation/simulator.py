"""The conversation loop: a `Simulator` is a model whose prediction for a scenario is a whole simulated conversation.

Runs, run folders, resuming, budgets and errors therefore work as for any other model. Each conversation has its own toolbox. Its prediction
records the changes that the conversation made, and those that the expected calls make in a fresh toolbox. The user speaks first. Failures
that are not the agent's raise `ModelError`; a conversation that a rule-based user did not understand is an error with its transcript.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Self
from uuid import uuid4

from callmark.calls.strict import scrub
from callmark.calls.toolsets import tool_fields
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.state import StateEvaluator
from callmark.models.model import Capabilities, ModelError
from callmark.simulation.endings import USER_DID_NOT_UNDERSTAND, EndingDetector
from callmark.simulation.model_client import ModelClient
from callmark.simulation.session import Agent, Predict, Session, State, ToolSource, User
from callmark.simulation.states import expected_changes, with_reached
from callmark.types import Case, EndStates, Message, Prediction, Tool

CONCURRENCY = 10
MAX_TURNS = 30
_NOT_UNDERSTOOD = "the simulated user did not understand the agent"  # one sentence for all, so that these errors are counted together


class Simulator:
    """Simulates the conversations of one agent. `max_turns` limits the user's turns in a conversation."""

    capabilities = Capabilities(CONCURRENCY, open_files=12)  # two tool servers, one of them for the expected calls, and three models

    def __init__(
        self,
        label: str,
        agent: Agent,
        user: User,
        tools: ToolSource,
        *,
        clients: Sequence[ModelClient] = (),
        system: str = "",
        max_turns: int = MAX_TURNS,
        judge: Predict | None = None,
        listed_tools: tuple[Tool, ...] = (),
    ) -> None:
        """Create a simulator. `clients` are the models that take part; they are entered and exited with the simulator.

        With `listed_tools`, a conversation whose toolbox has other tools is an error.
        """
        self.label = label
        self._agent = agent
        self._user = user
        self._tools = tools
        self._clients = clients
        self._system = system
        self._max_turns = max_turns
        self._judge = judge
        self._listed_tools = listed_tools
        self._expected: dict[str, asyncio.Task[EndStates]] = {}  # by case id, shared by all trials of a case
        self._resources = AsyncExitStack()

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return None: responses of the models that take part are cached, conversations are not."""
        return None

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Simulate the conversation for a scenario."""
        try:
            user_session = self._user.start_session(case, trial)
        except BadInput as error:  # scenarios from a pipe cannot be checked before the run
            raise ModelError(str(error)) from None
        async with self._tools.open_toolbox(f"{case.id}/{trial}/{uuid4().hex[:8]}") as toolbox:
            if self._listed_tools and list(map(tool_fields, toolbox.tools)) != list(map(tool_fields, self._listed_tools)):
                raise ModelError(_describe_changed_tools(self._listed_tools, toolbox.tools))
            before = await toolbox.state()
            states = None if before is None else await self._expected_states(case)
            session = Session(case, trial, toolbox, [Message("system", self._system)] if self._system else [])

            known_states = {0: before}  # by number of executed calls: only calls change the state, and reading it is slow

            async def state() -> State | None:
                executed = sum(message.role == "tool" for message in session.messages)
                if executed not in known_states:
                    known_states[executed] = await toolbox.state()
                return known_states[executed]

            async def is_state_reached() -> bool | None:
                now = with_reached(states, before, await state()) if states else None
                reached = StateEvaluator().evaluate(Attempt((), (), prediction=Prediction(case.id, states=now))).values["reached"]
                return None if reached is None else bool(reached)

            endings = EndingDetector(case, judge=self._judge, is_state_reached=is_state_reached)
            for _ in range(self._max_turns):
                turn = await user_session.next_turn(session.visible_messages)
                session.add_usage(turn.usage)
                if turn.text:
                    session.messages.append(Message("user", turn.text))
                is_last = bool(turn.done and turn.text)
                if is_last:  # the agent may still act on the user's last message before completion is judged
                    await self._agent.reply(session)
                ending = await endings.after_user(session, turn)
                if not is_last and (turn.text or not ending):
                    await self._agent.reply(session)
                session.ending = ending or session.ending or await endings.after_agent(session)
                if session.ending:
                    break
            session.ending = session.ending or endings.at_turn_limit()
            if states is not None:
                states = with_reached(states, before, await state())
        return _prediction(session, states)

    async def _expected_states(self, case: Case) -> EndStates:
        if case.id not in self._expected:
            self._expected[case.id] = asyncio.create_task(self._replay_expected(case))
        return await asyncio.shield(self._expected[case.id])

    async def _replay_expected(self, case: Case) -> EndStates:
        try:
            async with self._tools.open_toolbox(f"{case.id}/expected/{uuid4().hex[:8]}") as toolbox:
                return await expected_changes(case.expected, toolbox)
        except ModelError:
            del self._expected[case.id]  # the next conversation tries again
            raise

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._tools)
            await stack.enter_async_context(self._user)
            for client in self._clients:
                await stack.enter_async_context(client)
            if isinstance(self._agent, AbstractAsyncContextManager):
                await stack.enter_async_context(self._agent)
            self._resources = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for task in self._expected.values():
            task.cancel()
        await asyncio.gather(*self._expected.values(), return_exceptions=True)
        self._expected.clear()
        await self._resources.aclose()


def _describe_changed_tools(before: tuple[Tool, ...], now: tuple[Tool, ...]) -> str:
    gone, new = ({tool.name for tool in some} - {tool.name for tool in others} for some, others in ((before, now), (now, before)))
    changes = [f"{scrub(min(names))} was {what}" for names, what in ((gone, "removed"), (new, "added")) if names] or ["schemas differ"]
    return f"the tools have changed since the start: {', '.join(changes)}"


def _prediction(session: Session, states: EndStates | None) -> Prediction:
    calls = tuple(call for message in session.messages for call in message.calls)
    text = next((message.text for message in reversed(session.messages) if message.role == "assistant" and message.text), "")
    return Prediction(
        session.case.id,
        session.trial,
        calls,
        text,
        error=_NOT_UNDERSTOOD if session.ending == USER_DID_NOT_UNDERSTAND else "",
        usage=session.usage,
        transcript=tuple(session.messages),
        ending=session.ending,
        states=states,
        misses=session.misses,
    )
