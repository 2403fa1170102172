"""Help desk agents and the rule-based user, with each other and with an independent agent and user, on unseen seeds."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

import pytest

from callmark.analysis.summary import Estimate
from callmark.cli.main import run
from callmark.grading.record import GradeRecord
from callmark.simulation.endings import COMPLETED, GOODBYE
from callmark.simulation.session import User
from callmark.simulation.users.rule_based.user import RuleBasedUser
from callmark.simulation.users.script import ScriptUser
from callmark.types import Case, Prediction
from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.agents import FAULTS, faults_for
from tests.simulation.helpdesk_conversations import grade_all, read_scenarios, simulate_cases
from tests.simulation.other_user import OtherUser
from tests.summaries import summarize

CAREFUL = "python:callmark.worlds.helpdesk.agents:careful"
SLOPPY = "python:callmark.worlds.helpdesk.agents:sloppy"
OTHER = "python:tests.simulation.other_agent:clerk"
SEEDS = (31337, 860_114, 4_000_001)


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Case]]:
    """Scenarios with seeds that were not used in development."""
    folder = tmp_path_factory.mktemp("scenarios")
    for seed in SEEDS:
        assert run(["synth", "--scenarios-only", "--seed", str(seed), "-o", str(folder / f"{seed}.jsonl"), "--json"]) == 0
    return {seed: read_scenarios(folder / f"{seed}.jsonl") for seed in SEEDS}


class SimulatedCases(NamedTuple):
    predictions: list[Prediction]
    grades: list[GradeRecord]

    @property
    def reliability(self) -> Estimate:
        return summarize(self.grades).metrics["process.reliability"]


def simulate_seeds(scenarios: dict[int, list[Case]], agent: str, user: Callable[[int], User]) -> SimulatedCases:
    """Simulate every scenario of every seed, each with a different seed for the user."""
    result = SimulatedCases([], [])
    for seed, cases in scenarios.items():
        predictions = simulate_cases(cases, agent, user(seed + 1))
        result.predictions.extend(predictions)
        result.grades.extend(grade_all(cases, predictions))
    return result


@pytest.fixture(scope="module")
def careful(scenarios: dict[int, list[Case]]) -> SimulatedCases:
    return simulate_seeds(scenarios, CAREFUL, lambda seed: RuleBasedUser(seed=seed))


@pytest.fixture(scope="module")
def sloppy(scenarios: dict[int, list[Case]]) -> SimulatedCases:
    return simulate_seeds(scenarios, SLOPPY, lambda seed: RuleBasedUser(seed=seed))


def test_careful_agent_is_reliable_on_unseen_seeds(careful: SimulatedCases) -> None:
    assert careful.reliability.mean >= 0.9
    assert careful.reliability.n >= 150
    assert {grade.ending for grade in careful.grades} == {COMPLETED}


def test_sloppy_agent_is_less_reliable(careful: SimulatedCases, sloppy: SimulatedCases) -> None:
    low, high = careful.reliability.low, sloppy.reliability.high
    assert low is not None
    assert high is not None
    assert high < low


# how grades show the faults of the sloppy agent
def lacks(argument: str) -> Callable[[GradeRecord], bool]:
    return lambda grade: any(fault.kind == "missing_argument" and fault.argument == argument for fault in grade.faults)


def breaks(rule: str) -> Callable[[GradeRecord], bool]:
    return lambda grade: any(note.kind == "policy_violation" and note.sentence.startswith(f"{rule} (") for note in grade.notes)


def _guesses(grade: GradeRecord) -> bool:
    return any(fault.argument == "priority" and fault.actual == "Medium" and fault.kind == "wrong_value" for fault in grade.faults)


def _twice(grade: GradeRecord) -> bool:
    return any(fault.kind == "repeated_call" for fault in grade.faults) and breaks("one-write-per-yes")(grade)


def _forgets(grade: GradeRecord) -> bool:
    """Return whether an expected call is missing or paired with another tool, and the end state shows what is missing."""
    missing = [fault for fault in grade.faults if fault.kind in ("missing_call", "wrong_tool")]
    return any(str(fault.expected).startswith(tools.CREATE_ITEM) for fault in missing) and _has_state_note(grade)


def _day_late(grade: GradeRecord) -> bool:
    days = [(fault.expected, fault.actual) for fault in grade.faults if fault.kind == "wrong_value" and fault.argument == "due_date"]
    return any(date.fromisoformat(actual) - date.fromisoformat(expected) == timedelta(days=1) for expected, actual in days)


def _has_state_note(grade: GradeRecord) -> bool:
    return any(note.kind == "state_difference" for note in grade.notes)


NAMED: dict[str, Callable[[GradeRecord], bool]] = {
    "leaves out the expected outcome": lacks("expected_outcome"),
    "leaves out the description": lacks("description"),
    "guesses the priority Medium": _guesses,
    "looks nothing up": breaks("departments-looked-up"),
    "writes without a confirmation": breaks("confirmed"),
    "writes everything twice": _twice,
    "forgets the second action item": _forgets,
    "due dates a day late": _day_late,
}


def test_every_planted_fault_is_visible() -> None:
    assert list(NAMED) == [fault.name for fault in FAULTS]


@pytest.mark.parametrize("fault", NAMED)
def test_grades_show_the_planted_fault(fault: str, sloppy: SimulatedCases) -> None:
    planted = [grade for prediction, grade in zip(sloppy.predictions, sloppy.grades, strict=True) if fault in _planted(prediction)]
    assert planted
    assert any(map(NAMED[fault], planted)), f"none of {len(planted)} grades shows: {fault}"


def test_careful_agent_has_no_planted_fault(careful: SimulatedCases) -> None:
    assert [(grade.case, fault) for fault, is_named in NAMED.items() for grade in careful.grades if is_named(grade)] == []


def test_end_state_shows_duplicate_and_incomplete_tickets(sloppy: SimulatedCases) -> None:
    for fault in ("writes everything twice", "leaves out the description", "leaves out the expected outcome"):
        result = [grade for grade in sloppy.grades if NAMED[fault](grade) and tools.CREATE_TICKET in grade.expected]
        assert result
        assert all(grade.metrics["state.reached"] == 0 and _has_state_note(grade) for grade in result), fault


def _planted(prediction: Prediction) -> list[str]:
    first = next(message.text for message in prediction.transcript if message.role == "user")
    return [fault.name for fault in faults_for(first)]


@pytest.mark.parametrize(
    "agent, user, least",
    [
        pytest.param(CAREFUL, lambda seed: ScriptUser(), 0.95, id="the careful agent, a fixed script"),
        pytest.param(CAREFUL, lambda seed: OtherUser(seed), 0.85, id="the careful agent, an independent user"),
        pytest.param(OTHER, lambda seed: RuleBasedUser(seed=seed), 0.7, id="an independent agent, the rule-based user"),
    ],
)
def test_independent_users_and_agents_finish(
    agent: str, user: Callable[[int], User], least: float, scenarios: dict[int, list[Case]]
) -> None:
    result = simulate_seeds({seed: scenarios[seed] for seed in SEEDS[1:]}, agent, user)
    assert [(grade.case, grade.ending) for grade in result.grades if grade.ending not in (COMPLETED, GOODBYE)] == []
    assert result.reliability.mean >= least


@pytest.mark.parametrize("style", ["plain", "terse", "chatty", "impatient"])
def test_rule_based_user_finishes_with_an_independent_agent_in_every_style(style: str, scenarios: dict[int, list[Case]]) -> None:
    result = simulate_seeds({SEEDS[0]: scenarios[SEEDS[0]][::2]}, OTHER, lambda seed: RuleBasedUser(style, seed=seed))
    assert [(grade.case, grade.ending) for grade in result.grades if grade.ending not in (COMPLETED, GOODBYE)] == []
