"""Errors: one sentence, exit status 2, no traceback."""

import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.graded_runs import make_run, some
from tests.rows import assistant, call, result, row, user, write_rows

GOOD = row(user("hi 1"), assistant(call("f", {"a": 1})), result("1"))
COMMANDS = (["stats"], ["show"], ["lint"], ["filter", "--grounded", "-o"], ["expand", "-o"])


def command_line(command: list[str], path: Path, folder: Path) -> list[str | Path]:
    """Return the command line that reads `path`."""
    out = [folder / "out.jsonl"] if command[-1] == "-o" else []
    return [*command, *out, path]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", " is empty."),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "expected JSON or JSONL, got a binary file."),
        (b'{"messages": [{"role": "user", "content": "cut', "line 1: not valid JSON: the row ends at column 46 inside a string."),
        (b'{"messages": 5}\n', "line 1: messages: expected a list of messages, got a number."),
        (
            b'{"messages": [{"role": "assistant", "tool_calls": 5}]}',
            "line 1: messages[0].tool_calls: expected a list of calls, got a number.",
        ),
        (
            b'{"messages": [], "x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
            "line 1: nested too deeply to read (the limit is about 1,000 levels).",
        ),
        (b'{"messages": [{"role": "user", "content": "\xff"}]}', "line 1: not valid UTF-8: byte 0xff at column 44."),
        (
            b'{"a": 1}',
            "line 1: unknown format: expected the key messages, conversations or expected_function_calls, got the key a.",
        ),
        (gzip.compress(b'{"messages": []}', mtime=0)[:-9], "the gzip file is truncated or damaged"),
    ],
)
def test_unreadable_files_are_reported_with_the_reason(cli: Cli, tmp_path: Path, command: list[str], content: bytes, sentence: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    completed = cli(*command_line(command, path, tmp_path))
    assert completed.status == 2
    assert completed.err.startswith("callmark: ")
    assert sentence in completed.err
    assert "bad.jsonl" in completed.err
    assert "Traceback" not in completed.err
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_missing_file_and_directory_are_refused(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    missing = cli(*command_line(command, tmp_path / "nowhere.jsonl", tmp_path))
    assert (missing.status, missing.err) == (2, f"callmark: {tmp_path / 'nowhere.jsonl'}: no such file.\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    directory = cli(*command_line(command, folder, tmp_path))
    problem = f"callmark: {folder}: expected a file, or a folder of data files, got a folder with nothing in it.\n"
    assert directory.status == 2
    assert directory.err.startswith(problem)


def test_command_without_skip_bad_does_not_suggest_it(cli: Cli, tmp_path: Path) -> None:
    stopped = cli("tools", write_rows(tmp_path / "x.jsonl", "{"))
    assert (stopped.status, stopped.err.splitlines()[-1]) == (2, "Fix the row.")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_bad_rows_are_skipped_counted_and_rejected_on_request(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b'\n{"messages": 5}\n{"messages": [\n\xff\n' + json.dumps(GOOD).encode() + b"\n")
    stopped = cli(*command_line(command, path, tmp_path), *(["--row", "5"] if command[0] == "show" else []))
    assert stopped.status == 2
    assert "line 2: messages: expected a list of messages, got a number" in stopped.err
    assert "Fix the row, or pass --skip-bad to continue without it (--rejects FILE saves the skipped rows)." in stopped.err
    rejects = tmp_path / "rejects.jsonl"
    completed = cli(
        *command_line(command, path, tmp_path), "--skip-bad", "--rejects", rejects, *(["--row", "5"] if command[0] == "show" else [])
    )
    assert completed.status == 0
    assert f"callmark: 3 rows could not be read and were skipped (saved to {rejects})." in completed.err
    payload = [json.loads(line) for line in rejects.read_text().splitlines()]
    payload = [one for one in payload if isinstance(one["reason"], str)]
    assert [one["line"] for one in payload] == [2, 3, 4]
    assert payload[0]["text"] == '{"messages": 5}'
    assert payload[2]["base64"] == "/wo="
    assert "UTF-8" in payload[2]["reason"]


def test_lint_reports_skipped_bad_rows_as_findings(cli: Cli, tmp_path: Path) -> None:
    completed = cli("lint", write_rows(tmp_path / "x.jsonl", GOOD, "{"), "--skip-bad", "--json")
    assert json.loads(completed.out)["summary"] == {"broken_row": 1}


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["stat"], "unknown command 'stat'. Did you mean stats?"),
        (["stats", "x.jsonl", "--from", "opnai"], "unknown format 'opnai'. Did you mean openai?"),
        (["stats"], "missing argument FILE."),
        (["stats", "x.jsonl", "--jsn"], "unknown option '--jsn'. Did you mean --json?"),
        (["stats", "--rejects"], "--rejects: expected a value."),
        (["stats", "x.jsonl", "--json=1"], "--json does not take a value."),
        (["show", "x.jsonl", "y.jsonl"], "unexpected argument: y.jsonl."),
        (["grade", "x.jsonl", "y.jsonl"], "unexpected argument: y.jsonl.\nPass predictions with --predictions FILE.\n"),
        (["demo", "motel"], "expected store, hotel or chatbot, got 'motel'."),
        (["export", "result"], "unknown command 'result'. Did you mean results?"),
        (["filter", "x.jsonl", "-o", "y.jsonl"], "no filter rule given."),
        (
            ["filter", "x.jsonl", "-o", "y.jsonl", "--require", "a >"],
            "pattern 'a >', character 4: expected a tool name, got the end of the pattern.",
        ),
        (
            ["show", "x.jsonl", "--row", "1", "--most-calls"],
            "only one of --row, --id, --most-calls and --search can be given: each selects a row.",
        ),
        (["show", "x.jsonl", "--row", "9"], "x.jsonl: no row 9; the file has 1 row."),
        (["show", "x.jsonl", "--id", "z"], "no row has the ID 'z' (1 row read)."),
        (["show", "x.jsonl", "--search", "zebra"], "no row contains 'zebra' (1 row read)."),
        (["expand", "x.jsonl", "-o", "."], ".: expected a file to write, got a directory."),
        (["expand", "x.jsonl", "-o", "x.jsonl/y"], "x.jsonl/y: cannot be written: x.jsonl is a file, not a folder."),
        (["stats", "x.jsonl", "--rejects", "y.jsonl"], "--rejects needs --skip-bad: it saves the rows that are skipped."),
        (
            ["filter", "x.jsonl", "-o", "y.jsonl", "--require", "a(x=$result)"],
            "$result is the result of the previous step, so it cannot be used in the first step.",
        ),
        (
            ["filter", "x.jsonl", "-o", "y.jsonl", "--require", "a > b(x=$results)"],
            "character 9: expected a value or $result, got '$results)'.",
        ),
        (["stats", "x.jsonl", "--tools", "nowhere.json"], "nowhere.json: no such file."),
        (["stats", "x.jsonl", "--tools", "x.jsonl"], "x.jsonl: expected a list of tools, got an object."),
        (["run", "x.jsonl", "--resume"], "x.jsonl: expected a run folder to resume, got a file."),
        (["simulate", "x.jsonl", "--resume"], "x.jsonl: expected a run folder to resume, got a file."),
        (["gate", "x.jsonl", "--max-errors", "0"], "x.jsonl: expected a run folder, got a file."),
    ],
)
def test_invalid_command_lines_are_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "x.jsonl", GOOD)
    completed = cli(*arguments)
    assert completed.status == 2
    assert sentence in completed.err
    assert "Traceback" not in completed.err


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["compare", "base", "tuned"], "base: no such run. Did you mean runs/base?"),
        (["report", "base"], "base: no such run. Did you mean runs/base?"),
        (["gate", "base", "--max-errors", "0"], "base: no such run. Did you mean runs/base?"),
        (["export", "results", "base", "--to", "csv"], "base: no such run. Did you mean runs/base?"),
        (["run", "base", "--resume"], "base: no such run. Did you mean runs/base?"),
        (["simulate", "base", "--resume"], "base: no such run. Did you mean runs/base?"),
        (["grade", "base", "--details"], "base: no such file or run. Did you mean runs/base?"),
        (["view", "base", "--no-browser"], "base: no such folder. Did you mean runs/base?"),
        (["report", "bass"], "bass: no such run."),
        (["grade", "bass"], "bass: no such file."),
    ],
)
def test_run_in_the_default_folder_is_suggested(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "runs" / "base", some(1, of=2))
    completed = cli(*arguments)
    assert (completed.status, completed.err.splitlines()[0]) == (2, f"callmark: {sentence}")


