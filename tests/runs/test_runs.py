"""A run that was graded, looked at again: what was kept of its grades, when that is believed, and grades that make no sense."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from callmark.analysis.summary import SHOWN
from callmark.errors import BadInput
from callmark.grading.grader import GradeRecord
from callmark.grading.evaluator import Settings
from callmark.runs import run as run_module
from callmark.runs.store import RunFolder
from callmark.runs.grade_run import GradeOptions, grade_again, grade_file
from callmark.runs.run import Run
from callmark.types import Fault
from tests.graded_runs import make_run, right
from tests.rows import WEATHER, call, row, user, write_rows

KEPT = "summary.json"


def graded(folder: Path, *, how: GradeOptions | None = None, name: str = "base") -> Run:
    """Forty cases of ten conversations, of which every third is wrong and one an error."""
    cases, answers = folder / "cases.jsonl", folder / "answers.jsonl"
    bonn = call("get_weather", {"city": "Bonn"})
    expected = {"expected_output": {"role": "assistant", "tool_calls": [bonn]}}
    write_rows(
        cases,
        *(
            {**row(user("Bonn?"), tools=[WEATHER], id=f"c{n}"), **expected, "source": {"conversation": f"t{n // 4}", "message": n % 4}}
            for n in range(40)
        ),
    )
    made = [{"name": "get_weather", "arguments": {"city": "Bonn"}}, {"name": "get_weather", "arguments": {"city": "Ulm"}}]
    write_rows(
        answers,
        {"case": "c39", "error": "HTTP 503"},
        *({"case": f"c{n}", "calls": [made[n % 3 == 0]], "usage": {"seconds": n / 10}} for n in range(39)),
    )
    return Run(grade_file(str(cases), [str(answers)], Settings(), out=str(folder / "runs"), name=name, how=how).folder.path)


def test_what_is_kept_is_what_the_grades_come_to(tmp_path: Path) -> None:
    run = graded(tmp_path)
    known, counted = run.known_summary(), run.summary(detailed=False)
    assert known is not None
    assert {name: (one.n, one.mean) for name, one in known.metrics.items()} == {
        name: (one.n, one.mean) for name, one in counted.metrics.items()
    }
    assert {name for name, one in known.metrics.items() if one.low is not None} == {"call.score", "call.pass", "process.reliability"}
    assert all(known.metrics[name] == counted.metrics[name] for name in SHOWN if name in counted.metrics)
    assert msgspec.structs.replace(known, metrics={}) == msgspec.structs.replace(counted, metrics={})


def test_what_is_kept_is_the_same_whatever_else_was_asked_for(tmp_path: Path) -> None:
    asked = [GradeOptions(), GradeOptions(detailed=True), GradeOptions(intervals=SHOWN), GradeOptions(jobs=2, intervals=SHOWN, detailed=True)]
    kept = {Path(graded(tmp_path, how=how, name=f"run{n}").folder.file(KEPT)).read_bytes() for n, how in enumerate(asked)}
    assert len(kept) == 1


def replaced(name: str, old: str, new: str) -> Callable[[Path], object]:
    def replace(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return replace


def written(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / KEPT).write_bytes(content)


def with_its_own(change: dict[str, Any]) -> Callable[[Path], object]:
    """The summary changed, under the stamp that it had."""

    def replace(folder: Path) -> None:
        kept = json.loads((folder / KEPT).read_text())
        (folder / KEPT).write_text(json.dumps({**kept, "summary": {**kept["summary"], **change}}))

    return replace


def taken_away(folder: Path) -> None:
    (folder / KEPT).unlink()


def a_folder(folder: Path) -> None:
    taken_away(folder)
    (folder / KEPT).mkdir()


def a_pipe(folder: Path) -> None:
    taken_away(folder)
    os.mkfifo(folder / KEPT)


@pytest.mark.parametrize(
    "change",
    [
        replaced("grades.jsonl", '"call.score":1.0', '"call.score":0.0'),
        replaced("grades.jsonl", '"case":"c0"', '"case":"d0"'),
        replaced("grades.jsonl", "\n", "\n\n"),
        replaced("run.json", '"settings": {}', '"settings": {"evaluators": ["call"]}'),
        replaced("run.json", '"settings": {}', '"settings": {"ignore": []}'),
        replaced(KEPT, '"scored":39', '"scored":40'),
        replaced(KEPT, '"stamp":"xxh3:', '"stamp":"xxh4:'),
        replaced(KEPT, '{"stamp"', ' {"tamp"'),
        with_its_own({"metrics": {"call.score": {"n": 39, "mean": 1.0}}}),
        with_its_own({"errors": "<script>"}),
        written(b""),
        written(b"{"),
        written(b"[]"),
        written(b"null"),
        written(b"\xff\xfe\x00"),
        written(b"[" * 100_000),
        written(b'{"stamp":"","summary":{}}'),
        written(b'{"stamp":1,"summary":{}}'),
        written(b" " * 6_000_000),
        taken_away,
        a_folder,
        a_pipe,
    ],
)
def test_what_was_kept_of_other_grades_or_changed_since_is_not_believed(tmp_path: Path, change: Callable[[Path], object]) -> None:
    run = graded(tmp_path, how=GradeOptions(intervals=SHOWN))
    assert Run(run.folder.path).known_summary() is not None
    change(run.folder.path)
    assert Run(run.folder.path).known_summary() is None


def test_another_version_counts_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = graded(tmp_path)
    monkeypatch.setattr(run_module, "version", lambda name: "99")
    assert run.known_summary() is None


def test_grading_again_makes_it_anew(tmp_path: Path) -> None:
    run = graded(tmp_path)
    file = Path(run.folder.file(KEPT))
    before = file.read_bytes()
    file.write_text("{")
    grade_again(RunFolder(run.folder.path), run.info.settings)
    assert file.read_bytes() == before
    grade_again(RunFolder(run.folder.path), Settings(evaluators=("call",)))
    known = Run(run.folder.path).known_summary()
    assert known is not None
    assert set(known.metrics) == {"call.score", "call.pass"}


def test_it_can_be_moved_and_copied(tmp_path: Path) -> None:
    run = graded(tmp_path)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("run.json", "grades.jsonl", KEPT):
        (moved / name).write_bytes(Path(run.folder.file(name)).read_bytes())
    assert Run(moved).known_summary() == run.known_summary()


def test_what_is_very_large_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_LARGEST", 100)
    run = graded(tmp_path)
    assert not Path(run.folder.file(KEPT)).exists()
    assert run.known_summary() is None


METRICS = {"call.score": 0.0, "call.pass": 0.0}


@pytest.mark.parametrize(
    "odd",
    [
        GradeRecord("b", metrics=METRICS, expected=("f",), faults=(Fault("no_call", expected_index=1),)),
        GradeRecord("b", metrics=METRICS, expected=("f",), faults=(Fault("no_call", expected_index=-1),)),
        GradeRecord("b", metrics=METRICS, faults=(Fault("no_call", expected_index=0),)),
        GradeRecord("b", metrics=METRICS, made=("f",), faults=(Fault("extra_call", actual_index=1),)),
        GradeRecord("b", metrics=METRICS, made=("f",), faults=(Fault("extra_call", actual_index=10**12),)),
        GradeRecord("b", metrics=METRICS, expected=("f",), made=("f",), pairs=((0, 1, True),)),
        GradeRecord("b", metrics=METRICS, expected=("f",), made=("f",), pairs=((-2, 0, True),)),
        GradeRecord("b", metrics=METRICS, pairs=((0, 0, True),)),
    ],
)
def test_a_grade_of_calls_that_it_does_not_have_is_told_by_its_line(tmp_path: Path, odd: GradeRecord) -> None:
    run = Run(make_run(tmp_path / "a", [right("a"), odd]))
    with pytest.raises(BadInput, match="line 2 has a fault, or a pair, of a call that is not in it"):
        run.summary()
