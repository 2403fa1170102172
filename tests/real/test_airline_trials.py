"""Recorded trials of twelve airline tasks, four each (CALLMARK_REAL_DATA, or ../shared/data beside the project)."""

import json

import pytest

from callmark.analysis.trials import Consistency, summarize_trials
from callmark.grading.record import GradeRecord
from tests.real.test_recorded import DATA

AIRLINE = DATA / "airline" / "gpt-4o-first-12-tasks.json"

pytestmark = pytest.mark.skipif(not AIRLINE.exists(), reason=f"no real data in {DATA}: set CALLMARK_REAL_DATA")


def test_pass_at_k_and_pass_to_the_k_of_the_recorded_rewards() -> None:
    recorded = json.loads(AIRLINE.read_text(encoding="utf-8"))
    found = summarize_trials(GradeRecord(str(one["task_id"]), one["trial"], metrics={"call.pass": one["reward"]}) for one in recorded)
    # By hand: of 12 tasks with 4 trials, 6 passed once and 6 never.
    # pass^1 = (6 × 1/4) / 12 = 1/8; none passed twice, so pass^2 = pass^3 = pass^4 = 0.
    # pass@k of a task that passed once: 1 - C(3, k)/C(4, k) = k/4, so pass@k = (6 × k/4) / 12 = k/8.
    assert [one.every for one in found.pass_rates] == [1 / 8, 0, 0, 0]
    assert [one.any for one in found.pass_rates] == [1 / 8, 2 / 8, 3 / 8, 4 / 8]
    assert [(one.cases, one.excluded) for one in found.pass_rates] == [(12, 0)] * 4
    assert found.trial_consistency == Consistency(6, 12, 0.5)
