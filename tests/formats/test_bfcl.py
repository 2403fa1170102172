"""The Berkeley leaderboard: its files as they are, its checker's verdicts, its results as predictions. `make parity` has every row."""

import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.calls.bfcl_code import NotCallsError, decode_text
from callmark.errors import BadInput
from callmark.formats.predictions import read_row
from callmark.grading.attempt import Attempt
from callmark.grading.bfcl.conversion import java_value, javascript_value
from callmark.grading.evaluators.bfcl import BfclEvaluator
from callmark.types import Case
from tests.conftest import Cli
from tests.rows import write_rows

PARAMETERS = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "scale": {"type": "float"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "sizes": {"type": "array", "items": {"type": "float"}},
    "range": {"type": "tuple", "items": {"type": "integer"}},
    "place": {"type": "dict", "properties": {"zip": {"type": "string"}}},
    "stops": {"type": "array", "items": {"type": "dict", "properties": {"name": {"type": "string"}}}},
    "on": {"type": "boolean"},
}
FUNCTION = {"name": "geo.weather", "description": "", "parameters": {"type": "dict", "properties": PARAMETERS, "required": ["city"]}}
OTHER = {"name": "other", "description": "", "parameters": {"type": "dict", "properties": {"x": {"type": "integer"}}, "required": []}}
ANSWER = {
    "city": ["New York, NY", "NYC"],
    "days": [3, ""],
    "scale": ["", 2.0],
    "tags": [["a", "b"], ""],
    "sizes": ["", [1.5, 2.0]],
    "range": ["", [1, 2]],
    "place": [{"zip": ["04109", ""]}, ""],
    "stops": ["", [{"name": ["Bonn"]}]],
    "on": ["", True],
}


def question(name: str = "simple_python_0", functions: Any = (FUNCTION,), truth: Any = ({"geo.weather": ANSWER},)) -> dict[str, Any]:
    row = {"id": name, "question": [[{"role": "user", "content": "?"}]], "function": list(functions)}
    return row if truth is None else {**row, "ground_truth": list(truth)}


def verdict(row: dict[str, Any], result: Any, **options: Any) -> str:
    [case] = callmark.load([row], cases=True)
    assert isinstance(case, Case)
    prediction = read_row(json.dumps({"id": case.id, "result": result, "latency": 1}).encode()).prediction
    assert not prediction.error
    found = BfclEvaluator(**options).evaluate(Attempt(case.expected, prediction.calls, tools=case.tools, case=case, prediction=prediction))
    assert found.values["valid"] == (0.0 if found.reasons else 1.0)
    return found.reasons.get("valid", "")


@pytest.mark.parametrize(
    "code, error",
    [
        ("geo.weather(city='new york-ny')", ""),
        ("[geo.weather(city='NYC', days=3, scale=2, on=True)]", ""),
        ("geo.weather(city='NYC', on=1)", "type_error:simple"),
        ("geo.weather(city='Boston')", "value_error:string"),
        ("geo.weather(city='NYC', days='3')", "type_error:simple"),
        ("geo.weather(city='NYC', days=4)", "value_error:others"),
        ("geo.weather(city='NYC', sizes=[1.5, 2])", ""),  # a list that may be left out is not checked for types
        ("geo.weather(city='NYC', tags=['A', ' b'])", ""),
        ("geo.weather(city='NYC', tags=[])", ""),  # left out
        ("geo.weather(city='NYC', tags=['b', 'a'])", "value_error:list/tuple"),
        ("geo.weather(city='NYC', range=(1, 2))", ""),
        ("geo.weather(city='NYC', tags=('a', 'b'))", "type_error:simple"),
        ("geo.weather(city='NYC', place={'zip': '04109'})", ""),
        ("geo.weather(city='NYC', place={'zip': '1'})", "value_error:dict_value"),
        ("geo.weather(city='NYC', place={'x': 1})", "value_error:dict_key"),
        ("geo.weather(city='NYC', stops=[{'name': 'bonn'}])", ""),
        ("geo.weather(city='NYC', stops=[{'name': 'Ulm'}])", "value_error:dict_value"),
        ("geo.weather(city='NYC', stops=[{'name': 'Bonn'}, {}])", "value_error:list_dict_count"),
        ("geo.weather(city='NYC', speed=1)", "simple_function_checker:unexpected_param"),
        ("geo.weather(days=3)", "simple_function_checker:missing_required"),
        ("weather(city='NYC')", "simple_function_checker:wrong_func_name"),
        ("geo.weather(city='NYC'), geo.weather(city='NYC')", "simple_function_checker:wrong_count"),
        ("", "simple_function_checker:wrong_count"),
        ("I cannot do that.", "ast_decoder:decoder_failed"),
        ([{"geo.weather": '{"city": "NYC"}'}], ""),
        ([{"geo.weather": "{"}], "ast_decoder:decoder_failed"),
        ([{"geo.weather": "[1]"}], "ast_decoder:decoder_wrong_output_format"),
        ([], "simple_function_checker:wrong_count"),
    ],
)
def test_the_verdict_has_the_type_of_error(code: Any, error: str) -> None:
    assert verdict(question(), code) == error


