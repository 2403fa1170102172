"""Synthesis from faults: plans that use what failed."""

from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark import BadInput, Case, Fault, Tool
from callmark.synthesis.fault_targets import FaultTarget, fault_targets
from callmark.synthesis.fault_world import FaultWorld
from callmark.synthesis.world import find_world
from callmark.types import Call
from tests.graded_runs import make_run, right, wrong

PAYMENT = FaultTarget("modify_pending_order_payment", "payment_method_id", 3)
ADDRESS = FaultTarget("modify_user_address", "zip", 1)


def hits(target: FaultTarget, plans: list[Case]) -> float:
    return sum(target.is_hit(plan) for plan in plans) / len(plans)


def retail(*targets: FaultTarget) -> FaultWorld:
    world = find_world("retail")
    return FaultWorld(world, targets, [Tool(target.tool) for target in (PAYMENT, ADDRESS)])


def test_plans_hit_what_failed_at_least_five_times_as_often() -> None:
    default = find_world("retail").plans(100, seed=7)
    plans = retail(PAYMENT).plans(10, seed=7)
    assert hits(PAYMENT, plans) == 1.0
    assert hits(PAYMENT, default) <= 0.2


def test_targets_share_the_plans_in_proportion_to_their_faults() -> None:
    plans = retail(PAYMENT, ADDRESS).plans(20, seed=7)
    assert hits(PAYMENT, plans) >= 0.7
    assert hits(ADDRESS, plans) >= 0.2
    assert len({plan.id for plan in plans}) == 20


def test_plans_do_not_depend_on_how_many_are_requested() -> None:
    world = retail(PAYMENT, ADDRESS)
    plans = world.plans(12, seed=3)
    assert world.plans(5, seed=3) == plans[:5]
    assert world.plans(4, seed=3, start=8) == plans[8:]


def test_target_that_no_plan_hits_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callmark.synthesis.fault_world.MAX_SEARCHED", 100)
    never = FaultTarget("modify_user_address", "planet", 5)
    world = retail(PAYMENT, never)
    assert len(world.plans(4, seed=7)) == 4
    assert world.missed == [never]
    assert retail(never).plans(4, seed=7) == []


def test_tools_that_the_world_lacks_are_refused() -> None:
    with pytest.raises(BadInput, match="none of the tools that failed are among the tools of .*: no_such_tool"):
        retail(FaultTarget("no_such_tool", "", 1))


def test_branches_of_failed_plans_have_to_be_taken() -> None:
    target = FaultTarget("f", "", 1, frozenset({"order: late"}))
    late, early = ({"plan": {"branches": [f"order: {when}"]}} for when in ("late", "early"))
    assert target.is_hit(Case("a", expected=(Call("f"),), data=late))
    assert not target.is_hit(Case("b", expected=(Call("f"),), data=early))


def test_targets_of_a_run_are_counted_by_tool_and_argument(tmp_path: Path) -> None:
    faults: Any = (
        Fault("wrong_value", expected_index=0, actual_index=0, argument="items[0].id", evaluators=("call",)),
        Fault("extra_call", actual_index=0, evaluators=("call",)),
    )
    grade = callmark.GradeRecord("a", metrics={"call.score": 0.5, "call.pass": 0.0}, expected=("g",), actual=("g",), faults=faults)
    run = make_run(tmp_path / "run", [grade, wrong("b"), wrong("c"), right("d")])
    assert fault_targets([callmark.Run(run)]) == [FaultTarget("f", "", 2), FaultTarget("g", "items", 1)]


def test_run_without_faults_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no call failed, so there is nothing to synthesize from"):
        fault_targets([callmark.Run(make_run(tmp_path / "run", [right("a")]))])


def test_conversations_from_faults_pass_lint_and_grounding(tmp_path: Path) -> None:
    fault = Fault("wrong_value", expected_index=0, actual_index=0, argument="payment_method_id", evaluators=("call",))
    tool = PAYMENT.tool
    grade = callmark.GradeRecord("a", metrics={"call.score": 0.5, "call.pass": 0.0}, expected=(tool,), actual=(tool,), faults=(fault,))
    run = make_run(tmp_path / "run", [grade])
    report = callmark.synth(tmp_path / "more", number=2, from_faults=run, valid=0.5)
    rows = [row for name in ("train", "valid") for row in callmark.load(tmp_path / "more" / f"{name}.jsonl")]
    assert report.accepted == len(rows) == 2
    assert all(any(call.name == tool and "payment_method_id" in call.arguments for call in row.calls) for row in rows)
    assert callmark.filter(tmp_path / "more/train.jsonl", grounded=True, out=tmp_path / "kept.jsonl").counts.kept == 1
    assert not [finding for finding in callmark.lint(tmp_path / "more/train.jsonl").findings if finding.severity == "error"]


def test_faults_cannot_be_combined_with_scenarios(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--from-faults cannot be used with --scenarios"):
        callmark.synth(tmp_path / "more", scenarios=[], from_faults="run")
