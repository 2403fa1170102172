"""Two runs against each other: what differs, how sure that is, what was fixed and what broken (docs/reference/metrics.md, section 11)."""

import random
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import msgspec
import pytest

from callmark.analysis.breakdowns import NO_CALL
from callmark.analysis.compare import Comparison, FaultChange, ToolChange, compare_all
from callmark.analysis.differences import holm_adjust
from callmark.errors import BadInput
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.types import Call, Case, Prediction, Source
from tests.rows import tool_call
from tests.summaries import compare, summarize

RIGHT, WRONG = [tool_call("f", a=1)], [tool_call("f", a=2)]
Answer = Sequence[Call] | str


def run(
    outputs: dict[str, list[Answer]], *, expected: Sequence[Call] = RIGHT, evaluators: tuple[str, ...] = ("call", "process")
) -> list[GradeRecord]:
    """The grades of the trials of each case (a text is an error); what stands before the colon of an id is its conversation."""
    grader = Grader(GradingSettings(evaluators=evaluators))
    found = []
    for name, trials in outputs.items():
        case = Case(name, expected=tuple(expected), source=Source(name.partition(":")[0], 0))
        predictions = [
            Prediction(name, trial, error=output) if isinstance(output, str) else Prediction(name, trial, tuple(output))
            for trial, output in enumerate(trials)
        ]
        found += grader.record(case, predictions)
    return found


def scripted(seed: int, *, wrong_value: float, no_call: float) -> list[GradeRecord]:
    """A model of known faults, asked 600 times in 150 conversations."""
    dice = random.Random(seed)
    outputs: dict[str, list[Answer]] = {}
    for conversation in range(150):
        for point in range(4):
            chance = dice.random()
            output = [] if chance < no_call else WRONG if chance < no_call + wrong_value else RIGHT
            outputs[f"{conversation}:{point}"] = [output]
    return run(outputs)


def test_difference_and_differing_faults_are_found() -> None:
    found = compare(scripted(1, wrong_value=0.2, no_call=0.1), scripted(2, wrong_value=0.05, no_call=0.1))
    score = found.metrics["call.score"]
    assert (found.cases, found.conversations, score.within_noise) == (600, 150, False)
    assert score.low is not None
    assert score.high is not None
    assert 0 < score.low < 0.075 < score.high  # fifteen of a hundred get the half that they did not
    assert score.p < 0.001
    assert score.difference == pytest.approx(score.after - score.before)
    assert {fault.kind for fault in found.faults if not fault.within_noise} == {"wrong_value"}
    assert {fault.kind for fault in found.faults if fault.within_noise} == {"no_call"}


def test_same_model_twice_is_within_noise() -> None:
    found = compare(scripted(1, wrong_value=0.2, no_call=0.1), scripted(2, wrong_value=0.2, no_call=0.1))
    assert all(change.within_noise for change in found.metrics.values())
    assert all(fault.within_noise for fault in found.faults)
    assert found.fixed
    assert found.broken
    assert found.cases_needed is not None


def test_run_against_itself() -> None:
    grades = scripted(1, wrong_value=0.2, no_call=0.1)
    found = compare(grades, grades)
    for name, change in found.metrics.items():
        assert change.before == change.after == pytest.approx(summarize(grades).metrics[name].mean)
        assert (change.difference, change.p, change.within_noise, change.differing) == (0.0, 1.0, True, 0)
        assert change.low is not None
        assert change.low == -(change.high or 0) < 0
    assert (found.fixed, found.broken, found.cases_needed) == ([], [], None)
    assert found.both_correct + found.both_wrong == found.cases == 600


def test_swapping_runs_swaps_everything() -> None:
    one, other = scripted(1, wrong_value=0.2, no_call=0.1), scripted(2, wrong_value=0.1, no_call=0.2)
    there, back = compare(one, other), compare(other, one)
    assert (there.fixed, there.broken, there.both_correct) == (back.broken, back.fixed, back.both_correct)
    for name, change in there.metrics.items():
        assert (change.before, change.difference, change.p) == pytest.approx(
            (back.metrics[name].after, -back.metrics[name].difference, back.metrics[name].p)
        )
    assert {(fault.kind, fault.before, fault.after, fault.p) for fault in there.faults} == {
        (fault.kind, fault.after, fault.before, fault.p) for fault in back.faults
    }


def test_only_cases_scored_in_both_runs_are_paired() -> None:
    found = compare(
        run({"a": [RIGHT], "b": [WRONG], "c": ["HTTP 503"], "d": ["HTTP 503"], "x": [WRONG], "y": ["HTTP 503"]}),
        run({"a": [WRONG], "b": [WRONG], "c": [RIGHT], "d": ["HTTP 503"], "z": [RIGHT]}),
    )
    assert (found.cases, found.conversations) == (2, 2)
    assert (found.only_first, found.only_second, found.errors_first, found.errors_second) == (2, 1, 2, 1)
    assert (found.metrics["call.score"].before, found.metrics["call.score"].after) == (0.75, 0.5)
    assert (found.fixed, found.broken, found.both_correct, found.both_wrong) == ([], ["a"], 0, 1)
    assert found.faults == [FaultChange("wrong_value", 1, 2, 1.0, True)]
    assert sum(tool.n for tool in found.tools) == 2


