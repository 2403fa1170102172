"""Evaluators `call`, `schema` and `process`: a case for every row and sentence of docs/reference/metrics.md, sections 6 to 8."""

from typing import Any

import pytest

from callmark import grade
from callmark.analysis.summary import Tally
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Metric, Result
from callmark.grading.evaluators.call import CallEvaluator
from callmark.grading.evaluators.process import ProcessEvaluator
from callmark.grading.evaluators.schema import SchemaEvaluator, complete_weights
from callmark.grading.grader import Grader
from callmark.grading.settings import GradingSettings, find_evaluator
from callmark.types import Call, Case, Prediction, Tool
from tests.rows import tool_call

BROKEN = Call("f", {}, None, "truncated JSON", "{")
BROKEN_READ = Call("read", {}, None, "truncated JSON", "{")


@pytest.mark.parametrize(
    "expected, actual, score",
    [
        ([tool_call("f", a=1)], [tool_call("f", a=1)], 1.0),
        ([tool_call("f", a=1)], [tool_call("f", a="1")], 1.0),
        ([tool_call("f", a=1)], [tool_call("f", a=2)], 0.5),
        ([tool_call("f", a=1)], [tool_call("f")], 0.5),
        ([tool_call("f")], [tool_call("f", a=1)], 0.5),
        ([tool_call("f")], [tool_call("g")], 0.0),
        ([tool_call("f")], [tool_call("F")], 0.0),
        ([tool_call("f")], [], 0.0),
        ([tool_call("f")], [BROKEN], 0.0),
        ([], [], 1.0),
        ([], [tool_call("f")], 0.0),
        ([], [BROKEN], 0.0),
        ([tool_call("f", zip="01234")], [tool_call("f", zip="1234")], 0.5),
        # several: 2 * sum / (expected + made)
        ([tool_call("f"), tool_call("g")], [tool_call("g"), tool_call("f")], 1.0),
        ([tool_call("f"), tool_call("f")], [tool_call("f")], 0.666667),
        ([tool_call("f")], [tool_call("f"), tool_call("f")], 0.666667),
        ([tool_call("f")], [tool_call("f"), tool_call("g")], 0.666667),
        ([tool_call("f"), tool_call("g")], [tool_call("f"), tool_call("g", a=1)], 0.75),
        ([tool_call("f"), tool_call("g")], [tool_call("f"), BROKEN], 0.5),
        ([tool_call("f", a={"$any": True})], [tool_call("f", a=9)], 1.0),
        ([tool_call("f", a={"$any": True})], [tool_call("f")], 0.5),
    ],
)
def test_call_score(expected: list[Call], actual: list[Call], score: float) -> None:
    graded = grade(expected, actual)
    assert graded.metrics["call.score"] == score
    assert graded.metrics["call.pass"] == float(score == 1)


@pytest.mark.parametrize(
    "expected, actual, arguments",
    [
        ([tool_call("f", a=1)], [tool_call("f", a=1)], 1.0),
        ([tool_call("f")], [tool_call("f")], 1.0),
        ([tool_call("f", a=1, b=2)], [tool_call("f", a=1, b=3)], 0.5),
        ([tool_call("f", a=1, b=2)], [tool_call("f", a=1, c=3)], 1 / 3),
        ([tool_call("f", a=1)], [tool_call("f")], 0.0),
        ([tool_call("f", a=1), tool_call("g")], [tool_call("f", a=2), tool_call("g")], 0.5),
        ([tool_call("f", a=1), tool_call("g")], [tool_call("f", a=1)], 1.0),  # only pairs count
        ([tool_call("f", a={"$optional": 1})], [tool_call("f")], 1.0),
        ([tool_call("f")], [tool_call("g")], None),
        ([tool_call("f")], [BROKEN], None),
        ([tool_call("f")], [], None),
        ([], [tool_call("f")], None),
        ([], [], None),
    ],
)
def test_call_arguments(expected: list[Call], actual: list[Call], arguments: float | None) -> None:
    assert grade(expected, actual).metrics.get("call.arguments") == arguments


def test_threshold_decides_what_passes() -> None:
    attempt = Attempt([tool_call("f", a=1)], [tool_call("f", a=2)])
    assert CallEvaluator(threshold=0.5).evaluate(attempt).values["pass"] == 1.0
    assert CallEvaluator(threshold=0.6).evaluate(attempt).values["pass"] == 0.0


