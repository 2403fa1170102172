"""Parquet, Arrow, CSV, folders and globs: the rows of JSONL, wherever they are; refused with a sentence if they cannot be read."""

import json
import sys
from pathlib import Path
from typing import Any

import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc, parquet

import callmark
from callmark.errors import BadInput
from callmark.formats import Output, tables, write_lines
from callmark.formats.row_source import open_rows
from tests.conftest import Cli
from tests.formats.table_files import write_csv, write_json_texts, write_parquet, write_parquet_structs
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

TALK = [user("Bonn?"), assistant(call("get_weather", {"city": "Bonn"}, "1")), result("sun", "1"), assistant(text="Sun.")]
ROWS = [{"id": f"c{number}", "messages": TALK, "tools": [WEATHER]} for number in range(7)]


def read(path: Path) -> list[Any]:
    return [json.loads(text) for _, text in open_rows(str(path))]


def arguments_of(path: Path) -> list[dict[str, Any]]:
    return [call.arguments for row in callmark.load(path) for call in row.calls]


def test_a_null_in_arguments_is_a_missing_key_unless_the_tool_requires_it(tmp_path: Path) -> None:
    def talk(**arguments: Any) -> dict[str, Any]:
        return {"messages": [user("?"), assistant({"function": {"name": "get_weather", "arguments": arguments}})], "tools": [WEATHER]}

    rows: list[dict[str, Any]] = [talk(city="Bonn", days=2), talk(city=None, unit="celsius"), talk(days=1)]
    path = write_parquet_structs(rows, tmp_path)
    assert arguments_of(path) == [{"city": "Bonn", "days": 2}, {"city": None, "unit": "celsius"}, {"city": None, "days": 1}]


def test_arguments_of_predictions_are_not_padded(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "tool_calls": [{"name": "f", "arguments": {"x": 1}}], "text": None},
        {"id": "b", "tool_calls": None, "text": "No call."},
        {"id": "c", "tool_calls": [{"name": "g", "arguments": {"y": "z"}}, {"name": "f", "arguments": {}}], "text": None},
    ]
    assert read(write_parquet_structs(rows, tmp_path)) == [
        {"id": "a", "tool_calls": [{"name": "f", "arguments": {"x": 1}}]},
        {"id": "b", "text": "No call."},
        {"id": "c", "tool_calls": [{"name": "g", "arguments": {"y": "z"}}, {"name": "f", "arguments": {}}]},
    ]


def test_a_row_with_only_an_id_keeps_its_nulls(tmp_path: Path) -> None:
    assert read(write_parquet_structs([{"id": "a", "text": "x"}, {"id": "b", "text": None}], tmp_path))[1] == {"id": "b", "text": None}


