"""Where evaluators disagree: what passes, what fails, and why."""

import pytest

from callmark.analysis.disagreements import MAX_EXAMPLES, MAX_GROUPS, Disagreement, DisagreementTally, verdict_metrics
from callmark.grading.evaluator import Metric
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.types import Call, Case, Fault, Prediction, Tool
from tests.rows import tool_call

PARAMETERS = {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}, "required": ["id"]}
TOOLS = (Tool("f", "", PARAMETERS), Tool("g"))
F, G = tool_call("f", id="Paris"), tool_call("g")
CALL, SCHEMA, PROCESS, DECISION = "call.pass", "schema.execution_success", "process.reliability", "decision.correct"
ALL = ("call", "schema", "process")


def groups(evaluators: tuple[str, ...], *attempts: tuple[list[Call], list[Call] | str]) -> list[Disagreement]:
    grader = Grader(GradingSettings(evaluators))
    tally = DisagreementTally(grader.metrics)
    for index, (expected, actual) in enumerate(attempts):
        case = Case(f"c{index}", (), TOOLS, expected=tuple(expected))
        answer = Prediction(case.id, error=actual) if isinstance(actual, str) else Prediction(case.id, calls=tuple(actual))
        for record in grader.record(case, [answer]):
            tally.add(record)
    return tally.disagreements()


@pytest.mark.parametrize(
    "evaluators, expected, actual, passes, fails, reasons",
    [
        (ALL, [F], [tool_call("f", id="paris!")], (SCHEMA, PROCESS), (CALL,), ("wrong value, differs only in spelling (similar)",)),
        (ALL, [F], [tool_call("f", id="Rome")], (SCHEMA,), (CALL, PROCESS), ("wrong value",)),
        (ALL, [F], [F, G], (SCHEMA,), (CALL, PROCESS), ("extra call",)),
        (ALL, [F], [F, tool_call("CommonPlugin-now")], (SCHEMA, PROCESS), (CALL,), ("extra call",)),
        (("call", "process"), [F], [tool_call("F", id="Paris")], (PROCESS,), (CALL,), ("unknown tool",)),
        (("call", "decision"), [F], [G], (DECISION,), (CALL,), ("wrong tool",)),
        (("call", "trajectory"), [F, G], [G, F], (CALL,), ("trajectory.in_order",), ("wrong order",)),
        (("trajectory", "decision"), [F], [G], (DECISION,), ("trajectory.in_order",), ("no fault in the calls",)),
    ],
)
def test_group_names_what_passes_what_fails_and_why(
    evaluators: tuple[str, ...],
    expected: list[Call],
    actual: list[Call],
    passes: tuple[str, ...],
    fails: tuple[str, ...],
    reasons: tuple[str, ...],
) -> None:
    assert groups(evaluators, (expected, actual)) == [Disagreement(passes, fails, reasons, 1, ["c0"])]


def test_agreement_errors_and_one_verdict_give_no_group() -> None:
    attempts: list[tuple[list[Call], list[Call] | str]] = [([F], [F]), ([F], []), ([], []), ([F], "HTTP 503")]
    assert groups(ALL, *attempts) == []
    assert groups(("call",), ([F], [tool_call("f", id="paris!")])) == []
    assert groups(ALL) == []


def test_groups_are_ordered_by_size_and_have_a_few_examples() -> None:
    spelling, extra = ([F], [tool_call("f", id="paris!")]), ([F], [F, G])
    first, second = groups(ALL, extra, *[spelling] * 7)
    assert (first.count, first.cases) == (7, ["c1", "c2", "c3", "c4", "c5"])
    assert len(first.cases) == MAX_EXAMPLES
    assert (second.count, second.cases) == (1, ["c0"])


def test_sentence_has_verdicts_and_reasons() -> None:
    assert Disagreement((SCHEMA, PROCESS), (CALL,), ("wrong value", "extra call"), 1, []).sentence == (
        "schema.execution_success and process.reliability pass, call.pass fails: wrong value · extra call"
    )
    assert Disagreement((DECISION,), (CALL, PROCESS), ("wrong tool",), 1, []).sentence == (
        "decision.correct passes, call.pass and process.reliability fail: wrong tool"
    )


def test_verdict_is_the_headline_rate_or_the_last_rate() -> None:
    metrics = {
        "a.one": Metric("one", "one", "rate", headline=True),
        "a.two": Metric("two", "two", "rate"),
        "b.one": Metric("one", "one", "rate"),
        "b.two": Metric("two", "two", "rate"),
        "c.mean": Metric("mean", "mean", headline=True),
        "d.bad": Metric("bad", "bad", "rate", higher_is_better=False),
    }
    assert verdict_metrics(metrics) == ("a.one", "b.two")


def test_number_of_groups_is_bounded() -> None:
    metrics = {f"e{index}.ok": Metric("ok", "ok", "rate") for index in range(MAX_GROUPS + 5)}
    tally = DisagreementTally(metrics)
    for index in range(1, MAX_GROUPS + 5):
        fault = Fault("wrong_value", evaluators=(f"e{index}",))
        tally.add(GradeRecord("c", metrics={"e0.ok": 1.0, f"e{index}.ok": 0.0}, faults=(fault,)))
    assert len(tally.disagreements()) == MAX_GROUPS
