"""`callmark compare`: terminal output, JSON, and refusals."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark import ModelSettings
from callmark.analysis.compare import Comparison
from callmark.analysis.numbers import format_p_value
from callmark.grading.settings import GradingSettings
from callmark.models.scripted import RATES
from callmark.runs.compare import compare_runs
from callmark.runs.run import Run
from tests.conftest import Cli
from tests.graded_runs import failed, make_run, right, some, wrong


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs of forty cases, half and most of them correct."""
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "base", some(20))
    make_run(tmp_path / "tuned", some(38))
    return tmp_path


def test_runs_are_compared_case_by_case(cli: Cli, workdir: Path) -> None:
    completed = cli("compare", "base", "tuned")
    assert (completed.status, completed.err) == (0, "")
    assert completed.out == (
        "tuned is better than base: call.score .500 → .950, +.450 [+.277, +.602], p < .001   (40 common cases)\n"
        "  also better   call.pass +.450\n"
        "  18 fixed · 0 broken · 20 correct in both · 2 wrong in both\n"
        "Detecting a difference of .03 needs about 2,200 cases.\n"
    )


def test_details_have_metrics_cases_faults_and_tools(cli: Cli, workdir: Path) -> None:
    completed = cli("compare", "base", "tuned", "--details")
    assert (completed.status, completed.err) == (0, "")
    verdict, score = (" ".join(line.split()) for line in completed.out.splitlines()[:2])
    assert verdict.startswith("tuned is better than base: ")
    assert score == "call.score .500 → .950 +.450 [+.277, +.602] p < .001"
    assert "18 fixed · 0 broken · 20 correct in both · 2 wrong in both" in completed.out
    assert "    fixed: c20, c21, c22, c23, c24, …\n" in completed.out
    assert "no call 20 → 2 p < .001" in " ".join(completed.out.split())
    assert "  most fixed: f (18 of 40)\n" in completed.out
    assert completed.out.endswith("Detecting a difference of .03 needs about 2,200 cases.\n")


def test_difference_within_noise_is_reported_as_noise(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "almost", [*some(38)[:-1], right("c39")])
    completed = cli("compare", "tuned", "almost", "--details")
    assert completed.out.startswith("almost is within noise of tuned: call.score .950 → .975, +.025 ")
    assert "Faults that differ" not in completed.out


@pytest.mark.parametrize(
    "p, expected_text",
    [
        (0.0001, "p < .001"),
        (0.0424, "p = .042"),
        (0.0494, "p = .049"),
        (0.0496, "p < .05"),  # never `.050` for what is not within noise
        (0.05, "p = .050"),
        (1.0, "p = 1"),
    ],
)
def test_rounded_p_value_stays_on_its_side_of_the_threshold(p: float, expected_text: str) -> None:
    assert format_p_value(p) == expected_text


def test_json_has_every_metric_and_every_changed_case(cli: Cli, workdir: Path) -> None:
    (one,) = json.loads(cli("compare", "base", "tuned", "--json").out)
    assert (one["first"], one["second"], one["common"], one["differing_settings"], one["unshared_metrics"]) == (
        "base",
        "tuned",
        False,
        [],
        [],
    )
    found = one["comparison"]
    assert (found["cases"], len(found["fixed"]), found["broken"]) == (40, 18, [])
    assert found["metrics"]["call.score"].keys() == {
        "before",
        "after",
        "difference",
        "low",
        "high",
        "p",
        "within_noise",
        "differing",
        "heuristic",
    }
    assert found["metrics"]["call.score"]["difference"] == pytest.approx(0.45)
    assert found["faults"] == [
        {"kind": "no_call", "before": 20.0, "after": 2.0, "p": pytest.approx(0.0001, abs=1e-4), "within_noise": False}
    ]
    assert found["tools"] == [{"tool": "f", "n": 40, "before": 0.5, "after": 0.95, "fixed": 18, "broken": 0}]


def test_every_run_is_compared_with_the_first(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "worse", some(2))
    completed = cli("compare", "base", "tuned", "worse")
    assert [line for line in completed.out.splitlines() if " than " in line] == [
        "tuned is better than base: call.score .500 → .950, +.450 [+.277, +.602], p < .001   (40 common cases)",
        "worse is worse than base: call.score .500 → .050, -.450 [-.602, -.277], p < .001   (40 common cases)",
    ]
    assert completed.out.endswith("\np-values are adjusted for multiple comparisons (Holm).\n")