def test_case_with_trials_has_their_mean_and_is_correct_when_all_pass() -> None:
    found = compare(
        run({"a": [RIGHT, RIGHT], "b": [RIGHT, WRONG, []], "c": [RIGHT, "HTTP 503"]}),
        run({"a": [RIGHT, WRONG], "b": [RIGHT], "c": [RIGHT, RIGHT]}),
    )
    score = found.metrics["call.score"]
    assert (score.before, score.after) == pytest.approx((fmean([1, 0.5, 1]), fmean([0.75, 1, 1])))
    assert (found.fixed, found.broken, found.both_correct, found.both_wrong) == (["b"], ["a"], 1, 0)
    assert (found.errors_first, found.errors_second) == (0, 0)
    (tool,) = found.tools
    assert (tool.tool, tool.n, tool.fixed, tool.broken) == ("f", 3, 1, 1)
    assert (tool.before, tool.after) == pytest.approx((2.5 / 3, 2.75 / 3))
    counts = {fault.kind: (round(fault.before, 3), round(fault.after, 3)) for fault in found.faults}
    assert counts == {"wrong_value": (0.333, 0.5), "no_call": (0.333, 0.0)}


@pytest.mark.parametrize("last, before", [(RIGHT, 1.0), (WRONG, 0.5)])
def test_last_grade_of_a_case_and_trial_counts(last: list[Call], before: float) -> None:
    first = run({"a": [WRONG], "b": [RIGHT]}) + run({"a": [RIGHT]}) + run({"a": [last]})
    found = compare(first, run({"a": [RIGHT], "b": [RIGHT]}))
    assert (found.cases, found.metrics["call.score"].before) == (2, (before + 1) / 2)


def test_later_error_replaces_the_grade() -> None:
    first = run({"a": [WRONG], "b": [RIGHT]}) + run({"a": ["HTTP 503"]})
    found = compare(first, run({"a": [RIGHT], "b": [RIGHT]}))
    assert (found.cases, found.errors_first) == (1, 1)


def test_tools_add_up_to_the_expected_calls() -> None:
    grader = Grader(GradingSettings())
    expected = {"a": [tool_call("f"), tool_call("g", x=1)], "b": [tool_call("g", x=1)], "c": [], "d": [], "e": [tool_call("f")]}

    def graded(output: dict[str, list[Call]]) -> list[GradeRecord]:
        return [
            one
            for name, calls in expected.items()
            for one in grader.record(Case(name, expected=tuple(calls)), [Prediction(name, calls=tuple(output[name]))])
        ]

    first = graded(
        {"a": [tool_call("f"), tool_call("g", x=1)], "b": [tool_call("f")], "c": [], "d": [tool_call("f")], "e": [tool_call("f")]}
    )
    second = graded(
        {
            "a": [tool_call("f"), tool_call("g", x=2)],
            "b": [tool_call("g", x=1)],
            "c": [tool_call("f")],
            "d": [],
            "e": [tool_call("f"), tool_call("h")],
        }
    )
    found = compare(first, second)
    assert found.tools == [
        ToolChange(NO_CALL, 2, 0.5, 0.5, 1, 1),
        ToolChange("g", 2, 0.5, 0.75, 1, 1),
        ToolChange("f", 2, 1.0, 1.0, 0, 0),  # the second h is no fault of f
    ]
    for side, grades in (("before", first), ("after", second)):
        assert {tool.tool: (tool.n, getattr(tool, side)) for tool in found.tools} == {
            tool.tool: (tool.n, tool.score) for tool in summarize(grades).tools
        }
    assert sum(tool.n for tool in found.tools) == sum(max(len(calls), 1) for calls in expected.values())
    assert (found.fixed, found.broken) == (["b", "d"], ["a", "c", "e"])


def test_case_with_different_alternatives_counts_under_the_first() -> None:
    case = Case("a", expected=(tool_call("f"), tool_call("g")), alternatives=((tool_call("h"),),))
    grader = Grader(GradingSettings())
    one, other = (grader.record(case, [Prediction("a", calls=tuple(calls))]) for calls in ([tool_call("h")], [tool_call("f")]))
    assert (one[0].expected, other[0].expected) == (("h",), ("f", "g"))
    for first, second, change in ((one, other, (0, 1)), (other, one, (1, 0))):
        tools = {tool.tool: tool for tool in compare(first, second).tools}
        assert tools.keys() == {"f", "g"}
        assert (tools["g"].fixed, tools["g"].broken) == change
        assert (tools["f"].before, tools["f"].after) == (1.0, 1.0)


