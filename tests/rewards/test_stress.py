"""What degenerate policies earn, and that flaws in custom rewards are found."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark import BadInput
from callmark.rewards import POLICIES, Reward, StressReport, stress
from tests.rewards.corpus import HOTEL
from tests.rewards.packages.__main__ import HERE

HELPDESK = Path(callmark.__file__).parent / "worlds/helpdesk"
RETAIL = Path(os.environ.get("CALLMARK_REAL_DATA", HERE.parents[3] / "shared/data")) / "retail/valid.jsonl"
Calls = list[dict[str, Any]]


def earned(report: StressReport) -> dict[str, float | None]:
    return {result.policy: result.mean for result in report.policies}


def test_reward_pays_no_degenerate_policy_on_decision_points() -> None:
    report = stress(Reward(), HOTEL)
    assert report.findings == ()
    assert (report.correct.mean, report.skipped) == (1.0, 1)
    assert earned(report)["silence"] == earned(report)["echo"] == earned(report)["broken call"] == earned(report)["unknown format"] == 0
    assert earned(report)["correct, no arguments"] == 0.5
    everything = next(result for result in report.policies if result.policy == "correct and everything")
    assert 0 < (everything.low or 0) < (everything.mean or 0) < (everything.high or 1) < 0.25
    assert "No policy earns what it should not." in str(report)


def test_policies_are_the_same_as_text() -> None:
    assert earned(stress(Reward(), HOTEL, form="text", limit=20)) == earned(stress(Reward(), HOTEL, limit=20))


def test_metric_that_ignores_extra_calls_is_found_on_scenarios(tmp_path: Path) -> None:
    callmark.synth_scenarios(tmp_path / "scenarios.jsonl", number=12, seed=1)
    report = stress(Reward(metric="process.recall"), tmp_path / "scenarios.jsonl")
    assert any(finding.startswith("correct and everything: earns") for finding in report.findings)
    strict = stress(Reward(metric="process.reliability"), tmp_path / "scenarios.jsonl")
    assert earned(strict)["correct and everything"] < 0.5  # type: ignore[operator]


@pytest.mark.skipif(not RETAIL.exists(), reason="the retail conversations are not here")
def test_reward_pays_no_degenerate_policy_on_retail() -> None:
    assert stress(Reward(), RETAIL).findings == ()


def calls_of(completion: Any) -> Calls:
    return [call["function"] for call in completion[0].get("tool_calls", [])]


def by_names(prompts: Any, completions: Any, expected_output: Any, **_: Any) -> list[float]:
    """A flawed reward: it only looks whether the expected tools are among those that were called."""
    return [
        float({call["function"]["name"] for call in expected["tool_calls"]} <= {call["name"] for call in calls_of(completion)})
        for completion, expected in zip(completions, expected_output, strict=True)
    ]


def without_errors(prompts: Any, completions: Any, **columns: Any) -> list[float | None]:
    """A flawed reward: what it cannot read is excluded."""
    earned = Reward()(prompts, completions, **columns)
    return [
        value if calls_of(completion) or "<" not in completion[0]["content"] else None
        for value, completion in zip(earned, completions, strict=True)
    ]


def is_json(prompts: Any, completions: Any, **_: Any) -> list[float]:
    """A flawed reward: any call with valid JSON earns it."""
    return [
        float(bool(calls_of(each)) and all(json.loads(call["arguments"]) is not None for call in calls_of(each))) for each in completions
    ]


def constant(prompts: Any, completions: Any, **_: Any) -> list[float]:
    return [0.7] * len(completions)


@pytest.mark.parametrize(
    "flawed, finding",
    [
        (by_names, "correct, no arguments: earns 1, as much as the expected calls (1)."),
        (by_names, "call everything: earns .992 of 1 without looking at the request."),
        (without_errors, "unknown format: 121 of 121 completions are excluded (None), so a policy can avoid a bad reward."),
        (is_json, "most frequent call: earns 1, as much as the expected calls (1)."),
        (constant, "The expected calls earn no more than the worst policy: the reward does not depend on the calls."),
    ],
)
def test_planted_flaw_is_found(flawed: Any, finding: str) -> None:
    assert finding in stress(flawed, HOTEL).findings


@pytest.mark.parametrize("values, message", [([1.0], "returned 1 values for 121"), (["x"] * 121, "expected a finite number or None")])
def test_reward_function_that_returns_something_else_is_refused(values: list[Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        stress(lambda prompts, completions, **columns: values, HOTEL)


def test_cases_that_cannot_be_answered_are_refused() -> None:
    with pytest.raises(BadInput, match="no cases whose expected calls can be made"):
        stress(Reward(), [])


def test_policies_have_different_names() -> None:
    assert len({policy.name for policy in POLICIES}) == len(POLICIES) == 12
