"""Document 002's evaluator: its own examples, and what docs/metrics.md, sections 7, 10 and 15, say of it."""

import json
from math import isnan
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.compat.deepfabric import EvaluationMetrics, EvaluationResult, Evaluator, EvaluatorConfig, SampleEvaluation
from callmark.errors import BadInput
from callmark.types import Case, Prediction
from tests.rows import WEATHER, assistant, call, result, row, tool_call, user, write_rows

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
TALK = row(
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
    """An eval record that expects these calls."""
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


def test_deepfabric_evaluation_loop(capsys: pytest.CaptureFixture[str]) -> None:
    results = evaluated([TALK], [[call("get_forecast")], RuntimeError("no connection")])
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
    results = Evaluator(config).evaluate([TALK], [[call("get_weather", {"city": 5})], [call("get_weather", {"city": "Oslo"})]])
    assert numbers(results.metrics) == pytest.approx((1.0, 0.5, 0.5, 0.75))


def test_every_field_has_its_name_and_value() -> None:
    spoken = assistant(call("get_weather", {"city": "Oslo"}), text="One moment.")
    one = evaluated([TALK], [spoken, None]).predictions[0]
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


WANTED = call("get_weather", {"city": "Paris"})
RIGHT, FAILED = (True, True, True), (False, False, False)


@pytest.mark.parametrize(
    "said, correct",
    [
        ([WANTED], RIGHT),
        (WANTED, RIGHT),
        ({"name": "get_weather", "arguments": {"city": "x"}}, RIGHT),
        (tool_call("get_weather", city="x"), RIGHT),
        ((tool_call("get_weather", city="x"),), RIGHT),
        (assistant(WANTED), RIGHT),
        ({"role": "assistant", "function_call": {"name": "get_weather", "arguments": '{"city": "x"}'}}, RIGHT),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "get_weather", "input": {"city": "x"}}]}, RIGHT),
        (Prediction("r", calls=(tool_call("get_weather", city="x"),)), RIGHT),
        ([WANTED, call("no_such_tool")], RIGHT),  # the first call counts
        ([call("no_such_tool"), WANTED], FAILED),
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
    results = evaluated([record(WANTED)], [said])
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
    first = Prediction("t:1", calls=(tool_call("get_weather", city="x"),)) if isinstance(error, Prediction) else [WANTED]
    results = evaluated([TALK], [first, error])
    assert numbers(results.metrics) == (1, 1, 1, 1)
    counts = results.metrics.samples_evaluated, results.metrics.samples_processed, results.metrics.processing_errors
    assert counts == (2, 1, 1)
    assert results.predictions[1].error == text
    assert holds(results.predictions[1]) == FAILED


def test_without_processed_samples_there_is_no_mean(tmp_path: Path) -> None:
    results = evaluated([record(WANTED)], [OSError("down")], output_path=tmp_path / "out.json")
    assert all(isnan(value) for value in numbers(results.metrics))
    assert json.loads((tmp_path / "out.json").read_text())["metrics"]["overall_score"] is None


def test_sample_without_a_prediction_is_an_error() -> None:
    for predictions in ([[WANTED]], {"t:1": [WANTED]}):
        results = evaluated([TALK], predictions)
        assert [one.error for one in results.predictions] == [None, "no prediction"]
        assert results.metrics.overall_score == 1


def test_correct_abstention_scores_and_a_call_instead_does_not() -> None:
    rows = [record(name="a", content="Which city?"), record(name="b")]
    results = evaluated(rows, [assistant(text="Where?"), [WANTED]])
    assert [holds(one) for one in results.predictions] == [RIGHT, FAILED]
    asked = results.predictions[0]
    assert (asked.expected_tool, asked.predicted_tool, asked.expected_answer, asked.predicted_answer) == (
        None,
        None,
        "Which city?",
        "Where?",
    )
    assert results.metrics.overall_score == 0.5


