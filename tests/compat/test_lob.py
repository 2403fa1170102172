"""The API of the LOB evaluation: the five evaluators, custom evaluators, the service and its two files."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from callmark.calls.shapes import read_call
from callmark.compat.lob import (
    EvaluationService,
    Evaluator,
    EvaluatorResult,
    FunctionCallArgsPrecisionEvaluator,
    FunctionCallArgsRecallEvaluator,
    FunctionCallPrecisionEvaluator,
    FunctionCallRecallEvaluator,
    FunctionCallReliabilityEvaluator,
)
from callmark.errors import BadInput
from callmark.formats.evaluation_results import metrics_json, result_lines, result_row
from callmark.grading.evaluators.process import ProcessEvaluator
from callmark.types import Call, Case, Message, Prediction
from tests.rows import WEATHER, call, row, tool_call, user, write_rows

FIVE = (
    FunctionCallPrecisionEvaluator,
    FunctionCallRecallEvaluator,
    FunctionCallArgsPrecisionEvaluator,
    FunctionCallArgsRecallEvaluator,
    FunctionCallReliabilityEvaluator,
)
NAMES = ["Precision_fn.score", "Recall_fn.score", "Precision_args.score", "Recall_args.score", "Reliability.score"]

TICKET: dict[str, Any] = {  # from the LOB evaluation
    "functionName": "TicketManagementPlugin-create_support_ticket",
    "arguments": {
        "title": "Server performance degradation",
        "department_code": "IT",
        "priority": "Critical",
        "workflow_type": "Expedited",
        "description": "Main application server is experiencing significant performance degradation",
        "expected_outcome": "Server performance restored to normal levels",
    },
}
ACTION: dict[str, Any] = {
    "functionName": "ActionItemPlugin-create_action_item",
    "arguments": {
        "ticket_id": "TKT-*",
        "title": "Increase server memory allocation",
        "assigned_to": "John Smith",
        "description": "Allocate additional memory resources to the main application server",
        "due_date": "2025-05-10",
    },
}
SCENARIO: dict[str, Any] = {
    "id": "conversation_id",
    "description": "Description of the conversation scenario",
    "scenarioType": "create_ticket_and_action_item",
    "task_completion_condition": "The user has confirmed the end of the session",
    "instructions": "Instructions for the simulated user",
    "expected_function_calls": [TICKET, ACTION],
}
ASKED = {"functionName": "CommonPlugin-ask_clarification", "arguments": {"question": "Which server?"}}


def but(one: Mapping[str, Any], **arguments: Any) -> dict[str, Any]:
    """Return the call with some arguments changed; None removes one."""
    changed = {**one["arguments"], **arguments}
    return {**one, "arguments": {key: value for key, value in changed.items() if value is not None}}


DONE = but(ACTION, ticket_id="tkt-0042")


def five(actual: Any, expected: Any, **options: Any) -> list[float]:
    return [evaluator(**options)(actual_function_calls=actual, expected_function_calls=expected).score for evaluator in FIVE]


@pytest.mark.parametrize(
    "actual, scores",
    [
        ([TICKET, DONE], [1, 1, 1, 1, 1]),
        ([DONE, TICKET], [1, 1, 1, 1, 1]),
        ([TICKET, but(ACTION, ticket_id="INC-1")], [1, 1, 10 / 11, 10 / 11, 0]),
        ([TICKET, but(DONE, due_date=None)], [1, 1, 1, 10 / 11, 0]),
        ([TICKET, {**DONE, "arguments": {**DONE["arguments"], "note": "now"}}], [1, 1, 11 / 12, 1, 0]),
        ([{**TICKET, "functionName": TICKET["functionName"].upper()}, DONE], [1, 1, 1, 1, 1]),
        ([TICKET], [1, 1 / 2, 1, 1, 0]),
        ([TICKET, TICKET, DONE], [2 / 3, 1, 1, 1, 0]),
        ([TICKET, ASKED, DONE], [1, 1, 1, 1, 1]),
        ([TICKET, DONE, {"functionName": DONE["functionName"], "arguments": '{"ticket_id": '}], [2 / 3, 1, 1, 1, 0]),
        ([call(TICKET["functionName"], TICKET["arguments"]), {"name": DONE["functionName"], "input": DONE["arguments"]}], [1, 1, 1, 1, 1]),
        ([ASKED], [0, 0, 0, 0, 0]),
        ([], [0, 0, 0, 0, 0]),
        (None, [0, 0, 0, 0, 0]),
    ],
)
def test_scores_of_the_lob_example_scenario(actual: Any, scores: list[float]) -> None:
    expected = SCENARIO["expected_function_calls"]
    assert five(actual, expected) == pytest.approx(scores)
    assert five(json.dumps(actual), json.dumps(expected)) == pytest.approx(scores), "JSON text in a column gives the same scores"


@pytest.mark.parametrize(
    "actual, expected, scores",
    [
        ([TICKET], [TICKET, TICKET], [1, 1 / 2, 1, 1, 0]),
        ([], [], [1, 1, 1, 1, 1]),
        ("", " ", [1, 1, 1, 1, 1]),
        ([ASKED], [], [1, 1, 1, 1, 1]),
        ("no JSON", [TICKET], [0, 0, 0, 0, 0]),
        ("no JSON", [], [0, 0, 0, 0, 0]),
        (7, [TICKET], [0, 0, 0, 0, 0]),
        ('[{"name": "f", "arguments": {"n": NaN}}, {"name": "g"}]', [{"name": "g"}], [1 / 2, 1, 1, 1, 0]),
        ('[{"name": "f", "arguments": {"t": "\\ud800"}}, {"name": "g"}]', [{"name": "g"}], [1 / 2, 1, 1, 1, 0]),
        ("[" * 5000, [TICKET], [0, 0, 0, 0, 0]),
        ({"name": "g"}, {"name": "g"}, [1, 1, 1, 1, 1]),
    ],
)
def test_columns_of_any_shape(actual: Any, expected: Any, scores: list[float]) -> None:
    assert five(actual, expected) == scores


def test_ignore_averaging_and_tools_are_options() -> None:
    weather = {"name": "get_weather", "arguments": {"city": "Bonn"}}
    asked = {"name": "get_weather", "arguments": {"city": "Bonn", "unit": "celsius"}}
    assert five([TICKET, ASKED], [TICKET], ignore=()) == [1 / 2, 1, 1, 1, 0]
    assert five([TICKET, DONE], [TICKET], ignore="actionitemPlugin-create_action_item") == [1, 1, 1, 1, 1]
    assert five([{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {"b": 1, "c": 2, "d": 3}}], [
        {"name": "f", "arguments": {"a": 2}}, {"name": "g", "arguments": {"b": 1, "c": 2, "d": 3}}
    ], averaging="macro")[2] == 1 / 2  # fmt: skip
    assert five([asked], [weather])[2] == 1 / 2
    assert five([asked], [weather], tools=[WEATHER])[2] == 1
    precision = FunctionCallArgsPrecisionEvaluator()
    assert precision(actual_function_calls=[asked], expected_function_calls=[weather], tools=[WEATHER]).score == 1
    assert precision(actual_function_calls=[asked], expected_function_calls=[weather], tools=float("nan")).score == 1 / 2
    with pytest.raises(BadInput, match="averaging: expected micro or macro, got 'marco'. Did you mean macro"):
        FunctionCallPrecisionEvaluator(averaging="marco")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"expected_function_calls": "TKT"}, "expected_function_calls is not valid JSON: expected a list of calls, got 'TKT'"),
        ({"expected_function_calls": 5}, "expected_function_calls: expected a list of calls, got 5"),
        ({"expected_function_calls": float("nan")}, "expected_function_calls is missing"),
        ({"expected_function_calls": [{"name": "f", "arguments": {"a": {"$glop": "x"}}}]}, "f: .*glop"),
        ({"actual_function_calls": float("nan")}, "actual_function_calls is missing"),
        ({"error_message": "TimeoutError: 30 s"}, "no prediction to score: TimeoutError: 30 s"),
    ],
)
def test_invalid_columns_are_rejected(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        FunctionCallPrecisionEvaluator()(**{"actual_function_calls": [], "expected_function_calls": [], **columns})


def test_unmapped_column_is_missing() -> None:
    with pytest.raises(BadInput, match="actual_function_calls is missing"):
        FunctionCallPrecisionEvaluator()(expected_function_calls=[])


def test_result_has_a_score_attribute_and_key() -> None:
    result = EvaluatorResult(score=0.5)
    assert result.score == 0.5
    assert isinstance(result, Mapping)
    assert dict(result) == {"score": 0.5}
    assert result == EvaluatorResult(0.5)


class CustomEvaluator(Evaluator):
    """The custom evaluator from the documentation of the LOB evaluation."""

    def __call__(self, *, actual_function_calls, expected_function_calls, **kwargs):  # type: ignore[no-untyped-def]
        score = self.evaluate(actual_function_calls, expected_function_calls)  # type: ignore[no-untyped-call]
        return EvaluatorResult(score=score)

    def evaluate(self, actual_function_calls, expected_function_calls):  # type: ignore[no-untyped-def]
        return float(len(actual_function_calls) == len(expected_function_calls))


class OnlyEvaluate(Evaluator):
    def evaluate(self, actual_function_calls: Any, expected_function_calls: Any) -> float:
        return 0.25


# The service


def evaluate(tmp_path: Path, target: Any, evaluators: Any = None, rows: Any = (SCENARIO,), **more: Any) -> Any:
    truth = write_rows(tmp_path / "truth.jsonl", *rows)
    used = [one() for one in FIVE] if evaluators is None else evaluators
    return EvaluationService().evaluate(truth, tmp_path / "output", target, used, **more)


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def another(name: str, **more: Any) -> dict[str, Any]:
    return {**SCENARIO, "id": name, **more}


def right(**row: Any) -> dict[str, Any]:
    return {"function_calls": [TICKET, DONE], "chat_history": [{"role": "user", "content": row["instructions"]}]}


def test_layout_of_both_result_files(tmp_path: Path) -> None:
    found = evaluate(tmp_path, right, experiment_name="first")
    results, metrics = (read(tmp_path / "output" / f"evaluation_{name}.json") for name in ("results", "metrics"))
    assert metrics == [dict.fromkeys(NAMES, 1.0)]
    assert [list(part) for part in results] == [[*NAMES, "rows"]]
    assert results[0]["rows"] == found.rows == [
        {
            "inputs.id": "conversation_id",
            "inputs.description": SCENARIO["description"],
            "inputs.scenarioType": SCENARIO["scenarioType"],
            "inputs.instructions": SCENARIO["instructions"],
            "inputs.task_completion_condition": SCENARIO["task_completion_condition"],
            "inputs.expected_function_calls": [TICKET, ACTION],
            "outputs.function_calls": [TICKET, DONE],
            "outputs.chat_history": [{"role": "user", "content": SCENARIO["instructions"]}],
            "outputs.error_message": None,
            **{f"outputs.{name}": 1.0 for name in NAMES},
        }
    ]  # fmt: skip
    assert (found.metrics, found.scored, found.errors) == (metrics[0], 1, 0)
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(
        ["truth.jsonl", "output", "evaluation_results.json", "evaluation_metrics.json"]
    )


def test_scores_equal_those_of_the_evaluator(tmp_path: Path) -> None:
    """The service passes everything that `process` uses to the evaluators, including the tools of a row."""
    asked = {"name": "get_weather", "arguments": {"city": "bonn!", "unit": "celsius"}}
    scenario = another("w", expected_function_calls=[{"functionName": "get_weather", "arguments": {"city": "Bonn"}}], tools=[WEATHER])
    found = evaluate(tmp_path, lambda **row: [asked], rows=[scenario])
    assert list(found.metrics.values()) == [1.0] * len(ProcessEvaluator.metrics)


def test_json_array_of_scenarios_without_an_experiment_name(tmp_path: Path) -> None:
    truth = tmp_path / "truth.json"
    truth.write_text(json.dumps([SCENARIO, another("2")], indent=2))
    named = {"P": FunctionCallPrecisionEvaluator()}
    made = {"conversation_id": [ASKED, ACTION, ACTION], "2": [TICKET]}
    found = EvaluationService().evaluate(str(truth), str(tmp_path / "out"), lambda **row: made[row["id"]], named)
    assert read(tmp_path / "out" / "evaluation_metrics.json") == [{"P.score": 0.75}] == [found.metrics]
    assert [line["outputs.P.score"] for line in found.rows] == [0.5, 1.0]


@pytest.mark.parametrize("inside_a_loop", [False, True])
def test_async_target_keeps_its_event_loop(tmp_path: Path, inside_a_loop: bool) -> None:
    loops = set()

    class Target:
        async def __call__(self, instructions: str, task_completion_condition: str, temperature: float = 0.0) -> dict[str, Any]:
            await asyncio.sleep(0)
            loops.add(id(asyncio.get_running_loop()))
            assert (instructions, temperature) == (SCENARIO["instructions"], 0.0)
            return {"function_calls": [TICKET, DONE]}

    async def notebook() -> Any:
        return evaluate(tmp_path, Target(), rows=[SCENARIO, SCENARIO])

    found = asyncio.run(notebook()) if inside_a_loop else evaluate(tmp_path, Target(), rows=[SCENARIO, SCENARIO])
    assert found.metrics["Reliability.score"] == 1.0
    assert len(loops) == 1


async def cancelled() -> None:
    raise asyncio.CancelledError("given up")


@pytest.mark.parametrize(
    "answer, message",
    [
        (ConnectionError("refused"), "ConnectionError: refused"),
        (BadInput("no such file"), "BadInput: no such file"),
        (UnicodeError("\ud800"), "UnicodeError: \\ud800"),
        ({"function_calls": [TICKET], "chat_history": [], "error_message": "timed out"}, "timed out"),
        ({"error_message": {"code": 500}}, '{"code":500}'),
        ({"functioncalls": []}, "eval_target returned no function_calls, only functioncalls"),
        ({"function_calls": float("nan")}, "eval_target returned NaN as function_calls"),
        ({}, "eval_target returned an empty object"),
        (None, "eval_target: expected an object with function_calls, got null"),
        (cancelled, "CancelledError: given up"),
    ],
)
def test_error_is_recorded_and_excluded_from_means(tmp_path: Path, answer: Any, message: str) -> None:
    def target(description: str) -> Any:
        if description != "bad":
            return [TICKET]
        if isinstance(answer, Exception):
            raise answer
        return answer() if answer is cancelled else answer

    found = evaluate(tmp_path, target, rows=[SCENARIO, another("2", description="bad")])
    assert found.metrics["Recall_fn.score"] == 0.5
    assert (found.scored, found.errors) == (1, 1)
    good, bad = read(tmp_path / "output" / "evaluation_results.json")[0]["rows"]
    assert good["outputs.error_message"] is None
    assert bad["outputs.error_message"] == message
    assert [bad[f"outputs.{name}"] for name in NAMES] == [None] * 5


def test_means_of_nothing_but_errors_are_null(tmp_path: Path) -> None:
    found = evaluate(tmp_path, lambda description: 1 / 0, rows=[SCENARIO, SCENARIO])
    assert read(tmp_path / "output" / "evaluation_metrics.json") == [dict.fromkeys(NAMES)]
    assert (found.scored, found.errors) == (0, 2)


def test_custom_evaluators(tmp_path: Path) -> None:
    def talkative(chat_history: list[Any]) -> dict[str, Any]:
        return {"score": len(chat_history), "reason": "counted"}

    async def later(**columns: Any) -> bool:
        return bool(columns["scenarioType"] == "create_ticket_and_action_item")

    found = evaluate(tmp_path, right, [CustomEvaluator(), OnlyEvaluate(), talkative, later, FunctionCallRecallEvaluator()])
    assert found.metrics == {
        "CustomEvaluator.score": 1.0,
        "OnlyEvaluate.score": 0.25,
        "talkative.score": 1.0,
        "later.score": 1.0,
        "Recall_fn.score": 1.0,
    }
    assert found.rows[0]["outputs.talkative.reason"] == "counted"


def test_non_numbers_are_excluded_from_means(tmp_path: Path) -> None:
    scores = iter([1.0, float("nan"), None, float("inf"), 10**400, True])
    found = evaluate(tmp_path, right, {"Odd": lambda **columns: {"score": next(scores)}}, rows=[SCENARIO] * 6)
    assert found.metrics == {"Odd.score": 1.0}
    assert [line["outputs.Odd.score"] for line in found.rows[:4]] == [1.0, None, None, None]


def test_columns_can_be_mapped(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def watch(**columns: Any) -> float:
        seen.update(columns)
        return 0.0

    scenario = another("m", customer={"name": "Ada"}, gold=[TICKET])
    found = evaluate(
        tmp_path,
        lambda **row: {"function_calls": [DONE], "second": {"calls": [TICKET]}},
        {"Recall_fn": FunctionCallRecallEvaluator(), "Reliability": FunctionCallReliabilityEvaluator(), "watch": watch},
        rows=[SCENARIO, scenario],
        evaluators_config={
            "Recall_fn": {"column_mapping": {"actual_function_calls": "${target.second.calls}"}},
            "watch": {"column_mapping": {"who": "${data.customer.name}", "made": "${outputs.function_calls}"}, "_evaluator_id": "1"},
            "default": {"column_mapping": {"actual_function_calls": "${target.second.calls}", "expected_function_calls": "${data.gold}"}},
        },
    )
    assert [line["outputs.Recall_fn.score"] for line in found.rows] == [0.5, 0.5]
    assert [line["outputs.Reliability.score"] for line in found.rows] == [0.0, 1.0], "the first row has no gold calls, so none are expected"
    assert (seen["who"], seen["made"], seen["actual_function_calls"]) == ("Ada", [DONE], [DONE])


@pytest.mark.parametrize(
    "config, message",
    [
        ({"Precision": {}}, "evaluators_config: unknown evaluator 'Precision'. Did you mean Precision_fn?"),
        ({"Precision_fn": []}, r"evaluators_config: Precision_fn: expected an object with column_mapping, got \[\]"),
        ({"Precision_fn": {"columns": {}}}, "evaluators_config: Precision_fn: unknown key 'columns'; expected column_mapping"),
        ({"default": {"column_mapping": ["a"]}}, r'default: column_mapping: expected an object, got \["a"\]'),
        (
            {"default": {"column_mapping": {"actual_function_calls": "function_calls"}}},
            "default: actual_function_calls: expected a column, got 'function_calls'",
        ),
        (
            {"default": {"column_mapping": {"expected_function_calls": "${data.expected_function_call}"}}},
            "no row has 'expected_function_call'. Did you mean expected_function_calls?",
        ),
        (
            {"Precision_fn": {"column_mapping": {"actual_function_calls": "${target.function_cals}"}}},
            "truth.jsonl, line 1: evaluators_config: Precision_fn: actual_function_calls: the target returned no 'function_cals'. "
            "Did you mean function_calls?",
        ),
        ([], r"evaluators_config: expected an object by evaluator, got \[\]"),
    ],
)
def test_invalid_mapping_is_rejected(tmp_path: Path, config: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message.replace("?", r"\?")):
        evaluate(tmp_path, right, evaluators_config=config)
    assert not list(tmp_path.rglob("evaluation_*"))


def fails(**columns: Any) -> float:
    raise LookupError("no such column")


@pytest.mark.parametrize(
    "evaluators, message",
    [
        ({"Mine": fails}, "truth.jsonl, line 1: evaluator Mine raised LookupError: no such column"),
        ({"Mine": lambda temperature: 1.0}, "line 1: evaluator Mine raised TypeError: .*temperature"),
        ({"Mine": lambda **columns: "good"}, 'line 1: evaluator Mine: expected a score, got "good"'),
        ({"Mine": FunctionCallPrecisionEvaluator}, "evaluator Mine: expected an instance, .* got the class FunctionCallPrecisionEvaluator"),
        ({"Mine": 5}, "evaluator Mine: expected a function or an Evaluator, got 5"),
        ([FunctionCallRecallEvaluator(), FunctionCallRecallEvaluator()], "two evaluators are named Recall_fn"),
        ([], "evaluators: expected at least one, got none"),
        (FunctionCallRecallEvaluator(), "evaluators: expected a list or a mapping from names, got FunctionCallRecallEvaluator"),
        ([Evaluator()], "evaluator Evaluator raised NotImplementedError: Evaluator does not define evaluate"),
    ],
)
def test_invalid_evaluator_is_rejected_by_name(tmp_path: Path, evaluators: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        evaluate(tmp_path, right, evaluators)
    assert not list(tmp_path.rglob("evaluation_*"))


class Waiting:
    def __call__(self, instruction: str) -> None: ...


@pytest.mark.parametrize(
    "target, message",
    [
        (Waiting(), "eval_target: no row has 'instruction'. Did you mean instructions"),
        (Waiting, r"eval_target: expected an instance, Waiting\(\), got the class Waiting"),
        (lambda row, /: [], "eval_target: parameter 'row' is positional-only"),
        ("chatbot", "eval_target: expected a function, got 'chatbot'"),
    ],
)
def test_invalid_target_is_rejected(tmp_path: Path, target: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        evaluate(tmp_path, target)


def test_malformed_ground_truth_is_never_paired(tmp_path: Path) -> None:
    arguments = ['{"n": 1e999}', '{"n": ' + "9" * 5000 + "}", '{"n": ' + "[" * 300 + "]" * 300 + "}", "5", '"{"']
    row = '{"id": "a", "instructions": "x \\ud800", "expected_function_calls": [%s]}'
    calls = [f'{{"functionName": "f", "arguments": {each}}}' for each in arguments]
    found = evaluate(tmp_path, lambda **row: [{"name": "f"}], rows=[row % ", ".join([*calls, "7"])])
    assert set(found.metrics.values()) == {0.0}
    kept = found.rows[0]["inputs.expected_function_calls"]
    assert all(text in call["arguments"] for text, call in zip([*arguments[:4], "{", "7"], kept, strict=True))


def test_field_of_some_rows_is_null_in_the_others(tmp_path: Path) -> None:
    seen = []

    def target(customer: Any) -> list[Any]:
        seen.append(customer)
        return []

    assert evaluate(tmp_path, target, rows=[SCENARIO, another("2", customer="Ada")]).errors == 0
    assert seen == [None, "Ada"]


@pytest.mark.parametrize(
    "text, message",
    [
        (json.dumps(row(user("hello"))), "truth.json: expected scenarios, got OpenAI chat"),
        (json.dumps({**SCENARIO, "instructions": ""}), "truth.json, line 1: missing key 'instructions'"),
        ("[]", "truth.json is empty"),
        ("", "truth.json is empty"),
        (None, "truth.json: no such file"),
    ],
)
def test_invalid_ground_truth_is_rejected(tmp_path: Path, text: str | None, message: str) -> None:
    truth = tmp_path / "truth.json"
    if text is not None:
        truth.write_text(text)
    with pytest.raises(BadInput, match=message):
        EvaluationService().evaluate(truth, tmp_path / "out", right, [CustomEvaluator()])
    assert not (tmp_path / "out").exists()


def test_invalid_folder_is_rejected_before_the_target_runs(tmp_path: Path) -> None:
    (tmp_path / "output").write_text("a file")
    with pytest.raises(BadInput, match="output cannot be created: "):
        evaluate(tmp_path, lambda **row: pytest.fail("the target ran"), experiment_name="x")


# File layouts

CASE = Case("c", expected=(tool_call("find", path="*.py", size={"$glob": "1*"}, both=["a*", "b *"]),), instructions="Find it.")


def test_row_of_a_graded_run() -> None:
    malformed = Call("f", {}, None, "cut off", '{"a": ')
    metrics = {"process.precision": 0.5, "process.args_recall": 1.0, "call.score": 0.0}
    history = [Message("user", "Hi"), Message("assistant", "", (Call("f", {"a": 1}, "1"),)), {"role": "user", "content": "\ud800"}]
    line = result_row(CASE, Prediction("c", calls=(malformed, tool_call("g", a=[1]))), metrics, chat_history=history)
    found = json.loads(line)
    assert b"\n" not in line
    assert found["inputs.expected_function_calls"] == [  # in this format a plain star would be read as a glob
        {"functionName": "find", "arguments": {"path": {"$literal": "*.py"}, "size": {"$glob": "1*"}, "both": [{"$literal": "a*"}, "b *"]}}
    ]
    assert found["outputs.function_calls"] == [
        {"functionName": "f", "arguments": '{"a": '},
        {"functionName": "g", "arguments": {"a": [1]}},
    ]
    assert found["outputs.chat_history"] == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
        },
        {"role": "user", "content": "\\ud800"},
    ]
    assert {name: value for name, value in found.items() if name.startswith("outputs.") and not name.endswith(("calls", "history"))} == {
        "outputs.error_message": None,
        "outputs.Precision_fn.score": 0.5,
        "outputs.Recall_args.score": 1.0,
        "outputs.call.score": 0.0,
    }


@pytest.mark.parametrize(
    "prediction, metrics, error, names",
    [
        (None, None, "no prediction", NAMES),
        (Prediction("c", error="timed out"), None, "timed out", NAMES),
        (Prediction("c", error="timed out"), {"process.recall": 0.0, "mine": 0.0}, "timed out", ["Recall_fn.score", "mine"]),
    ],
)
def test_scores_of_an_error_are_null(prediction: Prediction | None, metrics: Any, error: str, names: list[str]) -> None:
    found = json.loads(result_row(CASE, prediction, metrics))
    assert found["outputs.error_message"] == error
    assert {name: value for name, value in found.items() if value is None} == {f"outputs.{name}": None for name in names}


def deep(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = [value]
    return value


class Nameless:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "odd",
    ["\ud800 \x00  ", {"\udfff": 1}, {1: {2}}, deep(5000), [10**5000], float("inf"), Nameless(), {Nameless(): 1}, b"\xff", [object()]],
)
def test_any_row_can_be_read_back(odd: Any) -> None:
    text = odd if isinstance(odd, str) else "plain"
    made = read_call({"name": text, "arguments": {"a": odd}})
    case = Case(text, description=text, instructions=text, expected=(made,))
    answer = Prediction(text, calls=(made, Call("", {}, None, text, text)))
    line = result_row(case, answer, {text: odd}, chat_history=[odd])
    assert b"\n" not in line
    line.decode()
    assert json.loads(line, parse_constant=pytest.fail)["outputs.error_message"] is None


@pytest.mark.parametrize("means", [{}, {"process.precision": 1 / 3, "mine": None}])
@pytest.mark.parametrize("rows", [[], [b'{"a":1}'], [b'{"a":1}\n', b'{"b":2}\r\n', b'{"c":3}']])
def test_rows_are_streamed_after_the_means(means: dict[str, float | None], rows: list[bytes]) -> None:
    named = {"Precision_fn.score": 1 / 3, "mine": None} if means else {}
    assert json.loads(metrics_json(means)) == [named]
    lines = list(result_lines(means, iter(rows)))
    assert len(lines) == len(rows) + 2
    assert not any(b"\n" in line for line in lines), "the writer adds the newlines"
    assert json.loads(b"\n".join(lines)) == [{**named, "rows": [json.loads(each) for each in rows]}]


def test_expected_call_in_lob_shape_is_unchanged(tmp_path: Path) -> None:
    other = {"name": "f", "arguments": '{"a": "x*"}'}
    broken = {"functionName": "g", "arguments": "{"}
    found = evaluate(tmp_path, lambda **row: [], rows=[another("e", expected_function_calls=[ACTION, other, broken])])
    assert found.rows[0]["inputs.expected_function_calls"] == [
        ACTION,
        {"functionName": "f", "arguments": {"a": {"$literal": "x*"}}},
        broken,
    ]
