"""The journal: predictions recorded as they come."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput, StorageError
from callmark.models.keys import Keys
from callmark.runs.journal import Journal, is_open
from callmark.types import Call, EndStates, Message, Prediction, Usage

ONE = Prediction("a", 0, (Call("look", {"id": 1}),), finish_reason="tool_calls", usage=Usage(0.25, 10, 5, 0.001, 2))
TWO = Prediction("b", 1, (), "nothing to do", "hm", "", "stop")
ERROR = Prediction("c", 0, error="no connection")

OPEN = """
import sys, time
from callmark.models.keys import Keys
from callmark.runs.journal import Journal
journal = Journal(sys.argv[1])
print("open", flush=True)
time.sleep(60)
"""


def record(path: Path, *predictions: Prediction) -> None:
    with Journal(str(path)) as journal:
        for prediction in predictions:
            journal.add(prediction)


def test_recorded_predictions_are_read_back_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "predictions.jsonl"
    record(file, ONE, TWO)
    record(file, ERROR)
    with Journal(str(file)) as journal:
        assert list(journal) == [ONE, TWO, ERROR]
        assert not journal.repaired


def test_an_empty_journal_has_no_predictions(tmp_path: Path) -> None:
    with Journal(str(tmp_path / "p.jsonl")) as journal:
        assert list(journal) == []


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_cut_off_last_line_is_removed_and_nothing_else(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "p.jsonl"
    record(file, ONE, TWO)
    whole = file.read_bytes()
    file.write_bytes(whole[: -1 - cut])
    with Journal(str(file)) as journal:
        assert journal.repaired
        assert list(journal) == [ONE]
        journal.add(TWO)
    assert file.read_bytes() == whole


def test_last_line_without_a_line_break_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    record(file, ONE, TWO)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    with Journal(str(file)) as journal:
        assert list(journal) == [ONE, TWO]
    assert file.read_bytes() == whole


def test_a_cut_off_line_longer_than_a_read_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    record(file, ONE)
    complete = file.read_bytes()
    file.write_bytes(complete + b'{"case":"b","calls":[],"text":"' + b"x" * 300_000)
    with Journal(str(file)) as journal:
        assert list(journal) == [ONE]
    assert file.read_bytes() == complete


def test_an_unreadable_line_in_the_middle_raises(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    record(file, ONE)
    file.write_bytes(b"\0\0\0\n" + file.read_bytes())
    with pytest.raises(BadInput, match="p.jsonl"), Journal(str(file)) as journal:
        list(journal)


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run" / "p.jsonl"
    file.parent.mkdir()
    with subprocess.Popen([sys.executable, "-c", OPEN, str(file)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        assert is_open(str(file))
        with pytest.raises(BadInput, match="run: in use by another process"):
            Journal(str(file))
        other.kill()
    assert not is_open(str(file))
    record(file, ONE)


def test_a_missing_file_is_not_open(tmp_path: Path) -> None:
    assert not is_open(str(tmp_path / "none"))


def test_a_missing_folder_raises_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written: No such file or directory"):
        Journal(str(tmp_path / "none" / "p.jsonl"))


def test_a_full_disk_raises_a_storage_error_and_keeps_complete_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "p.jsonl"
    write = os.write

    def write_until_full(descriptor: int, data: Any) -> int:
        """Write ten bytes, and then fail as a full disk does."""
        if os.fstat(descriptor).st_size > len(line):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, bytes(data)[:10] if os.fstat(descriptor).st_size else bytes(data))

    with Journal(str(file)) as journal:
        line = b"x" * 1000
        journal.add(ONE)
        line = file.read_bytes()
        monkeypatch.setattr("os.write", write_until_full)
        with pytest.raises(StorageError, match="p.jsonl: cannot be written: No space left on device") as raised:
            journal.add(TWO)
        assert raised.value.hint == "Earlier predictions are saved."
        assert file.read_bytes() == line
        monkeypatch.undo()  # there is space again
        journal.add(TWO)
        assert list(journal) == [ONE, TWO]


def test_a_file_size_limit_raises_a_storage_error_and_keeps_complete_lines(tmp_path: Path) -> None:
    code = """
import resource, sys
from callmark.errors import StorageError
from callmark.runs.journal import Journal
from callmark.types import Prediction
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
with Journal(sys.argv[1]) as journal:
    try:
        for number in range(100):
            journal.add(Prediction(f"case {number}", text="x" * 10))
            journal.sync()
    except StorageError as error:
        print(error)
"""
    file = tmp_path / "p.jsonl"
    done = subprocess.run([sys.executable, "-B", "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{file}: cannot be written: File too large\n"
    with Journal(str(file)) as journal:
        assert not journal.repaired
        assert [prediction.case for prediction in journal] == ["case 0"]


def test_a_disk_that_loses_writes_raises_a_storage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Journal(str(tmp_path / "p.jsonl")) as journal:
        journal.add(ONE)
        monkeypatch.setattr("callmark.runs.journal._sync", fail)
        with pytest.raises(StorageError, match="p.jsonl: cannot be written: Input/output error"):
            journal.sync()
    journal.sync()  # closed: nothing to do


def test_a_numeric_key_is_hidden_and_the_line_stays_readable(tmp_path: Path) -> None:
    leaky = Prediction(
        "12345678", 0, (Call("f", {"n": 12345678, "deep": [{"x": "is 12345678 it"}]}, "12345678"),), usage=Usage(1.5, 12345678)
    )
    file = tmp_path / "p.jsonl"
    with Journal(str(file), redact=Keys({"A_KEY": "12345678"}).redact) as journal:
        journal.add(leaky)
        journal.add(TWO)
    with Journal(str(file)) as journal:
        first, second = journal
    assert first == Prediction("12345678", 0, (Call("f", {"n": "…", "deep": [{"x": "is … it"}]}, "…"),), usage=Usage(1.5, 12345678))
    assert second == TWO


def test_a_key_is_hidden_everywhere_in_a_conversation(tmp_path: Path) -> None:
    key = "sk-abcdefgh-1"
    conversation = (
        Message("user", f"use {key}"),
        Message("assistant", "", (Call("f", {"token": key}, f"c-{key}"),)),
        Message("tool", f"is {key}", (), f"c-{key}", "f"),
    )
    states = EndStates({"t": {f"1{key}": {"k": key}}}, {"t": {"1": None}}, (f"t/1{key}",), (), f"for {key}")
    file = tmp_path / "p.jsonl"
    with Journal(str(file), redact=Keys({"A_KEY": key}).redact) as journal:
        journal.add(Prediction("a", 0, (Call("f", {"token": key}, "c1"),), transcript=conversation, ending="goodbye", states=states))
    assert key not in file.read_text(encoding="utf-8")
    with Journal(str(file)) as journal:
        (read,) = journal
    assert [message.text for message in read.transcript] == ["use …", "", "is …"]
    assert read.transcript[1].calls[0].arguments == {"token": "…"}
    assert read.transcript[1].calls[0].id == read.transcript[2].tool_call_id == "c-…"
    assert read.states == EndStates({"t": {"1…": {"k": "…"}}}, {"t": {"1": None}}, ("t/1…",), (), "for …")
