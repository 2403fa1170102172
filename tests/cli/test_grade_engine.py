"""`callmark grade --engine`: what it prints and writes, what it refuses, and what it says without the extras."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from pyarrow import parquet

from callmark import registry
from callmark.errors import BadInput
from callmark.integrations.ray_engine import RayExecutor
from callmark.runs.partitioned import Result, Task
from tests.conftest import Cli
from tests.rows import WEATHER, assistant, call, user

BONN = call("get_weather", {"city": "Bonn"})


class Here:
    """An engine that runs everything in this process, and prints like one."""

    def __init__(self, address: str | None = None) -> None:
        self.address = address

    def __enter__(self) -> Self:
        print("a node joined")  # noqa: T201 - as Ray does
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        print("a node left")  # noqa: T201

    def __call__(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        return map(function, tasks)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(registry.BUILT_IN["engines"], "here", "tests.cli.test_grade_engine:Here")
    monkeypatch.chdir(tmp_path)
    cases = [
        {"id": f"c{number}", "messages": [user("Weather in Bonn?")], "tools": [WEATHER], "expected_output": assistant(BONN)}
        for number in range(4)
    ]
    made = [
        {"id": "c0", "tool_calls": [BONN]},
        {"id": "c1", "tool_calls": []},
        {"id": "c2", "error": "HTTP 503"},
        {"id": "c3", "tool_calls": 7},
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cases))
    (tmp_path / "made.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    return tmp_path


COMMAND = ("grade", "cases.jsonl", "-p", "made.jsonl", "--engine", "here", "-o", "graded", "--skip-bad")


@pytest.mark.usefixtures("folder")
def test_the_summary_is_printed_and_the_folder_is_named(cli: Cli) -> None:
    result = cli(*COMMAND)
    assert result.status == 3
    assert result.out.splitlines()[0] == "made.jsonl · 4 cases · scored 2 of 4, 2 errors"
    assert result.out.splitlines()[-1] == "Saved to graded (1 part): grades/*.parquet, summary.json"
    assert "a node" not in result.out
    assert "a node joined" in result.err
    again = cli(*COMMAND)
    assert again.out.splitlines()[-1] == "Saved to graded (1 part, 1 of them graded before): grades/*.parquet, summary.json"


def test_json_has_the_summary_and_the_parts(cli: Cli, folder: Path) -> None:
    result = cli(*COMMAND, "--json")
    found = json.loads(result.out)
    assert (found["folder"], found["parts"], found["graded_before"], found["summary"]["cases"]) == ("graded", 1, 0, 4)
    assert parquet.read_table(folder / "graded" / "grades").column("call.score").to_pylist() == [1.0, 0.0, None, None]


def test_rejected_rows_are_saved_with_file_and_row(cli: Cli, folder: Path) -> None:
    result = cli(*COMMAND, "--rejects", "rejects.jsonl")
    (rejected,) = [json.loads(line) for line in (folder / "rejects.jsonl").read_text().splitlines()]
    assert (rejected["file"], rejected["line"]) == ("made.jsonl", 4)
    assert "1 row could not be read and was skipped (saved to rejects.jsonl)." in result.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "options, problem",
    [
        (("--name", "x"), "--name cannot be used with --engine"),
        (("--jobs", "2"), "--jobs cannot be used with --engine"),
        (("--in-order",), "--in-order cannot be used with --engine"),
        (("--details",), "--details cannot be used with --engine"),
        (("--patch", "p.jsonl"), "--patch cannot be used with --engine"),
        (("--rejects", "made.jsonl"), "made.jsonl cannot be both the input and the rejects file"),
    ],
)
def test_options_that_need_the_whole_are_refused(options: tuple[str, ...], problem: str, cli: Cli) -> None:
    result = cli(*COMMAND, *options)
    assert (result.status, problem in result.err) == (2, True)


@pytest.mark.usefixtures("folder")
def test_an_engine_needs_a_folder_and_an_address_an_engine(cli: Cli) -> None:
    assert "--engine needs -o DIR" in cli("grade", "cases.jsonl", "-p", "made.jsonl", "--engine", "here").err
    assert "--address needs --engine ray" in cli("grade", "cases.jsonl", "-p", "made.jsonl", "--address", "auto").err


@pytest.mark.usefixtures("folder")
def test_an_unknown_engine_is_named(cli: Cli) -> None:
    result = cli("grade", "cases.jsonl", "-p", "made.jsonl", "--engine", "rai", "-o", "graded")
    assert (result.status, "unknown engine 'rai'. Did you mean ray?" in result.err) == (2, True)


@pytest.mark.usefixtures("folder")
def test_without_ray_the_extra_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    result = cli("grade", "cases.jsonl", "-p", "made.jsonl", "--engine", "ray", "-o", "graded")
    assert result.status == 2
    assert "--engine ray needs Ray, which is not installed." in result.err
    assert "Install it with: pip install 'callmark[ray]'" in result.err
    with pytest.raises(BadInput, match="--engine ray needs Ray"):
        RayExecutor()


def test_without_pyarrow_the_extra_is_named(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = cli(*COMMAND)
    assert result.status == 2
    assert "Install it with: pip install 'callmark[parquet]'" in result.err
    assert not (folder / "graded").exists()
    assert cli("grade", "cases.jsonl", "-p", "made.jsonl", "--skip-bad").status == 3  # without --engine, nothing has changed
