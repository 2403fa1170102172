import gzip
import io
import tracemalloc
from pathlib import Path

import pytest

from callmark.errors import BadInput
from callmark.formats import json_array
from callmark.formats.json_array import ValueReader
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


@pytest.mark.parametrize(
    "text, items, sentence",
    [
        (b'[{"a": 1}, {"a": ', 1, "x.json, item 2: not valid JSON: the row ends at column 6, before it is complete"),
        (b'[\n  {"a": 1},\n  {"a": "b', 1, "x.json, item 2: not valid JSON: the row ends at column 8 inside a string"),
        (b'[{"a": 1}, {"a" 2}]', 1, "x.json, item 2: not valid JSON: expected a colon at column 6, got '2}]'"),
        (b'[{"a": 1},]', 1, "x.json, item 2: not valid JSON: expected a JSON value at column 1, got ']'"),
        (b'[{"a": 1} {"a": 2}]', 1, """x.json: not valid JSON: expected a comma or ] after item 1, got '{"a": 2}]'"""),
        (b'[{"a": 1}', 1, "x.json: not valid JSON: expected a comma or ] after item 1, got the end of the file"),
        (b"[", 0, "x.json, item 1: not valid JSON: the row is empty"),
        (b"[1]x", 1, "x.json: not valid JSON: expected the end of the file after the array of 1 items, got 'x'"),
        (b"[1, " + b"[" * 100_000, 1, "x.json, item 2: nested too deeply to read (the limit is about 1,000 levels)"),
    ],
)
def test_a_broken_array_is_refused_after_the_items_before(tmp_path: Path, text: bytes, items: int, sentence: str) -> None:
    for path, data in ((tmp_path / "x.json", text), (tmp_path / "x.gz", gzip.compress(text))):
        path.write_bytes(data)
        read: list[int] = []
        with pytest.raises(BadInput) as raised:
            read.extend(number for number, _ in Rows(str(path), "x.json"))
        assert (str(raised.value), len(read)) == (sentence, items)


@pytest.mark.parametrize("buffer", [1, 2, 7, 1 << 18])
@pytest.mark.parametrize("separator", [b",", b" , ", b",\n  "])
def test_items_are_found_wherever_the_buffer_ends(monkeypatch: pytest.MonkeyPatch, buffer: int, separator: bytes) -> None:
    numbers = [b"-12.5e+3", b"1E-5", b"-0"]
    items = [
        b"{}",
        b'{"a": "]}\\"[{"}',
        *numbers,
        b'"\\\\"',
        b"[[], [1, [2]]]",
        b"null",
        b"true",
        '{"é": "€𝄞"}'.encode(),
        b'{"a":' + b" " * 50 + b"1}",
    ]
    monkeypatch.setattr(json_array, "BUFFER", buffer)
    text = b" [" + separator.join(items) + b"]\n"
    assert list(ValueReader(b"", io.BytesIO(text).read).items()) == items
    assert list(ValueReader(text[:5], io.BytesIO(text[5:]).read, limit=100).items()) == items


@pytest.mark.parametrize("layout", ["one line", "many lines"])
def test_an_array_is_streamed(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "x.json"
    separator = b"," if layout == "one line" else b",\n"
    path.write_bytes(b"[" + separator.join([b'{"a": "%b"}' % (b"x" * 1000)] * 5000) + b"]")
    tracemalloc.start()
    try:
        assert sum(1 for _ in Rows(str(path))) == 5000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text, rows",
    [
        (b'[1]\n\n{"a":1}\n', [(1, b"[1]"), (3, b'{"a":1}')]),
        (b'{"a": 1,\n\n{"a": 2}\n{"a": 3}', [(1, b'{"a": 1,'), (3, b'{"a": 2}'), (4, b'{"a": 3}')]),
        (b'{"a":\n1}\n{"a": 2}\n', [(1, b'{"a":'), (2, b"1}"), (3, b'{"a": 2}')]),
        (b"[1]\n\n", [(1, b"1")]),
        (b" " * 600_000 + b'\n{"a":1}', [(2, b'{"a":1}')]),
        (b" " * 600_000 + b'{"a":1}\n{"a":2}', [(1, b'{"a":1}'), (2, b'{"a":2}')]),
    ],
)
def test_lines_that_look_like_an_array_or_an_object_are_still_lines(tmp_path: Path, text: bytes, rows: list[tuple[int, bytes]]) -> None:
    for data in (text, gzip.compress(text)):
        (tmp_path / "x").write_bytes(data)
        assert rows_of(tmp_path / "x") == rows


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'{"a": 1}\n'))))
    rows = Rows("-")
    assert rows.name == "standard input"
    assert list(rows) == [(1, b'{"a": 1}\n')]
