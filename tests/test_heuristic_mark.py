"""A metric that is a heuristic is marked wherever it is shown: in every output of `grade`, `run`, `gate` and `compare`, and on the page."""

import json
from io import StringIO
from xml.etree import ElementTree

import pytest
from rich.console import Console

import callmark
from callmark.analysis.gate import Gate, Measured, check_gate
from callmark.analysis.measures import parse_measure
from callmark.grading.grader import Grader
from callmark.grading.settings import GradingSettings
from callmark.reporting.models_view import show_model_runs
from callmark.runs.grade import GradeOptions
from callmark.runs.run import Run
from callmark.viewer.page_data import comparison_data, run_data
from tests.conftest import Cli
from tests.decision_runs import decision_runs

MARKED = "decision.behavior (heuristic)"
GATE = ("--min", "decision.behavior=0.9", "--min", "decision.correct=0.5")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    return decision_runs(tmp_path_factory.mktemp("decisions"))


def test_only_the_behavior_is_a_heuristic() -> None:
    metrics = Grader(GradingSettings(("call", "schema", "process", "trajectory", "decision", "state", "effort"))).metrics
    assert [name for name, metric in metrics.items() if metric.heuristic] == ["decision.behavior"]
    assert metrics["decision.behavior"].label == "behavior"


def lines_with(text: str, part: str) -> list[str]:
    return [line for line in text.splitlines() if part in line]


@pytest.mark.parametrize(
    "command, shown",
    [
        (["grade", "{base}", "-e", "call", "-e", "process", "-e", "decision"], "behavior (heuristic) 0"),
        (["gate", "{base}", *GATE], f"{MARKED}   0 < .9"),
        (["gate", "{base}", "--list"], "behavior (heuristic)"),
        (["gate", "{tuned}", "--baseline", "{base}", "--max-drop", "decision.behavior=0.1"], f"{MARKED}   1, baseline 0"),
        (["compare", "{base}", "{tuned}"], f"{MARKED} +1"),
        (["compare", "{base}", "{tuned}", "--details"], MARKED),
        (["gate", "{base}", *GATE, "--summary", "-"], "| ✗ | `decision.behavior` (heuristic) | `0 < .9` |"),
    ],
    ids=lambda value: " ".join(value[:1] + value[2:3]) if isinstance(value, list) else "",
)
def test_the_terminal_and_markdown_mark_it(cli: Cli, runs: tuple[Run, Run], command: list[str], shown: str) -> None:
    folders = dict(zip(("base", "tuned"), (str(run.folder) for run in runs), strict=True))
    out = cli(*(part.format(**folders) for part in command)).out
    assert shown in out
    assert all("(heuristic)" in line for line in lines_with(out, "behavior"))
    assert not any("(heuristic)" in line for line in lines_with(out, "decision.correct"))


def test_json_of_gate_and_compare_marks_it(cli: Cli, runs: tuple[Run, Run]) -> None:
    base, tuned = (str(run.folder) for run in runs)
    checks = json.loads(cli("gate", base, *GATE, "--json").out)["checks"]
    assert {check["name"]: check["heuristic"] for check in checks} == {"decision.behavior": True, "decision.correct": False}
    (compared,) = json.loads(cli("compare", base, tuned, "--json").out)
    heuristics = [name for name, change in compared["comparison"]["metrics"].items() if change["heuristic"]]
    assert heuristics == ["decision.behavior"]


def test_junit_marks_it(runs: tuple[Run, Run]) -> None:
    result = callmark.gate(runs[0], min={"decision.behavior": 0.9, "decision.correct": 0.5})
    names = [case.attrib["name"] for case in ElementTree.fromstring(result.to_junit()).iterfind("testsuite[1]/testcase")]
    assert names == [f"min {MARKED}", "min decision.correct"]


@pytest.mark.parametrize("name", ["decision.behavior", "decision.behavior:weather"])
def test_gate_marks_it_where_it_is_not_measured_and_for_one_scenario_type(runs: tuple[Run, Run], name: str) -> None:
    measures = {name: parse_measure(name, runs[0].info.metrics, pass_metric="call.pass")}
    (check,) = check_gate(Gate(min={name: 0.5}), Measured(1, 0, {}, measures=measures))
    assert (check.label, check.text) == (f"{name} (heuristic)", "not measured, expected at least .5")


def test_side_by_side_table_marks_it(runs: tuple[Run, Run]) -> None:
    out = StringIO()
    show_model_runs(Console(file=out, width=120), list(runs), GradeOptions())
    assert lines_with(out.getvalue(), MARKED)


def test_page_marks_it(runs: tuple[Run, Run]) -> None:
    data = run_data("base", runs[0].info, runs[0].summary(detailed=True), names={}, trials=1)
    assert [metric["label"] for metric in data["metrics"] if metric["heuristic"]] == ["behavior (heuristic)"]
    compared = comparison_data(["base", "tuned"], callmark.compare(*runs), runs[0].info.metrics)
    assert [metric["label"] for metric in compared["metrics"] if metric["name"] == "decision.behavior"] == ["behavior (heuristic)"]


def test_definition_of_a_heuristic_is_stored_with_the_run(runs: tuple[Run, Run]) -> None:
    stored = json.loads((runs[0].folder.path / "run.json").read_text())["metrics"]
    assert [name for name, metric in stored.items() if metric.get("heuristic")] == ["decision.behavior"]
