"""`SynthesisOptions`: the world, the number of conversations, and how they are simulated and graded."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from callmark.grading.settings import SIMULATION_EVALUATORS, GradingSettings
from callmark.models.choice import NamedModel
from callmark.models.model import ModelSettings
from callmark.runs.manifest import SimulationSettings
from callmark.simulation.simulate import MAX_STEPS
from callmark.simulation.simulator import MAX_TURNS
from callmark.synthesis.world import World
from callmark.types import Tool

SEED, VALID_SHARE = 7, 0.2


class SynthesisOptions(Struct, frozen=True):
    """Options of one synthesis: `number` conversations of `world`, written to the folder `out`.

    None and empty values default to those of the world: its tools, policy text and rules, its expert as the agent, its user. If
    `listed_tools` are given, the tools are not listed again.
    """

    world: World
    number: int
    out: str
    seed: int = SEED
    valid: float = VALID_SHARE
    balance: bool = False
    tools: tuple[str, ...] = ()
    listed_tools: tuple[Tool, ...] = ()
    policy: str | None = None
    rules: Mapping[str, Any] | None = None
    agent: NamedModel | None = None
    user: ModelSettings | None = None
    grading: GradingSettings = GradingSettings()
    resume: bool = False
    concurrency: int | None = None

    @property
    def simulation(self) -> SimulationSettings:
        """Return the settings of the simulation, as recorded in a run."""
        user = self.user or ModelSettings(model=self.world.user(self.seed).label)
        policy = self.world.policy if self.policy is None else self.policy
        return SimulationSettings(user, None, self.tools or self.world.tools, policy, MAX_TURNS, MAX_STEPS, self.seed)

    @property
    def grading_settings(self) -> GradingSettings:
        """Return the settings for grading conversations."""
        rules = self.world.rules if self.rules is None else self.rules
        grading = msgspec.structs.replace(self.grading, evaluators=SIMULATION_EVALUATORS)
        return grading.with_options("policy", rules=dict(rules)) if rules else grading
