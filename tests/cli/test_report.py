"""`callmark report`: where the page is written, and what is printed."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from callmark.cli.report import command
from callmark.errors import BadInput
from callmark.viewer import report
from tests.graded_runs import make_run, some
from tests.rows import call
from tests.viewer.grading_helpers import case, grade_run, predicted


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs of ten cases."""
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "base", some(5, of=10))
    make_run(tmp_path / "tuned", some(8, of=10))
    return tmp_path


def report_output(*arguments: str) -> str:
    completed = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert completed.exit_code == 0, completed.output
    return completed.stdout


def test_default_report_is_in_the_folder_of_the_first_run(workdir: Path) -> None:
    assert report_output("base", "tuned").startswith("base/report.html   0.")
    assert (workdir / "base" / "report.html").read_bytes().startswith(b"<!doctype html>")


def test_report_is_written_to_the_given_file(workdir: Path) -> None:
    found = json.loads(report_output("base", "-o", "sub/page.html", "--json"))
    assert found["report"] == "sub/page.html"
    assert found["bytes"] == (workdir / "sub" / "page.html").stat().st_size
    assert found["left_out"]["all_cases"] == 10


def test_report_is_written_to_standard_output(workdir: Path) -> None:
    page = report_output("base", "-o", "-")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")


def test_missing_dataset_is_a_warning_on_standard_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = grade_run(tmp_path, [case("a", [call("get_weather", {"city": "Bonn"})])], [predicted("a")])
    quiet = CliRunner().invoke(command, [str(run.folder)])
    (tmp_path / "base-cases.jsonl").unlink()
    warned = CliRunner().invoke(command, [str(run.folder)])
    assert (quiet.exit_code, quiet.stderr, warned.exit_code) == (0, "", 0)
    assert warned.stderr == (
        f"callmark: warning: {run.folder}: The dataset {tmp_path}/base-cases.jsonl is missing. Check that it was not moved or deleted. "
        "Its conversations are not shown. Expected values are shown only where a fault names them.\n"
    )
    assert warned.stdout.endswith(" MB\n")


def test_conversations_that_do_not_fit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [case(f"c{n}", [call("get_weather", {"city": "Bonn"})], messages=[{"role": "user", "content": "x" * 5000}]) for n in range(4)]
    run = grade_run(tmp_path, cases, [predicted("c0")])
    whole: Any = report.write_report
    monkeypatch.setattr(report, "write_report", lambda runs, out, **more: whole(runs, out, max_bytes=11_000, **more))
    assert "2 of 4 conversations did not fit" in report_output(str(run.folder))


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ([], "a report needs at least one run"),
        (["nothing"], "no such run"),
        (["base", "base"], "given twice"),
        (["base", "-o", "base/grades.jsonl"], "base/grades.jsonl: cannot be overwritten, because it is a file of the run base"),
        (["base", "-o", "."], "expected a file to write, got a directory"),
    ],
)
def test_invalid_outputs_are_refused(workdir: Path, arguments: list[str], sentence: str) -> None:
    before = sorted(workdir.rglob("*"))
    with pytest.raises(BadInput, match=sentence):
        command.main(arguments, standalone_mode=False)
    assert sorted(workdir.rglob("*")) == before


@pytest.mark.parametrize("name", ["labels.jsonl", "patch.jsonl"])
def test_files_beside_the_runs_are_no_runs(workdir: Path, name: str) -> None:
    """A shell writes `report *` as all names in the folder."""
    (workdir / name).write_text("{}\n")
    found = json.loads(report_output("base", name, "tuned", "-o", "page.html", "--json"))
    assert found["report"] == "page.html"


def test_other_files_are_refused(workdir: Path) -> None:
    (workdir / "notes.jsonl").write_text("{}\n")
    with pytest.raises(BadInput, match="notes.jsonl: expected a run folder, got a file"):
        report_output("base", "notes.jsonl")
