"""A graded run: its stored summary and when it is valid, and grades that are broken."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.runs import summary_file
from callmark.runs.grade import GradeOptions, grade_predictions, regrade
from callmark.runs.run import Run
from callmark.runs.store import RunFolder
from callmark.types import Fault
from tests.graded_runs import make_run, right
from tests.rows import WEATHER, call, row, user, write_rows

SUMMARY_FILE = "summary.json"


def graded(folder: Path, *, options: GradeOptions | None = None, name: str = "base", number: int = 40) -> Run:
    """Forty cases of conversations of five, of which every third is wrong and one an error."""
    cases, predictions = folder / "cases.jsonl", folder / "predictions.jsonl"
    bonn = call("get_weather", {"city": "Bonn"})
    expected = {"expected_output": {"role": "assistant", "tool_calls": [bonn]}}
    write_rows(
        cases,
        *(
            {**row(user("Bonn?"), tools=[WEATHER], id=f"c{n}"), **expected, "source": {"conversation": f"t{n // 5}", "message": n % 5}}
            for n in range(number)
        ),
    )
    calls = [{"name": "get_weather", "arguments": {"city": "Bonn"}}, {"name": "get_weather", "arguments": {"city": "Ulm"}}]
    write_rows(
        predictions,
        {"case": f"c{number - 1}", "error": "HTTP 503"},
        *({"case": f"c{n}", "calls": [calls[n % 3 == 0]], "usage": {"seconds": n / 10}} for n in range(number - 1)),
    )
    return Run(
        grade_predictions(
            str(cases), [str(predictions)], GradingSettings(), out=str(folder / "runs"), name=name, options=options
        ).folder.path
    )


def test_the_stored_summary_is_that_of_the_grades(tmp_path: Path) -> None:
    run = graded(tmp_path)
    stored, computed = run.stored_summary(), run.summary(detailed=False)
    assert stored is not None
    assert stored == computed
    assert all(estimate.low is not None for estimate in stored.metrics.values())


def test_the_stored_summary_does_not_depend_on_the_options(tmp_path: Path) -> None:
    choices = [
        GradeOptions(),
        GradeOptions(detailed=True),
        GradeOptions(jobs=2, detailed=True),
        GradeOptions(jobs=2),
        GradeOptions(jobs=3),
    ]
    runs = [graded(tmp_path, options=options, name=f"run{n}", number=400) for n, options in enumerate(choices)]
    for name in (SUMMARY_FILE, "grades.jsonl", "predictions.jsonl"):
        assert len({Path(run.folder.file(name)).read_bytes() for run in runs}) == 1


def replaced(name: str, old: str, new: str) -> Callable[[Path], object]:
    def replace(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return replace


def written(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / SUMMARY_FILE).write_bytes(content)


def changed_summary(change: dict[str, Any]) -> Callable[[Path], object]:
    """Change the summary and keep its stamp."""

    def replace(folder: Path) -> None:
        content = json.loads((folder / SUMMARY_FILE).read_text())
        (folder / SUMMARY_FILE).write_text(json.dumps({**content, "summary": {**content["summary"], **change}}))

    return replace


def removed(folder: Path) -> None:
    (folder / SUMMARY_FILE).unlink()


def replaced_by_folder(folder: Path) -> None:
    removed(folder)
    (folder / SUMMARY_FILE).mkdir()


def replaced_by_pipe(folder: Path) -> None:
    removed(folder)
    os.mkfifo(folder / SUMMARY_FILE)


@pytest.mark.parametrize(
    "change",
    [
        replaced("grades.jsonl", '"call.score":1.0', '"call.score":0.0'),
        replaced("grades.jsonl", '"case":"c0"', '"case":"d0"'),
        replaced("grades.jsonl", "\n", "\n\n"),
        replaced("run.json", '"grading": {}', '"grading": {"evaluators": ["call"]}'),
        replaced("run.json", '"grading": {}', '"grading": {"options": {"process": {"ignore": []}}}'),
        replaced(SUMMARY_FILE, '"scored":39', '"scored":40'),
        replaced(SUMMARY_FILE, '"stamp":"xxh3:', '"stamp":"xxh4:'),
        replaced(SUMMARY_FILE, '"stamp"', '"tamp"'),
        replaced(SUMMARY_FILE, '"version":2', '"version":3'),
        changed_summary({"metrics": {"call.score": {"n": 39, "mean": 1.0}}}),
        changed_summary({"errors": "<script>"}),
        written(b""),
        written(b"{"),
        written(b"[]"),
        written(b"null"),
        written(b"\xff\xfe\x00"),
        written(b"[" * 100_000),
        written(b'{"version":2,"stamp":"","summary":{}}'),
        written(b'{"version":2,"stamp":1,"summary":{}}'),
        written(b" " * 6_000_000),
        removed,
        replaced_by_folder,
        replaced_by_pipe,
    ],
)
def test_a_summary_of_other_grades_or_changed_since_is_not_valid(tmp_path: Path, change: Callable[[Path], object]) -> None:
    run = graded(tmp_path, options=GradeOptions())
    assert Run(run.folder.path).stored_summary() is not None
    change(run.folder.path)
    assert Run(run.folder.path).stored_summary() is None


def test_a_summary_of_another_version_is_not_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = graded(tmp_path)
    monkeypatch.setattr(summary_file, "_version", lambda: "99")
    assert run.stored_summary() is None


def test_regrading_writes_a_new_summary(tmp_path: Path) -> None:
    run = graded(tmp_path)
    file = Path(run.folder.file(SUMMARY_FILE))
    before = file.read_bytes()
    file.write_text("{")
    regrade(RunFolder(run.folder.path), run.info.grading)
    assert file.read_bytes() == before
    regrade(RunFolder(run.folder.path), GradingSettings(evaluators=("call",)))
    stored = Run(run.folder.path).stored_summary()
    assert stored is not None
    assert set(stored.metrics) == {"call.score", "call.pass", "call.arguments"}


def test_a_run_can_be_moved_and_copied(tmp_path: Path) -> None:
    run = graded(tmp_path)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("run.json", "grades.jsonl", SUMMARY_FILE):
        (moved / name).write_bytes(Path(run.folder.file(name)).read_bytes())
    assert Run(moved).stored_summary() == run.stored_summary()


def test_a_very_large_summary_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_file, "_MAX_SIZE", 100)
    run = graded(tmp_path)
    assert not Path(run.folder.file(SUMMARY_FILE)).exists()
    assert run.stored_summary() is None


METRICS = {"call.score": 0.0, "call.pass": 0.0}


@pytest.mark.parametrize(
    "broken",
    [
        GradeRecord("b", metrics=METRICS, expected=("f",), faults=(Fault("no_call", expected_index=1),)),
        GradeRecord("b", metrics=METRICS, expected=("f",), faults=(Fault("no_call", expected_index=-1),)),
        GradeRecord("b", metrics=METRICS, faults=(Fault("no_call", expected_index=0),)),
        GradeRecord("b", metrics=METRICS, actual=("f",), faults=(Fault("extra_call", actual_index=1),)),
        GradeRecord("b", metrics=METRICS, actual=("f",), faults=(Fault("extra_call", actual_index=10**12),)),
        GradeRecord("b", metrics=METRICS, expected=("f",), actual=("f",), pairs=((0, 1, True),)),
        GradeRecord("b", metrics=METRICS, expected=("f",), actual=("f",), pairs=((-2, 0, True),)),
        GradeRecord("b", metrics=METRICS, pairs=((0, 0, True),)),
    ],
)
def test_a_grade_that_refers_to_calls_it_does_not_have_raises_with_its_line(tmp_path: Path, broken: GradeRecord) -> None:
    run = Run(make_run(tmp_path / "a", [right("a"), broken]))
    with pytest.raises(BadInput, match="line 2: a fault or pair refers to a call that does not exist"):
        run.summary()


@pytest.mark.parametrize("metrics", [{"call.score": 0.5, "call.pass": 7.0}, {"call.score": -0.5, "call.pass": 0.0}])
def test_a_grade_outside_the_bounds_of_its_metric_raises_with_its_line(tmp_path: Path, metrics: dict[str, float]) -> None:
    run = Run(make_run(tmp_path / "a", [right("a"), GradeRecord("b", metrics=metrics, expected=("f",))]))
    with pytest.raises(BadInput, match=r"line 2: call\.(pass|score): expected a number from 0 to 1, got (7|-0\.5)"):
        run.summary()
