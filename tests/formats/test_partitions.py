"""Files are divided into parts whose rows, places and definitions are those of the whole."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from callmark.errors import BadInput
from callmark.formats.file_sets import FileSetRows
from callmark.formats.partitions import Partition, PartitionRows, Scan, plan, scan_file


def partitions(files: Sequence[Path], size: int, *, by_reference: bool = False) -> list[Partition]:
    return plan([scan_file(Scan(str(file), by_reference, size)) for file in files])


def read(partition: Partition) -> list[tuple[str, bytes]]:
    """Return the rows of a partition with their places, those that it only needs as definitions in brackets."""
    rows = PartitionRows(partition)
    return [(f"({rows.place(number)})" if rows.is_definition else str(rows.place(number)), row.strip()) for number, row in rows]


def read_all(parts: Sequence[Partition]) -> list[tuple[str, bytes]]:
    return [row for part in parts for row in read(part) if not row[0].startswith("(")]


def as_one(folder: Path) -> list[tuple[str, bytes]]:
    rows = FileSetRows(str(folder))
    return [(str(rows.place(number)), row.strip()) for number, row in rows]


lines = st.lists(st.sampled_from([b'{"a": 1}', b"{}", b"", b"  ", b'{"text": "' + b"x" * 50 + b'"}', b"not JSON"]), max_size=12)


@pytest.mark.laws
@given(files=st.lists(st.tuples(lines, st.sampled_from([b"", b"\n", b"\n\n "])), min_size=1, max_size=3), size=st.integers(1, 200))
def test_the_rows_of_all_partitions_are_the_rows_of_the_files(
    files: list[tuple[list[bytes], bytes]], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    for number, (content, end) in enumerate(files):
        (folder / f"{number}.jsonl").write_bytes(b"\n".join([b'{"first": 1}', *content]) + end)
    found = partitions(sorted(folder.iterdir()), size)
    assert read_all(found) == as_one(folder)
    numbers = [number for part in found for number, _ in PartitionRows(part)]
    assert numbers == [number for number, _ in FileSetRows(str(folder))]


def test_partitions_are_about_as_large_as_they_should_be(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"a": 1}\n' * 100)
    sizes = [part.end - part.start for part in partitions([file], 90)]
    assert sizes == [90] * 10


@pytest.mark.parametrize("block", [1, 7, 64])
def test_lines_that_span_blocks_are_counted_once(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callmark.formats.partitions._BLOCK", block)
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n{"b": "' + b"y" * 30 + b'"}\n \n{"c": 3}\n\n')
    assert [place for place, _ in read_all(partitions([file], 20))] == [f"{file}, line {number}" for number in (1, 3, 5)]
    assert read_all(partitions([file], 20)) == as_one(tmp_path)


def test_empty_files_have_no_partition(tmp_path: Path) -> None:
    for name, text in (("a.jsonl", '{"a": 1}\n'), ("b.jsonl", ""), ("c.jsonl", '{"c": 1}')):
        (tmp_path / name).write_text(text)
    found = partitions(sorted(tmp_path.iterdir()), 1000)
    assert [(part.number, Path(part.name).name, part.before) for part in found] == [(0, "a.jsonl", 0), (1, "c.jsonl", 1)]


def test_row_groups_of_parquet_are_divided_and_numbered(tmp_path: Path) -> None:
    for name in ("a", "b"):
        table = pyarrow.table({"id": [f"{name}{number}" for number in range(10)]})
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=3)
    found = partitions(sorted(tmp_path.iterdir()), 1)
    assert len(found) == 8
    assert read_all(found) == as_one(tmp_path)
    assert read(found[5])[0][0] == f"{tmp_path}/b.parquet, row 4"
    assert len(partitions(sorted(tmp_path.iterdir()), 1 << 20)) == 2


def reference_lines(names: Sequence[str], *, tools: bool = True) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"tools": {"id": "t", "tools": []}}] if tools else []
    for name in names:
        rows.append({"conversation": {"id": name, "messages": [], "tools_ref": "t"}})
        rows += [{"id": f"{name}{number}", "source": {"conversation": name, "message": 0}} for number in range(3)]
    return rows


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def keys(partition: Partition) -> list[str]:
    return [definition.key for definition in partition.definitions]


def test_a_conversation_stays_together_and_its_tools_are_read_first(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "rows.jsonl", reference_lines("ab"))
    first, second = partitions([file], 200, by_reference=True)
    assert [row for _, row in read(first)] == [line.encode() for line in file.read_text().splitlines()[:5]]
    assert keys(second) == ["tools:t"]
    assert [place for place, _ in read(second)][:2] == [f"({file}, line 1)", f"{file}, line 6"]


def test_a_long_conversation_is_divided_and_defined_again(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "rows.jsonl", reference_lines("a"))
    *_, last = partitions([file], 40, by_reference=True)
    assert keys(last) == ["tools:t", "conversation:a"]
    assert [place for place, _ in read(last)][:2] == [f"({file}, line 1)", f"({file}, line 2)"]


def test_records_find_conversations_of_earlier_files(tmp_path: Path) -> None:
    rows = reference_lines("ab")
    first = write_rows(tmp_path / "1.jsonl", [row for row in rows if "source" not in row])
    second = write_rows(tmp_path / "2.jsonl", [row for row in rows if "source" in row][::-1])
    _, part = partitions([first, second], 1000, by_reference=True)
    assert keys(part) == ["tools:t", "conversation:b", "conversation:a"]
    assert [place for place, _ in read(part)][1:4] == [f"({first}, line 3)", f"({first}, line 2)", f"{second}, line 1"]


def test_a_repeated_definition_is_read_after_the_first_one(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "1.jsonl", reference_lines("a"))
    second = write_rows(tmp_path / "2.jsonl", reference_lines("a", tools=False))
    _, part = partitions([first, second], 1000, by_reference=True)
    assert keys(part) == ["tools:t", "conversation:a"]


def test_a_conversation_that_is_nowhere_is_left_to_the_reader(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "rows.jsonl", [{"id": "x", "source": {"conversation": "a", "message": 0}}, {"broken": 1}])
    (part,) = partitions([file], 1000, by_reference=True)
    assert keys(part) == []


@pytest.mark.parametrize(
    "name, content, problem",
    [
        ("rows.json", b'[{"a": 1}]', "expected a Parquet file, or a JSONL file without compression"),
        ("rows.csv", b"a\n1\n", "expected a Parquet file, or a JSONL file without compression"),
        ("rows.jsonl", gzip.compress(b"{}\n", mtime=0), "expected a Parquet file, or a JSONL file without compression"),
    ],
)
def test_files_that_cannot_be_divided_are_refused(name: str, content: bytes, problem: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(BadInput, match=f"{name}: cannot be divided into partitions: {problem}"):
        scan_file(Scan(str(file)))


def test_a_file_that_changes_after_the_scan_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("{}\n")
    (part,) = partitions([file], 100)
    file.write_text("{}\n{}\n")
    with pytest.raises(BadInput, match="rows.jsonl: the file has changed since it was divided into partitions"):
        read(part)