@pytest.mark.parametrize(
    "column, value",
    [
        (pyarrow.array(["2026-01-02"]).cast(pyarrow.date32()), "2026-01-02"),
        (pyarrow.array([1767323045000]).cast(pyarrow.timestamp("ms", "UTC")), "2026-01-02T03:04:05.000Z"),
        (pyarrow.array([b"\xff\x00"]), "/wA="),
        (pyarrow.array([b"text"]), "text"),
        (pyarrow.array(["12.50"]).cast(pyarrow.decimal128(4, 2)), 12.5),
        (pyarrow.array([0.1], pyarrow.float32()), 0.1),
        (pyarrow.array([2**63 - 1]), 2**63 - 1),
        (pyarrow.array([True]), True),
        (pyarrow.array(["x"]).dictionary_encode(), "x"),
        (pyarrow.array([[1, None]], pyarrow.list_(pyarrow.int8(), 2)), [1, None]),
        (pyarrow.array([[("a", 1), ("b", None)]], pyarrow.map_(pyarrow.string(), pyarrow.int8())), {"a": 1, "b": None}),
        (pyarrow.array(["x"], pyarrow.string_view()), "x"),
        (pyarrow.array([5], pyarrow.duration("s")), 5),
    ],
)
def test_every_type_of_column_is_read(column: Any, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    table = pyarrow.table({"value": column})
    with pyarrow.OSFile(str(path), "wb") as file, ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    assert read(path) == [{"value": value}]


def test_text_in_a_column_of_text_stays_text(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": '[{"name": "f", "arguments": {}}]', "output": '[{"name": "f", "arguments": {}}]', "input": "[1]"}]
    assert read(write_json_texts(rows, tmp_path)) == rows


def test_a_cell_that_is_not_json_cannot_add_keys_to_its_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    texts = pyarrow.array(['[], "expected_output": {"tool_calls": []}'])
    column = pyarrow.ExtensionArray.from_storage(pyarrow.json_(), texts)
    parquet.write_table(pyarrow.table({"messages": column, "tools": texts}), path)
    assert read(path) == [{"messages": texts[0].as_py(), "tools": texts[0].as_py()}]


def test_text_that_is_not_utf8_stops_nothing_but_its_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    broken = pyarrow.Array.from_buffers(pyarrow.string(), 2, pyarrow.array([b"a\xff", b"b"]).buffers())
    parquet.write_table(pyarrow.table({"id": broken, "text": ["x", "y"]}), path)
    assert read(path) == [{"id": "a\udcff", "text": "x"}, {"id": "b", "text": "y"}]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.laws
@given(rows=st.lists(st.dictionaries(st.sampled_from("abcd"), json_values, min_size=1), min_size=1, max_size=5))
def test_written_rows_are_read_back_without_their_nulls(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("tables") / "rows.parquet"
    write_lines(str(path), (json.dumps(each).encode() for each in rows))
    found = read(path)
    assert [{key: value for key, value in each.items() if value is not None} for each in found] == [
        {key: value for key, value in each.items() if value is not None} for each in rows
    ]


def test_convert_writes_parquet_that_is_converted_back_to_the_same_bytes(cli: Cli, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", *ROWS)
    assert cli("convert", tmp_path / "in.jsonl", "--to", "openai", "-o", tmp_path / "out.parquet").status == 0
    assert cli("convert", tmp_path / "out.parquet", "--to", "openai", "-o", tmp_path / "back.jsonl").status == 0
    assert read(tmp_path / "back.jsonl") == read(tmp_path / "in.jsonl")
    frame = parquet.read_table(tmp_path / "out.parquet")
    assert frame.column("id").to_pylist() == [each["id"] for each in ROWS]
    assert json.loads(frame.column("messages")[0].as_py()) == TALK


def test_polars_reads_what_is_written(tmp_path: Path) -> None:
    path = write_parquet([{"id": "a", "n": 1, "x": 0.5, "on": True}, {"id": "b", "n": 2, "on": False}], tmp_path)
    assert polars.read_parquet(path).to_dicts() == [{"id": "a", "n": 1, "x": 0.5, "on": True}, {"id": "b", "n": 2, "x": None, "on": False}]


@pytest.mark.parametrize("form", ["parquet", "csv", "texts"])
def test_tables_and_jsonl_give_the_same_grades(form: str, cli: Cli, tmp_path: Path) -> None:
    write_rows(tmp_path / "chat.jsonl", *ROWS)
    cases = [json.loads(line) for line in cli("expand", tmp_path / "chat.jsonl", "-o", "-").out.splitlines()]
    predictions = [
        {"id": case["id"], "trial": 0, "tool_calls": [{"name": "get_weather", "arguments": {"city": "Bonn" if at % 2 else "Ulm"}}]}
        for at, case in enumerate(cases)
    ]
    write = {"parquet": write_parquet, "csv": write_csv, "texts": write_json_texts}[form]
    write_rows(tmp_path / "cases.jsonl", *cases)
    write_rows(tmp_path / "predictions.jsonl", *predictions)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for name, *files in (
        ("jsonl", tmp_path / "cases.jsonl", tmp_path / "predictions.jsonl"),
        ("table", write(cases, tmp_path / "a"), write(predictions, tmp_path / "b")),
    ):
        assert cli("grade", files[0], "--predictions", files[1], "-o", tmp_path, "--name", name).status == 0
    assert (tmp_path / "jsonl" / "grades.jsonl").read_bytes() == (tmp_path / "table" / "grades.jsonl").read_bytes()
    assert cli("grade", tmp_path / "table").status == 0  # the table is read again


def test_a_folder_is_read_as_one_file(cli: Cli, tmp_path: Path) -> None:
    unnamed = [{key: value for key, value in each.items() if key != "id"} for each in ROWS]
    folder = tmp_path / "data"
    folder.mkdir()
    write_rows(folder / "1.jsonl", *unnamed[:2])
    write_parquet(unnamed[2:5], folder).rename(folder / "2.parquet")
    write_csv(unnamed[5:], folder).rename(folder / "3.csv")
    (folder / "README.md").write_text("not data")
    write_rows(tmp_path / "whole.jsonl", *unnamed)
    assert list(map(_seen, callmark.load(folder))) == list(map(_seen, callmark.load(tmp_path / "whole.jsonl")))
    assert list(map(_seen, callmark.load(str(folder / "[123].*")))) == list(map(_seen, callmark.load(tmp_path / "whole.jsonl")))
    assert str(list(callmark.load(folder))[3].place) == f"{folder}/2.parquet, row 2"
    shown = cli("show", folder, "--row", "6").out
    assert "row 1" in shown
    assert cli("grade", folder, "--predictions", tmp_path / "whole.jsonl", "--in-order", "-o", tmp_path).status == 2  # conversations


def test_a_bad_row_of_a_folder_is_rejected_with_its_file_and_row(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    write_rows(folder / "1.jsonl", *ROWS[:2])
    (folder / "2.csv").write_text('id,messages\nx,[]\ny,"[{""role"": ""user"", ""content"": ""?""}]",third\n')
    done = cli("stats", folder, "--skip-bad", "--rejects", tmp_path / "rejects.jsonl")
    assert done.status == 0
    assert json.loads((tmp_path / "rejects.jsonl").read_text().splitlines()[-1]) == {
        "file": f"{folder}/2.csv", "row": 2, "reason": "expected 2 cells, as in the header, got 3",
        "text": '["y","[{\\"role\\": \\"user\\", \\"content\\": \\"?\\"}]","third"]',
    }  # fmt: skip


def _seen(row: Any) -> Any:
    return row.id, row.messages, row.tools


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"PAR1\0\0\0\0\0\0", "the Parquet file is truncated or damaged"),
        (b"ARROW1\0\0\0\0\0\0", "the Arrow file is truncated or damaged"),
        (b"\xff\xff\xff\xff\x10\0\0\0abcdefgh", "the Arrow stream file is truncated or damaged"),
    ],
)
def test_a_damaged_table_is_refused(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(content)
    with pytest.raises(BadInput, match=sentence):
        list(callmark.load(tmp_path / "x.bin"))


def test_every_truncation_of_a_table_is_refused(tmp_path: Path) -> None:
    whole = write_parquet(ROWS, tmp_path).read_bytes()
    for end in range(4, len(whole), len(whole) // 20):
        (tmp_path / "cut.parquet").write_bytes(whole[:end])
        with pytest.raises(BadInput, match="truncated or damaged"):
            list(callmark.load(tmp_path / "cut.parquet"))


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("id,id\n1,2\n", "expected a header with the names of the columns, got the column 'id' more than once"),
        ("id,\n1,2\n", "got a column without a name"),
        ('id,text\n1,"a\n', "not valid CSV"),
        ("id,messages\nx,not JSON\n", "messages: expected a list"),
    ],
)
def test_broken_csv_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(BadInput, match=sentence):
        list(callmark.load(tmp_path / "x.csv"))


def test_missing_files_are_refused(tmp_path: Path) -> None:
    for path, sentence in (
        (tmp_path, "expected a file, or a folder of data files, got a folder with nothing in it"),
        (tmp_path / "*.jsonl", "no file matches"),
        (f"hf:{tmp_path}/none/there", "no such folder"),
    ):
        with pytest.raises(BadInput, match=sentence):
            callmark.load(path)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(ROWS, tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInput, match="Parquet is read with pyarrow, which is not installed") as raised:
        callmark.load(path)
    assert raised.value.hint == "Install it with: pip install 'callmark[parquet]'"
    with pytest.raises(BadInput, match="Parquet is written with pyarrow, which is not installed"), Output(str(tmp_path / "new.parquet")):
        pass
    assert {each.name for each in tmp_path.iterdir()} == {"rows.parquet"}


def test_a_failed_command_leaves_no_table(cli: Cli, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", *[*ROWS, {"messages": 5}])
    assert cli("convert", tmp_path / "in.jsonl", "--to", "openai", "-o", tmp_path / "out.parquet").status == 2
    assert [each.name for each in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_row_that_expands_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_ROW", 1 << 16)
    parquet.write_table(pyarrow.table({"id": ["x"] * 3, "text": ["y" * 70_000] * 3}), tmp_path / "rows.parquet")
    with pytest.raises(BadInput, match="row 1: expands to a row of more than 0 MiB"):
        list(open_rows(str(tmp_path / "rows.parquet")))


def test_a_repeated_large_value_is_held_once(tmp_path: Path) -> None:
    value = "y" * 100_000
    parquet.write_table(pyarrow.table({"id": [str(n) for n in range(2000)], "text": [value] * 2000}), tmp_path / "rows.parquet")
    before = pyarrow.total_allocated_bytes()
    rows = open_rows(str(tmp_path / "rows.parquet"))
    for number, _ in rows:
        if number == 1500:
            break
    assert pyarrow.total_allocated_bytes() - before < 5_000_000
    rows.close()


def test_structs_with_few_values_are_read_over_several_row_groups(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist([{"id": str(number), "messages": [{"role": "user", "content": "x" * 500}]} for number in range(3000)])
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=700)
    assert len(read(tmp_path / "rows.parquet")) == 3000


def test_by_reference_in_three_tables_is_the_same_as_one_file(cli: Cli, tmp_path: Path) -> None:
    chat, points, folder, back = (tmp_path / name for name in ("chat.jsonl", "points.jsonl", "points.parquet", "back.jsonl"))
    write_rows(chat, *[row(user("?"), *TALK, id=f"r{number}", tools=[WEATHER]) for number in range(3)])
    assert cli("expand", chat, "-o", points).status == 0
    assert cli("expand", chat, "--by-reference", "-o", folder).status == 0
    assert sorted(each.name for each in folder.iterdir()) == ["conversations.parquet", "records.parquet", "tools.parquet"]
    assert cli("expand", folder, "--inline", "-o", back).status == 0
    assert back.read_bytes() == points.read_bytes()
    assert cli("expand", chat, "--by-reference", "-o", folder).status == 0  # written again
    write_rows(folder / "mine.jsonl", *ROWS)
    assert "already exists, but is not a folder of cases by reference" in cli("expand", chat, "--by-reference", "-o", folder).err
