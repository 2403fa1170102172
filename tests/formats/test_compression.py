"""Files compressed with zstd: detected by their first bytes, written by their names."""

import gzip
import io
import sys
import tracemalloc
from pathlib import Path

import pytest

import callmark
from callmark.errors import BadInput
from callmark.formats import rows
from callmark.formats.output import write_lines
from callmark.formats.rows import Rows

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SKIPPABLE = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"none"


def rows_of(path: Path | str) -> list[tuple[int, bytes]]:
    return [(number, row.strip()) for number, row in Rows(str(path))]


@pytest.mark.parametrize(
    "data, found",
    [
        (zstd.compress(b'{"a":1}\n\n{"a":2}\n'), [(1, b'{"a":1}'), (3, b'{"a":2}')]),
        (zstd.compress(b'\xef\xbb\xbf\n\n{"a":1}\n'), [(3, b'{"a":1}')]),
        (zstd.compress(b'{"a":1}\n{"a"') + zstd.compress(b":2}\n"), [(1, b'{"a":1}'), (2, b'{"a":2}')]),
        (SKIPPABLE + zstd.compress(b'{"a":1}') + SKIPPABLE, [(1, b'{"a":1}')]),
        (zstd.compress(b'[{"a":1},\n{"a":2}]'), [(1, b'{"a":1}'), (2, b'{"a":2}')]),
        (zstd.compress(b""), []),
    ],
)
def test_rows_are_read_whatever_the_name_and_the_frames(tmp_path: Path, data: bytes, found: list[tuple[int, bytes]]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(data)
    assert rows_of(path) == found


def test_standard_input_may_be_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = zstd.compress(b'{"a": 1}\n' * 1000)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed))))
    assert len(rows_of("-")) == 1000


def test_truncated_or_damaged_file_is_reported_after_a_row(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.zst"
    whole = zstd.compress(b'{"a": 1}\n' * 3)
    for data in (whole + zstd.compress(b'{"a": 2}\n')[:-5], whole + b"trailing", whole + bytes([*whole[:-4], 0, 0, 0, 0])):
        path.write_bytes(data)
        read: list[int] = []
        with pytest.raises(BadInput, match=r"x.jsonl.zst: the zstd file is truncated or damaged after line \d+ \("):
            read.extend(number for number, _ in Rows(str(path)))
    path.write_bytes(whole[:9])
    with pytest.raises(BadInput, match=r"x.jsonl.zst: the zstd file is truncated or damaged \("):
        Rows(str(path))


def test_a_cut_gzip_file_says_after_which_row(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 3) + gzip.compress(b'{"a": 1}\n')[:12])
    with pytest.raises(BadInput, match=r"the gzip file is truncated or damaged after line 3 \("):
        list(Rows(str(path)))


def test_a_window_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zst"
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 30})
    path.write_bytes(compressor.compress(b'{"a": 1}\n' * 100) + compressor.flush())
    with pytest.raises(BadInput, match="requires too much memory"):
        Rows(str(path))


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b'{"a": 1}\n{"a": "' + b"a" * 3_000_000, "x.zst, line 2: the zstd file expands to a row of more than 1 MiB"),
        (b'{"a": "' + b"a" * 3_000_000, "x.zst, line 1: the zstd file expands to a row of more than 1 MiB"),
        (b" " * 3_000_000, "x.zst, line 1: the zstd file expands to a row of more than 1 MiB"),
        (b'[1,\n"' + b"a" * 3_000_000, "x.zst, item 2: the zstd file expands to a row of more than 1 MiB"),
        (b"[1," + b"\n" * 3_000_000, "x.zst, item 2: the zstd file expands to a row of more than 1 MiB"),
        (b"[1" + b"\n" * 3_000_000, "x.zst, item 1: the zstd file expands to a row of more than 1 MiB"),
        (b'{\n"a": "' + b"a" * 3_000_000, "x.zst, item 1: the zstd file expands to a row of more than 1 MiB"),
        (b"\n" * 1001, "x.zst, line 1,001: the zstd file expands to more than 1,000 consecutive blank lines"),
        (b'{"a": 1}\n' + b"\n" * 1001, "x.zst, line 1,002: the zstd file expands to more than 1,000 consecutive blank lines"),
    ],
)
def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, sentence: str) -> None:
    monkeypatch.setattr(rows, "MAX_ROW", 1 << 20)
    monkeypatch.setattr(rows, "MAX_BLANK_LINES", 1000)
    path = tmp_path / "x.zst"
    path.write_bytes(zstd.compress(content))
    with pytest.raises(BadInput, match=sentence):
        list(Rows(str(path)))


def test_a_bomb_read_as_a_whole_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_ROW", 1 << 20)
    path = tmp_path / "tools.json.zst"
    path.write_bytes(zstd.compress(b"[" + b"\n1," * 3_000_000))
    with pytest.raises(BadInput, match="tools.json.zst: the zstd file expands to a file of more than 1 MiB") as raised:
        callmark.formats.load_tools(str(path))
    assert raised.value.hint == "If you trust it, decompress it first: plain files have no such limit."


@pytest.mark.parametrize("line", [b"\n", b'{"a": 1}\n'])
def test_a_large_file_is_read_row_by_row(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "x.zst"
    path.write_bytes(zstd.compress(line * 200_000))
    tracemalloc.start()
    try:
        for _ in Rows(str(path)):
            pass
        assert tracemalloc.get_traced_memory()[1] < 1_400_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["x.jsonl.zst", "x.jsonl.gz"])
def test_compression_by_file_name_is_deterministic(tmp_path: Path, name: str) -> None:
    lines = [b'{"messages":[{"role":"user","content":"x"}]}'] * 50
    for folder in ("one", "two"):
        assert write_lines(str(tmp_path / folder / name), lines) == 50
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (tmp_path / "one" / name).stat().st_size < 300
    assert len(list(callmark.load(tmp_path / "one" / name))) == 50


def test_a_file_that_needs_a_dictionary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zst"
    samples = [b'{"messages": [{"role": "user", "content": "%d"}]}' % number for number in range(2000)]
    path.write_bytes(zstd.compress(samples[0], zstd_dict=zstd.train_dict(samples, 1024)))
    with pytest.raises(BadInput, match=r"x.zst: the zstd file was compressed with an external dictionary"):
        Rows(str(path))
