"""Evaluators `effort` and `recorded`: needed and used calls and turns, and the recorded reward."""

from typing import Any

import pytest

from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.effort import EffortEvaluator
from callmark.grading.evaluators.recorded import RecordedEvaluator
from callmark.types import Case, Message, Prediction
from tests.evaluations import values
from tests.rows import tool_call

F, ASIDE = tool_call("f"), tool_call("CommonPlugin-start_over")


@pytest.mark.parametrize(
    "needed, used, calls",
    [
        ([], [], 1),
        ([F], [F], 1),
        ([F], [], 0),
        ([], [F], 0),
        ([F], [F, F], 0.5),
        ([F, F], [F], 1),
        ([F], [tool_call("g")], 1),  # what is right is for other evaluators to say
        ([F], [F, ASIDE, ASIDE], 1),
        ([F, ASIDE], [F, F], 0.5),
        ([ASIDE], [], 1),
        ([], [ASIDE], 1),
    ],
)
def test_share_of_needed_calls(needed: list[Any], used: list[Any], calls: float) -> None:
    assert values(EffortEvaluator(), Attempt(needed, used)) == {"calls": calls}


def test_ignore_list_is_an_option() -> None:
    assert values(EffortEvaluator(("g",)), Attempt([F], [F, tool_call("G"), ASIDE]))["calls"] == 0.5


def tried(turns: Any, *roles: str) -> Attempt:
    case = Case("a", instructions="…", data={} if turns is None else {"turns": turns})
    transcript = tuple(Message(role.rstrip("-"), "" if role.endswith("-") else "…") for role in roles)
    return Attempt((), (), case=case, prediction=Prediction("a", transcript=transcript))


@pytest.mark.parametrize(
    "turns, roles, share",
    [
        (2, ["user", "assistant", "user", "assistant"], 1),
        (2, ["user"] * 4, 0.5),
        (2, ["user"], 1),
        (1.5, ["user"] * 3, 0.5),
        (2, ["assistant", "tool", "system"], 0),
        (2, ["user", "user", "user-"], 1),  # who says nothing has had no turn
        (None, ["user"], None),
        (0, ["user"], None),
        (-1, ["user"], None),
        (True, ["user"], None),
        ("2", ["user"], None),
        (float("nan"), ["user"], None),
        (float("inf"), ["user"], None),
        (2, [], None),
    ],
)
def test_share_of_needed_turns(turns: Any, roles: list[str], share: float | None) -> None:
    assert values(EffortEvaluator(), tried(turns, *roles)).get("turns") == share


@pytest.mark.parametrize("reward, numbers", [(1.0, {"reward": 1.0}), (0.0, {"reward": 0.0}), (None, {})])
def test_reward_is_passed_on_unchanged(reward: float | None, numbers: dict[str, float]) -> None:
    assert values(RecordedEvaluator(), Attempt((), (), prediction=Prediction("a", reward=reward))) == numbers


def test_attempt_without_a_conversation_has_no_reward() -> None:
    assert values(RecordedEvaluator(), Attempt((), ())) == {}