def test_scenario_is_correct_when_the_process_is_reliable() -> None:
    expected = [tool_call("f", a="Paris")]
    outputs: list[dict[str, list[Any]]] = [
        {"a": [[tool_call("f", a="paris!")]], "b": [[tool_call("f", a="Rome")]]},
        {"a": [[tool_call("f", a="Paris")]], "b": [[tool_call("f", a="paris")]]},
    ]
    first, second = (run(output, expected=expected, evaluators=("process",)) for output in outputs)
    found = compare(first, second, headline="process.reliability")
    assert (found.headline, found.fixed, found.both_correct) == ("process.reliability", ["b"], 1)
    assert found.faults == [FaultChange("wrong_value", 1, 0, 1.0, True)]  # that of a is none that the evaluator counts
    first, second = (run(output, expected=expected) for output in outputs)
    assert compare(first, second).fixed == ["a"]


@pytest.mark.parametrize("evaluator", ["process", "schema"])
def test_without_call_pass_another_metric_or_no_fault_decides_correctness(evaluator: str) -> None:
    first, second = (run({"a": [RIGHT], "b": [output]}, evaluators=(evaluator,)) for output in ([], RIGHT))
    found = compare(first, second)
    assert (found.fixed, found.both_correct, found.cases_needed) == (["b"], 1, None)


def test_only_common_metrics_are_compared() -> None:
    found = compare(run({"a": [RIGHT], "b": [RIGHT]}, evaluators=("call",)), run({"a": [RIGHT], "b": [WRONG]}))
    assert list(found.metrics) == ["call.score", "call.pass", "call.arguments"]


def test_p_values_are_adjusted_within_each_metric_and_over_all_faults() -> None:
    runs = [scripted(seed, wrong_value=rate, no_call=0.1) for seed, rate in ((1, 0.2), (2, 0.15), (3, 0.14))]
    alone = [compare(runs[0], other) for other in runs[1:]]
    together = [found for _, found in compare_all([("base", runs[0]), ("one", runs[1]), ("two", runs[2])])]
    for name in alone[0].metrics:
        assert [found.metrics[name].p for found in together] == holm_adjust([found.metrics[name].p for found in alone])
        assert all(found.metrics[name].within_noise == (found.metrics[name].p >= 0.05) for found in together)
    assert [(found.cases, found.fixed, found.metrics["call.score"].low) for found in together] == [
        (found.cases, found.fixed, found.metrics["call.score"].low) for found in alone
    ]
    assert [fault.p for found in together for fault in found.faults] != [fault.p for found in alone for fault in found.faults]


def test_run_names_are_returned_in_order() -> None:
    grades = run({"a": [RIGHT], "b": [WRONG]})
    assert [name for name, _ in compare_all([("base", grades), ("tuned", grades), ("tuned", grades)])] == ["tuned", "tuned"]


def test_comparison_survives_json() -> None:
    found = compare(run({"a:1": [RIGHT], "b:1": [WRONG]}), run({"a:1": [WRONG], "b:1": [WRONG]}))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found
    assert msgspec.to_builtins(found)["metrics"]["call.score"]["within_noise"] is True


def test_one_conversation_has_no_interval() -> None:
    change = compare(run({"a:1": [RIGHT], "a:2": [WRONG]}), run({"a:1": [RIGHT], "a:2": [RIGHT]})).metrics["call.score"]
    assert (change.difference, change.low, change.high, change.p, change.within_noise) == (0.25, None, None, 1.0, True)


BAD: list[tuple[list[tuple[str, Any]], str]] = [
    ([], "expected at least two runs to compare, got 0"),
    ([("base", {"a": [RIGHT]})], "expected at least two runs to compare, got 1"),
    ([("base", {}), ("tuned", {})], "no case is scored in both base and tuned: both are empty"),
    (
        [("base", {"a": [RIGHT]}), ("tuned", {"b": [RIGHT], "c": [RIGHT]})],
        "no case is scored in both base and tuned: 1 case only in base, 2 cases only in tuned",
    ),
    (
        [("base", {"a": ["HTTP 503"], "b": [RIGHT]}), ("tuned", {"a": [RIGHT]})],
        "no case is scored in both base and tuned: 1 case only in base, 1 error in base",
    ),
]


@pytest.mark.parametrize("runs, sentence", BAD)
def test_incomparable_runs_are_refused(runs: list[tuple[str, dict[str, list[Answer]]]], sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        compare_all([(name, run(outputs)) for name, outputs in runs])
    assert str(refused.value) == sentence


def test_runs_without_a_common_metric_are_refused() -> None:
    with pytest.raises(BadInput, match="the first run and the second run have no metric in common"):
        compare(run({"a": [RIGHT]}, evaluators=("call",)), run({"a": [RIGHT]}, evaluators=("schema",)))
