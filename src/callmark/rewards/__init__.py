"""The grader as a reward for training: TRL, verifiers, and the Python graders of OpenAI and Azure AI Foundry.

    from callmark.rewards import Reward, stress

    reward = Reward()                                   # call.score of each completion
    GRPOTrainer(…, reward_funcs=reward)                 # TRL, with the columns expected_output and tools
    print(stress(reward, "eval.jsonl"))                 # what degenerate policies earn

`callmark.rewards.verifiers` has the taskset for verifiers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callmark.rewards.environment import Environment
    from callmark.rewards.grader_json import check_grader, multi_grader, python_grader
    from callmark.rewards.policies import POLICIES
    from callmark.rewards.reward import Reward
    from callmark.rewards.stress_testing import PolicyReward, StressReport, stress

_MODULES = {
    "Environment": "environment",
    "POLICIES": "policies",
    "PolicyReward": "stress_testing",
    "Reward": "reward",
    "StressReport": "stress_testing",
    "check_grader": "grader_json",
    "multi_grader": "grader_json",
    "python_grader": "grader_json",
    "stress": "stress_testing",
}

__all__ = [
    "POLICIES",
    "Environment",
    "PolicyReward",
    "Reward",
    "StressReport",
    "check_grader",
    "multi_grader",
    "python_grader",
    "stress",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'callmark.rewards' has no attribute {name!r}")
    value = getattr(import_module(f"callmark.rewards.{_MODULES[name]}"), name)
    globals()[name] = value  # instead of the submodule of the same name
    return value


def __dir__() -> list[str]:
    return __all__