def test_excluded_cases_are_counted(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "few", [failed("c0"), failed("c1"), *some(38)[2:30], right("new")])
    completed = cli("compare", "base", "few")
    assert "few is better than base: call.score .643 → 1, +.357 [+.159, +.542], p = .002   (28 common cases)\n" in completed.out
    for line in ("10 cases only in base, excluded", "1 case only in few, excluded", "2 errors in few, excluded"):
        assert f"  {line}\n" in completed.out


def test_runs_on_different_datasets_need_common(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "other", some(38, of=50), digest="two")
    refused = cli("compare", "base", "other")
    assert (refused.status, refused.out) == (2, "")
    assert refused.err == (
        "callmark: base and other were run on different datasets (one.jsonl, two.jsonl).\n"
        "To compare the cases whose IDs are in both runs, pass --common.\n"
    )
    completed = cli("compare", "base", "other", "--common")
    assert completed.status == 0
    assert completed.out.startswith("other is better than base: ")
    assert "(40 common cases)\n  Different datasets: cases are matched by ID\n" in completed.out
    assert "  10 cases only in other, excluded\n" in completed.out
    assert json.loads(cli("compare", "base", "other", "--common", "--json").out)[0]["common"] is True


def test_runs_graded_with_other_settings_are_compared_on_shared_metrics(cli: Cli, workdir: Path) -> None:
    more = some(38)
    for one in more:
        one.metrics["schema.overall"] = 1.0
    both = GradingSettings(evaluators=("call", "schema"), options={"call": {"threshold": 0.8}})
    make_run(workdir / "more", more, metrics=("call.score", "call.pass", "schema.overall"), settings=both)
    completed = cli("compare", "base", "more")
    assert "  Graded with different settings (call.threshold): to grade a run again: callmark grade RUN\n" in completed.out
    assert "  Measured in one run only: schema.overall\n" in completed.out
    assert completed.out.startswith("more is better than base: call.score .500 → .950, +.450 ")


def test_missing_headline_metric_is_reported(cli: Cli, workdir: Path) -> None:
    grades = some(20)
    for one in grades:
        del one.metrics["call.score"]
    make_run(workdir / "passes", grades, metrics=("call.pass",))
    assert cli("compare", "base", "passes").out.startswith("passes cannot be compared with base: call.score is not measured in both runs ")


def test_runs_with_the_same_name_are_labeled_by_folder(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "later" / "base", some(38))
    assert "later/base is better than base: " in cli("compare", "base", "later/base").out


def test_control_characters_in_names_are_escaped(cli: Cli, workdir: Path) -> None:
    make_run(workdir / "evil", some(38), name="[red]x\x1b[2J\n" + "y" * 200)
    completed = cli("compare", "base", "evil")
    assert completed.out.startswith("[red]x\\x1b[2J yyy")
    assert "\x1b" not in completed.out
    assert len(completed.out.splitlines()[0]) < 140


