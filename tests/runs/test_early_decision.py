"""Deciding early: conversations are run in random order, in waves, until a comparison or a gate is decided."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec import structs

import callmark
from callmark.analysis.measures import CaseValues, Measure, parse_measure
from callmark.errors import BadInput
from callmark.grading.record import GradeRecord
from callmark.runs.early_decision import EarlyDecision, EarlyRule
from callmark.runs.sample import Sample, case_key
from callmark.types import Case, Source
from tests.conftest import Cli
from tests.graded_runs import DEFINITIONS
from tests.rows import WEATHER, call, row, user, write_rows

SCORE = parse_measure("call.score", DEFINITIONS, pass_metric="call.pass")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_cases(number: int, *, per_conversation: int = 1) -> str:
    bonn = {"expected_output": {"role": "assistant", "tool_calls": [call("get_weather", {"city": "Bonn"})]}}
    rows = (
        {**row(user("Bonn?"), tools=[WEATHER], id=f"c{n}"), **bonn, "source": {"conversation": f"t{n // per_conversation}", "message": n}}
        for n in range(number)
    )
    write_rows(Path("eval.jsonl"), *rows)
    return "eval.jsonl"


def values(correct: float) -> CaseValues:
    grades = [GradeRecord(f"c{n}", metrics={"call.score": float(n % 100 < correct * 100)}) for n in range(100)]
    return CaseValues([SCORE], grades)


def decide(rule: EarlyRule, found: list[CaseValues], *, runs: int) -> tuple[str, int]:
    """Return the sentence, and the number of waves until then."""

    async def one_run(early: EarlyDecision) -> int:
        waves = 1
        while await early.wait():
            waves += 1
        early.leave()
        return waves

    async def main() -> tuple[str, int]:
        early = EarlyDecision(rule, ["base", "tuned"][:runs], list(range(200)), lambda sample: found)
        waves = await asyncio.gather(*(one_run(early) for _ in range(runs)))
        assert len(set(waves)) == 1
        return early.sentence, waves[0]

    return asyncio.run(main())


def test_clear_difference_ends_the_waves() -> None:
    sentence, waves = decide(EarlyRule([SCORE]), [values(0.1), values(0.9)], runs=2)
    assert waves == 3
    assert sentence.startswith("Stopped early at look 3 of 10 (60 of 200 conversations): tuned is better than base: call.score +.800 [+.")


def test_without_a_difference_all_waves_are_run() -> None:
    assert decide(EarlyRule([SCORE]), [values(0.9), values(0.9)], runs=2) == ("", 10)


@pytest.mark.parametrize("threshold, side", [(0.5, "above"), (0.99, "below")])
def test_gate_is_decided_when_its_threshold_is_outside_the_interval(threshold: float, side: str) -> None:
    sentence, waves = decide(EarlyRule([SCORE], {"call.score": threshold}, looks=5), [values(0.8)], runs=1)
    assert waves < 5
    assert f"is {side} {threshold:g}" in sentence


def test_run_that_stops_ends_the_looks_but_not_the_other_run() -> None:
    async def main() -> str:
        early = EarlyDecision(EarlyRule([SCORE]), ["base", "tuned"], list(range(200)), lambda sample: [values(0.1), values(0.9)])
        early.stop_looking()
        early.leave()
        waves = 1
        while await early.wait():
            waves += 1
        assert waves == 10
        return early.sentence

    assert asyncio.run(main()) == ""


def test_order_of_conversations_depends_on_the_seed_only() -> None:
    cases = [Case(f"c{n}", source=Source(f"t{n // 3}", n)) for n in range(60)]
    keys = [case_key(case, 1) for case in cases]
    assert len(set(keys)) == 20
    assert all(len(set(keys[start : start + 3])) == 1 for start in range(0, 60, 3))
    assert keys != [case_key(case, 2) for case in cases]
    assert case_key(Case("a"), 1) != case_key(Case("b"), 1)


def test_decided_run_has_only_the_cases_of_its_looks(cli: Cli) -> None:
    cases = write_cases(200, per_conversation=2)
    found = cli("run", cases, "--model", "scripted:perfect", "--model", "scripted:forgetful", "--until-decided", "--name", "x")
    assert "Stopped early at look " in found.out
    info = json.loads(Path("runs/x-scripted-perfect/run.json").read_text())
    predictions = [json.loads(line)["case"] for line in Path("runs/x-scripted-perfect/predictions.jsonl").read_text().splitlines()]
    assert info["cases"] == len(predictions) < 200
    assert info.get("status", "complete") == "complete"
    sample = Sample(**info["dataset"]["sample"])
    assert sorted(predictions) == sorted(f"c{n}" for n in range(200) if sample.contains(Case(f"c{n}", source=Source(f"t{n // 2}", n))))
    regraded = cli("grade", "runs/x-scripted-perfect")
    assert f"{len(predictions)} cases" in regraded.out
    resumed = cli("run", "runs/x-scripted-perfect", "--resume")
    assert f"{len(predictions)} cases" in resumed.out


def test_undecided_run_has_every_case(cli: Cli) -> None:
    cases = write_cases(60)
    Path("callmark.toml").write_text('[gate]\nmin = {"call.score" = 1.0}\n')
    found = cli("run", cases, "--model", "scripted:perfect", "--until-decided", "--name", "x")
    assert "Stopped early" not in found.out
    assert "60 cases" in found.out


def test_python_function_decides_early() -> None:
    runs = callmark.run(write_cases(200), ["scripted:perfect", "scripted:forgetful"], until_decided=True, looks=5)
    assert all(run.info.cases < 200 for run in runs)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--model", "scripted:perfect"], "--until-decided: nothing to decide with 1 model"),
        (
            ["--model", "scripted:perfect", "--model", "scripted:hasty", "--model", "scripted:chatty"],
            "--until-decided: nothing to decide with 3 models",
        ),
        (
            ["--model", "scripted:perfect", "--model", "scripted:hasty", "--limit", "10"],
            "--until-decided needs at least 20 conversations, got 10",
        ),
        (
            ["--model", "scripted:perfect", "--model", "scripted:hasty", "--looks", "7"],
            "--looks: expected one of 2, 3, 4, 5, 8, 10, 20, got 7",
        ),
    ],
)
def test_rule_that_cannot_decide_is_refused(cli: Cli, arguments: list[str], message: str) -> None:
    found = cli("run", write_cases(30), *arguments, "--until-decided")
    assert found.status == 2
    assert message in found.err


@pytest.mark.parametrize(
    "evaluator, gate, models, message",
    [
        (
            "trajectory",
            '[gate]\nmin = {"trajectory.redundant" = 1.0}\n',
            1,
            "expected a metric whose values are from 0 to 1, got trajectory.redundant",
        ),
        ("mine:Tone", "", 2, "expected a metric whose values are from 0 to 1, got tone.words"),
        ("mine:undeclared", "", 2, "the selected evaluators declare no metric that could decide"),
    ],
)
def test_metrics_that_cannot_decide_are_refused(cli: Cli, evaluator: str, gate: str, models: int, message: str) -> None:
    Path("mine.py").write_text(
        "from callmark import Metric, Result\n"
        "class Tone:\n    name = 'tone'\n    metrics = (Metric('words', 'words', bounds=None),)\n"
        "    def evaluate(self, attempt):\n        return Result({'words': 7.0})\n"
        "def undeclared(attempt):\n    return 7.0\n"
    )
    Path("callmark.toml").write_text(gate)
    chosen = ["--model", "scripted:perfect", "--model", "scripted:hasty"][: 2 * models]
    found = cli("run", write_cases(30), *chosen, "--evaluator", evaluator, "--until-decided")
    assert found.status == 2
    assert f"--until-decided: {message}" in found.err


def test_heuristic_that_decides_is_marked() -> None:
    guessed = structs.replace(SCORE, definition=structs.replace(SCORE.definition, heuristic=True))
    for rule, found in ((EarlyRule([guessed]), [values(0.1), values(0.9)]), (EarlyRule([guessed], {"call.score": 0.5}), [values(0.9)])):
        sentence, _ = decide(rule, found, runs=len(found))
        assert "call.score (heuristic) " in sentence


def test_looks_without_the_rule_are_refused() -> None:
    with pytest.raises(BadInput, match="--looks has no effect without --until-decided"):
        callmark.run(write_cases(30), "scripted:perfect", looks=5)


def test_measure_without_common_cases_decides_nothing() -> None:
    empty = CaseValues([SCORE], [])
    assert decide(EarlyRule([SCORE]), [empty, values(0.9)], runs=2) == ("", 10)


def test_measures_are_all_decided_together() -> None:
    passes: Measure = parse_measure("call.pass", DEFINITIONS, pass_metric="call.pass")
    grades = [GradeRecord(f"c{n}", metrics={"call.score": 1.0, "call.pass": float(n % 2)}) for n in range(100)]
    found = CaseValues([SCORE, passes], grades)
    rule = EarlyRule([SCORE, passes], {"call.score": 0.5, "call.pass": 0.5})
    assert decide(rule, [found], runs=1) == ("", 10)