READ = {
    "name": "read",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}, "required": ["path"]},
}
LISTED = {"name": "read", "parameters": [{"name": "path", "type": "str", "required": True}, {"name": "n", "type": "int"}]}
DEEP = {
    "name": "read",
    "parameters": {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "both": {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "integer"}}}]},
            "one": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]},
            "old": {"type": "string", "nullable": True},
            "odd": {"type": "mystery"},
            "color": {"type": "string", "enum": ["red"], "pattern": "^x"},
        },
        "$defs": {"row": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
    },
}


@pytest.mark.parametrize(
    "tool, arguments, fits",
    [
        (READ, {"path": "x"}, True),
        (READ, {"path": "other"}, True),
        (READ, {"path": 5}, False),
        (READ, {}, False),
        (READ, {"path": "x", "n": 1.0}, True),
        (READ, {"path": "x", "n": 1.5}, False),
        (READ, {"path": "x", "n": True}, False),
        (READ, {"path": "x", "n": "1"}, False),
        (READ, {"path": None}, False),
        (READ, {"path": "x", "unknown": []}, True),
        (LISTED, {"path": "x", "n": 1}, True),
        (LISTED, {"path": 5}, False),
        (LISTED, {"n": 1}, False),
        (DEEP, {"rows": [{"id": 1}, {"id": 2.0}]}, True),
        (DEEP, {"rows": [{"id": "1"}]}, False),
        (DEEP, {"rows": [{}]}, False),
        (DEEP, {"either": None}, True),
        (DEEP, {"either": 5}, False),
        (DEEP, {"both": {"a": 1}}, True),
        (DEEP, {"both": {"a": "1"}}, False),
        (DEEP, {"both": {}}, False),
        (DEEP, {"one": True}, True),
        (DEEP, {"one": "x"}, False),
        (DEEP, {"old": None}, True),
        (DEEP, {"odd": object}, True),
        (DEEP, {"color": "blue"}, True),
    ],
)
def test_parameter_accuracy(tool: dict[str, Any], arguments: dict[str, Any], fits: bool) -> None:
    graded = grade([tool_call("read", path="x")], [Call("read", arguments)], tools=[tool])
    assert graded.metrics["schema.parameter_accuracy"] == float(fits)


@pytest.mark.parametrize(
    "expected, actual, metrics",
    [
        ([tool_call("read", path="x")], [tool_call("read", path="y")], (1, 1, 1)),
        ([tool_call("read", path="x")], [tool_call("write")], (0, 0, 0)),  # a tool that is not listed
        ([tool_call("write")], [tool_call("read", path="x")], (0, 1, 0)),
        ([tool_call("read", path="x")], [Call("read", {}, None, "truncated JSON", "{")], (1, 0, 0)),
        ([tool_call("read", path="x")], [], (0, 0, 0)),
        ([], [tool_call("read", path="x")], (0, 0, 0)),
        ([], [], (1, 1, 1)),
        ([tool_call("read", path="x")], [tool_call("write"), tool_call("read", path="x")], (1, 1, 1)),  # further calls are free
        ([tool_call("read", path="x")], [tool_call("read"), tool_call("read", path="x")], (1, 1, 1)),  # the best partner by `exact`
        (
            [tool_call("read", path="x")],
            [tool_call("read", path=5), tool_call("read", path="y")],
            (1, 1, 1),
        ),  # of equal ones, one that fits
        ([tool_call("read", path="x")], [tool_call("read", path="y"), tool_call("read", path=5)], (1, 1, 1)),
        ([tool_call("read", path="x")], [tool_call("read", path=5), tool_call("read", path=6)], (1, 0, 0)),
        ([tool_call("read", path="x")], [tool_call("write"), BROKEN_READ], (1, 0, 0)),  # by name, although malformed
        ([tool_call("read", path="x"), tool_call("read", path="y")], [BROKEN_READ, tool_call("read", path="y")], (1, 0, 0)),
        (
            [tool_call("write"), tool_call("read", path="x")],
            [tool_call("read", path="y"), tool_call("read", path="x")],
            (0, 1, 0),
        ),  # in order
        ([tool_call("write")], [tool_call("read", path="x"), tool_call("read", path=5)], (0, 1, 0)),
        ([tool_call("write")], [tool_call("read", path=5), tool_call("read", path="x")], (0, 0, 0)),
        ([tool_call("read", path="x"), tool_call("read", path="y")], [tool_call("read", path="y"), tool_call("read", path="z")], (1, 1, 1)),
        ([tool_call("read", path="x"), tool_call("read", path="y")], [tool_call("read", path="y"), tool_call("read")], (1, 0, 0)),
        ([tool_call("read", path="x"), tool_call("read", path="y")], [tool_call("read", path="x")], (0, 0, 0)),
    ],
)
def test_schema(expected: list[Call], actual: list[Call], metrics: tuple[int, int, int]) -> None:
    found = grade(expected, actual, tools=[READ]).metrics
    for name, value in zip(("tool_selection", "parameter_accuracy", "execution_success"), metrics, strict=True):
        assert found[f"schema.{name}"] == value
    assert found["schema.overall"] == pytest.approx(0.40 * metrics[0] + 0.35 * metrics[1] + 0.25 * metrics[2])


