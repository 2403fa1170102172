"""The two notebooks of a run: executed without errors, with the numbers of the run, and safe with hostile data."""

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

Book = dict[str, Any]  # the outputs of each code cell by cell id; "text" has the text of all Markdown cells

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


def grade_cases(cases: Sequence[Case], evaluators: tuple[str, ...]) -> tuple[list[GradeRecord], Grader]:
    """Grade two trials of each case, the second of them correct, and add a case that is an error."""
    grader = Grader(GradingSettings(evaluators=evaluators))
    tried = [
        [Prediction(case.id, trial, calls=calls, usage=Usage(0.5, 100, 10)) for trial, calls in enumerate((ANSWERS[case.id], RIGHT))]
        for case in cases
    ]
    grades = [grade for case, trials in zip(cases, tried, strict=True) for grade in grader.record(case, trials)]
    return [*grades, GradeRecord("broken", error="HTTP 503: <b>overloaded</b>")], grader


def decision_points(folder: Path) -> Path:
    cases = [
        Case(name, (Message("user", "Oslo?"),), TOOLS, expected=RIGHT, source=Source(f"conversation-{number % 3}", 2 + 9 * (number % 2)))
        for number, name in enumerate(ANSWERS)
    ]
    evaluators = ("call", "schema", "process")
    grades, grader = grade_cases(cases, evaluators)
    return make_run(folder, grades, metrics=tuple(grader.metrics), settings=GradingSettings(evaluators=evaluators))


def scenarios(folder: Path) -> Path:
    cases = [
        Case(name, (), TOOLS, expected=RIGHT, instructions="Ask for the weather.", scenario_type=f"type-{number % 2}")
        for number, name in enumerate(ANSWERS)
    ]
    grades, grader = grade_cases(cases, ("process",))
    return mark_as_scenarios(make_run(folder, grades, metrics=tuple(grader.metrics), settings=GradingSettings(evaluators=("process",))))


def mark_as_scenarios(folder: Path) -> Path:
    info = RunFolder(folder).read()
    info.dataset.kind = "scenarios"
    RunFolder(folder).write(info)
    return folder


def read(path: str | Path) -> Book:
    """Read a notebook, and check that it is valid and that every code cell ran without errors and warnings."""
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    found: Book = {"text": "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")}
    for number, cell in enumerate([cell for cell in book.cells if cell.cell_type == "code"], 1):
        assert cell.execution_count == number
        assert not cell.metadata
        assert {output.output_type for output in cell.outputs} <= {"execute_result"}, cell.outputs
        found[cell.id] = dict(cell.outputs[0].data) if cell.outputs else {}
    return found


def write_and_read(run: Path, out: Path) -> tuple[Book, Book]:
    paths = write_notebooks(Run(run), str(out))
    assert paths == [str(out / name) for name in NOTEBOOKS]
    return read(paths[0]), read(paths[1])


def cells(html: str) -> list[list[str]]:
    """Return the rows of a table, without the names of its index."""
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
def decision_books(home: Path) -> tuple[Book, Book]:
    return write_and_read(decision_points(home / "runs" / "points"), home / "notebooks" / "points")


@pytest.fixture(scope="module")
def scenario_books(home: Path) -> tuple[Book, Book]:
    return write_and_read(scenarios(home / "runs" / "scenarios"), home / "notebooks" / "scenarios")


CHARTS = (
    "metrics-chart spread-chart functions-chart trials-chart",
    "faults-chart calls-chart instead-chart arguments-chart where-chart",
)
TABLES = (
    "run-table metrics-table interpretations-table functions-table trials-table consistency-table usage-table",
    "run-table faults-table calls-table missing-table extra-table instead-table calling-table arguments-table argument-examples-table "
    "worst-table worst-faults-table errors-table",
)
OWN_CHARTS = {"decision_books": ("tools-chart positions-chart", ""), "scenario_books": ("scenario-types-chart", "")}
OWN_TABLES = {
    "decision_books": ("tools-table positions-table conversations-table", "notes-table"),
    "scenario_books": ("scenario-types-table scenarios-table", ""),
}


