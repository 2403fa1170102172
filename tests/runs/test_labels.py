"""Labels beside the runs: the last of each author counts, they hold for the next run, and invalid lines are named."""

from pathlib import Path

import pytest

import callmark
from callmark.cli.main import run as command
from callmark.errors import BadInput
from callmark.runs.labels import LABELS, Label, add_label, file_beside, labeled_cases, new_label, read_labels
from callmark.runs.store import RunFolder
from tests.graded_runs import make_run, some
from tests.rows import call
from tests.viewer.grading_helpers import case, grade_run, predicted


def test_last_label_of_each_author_counts(tmp_path: Path) -> None:
    path = str(tmp_path / LABELS)
    for author, label in (("ann", "model"), ("bob", "unclear"), ("ann", "expectation"), ("bob", "")):
        add_label(path, new_label("one", "c1", label, f"note of {author}", author))
    add_label(path, new_label("two", "c1", "model", "", "ann"))
    labels = read_labels(path).of_dataset("one")
    assert {name: (each.label, each.note) for name, each in labels["c1"].items()} == {"ann": ("expectation", "note of ann")}
    assert read_labels(path).of_dataset("three") == {}


def test_label_holds_for_every_run_of_the_dataset(tmp_path: Path) -> None:
    base, tuned, other = (
        make_run(tmp_path / name, some(2, of=4), digest=digest) for name, digest in (("b", "one"), ("t", "one"), ("o", "two"))
    )
    assert file_beside(base, LABELS) == file_beside(tmp_path, LABELS) == str(tmp_path.resolve() / LABELS)
    add_label(file_beside(base, LABELS), new_label("one", "c3", "model", "", "ann"))
    assert labeled_cases(RunFolder(tuned), "model") == {"c3"}
    with pytest.raises(BadInput, match="no case has the label 'model'"):
        labeled_cases(RunFolder(other), "model")


@pytest.mark.parametrize(
    "line, problem",
    [
        ("{", "not a valid label"),
        ('{"dataset": "one"}', "missing required field `case`"),
        ('{"dataset": "one", "case": "c", "label": "x", "version": 9}', "unknown version 9: expected 1"),
        ('{"dataset": "one", "case": "c", "label": "<b>"}', "label: expected up to 40 letters, digits"),
        ('{"dataset": "one", "case": "c", "label": "' + "x" * 41 + '"}', "label: expected up to 40 letters, digits"),
        ('{"dataset": "one", "case": "c", "label": "x", "note": "' + "x" * 4001 + '"}', "note: expected at most 4,000 characters"),
        ("[" * 100_000, "not a valid label"),
    ],
)
def test_invalid_line_is_named_and_the_others_are_read(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / LABELS
    good = '{"dataset":"one","case":"c1","label":"model"}\n'
    path.write_text(f"{good}{line}\n{good}{good[:-8]}")  # the last line is being written
    found = read_labels(str(path))
    assert [each.case for each in found.events] == ["c1", "c1"]
    (sentence,) = found.problems
    assert sentence.startswith("labels.jsonl, line 2: ")
    assert problem in sentence
    with pytest.raises(BadInput, match="line 2"):
        labeled_cases(RunFolder(make_run(tmp_path / "run", some(1, of=2))), "model")


def test_label_that_cannot_be_stored_is_refused() -> None:
    for label, note in (("two\nlines", ""), ("\x1b[31m", ""), ("x" * 41, ""), ("model", "x" * 4001)):
        with pytest.raises(BadInput):
            new_label("one", "c1", label, note, "ann")
    assert new_label("one", "c1", " flaky tool ", " why ", "ann") == Label(
        "one", "c1", "flaky tool", "why", "ann", new_label("one", "c1", "a", "", "ann").time
    )


def test_labeled_cases_are_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [case(f"c{n}", [call("f", {"n": n})]) for n in range(3)]
    run = grade_run(tmp_path, cases, [predicted(f"c{n}", call("f", {"n": 0})) for n in range(3)])
    add_label(file_beside(run.path, LABELS), new_label(run.info.dataset.digest, "c2", "model", "wrong n", "ann"))
    out = tmp_path / "regressions.jsonl"
    assert command(["export", "cases", str(run.path), "--label", "model", "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"1 case with the label model → {out}\n"
    (found,) = callmark.load(out, cases=True)
    assert isinstance(found, callmark.Case)
    assert (found.id, [str(call) for call in found.expected]) == ("c2", ["f(n=2)"])
    assert command(["export", "cases", str(run.path), "--label", "unclear", "-o", "-"]) == 2
    assert "no case has the label 'unclear'.\nIts cases have: model." in capsys.readouterr().err
    dataset = tmp_path / "base-cases.jsonl"
    with pytest.raises(BadInput, match="it is the dataset"):
        callmark.export_cases(run, label="model", out=dataset)
    dataset.write_text(dataset.read_text().replace('"c0"', '"c9"'))
    out.unlink()
    with pytest.raises(BadInput, match="have changed since the run"):
        callmark.export_cases(run, label="model", out=out)
    assert not out.exists()


def test_show_prints_a_graded_case_with_its_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = grade_run(tmp_path, [case("case-1", [call("f", {"city": "Bonn"})])], [predicted("case-1", call("f", {"city": "Ulm"}))])
    add_label(file_beside(run.path, LABELS), new_label(run.info.dataset.digest, "case-1", "model", "\x1b[2J", "ann"))
    assert command(["show", str(run.path), "--case", "case-1"]) == 0
    out = capsys.readouterr().out
    for line in (
        "case-1 · wrong",
        '   EXPECTED\n      f(city="Bonn")',
        '   ACTUAL\n      f(city="Ulm")',
        '✗ f: city: expected "Bonn", got "Ulm"',
    ):
        assert line in out
    assert "Label: ann: model (" in out
    assert "\x1b[2J" not in out
    assert command(["show", str(run.path), "--case", "case-2"]) == 2
    assert "no case with the ID 'case-2'. Did you mean case-1?" in capsys.readouterr().err
    assert command(["show", str(run.path)]) == 2
    assert "Pass --case ID" in capsys.readouterr().err
    assert command(["show", str(run.path), "--case", "case-1", "--trial", "2"]) == 2
    assert "has no trial 2; it has 1" in capsys.readouterr().err
