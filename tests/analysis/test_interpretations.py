"""What the numbers of a run mean, and what to check first."""

import pytest

from callmark.analysis.breakdowns import OTHERS, Slice
from callmark.analysis.functions import ArgumentSummary, FunctionSummary, FunctionTable
from callmark.analysis.interpretations import (
    MIN_CASES,
    Interpretation,
    Score,
    interpret,
    interpret_arguments,
    interpret_bands,
    interpret_functions,
    interpret_malformed,
    interpret_precision_and_recall,
    interpret_reliability,
)
from tests.summaries import METRICS


def sure(mean: float) -> Score:
    """A score whose interval is as narrow as can be."""
    return Score(mean, mean, mean)


HIGH_LOW, LOW_HIGH, LOW_LOW = "misses some", "unnecessary", "fundamental"


def test_empty_run_has_no_interpretation() -> None:
    assert interpret({}, METRICS, scenario_types=[], functions=FunctionTable([], [])) == []


def test_perfect_run_has_nothing_to_check() -> None:
    names = ["schema.tool_selection", "schema.parameter_accuracy", "schema.overall", "process.precision", "process.recall"]
    names += ["process.args_precision", "process.args_recall", "process.reliability"]
    functions = FunctionTable([FunctionSummary("f", 9, 9, 9, 9, 1.0, 1.0)], [])
    found = interpret(dict.fromkeys(names, sure(1.0)), METRICS, functions=functions, scored=9)
    assert found == [
        Interpretation("schema.overall", "excellent"),
        Interpretation("process.reliability", "high: business processes are followed correctly"),
    ]


@pytest.mark.parametrize(
    "overall, text",
    [
        (1.0, "excellent"),
        (0.9, "excellent"),
        (0.89, "good: check that there is enough training data"),
        (0.75, "good: check that there is enough training data"),
        (0.74, "fair: check that the failures do not share a cause"),
        (0.5, "fair: check that the failures do not share a cause"),
        (0.49, "poor: tool selection or arguments are often wrong"),
        (0.0, "poor: tool selection or arguments are often wrong"),
    ],
)
def test_band_of_a_score(overall: float, text: str) -> None:
    assert interpret_bands({"schema.overall": Score(overall)}, METRICS) == [Interpretation("schema.overall", text)]


@pytest.mark.parametrize(
    "low, high, text",
    [
        (0.76, 0.89, "good"),
        (0.7, 0.95, "good; fair to excellent within the interval"),
        (0.8, 0.9, "good; good to excellent within the interval"),
        (0.1, 0.85, "good; poor to good within the interval"),
    ],
)
def test_bands_of_the_ends_of_the_interval_are_added(low: float, high: float, text: str) -> None:
    (found,) = interpret_bands({"schema.overall": Score(0.8, low, high)}, METRICS)
    assert found.text == f"{text}: check that there is enough training data"


@pytest.mark.parametrize(
    "precision, recall",
    [
        (Score(0.95, 0.85, 1.0), Score(0.6, 0.3, 0.86)),  # the intervals overlap
        (Score(0.95, 0.94, 0.96), Score(0.85, 0.8, 0.91)),  # recall may be high
        (Score(0.6, 0.4, 0.8), Score(0.6, 0.5, 0.7)),  # precision may not be low
        (Score(0.95), Score(0.3)),  # too few conversations for an interval
    ],
)
def test_meaning_that_the_whole_interval_does_not_support_is_not_shown(precision: Score, recall: Score) -> None:
    assert interpret_precision_and_recall({"process.precision": precision, "process.recall": recall}) == []


@pytest.mark.parametrize("score", [Score(0.95, 0.89, 1.0), Score(0.6, 0.4, 0.76), Score(1.0), Score(0.0)])
def test_reliability_that_the_whole_interval_does_not_support_is_not_shown(score: Score) -> None:
    assert interpret_reliability({"process.reliability": score}) == []


@pytest.mark.parametrize("metric, word", [("schema.tool_selection", "system prompt"), ("schema.parameter_accuracy", "required")])
def test_low_metric_has_its_checks(metric: str, word: str) -> None:
    (found,) = interpret_bands({metric: sure(0.6)}, METRICS)
    assert (found.subject, found.text, len(found.checks)) == (metric, "fair: check that the failures do not share a cause", 3)
    assert word in " ".join(found.checks)
    assert interpret_bands({metric: sure(0.9)}, METRICS) == []


@pytest.mark.parametrize("scored, malformed, reported", [(0, 0, False), (100, 0, False), (100, 4, False), (100, 5, True), (3, 1, True)])
def test_many_malformed_calls_are_reported(scored: int, malformed: int, reported: bool) -> None:
    assert bool(interpret_malformed(scored, malformed)) == reported


def test_malformed_calls_are_counted_among_scored_predictions() -> None:
    (found,) = interpret_malformed(100, 9)
    assert found.text == "9 malformed calls in 100 scored predictions"
    assert any("JSON" in check for check in found.checks)
    assert all(check.startswith("Check that ") for check in found.checks)


def test_run_with_almost_nothing_scored_has_no_interpretation() -> None:
    means = {"schema.overall": sure(0.1), "process.reliability": sure(0.1)}
    assert interpret(means, METRICS, scored=MIN_CASES - 1, malformed=1) == []
    assert interpret(means, METRICS, scored=MIN_CASES, malformed=1) != []


