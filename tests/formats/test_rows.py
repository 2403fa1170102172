import gzip
import io
from pathlib import Path

import pytest

from callmark.errors import BadInput
from callmark.formats.rows import Rows


def rows_of(path: Path) -> list[tuple[int, bytes]]:
    return [(number, row.strip()) for number, row in Rows(str(path))]


@pytest.mark.parametrize(
    "text, rows, unit",
    [
        (b'{"a":1}\n{"a":2}\n', [(1, b'{"a":1}'), (2, b'{"a":2}')], "line"),
        (b'{"a":1}\n\n  \n{"a":2}', [(1, b'{"a":1}'), (4, b'{"a":2}')], "line"),
        (b'{"a":1}\r\n{"a":2}\r\n', [(1, b'{"a":1}'), (2, b'{"a":2}')], "line"),
        (b'\xef\xbb\xbf{"a":1}\n', [(1, b'{"a":1}')], "line"),
        (b'[{"a":1},{"a":2}]', [(1, b'{"a":1}'), (2, b'{"a":2}')], "item"),
        (b' \n[\n {"a":\n 1},\n {"a":2}]\n', [(1, b'{"a":1}'), (2, b'{"a":2}')], "item"),
        (b'{\n  "a": 1\n}\n', [(1, b'{"a":1}')], "item"),
        (b'{"a": [1,\n 2]}\n', [(1, b'{"a":[1,2]}')], "item"),
        (b'{"a": 1,\n{"a": 2}\n', [(1, b'{"a": 1,'), (2, b'{"a": 2}')], "line"),
        (b"[]", [], "item"),
        (b"", [], "line"),
    ],
)
def test_files_are_split_into_rows(tmp_path: Path, text: bytes, rows: list[tuple[int, bytes]], unit: str) -> None:
    path = tmp_path / "rows"
    path.write_bytes(text)
    assert rows_of(path) == rows
    opened = Rows(str(path))
    list(opened)
    assert opened.unit == unit
    packed = tmp_path / "rows.gz"
    packed.write_bytes(gzip.compress(text))
    assert rows_of(packed) == rows


def test_a_cut_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 100_000)[:-200])
    with pytest.raises(BadInput, match="cut.jsonl.gz: the gzip file is truncated or damaged"):
        list(Rows(str(path)))


@pytest.mark.parametrize(
    "data, sentence",
    [
        (b"\x00\x01\x02", "expected JSON or JSONL, got a binary file"),
        ('{"a": 1}'.encode("utf-16"), "expected UTF-8, got UTF-16"),
    ],
)
def test_binary_files_are_refused(tmp_path: Path, data: bytes, sentence: str) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=sentence):
        Rows(str(path))


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere.jsonl: no such file"):
        Rows(str(tmp_path / "nowhere.jsonl"))
    (tmp_path / "train.jsonl").write_text("{}")
    with pytest.raises(BadInput, match="expected a file, got a directory") as raised:
        Rows(str(tmp_path))
    assert "train.jsonl" in raised.value.hint


def test_truncated_array_is_reported_with_its_column(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_bytes(b'[{"a": 1}, {"a": ')
    with pytest.raises(BadInput, match="cut.json: not valid JSON: the file ends at column 16, before it is complete"):
        list(Rows(str(path)))


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'{"a": 1}\n'))))
    rows = Rows("-")
    assert rows.name == "standard input"
    assert list(rows) == [(1, b'{"a": 1}\n')]
