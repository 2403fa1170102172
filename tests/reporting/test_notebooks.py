"""A run as two notebooks: both are executed, show what they are meant to and no error, and nothing that is in a run can do harm in them."""

import base64
import re
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest

from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.reporting.notebooks.execute import execute
from callmark.reporting.notebooks.write import NOTEBOOKS, write_notebooks
from callmark.runs.run import Run
from callmark.runs.store import RunFolder
from callmark.types import Call, Case, Fault, Message, Note, Prediction, Source, Tool, Usage
from tests.graded_runs import make_run

Book = dict[str, Any]  # the outputs of each cell of code, by its id; under "words" all that is said between them

TOOLS = tuple(
    Tool(name, "", {"type": "object", "properties": {key: {"type": "string"} for key in ("city", "day")}, "required": ["city"]})
    for name in ("get_weather", "get_forecast", "get_alerts")
)
OSLO = Call("get_weather", {"city": "Oslo", "day": "today"})
RIGHT: tuple[Call, ...] = (OSLO,)
ANSWERS: dict[str, tuple[Call, ...]] = {
    "right": RIGHT,
    "wrong-tool": (Call("get_forecast", {"city": "Oslo"}),),
    "wrong-value": (Call("get_weather", {"city": "Bergen", "day": "today"}),),
    "missing-argument": (Call("get_weather", {"city": "Oslo"}),),
    "no-call": (),
    "extra-call": (OSLO, Call("get_alerts", {"city": "Oslo"})),
    "again": (OSLO, OSLO),
}


def graded(cases: Sequence[Case], evaluators: tuple[str, ...]) -> tuple[list[GradeRecord], Grader]:
    """Two trials of each case, the second of them right; and one case that is an error."""
    grader = Grader(GradingSettings(evaluators=evaluators))
    tried = [
        [Prediction(case.id, trial, calls=calls, usage=Usage(0.5, 100, 10)) for trial, calls in enumerate((ANSWERS[case.id], RIGHT))]
        for case in cases
    ]
    grades = [grade for case, trials in zip(cases, tried, strict=True) for grade in grader.record(case, trials)]
    return [*grades, GradeRecord("broken", error="HTTP 503: <b>overloaded</b>")], grader


def decision_points(folder: Path) -> Path:
    cases = [
        Case(name, (Message("user", "Oslo?"),), TOOLS, expected=RIGHT, source=Source(f"talk-{number % 3}", 2 + 9 * (number % 2)))
        for number, name in enumerate(ANSWERS)
    ]
    evaluators = ("call", "schema", "process")
    grades, grader = graded(cases, evaluators)
    return make_run(folder, grades, metrics=grader.metrics, settings=GradingSettings(evaluators=evaluators))


def scenarios(folder: Path) -> Path:
    cases = [
        Case(name, (), TOOLS, expected=RIGHT, instructions="Ask for the weather.", scenario_type=f"type-{number % 2}")
        for number, name in enumerate(ANSWERS)
    ]
    grades, grader = graded(cases, ("process",))
    return of_scenarios(make_run(folder, grades, metrics=grader.metrics, settings=GradingSettings(evaluators=("process",))))


def of_scenarios(folder: Path) -> Path:
    info = RunFolder(folder).read()
    info.dataset.kind = "scenarios"
    RunFolder(folder).write(info)
    return folder


def read(path: str | Path) -> Book:
    """A notebook that is valid, and of which every cell of code was run without an error or a warning."""
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    found: Book = {"words": "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")}
    for number, cell in enumerate([cell for cell in book.cells if cell.cell_type == "code"], 1):
        assert cell.execution_count == number
        assert not cell.metadata
        assert {output.output_type for output in cell.outputs} <= {"execute_result"}, cell.outputs
        found[cell.id] = dict(cell.outputs[0].data) if cell.outputs else {}
    return found


def written(run: Path, out: Path) -> tuple[Book, Book]:
    paths = write_notebooks(Run(run), str(out))
    assert paths == [str(out / name) for name in NOTEBOOKS]
    return read(paths[0]), read(paths[1])


def cells(html: str) -> list[list[str]]:
    """The rows of a table, without the names of its index."""
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", html, re.DOTALL)]
    return [row for row in rows if any(row[1:])]


def first_column(html: str) -> list[str]:
    return [row[0] for row in cells(html)[1:]]


def height(picture: str) -> int:
    data = base64.b64decode(picture)
    assert data.startswith(b"\x89PNG\r\n")
    found: int = struct.unpack(">II", data[16:24])[1]
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def of_points(home: Path) -> tuple[Book, Book]:
    return written(decision_points(home / "runs" / "points"), home / "notebooks" / "points")


