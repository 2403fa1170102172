"""What people see when something is wrong: one sentence, exit 2, no traceback."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.rows import assistant, call, result, row, user, write_rows

GOOD = row(user("hi 1"), assistant(call("f", {"a": 1})), result("1"))
COMMANDS = (["stats"], ["show"], ["lint"], ["filter", "--grounded", "-o"], ["expand", "-o"])


def every(command: list[str], path: Path, folder: Path) -> list[str | Path]:
    """The command line of a command that reads `path`."""
    out = [folder / "out.jsonl"] if command[-1] == "-o" else []
    return [*command, *out, path]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "is empty: there is no row in it."),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is not a text file, JSON or JSONL was expected."),
        (b'{"messages": [{"role": "user", "content": "cut', "line 1: the row is not JSON, it ends at column 46 inside a string."),
        (b'{"messages": 5}\n', "line 1: messages is a number, a list of messages was expected."),
        (
            b'{"messages": [{"role": "assistant", "tool_calls": 5}]}',
            "line 1: messages[0].tool_calls is a number, a list of calls was expected.",
        ),
        (
            b'{"messages": [], "x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
            "line 1: the row nests too deep to be read (about 1,000 levels is the most).",
        ),
        (b'{"messages": [{"role": "user", "content": "\xff"}]}', "line 1: the row is not UTF-8 text, byte 0xff at column 44."),
        (
            b'{"a": 1}',
            "line 1: no dialect recognises the row: its keys are a; messages, conversations or expected_function_calls was expected.",
        ),
        (gzip.compress(b'{"messages": []}', mtime=0)[:-9], "is a gzip file that is cut off or damaged"),
    ],
)
def test_a_file_that_cannot_be_used(cli: Cli, tmp_path: Path, command: list[str], content: bytes, sentence: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    done = cli(*every(command, path, tmp_path))
    assert done.status == 2
    assert done.err.startswith("callmark: ")
    assert sentence in done.err
    assert "bad.jsonl" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_missing_file_and_a_directory(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    missing = cli(*every(command, tmp_path / "nowhere.jsonl", tmp_path))
    assert (missing.status, missing.err) == (2, f"callmark: there is no file {tmp_path / 'nowhere.jsonl'}.\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    directory = cli(*every(command, folder, tmp_path))
    assert (directory.status, directory.err) == (2, f"callmark: {folder} is a directory, a file was expected.\n")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_bad_rows_are_skipped_counted_and_kept_when_asked(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b'\n{"messages": 5}\n{"messages": [\n\xff\n' + json.dumps(GOOD).encode() + b"\n")
    stopped = cli(*every(command, path, tmp_path), *(["--row", "5"] if command[0] == "show" else []))
    assert stopped.status == 2
    assert "line 2: messages is a number" in stopped.err
    assert "Repair it, or pass --skip-bad to go on without it (--rejects FILE keeps such rows)." in stopped.err
    rejects = tmp_path / "rejects.jsonl"
    done = cli(*every(command, path, tmp_path), "--skip-bad", "--rejects", rejects, *(["--row", "5"] if command[0] == "show" else []))
    assert done.status == 0
    assert f"callmark: 3 rows could not be read and were skipped, kept in {rejects}." in done.err
    told = [json.loads(line) for line in rejects.read_text().splitlines()]
    told = [one for one in told if isinstance(one["reason"], str)]
    assert [one["line"] for one in told] == [2, 3, 4]
    assert told[0]["text"] == '{"messages": 5}'
    assert told[2]["base64"] == "/wo="
    assert "UTF-8" in told[2]["reason"]


def test_lint_reports_bad_rows_as_findings_when_they_are_skipped(cli: Cli, tmp_path: Path) -> None:
    done = cli("lint", write_rows(tmp_path / "x.jsonl", GOOD, "{"), "--skip-bad", "--json")
    assert json.loads(done.out)["summary"] == {"broken_row": 1}


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["stat"], "there is no command called 'stat'. Did you mean stats?"),
        (["stats", "x.jsonl", "--from", "opnai"], "there is no dialect called 'opnai'. Did you mean openai?"),
        (["stats"], "Missing argument 'FILE...'"),
        (["stats", "x.jsonl", "--jsn"], "No such option"),
        (["filter", "x.jsonl", "-o", "y.jsonl"], "no rule was given, so every row would be kept."),
        (
            ["filter", "x.jsonl", "-o", "y.jsonl", "--require", "a >"],
            "the pattern 'a >' cannot be read: at character 4 stands the end, a tool's name was expected.",
        ),
        (["show", "x.jsonl", "--row", "1", "--most-calls"], "only one of them can be given."),
        (["show", "x.jsonl", "--row", "9"], "x.jsonl has no row 9: it has 1 row."),
        (["show", "x.jsonl", "--id", "z"], "of 1 row none has the id 'z'."),
        (["show", "x.jsonl", "--search", "zebra"], "of 1 row none has 'zebra' in it."),
        (["expand", "x.jsonl", "-o", "."], ". is a directory, a file to write was expected."),
        (["expand", "x.jsonl", "-o", "x.jsonl/y"], "x.jsonl/y cannot be written: "),
        (["stats", "x.jsonl", "--rejects", "y.jsonl"], "--rejects keeps rows that are skipped, so it needs --skip-bad."),
        (
            ["filter", "x.jsonl", "-o", "y.jsonl", "--require", "a(x=$result)"],
            "there is no step before the first, so $result is nothing there.",
        ),
        (["filter", "x.jsonl", "-o", "y.jsonl", "--require", "a > b(x=$results)"], "stands '$results)', a value or $result was expected."),
        (["stats", "x.jsonl", "--tools", "nowhere.json"], "there is no file nowhere.json."),
        (["stats", "x.jsonl", "--tools", "x.jsonl"], "x.jsonl: tools is not a list, a list of tools was expected."),
    ],
)
def test_a_command_line_that_cannot_be_done(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "x.jsonl", GOOD)
    done = cli(*arguments)
    assert done.status == 2
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_debug_shows_the_traceback_as_well() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "callmark", "stats", "nowhere.jsonl", "--debug"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert "callmark: there is no file nowhere.jsonl." in done.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", *[GOOD] * 20_000)
    done = subprocess.run(
        f"{sys.executable} -m callmark expand {path} -o - | head -1", shell=True, capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["id"] == "1:1"
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


def test_standard_input_and_output(tmp_path: Path) -> None:
    line = json.dumps(GOOD) + "\n"
    command = [sys.executable, "-m", "callmark"]
    cut = subprocess.run([*command, "expand", "-", "-o", "-"], input=line, capture_output=True, text=True, check=True)
    assert json.loads(cut.stdout)["expected_output"]["tool_calls"][0]["function"]["name"] == "f"
    assert "1 decision point → standard output" in cut.stderr
    counted = subprocess.run([*command, "stats", "-", "--json"], input=line, capture_output=True, text=True, check=True)
    assert json.loads(counted.stdout)["tool_calls"]["total"] == 1


def test_what_is_written_is_whole_or_not_there(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("before")
    path = write_rows(tmp_path / "x.jsonl", GOOD, "{")
    assert cli("expand", path, "-o", out).status == 2
    assert out.read_text() == "before"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.jsonl", "x.jsonl"]


def test_a_full_disk_is_said(cli: Cli, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    done = cli("expand", write_rows(tmp_path / "x.jsonl", GOOD), "-o", "/dev/full")
    assert done.status == 2
    assert "/dev/full cannot be written: No space left on device." in done.err


def test_filtering_a_file_into_itself_keeps_what_was_asked_for(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", GOOD, row(user("no call")))
    assert cli("filter", path, "-o", path, "--min-calls", "1").status == 0
    assert path.read_text() == json.dumps(GOOD) + "\n"


def test_output_with_gz_is_compressed(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", GOOD)
    cli("expand", path, "-o", tmp_path / "eval.jsonl.gz")
    assert json.loads(gzip.decompress((tmp_path / "eval.jsonl.gz").read_bytes()))["id"] == "1:1"
    assert json.loads(cli("stats", tmp_path / "eval.jsonl.gz", "--json").out)["conversations"] == 1