@pytest.mark.parametrize("which", OWN_CHARTS)
@pytest.mark.parametrize("number, name", list(enumerate(NOTEBOOKS)))
def test_notebook_has_its_charts_and_tables(request: pytest.FixtureRequest, which: str, number: int, name: str) -> None:
    book: Book = request.getfixturevalue(which)[number]
    pictures = {cell for cell, data in book.items() if "image/png" in data}
    assert pictures == {*CHARTS[number].split(), *OWN_CHARTS[which][number].split()}
    assert {cell for cell, data in book.items() if "text/html" in data} == {*TABLES[number].split(), *OWN_TABLES[which][number].split()}
    assert all(height(book[cell]["image/png"]) > 100 for cell in pictures)


@pytest.mark.parametrize("which, headline", [("decision_books", "call.score"), ("scenario_books", "process.reliability")])
def test_numbers_are_those_of_the_run(request: pytest.FixtureRequest, home: Path, which: str, headline: str) -> None:
    evaluation, errors = request.getfixturevalue(which)
    run = Run(home / "runs" / ("points" if which == "decision_books" else "scenarios"))
    summary = run.summary()
    found = {row[0]: row[1:] for row in cells(evaluation["metrics-table"]["text/html"])[1:]}
    estimate = summary.metrics[headline]
    assert list(found) == list(run.info.metrics)
    numbers = (estimate.mean, estimate.low, estimate.high)
    assert found[headline] == [str(estimate.n), *("None" if number is None else f"{number:.3f}" for number in numbers)]
    assert found[headline][0] == "14"
    counts = {row[0]: int(row[1]) for row in cells(errors["faults-table"]["text/html"])[1:]}
    assert counts == {fault.kind.replace("_", " "): fault.count for fault in summary.faults}
    assert ["scored", "14 of 15"] in cells(evaluation["run-table"]["text/html"])


def test_missing_and_extra_calls_are_listed_by_function_and_case(scenario_books: tuple[Book, Book]) -> None:
    _, errors = scenario_books
    assert {row[0]: row[1:] for row in cells(errors["calls-table"]["text/html"])[1:]} == {
        "get_weather": ["2", "1"],  # missing in wrong-tool and no-call, repeated in again
        "get_forecast": ["0", "1"],
        "get_alerts": ["0", "1"],
    }
    assert first_column(errors["missing-table"]["text/html"]) == ["wrong-tool", "no-call"]
    assert first_column(errors["extra-table"]["text/html"]) == ["wrong-tool", "extra-call", "again"]


def test_wrong_arguments_show_both_values(decision_books: tuple[Book, Book]) -> None:
    rows = cells(decision_books[1]["argument-examples-table"]["text/html"])
    assert rows[1:] == [
        ["get_weather.city", "wrong value", "wrong-value", '"Oslo"', '"Bergen"'],
        ["get_weather.day", "missing argument", "missing-argument", '"today"', ""],
    ]


def test_worst_cases_come_first_and_correct_ones_are_left_out(decision_books: tuple[Book, Book]) -> None:
    worst = cells(decision_books[1]["worst-table"]["text/html"])[1:]
    assert [row[0] for row in worst[:2]] == ["no-call", "wrong-tool"]
    assert {row[0] for row in worst} == ANSWERS.keys() - {"right"}
    faults = {row[0]: row[1:] for row in cells(decision_books[1]["worst-faults-table"]["text/html"])[1:]}
    assert faults["no-call"] == ["no call", 'expected get_weather(city="Oslo", day="today"), got no call', "1"]


def test_text_fits_the_kind_of_cases(decision_books: tuple[Book, Book], scenario_books: tuple[Book, Book]) -> None:
    for evaluation, _ in (decision_books, scenario_books):
        assert "high precision, low recall | the model's calls are correct, but some required calls are missing" in evaluation["text"]
    assert "**Low for all types**: fundamental issues in following business processes" in scenario_books[0]["text"]
    assert "business processes" not in decision_books[0]["text"]