@pytest.mark.parametrize(
    "names, name, error",
    [
        ("auto", "geo.weather", ""),
        ("auto", "geo_weather", ""),
        ("dots", "geo_weather", "simple_function_checker:wrong_func_name"),
        ("underscores", "geo.weather", "simple_function_checker:wrong_func_name"),
        ("underscores", "geo_weather", ""),
    ],
)
def test_names_with_dots_are_expected_as_the_model_was_told(names: Any, name: str, error: str) -> None:
    assert verdict(question(), [{name: '{"city": "NYC"}'}], names=names) == error


@pytest.mark.parametrize(
    "result, error",
    [
        ("[other(x=2), geo.weather(city='NYC')]", ""),
        ("[geo.weather(city='NYC')]", "parallel_function_checker_no_order:wrong_count"),
        ("[other(x=3), geo.weather(city='NYC')]", "parallel_function_checker_no_order:cannot_find_match"),
    ],
)
def test_parallel_calls_are_matched_in_any_order(result: str, error: str) -> None:
    row = question("parallel_multiple_0", (FUNCTION, OTHER), ({"geo.weather": ANSWER}, {"other": {"x": [2]}}))
    assert verdict(row, result) == error


@pytest.mark.parametrize(
    "name, result, error",
    [
        ("irrelevance_0", "None of the tools fits.", ""),
        ("live_irrelevance_3-1-0", "[other(x=1)]", "irrelevance_error:decoder_success"),
        ("live_relevance_0-0-0", [{"other": "{}"}], ""),
        ("live_relevance_0-0-0", "No.", "relevance_error:decoder_failed"),
    ],
)
def test_relevance_asks_only_whether_there_is_a_call(name: str, result: Any, error: str) -> None:
    assert verdict(question(name, truth=None), result) == error


def test_cases_of_other_datasets_have_no_verdict() -> None:
    assert BfclEvaluator().evaluate(Attempt((), ())).values == {"valid": None}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')",
        "f(a=__import__('os'))",
        "f(a=2**99999)",
        "f(a='x'*10**9)",
        "f(a=1/0)",
        "f(a=[x for x in y])",
        "(" * 500,
    ],
)
def test_nothing_in_a_text_is_evaluated(text: str) -> None:
    try:
        [call] = decode_text(text)
    except NotCallsError:
        return
    assert call in ({"": {}}, {"f": {"a": "__import__('os')"}}, {"system": {}})


def test_values_of_java_and_javascript_are_converted_by_type() -> None:
    assert java_value('new ArrayList<String>(Arrays.asList("a", "b"))', "ArrayList", "String") == ["a", "b"]
    assert java_value('new HashMap<String, Object>() {{ put("a", 1L); put("b", true); }}', "HashMap") == {"a": 1, "b": True}
    assert (java_value("5L", "long"), java_value("5", "long"), java_value("2.5f", "float")) == (5, "5", 2.5)
    assert javascript_value("[[1, 2], [3]]", "array") == [[1, 2], [3]]
    assert javascript_value('{"a": [1], "b": "x"}', "dict") == {"a": [1], "b": "x"}
    assert (javascript_value("5n", "Bigint"), javascript_value("'x'", "String")) == (5, "x")
    with pytest.raises(NotImplementedError):
        java_value("x", "Queue")


def leaderboard(folder: Path, name: str, rows: list[Any], answers: list[Any] | None) -> Path:
    (folder / "possible_answer").mkdir(exist_ok=True)
    if answers is not None:
        write_rows(folder / "possible_answer" / name, *answers)
    return write_rows(folder / name, *rows)