@pytest.fixture(scope="module")
def of_talks(home: Path) -> tuple[Book, Book]:
    return written(scenarios(home / "runs" / "talks"), home / "notebooks" / "talks")


CHARTS = (
    "metrics-chart spread-chart functions-chart trials-chart",
    "faults-chart calls-chart instead-chart arguments-chart where-chart",
)
TABLES = (
    "run-table metrics-table readings functions-table trials-table consistency-table usage-table",
    "run-table faults-table calls-table missed-table extra-table instead-table calling-table arguments-table argument-examples-table "
    "worst-table worst-faults-table errors-table",
)
OWN_CHARTS = {"of_points": ("tools-chart positions-chart", ""), "of_talks": ("scenario-types-chart", "")}
OWN_TABLES = {
    "of_points": ("tools-table positions-table conversations-table", "notes-table"),
    "of_talks": ("scenario-types-table scenarios-table", ""),
}


@pytest.mark.parametrize("which", OWN_CHARTS)
@pytest.mark.parametrize("number, name", list(enumerate(NOTEBOOKS)))
def test_a_notebook_has_its_charts_and_tables(request: pytest.FixtureRequest, which: str, number: int, name: str) -> None:
    book: Book = request.getfixturevalue(which)[number]
    pictures = {cell for cell, data in book.items() if "image/png" in data}
    assert pictures == {*CHARTS[number].split(), *OWN_CHARTS[which][number].split()}
    assert {cell for cell, data in book.items() if "text/html" in data} == {*TABLES[number].split(), *OWN_TABLES[which][number].split()}
    assert all(height(book[cell]["image/png"]) > 100 for cell in pictures)


@pytest.mark.parametrize("which, headline", [("of_points", "call.score"), ("of_talks", "process.reliability")])
def test_the_numbers_are_those_of_the_run(request: pytest.FixtureRequest, home: Path, which: str, headline: str) -> None:
    evaluation, errors = request.getfixturevalue(which)
    run = Run(home / "runs" / ("points" if which == "of_points" else "talks"))
    summary = run.summary()
    found = {row[0]: row[1:] for row in cells(evaluation["metrics-table"]["text/html"])[1:]}
    estimate = summary.metrics[headline]
    assert list(found) == list(run.info.metrics)
    assert found[headline] == [str(estimate.n), *(f"{number:.3f}" for number in (estimate.mean, estimate.low, estimate.high))]
    assert found[headline][0] == "14"
    told = {row[0]: int(row[1]) for row in cells(errors["faults-table"]["text/html"])[1:]}
    assert told == {fault.kind.replace("_", " "): fault.count for fault in summary.faults}
    assert ["scored", "14 of 15"] in cells(evaluation["run-table"]["text/html"])


def test_missed_and_extra_calls_are_told_by_function_and_by_case(of_talks: tuple[Book, Book]) -> None:
    _, errors = of_talks
    assert {row[0]: row[1:] for row in cells(errors["calls-table"]["text/html"])[1:]} == {
        "get_weather": ["2", "1"],  # missed in wrong-tool and no-call, made again in again
        "get_forecast": ["0", "1"],
        "get_alerts": ["0", "1"],
    }
    assert first_column(errors["missed-table"]["text/html"]) == ["wrong-tool", "no-call"]
    assert first_column(errors["extra-table"]["text/html"]) == ["extra-call", "again"]


def test_wrong_arguments_come_with_both_values(of_points: tuple[Book, Book]) -> None:
    rows = cells(of_points[1]["argument-examples-table"]["text/html"])
    assert rows[1:] == [
        ["get_weather.city", "wrong_value", "wrong-value", '"Oslo"', '"Bergen"'],
        ["get_weather.day", "missing_argument", "missing-argument", '"today"', ""],
    ]


def test_the_worst_cases_come_first_and_right_ones_not_at_all(of_points: tuple[Book, Book]) -> None:
    worst = cells(of_points[1]["worst-table"]["text/html"])[1:]
    assert [row[0] for row in worst[:2]] == ["no-call", "wrong-tool"]
    assert {row[0] for row in worst} == ANSWERS.keys() - {"right"}
    assert "nothing was called" in of_points[1]["worst-faults-table"]["text/html"]


def test_the_words_are_those_for_what_the_run_is_of(of_points: tuple[Book, Book], of_talks: tuple[Book, Book]) -> None:
    for evaluation, _ in (of_points, of_talks):
        assert "high precision, low recall | the calls that it makes are correct, but it misses some" in evaluation["words"]
    assert "low in all**: fundamental issues with how business processes are carried out" in of_talks[0]["words"]
    assert "business processes" not in of_points[0]["words"]


