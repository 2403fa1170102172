"""DeepFabric's evaluator: the examples of its documentation, its fields and its messages."""

import json
import os
import re
import textwrap
from math import isnan
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.compat.deepfabric import EvaluationMetrics, EvaluationResult, Evaluator, EvaluatorConfig, SampleEvaluation
from callmark.errors import BadInput
from callmark.types import Case, Prediction
from tests.rows import WEATHER, assistant, call, result, row, tool_call, user, write_rows

SEEDS = Path(os.environ.get("CALLMARK_SEEDS", Path(__file__).parents[3] / "shared" / "seeds"))
DOCUMENT = next((text for path in sorted(SEEDS.glob("002_*.txt")) if "DeepFabric" in (text := path.read_text(encoding="utf-8"))), "")
READ_FILE = {"name": "read_file", "parameters": [{"name": "file_path", "type": "str", "required": True}]}
FIELDS = [
    "sample_id",
    "query",
    "available_tools",
    "expected_tool",
    "predicted_tool",
    "expected_parameters",
    "predicted_parameters",
    "expected_answer",
    "predicted_answer",
    "tool_selection_correct",
    "parameters_correct",
    "execution_valid",
    "response_score",
    "error",
]
CONVERSATION = row(
    user("weather in Paris?"),
    assistant(call("get_weather", {"city": "Paris"})),
    result("sunny"),
    user("and Rome?"),
    assistant(call("get_weather", {"city": "Rome"})),
    result("rain"),
    assistant(text="Rain in Rome."),
    tools=[WEATHER],
    id="t",
)


def record(*calls: Any, tools: Any = (WEATHER,), name: str = "r", **more: Any) -> dict[str, Any]:
    """Return an eval record that expects these calls."""
    return {**row(user("go"), tools=list(tools), id=name), "expected_output": {"role": "assistant", "tool_calls": list(calls), **more}}


def evaluated(rows: Any, predictions: Any, **config: Any) -> EvaluationResult:
    return Evaluator(EvaluatorConfig(**config)).evaluate(rows, predictions)


def holds(one: SampleEvaluation) -> tuple[bool, bool, bool]:
    return one.tool_selection_correct, one.parameters_correct, one.execution_valid


def numbers(metrics: EvaluationMetrics) -> tuple[float, ...]:
    return metrics.tool_selection_accuracy, metrics.parameter_accuracy, metrics.execution_success_rate, metrics.overall_score


@pytest.mark.parametrize(
    "predicted, correct, overall",
    [
        ({"file_path": "config.json"}, (True, True, True), 1.0),
        ({"file_path": "another.json"}, (True, True, True), 1.0),
        ({"file_path": 123}, (True, False, False), 0.4),
        ({}, (True, False, False), 0.4),
    ],
)
def test_deepfabric_configuration_parameters(predicted: dict[str, Any], correct: tuple[bool, ...], overall: float) -> None:
    rows = [record(call("read_file", {"file_path": "config.json"}), tools=[READ_FILE])]
    results = evaluated(rows, [[{"name": "read_file", "arguments": predicted}]])
    assert holds(results.predictions[0]) == correct
    assert results.metrics.overall_score == pytest.approx(overall)