def test_without_tools_arguments_are_compared_and_noted() -> None:
    right, wrong = grade([tool_call("f", a=1)], [tool_call("f", a="1")]), grade([tool_call("f", a=1)], [tool_call("f", a=2)])
    assert (right.metrics["schema.parameter_accuracy"], wrong.metrics["schema.parameter_accuracy"]) == (1, 0)
    assert [note.kind for note in wrong.notes] == ["no_schema"]


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"tool_selection": 0.5}, "weights: expected a sum of 1, got 0.5"),
        ({"tool_selecton": 1}, "weights: unknown metric 'tool_selecton'. Did you mean tool_selection?"),
        ({"tool_selection": -1, "parameter_accuracy": 2}, "weights: tool_selection: expected at least 0, got -1"),
        ({"tool_selection": 0.5, "response_quality": 0.5}, "weights: response_quality has a weight, but no function measures it"),
    ],
)
def test_invalid_weights_are_rejected_by_name(given: dict[str, float], sentence: str) -> None:
    with pytest.raises(BadInput) as rejected:
        complete_weights(given)
    assert sentence in str(rejected.value)
    with pytest.raises(BadInput) as raised:
        SchemaEvaluator(weights=given)
    assert sentence in str(raised.value)


def test_omitted_weights_are_0_and_quality_can_be_measured() -> None:
    attempt = Attempt([tool_call("read", path="x")], [tool_call("write")], tools=(Tool("write"),))
    assert SchemaEvaluator(weights={"parameter_accuracy": 1.0}).evaluate(attempt).values["overall"] == 1.0
    measured = SchemaEvaluator(weights={"response_quality": 1.0}, quality=lambda attempt: 0.7)
    assert measured.evaluate(attempt).values["overall"] == pytest.approx(0.7)
    assert "response_quality" in [metric.name for metric in measured.metrics]


@pytest.mark.parametrize(
    "overall, name", [(1, "excellent"), (0.9, "excellent"), (0.89, "good"), (0.75, "good"), (0.5, "fair"), (0.49, "poor"), (0, "poor")]
)
def test_bands(overall: float, name: str) -> None:
    bands = next(metric for metric in SchemaEvaluator().metrics if metric.name == "overall")
    assert bands.band(overall).partition(":")[0] == name


@pytest.mark.parametrize(
    "expected, actual, metrics",
    [
        ([tool_call("P-create", title="Server down!")], [tool_call("p-CREATE", title="server  down")], (1, 1, 1, 1, 1)),
        ([tool_call("f")], [tool_call("f"), tool_call("g")], (0.5, 1, 1, 1, 0)),
        ([tool_call("f"), tool_call("g")], [tool_call("f")], (1, 0.5, 1, 1, 0)),
        ([tool_call("f", a=1, b=2)], [tool_call("f", a=1, b=3, c=4)], (1, 1, 1 / 3, 0.5, 0)),
        ([tool_call("f", a=1)], [tool_call("f")], (1, 1, 1, 0, 0)),  # no arguments on a side: 1
        ([tool_call("f")], [tool_call("g")], (0, 0, 0, 0, 0)),
        ([], [], (1, 1, 1, 1, 1)),
        ([], [tool_call("f")], (0, 0, 0, 0, 0)),
        ([tool_call("f")], [], (0, 0, 0, 0, 0)),
        ([tool_call("CommonPlugin-ask_clarification")], [], (1, 1, 1, 1, 1)),
        ([tool_call("f")], [tool_call("commonplugin-start_over"), tool_call("X-Ask_Clarification"), tool_call("f")], (1, 1, 1, 1, 1)),
        ([tool_call("f"), tool_call("f")], [tool_call("f"), tool_call("f"), tool_call("f")], (2 / 3, 1, 1, 1, 0)),
        ([tool_call("f")], [BROKEN], (0, 0, 0, 0, 0)),
        ([tool_call("f", n="False")], [tool_call("f", n=False)], (1, 1, 1, 1, 1)),
    ],
)
def test_process(expected: list[Call], actual: list[Call], metrics: tuple[float, ...]) -> None:
    found = grade(expected, actual).metrics
    assert tuple(found[f"process.{metric.name}"] for metric in ProcessEvaluator.metrics) == pytest.approx(metrics)


