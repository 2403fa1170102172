"""Conversations of the store's expert with its customers, held in the process: no server, and of the state the customer's own part."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from callmark.simulation.session import State, ToolResult
from callmark.simulation.simulator import Simulator
from callmark.types import Call, Case, Conversation, Prediction, Tool
from callmark.worlds.retail import tools
from callmark.worlds.retail.store.store import Store
from callmark.worlds.retail.world import RetailWorld


class _Box:
    def __init__(self, store: Store, user_id: str) -> None:
        self._store = store
        self._user_id = user_id

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tools.TOOLS

    async def call(self, call: Call) -> ToolResult:
        answer = self._store.call(call.name, call.arguments)
        return ToolResult(answer.text, answer.is_error)

    async def state(self) -> State:
        """All that a conversation may change; that nothing else is, the store's own tests see to. The whole would take long to compare."""
        user: dict[str, Any] = self._store.get_user_details(self._user_id)
        return {
            "users": {self._user_id: user},
            "orders": {order_id: self._store.get_order_details(order_id) for order_id in user["orders"]},
        }


class InProcess:
    label = "the store, in process"

    def __init__(self, cases: Sequence[Case]) -> None:
        self._store = Store()
        self._users = {case.id: case.data["plan"]["customer"]["user_id"] for case in cases}

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[_Box]:
        store = self._store.copy()
        try:
            yield _Box(store, self._users[conversation.partition("/")[0]])
        finally:
            store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._store.close()


def held(cases: Sequence[Case], *, seed: int = 7) -> list[Prediction]:
    """How the conversations of these plans go, all at a time."""
    world = RetailWorld()

    async def work() -> list[Prediction]:
        async with Simulator("expert", world.expert(), world.user(seed), InProcess(cases), system=world.system) as simulator:
            return list(await asyncio.gather(*(simulator.predict(case) for case in cases)))

    return asyncio.run(work())


def row(case: Case, reply: Prediction) -> Conversation:
    """As it stands in a dataset."""
    return Conversation(case.id, reply.transcript, tools.TOOLS)