def test_debug_shows_the_traceback() -> None:
    completed = subprocess.run(
        [sys.executable, "-m", "callmark", "stats", "nowhere.jsonl", "--debug"], capture_output=True, text=True, check=False
    )
    assert completed.returncode == 2
    assert "Traceback" in completed.stderr
    assert "callmark: nowhere.jsonl: no such file." in completed.stderr


def test_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", *[GOOD] * 20_000)
    completed = subprocess.run(
        f"{sys.executable} -m callmark expand {path} -o - | head -1", shell=True, capture_output=True, text=True, check=False
    )
    assert json.loads(completed.stdout)["id"] == "1:1"
    assert "Traceback" not in completed.stderr
    assert "Broken" not in completed.stderr


@pytest.mark.parametrize("option, status", [("--strict", 1), ("--all", 0)])
def test_exit_status_of_a_check_survives_a_closed_pipe(tmp_path: Path, option: str, status: int) -> None:
    bad = row(user("x"), assistant(call("f", "{")))
    path = write_rows(tmp_path / "x.jsonl", *[bad] * 3_000)
    command = f"{sys.executable} -m callmark lint {path} --all {option} | head -1; exit ${{PIPESTATUS[0]}}"
    completed = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (status, "")


def test_standard_input_and_output(tmp_path: Path) -> None:
    line = json.dumps(GOOD) + "\n"
    command = [sys.executable, "-m", "callmark"]
    cut = subprocess.run([*command, "expand", "-", "-o", "-"], input=line, capture_output=True, text=True, check=True)
    assert json.loads(cut.stdout)["expected_output"]["tool_calls"][0]["function"]["name"] == "f"
    assert "1 decision point → standard output" in cut.stderr
    counted = subprocess.run([*command, "stats", "-", "--json"], input=line, capture_output=True, text=True, check=True)
    assert json.loads(counted.stdout)["tool_calls"]["total"] == 1