def test_argument_metrics_are_pooled_or_averaged_over_pairs() -> None:
    attempt = Attempt([tool_call("f", a=1, b=2, c=3), tool_call("g", x=1)], [tool_call("f", a=1, b=2, c=3), tool_call("g", x=2)])
    assert ProcessEvaluator().evaluate(attempt).values["args_recall"] == pytest.approx(3 / 4)
    assert ProcessEvaluator(averaging="macro").evaluate(attempt).values["args_recall"] == pytest.approx(1 / 2)


def test_ignore_list_can_be_replaced() -> None:
    attempt = Attempt([tool_call("f")], [tool_call("f"), tool_call("log_this")])
    assert ProcessEvaluator(ignore=("log_*",)).evaluate(attempt).values["precision"] == 1


def test_default_value_equals_an_omitted_argument_in_every_evaluator() -> None:
    tool = {"name": "f", "parameters": {"properties": {"n": {"type": "integer", "default": 10}}}}
    found = grade([tool_call("f", n=10)], [tool_call("f")], tools=[tool]).metrics
    assert set(found.values()) == {1.0}


def test_star_in_scenario_calls_is_a_case_insensitive_glob() -> None:
    expected = [{"functionName": "f", "arguments": {"id": "TKT-*", "note": "any * here", "list": ["A*"]}}]
    right = {"name": "f", "arguments": {"id": "tkt-17", "note": "any * here", "list": ["abc"]}}
    assert grade(expected, [right]).metrics["call.score"] == 1
    assert grade([{"name": "f", "arguments": {"id": "TKT-*"}}], [{"name": "f", "arguments": {"id": "TKT-1"}}]).metrics["call.score"] == 0.5


def test_invalid_matcher_is_rejected() -> None:
    with pytest.raises(BadInput, match=r"f: a: unknown matcher '\$bogus'"):
        grade([tool_call("f", a={"$bogus": 1})], [])


def test_unknown_evaluator_is_rejected_with_a_suggestion() -> None:
    with pytest.raises(BadInput, match="unknown evaluator 'proces'. Did you mean process?"):
        find_evaluator("proces")


def test_anyone_can_write_an_evaluator() -> None:
    class Brevity:
        name = "brevity"
        metrics = (Metric("calls", "brevity"),)

        def evaluate(self, attempt: Attempt) -> Result:
            return Result({"calls": 1 / max(len(attempt.actual), 1)})

    assert grade([], [tool_call("f"), tool_call("f")], evaluators=("call", Brevity())).metrics == {
        "call.score": 0,
        "call.pass": 0,
        "brevity.calls": 0.5,
    }


def test_grade_has_a_readable_repr() -> None:
    shown = repr(grade([tool_call("get_order", id="#W1")], [tool_call("get_order", id="#W2 (new)")]))
    assert "call.score 0.5" in shown
    assert '  wrong value       id: expected "#W1", got "#W2 (new)"' in shown.splitlines()


@pytest.mark.parametrize(
    "expected, actual, precision, recall",
    [
        ([], [], (0, 0), (0, 0)),
        ([tool_call("f")], [tool_call("f")], (1, 1), (1, 1)),
        ([tool_call("f"), tool_call("g")], [tool_call("F", a=1)], (1, 1), (1, 2)),
        ([tool_call("f")], [tool_call("g"), tool_call("h")], (0, 2), (0, 1)),
        ([tool_call("f")], [tool_call("CommonPlugin-now"), tool_call("f")], (1, 1), (1, 1)),
        ([tool_call("ask_clarification")], [tool_call("ask_clarification")], (0, 0), (0, 0)),
    ],
)
def test_parts_of_pooled_precision_and_recall(
    expected: list[Call], actual: list[Call], precision: tuple[int, int], recall: tuple[int, int]
) -> None:
    pooled = grade(expected, actual, evaluators=["process"]).result.pooled
    assert pooled == {"process.precision": precision, "process.recall": recall}


def test_summary_pools_precision_and_recall_over_the_run() -> None:
    grader = Grader(GradingSettings())
    tally = Tally(grader.metrics)
    three = tuple(tool_call("f", n=number) for number in range(3))
    for case, expected, actual in (("a", three[:1], three[:1]), ("b", three[:1], three[:1]), ("c", three, three[:1]), ("d", (), three[:2])):
        for record in grader.record(Case(case, expected=expected), [Prediction(case, calls=actual)]):
            tally.add(record)
    summary = tally.summary()
    assert summary.metrics["process.recall"].mean == pytest.approx((1 + 1 + 1 / 3 + 0) / 4)
    assert summary.pooled["process.recall"].value == 3 / 5
    assert summary.pooled["process.precision"].value == 3 / 5
