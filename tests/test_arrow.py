"""`callmark.arrow`: grading batches of columns gives what `callmark grade` gives for the same rows in files."""

import json
import pickle
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
from callmark.arrow import GradingSettings, grade_batch, read_grades, schema, summarize
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.grade_columns import Rejected, grade_schema, read_columns, write_columns
from callmark.grading.record import GradeRecord, read_grade
from callmark.types import Fault, Note, Usage
from tests.rows import WEATHER, assistant, call, user

BONN, PARIS, ROME = (call("get_weather", {"city": city}) for city in ("Bonn", "Paris", "Rome"))
CASES: list[dict[str, Any]] = [
    {"id": "right", "expected": BONN, "actual": [BONN]},
    {"id": "wrong-value", "expected": BONN, "actual": [PARIS]},
    {"id": "wrong-tool", "expected": BONN, "actual": [call("get_time")]},
    {"id": "no-call", "expected": BONN, "actual": []},
    {"id": "two-calls", "expected": BONN, "actual": [BONN, ROME]},
    {"id": "malformed", "expected": BONN, "actual": [call("get_weather", "{")]},
    {"id": "failed", "expected": BONN, "error": "HTTP 503"},
]


def case_row(each: dict[str, Any]) -> dict[str, Any]:
    messages = [user("Weather in Bonn?")]
    return {"id": each["id"], "messages": messages, "tools": [WEATHER], "expected_output": assistant(each["expected"])}


def prediction_row(each: dict[str, Any]) -> dict[str, Any]:
    return {key: each[name] for name, key in (("actual", "tool_calls"), ("error", "error")) if name in each}


def table(rows: Sequence[dict[str, Any]]) -> pyarrow.Table:
    """Return rows as columns; a value that is not a text is in JSON."""
    names = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [row.get(name) for row in rows] for name in names}
    return pyarrow.table(
        {
            name: pyarrow.array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values], "string")
            for name, values in cells.items()
        }
    )


TABLE = table([{**case_row(each), **prediction_row(each)} for each in CASES])
PREDICTION = ["tool_calls", "error"]


def grades_in_files(folder: Path, settings: Sequence[str] = ()) -> tuple[list[GradeRecord], callmark.Summary]:
    """Return the grades and the summary of the same cases and predictions in files."""
    cases, predictions = folder / "cases.jsonl", folder / "predictions.jsonl"
    cases.write_text("".join(json.dumps(case_row(each)) + "\n" for each in CASES))
    predictions.write_text("".join(json.dumps({"id": each["id"], **prediction_row(each)}) + "\n" for each in CASES))
    run = callmark.grade(cases, predictions=predictions, evaluators=settings, out=folder)
    return [read_grade(line) for line in (run.folder.path / "grades.jsonl").read_bytes().splitlines()], run.summary()


def test_a_batch_has_the_grades_of_the_same_rows_in_files(tmp_path: Path) -> None:
    graded = grade_batch(TABLE, PREDICTION)
    grades, summary = grades_in_files(tmp_path)
    assert read_grades(graded) == grades
    assert summarize([graded.slice(0, 3), graded.slice(3)], details=True) == summary
    assert graded.column("call.score").to_pylist() == [1.0, 0.5, 0.0, 0.0, pytest.approx(2 / 3, abs=1e-6), 0.0, None]


def test_metrics_are_columns_and_the_rest_is_typed() -> None:
    graded = grade_batch(TABLE, PREDICTION, settings=GradingSettings(("call",)))
    assert graded.schema.equals(schema(GradingSettings(("call",))), check_metadata=True)
    assert [name for name in graded.schema.names if "." in name] == ["call.score", "call.pass", "call.arguments"]
    row = graded.to_pylist()[1]
    assert row["pairs"] == [{"expected": 0, "actual": 0, "agrees": False}]
    assert {key: row["faults"][0][key] for key in ("kind", "argument", "expected", "actual")} == {
        "kind": "wrong_value", "argument": "city", "expected": '"Bonn"', "actual": '"Paris"'
    }  # fmt: skip


def test_a_record_batch_gives_a_record_batch_and_a_table_a_table() -> None:
    (batch,) = TABLE.to_batches()
    assert isinstance(grade_batch(batch, PREDICTION), pyarrow.RecordBatch)
    assert isinstance(grade_batch(TABLE, PREDICTION), pyarrow.Table)
    assert grade_batch(batch, PREDICTION) == grade_batch(TABLE, PREDICTION).to_batches()[0]


@pytest.mark.parametrize("empty", [TABLE.slice(0, 0), TABLE.to_batches()[0].slice(0, 0)])
def test_an_empty_batch_gives_the_columns_without_rows(empty: Any) -> None:
    graded = grade_batch(empty, PREDICTION)
    assert (graded.num_rows, graded.schema) == (0, schema())


