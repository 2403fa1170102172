"""The exported grader: one file, only the standard library, the same scores as the evaluator `call`."""

import ast
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from callmark.grading.standalone import export_source
from callmark.grading.standalone.source import grade


def _benchmark() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "grader_agreement.py"
    spec = importlib.util.spec_from_file_location("grader_agreement", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


agreement = _benchmark()


def call(name: str, arguments: Any = None) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def item(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"expected_output": {"role": "assistant", "tool_calls": list(calls)}, **more}


def test_standalone_grader_agrees_with_the_evaluator_in_a_bare_interpreter() -> None:
    rows = list(agreement.items(600, seed=7))
    assert agreement.exported_scores(rows) == [agreement.evaluator_score(**row) for row in rows]


def test_items_are_the_same_for_the_same_seed() -> None:
    assert json.dumps(list(agreement.items(50, seed=3))) == json.dumps(list(agreement.items(50, seed=3)))


def test_standalone_grader_imports_only_the_standard_library() -> None:
    imported = set()
    for node in ast.walk(ast.parse(export_source())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add((node.module or "").split(".")[0])
    assert imported <= sys.stdlib_module_names


def test_standalone_grader_is_python_3_9_and_describes_itself() -> None:
    tree = ast.parse(export_source(), feature_version=(3, 9))
    assert "callmark export grader" in (ast.get_docstring(tree) or "")
    assert not any(isinstance(node, ast.ClassDef) for node in ast.walk(tree))


@pytest.mark.parametrize(
    "expected, made, score",
    [
        ([call("f", {"a": 1})], [call("f", '{"a": 1}')], 1.0),
        ([call("f", {"a": 1})], [call("f", '{"a": 2}')], 0.5),
        ([call("f", {"a": 1})], [call("g", '{"a": 1}')], 0.0),
        ([call("f", {"a": 1})], [call("f", '{"a": 1')], 0.0),
        ([call("f", {"a": 1})], [], 0.0),
        ([call("f", {"a": 1})], None, 0.0),
        ([], None, 1.0),
        ([], [call("f")], 0.0),
        ([call("f"), call("f")], [call("f")], 0.666667),
        ([call("f", {"zip": "01234"})], [call("f", {"zip": "1234"})], 0.5),
        ([call("f", {"a": {"$any": True}})], [call("f", {"a": [1]})], 1.0),
        ([call("f", {"a": 1})], [call("f", {"a": {"$any": True}})], 0.5),
        ([{"functionName": "f", "arguments": {"a": ["TKT-*"]}}], [call("f", {"a": ["tkt-7"]})], 1.0),
        ([call("f", {"a": ["TKT-*"]})], [call("f", {"a": ["tkt-7"]})], 0.5),
    ],
)
def test_scores_of_the_standalone_grader(expected: list[Any], made: Any, score: float) -> None:
    assert grade({"output_tools": made}, item(*expected)) == score
    assert grade({"output_tools": made}, {"item": item(*expected)}) == score


def test_best_alternative_counts() -> None:
    right = {"expected_output": {"tool_calls": [call("f", {"a": 1})], "alternatives": [[call("g")], []]}}
    assert grade({"output_tools": [call("g")]}, right) == 1.0
    assert grade({}, right) == 1.0
    assert grade({"output_tools": [call("f")]}, right) == 0.5


def test_default_value_equals_an_omitted_argument() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"n": {"type": "integer", "default": 10}}}}}]
    sample = {"output_tools": [call("f", {"n": 10.0})]}
    assert grade(sample, item(call("f"))) == 0.5
    assert grade(sample, item(call("f"), tools=tools)) == 1.0
    assert grade({"output_tools": [call("f", {"n": "10"})]}, item(call("f"), tools=tools)) == 0.5
    assert grade({"output_tools": [call("f", {"n": None})]}, item(call("f"), tools=tools)) == 1.0


@pytest.mark.parametrize("tools", [None, 5, "[", [None, 5, {}], [{"name": "f", "parameters": {"properties": {"a": 5}}}], {"tools": "x"}])
def test_any_tool_list_is_accepted(tools: Any) -> None:
    assert grade({"output_tools": [call("f", {"a": None})]}, item(call("f", {"a": None}), tools=tools)) == 1.0


@pytest.mark.parametrize(
    "argument, where",
    [
        ({"$regex": "a+"}, "f: order "),
        ([1, {"$regex": "a+"}], "f: order[1]"),
        ({"id": {"$optional": {"$regex": "a+"}}}, "f: order.id"),
        ({"$one_of": ["a", {"$regex": "a+"}]}, "f: order[1]"),
    ],
)
def test_regex_is_rejected_by_name(argument: Any, where: str) -> None:
    for right in (item(call("f", {"order": argument})), {"expected_output": {"alternatives": [[call("f", {"order": argument})]]}}):
        with pytest.raises(ValueError, match=r"\$regex") as raised:
            grade({}, right)
        assert where.strip() in str(raised.value)


def test_unknown_matcher_is_rejected_by_name() -> None:
    with pytest.raises(ValueError, match=r"f: a: \$glop is not supported by this grader; supported: \$any"):
        grade({}, item(call("f", {"a": {"$glop": "x"}})))


def test_regex_in_an_actual_call_is_a_value() -> None:
    arguments = {"a": {"$regex": "a+"}}
    assert grade({"output_tools": [call("f", arguments)]}, item(call("f", {"a": {"$literal": arguments["a"]}}))) == 1.0


@pytest.mark.parametrize("broken", [{}, {"expected_output": None}, {"item": {}}, {"expected_output": {"alternatives": 5}}])
def test_item_without_expected_output_is_rejected(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="^expected_output.*: expected "):
        grade({}, broken)


def _nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_hostile_calls_are_scored_in_bounded_time() -> None:
    right = item(call("f", {"a": {"$text": "x", "$ratio": 0.9}}))
    arguments: list[Any] = [_nested(10_000), '{"a":' * 10_000, '{"a":' + "9" * 1_000_000 + "}", {"a": "\ud800"}, 5]
    for made in [*(call("f", given) for given in arguments), {"name": {"a": 1}}, 5]:
        assert grade({"output_tools": [made]}, right) == 0.0
    assert grade({"output_tools": [call("f", {"a": "\u0301\u0323" * 200_000})]}, right) == 0.5


@pytest.mark.parametrize("expected, made", [(1, 10_000), (30, 9_000), (700, 700)])
def test_many_calls_of_one_name_score_as_with_the_evaluator(expected: int, made: int) -> None:
    right = item(*[call("f", {"n": index, "m": "x"}) for index in range(expected)])
    sample = {"output_tools": [call("f", {"m": "x", "n": index + expected // 2 if index % 3 else str(index)}) for index in range(made)]}
    assert grade(sample, right) == agreement.evaluator_score(sample, right)
