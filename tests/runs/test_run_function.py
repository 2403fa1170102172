"""`callmark.run` and `callmark.run_async`."""

import asyncio
from pathlib import Path

import pytest

import callmark
from callmark.errors import BadInput
from tests.rows import WEATHER, assistant, call, user, write_rows


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    points = [
        {
            "id": f"c{place}",
            "messages": [user(f"Bonn{place}?")],
            "tools": [WEATHER],
            "expected_output": assistant(call("get_weather", {"city": f"Bonn{place}"})),
        }
        for place in range(30)
    ]
    return write_rows(tmp_path / "eval.jsonl", *points)


def test_models_are_run_and_graded(cases: Path) -> None:
    perfect, hasty = callmark.run(cases, ["scripted:perfect", callmark.ModelSettings(model="scripted:hasty", params={"seed": 3})], trials=2)
    assert perfect.summary().metrics["call.score"].mean == 1
    assert hasty.summary().metrics["call.score"].mean < 1
    assert (perfect.summary().cases, perfect.summary().scored) == (30, 60)
    assert Path(perfect.folder.file("predictions.jsonl")).exists()


def test_run_works_while_an_event_loop_is_running(cases: Path) -> None:
    async def cell() -> float:
        return callmark.run(cases, "scripted:perfect", limit=3)[0].summary().metrics["call.score"].mean

    assert asyncio.run(cell()) == 1


def test_configured_models_and_evaluators_are_used(cases: Path) -> None:
    Path("callmark.toml").write_text('[models.quick]\nmodel = "scripted:hasty"\n')
    [found] = callmark.run(cases, "quick", evaluators=["call"], name="quick")
    assert set(found.summary().metrics) == {"call.score", "call.pass", "call.arguments"}
    assert found.info.predictions.name == "quick"


def test_run_async_is_awaited_in_the_running_loop(cases: Path) -> None:
    async def main() -> list[callmark.Run]:
        return await callmark.run_async(cases, "scripted:perfect", limit=3)

    [run] = asyncio.run(main())
    assert isinstance(run, callmark.Run)
    assert run.summary().metrics["call.score"].mean == 1


def test_a_returned_run_can_be_compared_and_opened_again(cases: Path) -> None:
    hasty, perfect = callmark.run(cases, ["scripted:hasty", "scripted:perfect"], name="r")
    [comparison] = callmark.compare(hasty, perfect)
    assert comparison.comparison.metrics["call.score"].after == 1
    again = callmark.Run(perfect)
    assert (again.label, again.info, list(again.grades())) == (perfect.label, perfect.info, list(perfect.grades()))


@pytest.mark.parametrize("models, sentence", [([], "no model given"), ("opnai:x", "opnai"), (["scripted:nobody"], "nobody")])
def test_models_that_cannot_be_opened_raise(cases: Path, models: list[str], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        callmark.run(cases, models)


def test_errors_inside_a_running_loop_are_raised(cases: Path) -> None:
    async def cell() -> None:
        callmark.run(cases, "cmd:no-such-program-at-all")

    with pytest.raises(BadInput, match="no-such-program-at-all"):
        asyncio.run(cell())


def test_runs_are_compared_by_path_and_by_run(cases: Path) -> None:
    callmark.run(cases, ["scripted:hasty", "scripted:perfect"], name="r", trials=3)
    [found] = callmark.compare("runs/r-scripted-hasty", callmark.Run("runs/r-scripted-perfect"))
    change = found.comparison.metrics["call.score"]
    assert (change.after, change.within_noise) == (1, False)
    assert found.comparison.broken == []
    assert callmark.Run("runs/r-scripted-hasty").summary().details is not None