@pytest.mark.skipif(not DOCUMENT, reason=f"DeepFabric's metrics page is not in {SEEDS}: set CALLMARK_SEEDS")
def test_code_of_deepfabric_metrics_page_runs_with_only_the_import_changed(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [textwrap.dedent(found[2]) for found in re.finditer(r"^( *)```python[^\n]*\n(.*?)^\1```", DOCUMENT, re.DOTALL | re.MULTILINE)]
    assert len(blocks) == 4
    results = evaluated([CONVERSATION], [[call("get_forecast")], RuntimeError("no connection")])
    scores = {"tool_selection": 0.9, "parameter_accuracy": 0.8, "execution_success": 0.7}
    names: dict[str, Any] = {**scores, "EvaluatorConfig": EvaluatorConfig, "results": results}
    for block in blocks:
        exec(block, names)
    assert names["overall"] == pytest.approx(0.9 * 0.4 + 0.8 * 0.35 + 0.7 * 0.25)
    assert names["config"].metric_weights == {
        "tool_selection": 0.5,
        "parameter_accuracy": 0.3,
        "execution_success": 0.2,
        "response_quality": 0,
    }
    assert capsys.readouterr().out.splitlines()[:4] == [
        "Sample t:1:",
        "  Query: weather in Paris?",
        "  Expected: get_weather",
        "  Predicted: get_forecast",
    ]


@pytest.mark.parametrize(
    "correct, band", [(10, "excellent"), (9, "excellent"), (8, "good"), (6, "fair"), (5, "fair"), (4, "poor"), (0, "poor")]
)
def test_interpretation_is_the_band_of_the_overall_score(correct: int, band: str) -> None:
    rows = [record(call("get_weather", {"city": "Bonn"}), name=str(number)) for number in range(10)]
    results = evaluated(rows, [[call("get_weather", {"city": "Rome"}) if number < correct else call("other")] for number in range(10)])
    assert results.metrics.interpretation.partition(":")[0] == band


def test_interpretation_without_a_processed_sample_is_empty() -> None:
    assert evaluated([CONVERSATION], [RuntimeError("x"), RuntimeError("y")]).metrics.interpretation == ""


def test_deepfabric_evaluation_loop(capsys: pytest.CaptureFixture[str]) -> None:
    results = evaluated([CONVERSATION], [[call("get_forecast")], RuntimeError("no connection")])
    for pred in results.predictions:
        if not pred.tool_selection_correct:
            print(f"Sample {pred.sample_id}:")  # noqa: T201
            print(f"  Query: {pred.query}")  # noqa: T201
            print(f"  Expected: {pred.expected_tool}")  # noqa: T201
            print(f"  Predicted: {pred.predicted_tool}")  # noqa: T201
            if pred.error:
                print(f"  Error: {pred.error}")  # noqa: T201
    assert capsys.readouterr().out.splitlines() == [
        "Sample t:1:",
        "  Query: weather in Paris?",
        "  Expected: get_weather",
        "  Predicted: get_forecast",
        "Sample t:4:",
        "  Query: and Rome?",
        "  Expected: get_weather",
        "  Predicted: None",
        "  Error: RuntimeError: no connection",
    ]


def test_deepfabric_weights_are_applied() -> None:
    config = EvaluatorConfig(
        ...,
        metric_weights={
            "tool_selection": 0.50,
            "parameter_accuracy": 0.30,
            "execution_success": 0.20,
            "response_quality": 0.00,
        },
    )
    results = Evaluator(config).evaluate([CONVERSATION], [[call("get_weather", {"city": 5})], [call("get_weather", {"city": "Oslo"})]])
    assert numbers(results.metrics) == pytest.approx((1.0, 0.5, 0.5, 0.75))


def test_every_field_has_its_name_and_value() -> None:
    spoken = assistant(call("get_weather", {"city": "Oslo"}), text="One moment.")
    one = evaluated([CONVERSATION], [spoken, None]).predictions[0]
    assert {name: getattr(one, name) for name in one.__struct_fields__} == {
        "sample_id": "t:1",
        "query": "weather in Paris?",
        "available_tools": ["get_weather"],
        "expected_tool": "get_weather",
        "predicted_tool": "get_weather",
        "expected_parameters": {"city": "Paris"},
        "predicted_parameters": {"city": "Oslo"},
        "expected_answer": "Rain in Rome.",
        "predicted_answer": "One moment.",
        "tool_selection_correct": True,
        "parameters_correct": True,
        "execution_valid": True,
        "response_score": 0.0,
        "error": None,
    }
    assert list(one.__struct_fields__) == FIELDS


CORRECT_CALL = call("get_weather", {"city": "Paris"})
RIGHT, FAILED = (True, True, True), (False, False, False)


@pytest.mark.parametrize(
    "said, correct",
    [
        ([CORRECT_CALL], RIGHT),
        (CORRECT_CALL, RIGHT),
        ({"name": "get_weather", "arguments": {"city": "x"}}, RIGHT),
        (tool_call("get_weather", city="x"), RIGHT),
        ((tool_call("get_weather", city="x"),), RIGHT),
        (assistant(CORRECT_CALL), RIGHT),
        ({"role": "assistant", "function_call": {"name": "get_weather", "arguments": '{"city": "x"}'}}, RIGHT),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "get_weather", "input": {"city": "x"}}]}, RIGHT),
        (Prediction("r", calls=(tool_call("get_weather", city="x"),)), RIGHT),
        ([CORRECT_CALL, call("no_such_tool")], RIGHT),  # the first call counts
        ([call("no_such_tool"), CORRECT_CALL], RIGHT),
        ([call("get_weather", "{")], (True, False, False)),
        ([call("get_forecast", {"city": "x"})], FAILED),
        ([{"arguments": {}}], FAILED),
        ([5], FAILED),
        ({"role": "assistant", "tool_calls": 5}, FAILED),
        ([], FAILED),
        (None, FAILED),
        (assistant(text="Which city?"), FAILED),
        ({"role": "assistant", "tool_calls": None}, FAILED),
    ],
)
def test_predictions_in_any_shape(said: Any, correct: tuple[bool, ...]) -> None:
    results = evaluated([record(CORRECT_CALL)], [said])
    assert holds(results.predictions[0]) == correct
    assert results.metrics.processing_errors == 0