def test_several_expected_calls_must_all_be_made() -> None:
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
        {"t:4": [WANTED], "t:1": None},
        [{"id": "t:4", "tool_calls": [WANTED]}, {"id": "t:1", "tool_calls": []}],
        [{"id": "t:4", "prediction": WANTED}, {"id": "t:1", "prediction": None}],
        [{"case": "t:4", "calls": [WANTED]}, {"case": "t:1", "calls": []}],
        [Prediction("t:4", calls=(tool_call("get_weather", city="x"),)), Prediction("t:1")],
        iter([None, WANTED]),
    ],
)
def test_predictions_by_id_and_in_order(predictions: Any) -> None:
    assert [holds(one) for one in evaluated([TALK], predictions).predictions] == [FAILED, RIGHT]


def test_dataset_may_be_a_file_rows_conversations_or_cases(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "talks.jsonl", TALK)
    answers = [[WANTED], [call("get_weather", {})]]
    loaded = callmark.load(path)
    for given in (path, str(path), [TALK], (one for one in [TALK]), loaded, list(loaded), callmark.expand(loaded)):
        assert evaluated(given, answers).metrics.overall_score == pytest.approx(0.7)
    assert evaluated(None, answers, dataset_path=path).metrics.overall_score == pytest.approx(0.7)


def test_repeated_conversations_are_separate_samples() -> None:
    results = evaluated([TALK, TALK], [None, None, [WANTED], None])
    assert [one.sample_id for one in results.predictions] == ["t:1", "t:4", "t~2:1", "t~2:4"]
    assert results.metrics.tool_selection_accuracy == 0.25


@pytest.mark.parametrize("predictions", [[[WANTED]], [[WANTED], None], {"t:1": [WANTED], "t:4": None}])
def test_max_samples_limits_the_samples(predictions: Any) -> None:
    results = evaluated([TALK], predictions, max_samples=1)
    assert [one.sample_id for one in results.predictions] == ["t:1"]
    assert results.metrics.overall_score == 1


def test_model_may_be_a_function() -> None:
    def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
        if len(messages) > 1:
            raise ConnectionError("refused")
        assert (messages, tools) == ([user("weather in Paris?")], [WEATHER])
        return assistant(WANTED)

    results = Evaluator(EvaluatorConfig(model=model)).evaluate([TALK])
    assert [(one.execution_valid, one.error) for one in results.predictions] == [(True, None), (False, "ConnectionError: refused")]


