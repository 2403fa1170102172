"""`callmark export results`: the grades of a run as a table that is safe in a spreadsheet and unchanged when read back."""

import csv
import io
import json
import sys
import tracemalloc
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas
import pytest

from callmark import BadInput
from callmark.grading.record import GradeRecord
from callmark.runs.export_results import csv_lines
from callmark.runs.run import Run
from callmark.types import Fault, Note, Usage
from tests.conftest import Cli
from tests.graded_runs import METRICS, failed, make_run, right, some, wrong

COLUMNS = [
    "case", "trial", "conversation", "message", "scenario_type", "group", "error", *METRICS, "expected", "actual", "faults", "notes",
    "prompt_characters", "seconds", "input_tokens", "output_tokens", "cost",
]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with a correct prediction, one with every kind of column filled, and an error."""
    monkeypatch.chdir(tmp_path)
    full = GradeRecord(
        "c1",
        trial=2,
        metrics={"call.score": 0.25, "call.pass": 0.0},
        expected=("f", "g"),
        actual=("f",),
        faults=(
            Fault("wrong_value", 0, 0, "city", "Bonn", "Köln", ("call",), "hallucinated"),
            Fault("missing_call", 1, evaluators=("call",)),
        ),
        notes=(Note("wrong_order", "g comes first"),),
        conversation="t1",
        message=4,
        scenario_type="refund",
        group="g1",
        usage=Usage(1.5, 100, 20, 0.004),
        prompt_characters=1234,
    )
    return make_run(tmp_path / "base", [right("c0"), full, failed("c2")])


def read(path: Path | str) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_default_output_is_beside_the_run(cli: Cli, run: Path) -> None:
    completed = cli("export", "results", "base", "--to", "csv")
    assert (completed.status, completed.out) == (0, "3 rows → base.csv\n")
    first, second, third = read("base.csv")
    assert list(first) == COLUMNS
    assert (first["case"], first["call.score"], first["faults"], first["seconds"], first["error"]) == ("c0", "1.0", "", "", "")
    assert second == dict(
        zip(
            COLUMNS,
            [
                "c1", "2", "t1", "4", "refund", "g1", "", "0.25", "0.0", "f, g", "f", "wrong_value city (hallucinated); missing_call",
                "wrong_order", "1234", "1.5", "100", "20", "0.004",
            ],
            strict=True,
        )
    )  # fmt: skip
    assert (third["error"], third["call.score"]) == ("HTTP 503", "")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_standard_output_has_the_table_only(cli: Cli, run: Path, form: str) -> None:
    cli("export", "results", "base", "--to", form)
    assert cli("export", "results", "base", "--to", form, "-o", "-").out.encode() == Path(f"base.{form}").read_bytes()


def test_jsonl_has_the_rows_unchanged(cli: Cli, run: Path) -> None:
    cli("export", "results", "base", "--to", "jsonl", "-o", "out/rows.jsonl")
    rows = [json.loads(line) for line in Path("out/rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows == list(Run("base").rows())
    assert all(list(row) == COLUMNS for row in rows)


def test_csv_read_by_pandas_equals_to_pandas(cli: Cli, run: Path) -> None:
    table = Run("base").to_pandas()
    assert list(table.columns) == COLUMNS
    cli("export", "results", "base", "--to", "csv")
    cli("export", "results", "base", "--to", "jsonl")
    for again in (pandas.read_csv("base.csv"), pandas.read_json("base.jsonl", lines=True)):
        assert again["call.score"].mean() == table["call.score"].mean() == 0.625
        assert again["case"].tolist() == table["case"].tolist() == ["c0", "c1", "c2"]
        assert again["error"].isna().tolist() == table["error"].isna().tolist() == [True, True, False]
        assert again["trial"].dtype == table["trial"].dtype == "int64"


@pytest.mark.parametrize(
    "text, cell",
    [
        ("=1+1", "'=1+1"),
        ('=HYPERLINK("http://x","y")', '\'=HYPERLINK("http://x","y")'),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\\r=1"),
        ("\n=1", "'\n=1"),
        ("＝1+1", "'＝1+1"),
        ("a=1", "a=1"),
        ('say "hi", then\nleave', 'say "hi", then\nleave'),
        ("a\rb", "a\\rb"),
        ("\x00\x1b[2J\x7f", "\\x00\\x1b[2J\\x7f"),
        ("名前 \U0001f600 é", "名前 \U0001f600 é"),
        ("'quoted", "'quoted"),
        ("1e5", "1e5"),
    ],
    ids=ascii,
)
def test_text_that_looks_like_a_formula_is_escaped(cli: Cli, run: Path, text: str, cell: str) -> None:
    odd = GradeRecord(text, metrics={"call.score": 1.0, "call.pass": 1.0}, expected=(text,), actual=(text,), conversation=text, group=text)
    make_run(run.parent / "odd", [odd, GradeRecord(text, trial=1, error=text)])
    cli("export", "results", "odd", "--to", "csv")
    first, second = read("odd.csv")
    assert {first[name] for name in ("case", "expected", "actual", "conversation", "group")} == {cell}
    assert second["error"] == cell
    assert first["call.score"] == "1.0"
    cli("export", "results", "odd", "--to", "jsonl")
    assert json.loads(Path("odd.jsonl").read_bytes().splitlines()[0])["case"] == text


def test_numbers_and_column_names_are_not_escaped(run: Path) -> None:
    metrics = ("=my.debt", "my.points")
    make_run(run.parent / "own", [GradeRecord("c", metrics={"=my.debt": -0.5, "my.points": 1e-7})], metrics=metrics)
    header, row = csv.reader(io.StringIO("".join(line.decode() + "\n" for line in csv_lines(Run("own"))), newline=""))
    assert (header[7:9], row[7:9]) == (["'=my.debt", "my.points"], ["-0.5", "1e-07"])


def test_csv_lines_end_with_crlf(cli: Cli, run: Path) -> None:
    cli("export", "results", "base", "--to", "csv")
    written = Path("base.csv").read_bytes()
    assert written.count(b"\r\n") == written.count(b"\n") == 4
    assert written.endswith(b"\r\n")


def test_run_without_cases_gives_an_empty_table(cli: Cli, run: Path) -> None:
    make_run(run.parent / "empty", [])
    assert cli("export", "results", "empty", "--to", "csv").out == "0 rows → empty.csv\n"
    assert Path("empty.csv").read_text(encoding="utf-8").strip().split(",") == COLUMNS
    assert list(Run("empty").to_pandas().columns) == COLUMNS


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_memory_does_not_grow_with_rows(cli: Cli, run: Path, form: str) -> None:
    peaks = []
    for count in (500, 4_000):
        make_run(run.parent / f"of{count}", (wrong(f"case {number} " + "x" * 200) for number in range(count)))
        cli("export", "results", f"of{count}", "--to", form, "-o", "warm.up")
        tracemalloc.start()
        assert cli("export", "results", f"of{count}", "--to", form).status == 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000  # the 4,000 rows are more than 1 MB


@pytest.mark.parametrize(
    "arguments, expected_text",
    [
        (["base"], "callmark: missing option --to: expected csv, parquet or jsonl."),
        (["base", "--to", "xlsx"], "callmark: --to: expected csv, parquet or jsonl, got 'xlsx'.\n"),
        (["nowhere", "--to", "csv"], "callmark: nowhere: no such run.\n"),
        (["ungraded", "--to", "csv"], "callmark: ungraded: the run has not been graded.\n"),
        (["lines", "--to", "csv"], "callmark: lines/grades.jsonl, line 2: not a valid grade: "),
        (["base", "--to", "csv", "-o", "lines"], "callmark: lines: expected a file to write, got a directory.\n"),
        (["base", "--to", "parquet", "-o", "-"], "callmark: Parquet cannot be written to standard output.\nPass -o FILE.\n"),
        (
            ["base", "--to", "jsonl", "-o", "./base/grades.jsonl"],
            "callmark: ./base/grades.jsonl: cannot be overwritten, because it is a file of the run base.\n",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_exports_are_refused_and_write_nothing(cli: Cli, run: Path, arguments: list[str], expected_text: str) -> None:
    make_run(run.parent / "ungraded", None)
    with make_run(run.parent / "lines", some(1, of=1)).joinpath("grades.jsonl").open("a") as grades:
        grades.write("oh no\n")
    before = sorted(run.parent.rglob("*"))
    completed = cli("export", "results", *arguments)
    assert (completed.status, completed.out) == (2, "")
    assert completed.err.startswith(expected_text)
    assert sorted(run.parent.rglob("*")) == before


def without(monkeypatch: pytest.MonkeyPatch, *libraries: str) -> None:
    for library in libraries:
        monkeypatch.setitem(sys.modules, library, None)


def test_missing_packages_are_named_with_the_install_command(cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas", "polars", "pyarrow", "pyarrow.parquet")
    completed = cli("export", "results", "base", "--to", "parquet")
    assert completed.status == 2
    assert completed.err == (
        "callmark: Parquet requires pyarrow or polars, and neither is installed.\nRun pip install pyarrow, or use --to csv or --to jsonl.\n"
    )
    for library, table in (("pandas", Run("base").to_pandas), ("polars", Run("base").to_polars)):
        with pytest.raises(BadInput, match=f"{library} is not installed") as refused:
            table()
        assert refused.value.hint.startswith(f"Run pip install {library}")


def needs(*libraries: str) -> pytest.MarkDecorator:
    missing = [library for library in libraries if not find_spec(library)]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed")


@needs("polars")
def test_polars_table_equals_the_pandas_table(run: Path) -> None:
    assert Run("base").to_polars().to_dicts() == list(Run("base").rows())


@pytest.mark.parametrize("library", [pytest.param("pyarrow", marks=needs("pyarrow")), pytest.param("polars", marks=needs("polars"))])
def test_parquet_has_typed_columns(cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    if library == "polars":
        without(monkeypatch, "pyarrow", "pyarrow.parquet")
    for name in ("base", "empty"):
        if name == "empty":
            make_run(run.parent / name, [])
        completed = cli("export", "results", name, "--to", "parquet")
        assert (completed.status, completed.out) == (0, f"{len(list(Run(name).rows()))} rows → {name}.parquet\n")
        assert sorted(path.name for path in run.parent.glob("*.parquet*")) == sorted({"base.parquet", f"{name}.parquet"})
        found = reading(library, f"{name}.parquet")
        assert found[0] == list(Run(name).rows())
        assert found[1]["cost"].lower() in ("double", "float64")
        assert found[1]["trial"].lower() == "int64"
        assert found[1]["scenario_type"].lower() == "string"
    refused = cli("export", "results", "base", "--to", "parquet", "-o", "base")
    assert (refused.status, refused.err) == (2, "callmark: base: expected a file to write, got a directory.\n")


def reading(library: str, path: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the rows of a Parquet file, and the types of its columns."""
    if library == "polars":
        import polars

        frame = polars.read_parquet(path)
        return frame.to_dicts(), {name: str(kind) for name, kind in frame.schema.items()}
    table = import_module("pyarrow.parquet").read_table(path)
    return table.to_pylist(), {field.name: str(field.type) for field in table.schema}