def test_questions_are_joined_with_their_answers_and_graded(cli: Cli, tmp_path: Path) -> None:
    rows = [question(f"simple_python_{number}", truth=None) for number in range(6)]
    answers = [{"id": row["id"], "ground_truth": [{"geo.weather": ANSWER}]} for row in rows]
    path = leaderboard(tmp_path, "BFCL_v4_simple_python.json", rows, answers)
    results = [{"id": row["id"], "result": "[geo.weather(city='nyc')]", "latency": 0.5} for row in rows]
    results[5] = {"id": rows[5]["id"], "result": "Error during inference: busy", "latency": 0}
    results[4]["result"] = [{"geo_weather": '{"city": "Rome"}'}]
    predictions = write_rows(tmp_path / "BFCL_v4_simple_python_result.json", *results)
    done = cli("grade", path, "-p", predictions, "-e", "bfcl", "-e", "call", "-o", tmp_path, "--name", "r", "--json")
    assert done.status == 3  # an error of the request
    metrics = json.loads(done.out)["summary"]["metrics"]
    assert (metrics["bfcl.valid"]["mean"], metrics["bfcl.valid"]["n"]) == (0.8, 5)
    assert cli("grade", tmp_path / "r").status == 3
    answers[0]["ground_truth"] = []
    write_rows(tmp_path / "possible_answer" / path.name, *answers)
    assert "the cases have changed since the run" in cli("grade", tmp_path / "r").err


@pytest.mark.parametrize(
    "answers, sentence",
    [
        (None, "ground_truth: missing"),
        ([{"id": "simple_python_1", "ground_truth": []}], "the answer on the same line of .* has a different id"),
        ([{"id": "simple_python_0", "ground_truth": [{"geo.weather": ANSWER}]}] * 2, r"has more answers than .* has questions \(1\)"),
        ([{"id": "simple_python_0", "ground_truth": [{"geo.weather": []}]}], r"expected \{NAME: \{PARAMETER: \[values\]\}\}"),
    ],
)
def test_answers_that_do_not_fit_are_refused(answers: Any, sentence: str, tmp_path: Path) -> None:
    path = leaderboard(tmp_path, "BFCL_v4_simple_python.json", [question(truth=None)], answers)
    with pytest.raises(BadInput, match=sentence):
        list(callmark.load(path))


def test_several_turns_are_a_conversation_and_a_scenario(tmp_path: Path) -> None:
    turns = [[{"role": "user", "content": "List."}], [{"role": "user", "content": "Sort it."}]]
    row = {"id": "multi_turn_base_0", "question": turns, "involved_classes": ["GorillaFileSystem"], "initial_config": {}}
    path = leaderboard(
        tmp_path, "BFCL_v4_multi_turn_base.json", [row], [{"id": row["id"], "ground_truth": [["ls(a=True)"], ["sort('x')", "ls()"]]}]
    )
    (tmp_path / "multi_turn_func_doc").mkdir()
    tools = [{"name": name, "parameters": {"type": "dict", "properties": {parameter: {"type": "string"}}}} for name, parameter in
             (("ls", "a"), ("sort", "file_name"))]  # fmt: skip
    write_rows(tmp_path / "multi_turn_func_doc" / "gorilla_file_system.json", *tools)
    [conversation] = callmark.load(path)
    assert [str(call) for call in conversation.calls] == ["ls(a=true)", 'sort(file_name="x")', "ls()"]
    assert [message.role for message in conversation.messages] == ["user", "assistant", "user", "assistant"]
    [case] = callmark.load(path, cases=True)
    assert isinstance(case, Case)
    assert (case.instructions, len(case.expected), len(case.tools)) == ("List.\nSort it.", 3, 2)
    found = read_row(json.dumps({"id": case.id, "result": [["ls(a=True)", "Done."], [[{"sort": '{"file_name": "x"}'}]]]}).encode())
    assert [str(call) for call in found.prediction.calls] == ["ls(a=true)", 'sort(file_name="x")']


def test_calls_as_text_in_java_are_an_error_not_a_wrong_answer() -> None:
    found = read_row(json.dumps({"id": "simple_java_0", "result": '[Geo.show(map=area, name="x")]'}).encode())
    assert found.prediction.error == "Java and JavaScript calls in text are not supported; use the results of a function-calling (FC) model"


@pytest.mark.parametrize("name", ["memory_0-customer-0", "web_search_3"])
def test_categories_without_calls_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match="its ground truth is a text answer"):
        list(callmark.load([{**question(name), "ground_truth": ["Michael"]}]))
