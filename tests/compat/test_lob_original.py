"""`strict_original=True`: the numbers of the original LOB evaluation, and its call sequence."""

import json
from pathlib import Path
from typing import Any

import pandas
import pytest

from callmark.compat.lob import (
    EvaluationService,
    FunctionCallArgsPrecisionEvaluator,
    FunctionCallArgsRecallEvaluator,
    FunctionCallPrecisionEvaluator,
    FunctionCallRecallEvaluator,
    FunctionCallReliabilityEvaluator,
)
from tests.compat.lob_formulas import by_formula, call, generate_calls

EVALUATORS = (
    FunctionCallPrecisionEvaluator,
    FunctionCallRecallEvaluator,
    FunctionCallArgsPrecisionEvaluator,
    FunctionCallArgsRecallEvaluator,
    FunctionCallReliabilityEvaluator,
)


def scores(actual: list[dict[str, Any]], expected: list[dict[str, Any]]) -> list[float]:
    return [
        evaluator(strict_original=True)(actual_function_calls=actual, expected_function_calls=expected).score for evaluator in EVALUATORS
    ]


@pytest.mark.parametrize(
    "actual, expected, found",
    [
        ([call("a", x="1")], [call("a", x="1")], [1, 1, 1, 1, 1]),
        ([], [], [0, 0, 0, 0, 0]),  # a side without calls is 0
        ([call("a")], [], [0, 0, 0, 0, 0]),
        ([call("a")], [call("a")], [1, 1, 1, 1, 1]),  # no arguments on either side
        ([call("a")], [call("a", x="1")], [1, 1, 0, 0, 0.5]),
        ([call("a", x="1")], [call("a")], [1, 1, 0, 1, 1]),  # reliability is the mean of the two recalls
        ([call("a", x="1"), call("a", x="2")], [call("a", x="2")], [1, 1, 1, 1, 1]),  # repeats collapse into the last
        ([call("a", x="2")], [call("a", x="1"), call("a", x="2")], [1, 0.5, 1, 1, 0.75]),
        ([call("A", x="Größe")], [call("a", x="Gre")], [1, 1, 1, 1, 1]),  # letters outside ASCII are removed
        ([call("a", x="server down!")], [call("a", x="Server  down")], [1, 1, 1, 1, 1]),
        ([call("a", x="TKT-7")], [call("a", x="TKT-*")], [1, 1, 0, 0, 0.5]),  # no wildcards
        ([call("a", x="1"), call("b"), call("b")], [call("a", x="1")], [0.33, 1, 1, 1, 1]),
        ([call("a"), call("CommonPlugin-start_over")], [call("a")], [1, 1, 1, 1, 1]),
        ([call("a"), call("CommonPlugin-ask_clarification")], [call("a")], [0.5, 1, 1, 1, 1]),  # not in its ignore list
        ([call("CommonPlugin-start_over", x="1")], [call("CommonPlugin-start_over", x="1")], [1, 1, 0, 0, 0.5]),
    ],
)
def test_numbers_are_those_of_the_original(actual: list[dict[str, Any]], expected: list[dict[str, Any]], found: list[float]) -> None:
    assert scores(actual, expected) == pytest.approx(found)


def test_generated_conversations_have_the_numbers_of_the_formulas() -> None:
    for actual, expected in generate_calls(2000, seed=4):
        assert scores(actual, expected) == pytest.approx(by_formula(actual, expected)), (actual, expected)


def test_call_sequence_of_the_original_runs_with_other_imports(tmp_path: Path) -> None:
    ground_truth = tmp_path / "support_ticket_eval_dataset.json"
    row = {
        "id": "1",
        "description": "Open a ticket",
        "scenarioType": "create_ticket",
        "task_completion_condition": "The user has confirmed the end of the session",
        "instructions": "Open a ticket.",
        "expected_function_calls": [call("Tickets-create", title="Server down")],
    }
    ground_truth.write_text(json.dumps([row, {**row, "id": "2"}]))
    output_path = f"{tmp_path}/output/Support_Ticket_Chatbot_Eval"

    class Target:
        def __call__(self, *, instructions: str, task_completion_condition: str, **others: Any) -> dict[str, Any]:
            return {"function_calls": [call("Tickets-create", title="Server down")], "chat_history": [], "error_message": None}

    mapping = {
        "actual_function_calls": "${target.function_calls}",
        "expected_function_calls": "${data.expected_function_calls}",
        "instructions": "${data.instructions}",
    }
    evaluation_service = EvaluationService(azure_ai_project=None)
    results = evaluation_service.evaluate(
        evaluators={
            "Precision_fn": FunctionCallPrecisionEvaluator(),
            "Recall_fn": FunctionCallRecallEvaluator(),
            "Precision_args": FunctionCallArgsPrecisionEvaluator(),
            "Recall_args": FunctionCallArgsRecallEvaluator(),
            "Reliability": FunctionCallReliabilityEvaluator(),
        },
        evaluators_config={"default": {"column_mapping": mapping}},
        eval_target=Target(),
        ground_truth_data_path=str(ground_truth),
        output_path=output_path,
        experiment_name="Support_Ticket_Chatbot_Eval",
    )
    frame = pandas.DataFrame(results).round(2)
    assert frame["Reliability.score"].tolist() == [1.0]
    assert frame.transpose().shape == (6, 1)
    assert len(results[0]["rows"]) == 2
    assert sorted(path.name for path in Path(output_path).iterdir()) == ["evaluation_metrics.json", "evaluation_results.json"]
    assert json.loads(Path(output_path, "evaluation_results.json").read_text()) == results


def test_project_is_accepted_and_not_used() -> None:
    with pytest.warns(UserWarning, match="azure_ai_project is not used: the results are written to files and not uploaded"):
        EvaluationService(azure_ai_project={"subscription_id": "1", "resource_group_name": "2", "project_name": "3"})


def test_original_finds_one_of_two_calls_of_a_function() -> None:
    repeated = [call("a", x="1"), call("a", x="2")]
    default = FunctionCallRecallEvaluator()(actual_function_calls=repeated[:1], expected_function_calls=repeated).score
    strict = FunctionCallRecallEvaluator(strict_original=True)(actual_function_calls=repeated, expected_function_calls=repeated).score
    assert (default, strict) == (0.5, 0.5)  # the original finds one of two equal names, even if both were called
