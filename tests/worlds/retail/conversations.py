"""Conversations of the store's expert with its users, in process: no server, and only the user's part of the state."""

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


class StoreToolbox:
    def __init__(self, store: Store, user_id: str) -> None:
        self._store = store
        self._user_id = user_id

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tools.TOOLS

    async def call(self, call: Call) -> ToolResult:
        result = self._store.call(call.name, call.arguments)
        return ToolResult(result.text, result.is_error)

    async def state(self) -> State:
        """Return the rows that a conversation may change; comparing the whole state would take too long."""
        user: dict[str, Any] = self._store.get_user_details(self._user_id)
        return {
            "users": {self._user_id: user},
            "orders": {order_id: self._store.get_order_details(order_id) for order_id in user["orders"]},
        }


class InProcessStore:
    label = "the store, in process"
    tools = tools.TOOLS

    def __init__(self, cases: Sequence[Case]) -> None:
        self._store = Store()
        self._users = {case.id: case.data["plan"]["customer"]["user_id"] for case in cases}

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[StoreToolbox]:
        store = self._store.copy()
        try:
            yield StoreToolbox(store, self._users[conversation.partition("/")[0]])
        finally:
            store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._store.close()


def run_conversations(cases: Sequence[Case], *, seed: int = 7) -> list[Prediction]:
    """Run the conversations of these plans concurrently."""
    world = RetailWorld()

    async def predict_all() -> list[Prediction]:
        async with Simulator("expert", world.expert(), world.user(seed), InProcessStore(cases), system=world.policy) as simulator:
            return list(await asyncio.gather(*(simulator.predict(case) for case in cases)))

    return asyncio.run(predict_all())


def to_conversation(case: Case, prediction: Prediction) -> Conversation:
    """Return the conversation as a dataset row."""
    return Conversation(case.id, prediction.transcript, tools.TOOLS)
