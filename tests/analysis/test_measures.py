"""What a threshold may be about: metrics, metrics of one scenario type, pass@k and pass^k."""

import pytest

from callmark.analysis.measures import CaseValues, parse_measure
from callmark.analysis.summary import Estimate
from callmark.errors import BadInput
from callmark.grading.record import GradeRecord
from tests.graded_runs import DEFINITIONS


def trial(case: str, number: int, passed: bool, scenario_type: str = "", conversation: str | None = None) -> GradeRecord:
    return GradeRecord(case, number, metrics={"process.reliability": float(passed)}, scenario_type=scenario_type, conversation=conversation)


METRICS = {**DEFINITIONS}
TRIALS = [
    *(trial("a", n, n < 3, "create") for n in range(3)),
    *(trial("b", n, n < 2, "create") for n in range(3)),
    *(trial("c", n, False, "close") for n in range(3)),
    trial("d", 0, True, "close"),
    GradeRecord("e", error="HTTP 503", scenario_type="close"),
]


@pytest.mark.parametrize(
    "name, n, mean",
    [
        ("pass^1", 4, (1 + 2 / 3 + 0 + 1) / 4),
        ("pass^2", 3, (1 + 1 / 3 + 0) / 3),
        ("pass^3", 3, 1 / 3),
        ("pass@2", 3, (1 + 1 + 0) / 3),
        ("pass^3:create", 2, 0.5),
        ("pass@3:create", 2, 1.0),
        ("process.reliability:create", 6, 5 / 6),
        ("process.reliability:close", 4, 1 / 4),
        ("process.reliability", 10, 6 / 10),
    ],
)
def test_measure_is_over_the_cases_that_have_it(name: str, n: int, mean: float) -> None:
    measure = parse_measure(name, METRICS, pass_metric="process.reliability")
    found = CaseValues([measure], TRIALS).estimate(measure)
    assert found is not None
    assert found.n == n
    assert found.mean == pytest.approx(mean)


def test_measure_that_no_case_has_is_none() -> None:
    measure = parse_measure("pass^4", METRICS, pass_metric="process.reliability")
    assert CaseValues([measure], TRIALS).estimate(measure) is None


def width(estimate: Estimate | None) -> float:
    assert estimate is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def test_interval_is_over_conversations() -> None:
    measure = parse_measure("pass^1", METRICS, pass_metric="process.reliability")
    together = [trial(f"c{n}", 0, n // 5 % 2 == 0, conversation=f"t{n // 5}") for n in range(50)]
    apart = [trial(f"c{n}", 0, n // 5 % 2 == 0) for n in range(50)]
    wide, narrow = (CaseValues([measure], grades).estimate(measure) for grades in (together, apart))
    assert width(wide) > 1.5 * width(narrow)


def test_runs_are_compared_on_common_cases() -> None:
    measure = parse_measure("pass^2", METRICS, pass_metric="process.reliability")
    before = [trial(f"c{n}", number, True) for n in range(20) for number in range(2)]
    after = [trial(f"c{n}", number, n >= 10) for n in range(30) for number in range(2)]
    found = CaseValues([measure], after).compare(CaseValues([measure], before), measure)
    assert found is not None
    assert (found.before, found.after, found.within_noise) == (1.0, 0.5, False)
    assert CaseValues([measure], TRIALS).compare(CaseValues([measure], before), measure) is None


@pytest.mark.parametrize(
    "name, message",
    [
        ("call.scor", "unknown metric 'call.scor'. Did you mean call.score?"),
        ("pass^0", "unknown metric 'pass^0'"),
        ("pass^", "unknown metric 'pass\\^'"),
        ("call.score:", "unknown metric 'call.score:'"),
    ],
)
def test_unknown_measure_is_refused(name: str, message: str) -> None:
    with pytest.raises(BadInput, match=message.replace("pass^0", "pass\\^0")):
        parse_measure(name, METRICS, pass_metric="call.pass")


def test_run_without_the_pass_metric_has_no_pass_rates() -> None:
    with pytest.raises(BadInput, match="pass\\^2: the run does not have call.pass, which decides whether a trial passes"):
        parse_measure("pass^2", {"schema.overall": METRICS["schema.overall"]}, pass_metric="call.pass")


def test_unknown_scenario_type_is_refused_with_those_there_are() -> None:
    measure = parse_measure("pass^2:creat", METRICS, pass_metric="process.reliability")
    with pytest.raises(BadInput, match="pass\\^2:creat: unknown scenario type. Did you mean create?") as refused:
        CaseValues([measure], TRIALS).check_scenario_types()
    assert refused.value.hint == "Scenario types of the run: create, close."