@pytest.mark.parametrize(
    "precision, recall, word",
    [
        (1.0, 1.0, ""),
        (0.92, 0.9, ""),
        (1.0, 0.9, ""),  # both are high
        (0.92, 0.85, ""),  # not far enough apart
        (0.8, 0.78, ""),  # neither high nor low
        (0.95, 0.85, HIGH_LOW),
        (0.9, 0.8, HIGH_LOW),  # apart by .1, despite rounding
        (0.95, 0.3, HIGH_LOW),
        (0.8, 0.6, HIGH_LOW),
        (0.6, 0.95, LOW_HIGH),
        (0.74, 0.74, LOW_LOW),
        (0.7, 0.3, LOW_LOW),
        (0.0, 0.0, LOW_LOW),
    ],
)
def test_precision_against_recall(precision: float, recall: float, word: str) -> None:
    found = interpret_precision_and_recall({"process.precision": sure(precision), "process.recall": sure(recall)})
    assert [word in reading.text for reading in found] == ([True] if word else [])


@pytest.mark.parametrize(
    "precision, recall, word",
    [(0.95, 0.6, "incomplete"), (0.6, 0.95, "so are unexpected ones"), (0.5, 0.5, "significant"), (0.95, 0.95, "")],
)
def test_precision_against_recall_of_arguments(precision: float, recall: float, word: str) -> None:
    found = interpret_precision_and_recall({"process.args_precision": sure(precision), "process.args_recall": sure(recall)})
    assert [word in reading.text for reading in found] == ([True] if word else [])
    assert all(reading.subject == "process.args_precision, process.args_recall" for reading in found)


def test_precision_without_recall_has_no_interpretation() -> None:
    assert interpret_precision_and_recall({"process.precision": sure(0.2)}) == []


@pytest.mark.parametrize(
    "whole, types, word",
    [
        (0.95, {}, "high"),
        (0.8, {}, ""),
        (0.3, {}, "low"),
        (0.95, {"a": (99, 0.97), "b": (99, 1.0)}, "high"),
        (0.95, {"a": (9, 0.9), "b": (9, 1.0)}, ""),  # too few to be sure
        (0.5, {"a": (99, 0.4), "b": (99, 0.6)}, "consistently low"),
        (0.5, {"a": (9, 0.4), "b": (9, 0.7)}, ""),
        (0.7, {"a": (99, 0.5), "b": (99, 0.95)}, "variable"),
        (0.7, {"a": (9, 0.5), "b": (9, 0.95)}, ""),
        (0.85, {"a": (9, 0.8), "b": (9, 0.9)}, ""),
        (0.95, {"a": (MIN_CASES - 1, 0.0), "b": (999, 0.99), "c": (999, 0.95)}, "high"),  # too few cases to rank
        (0.95, {"a": (99, 0.5)}, "high"),  # a single type cannot be compared
    ],
)
def test_reliability_across_scenario_types(whole: float, types: dict[str, tuple[int, float]], word: str) -> None:
    slices = [Slice(name, n, {"process.reliability": mean}) for name, (n, mean) in types.items()]
    found = interpret_reliability({"process.reliability": sure(whole)}, slices)
    assert [reading.text.startswith(word) for reading in found] == ([True] if word else [])


def test_variable_reliability_names_best_and_weak_types() -> None:
    slices = [Slice(name, 10, {"process.reliability": mean}) for name, mean in [("refund", 0.5), ("exchange", 1.0), ("cancel", 0.3)]]
    (found,) = interpret_reliability({"process.reliability": sure(0.6)}, slices)
    assert found.text.endswith("(exchange 1, cancel .300)")
    assert found.checks == [
        "Check that cancel works: reliability .300 in 10 cases.",
        "Check that refund works: reliability .500 in 10 cases.",
    ]


def test_weakest_functions_come_first() -> None:
    functions = [
        FunctionSummary("good", 50, 50, 50, 10, 1.0, 1.0),
        FunctionSummary("missed", 20, 10, 10, 10, 1.0, 0.5),
        FunctionSummary("rare", 2, 2, 0, 0, 0.0, 0.0),
        FunctionSummary("unlisted", 0, 8, 0, 0, 0.0, None),
        FunctionSummary("fine", 10, 9, 9, 9, 1.0, 0.9),
        FunctionSummary(OTHERS, 0, 900, 0, 0, 0.0, None),
    ]
    (found,) = interpret_functions(functions)
    assert found.checks == [
        "Check that unlisted is called only where it should be: precision 0 (8 actual).",
        "Check that missed is called where it should be: recall .500 (20 expected).",
    ]
    assert interpret_functions(functions[:1]) == []


def test_repeatedly_wrong_arguments_are_named() -> None:
    arguments = [
        ArgumentSummary("f", "id", 9, 2, 0, 0, 0, 7, 3, 1, []),
        ArgumentSummary("f", OTHERS, 8, 0, 0, 8, 0, 0, 0, 0, []),
        ArgumentSummary("g", "day", MIN_CASES - 1, 0, 0, 0, MIN_CASES - 1, 0, 0, 0, []),
    ]
    (found,) = interpret_arguments(arguments)
    assert found.checks == ["Check that f.id is described clearly: missing 2×, wrong value 7×."]
    assert interpret_arguments(arguments[2:]) == []


def test_interpretations_of_a_run_are_combined() -> None:
    means = {"schema.overall": 0.8, "process.precision": 0.95, "process.recall": 0.6, "process.reliability": 0.5}
    scores = {name: sure(mean) for name, mean in means.items()}
    weak = FunctionTable([FunctionSummary("f", 10, 5, 5, 5, 1.0, 0.5)], [ArgumentSummary("f", "id", 9, 9, 0, 0, 0, 0, 0, 0, [])])
    found = interpret(scores, METRICS, functions=weak, scored=10, malformed=2)
    assert [reading.subject for reading in found] == [
        "schema.overall",
        "processing errors",
        "process.precision, process.recall",
        "process.reliability",
        "tools",
        "arguments",
    ]