def test_results_are_written_to_the_output_path(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    results = evaluated([TALK], [[WANTED], None], output_path=str(path))
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
    evaluated([TALK], [None, None], output_path=str(path), save_predictions=False)
    assert json.loads(path.read_text(encoding="utf-8")) == written


def test_supported_values_of_other_fields_are_accepted() -> None:
    config = EvaluatorConfig(batch_size=8, evaluators=["tool_calling"], reporters={"file": {}}, multi_turn=False, inference_config=None)
    assert Evaluator(config).evaluate([TALK], [[WANTED], [WANTED]]).metrics.overall_score == 1


@pytest.mark.parametrize(
    "config, sentence",
    [
        ({"metric_weight": {}}, "EvaluatorConfig has no field 'metric_weight'. Did you mean metric_weights?"),
        ({"metric_weights": {"tool_selecton": 1}}, "there is no metric called 'tool_selecton' to weigh. Did you mean tool_selection?"),
        ({"metric_weights": {"tool_selection": 0.5}}, "the weights add up to 0.5, 1 was expected"),
        ({"metric_weights": {"tool_selection": -1, "parameter_accuracy": 2}}, "the weight of tool_selection is -1"),
        ({"metric_weights": {"response_quality": 1}}, "there is no function that measures it"),
        ({"metric_weights": {"tool_selection": "1"}}, 'the weight of tool_selection is "1", a number was expected'),
        ({"metric_weights": {"tool_selection": float("nan")}}, "the weight of tool_selection is null, a number was expected"),
        ({"metric_weights": {"tool_selection": 10**400}}, "a number was expected"),
        ({"metric_weights": [1]}, "metric_weights is [1], a weight for each metric was expected"),
        ({"model": "gpt-5"}, 'model is "gpt-5", a function of (messages, tools) was expected'),
        ({"inference_config": {"model": "m"}}, "inference_config names a model to run"),
        ({"multi_turn": True}, "multi_turn plays whole conversations"),
        ({"evaluators": ["safety"]}, 'evaluators is ["safety"], here it can only be tool_calling'),
        ({"reporters": "cloud"}, 'reporters is "cloud", here it can only be file'),
        ({"max_samples": 0}, "max_samples is 0, a whole number of at least 1 was expected"),
        ({"max_samples": "5"}, 'max_samples is "5", a whole number'),
    ],
)
def test_unusable_config_is_refused(config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        EvaluatorConfig(**config)
    assert sentence in str(refused.value)


def test_model_name_is_refused_with_a_hint() -> None:
    with pytest.raises(BadInput) as refused:
        EvaluatorConfig(model="gpt-5")
    assert "predictions, or a function" in refused.value.hint


def test_positional_fields_are_refused() -> None:
    with pytest.raises(BadInput, match="given by name"):
        EvaluatorConfig("valid.jsonl")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rows, predictions, sentence",
    [
        (None, [], "there is no dataset"),
        ([], [], "the dataset has no sample"),
        ([row(user("hi"), assistant(text="hello"))], [], "no call in its conversations"),
        ("nowhere.jsonl", [], "there is no file nowhere.jsonl"),
        (TALK, [], "the dataset is of type dict, a path or a list of rows was expected"),
        (5, [], "the dataset is of type int"),
        ([TALK, "x"], [], "the dataset, item 2: the row is of type str, an object with messages was expected"),
        ([{"prompt": "x"}], [], "the dataset, item 1: no format recognises the row: its keys are prompt"),
        ([row({"role": 5})], [], "the dataset, item 1: messages[0].role is a number, text was expected"),
        ([record(WANTED), TALK], [], "the dataset, item 2: t has no expected_output"),
        ([TALK, record(WANTED)], [], "the dataset, item 2: r is a decision point already"),
        ([Case("s", instructions="Ask.", expected=())], [], "s is a scenario"),
        ([TALK], None, "there is nothing to grade"),
        ([TALK], "calls", "predictions are of type str, a list or a mapping by id was expected"),
        ([TALK], 5, "predictions are of type int"),
        ([TALK], [None, None, None], "there are 3 predictions for 2 samples"),
        ([TALK], ["text", None], "predictions[0] is of type str, a list of calls, a message, None or an error was expected"),
        ([TALK], {"t:1": None, "t:5": None}, "there is a prediction for 't:5', but no such sample. Did you mean t:"),
        ([TALK], [{"id": "t:1", "calls": []}] * 2, "predictions[1] is a second prediction for 't:1'"),
        ([TALK], [{"id": "t:1", "calls": []}, None], "predictions[1] has no id, as others have"),
        ([record(WANTED)] * 2, {"r": None}, "two samples have the same id"),
    ],
)
def test_unusable_input_is_refused(rows: Any, predictions: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        evaluated(rows, predictions)
    assert sentence in str(refused.value)


def test_unusable_model_output_is_refused() -> None:
    with pytest.raises(BadInput, match="what the model gave for t:1 is of type str"):
        Evaluator(EvaluatorConfig(model=lambda messages, tools: "text")).evaluate([TALK])


def test_odd_values_are_evaluated_and_written(tmp_path: Path) -> None:
    odd = Case("\ud800", expected=(tool_call("f", a="\ud800"),))
    said = assistant({"name": "f", "arguments": {"a": float("nan")}}, text="\ud800")
    results = evaluated([odd, Case("b")], [said, OSError("\ud800")], output_path=tmp_path / "out.json")
    assert [holds(one) for one in results.predictions] == [(True, False, False), FAILED]
    written = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [(one["sample_id"], one["error"]) for one in written["predictions"]] == [("\ud800", None), ("b", r"OSError: \ud800")]
