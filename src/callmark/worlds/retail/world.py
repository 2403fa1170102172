"""The retail store as a world for `callmark synth`: tools, policy, plans over its data, an expert and customers who need no model."""

import sys
from functools import cached_property
from importlib.resources import as_file, files
from shlex import quote
from typing import Any

from callmark.config import read_policy
from callmark.simulation.session import Agent, State, User
from callmark.types import Case
from callmark.worlds.retail.customer import Customers
from callmark.worlds.retail.expert import Expert
from callmark.worlds.retail.plans import BRANCHES, plans
from callmark.worlds.retail.records import Records, read_records
from callmark.worlds.retail.store import Store

_OWN = files("callmark.worlds.retail")


class StoreWorld:
    """A world of the synthesis; the store that it plans by is the one that its server has when it starts."""

    label = "the retail store"
    tools = (f"mcp:{quote(sys.executable)} -m callmark.worlds.retail",)
    branches = BRANCHES
    made_up = False

    @cached_property
    def system(self) -> str:
        return (_OWN / "policy.md").read_text(encoding="utf-8").strip()

    @cached_property
    def rules(self) -> dict[str, Any]:
        with as_file(_OWN / "policy.yaml") as path:
            return read_policy(str(path))

    @cached_property
    def _records(self) -> Records:
        store = Store()
        try:
            return read_records(store)
        finally:
            store.close()

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """There is always another."""
        return plans(self._records, number, seed=seed, start=start, balance=balance)

    def expert(self) -> Agent:
        return Expert()

    def user(self, seed: int) -> User:
        return Customers(seed)


def is_store_state(state: State) -> bool:
    """Whether a server's state is the one that plans are made of."""
    store = Store()
    try:
        return state == store.state()
    finally:
        store.close()


def store_world() -> StoreWorld:
    """The store, as it is made when nothing else is said."""
    return StoreWorld()
