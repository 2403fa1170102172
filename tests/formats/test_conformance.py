"""Every shape of a dataset is read correctly or refused: the same nine calls, equal to themselves, and no fault is read as correct."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

import callmark
from callmark.calls.matchers import wrap_literal
from callmark.calls.results import match_results
from callmark.calls.values import exact
from callmark.data.expand import as_cases, expand
from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.types import Call, Case
from tests.conftest import Cli
from tests.formats.benchmark_shapes import BENCHMARK_PREDICTIONS, BENCHMARK_SHAPES
from tests.formats.chat_shapes import CHAT_SHAPES
from tests.formats.exchange_shapes import EXCHANGE_PREDICTIONS, EXCHANGE_SHAPES
from tests.formats.open_shapes import OPEN_SHAPES
from tests.formats.prediction_shapes import PREDICTION_SHAPES
from tests.formats.samples import CALLS, Sample, samples, with_other_arguments
from tests.formats.shapes import FAULTS, ExchangeShape, FaultName, PredictionShape, Shape, with_fault
from tests.formats.trace_shapes import TRACE_SHAPES
from tests.rows import write_rows

SHAPES: tuple[Shape, ...] = (*CHAT_SHAPES, *OPEN_SHAPES, *BENCHMARK_SHAPES, *TRACE_SHAPES)
PREDICTIONS: tuple[PredictionShape, ...] = (*PREDICTION_SHAPES, *EXCHANGE_PREDICTIONS, *BENCHMARK_PREDICTIONS)

every_shape = pytest.mark.parametrize("shape", [pytest.param(shape, id=shape.name) for shape in SHAPES])
every_prediction = pytest.mark.parametrize("shape", [pytest.param(shape, id=shape.name) for shape in PREDICTIONS])


every_exchange = pytest.mark.parametrize("shape", [pytest.param(shape, id=shape.name) for shape in EXCHANGE_SHAPES])


def faults_of(shapes: Sequence[Shape | ExchangeShape | PredictionShape]) -> list[Any]:
    """Return every shape with every fault that its rows have a place for."""
    return [
        pytest.param(shape, fault, id=f"{shape.name}-{fault}")
        for shape in shapes
        for fault in FAULTS
        if {"unknown role": shape.role, "unknown call part": shape.call_part}.get(fault, shape.arguments_key)
    ]


def cases_of(shape: Shape, conversations: Sequence[Sample] | None = None) -> list[Case]:
    """Return the decision points of the conversations, read from rows of this shape."""
    return list(expand(callmark.load(shape.rows(samples() if conversations is None else conversations))))


def score(case: Case, actual: Call) -> float:
    wire = {"name": actual.name, "arguments": actual.arguments}
    return callmark.grade(list(case.expected), [wire], tools=list(case.tools)).metrics["call.score"]


@every_shape
def test_the_nine_calls_are_read_with_their_names_arguments_and_ids(shape: Shape) -> None:
    dataset = callmark.load(shape.rows(samples()))
    assert dataset.format.name == shape.format_name
    calls = [call for conversation in dataset for call in conversation.calls]
    assert [call.malformed for call in calls] == [""] * len(CALLS)
    assert [(call.name, call.arguments) for call in calls] == [(call.name, call.arguments) for call in CALLS]
    if shape.keeps_ids:
        assert [call.id for call in calls] == [call.id for call in CALLS]


@every_shape
def test_every_result_belongs_to_its_call_and_every_text_stays(shape: Shape) -> None:
    for conversation, sample in zip(callmark.load(shape.rows(samples())), samples(), strict=True):
        matched = match_results(conversation.messages)
        messages = conversation.messages
        results = {messages[at].calls[place].name: messages[result] for (at, place), result in matched.by_call.items()}
        assert (matched.orphans, matched.open) == ([], [])
        assert {name: message.text for name, message in results.items()} == {
            message.name: message.text for message in sample.messages if message.role == "tool"
        }
        texts = [(message.role, message.text) for message in conversation.messages if message.text and message.role != "tool"]
        written = [(message.role, message.text) for message in sample.messages if message.text and message.role != "tool"]
        if shape.own_system:
            texts, written = ([text for text in found if text[0] != "system"] for found in (texts, written))
        assert texts == written


@every_shape
def test_tools_have_the_names_and_schemas_that_were_written(shape: Shape) -> None:
    for conversation, sample in zip(callmark.load(shape.rows(samples())), samples(), strict=True):
        assert [(tool.name, tool.parameters) for tool in conversation.tools] in (
            [],
            [(tool["name"], tool["parameters"]) for tool in sample.tools],
        )


@every_shape
def test_ground_truth_against_itself_scores_one(shape: Shape) -> None:
    assert [score(case, call) for case, call in zip(cases_of(shape), CALLS, strict=True)] == [1.0] * len(CALLS)


@every_shape
def test_other_arguments_score_one_half(shape: Shape) -> None:
    assert [score(case, with_other_arguments(call)) for case, call in zip(cases_of(shape), CALLS, strict=True)] == [0.5] * len(CALLS)


@pytest.mark.parametrize("shape, fault", faults_of(SHAPES))
def test_a_fault_in_a_shape_is_refused_or_malformed(shape: Shape, fault: FaultName) -> None:
    rows = with_fault(shape, fault, shape.rows(samples()))
    assert rows != shape.rows(samples())
    try:
        cases = list(expand(callmark.load(rows)))
    except BadInput:
        return
    assert len(cases) == len(CALLS), "no call may be overlooked"
    assert [score(case, call) for case, call in zip(cases, CALLS, strict=True)] == [0.0] * len(CALLS)
    assert all(call.malformed for case in cases for call in case.expected)


@every_shape
@pytest.mark.parametrize("command", ["show", "stats", "lint", "expand", "convert"])
def test_every_command_reads_the_shape(shape: Shape, command: str, cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", *shape.rows(samples()))
    options: dict[str, list[str | Path]] = {
        "expand": ["-o", tmp_path / "cases.jsonl"],
        "convert": ["-o", tmp_path / "converted.jsonl", "--to", "openai"],
    }
    done = cli(command, path, *options.get(command, []))
    assert done.status == 0, done.err
    if command == "convert":
        again = callmark.load(tmp_path / "converted.jsonl", format_name="openai")
        assert [(call.name, call.arguments) for row in again for call in row.calls] == [(call.name, call.arguments) for call in CALLS]


def exchange_case(shape: ExchangeShape, row: Any) -> Case:
    [case] = as_cases(callmark.load([row], cases=True))
    return case


def score_calls(case: Case, actual: Sequence[Call]) -> float:
    wires = [{"name": call.name, "arguments": call.arguments} for call in actual]
    return callmark.grade(list(case.expected), wires, tools=list(case.tools)).metrics["call.score"]


@every_exchange
def test_an_output_is_read_with_its_calls(shape: ExchangeShape) -> None:
    for calls in ([call] for call in CALLS):
        dataset = callmark.load([shape.row("Do it.", calls)])
        assert dataset.format.name == shape.format_name
        if shape.is_conversation:
            [conversation] = dataset
            assert [(call.name, call.arguments, call.malformed) for call in conversation.calls] == [
                (call.name, call.arguments, "") for call in calls
            ]
            assert [message.text for message in conversation.messages if message.role == "user"] == ["Do it."]
        case = exchange_case(shape, shape.row("Do it.", calls))
        assert [(message.role, message.text) for message in case.messages if message.role != "system"] == [("user", "Do it.")]


@every_exchange
def test_an_expected_output_against_itself_scores_one_and_with_other_arguments_one_half(shape: ExchangeShape) -> None:
    for call in CALLS:
        case = exchange_case(shape, shape.row("Do it.", [call]))
        assert (score_calls(case, [call]), score_calls(case, [with_other_arguments(call)]), score_calls(case, [])) == (1.0, 0.5, 0.0)


@pytest.mark.parametrize("shape, fault", faults_of(EXCHANGE_SHAPES))
def test_a_fault_in_an_output_is_refused_or_malformed(shape: ExchangeShape, fault: FaultName) -> None:
    for call in CALLS:
        row = shape.row("Do it.", [call])
        [broken] = with_fault(shape, fault, [row])
        assert broken != row
        try:
            case = exchange_case(shape, broken)
        except BadInput:
            continue
        assert score_calls(case, [call]) == 0.0
        assert [call.malformed != "" for call in case.expected] == [True], "no call may be overlooked"


@every_exchange
@pytest.mark.parametrize("command", ["show", "stats", "lint", "expand", "convert", "grade"])
def test_every_command_reads_an_output(shape: ExchangeShape, command: str, cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", *(shape.row(f"Do {place}.", [call]) for place, call in enumerate(CALLS)))
    predictions = write_rows(tmp_path / "p.jsonl", *({"tool_calls": [{"name": call.name, "arguments": call.arguments}]} for call in CALLS))
    options: dict[str, list[str | Path]] = {
        "expand": ["-o", tmp_path / "cases.jsonl"],
        "convert": ["-o", tmp_path / "converted.jsonl", "--to", "openai"],
        "grade": ["-p", predictions, "-o", tmp_path / "runs", "--name", "x", "--json"],
    }
    done = cli(command, path, *options.get(command, []))
    if command == "expand" and not shape.is_conversation:
        assert (done.status, "expected a conversation to cut into decision points, got the decision point" in done.err) == (2, True)
        return
    assert done.status == 0, done.err
    if command == "grade":
        assert json.loads(done.out)["summary"]["metrics"]["call.score"]["mean"] == 1.0


@pytest.mark.parametrize("shape", [pytest.param(shape, id=shape.name) for shape in EXCHANGE_SHAPES if shape.rejects])
def test_the_rejected_output_is_graded_without_other_predictions(shape: ExchangeShape, cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", *(shape.row(f"Do {place}.", [call]) for place, call in enumerate(CALLS)))
    for options in ([], ["-p", path]):
        done = cli("grade", path, *options, "-o", tmp_path / "runs", "--name", f"x{len(options)}", "--json")
        summary = json.loads(done.out)["summary"]
        assert (done.status, summary["cases"], summary["scored"], summary["metrics"]["call.score"]["mean"]) == (0, 9, 9, 0.0)


def score_prediction(row: Any, expected: Sequence[Call]) -> float:
    """Return the score of a prediction row; 0 for an error, which is excluded from scores."""
    prediction = read_prediction(json.dumps(row).encode()).prediction
    if prediction.error:
        return 0.0
    literal = [structs.replace(call, arguments={key: wrap_literal(value) for key, value in call.arguments.items()}) for call in expected]
    return callmark.grade(literal, list(prediction.calls)).metrics["call.score"]


@every_prediction
def test_predicted_calls_are_read_with_their_names_and_arguments(shape: PredictionShape) -> None:
    for calls in ([CALLS[0]], CALLS):
        found = read_prediction(json.dumps(shape.row(calls)).encode()).prediction.calls
        assert [(call.name, call.arguments, call.malformed) for call in found] == [(call.name, call.arguments, "") for call in calls]


@every_prediction
def test_predicted_calls_score_one_or_with_other_arguments_one_half(shape: PredictionShape) -> None:
    assert score_prediction(shape.row(CALLS), CALLS) == 1.0
    assert [score_prediction(shape.row([call]), [call]) for call in CALLS] == [1.0] * len(CALLS)
    assert [score_prediction(shape.row([with_other_arguments(call)]), [call]) for call in CALLS] == [0.5] * len(CALLS)


@pytest.mark.parametrize("shape, fault", faults_of(PREDICTIONS))
def test_a_fault_in_a_prediction_is_refused_or_malformed(shape: PredictionShape, fault: FaultName) -> None:
    rows = [shape.row([call]) for call in CALLS]
    broken = with_fault(shape, fault, rows)
    assert broken != rows
    for row, call in zip(broken, CALLS, strict=True):
        try:
            assert score_prediction(row, [call]) == 0.0
        except BadInput:
            continue
        found = read_prediction(json.dumps(row).encode()).prediction
        assert found.error or [call.malformed != "" for call in found.calls] == [True], "no call may be overlooked"


_numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
_scalars = st.booleans() | _numbers | st.text(st.characters(codec="utf-8"))


def _nested(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.text("abc", min_size=1, max_size=2)
    return st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6)


_values_without_null = _nested(_scalars)
_json_values = _nested(st.none() | _scalars)


@pytest.mark.laws
@every_shape
@given(data=st.data())
def test_a_changed_argument_never_scores_one(shape: Shape, data: st.DataObject) -> None:
    """Whatever value replaces an argument in a row, the original call is not correct anymore, unless `exact` calls the two equal."""
    place = data.draw(st.integers(0, len(CALLS) - 1))
    call = CALLS[place]
    key = data.draw(st.sampled_from([*call.arguments, "another"]))
    value = data.draw(_json_values if shape.keeps_nulls else _values_without_null)
    assume(not exact(wrap_literal(value), call.arguments[key]) if key in call.arguments else value is not None)
    changed = structs.replace(call, arguments={**call.arguments, key: value})
    [conversation] = [sample for sample in samples([*CALLS[:place], changed, *CALLS[place + 1 :]]) if changed in sample.calls]
    case = cases_of(shape, [conversation])[conversation.calls.index(changed)]
    assert score(case, call) < 1
    assert score(case, changed) == 1 or any(call.malformed for call in case.expected)


@pytest.mark.laws
@every_prediction
@given(data=st.data())
def test_a_changed_argument_of_a_prediction_never_scores_one(shape: PredictionShape, data: st.DataObject) -> None:
    call = data.draw(st.sampled_from(CALLS))
    key = data.draw(st.sampled_from([*call.arguments, "another"]))
    value = data.draw(_json_values)
    assume(key not in call.arguments or not exact(call.arguments[key], value))
    changed = structs.replace(call, arguments={**call.arguments, key: value})
    assert score_prediction(shape.row([changed]), [call]) < 1
    assert score_prediction(shape.row([changed]), [changed]) in (0.0, 1.0)
