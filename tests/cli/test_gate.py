"""`callmark gate`: one line for each condition, exit status 0 or 1, and what is refused."""

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
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run of forty cases, 36 right, and a baseline with 38."""
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "base", some(38))
    make_run(tmp_path / "tuned", some(36))
    return tmp_path


def test_every_condition_has_a_line_with_both_numbers(cli: Cli, here: Path) -> None:
    done = cli("gate", "tuned", "--min", "call.score=.8", "--baseline", "base", "--max-drop", "call.pass=.01", "--max-errors", "0")
    assert (done.status, done.err) == (1, "")
    assert done.out == (
        "✓ call.score   .9 ≥ .8\n"
        "✗ call.pass    .9, was .95: lower by .05, at most .01\n"
        "✓ errors       0, at most 0\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    "conditions, status",
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
def test_the_exit_status_says_whether_all_are_met(cli: Cli, here: Path, conditions: list[str], status: int) -> None:
    assert cli("gate", "tuned", *conditions).status == status


def test_for_machines_there_is_every_verdict(cli: Cli, here: Path) -> None:
    done = cli("gate", "tuned", "--min", "call.score=0.95", "--max-errors", "3", "--json")
    assert done.status == 1
    assert json.loads(done.out) == {
        "run": "tuned",
        "met": False,
        "conditions": [
            {"condition": "min", "name": "call.score", "met": False, "said": ".9 < .95"},
            {"condition": "max_errors", "name": "errors", "met": True, "said": "0, at most 3"},
        ],
    }
    assert json.loads(cli("gate", "tuned", "--max-errors", "3", "--json").out)["met"] is True


def test_the_metrics_of_a_run_are_listed(cli: Cli, here: Path) -> None:
    done = cli("gate", "tuned", "--list")
    assert (done.status, done.out) == (0, "call.score\ncall.pass\n")


def test_verdicts_go_into_files_whether_met_or_not(cli: Cli, here: Path) -> None:
    for bound, mark in (("0.5", "✅"), ("0.95", "❌")):
        done = cli("gate", "tuned", "--min", f"call.score={bound}", "--junit", "out/gate.xml", "--summary", f"out/{bound}.md")
        assert done.status == int(mark == "❌")
        SCHEMA.validate("out/gate.xml")
        assert Path(f"out/{bound}.md").read_text(encoding="utf-8").startswith(f"### {mark} callmark gate: tuned\n")


def test_a_summary_is_added_to_what_is_in_its_file(cli: Cli, here: Path) -> None:
    """As in a CI, where every step writes to the same one; JUnit XML is one document, and replaced."""
    Path("all.md").write_text("# Build", encoding="utf-8")
    for number in (1, 2):
        assert (
            cli("gate", "tuned", "--max-errors", "0", "--junit", "gate.xml", "--summary", "all.md", "--min", f"call.pass=.{number}").status
            == 0
        )
        SCHEMA.validate("gate.xml")
    first, _, rest = Path("all.md").read_text(encoding="utf-8").partition("\n")
    assert first == "# Build"
    assert rest.count("### ✅ callmark gate: tuned\n\n2 of 2 conditions met.\n") == 2
    assert "| .9 ≥ .1 |\n| ✓ | errors | 0, at most 0 |\n\n###" in rest  # a blank line between the two
    assert rest.endswith("| .9 ≥ .2 |\n| ✓ | errors | 0, at most 0 |\n")


def test_a_summary_may_go_to_standard_output(cli: Cli, here: Path) -> None:
    done = cli("gate", "tuned", "--max-errors", "0", "--summary", "-")
    assert done.out.startswith("### ✅ callmark gate: tuned\n")
    assert done.out.endswith("\n✓ errors   0, at most 0\n")


def leave_unfinished(folder: Path, status: Status, **more: Any) -> None:
    run = RunFolder(folder)
    asked = ModelRunInfo("m", ModelSettings(), questions=75, answers=40, **more)
    run.write(structs.replace(run.read(), status=status, asked=asked))


@pytest.mark.parametrize(
    "status, reason, said",
    [
        ("stopped", "--max-cost 0.1 was reached", "stopped (--max-cost 0.1 was reached) with 40 of 75 answers"),
        ("interrupted", "", "interrupted with 40 of 75 answers"),
        ("running", "", "still running, or killed"),
    ],
)
def test_a_run_that_is_not_finished_never_passes(cli: Cli, here: Path, status: Status, reason: str, said: str) -> None:
    leave_unfinished(here / "tuned", status, stopped=reason)
    done = cli("gate", "tuned", "--min", "call.score=.5", "--junit", "gate.xml")
    assert (done.status, done.err) == (1, "")
    assert done.out == f"✗ run          {said}: callmark run tuned --resume goes on\n✓ call.score   .9 ≥ .5\n"
    SCHEMA.validate("gate.xml")


def test_a_baseline_that_is_not_finished_is_told_of(cli: Cli, here: Path) -> None:
    leave_unfinished(here / "base", "interrupted")
    done = cli("gate", "tuned", "--baseline", "base", "--max-drop", "call.score=.1")
    said = "callmark: the baseline is not finished: interrupted with 40 of 75 answers: callmark run base --resume goes on.\n"
    assert (done.status, done.err) == (0, said)


def test_a_hostile_name_stays_a_name(cli: Cli, here: Path) -> None:
    make_run(here / "evil", some(36), name='"><script>\x1b[2J\n|x|')
    assert cli("gate", "evil", "--max-errors", "0", "--junit", "gate.xml", "--summary", "gate.md").status == 0
    SCHEMA.validate("gate.xml")
    heading = Path("gate.md").read_text(encoding="utf-8").splitlines()[0]
    assert heading == r'### ✅ callmark gate: "\>\<script\>\\x1b\[2J \|x\|'


@pytest.mark.parametrize(
    "conditions, said",
    [
        (["--min", "call.score=0"], "✗ call.score     not measured, at least 0 was expected\n"),
        (["--max-errors", "9"], "✓ errors         2, at most 9\n"),
        (["--baseline", "base", "--max-drop", "call.score=1"], "✗ call.score     not measured in both, a drop of at most 1 was allowed\n"),
    ],
    ids=lambda value: value[-2] if isinstance(value, list) else "",
)
def test_a_run_with_no_scored_case_never_passes(cli: Cli, here: Path, conditions: list[str], said: str) -> None:
    make_run(here / "errors", [failed("c0"), failed("c1")])
    done = cli("gate", "errors", *conditions)
    assert (done.status, done.err) == (1, "")
    assert done.out == f"✗ scored cases   none: there is nothing to judge by\n{said}"


def test_a_run_graded_by_other_settings_than_its_baseline_is_told_of(cli: Cli, here: Path) -> None:
    make_run(here / "strict", some(36), settings=GradingSettings(evaluators=("call",), threshold=0.5))
    done = cli("gate", "strict", "--baseline", "base", "--max-drop", "call.score=0.1")
    assert (done.status, done.err) == (0, "callmark: strict and base were graded by other settings: threshold.\n")


DROP = ["--max-drop", "call.score=0.1"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["tuned"], "callmark: the gate has no condition: it would let everything through.\nGive one: --min call.score=0.9\n"),
        (
            ["tuned", "--min", "call.scor=0.9"],
            "callmark: no metric called 'call.scor'. Did you mean call.score?\ncallmark gate RUN --list shows those of a run.\n",
        ),
        (["tuned", "--min", "grace=0.9"], "callmark: no metric called 'grace'.\n"),
        (["tuned", "--min", "schema.overall=0.9"], "callmark: no metric called 'schema.overall'"),
        (
            ["tuned", "--min", "call.score>0.9"],
            "callmark: --min call.score>0.9 is not METRIC=NUMBER.\nFor example --min call.score=0.9\n",
        ),
        (["tuned", "--min", "call.score=nan"], "callmark: --min call.score=nan is not METRIC=NUMBER.\n"),
        (["tuned", "--max-drop", "call.score=little"], "callmark: --max-drop call.score=little is not METRIC=NUMBER.\n"),
        (["tuned", "--min", "call.score=.9", "--min", "call.score=.8"], "callmark: --min is given twice for call.score.\n"),
        (["tuned", "--min", "call.score=90"], "callmark: --min call.score=90: call.score goes from 0 to 1.\n"),
        (["tuned", *DROP], "callmark: --max-drop needs something to drop from.\n--baseline RUN names it.\n"),
        (["tuned", "--baseline", "base", "--max-drop", "call.score=-0.1"], "callmark: --max-drop call.score=-0.1: a drop is 0 or more.\n"),
        (
            ["tuned", "--baseline", "base"],
            "callmark: --baseline alone is no condition.\n--max-drop METRIC=NUMBER says how much lower the run may be.\n",
        ),
        (["tuned", "--baseline", "base", "--min", "call.score=0.5"], "callmark: --baseline alone is no condition.\n"),
        (["tuned", "--significant", "--min", "call.score=0.5"], "callmark: --significant alone is no condition.\n"),
        (["tuned", "--max-errors", "-1"], "callmark: --max-errors is -1, 0 or more was expected.\n"),
        (["tuned", "--max-errors", "few"], "callmark: Invalid value for '--max-errors': 'few' is not a valid integer.\n"),
        ([], "callmark: Missing argument 'RUN'.\n"),
        (["nowhere", "--max-errors", "0"], "callmark: nowhere is no run: there is no run.json in it.\n"),
        (["nowhere", "--list"], "callmark: nowhere is no run: there is no run.json in it.\n"),
        (["ungraded", "--max-errors", "0"], "callmark: ungraded has not been graded yet.\ncallmark grade ungraded does it.\n"),
        (["lines", "--max-errors", "0"], "callmark: lines/grades.jsonl, line 2 cannot be read: JSON is malformed"),
        (["metrics", "--max-errors", "0"], "callmark: metrics/grades.jsonl, line 1 has other metrics than the run.\n"),
        (["tuned", "--baseline", "nowhere", *DROP], "callmark: nowhere is no run: there is no run.json in it.\n"),
        (["tuned", "--baseline", "ungraded", *DROP], "callmark: ungraded has not been graded yet.\n"),
        (["tuned", "--baseline", "tuned", *DROP], "callmark: tuned is given twice: a run does not differ from itself.\n"),
        (["tuned", "--baseline", "other", *DROP], "callmark: other and tuned are runs of different cases (two.jsonl, one.jsonl).\n"),
        (["tuned", "--baseline", "errors", *DROP], "callmark: no case is scored in both errors and tuned: "),
        (["tuned", "--max-errors", "0", "--junit", "base"], "callmark: base is a directory, a file to write was expected.\n"),
        (
            ["tuned", "--max-errors", "0", "--junit", "base/run.json/x.xml"],
            "callmark: base/run.json/x.xml cannot be written: run.json is a file, a folder was expected.\n",
        ),
        (["tuned", "--max-errors", "0", "--summary", "base"], "callmark: base is a directory, a file to write was expected.\n"),
        (
            ["tuned", "--max-errors", "0", "--summary", "base/run.json/x.md"],
            "callmark: base/run.json/x.md cannot be written: File exists.\n",
        ),
        (["tuned", "--max-errors", "0", "--config", "none.toml"], "callmark: none.toml cannot be read: No such file or directory.\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_judged_is_said(cli: Cli, here: Path, arguments: list[str], said: str) -> None:
    make_run(here / "ungraded", None)
    with make_run(here / "lines", [right("c0")]).joinpath("grades.jsonl").open("a") as grades:
        grades.write("oh no\n")
    make_run(here / "metrics", some(1), metrics=("call.score",))
    make_run(here / "errors", [failed("c0")])
    make_run(here / "other", some(1), digest="two")
    done = cli("gate", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(said)


@pytest.mark.skipif(os.geteuid() == 0, reason="whoever may write everywhere is refused nowhere")
def test_a_folder_that_cannot_be_written_to(cli: Cli, here: Path) -> None:
    here.joinpath("closed").mkdir(mode=0o500)
    for option in ("--junit", "--summary"):
        done = cli("gate", "tuned", "--max-errors", "0", option, "closed/x.xml")
        assert (done.status, done.err) == (2, "callmark: closed/x.xml cannot be written: Permission denied.\n")


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
def test_conditions_may_stand_in_a_file(cli: Cli, here: Path, table: str, status: int) -> None:
    Path("callmark.toml").write_text(table, encoding="utf-8")
    done = cli("gate", "tuned")
    assert (done.status, done.err) == (status, "")


def test_the_command_line_wins_over_the_file(cli: Cli, here: Path) -> None:
    Path("strict.toml").write_text('[gate]\nmin = { "call.score" = 0.99, "call.pass" = 0.5 }\nmax_errors = 0', encoding="utf-8")
    done = cli("gate", "tuned", "--config", "strict.toml", "--min", "call.score=0.9", "--max-errors", "5")
    assert (done.status, done.out) == (0, "✓ call.score   .9 ≥ .9\n✓ call.pass    .9 ≥ .5\n✓ errors       0, at most 5\n")


@pytest.mark.parametrize(
    "text, said",
    [
        ("gate = 5", "callmark.toml: gate is 5, a table was expected.\n[gate] begins it.\n"),
        (
            "[gate]\nmax-drop = { call.score = 0.1 }",
            "callmark.toml: gate: there is no key called 'max-drop'. Did you mean max_drop?\n"
            "The keys are min, max_drop, max_errors, baseline, significant.\n",
        ),
        ("[gate]\nwishes = 3", "callmark.toml: gate: there is no key called 'wishes'.\n"),
        ("[gate]\nmin = 0.9", "callmark.toml: gate: min is a number, "),
        ('[gate]\nmin = { "call.score" = "0.9" }', "callmark.toml: gate: min"),
        ("[gate]\nmax_errors = 1.5", "callmark.toml: gate: max_errors is a number, "),
        ("[gate]\nmin = { call.scor = 0.9 }", "no metric called 'call.scor'. Did you mean call.score?\n"),
        ("[gate]\nmin = { call.score = nan }", "--min call.score=nan: a number was expected.\n"),
        ("[gate]\nmax_errors = -1", "--max-errors is -1, 0 or more was expected.\n"),
    ],
)
def test_what_is_wrong_with_the_file_is_said(cli: Cli, here: Path, text: str, said: str) -> None:
    Path("callmark.toml").write_text(text, encoding="utf-8")
    done = cli("gate", "tuned")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"callmark: {said}")
