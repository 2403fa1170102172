"""Everything that the command line does, from Python: with paths, datasets and lists."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark import BadInput, Case, Prediction, Run
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

ROWS = [
    row(
        user(f"Weather in {city}?"),
        assistant(call("get_weather", {"city": city})),
        result(weather),
        assistant(text=f"It is {weather}."),
        tools=[WEATHER],
    )
    for city, weather in (("Bonn", "sunny"), ("Rome", "rainy"))
]
POINTS = [
    {"id": name, "messages": [user(f"Weather in {name}?")], "expected_output": {"tool_calls": [call("get_weather", {"city": name})]}}
    for name in ("Bonn", "Rome", "Oslo")
]


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sources(rows: list[dict[str, Any]]) -> list[Any]:
    """The same rows as a path, a `Path`, a dataset of a file, dicts, a dataset of dicts, and conversations."""
    path = write_rows(Path("rows.jsonl"), *rows)
    return [str(path), path, callmark.load(path), rows, callmark.load(rows), list(callmark.load(path))]


def test_datasets_are_paths_datasets_or_lists() -> None:
    expected = callmark.stats(str(write_rows(Path("same.jsonl"), *ROWS)))
    assert expected.conversations == 2
    for source in sources(ROWS):
        assert callmark.stats(source) == expected
        assert callmark.lint(source).rows == 2
        assert [tool.name for tool in callmark.tools(source)] == ["get_weather"]
        cases = list(callmark.expand(source))
        assert [case.expected[0].arguments["city"] for case in cases] == ["Bonn", "Rome"]
        assert callmark.write(source, "copy.jsonl") == 2
        assert callmark.stats("copy.jsonl") == expected


def test_filter_returns_kept_rows_or_writes_them() -> None:
    rows = [*ROWS, row(user("Hello"), assistant(text="Hi."))]
    for source in sources(rows):
        kept = callmark.filter(source, require=["get_weather"], min_calls=1)
        assert (kept.counts.rows, kept.counts.kept, len(kept.kept)) == (3, 2, 2)
    written = callmark.filter(rows, min_calls=1, out="good.jsonl", rejects="rest.jsonl")
    assert (written.kept, written.counts.kept) == ([], 2)
    assert [json.loads(line) for line in Path("good.jsonl").read_text().splitlines()] == ROWS
    assert json.loads(Path("rest.jsonl").read_text())["reason"] == ["min-calls 1"]
    with pytest.raises(BadInput, match="no filter rule given"):
        callmark.filter(rows)


def test_split_writes_rows_of_a_file_and_of_a_list() -> None:
    rows = [row(user(f"{number} {'abcdefghij'[number] * 40}"), assistant(call("f", {"n": number}))) for number in range(10)]
    path = write_rows(Path("rows.jsonl"), *rows)
    of_file, of_list = callmark.split(path, out="file"), callmark.split(rows, out="list")
    assert (of_file.train, of_file.valid) == (of_list.train, of_list.valid)
    for name in ("train.jsonl", "valid.jsonl"):
        read = [[json.loads(line) for line in Path(folder, name).read_text().splitlines()] for folder in ("file", "list")]
        assert read[0] == read[1] != []


def test_convert_reports_what_it_wrote() -> None:
    for source in sources(ROWS):
        converted = callmark.convert(source, to="anthropic", out="rows.anthropic.jsonl")
        assert (converted.rows, converted.written, converted.unwritten) == (2, 2, 0)
        assert callmark.load("rows.anthropic.jsonl").format.name == "anthropic"


def test_lint_of_a_dataset_that_skips_bad_rows_reports_them() -> None:
    path = write_rows(Path("rows.jsonl"), *ROWS, "{")
    assert callmark.lint(callmark.load(path, skip_bad=True)).summary["broken_row"] == 1
    with pytest.raises(BadInput, match="line 3"):
        callmark.lint(path)


def test_lint_finds_leaks_between_train_and_valid() -> None:
    assert callmark.lint(ROWS, valid=ROWS[:1]).errors
    assert callmark.lint([write_rows(Path("a.jsonl"), ROWS[0])], valid=[write_rows(Path("b.jsonl"), ROWS[1])]).rows == 2


def test_grading_one_item_returns_a_grade() -> None:
    grade = callmark.grade([call("f", {"a": 1})], [call("f", {"a": 2})])
    assert grade.metrics["call.score"] == 0.5


def test_grading_predictions_returns_a_run() -> None:
    predictions = [{"id": name, "tool_calls": [call("get_weather", {"city": "Bonn"})]} for name in ("Bonn", "Rome", "Oslo")]
    files = write_rows(Path("eval.jsonl"), *POINTS), write_rows(Path("base.jsonl"), *predictions)
    of_files = callmark.grade(files[0], predictions=files[1], name="files")
    of_lists = callmark.grade(POINTS, predictions=predictions, name="lists")
    cases = [case for case in callmark.load(POINTS) if isinstance(case, Case)]
    of_types = callmark.grade(cases, predictions=[Prediction(case.id, calls=cases[0].expected) for case in cases], name="types")
    for run in (of_files, of_lists, of_types):
        assert isinstance(run, Run)
        assert run.summary().metrics["call.score"].mean == pytest.approx(2 / 3)
    assert Path("runs/lists/cases.jsonl").exists()
    assert (of_lists.info.dataset.name, of_lists.info.predictions.name) == ("cases in memory", "predictions in memory")
    again = callmark.grade(of_lists, evaluators=["trajectory"])
    assert list(again.info.metrics)[: len(of_files.info.metrics)] == list(of_files.info.metrics)
    assert "trajectory.exact" in again.info.metrics
    assert str(callmark.grade("runs/files").folder) == "runs/files"


def test_runs_are_compared_gated_reported_and_exported() -> None:
    runs = callmark.run(POINTS, ["scripted:perfect", "scripted:hasty"], cache=False)
    assert [run.label.partition("-2")[0] for run in runs] == ["scripted-perfect", "scripted-hasty"]
    (compared,) = callmark.compare(*runs)
    assert compared.comparison.metrics["call.score"].before == 1
    for run in (runs[0], runs[0].path, str(runs[0].path)):
        result = callmark.gate(run, min={"call.score": 0.9}, baseline=runs[1], max_drop={"call.score": 0})
        assert result.passed
        assert bool(result) is True
    missed = callmark.gate(runs[1], min={"call.score": 1}, max_errors=0)
    assert missed.passed == all(check.met for check in missed.checks)
    report = callmark.report(runs, out="report.html")
    assert Path(report).read_text(encoding="utf-8").startswith("<!")
    assert Path(callmark.report(runs[0])) == runs[0].path / "report.html"
    assert callmark.export(runs[0], to="jsonl", out="rows.jsonl") == 3
    assert len(Path("rows.jsonl").read_text().splitlines()) == 3
    assert callmark.export(str(runs[0].path), to="csv") == 3


def test_run_is_resumed_from_its_folder() -> None:
    (run,) = callmark.run(write_rows(Path("eval.jsonl"), *POINTS), "scripted:perfect", name="mine", cache=False)
    lines = (run.path / "predictions.jsonl").read_text().splitlines(keepends=True)
    (run.path / "predictions.jsonl").write_text(lines[0])
    (resumed,) = callmark.run("runs/mine", resume=True)
    assert resumed.info.model_run is not None
    assert resumed.info.model_run.predictions == 3
    with pytest.raises(BadInput, match="--resume"):
        callmark.run("runs/mine")


def test_run_async_runs_in_the_callers_event_loop() -> None:
    async def both() -> list[Run]:
        first, second = await asyncio.gather(
            callmark.run_async(POINTS, "scripted:perfect", name="first", cache=False),
            callmark.run_async(POINTS, "scripted:perfect", name="second", cache=False),
        )
        return [*first, *second]

    assert [run.summary().scored for run in asyncio.run(both())] == [3, 3]


def test_run_waits_inside_a_running_event_loop() -> None:
    async def notebook_cell() -> list[Run]:
        return callmark.run(POINTS, "scripted:perfect")

    assert asyncio.run(notebook_cell())[0].summary().scored == 3


def test_settings_override_those_of_every_model() -> None:
    Path("agent.py").write_text("def answer(messages, tools):\n    return []\n")
    (run,) = callmark.run(POINTS, "python:agent:answer", settings={"timeout": 7}, cache=False)
    assert run.info.model_run is not None
    assert run.info.model_run.model.timeout == 7
    with pytest.raises(BadInput, match="unknown model setting 'temprature'. Did you mean temperature?"):
        callmark.run(POINTS, "python:agent:answer", settings={"temprature": 7})


def test_scenarios_in_memory_are_simulated() -> None:
    Path("bot.py").write_text(
        "def chat(messages, tools=None):\n"
        "    call = {'functionName': 'add', 'arguments': {'title': 'a'}}\n"
        "    return {'role': 'assistant', 'content': 'Done. Goodbye!', 'function_calls': [call]}\n"
    )
    scenario = {
        "id": "s",
        "scenarioType": "create",
        "instructions": "Add a note called a.",
        "data": {"script": ["Add a note called a.", "Bye."]},
        "task_completion_condition": "Goodbye",
        "expected_function_calls": [{"functionName": "add", "arguments": {"title": "a"}}],
    }
    (run,) = callmark.simulate([scenario], "python:bot:chat", user="script", name="bot", cache=False)
    assert run.scenarios
    assert Path("runs/bot/cases.jsonl").exists()


def test_batch_and_grader_are_exported() -> None:
    assert callmark.export_batch(POINTS, "openai:gpt-4.1-mini", "batch.jsonl", settings={"temperature": 0}) == 3
    assert json.loads(Path("batch.jsonl").read_text().splitlines()[0])["body"]["temperature"] == 0
    assert callmark.export_grader("grader.py") == len(Path("grader.py").read_text().splitlines())


def test_errors_have_a_common_base_and_a_hint() -> None:
    with pytest.raises(callmark.CallmarkError) as error:
        callmark.run(POINTS, "scripted")
    assert error.value.hint or str(error.value)
    for kind in (BadInput, callmark.EvaluatorError, callmark.StorageError, callmark.ModelError):
        assert issubclass(kind, callmark.CallmarkError)
