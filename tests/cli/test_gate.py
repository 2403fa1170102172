"""`callmark gate`: one line per threshold, exit status 0 or 1, and refusals."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import xmlschema
from msgspec import structs

from callmark.grading.settings import GradingSettings
from callmark.models.model import ModelSettings
from callmark.runs.manifest import ModelRunInfo, Status
from callmark.runs.store import RunFolder
from tests.conftest import Cli
from tests.graded_runs import failed, make_run, right, some

SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[1] / "junit.xsd")


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run of forty cases, 36 of them correct, and a baseline with 38."""
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "base", some(38))
    make_run(tmp_path / "tuned", some(36))
    return tmp_path


def test_cases_to_which_no_metric_applies_can_be_gated(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "states", [structs.replace(grade, metrics={}, faults=()) for grade in some(2, of=2)], metrics=("state.score",))
    completed = cli("gate", "states", "--max-errors", "0")
    assert (completed.status, completed.err) == (0, "")


def test_each_threshold_prints_both_numbers(cli: Cli, workdir: Path) -> None:
    completed = cli("gate", "tuned", "--min", "call.score=.8", "--baseline", "base", "--max-drop", "call.pass=.01", "--max-errors", "0")
    assert (completed.status, completed.err) == (1, "")
    assert completed.out == (
        "Gate failed: 2 of 3 thresholds met\n"
        "  ✓ call.score   .9 ≥ .8\n"
        "  ✗ call.pass    .9, baseline .95: drop .05 > .01\n"
        "  ✓ errors       0 ≤ 0\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    "thresholds, status",
    [
        (["--min", "call.score=0.9"], 0),
        (["--min", "call.score=0.91"], 1),
        (["--min", "call.score=0.9", "--min", "call.pass=0.95"], 1),
        (["--max-errors", "0"], 0),
        (["--baseline", "base", "--max-drop", "call.score=0.05"], 0),
        (["--baseline", "base", "--max-drop", "call.score=0.04"], 1),
        (["--baseline", "base", "--max-drop", "call.score=0.04", "--significant"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_exit_status_says_whether_all_thresholds_are_met(cli: Cli, workdir: Path, thresholds: list[str], status: int) -> None:
    assert cli("gate", "tuned", *thresholds).status == status


def test_json_has_every_check(cli: Cli, workdir: Path) -> None:
    completed = cli("gate", "tuned", "--min", "call.score=0.95", "--max-errors", "3", "--json")
    assert completed.status == 1
    assert json.loads(completed.out) == {
        "run": "tuned",
        "passed": False,
        "checks": [
            {"condition": "min", "name": "call.score", "met": False, "text": ".9 < .95", "heuristic": False},
            {"condition": "max_errors", "name": "errors", "met": True, "text": "0 ≤ 3", "heuristic": False},
        ],
        "coverage": "",
    }
    assert json.loads(cli("gate", "tuned", "--max-errors", "3", "--json").out)["passed"] is True


def test_list_prints_the_metrics_of_a_run(cli: Cli, workdir: Path) -> None:
    completed = cli("gate", "tuned", "--list")
    assert (completed.status, completed.out) == (0, "call.score   call score\ncall.pass    pass\n")


def test_errors_are_shown_beside_the_verdict(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "broken", [right("a"), right("b"), failed("c"), failed("d"), failed("e")])
    completed = cli("gate", "broken", "--min", "call.score=0.1")
    assert completed.out.startswith("Gate passed: 1 of 1 threshold met (scored 2 of 5, 3 errors)\n")


def test_pass_rate_of_more_trials_than_the_run_has_says_so(cli: Cli, workdir: Path) -> None:
    completed = cli("gate", "tuned", "--min", "pass^3=0.5")
    assert completed.status == 1
    assert "  ✗ pass^3   needs at least 3 trials; the run has 1\n" in completed.out


def test_result_files_are_written_whether_met_or_not(cli: Cli, workdir: Path) -> None:
    for bound, mark in (("0.5", "✅"), ("0.95", "❌")):
        completed = cli("gate", "tuned", "--min", f"call.score={bound}", "--junit", "out/gate.xml", "--summary", f"out/{bound}.md")
        assert completed.status == int(mark == "❌")
        SCHEMA.validate("out/gate.xml")
        assert Path(f"out/{bound}.md").read_text(encoding="utf-8").startswith(f"### {mark} callmark gate: `tuned`\n")


def test_summary_is_appended_to_its_file(cli: Cli, workdir: Path) -> None:
    """In CI, every step appends to the same summary; JUnit XML is one document, which is replaced."""
    Path("all.md").write_text("# Build", encoding="utf-8")
    for number in (1, 2):
        assert (
            cli("gate", "tuned", "--max-errors", "0", "--junit", "gate.xml", "--summary", "all.md", "--min", f"call.pass=.{number}").status
            == 0
        )
        SCHEMA.validate("gate.xml")
    first, _, rest = Path("all.md").read_text(encoding="utf-8").partition("\n")
    assert first == "# Build"
    assert rest.count("### ✅ callmark gate: `tuned`\n\n2 of 2 thresholds met.\n") == 2
    assert "| failed | `c39` | `expected None, got no call` |\n\n### ✅" in rest  # a blank line between the two
    assert rest.endswith("| failed | `c39` | `expected None, got no call` |\n")


def test_summary_is_written_to_standard_output(cli: Cli, workdir: Path) -> None:
    completed = cli("gate", "tuned", "--max-errors", "0", "--summary", "-")
    assert completed.out.startswith("### ✅ callmark gate: `tuned`\n")
    assert completed.out.endswith("\nGate passed: 1 of 1 threshold met\n  ✓ errors   0 ≤ 0\n")


def leave_unfinished(folder: Path, status: Status, **more: Any) -> None:
    run = RunFolder(folder)
    model_run = ModelRunInfo("m", ModelSettings(), requests=75, predictions=40, **more)
    run.write(structs.replace(run.read(), status=status, model_run=model_run))


@pytest.mark.parametrize(
    "status, reason, expected_text",
    [
        ("stopped", "--max-cost 0.1 was reached", "stopped (--max-cost 0.1 was reached) after 40 of 75 predictions"),
        ("interrupted", "", "interrupted after 40 of 75 predictions"),
        ("running", "", "still running, or killed"),
    ],
)
def test_unfinished_run_never_passes(cli: Cli, workdir: Path, status: Status, reason: str, expected_text: str) -> None:
    leave_unfinished(workdir / "tuned", status, stop_reason=reason)
    completed = cli("gate", "tuned", "--min", "call.score=.5", "--junit", "gate.xml")
    assert (completed.status, completed.err) == (1, "")
    assert completed.out == (
        f"Gate failed: 1 of 2 checks passed\n  ✗ run          {expected_text}. Resume with: callmark run tuned --resume\n"
        "  ✓ call.score   .9 ≥ .5\n"
    )
    SCHEMA.validate("gate.xml")


def test_unfinished_baseline_gives_a_warning(cli: Cli, workdir: Path) -> None:
    leave_unfinished(workdir / "base", "interrupted")
    completed = cli("gate", "tuned", "--baseline", "base", "--max-drop", "call.score=.1")
    expected_text = (
        "callmark: warning: the baseline is unfinished: interrupted after 40 of 75 predictions. Resume with: callmark run base --resume.\n"
    )
    assert (completed.status, completed.err) == (0, expected_text)


def test_hostile_names_are_escaped_in_every_output(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "evil", some(36), name='"><script>\x1b[2J\n|x|')
    assert cli("gate", "evil", "--max-errors", "0", "--junit", "gate.xml", "--summary", "gate.md").status == 0
    SCHEMA.validate("gate.xml")
    heading = Path("gate.md").read_text(encoding="utf-8").splitlines()[0]
    assert heading == r"""### ✅ callmark gate: `"><script>\x1b[2J \x7cx\x7c`"""


@pytest.mark.parametrize(
    "thresholds, expected_text",
    [
        (["--min", "call.score=0"], "  ✗ call.score     not measured, expected at least 0\n"),
        (["--max-errors", "9"], "  ✓ errors         2 ≤ 9\n"),
        (
            ["--baseline", "base", "--max-drop", "call.score=1"],
            "  ✗ call.score     not measured in both runs, expected a drop of at most 1\n",
        ),
    ],
    ids=lambda value: value[-2] if isinstance(value, list) else "",
)
def test_run_without_scored_cases_never_passes(cli: Cli, workdir: Path, thresholds: list[str], expected_text: str) -> None:
    make_run(workdir / "errors", [failed("c0"), failed("c1")])
    completed = cli("gate", "errors", *thresholds)
    assert (completed.status, completed.err) == (1, "")
    headline, _, checks = completed.out.partition("\n")
    assert headline.startswith("Gate failed: ")
    assert checks == f"  ✗ scored cases   0: nothing to check\n{expected_text}"


def test_baseline_graded_with_other_settings_gives_a_warning(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "strict", some(36), settings=GradingSettings(evaluators=("call",), options={"call": {"threshold": 0.5}}))
    completed = cli("gate", "strict", "--baseline", "base", "--max-drop", "call.score=0.1")
    assert (completed.status, completed.err) == (
        0,
        "callmark: warning: strict and base were graded with different settings: call.threshold.\n",
    )


DROP = ["--max-drop", "call.score=0.1"]


@pytest.mark.parametrize(
    "arguments, expected_text",
    [
        (["tuned"], "callmark: the gate has no thresholds: every run would pass.\nPass at least one, for example --min call.score=0.9.\n"),
        (
            ["tuned", "--min", "call.scor=0.9"],
            "callmark: unknown metric 'call.scor'. Did you mean call.score?\ncallmark gate RUN --list lists the metrics of a run.\n",
        ),
        (["tuned", "--min", "grace=0.9"], "callmark: unknown metric 'grace'.\n"),
        (["tuned", "--min", "schema.overall=0.9"], "callmark: unknown metric 'schema.overall'"),
        (
            ["tuned", "--min", "call.score>0.9"],
            "callmark: --min: expected METRIC=NUMBER, got 'call.score>0.9'.\nFor example: --min call.score=0.9\n",
        ),
        (["tuned", "--min", "call.score=nan"], "callmark: --min: expected METRIC=NUMBER, got 'call.score=nan'.\n"),
        (["tuned", "--max-drop", "call.score=little"], "callmark: --max-drop: expected METRIC=NUMBER, got 'call.score=little'.\n"),
        (["tuned", "--min", "call.score=.9", "--min", "call.score=.8"], "callmark: --min: call.score is given twice.\n"),
        (["tuned", "--min", "call.score=90"], "callmark: --min: call.score: expected a number from 0 to 1, got 90.\n"),
        (["tuned", *DROP], "callmark: --max-drop needs a baseline.\nPass it with --baseline RUN.\n"),
        (
            ["tuned", "--baseline", "base", "--max-drop", "call.score=-0.1"],
            "callmark: --max-drop: call.score: expected a drop of 0 or more, got -0.1.\n",
        ),
        (
            ["tuned", "--baseline", "base"],
            "callmark: --baseline has no effect without --max-drop.\nPass --max-drop METRIC=NUMBER, the largest drop allowed.\n",
        ),
        (["tuned", "--baseline", "base", "--min", "call.score=0.5"], "callmark: --baseline has no effect without --max-drop.\n"),
        (["tuned", "--significant", "--min", "call.score=0.5"], "callmark: --significant has no effect without --max-drop.\n"),
        (["tuned", "--max-errors", "-1"], "callmark: --max-errors: expected an integer of at least 0, got -1.\n"),
        (["tuned", "--max-errors", "few"], "callmark: --max-errors: expected an integer, got 'few'.\n"),
        ([], "callmark: missing argument RUN.\n"),
        (["nowhere", "--max-errors", "0"], "callmark: nowhere: no such run.\n"),
        (["nowhere", "--list"], "callmark: nowhere: no such run.\n"),
        (["ungraded", "--max-errors", "0"], "callmark: ungraded: the run has not been graded.\nGrade it with: callmark grade ungraded\n"),
        (["lines", "--max-errors", "0"], "callmark: lines/grades.jsonl, line 2: not a valid grade: JSON is malformed"),
        (["metrics", "--max-errors", "0"], "callmark: metrics/grades.jsonl, line 1: the metrics differ from those of the run.\n"),
        (["tuned", "--baseline", "nowhere", *DROP], "callmark: nowhere: no such run.\n"),
        (["tuned", "--baseline", "ungraded", *DROP], "callmark: ungraded: the run has not been graded.\n"),
        (["tuned", "--baseline", "tuned", *DROP], "callmark: tuned was given twice.\n"),
        (["tuned", "--baseline", "other", *DROP], "callmark: other and tuned were run on different datasets (two.jsonl, one.jsonl).\n"),
        (["tuned", "--baseline", "errors", *DROP], "callmark: no case is scored in both errors and tuned: "),
        (["tuned", "--max-errors", "0", "--junit", "base"], "callmark: base: expected a file to write, got a directory.\n"),
        (
            ["tuned", "--max-errors", "0", "--junit", "base/run.json/x.xml"],
            "callmark: base/run.json/x.xml: cannot be written: run.json is a file, not a folder.\n",
        ),
        (["tuned", "--max-errors", "0", "--summary", "base"], "callmark: base: expected a file to write, got a directory.\n"),
        (
            ["tuned", "--max-errors", "0", "--summary", "base/run.json/x.md"],
            "callmark: base/run.json/x.md: cannot be written: File exists.\n",
        ),
        (["tuned", "--max-errors", "0", "--config", "none.toml"], "callmark: none.toml: no such file.\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_thresholds_are_refused(cli: Cli, workdir: Path, arguments: list[str], expected_text: str) -> None:
    make_run(workdir / "ungraded", None)
    with make_run(workdir / "lines", [right("c0")]).joinpath("grades.jsonl").open("a") as grades:
        grades.write("oh no\n")
    make_run(workdir / "metrics", some(1), metrics=("call.score",))
    make_run(workdir / "errors", [failed("c0")])
    make_run(workdir / "other", some(1), digest="two")
    completed = cli("gate", *arguments)
    assert (completed.status, completed.out) == (2, "")
    assert completed.err.startswith(expected_text)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_summary_folder_is_reported(cli: Cli, workdir: Path) -> None:
    workdir.joinpath("closed").mkdir(mode=0o500)
    for option in ("--junit", "--summary"):
        completed = cli("gate", "tuned", "--max-errors", "0", option, "closed/x.xml")
        assert (completed.status, completed.err) == (2, "callmark: closed/x.xml cannot be written: Permission denied.\n")


TOO_FEW = (
    "callmark: warning: call.score dropped by .05, which is within noise, but 40 cases are too few to tell: "
    "detecting a drop of .01 needs about 3,800 cases.\n"
)


@pytest.mark.parametrize(
    "table, status",
    [
        ('[gate]\nmin = { "call.score" = 0.9 }', 0),
        ("[gate]\nmin = { call.score = 0.91 }", 1),
        ("[gate.min]\ncall.score = 0.9\ncall.pass = 0.95", 1),
        ("[gate]\nmax_errors = 0", 0),
        ('[gate]\nbaseline = "base"\nmax_drop = { call.score = 0.01 }', 1),
        ('[gate]\nbaseline = "base"\nmax_drop = { call.score = 0.01 }\nsignificant = true', 0),
        ('[gate]\nbaseline = "base"\nsignificant = true\nmax_errors = 0', 0),
    ],
)
def test_thresholds_are_read_from_callmark_toml(cli: Cli, workdir: Path, table: str, status: int) -> None:
    Path("callmark.toml").write_text(table, encoding="utf-8")
    completed = cli("gate", "tuned")
    assert completed.status == status
    assert completed.err == (TOO_FEW if "significant" in table and "max_drop" in table else "")


def test_command_line_overrides_the_file(cli: Cli, workdir: Path) -> None:
    Path("strict.toml").write_text('[gate]\nmin = { "call.score" = 0.99, "call.pass" = 0.5 }\nmax_errors = 0', encoding="utf-8")
    completed = cli("gate", "tuned", "--config", "strict.toml", "--min", "call.score=0.9", "--max-errors", "5")
    assert (completed.status, completed.out) == (
        0,
        "Gate passed: 3 of 3 thresholds met\n  ✓ call.score   .9 ≥ .9\n  ✓ call.pass    .9 ≥ .5\n  ✓ errors       0 ≤ 5\n",
    )


@pytest.mark.parametrize(
    "text, expected_text",
    [
        ("gate = 5", "callmark.toml: gate: expected a table, got 5.\nStart the table with [gate].\n"),
        (
            "[gate]\nmax-drop = { call.score = 0.1 }",
            "callmark.toml: [gate]: unknown key 'max-drop'. Did you mean max_drop?\n"
            "Known keys: min, max_drop, max_errors, baseline, significant.\n",
        ),
        ("[gate]\nwishes = 3", "callmark.toml: [gate]: unknown key 'wishes'.\n"),
        ("[gate]\nmin = 0.9", "callmark.toml: [gate] min: expected a table of METRIC = NUMBER, got 0.9.\n"),
        ('[gate]\nmin = { "call.score" = "0.9" }', "callmark.toml: [gate] min: call.score: expected a number, got '0.9'.\n"),
        ("[gate]\nmax_errors = 1.5", "callmark.toml: [gate] max_errors: expected an integer, got 1.5.\n"),
        ("[gate]\nmin = { call.scor = 0.9 }", "callmark.toml: [gate] min: unknown metric 'call.scor'. Did you mean call.score?\n"),
        ("[gate]\nmin = { call.score = nan }", "callmark.toml: [gate] min: call.score: expected a number, got nan.\n"),
        ("[gate]\nmin = { call.score = 2 }", "callmark.toml: [gate] min: call.score: expected a number from 0 to 1, got 2.\n"),
        ("[gate]\nmax_drop = { call.score = 0.1 }", "callmark.toml: [gate] max_drop needs a baseline.\n"),
        ("[gate]\nmax_errors = -1", "callmark.toml: [gate] max_errors: expected an integer of at least 0, got -1.\n"),
    ],
)
def test_invalid_gate_tables_are_refused(cli: Cli, workdir: Path, text: str, expected_text: str) -> None:
    Path("callmark.toml").write_text(text, encoding="utf-8")
    completed = cli("gate", "tuned")
    assert (completed.status, completed.out) == (2, "")
    assert completed.err.startswith(f"callmark: {expected_text}")
