"""Worlds in the registry: found by name, by their tools, and by their initial state."""

import pytest

from callmark import BadInput, Tool, World
from callmark.synthesis.world import find_world, match_world
from callmark.worlds.helpdesk import tools as helpdesk
from callmark.worlds.retail import tools as retail
from callmark.worlds.retail.store.store import Store
from callmark.worlds.retail.world import RetailWorld


def test_retail_world_is_found_by_name_and_follows_the_contract() -> None:
    world: World = RetailWorld()
    assert find_world("retail").label == world.label
    assert world.policy.startswith("# Policy")
    assert world.rules["rules"]
    assert len(world.plans(2, seed=1)) == 2


def test_unknown_world_is_refused() -> None:
    with pytest.raises(BadInput, match="retial"):
        find_world("retial")


@pytest.mark.parametrize("tools, is_retail", [(retail.TOOLS, True), (retail.TOOLS[1:], False), (helpdesk.TOOLS, False), ((), False)])
def test_world_is_found_by_its_tools(tools: tuple[Tool, ...], is_retail: bool) -> None:
    assert isinstance(match_world(tools), RetailWorld) is is_retail


def test_store_with_another_seed_does_not_fit_the_plans() -> None:
    default, other = Store(), Store(8)
    try:
        RetailWorld().check_state(default.state())
        with pytest.raises(BadInput, match="differ from those of the plans"):
            RetailWorld().check_state(other.state())
    finally:
        default.close()
        other.close()