def test_output_file_is_complete_or_absent(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("before")
    path = write_rows(tmp_path / "x.jsonl", GOOD, "{")
    assert cli("expand", path, "-o", out).status == 2
    assert out.read_text() == "before"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.jsonl", "x.jsonl"]


def test_full_disk_is_reported(cli: Cli, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    completed = cli("expand", write_rows(tmp_path / "x.jsonl", GOOD), "-o", "/dev/full")
    assert completed.status == 2
    assert "/dev/full: cannot be written: No space left on device." in completed.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "command",
    [
        ["stats", "x.jsonl"],
        ["stats", "x.jsonl", "--json"],
        ["show", "x.jsonl"],
        ["show", "x.jsonl", "--markdown"],
        ["lint", "x.jsonl", "--json"],
        ["expand", "x.jsonl", "-o", "-"],
        ["filter", "x.jsonl", "-o", "-", "--min-calls", "1"],
        ["split", "x.jsonl", "-o", "parts"],
        ["convert", "x.jsonl", "-o", "-", "--to", "anthropic"],
        ["grade", "x.jsonl", "--predictions", "predictions.jsonl"],
        ["run", "x.jsonl", "--model", "scripted:perfect"],
        ["export", "grader", "-o", "-"],
        ["--help"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_unwritable_standard_output_is_reported_once_with_status_2(tmp_path: Path, command: list[str]) -> None:
    """Without PYTHONUNBUFFERED: standard output is flushed before the interpreter exits, whose own message and status would be 120."""
    write_rows(tmp_path / "x.jsonl", GOOD)
    write_rows(tmp_path / "predictions.jsonl", {"tool_calls": [call("f")]})
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CALLMARK_CACHE": str(tmp_path / "cache.sqlite")}
    line = shlex.join([sys.executable, "-m", "callmark", *command])
    completed = subprocess.run(
        f"{line} > /dev/full", shell=True, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert completed.returncode == 2
    assert completed.stderr.splitlines()[-1].endswith(": cannot be written: No space left on device.")
    assert completed.stderr.count("cannot be written") == 1
    assert "Exception ignored" not in completed.stderr
    closed = subprocess.run(f"{line} | true", shell=True, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert "rror" not in closed.stderr.replace("errors", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_unwritable_standard_error_keeps_the_exit_status(tmp_path: Path) -> None:
    line = shlex.join([sys.executable, "-m", "callmark", "stats", "nowhere.jsonl"])
    assert subprocess.run(f"{line} 2> /dev/full", shell=True, check=False, cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("command", [["filter", "--min-calls", "1"], ["expand"], ["convert", "--to", "openai"]])
def test_file_is_not_overwritten_by_its_own_result(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    path = write_rows(tmp_path / "x.jsonl", GOOD, row(user("no call")))
    before = path.read_bytes()
    completed = cli(command[0], path, "-o", path, *command[1:])
    assert (completed.status, completed.err) == (2, f"callmark: {path} cannot be both the input and the output.\n")
    assert path.read_bytes() == before


def test_gz_output_is_compressed(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", GOOD)
    cli("expand", path, "-o", tmp_path / "eval.jsonl.gz")
    assert json.loads(gzip.decompress((tmp_path / "eval.jsonl.gz").read_bytes()))["id"] == "1:1"
    assert json.loads(cli("stats", tmp_path / "eval.jsonl.gz", "--json").out)["conversations"] == 1