def test_headings_are_in_sentence_case(decision_books: tuple[Book, Book], scenario_books: tuple[Book, Book]) -> None:
    for book in (*decision_books, *scenario_books):
        headings = [line.lstrip("# ") for line in book["text"].splitlines() if line.startswith("#")]
        assert len(headings) > 5
        assert all(heading[0].isupper() and heading[1:] == heading[1:].lower() for heading in headings), headings


def test_long_names_are_shortened_until_they_differ(tmp_path: Path) -> None:
    names = [f"TicketManagementPlugin-create_a_support_ticket_for_the_department_of_{name}" for name in ("operations", "recruiting")]
    grades = [
        GradeRecord(
            name, metrics={"call.score": 0.0}, expected=(name,), faults=(Fault("no_call", 0, None, expected=name, evaluators=("call",)),)
        )
        for name in names
    ]
    evaluation, errors = write_and_read(make_run(tmp_path / "run", grades, metrics=("call.score",)), tmp_path / "notebooks")
    for table in (evaluation["tools-table"], evaluation["functions-table"], errors["calls-table"]):
        shown = first_column(table["text/html"])
        assert len(set(shown)) == 2, shown
        assert all("…" in name and len(name) <= 60 for name in shown), shown


def test_notebooks_load_nothing_from_the_network(home: Path, decision_books: tuple[Book, Book], scenario_books: tuple[Book, Book]) -> None:
    for path in (home / "notebooks").rglob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<script|<link|<iframe|https?://|javascript", text)


def test_notebooks_moved_with_their_run_are_identical(home: Path, scenario_books: tuple[Book, Book], tmp_path: Path) -> None:
    moved = tmp_path / 'it\'s "moved" {path} <b>'
    shutil.copytree(home / "runs" / "scenarios", moved / "runs" / "scenarios")
    write_notebooks(Run(moved / "runs" / "scenarios"), str(moved / "notebooks" / "scenarios"))
    for name in NOTEBOOKS:
        assert (moved / "notebooks" / "scenarios" / name).read_bytes() == (home / "notebooks" / "scenarios" / name).read_bytes()


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
    """Write a run in which every text is hostile: names, values, sentences, and metric names that are chart syntax."""
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
    return make_run(
        folder,
        grades,
        name=HOSTILE[0],
        metrics=metrics,
        settings=GradingSettings(evaluators=("process",), options={"process": {"ignore": []}}),
    )


@pytest.mark.parametrize("made", [mark_as_scenarios, lambda folder: folder], ids=["scenarios", "decision points"])
def test_hostile_data_is_shown_as_text_and_never_runs(tmp_path: Path, made: Any) -> None:
    run = made(hostile_run(tmp_path / "<img src=x>'"))
    ran = tmp_path / "ran"
    for name in SHADOWS:  # next to the notebooks, because their folder may come from somebody else
        (run / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    for path, book in zip((run / name for name in NOTEBOOKS), write_and_read(run, run), strict=True):
        assert path.stat().st_size < 3_000_000
        for name, data in book.items():
            texts = [data] if name == "text" else [data[kind] for kind in data.keys() - {"image/png"}]
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
    "code, cell_timeout, message",
    [
        ("1 / 0", 60, "a.ipynb, cell broken: ZeroDivisionError: division by zero"),
        ("import time\ntime.sleep(60)", 1, "a.ipynb, cell broken: A cell timed out"),
        ("import os\nos._exit(3)", 60, "a.ipynb, cell broken: Kernel died"),
    ],
    ids=["error", "timeout", "dead kernel"],
)
def test_failing_cell_is_named(tmp_path: Path, code: str, cell_timeout: int, message: str) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1"), nbformat.v4.new_code_cell(code, id="broken")])
    with pytest.raises(RuntimeError, match=re.escape(message)):
        execute({"a.ipynb": book}, tmp_path, cell_timeout=cell_timeout)
