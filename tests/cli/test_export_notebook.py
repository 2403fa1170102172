"""`callmark export notebook`: where the two notebooks go, what is said of it, and what is said where they cannot be made."""

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
    """A run, seen from the folder that it is in."""
    monkeypatch.chdir(tmp_path)
    return make_run(tmp_path / "runs" / "base", some(3, of=4))


def words(path: str) -> str:
    return "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)


@pytest.mark.parametrize(
    "grades, said, left_out",
    [
        ([right("a"), right("b")], ["## What went wrong\n\nNothing: every call", "## Wrong arguments\n\nNo argument was"], "Nothing was"),
        ([], ["## Nothing was scored\n\nEvery case is an error, or there is none", "## Errors\n\nNone."], "## What went"),
    ],
    ids=["all right", "no case"],
)
def test_a_run_with_nothing_to_show_says_so(cli: Cli, run: Path, grades: list[GradeRecord], said: list[str], left_out: str) -> None:
    make_run(run.parent / "other", grades)
    done = cli("export", "notebook", "runs/other", "-o", "new/notebooks")
    assert (done.status, done.err) == (0, "")
    assert done.out == "other → new/notebooks/evaluation.ipynb and new/notebooks/error_analysis.ipynb\n"
    assert "run = callmark.Run('../../runs/other')" in words("new/notebooks/evaluation.ipynb")
    found = words("new/notebooks/error_analysis.ipynb")
    assert all(piece in found for piece in said)
    assert left_out not in found
    assert sorted(path.name for path in Path("new/notebooks").iterdir()) == ["error_analysis.ipynb", "evaluation.ipynb"]


@pytest.mark.parametrize("hidden", [["nbclient"], ["ipykernel", "pandas"], ["vl_convert"]], ids=" ".join)
def test_what_is_not_installed_is_said_with_what_to_install(
    cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch, hidden: list[str]
) -> None:
    for module in hidden:
        monkeypatch.setitem(sys.modules, module, None)
    done = cli("export", "notebook", "runs/base", "-o", "notebooks")
    named = ", ".join(hidden).replace("_", "-")
    assert (done.status, done.out) == (2, "")
    assert done.err == f"callmark: notebooks need {named}, not installed here.\npip install 'callmark[notebook]'\n"
    assert not Path("notebooks").exists()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["runs/base"], "callmark: Missing option '-o' / '--out'."),
        (["nowhere", "-o", "new"], "callmark: nowhere is no run: there is no run.json in it.\n"),
        (["runs/ungraded", "-o", "new"], "callmark: runs/ungraded has not been graded yet.\n"),
        (["runs/lines", "-o", "new"], "callmark: runs/lines/grades.jsonl, line 2 cannot be read: "),
        (["runs/base", "-o", "runs/base/run.json"], "callmark: runs/base/run.json cannot be written: File exists.\n"),
        (["runs/base", "-o", "-"], "callmark: notebooks cannot go to standard output, there are two of them.\n-o DIR names a folder.\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_exported_is_said_and_nothing_is_written(cli: Cli, run: Path, arguments: list[str], said: str) -> None:
    make_run(run.parent / "ungraded", None)
    with make_run(run.parent / "lines", some(1, of=1)).joinpath("grades.jsonl").open("a") as grades:
        grades.write("oh no\n")
    before = sorted(Path().rglob("*"))
    done = cli("export", "notebook", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(said)
    assert sorted(Path().rglob("*")) == before


def test_a_cell_that_fails_fails_the_command_and_what_was_there_stays(cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fine, broken = Section("# Fine", {"fine": "1"}), Section("# Broken", {"broken": "int('\x1b')"})
    monkeypatch.setattr(writing, "NOTEBOOKS", {"evaluation.ipynb": (fine,), "error_analysis.ipynb": (fine, broken)})
    Path("evaluation.ipynb").write_text("mine")
    done = cli("export", "notebook", "runs/base", "-o", ".")
    assert (done.status, done.out) == (2, "")
    assert "(RuntimeError: error_analysis.ipynb, cell broken: ValueError: invalid literal for int() with base 10: '\\x1b')" in done.err
    assert Path("evaluation.ipynb").read_text() == "mine"
    assert not Path("error_analysis.ipynb").exists()