@pytest.mark.parametrize(
    "error, text",
    [
        (TimeoutError("after 30 s"), "TimeoutError: after 30 s"),
        (KeyError(), "KeyError"),
        ({"error": "503 from the server"}, "503 from the server"),
        ({"error": {"code": 503}}, '{"code":503}'),
        (Prediction("t:4", error="cut off"), "cut off"),
    ],
)
def test_error_is_not_a_failure(error: Any, text: str) -> None:
    first = Prediction("t:1", calls=(tool_call("get_weather", city="x"),)) if isinstance(error, Prediction) else [CORRECT_CALL]
    results = evaluated([CONVERSATION], [first, error])
    assert numbers(results.metrics) == (1, 1, 1, 1)
    counts = results.metrics.samples_evaluated, results.metrics.samples_processed, results.metrics.processing_errors
    assert counts == (2, 1, 1)
    assert results.predictions[1].error == text
    assert holds(results.predictions[1]) == FAILED


def test_metrics_without_processed_samples_are_nan(tmp_path: Path) -> None:
    results = evaluated([record(CORRECT_CALL)], [OSError("down")], output_path=tmp_path / "out.json")
    assert all(isnan(value) for value in numbers(results.metrics))
    assert json.loads((tmp_path / "out.json").read_text())["metrics"]["overall_score"] is None


def test_sample_without_a_prediction_is_an_error() -> None:
    for predictions in ([[CORRECT_CALL]], {"t:1": [CORRECT_CALL]}):
        results = evaluated([CONVERSATION], predictions)
        assert [one.error for one in results.predictions] == [None, "no prediction"]
        assert results.metrics.overall_score == 1


def test_correct_abstention_scores_and_an_unexpected_call_does_not() -> None:
    rows = [record(name="a", content="Which city?"), record(name="b")]
    results = evaluated(rows, [assistant(text="Where?"), [CORRECT_CALL]])
    assert [holds(one) for one in results.predictions] == [RIGHT, FAILED]
    asked = results.predictions[0]
    assert (asked.expected_tool, asked.predicted_tool, asked.expected_answer, asked.predicted_answer) == (
        None,
        None,
        "Which city?",
        "Where?",
    )
    assert results.metrics.overall_score == 0.5


def test_all_expected_calls_must_be_predicted() -> None:
    both = [call("get_weather", {"city": "Paris"}), call("get_weather", {"city": "Rome"})]
    rows = [record(*both, name=str(number)) for number in range(3)]
    results = evaluated(rows, [both[::-1], both[:1], [both[0], call("get_weather", {})]])
    assert [holds(one) for one in results.predictions] == [RIGHT, FAILED, (True, False, False)]


def test_best_alternative_counts() -> None:
    case = Case("c", expected=(tool_call("f", a=1),), alternatives=((tool_call("g", b=2),),))
    one = evaluated([case], [[tool_call("g", b=2)]]).predictions[0]
    assert (one.expected_tool, one.expected_parameters, holds(one)) == ("g", {"b": 2}, RIGHT)


@pytest.mark.parametrize(
    "predictions",
    [
        {"t:4": [CORRECT_CALL], "t:1": None},
        [{"id": "t:4", "tool_calls": [CORRECT_CALL]}, {"id": "t:1", "tool_calls": []}],
        [{"id": "t:4", "prediction": CORRECT_CALL}, {"id": "t:1", "prediction": None}],
        [{"case": "t:4", "calls": [CORRECT_CALL]}, {"case": "t:1", "calls": []}],
        [Prediction("t:4", calls=(tool_call("get_weather", city="x"),)), Prediction("t:1")],
        iter([None, CORRECT_CALL]),
    ],
)
def test_predictions_by_id_and_in_order(predictions: Any) -> None:
    assert [holds(one) for one in evaluated([CONVERSATION], predictions).predictions] == [FAILED, RIGHT]