def test_the_grades_of_a_row_do_not_depend_on_its_batch() -> None:
    parts = [grade_batch(TABLE.slice(at, 1), PREDICTION) for at in range(TABLE.num_rows)]
    assert pyarrow.concat_tables(parts).to_pylist() == grade_batch(TABLE, PREDICTION).to_pylist()


def test_the_function_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(partial(grade_batch, prediction=PREDICTION, settings=GradingSettings(("call",)))))
    assert sent(TABLE).num_rows == len(CASES)


def test_rows_that_cannot_be_read_keep_their_place_and_say_why() -> None:
    rows = [
        {**case_row(CASES[0]), "tool_calls": [BONN]},
        {**case_row(CASES[1]), "messages": "no messages", "tool_calls": [BONN]},
        {**case_row(CASES[2]), "tool_calls": "42"},
        {**case_row(CASES[3]), "tool_calls": [BONN]},
    ]
    graded = grade_batch(table(rows), ["tool_calls"])
    first, second = graded.column("rejected").to_pylist()[1:3]
    assert graded.column("rejected").to_pylist() == [None, first, second, None]
    assert first == "messages: expected a list of messages, got a string"
    assert second.startswith("prediction: tool_calls: expected")
    assert graded.column("call.score").to_pylist() == [1.0, None, None, 1.0]
    assert graded.column("faults").to_pylist()[1] is None
    assert len(read_grades(graded)) == 2


def test_a_batch_of_nothing_but_bad_rows_is_rejected_row_by_row() -> None:
    rows = [{**case_row(CASES[0]), "messages": "none", "tool_calls": [BONN]}] * 2
    assert grade_batch(table(rows), ["tool_calls"]).column("rejected").null_count == 0


def test_conversations_without_expected_calls_are_rejected() -> None:
    rows = table([{"id": "a", "messages": [user("Hi"), assistant(BONN)], "tools": [WEATHER], "text": "Bonn"}])
    assert grade_batch(rows, ["text"]).column("rejected").to_pylist() == ["expected a case, got a conversation without expected calls"]


def test_a_row_without_any_prediction_is_an_error_and_an_empty_list_is_no_call() -> None:
    rows = [{**case_row(CASES[0]), "tool_calls": None}, {**case_row(CASES[1]), "tool_calls": []}]
    graded = grade_batch(table(rows), ["tool_calls"])
    assert graded.column("error").to_pylist() == ["no prediction", None]
    assert graded.column("call.score").to_pylist() == [None, 0.0]


def test_trials_are_rows_of_their_own() -> None:
    rows = table([{**case_row(CASES[0]), "tool_calls": [BONN], "trial": 0}, {**case_row(CASES[0]), "tool_calls": [ROME], "trial": 1}])
    rows = rows.set_column(rows.schema.get_field_index("trial"), "trial", [[0, 1]])
    graded = grade_batch(rows, ["tool_calls", "trial"])
    assert (graded.column("trial").to_pylist(), graded.column("call.score").to_pylist()) == ([0, 1], [1.0, 0.5])
    assert summarize([graded]).cases == 1


def test_calls_in_text_are_found_with_the_tools_of_the_case() -> None:
    text = '<tool_call>{"name": "get_weather", "arguments": {"city": "Bonn"}}</tool_call>'
    graded = grade_batch(table([{**case_row(CASES[0]), "completion": text}]), ["completion"], parse="hermes")
    assert graded.column("call.score").to_pylist() == [1.0]


def test_structs_and_dictionaries_are_read_like_json() -> None:
    rows = [{**case_row(each), "tool_calls": each["actual"]} for each in CASES if "actual" in each]
    nested = pyarrow.Table.from_pylist(rows)
    encoded = table(rows)
    encoded = encoded.set_column(2, "tools", encoded.column("tools").dictionary_encode())
    expected = grade_batch(table(rows), ["tool_calls"])
    assert grade_batch(nested, ["tool_calls"]).to_pylist() == expected.to_pylist()
    assert grade_batch(encoded, ["tool_calls"]).to_pylist() == expected.to_pylist()


def test_decision_points_by_reference_have_their_conversation_in_columns() -> None:
    conversations = [
        {"id": f"c{number}", "messages": [user("Weather in Bonn?"), assistant(BONN, ROME), user("?"), assistant(PARIS)]}
        for number in range(3)
    ]
    cases = list(callmark.expand([{**each, "tools": [WEATHER]} for each in conversations]))
    rows = [
        {
            "id": case.id,
            "source": {"conversation": case.source.conversation, "message": case.source.message, "call": case.source.call},
            "expected_output": assistant(call(case.expected[0].name, case.expected[0].arguments)),
            "conversation": next(each for each in conversations if case.source and each["id"] == case.source.conversation),
            "tools": [WEATHER],
            "tool_calls": [ROME],
        }
        for case in cases
        if case.source
    ]
    graded = grade_batch(table(rows), ["tool_calls"])
    assert graded.column("rejected").null_count == len(rows) == 9
    assert graded.column("call.score").to_pylist() == [0.5, 1.0, 0.5] * 3
    assert graded.column("conversation").to_pylist() == [case.source and case.source.conversation for case in cases]
    assert graded.column("prompt_characters").to_pylist() == [sum(len(message.text) for message in case.messages) for case in cases]