@pytest.mark.parametrize(
    "runs, expected_text",
    [
        ([], "callmark: expected at least two runs to compare, got 0.\n"),
        (["base"], "callmark: expected at least two runs to compare, got 1.\n"),
        (["base", "base"], "callmark: base was given twice.\n"),
        (["base", "tuned", "./tuned/"], "callmark: tuned was given twice.\n"),
        (["base", "nowhere"], "callmark: nowhere: no such run.\n"),
        (
            ["base", "."],
            "callmark: .: not a run folder: run.json is missing.\nRuns in this folder: base, bent, empty, errors, lines … and ",
        ),
        (["base", "base/run.json"], "callmark: base/run.json: expected a run folder, got a file.\n"),
        (["base", "bent"], "callmark: bent/run.json: version: expected 1, got no version.\n"),
        (["base", "ungraded"], "callmark: ungraded: the run has not been graded.\nGrade it with: callmark grade ungraded\n"),
        (
            ["base", "lines"],
            "callmark: lines/grades.jsonl, line 2: not a valid grade: Input data was truncated.\n"
            "Write the grades again with: callmark grade lines\n",
        ),
        (
            ["base", "metrics"],
            "callmark: metrics/grades.jsonl, line 1: the metrics differ from those of the run.\n"
            "Write the grades again with: callmark grade metrics\n",
        ),
        (["base", "other"], "callmark: no case is scored in both base and other: 40 cases only in base, 1 case only in other.\n"),
        (["base", "errors"], "callmark: no case is scored in both base and errors: 39 cases only in base, 1 error in errors.\n"),
        (["empty", "base"], "callmark: no case is scored in both empty and base: 40 cases only in base.\n"),
        (["base", "schema"], "callmark: base and schema have no metric in common.\nGrade both with the same evaluators.\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_comparisons_are_refused(cli: Cli, workdir: Path, runs: list[str], expected_text: str) -> None:
    make_run(workdir / "bent", some(1)).joinpath("run.json").write_text("{}")
    make_run(workdir / "ungraded", None)
    with make_run(workdir / "lines", [right("c0")]).joinpath("grades.jsonl").open("a") as grades:
        grades.write('{"case": "c1", "met')
    make_run(workdir / "metrics", some(1), metrics=("call.score",))
    make_run(workdir / "other", [right("x")])
    make_run(workdir / "errors", [failed("c0")])
    make_run(workdir / "empty", [])
    foreign = wrong("c0")
    foreign.metrics.clear()
    foreign.metrics["schema.overall"] = 0.0
    make_run(workdir / "schema", [foreign], metrics=("schema.overall",))
    completed = cli("compare", *runs)
    assert (completed.status, completed.out) == (2, "")
    assert completed.err.startswith(expected_text)


TRIALS = 6


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs of scripted models on the hotel's decision points with several trials; `again` is the hasty one with another seed."""
    folder = tmp_path_factory.mktemp("scripted")
    hotel = folder / "hotel.jsonl"
    rows = [json.loads(line) for line in (files("callmark.worlds.hotel") / "hotel.jsonl").read_text(encoding="utf-8").splitlines()]
    hotel.write_text("".join(json.dumps(row) + "\n" for row in rows if usable(row)), encoding="utf-8")
    found = {}
    for name, kind, seed in (
        ("perfect", "perfect", 1),
        ("hasty", "hasty", 1),
        ("again", "hasty", 2),
        ("forgetful", "forgetful", 1),
    ):
        model = ModelSettings(model=f"scripted:{kind}", params={"seed": seed})
        callmark.run(hotel, model, trials=TRIALS, out=str(folder), name=name)
        found[name] = Run(folder / name)
    return found


def usable(row: dict[str, Any]) -> bool:
    """Return whether every call of the row is well-formed: the demo's dataset has one flaw of each kind."""
    try:
        return all(json.loads(call["function"]["arguments"]) for message in row["messages"] for call in message.get("tool_calls") or ())
    except ValueError:
        return False


def against(first: Run, second: Run) -> Comparison:
    return compare_runs([first, second])[0].comparison


def test_planted_faults_are_found_and_named(scripted: dict[str, Run]) -> None:
    found = against(scripted["perfect"], scripted["hasty"])
    score = found.metrics["call.score"]
    assert score.before == 1
    assert not score.within_noise
    assert score.low is not None
    assert score.high is not None
    rates = RATES["hasty"]
    cost = rates["wrong_tool"] + rates["malformed_call"] + (rates["wrong_value"] + rates["extra_argument"]) / 2
    assert score.low < -cost < score.high
    named = {fault.kind for fault in found.faults if not fault.within_noise}
    assert {"wrong_value", "wrong_tool"} <= named <= set(rates)


def test_models_with_equal_scores_differ_in_faults(scripted: dict[str, Run], cli: Cli) -> None:
    found = against(scripted["hasty"], scripted["forgetful"])
    more = {fault.kind for fault in found.faults if not fault.within_noise and fault.after > fault.before}
    fewer = {fault.kind for fault in found.faults if not fault.within_noise and fault.after < fault.before}
    assert more == {"no_call", "missing_argument"}
    assert {"wrong_value", "wrong_tool"} <= fewer <= set(RATES["hasty"])
    shown = cli("compare", scripted["hasty"].folder.path, scripted["forgetful"].folder.path, "--details").out
    differing = shown.partition("Faults that differ")[2]
    assert all(kind.replace("_", " ") in differing for kind in more | fewer)


def test_same_model_twice_is_within_noise(scripted: dict[str, Run], cli: Cli) -> None:
    found = against(scripted["hasty"], scripted["again"])
    assert found.fixed != found.broken  # the dice were others
    assert all(change.within_noise for change in found.metrics.values())
    assert all(fault.within_noise for fault in found.faults)
    assert "again is within noise of hasty: " in cli("compare", scripted["hasty"].folder.path, scripted["again"].folder.path).out