def test_dataset_may_be_a_file_rows_conversations_or_cases(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "conversations.jsonl", CONVERSATION)
    answers = [[CORRECT_CALL], [call("get_weather", {})]]
    loaded = callmark.load(path)
    for given in (path, str(path), [CONVERSATION], (one for one in [CONVERSATION]), loaded, list(loaded), callmark.expand(loaded)):
        assert evaluated(given, answers).metrics.overall_score == pytest.approx(0.7)
    assert evaluated(None, answers, dataset_path=path).metrics.overall_score == pytest.approx(0.7)


def test_repeated_conversations_are_separate_samples() -> None:
    results = evaluated([CONVERSATION, CONVERSATION], [None, None, [CORRECT_CALL], None])
    assert [one.sample_id for one in results.predictions] == ["t:1", "t:4", "t~2:1", "t~2:4"]
    assert results.metrics.tool_selection_accuracy == 0.25


@pytest.mark.parametrize("predictions", [[[CORRECT_CALL]], [[CORRECT_CALL], None], {"t:1": [CORRECT_CALL], "t:4": None}])
def test_max_samples_limits_the_samples(predictions: Any) -> None:
    results = evaluated([CONVERSATION], predictions, max_samples=1)
    assert [one.sample_id for one in results.predictions] == ["t:1"]
    assert results.metrics.overall_score == 1


def test_model_may_be_a_function() -> None:
    def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
        if len(messages) > 1:
            raise ConnectionError("refused")
        assert (messages, tools) == ([user("weather in Paris?")], [WEATHER])
        return assistant(CORRECT_CALL)

    results = Evaluator(EvaluatorConfig(model=model)).evaluate([CONVERSATION])
    assert [(one.execution_valid, one.error) for one in results.predictions] == [(True, None), (False, "ConnectionError: refused")]