@pytest.mark.parametrize("prediction", [[], ["tool_calls", "answer"]])
def test_prediction_columns_that_do_not_exist_are_named(prediction: list[str]) -> None:
    with pytest.raises(BadInput, match=f"prediction: expected names of columns, got {'answer' if prediction else 'none'}"):
        grade_batch(TABLE, prediction)


def length(attempt: Attempt) -> dict[str, float]:
    return {"words": 3.0}


def test_metrics_that_an_evaluator_does_not_declare_are_in_other_metrics() -> None:
    settings = GradingSettings(("call", "tests.test_arrow:length"))
    graded = grade_batch(TABLE.slice(0, 1), PREDICTION, settings=settings)
    assert graded.column("other_metrics").to_pylist() == [[{"metric": "length.words", "value": 3.0}]]
    (grade,) = read_grades(graded)
    assert grade.metrics["length.words"] == 3.0


def test_polars_maps_the_function_over_a_frame() -> None:
    frame = polars.from_arrow(TABLE)
    assert isinstance(frame, polars.DataFrame)
    graded = polars.from_arrow(grade_batch(frame.to_arrow(), PREDICTION))
    assert isinstance(graded, polars.DataFrame)
    assert graded.to_dicts() == grade_batch(TABLE, PREDICTION).to_pylist()


def test_columns_of_another_version_are_refused() -> None:
    graded = grade_batch(TABLE, PREDICTION)
    with pytest.raises(BadInput, match="columns of grades: unknown version '2', expected 1"):
        read_grades(graded.replace_schema_metadata({b"callmark.grades": b"2"}))
    with pytest.raises(BadInput, match="expected columns of grades"):
        read_grades(TABLE)
    assert read_grades(graded.replace_schema_metadata(None)) == read_grades(graded)  # some engines drop it


def test_every_column_and_field_is_documented() -> None:
    rows = [line for line in Path("docs/reference/arrow.md").read_text().splitlines() if line.startswith("| `")]
    for field in grade_schema(()):
        (row,) = [row for row in rows if f"`{field.name}`" in row.split("|")[1]]
        kind = field.type.value_type if pyarrow.types.is_list(field.type) else field.type
        if pyarrow.types.is_struct(kind):
            assert [name for name in kind.names if f"`{name}`" not in row] == []
        else:
            assert str(kind) in row.split("|")[2]


texts = st.text(max_size=5)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
)
indexes = st.none() | st.integers(0, 9)
numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.lists(texts, max_size=2).map(tuple)
origins = st.sampled_from([None, "format", "elsewhere"])
kinds = st.sampled_from(["wrong_value", "no_call"])
faults = st.builds(Fault, kinds, indexes, indexes, st.none() | texts, values, values, names, origins, indexes)
records = st.builds(
    GradeRecord,
    texts,
    st.integers(0, 9),
    texts,
    st.dictionaries(st.sampled_from(["call.score", "call.pass", "own.words"]), numbers),
    names,
    names,
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=2).map(tuple),
    st.lists(faults, max_size=2).map(tuple),
    st.lists(st.builds(Note, texts, texts, indexes, st.none() | texts, indexes), max_size=2).map(tuple),
    st.integers(0, 2),
    st.none() | texts,
    indexes,
    texts,
    st.none() | texts,
    st.none() | st.builds(Usage, numbers, st.integers(0, 9), st.integers(0, 9), st.none() | numbers, st.integers(1, 3)),
    indexes,
    texts,
    indexes,
    st.integers(0, 3),
    st.dictionaries(texts, texts, max_size=2),
    st.dictionaries(texts, st.tuples(numbers, numbers), max_size=2),
    st.dictionaries(texts, st.tuples(texts, texts), max_size=2),
    st.dictionaries(texts, texts, max_size=2),
    texts,
)


@pytest.mark.laws
@given(st.lists(records | st.builds(Rejected, texts), max_size=4))
def test_every_grade_is_read_back_from_its_columns(grades: list[GradeRecord | Rejected]) -> None:
    columns = write_columns(grades, grade_schema(("call.score", "call.pass")))
    columns.validate(full=True)
    assert read_columns(columns) == grades
