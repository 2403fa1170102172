"""Files to which several processes append: nothing is lost, nothing half-written is kept, and no link or pipe is opened."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from callmark.errors import BadInput, StorageError
from callmark.runs import event_log
from callmark.runs.event_log import append_line, read_lines

APPEND = """
import sys
from callmark.runs.event_log import append_line
for number in range(int(sys.argv[3])):
    append_line(sys.argv[1], f'{{"who":"{sys.argv[2]}","n":{number}}}'.encode())
    print(number, flush=True)
"""


def lines(path: Path) -> list[bytes]:
    return [line.rstrip(b"\n") for _, line in read_lines(str(path))]


def writer(path: Path, name: str, count: int) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", APPEND, str(path), name, str(count)], stdout=subprocess.PIPE, text=True)


def test_lines_of_two_processes_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for process in [writer(path, name, 50) for name in ("a", "b")]:
        assert process.communicate(timeout=60)[0].split()[-1] == "49"
    assert sorted(lines(path)) == sorted(f'{{"who":"{who}","n":{n}}}'.encode() for who in "ab" for n in range(50))


def test_killed_writer_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    process = writer(path, "a", 100_000)
    assert process.stdout is not None
    reported = [process.stdout.readline() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    reported += process.communicate(timeout=60)[0].splitlines()
    whole = [text for text in reported if text.endswith("\n")]
    append_line(str(path), b'{"who":"b"}')
    found = lines(path)
    assert found[: len(whole)] == [f'{{"who":"a","n":{n}}}'.encode() for n in range(len(whole))]
    assert found[-1] == b'{"who":"b"}'


@pytest.mark.parametrize(
    "before, after",
    [
        (b'{"n":1}\n{"n":2', [b'{"n":1}', b'{"n":3}']),  # a writer was killed
        (b'{"n":1}\n{"n":2}', [b'{"n":1}', b'{"n":2}', b'{"n":3}']),  # an editor left out the line break
        (b"\n", [b'{"n":3}']),
        (b"", [b'{"n":3}']),
    ],
)
def test_append_repairs_the_end_of_the_file(tmp_path: Path, before: bytes, after: list[bytes]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(before)
    append_line(str(path), b'{"n":3}')
    assert lines(path) == after


def test_links_pipes_and_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "target").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="cannot be written"):
        append_line(str(tmp_path / "link"), b"{}")
    with pytest.raises(BadInput, match="cannot be read"):
        list(read_lines(str(tmp_path / "link")))
    for name in ("pipe", "."):
        with pytest.raises(BadInput, match="expected a regular file"):
            append_line(str(tmp_path / name), b"{}")
    monkeypatch.setattr(event_log, "MAX_BYTES", 10)
    with pytest.raises(StorageError, match="and callmark reads at most"):
        append_line(str(tmp_path / "large"), b'{"n": 12345678}')
    (tmp_path / "large").write_bytes(b"x" * 11)
    with pytest.raises(BadInput, match="got more"):
        list(read_lines(str(tmp_path / "large")))
    assert (tmp_path / "target").read_text() == "secret"


def test_writer_gives_up_when_another_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setattr(event_log, "_LOCK_TIMEOUT", 0.05)
    path = tmp_path / "log.jsonl"
    with path.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StorageError, match="another process has been writing to it"):
            append_line(str(path), b"{}")
    append_line(str(path), b"{}")
    assert lines(path) == [b"{}"]