def test_results_are_written_to_the_output_path(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    results = evaluated([CONVERSATION], [[CORRECT_CALL], None], output_path=str(path))
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["metrics"] == {
        "tool_selection_accuracy": 0.5,
        "parameter_accuracy": 0.5,
        "execution_success_rate": 0.5,
        "response_quality": 0.0,
        "overall_score": 0.5,
        "samples_evaluated": 2,
        "samples_processed": 2,
        "processing_errors": 0,
    }
    assert [list(one) for one in written["predictions"]] == [FIELDS, FIELDS]
    assert written["predictions"][1]["predicted_tool"] is None
    assert results.metrics.response_quality == 0
    evaluated([CONVERSATION], [None, None], output_path=str(path), save_predictions=False)
    assert json.loads(path.read_text(encoding="utf-8")) == written


def test_supported_values_of_other_fields_are_accepted() -> None:
    config = EvaluatorConfig(batch_size=8, evaluators=["tool_calling"], reporters={"file": {}}, multi_turn=False, inference_config=None)
    assert Evaluator(config).evaluate([CONVERSATION], [[CORRECT_CALL], [CORRECT_CALL]]).metrics.overall_score == 1


@pytest.mark.parametrize(
    "config, sentence",
    [
        ({"metric_weight": {}}, "EvaluatorConfig has no field 'metric_weight'. Did you mean metric_weights?"),
        ({"metric_weights": {"tool_selecton": 1}}, "weights: unknown metric 'tool_selecton'. Did you mean tool_selection?"),
        ({"metric_weights": {"tool_selection": 0.5}}, "weights: expected a sum of 1, got 0.5"),
        ({"metric_weights": {"tool_selection": -1, "parameter_accuracy": 2}}, "weights: tool_selection: expected at least 0, got -1"),
        ({"metric_weights": {"response_quality": 1}}, "weights: response_quality has a weight, but no function measures it"),
        ({"metric_weights": {"tool_selection": "1"}}, 'metric_weights: tool_selection: expected a number, got "1"'),
        ({"metric_weights": {"tool_selection": float("nan")}}, "metric_weights: tool_selection: expected a number, got null"),
        ({"metric_weights": {"tool_selection": 10**400}}, "expected a number, got 1000"),
        ({"metric_weights": [1]}, "metric_weights: expected a mapping from metrics to numbers, got [1]"),
        ({"model": "gpt-5"}, 'model: expected a function of (messages, tools), got "gpt-5"'),
        ({"inference_config": {"model": "m"}}, "inference_config is not supported: models are not run by name"),
        ({"multi_turn": True}, "multi_turn is not supported: only single decision points are graded"),
        ({"evaluators": ["safety"]}, 'evaluators: expected tool_calling, got ["safety"]'),
        ({"reporters": "cloud"}, 'reporters: expected file, got "cloud"'),
        ({"max_samples": 0}, "max_samples: expected an integer of at least 1, got 0"),
        ({"max_samples": "5"}, 'max_samples: expected an integer of at least 1, got "5"'),
    ],
)
def test_invalid_config_is_rejected(config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        EvaluatorConfig(**config)
    assert sentence in str(caught.value)


def test_model_name_is_rejected_with_a_hint() -> None:
    with pytest.raises(BadInput) as caught:
        EvaluatorConfig(model="gpt-5")
    assert "predictions, or a function" in caught.value.hint


def test_positional_arguments_are_rejected() -> None:
    with pytest.raises(BadInput, match="keyword arguments only"):
        EvaluatorConfig("valid.jsonl")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rows, predictions, sentence",
    [
        (None, [], "the dataset is missing"),
        ([], [], "the dataset has no samples"),
        ([row(user("hi"), assistant(text="hello"))], [], "its conversations have no tool calls"),
        ("nowhere.jsonl", [], "nowhere.jsonl: no such file"),
        (CONVERSATION, [], "dataset: expected a path or a list of rows, got dict"),
        (5, [], "dataset: expected a path or a list of rows, got int"),
        ([CONVERSATION, "x"], [], "the dataset, item 2: expected an object with messages, got str"),
        (
            [{"prompt": "x"}],
            [],
            "the dataset, item 1: unknown format: expected the key messages, conversations or expected_function_calls, got the key prompt",
        ),
        ([row({"role": 5})], [], "the dataset, item 1: messages[0].role: expected a string, got a number"),
        ([record(CORRECT_CALL), CONVERSATION], [], "the dataset, item 2: t has no expected_output"),
        (
            [CONVERSATION, record(CORRECT_CALL)],
            [],
            "the dataset, item 2: expected a conversation to cut into decision points, got the decision point 'r'",
        ),
        ([Case("s", instructions="Ask.", expected=())], [], "s is a scenario"),
        ([CONVERSATION], None, "the predictions are missing"),
        ([CONVERSATION], "calls", "predictions: expected a list or a mapping by ID, got str"),
        ([CONVERSATION], 5, "predictions: expected a list or a mapping by ID, got int"),
        ([CONVERSATION], [None, None, None], "expected 2 predictions, one per sample, got 3"),
        ([CONVERSATION], ["text", None], "predictions[0]: expected a list of calls, a message, None or an error, got str"),
        ([CONVERSATION], {"t:1": None, "t:5": None}, "prediction for unknown sample 't:5'. Did you mean t:"),
        ([CONVERSATION], [{"id": "t:1", "calls": []}] * 2, "predictions[1] is a second prediction for 't:1'"),
        ([CONVERSATION], [{"id": "t:1", "calls": []}, None], "predictions[1] has no ID, but others do"),
        ([record(CORRECT_CALL)] * 2, {"r": None}, "two samples have the same ID"),
    ],
)
def test_invalid_input_is_rejected(rows: Any, predictions: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        evaluated(rows, predictions)
    assert sentence in str(caught.value)


def test_invalid_model_output_is_rejected() -> None:
    with pytest.raises(BadInput, match="^model output for t:1: expected a list of calls, a message, None or an error, got str$"):
        Evaluator(EvaluatorConfig(model=lambda messages, tools: "text")).evaluate([CONVERSATION])


def test_odd_values_are_evaluated_and_written(tmp_path: Path) -> None:
    odd = Case("\ud800", expected=(tool_call("f", a="\ud800"),))
    said = assistant({"name": "f", "arguments": {"a": float("nan")}}, text="\ud800")
    results = evaluated([odd, Case("b")], [said, OSError("\ud800")], output_path=tmp_path / "out.json")
    assert [holds(one) for one in results.predictions] == [(True, False, False), FAILED]
    written = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [(one["sample_id"], one["error"]) for one in written["predictions"]] == [("\ud800", None), ("b", r"OSError: \ud800")]
