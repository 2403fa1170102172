"""`callmark export notebook`: where the notebooks are written, what is printed, and refusals."""

import sys
from pathlib import Path

import nbformat
import pytest

from callmark.grading.record import GradeRecord
from callmark.reporting.notebooks import write
from callmark.reporting.notebooks.sections import Section
from tests.conftest import Cli
from tests.graded_runs import make_run, right, some


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run in the current folder."""
    monkeypatch.chdir(tmp_path)
    return make_run(tmp_path / "runs" / "base", some(3, of=4))


def words(path: str) -> str:
    return "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)


@pytest.mark.parametrize(
    "grades, expected_text, left_out",
    [
        ([right("a"), right("b")], ["## What went wrong\n\nNo faults were", "## Wrong arguments\n\nNo argument was"], "## No scored"),
        ([], ["## No scored cases\n\nThe run has no scored cases", "## Errors\n\nNo errors."], "## What went"),
    ],
    ids=["all right", "no case"],
)
def test_run_without_scored_cases_says_so(cli: Cli, run: Path, grades: list[GradeRecord], expected_text: list[str], left_out: str) -> None:
    make_run(run.parent / "other", grades)
    completed = cli("export", "notebook", "runs/other", "-o", "new/notebooks")
    assert (completed.status, completed.err) == (0, "")
    assert completed.out == "other → new/notebooks/evaluation.ipynb and new/notebooks/error_analysis.ipynb\n"
    assert "run = callmark.Run('../../runs/other')" in words("new/notebooks/evaluation.ipynb")
    found = words("new/notebooks/error_analysis.ipynb")
    assert all(piece in found for piece in expected_text)
    assert left_out not in found
    assert sorted(path.name for path in Path("new/notebooks").iterdir()) == ["error_analysis.ipynb", "evaluation.ipynb"]


@pytest.mark.parametrize("hidden", [["nbclient"], ["ipykernel", "pandas"], ["vl_convert"]], ids=" ".join)
def test_missing_packages_are_named_with_the_install_command(
    cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch, hidden: list[str]
) -> None:
    for module in hidden:
        monkeypatch.setitem(sys.modules, module, None)
    completed = cli("export", "notebook", "runs/base", "-o", "notebooks")
    named = ", ".join(hidden).replace("_", "-")
    assert (completed.status, completed.out) == (2, "")
    verb = "is" if len(hidden) == 1 else "are"
    sentence = f"callmark: notebooks require {named}, which {verb} not installed."
    assert completed.err == f"{sentence}\nInstall with: pip install 'callmark[notebook]'\n"
    assert not Path("notebooks").exists()


@pytest.mark.parametrize(
    "arguments, expected_text",
    [
        (["runs/base"], "callmark: missing option --out."),
        (["nowhere", "-o", "new"], "callmark: nowhere: no such run.\n"),
        (["runs/ungraded", "-o", "new"], "callmark: runs/ungraded: the run has not been graded.\n"),
        (["runs/lines", "-o", "new"], "callmark: runs/lines/grades.jsonl, line 2: not a valid grade: "),
        (["runs/base", "-o", "runs/base/run.json"], "callmark: runs/base/run.json cannot be written: File exists.\n"),
        (["runs/base", "-o", "-"], "callmark: notebooks cannot be written to standard output.\nPass a folder: -o DIR\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_exports_are_refused_and_write_nothing(cli: Cli, run: Path, arguments: list[str], expected_text: str) -> None:
    make_run(run.parent / "ungraded", None)
    with make_run(run.parent / "lines", some(1, of=1)).joinpath("grades.jsonl").open("a") as grades:
        grades.write("oh no\n")
    before = sorted(Path().rglob("*"))
    completed = cli("export", "notebook", *arguments)
    assert (completed.status, completed.out) == (2, "")
    assert completed.err.startswith(expected_text)
    assert sorted(Path().rglob("*")) == before


def test_failing_cell_fails_the_command_and_keeps_existing_files(cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fine, broken = Section("# Fine", {"fine": "1"}), Section("# Broken", {"broken": "int('\x1b')"})
    monkeypatch.setattr(write, "NOTEBOOKS", {"evaluation.ipynb": (fine,), "error_analysis.ipynb": (fine, broken)})
    Path("evaluation.ipynb").write_text("mine")
    completed = cli("export", "notebook", "runs/base", "-o", ".")
    assert (completed.status, completed.out) == (2, "")
    assert "(RuntimeError: error_analysis.ipynb, cell broken: ValueError: invalid literal for int() with base 10: '\\x1b')" in completed.err
    assert Path("evaluation.ipynb").read_text() == "mine"
    assert not Path("error_analysis.ipynb").exists()