def test_nothing_is_fetched_to_show_them(home: Path, of_points: tuple[Book, Book], of_talks: tuple[Book, Book]) -> None:
    for path in (home / "notebooks").rglob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<script|<link|<iframe|https?://|javascript", text)


def test_moved_with_its_run_a_notebook_is_the_same_byte_for_byte(home: Path, of_talks: tuple[Book, Book], tmp_path: Path) -> None:
    moved = tmp_path / 'it\'s "moved" {path} <b>'
    shutil.copytree(home / "runs" / "talks", moved / "runs" / "talks")
    write_notebooks(Run(moved / "runs" / "talks"), str(moved / "notebooks" / "talks"))
    for name in NOTEBOOKS:
        assert (moved / "notebooks" / "talks" / name).read_bytes() == (home / "notebooks" / "talks" / name).read_bytes()


HOSTILE = (
    '<script>alert(1)</script><img src=x onerror="alert(1)">',
    "</script><!-- <svg onload=alert(1)>",
    "[link](javascript:alert(1)) $x^2$ `code`",
    "=HYPERLINK('http://evil.example')",
    "\x1b[31mred\x1b]8;;http://evil.example\x07\x00\x9b",
    "right \u202eto\u2066left\u200b",
    "word" * 250_000,
    "{path}{0}%s",
    "",
)
SHADOWS = ("pandas", "callmark", "altair", "ipykernel_launcher", "sitecustomize", "msgspec")


def hostile_run(folder: Path) -> Path:
    """Every text of a run is hostile: names, values, sentences; metrics have names that charts would take for something else."""
    metrics = ("process.reliability", "process.<script>alert(1)</script>", "a.b[0]:Q'", "process." + "x" * 100_000)
    grades = []
    for number, text in enumerate(HOSTILE):
        named = text or "empty"
        faults = (
            Fault("wrong_tool", 0, 0, expected=f"{text}()", actual=f"{text}2()", evaluators=("process",)),
            Fault("wrong_value", 1, 1, text, {text: text}, [text], ("process",), "elsewhere", 1),
            Fault("extra_call", None, 2, actual=text, evaluators=("process",)),
        )
        grades += [
            GradeRecord(
                f"{named} {number}",
                metrics=dict.fromkeys(metrics, number / 10),
                expected=(text, text),
                actual=(f"{text}2", text, text),
                pairs=((1, 1, False),),
                faults=faults,
                notes=(Note("policy_violation", text), Note("state_difference", text)),
                conversation=named,
                scenario_type=text,
                group=text,
                ending=text,
            ),
            GradeRecord(f"{named} failed", error=named),
        ]
    return make_run(folder, grades, name=HOSTILE[0], metrics=metrics, settings=GradingSettings(evaluators=("process",), ignore=()))


@pytest.mark.parametrize("made", [of_scenarios, lambda folder: folder], ids=["scenarios", "decision points"])
def test_hostile_data_shows_as_text_and_runs_nowhere(tmp_path: Path, made: Any) -> None:
    run = made(hostile_run(tmp_path / "<img src=x>'"))
    ran = tmp_path / "ran"
    for name in SHADOWS:  # beside the notebooks, as they may go into a folder that somebody sent
        (run / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    for path, book in zip((run / name for name in NOTEBOOKS), written(run, run), strict=True):
        assert path.stat().st_size < 3_000_000
        for name, data in book.items():
            texts = [data] if name == "words" else [data[kind] for kind in data.keys() - {"image/png"}]
            for text in texts:
                assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text), name
            if "text/html" in data:
                tags = set(re.findall(r"<\s*/?\s*([a-zA-Z!][^\s>]*)", data["text/html"]))
                assert tags <= {"div", "style", "table", "thead", "tbody", "tr", "th", "td"}, name
                assert "tex2jax_ignore" in data["text/html"]
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in book["run-table"]["text/html"]
    assert "\\x1b[31mred" in book["worst-table"]["text/html"]
    assert not ran.exists()


@pytest.mark.parametrize(
    "code, longest, said",
    [
        ("1 / 0", 60, "a.ipynb, cell broken: ZeroDivisionError: division by zero"),
        ("import time\ntime.sleep(60)", 1, "a.ipynb, cell broken: A cell timed out"),
        ("import os\nos._exit(3)", 60, "a.ipynb, cell broken: Kernel died"),
    ],
    ids=["error", "too long", "died"],
)
def test_a_cell_that_fails_is_named(tmp_path: Path, code: str, longest: int, said: str) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1"), nbformat.v4.new_code_cell(code, id="broken")])
    with pytest.raises(RuntimeError, match=re.escape(said)):
        execute({"a.ipynb": book}, tmp_path, longest=longest)
