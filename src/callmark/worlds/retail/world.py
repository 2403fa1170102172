"""The retail store as a world for `callmark synth`: tools, policy, plans, a rule-based expert and rule-based users."""

import sys
from functools import cached_property
from importlib.resources import as_file, files
from shlex import quote
from typing import Any

from callmark import Agent, BadInput, Case, State, User, World, read_policy
from callmark.worlds.retail.expert.agent import RetailExpert
from callmark.worlds.retail.plans.generator import BRANCHES, make_plans
from callmark.worlds.retail.store.records import Records, read_records
from callmark.worlds.retail.store.store import Store
from callmark.worlds.retail.tools import TOOLS
from callmark.worlds.retail.user.simulated_user import RetailUser

_OWN = files("callmark.worlds.retail")


class RetailWorld(World):
    """The store with its default seed, which is also that of its server."""

    label = "the retail store"
    tools = (f"mcp:{quote(sys.executable)} -P -m callmark.worlds.retail",)
    tool_definitions = TOOLS
    branches = BRANCHES

    @cached_property
    def policy(self) -> str:
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
        """Return plans; their number is unlimited."""
        return make_plans(self._records, number, seed=seed, start=start, balance=balance)

    def expert(self) -> Agent:
        return RetailExpert()

    def user(self, seed: int) -> User:
        return RetailUser(seed)

    def check_state(self, state: State) -> None:
        """Raise `BadInput` for a server whose data differ from the data of the plans, such as one with another seed."""
        store = Store()
        try:
            if state == store.state():
                return
        finally:
            store.close()
        raise BadInput(
            "the tools are those of the retail store, but its customers, products and orders differ from those of the plans",
            "Start the store without --seed, or pass --scenarios and --agent.",
        )
